/* TCP where something is wrong: a machine that falls silent, windows that shrink, flags and options
 * that no kernel sends, and numbers that wrap. */
#include "vm/net/script_test.h"

#define SCRIPT(name, text)         \
    static void name(void **state) \
    {                              \
        (void)state;               \
        run_script(text);          \
    }

#define OPEN_WITH(window)            \
    "< S 0:0 win " window "\n"       \
    "host opened\n"                  \
    "> S. 0:0 ack 1\n"               \
    "< . 1:1 ack 1 win " window "\n" \
    "is open\n"
#define OPEN OPEN_WITH("60000")

/* ---- a machine that falls silent --------------------------------------------------- */

SCRIPT(the_pause_before_each_repetition_grows, OPEN "host has 100\n"
                                                    "> . 1:101 ack 1\n"
                                                    "none 750\n"
                                                    "~> . 1:101 ack 1\n"
                                                    "none 1750\n"
                                                    "~> . 1:101 ack 1\n"
                                                    "none 3750\n"
                                                    "~> . 1:101 ack 1\n"
                                                    "none 7750\n"
                                                    "~> . 1:101 ack 1\n"
                                                    "< . 1:1 ack 101\n"
                                                    "quiet\n")

#define TWICE(line) line line
#define TIMES_11(line) TWICE(TWICE(line)) TWICE(TWICE(line)) TWICE(line) line
SCRIPT(who_never_acknowledges_data_is_given_up,
       OPEN "host has 100\n"
            "> . 1:101 ack 1\n" TIMES_11("~> . 1:101 ack 1\n") "is open\n"
                                                               "~> . 1:101 ack 1\n"
                                                               "none 400000\n"
                                                               "is reset\n"
                                                               "quiet\n")

SCRIPT(who_never_answers_a_probe_is_given_up,
       OPEN_WITH("0") "host has 100\n" TIMES_11("~> . 1:2 ack 1\n") "~> . 1:2 ack 1\n"
                                                                    "is open\n"
                                                                    "none 400000\n"
                                                                    "is reset\n"
                                                                    "quiet\n")

#define PROBE          \
    "~> . 1:2 ack 1\n" \
    "< . 1:1 ack 1 win 0\n"
SCRIPT(who_answers_each_probe_is_not, OPEN_WITH("0") "host has 100\n" TIMES_11(PROBE)
                                          PROBE PROBE PROBE "is open\n"
                                                            "< . 1:1 ack 1 win 60000\n"
                                                            "~> . 1:101 ack 1\n"
                                                            "< . 1:1 ack 101\n"
                                                            "quiet\n")

SCRIPT(who_never_acknowledges_an_end_is_given_up,
       OPEN "host has 0 end\n"
            "> F. 1:1 ack 1\n" TIMES_11("~> F. 1:1 ack 1\n") "is open\n"
                                                             "~> F. 1:1 ack 1\n"
                                                             "none 400000\n"
                                                             "is reset\n"
                                                             "quiet\n")

/* ---- what was acknowledged, and what was not ---------------------------------------- */

SCRIPT(a_partial_acknowledgement_is_the_next_loss, OPEN "host has 2144\n"
                                                        "> . 1:537 ack 1\n"
                                                        "> . 537:1073 ack 1\n"
                                                        "> . 1073:1609 ack 1\n"
                                                        "> . 1609:2145 ack 1\n"
                                                        "< . 1:1 ack 1\n"
                                                        "< . 1:1 ack 1\n"
                                                        "< . 1:1 ack 1\n"
                                                        "> . 1:537 ack 1\n"
                                                        "< . 1:1 ack 537\n"
                                                        "~> . 537:1073 ack 1\n"
                                                        "< . 1:1 ack 2145\n"
                                                        "none 20000\n"
                                                        "quiet\n")

SCRIPT(an_acknowledgement_of_the_past_is_nothing, OPEN "host has 1072\n"
                                                       "> . 1:537 ack 1\n"
                                                       "> . 537:1073 ack 1\n"
                                                       "< . 1:1 ack 537\n"
                                                       "< . 1:1 ack 101\n"
                                                       "< . 1:1 ack 1\n"
                                                       "none\n"
                                                       "~> . 537:1073 ack 1\n"
                                                       "< . 1:1 ack 1073\n"
                                                       "quiet\n")

SCRIPT(duplicates_with_data_are_no_sign_of_loss, OPEN "host has 536\n"
                                                      "> . 1:537 ack 1\n"
                                                      "< . 1:11 ack 1\n"
                                                      "< . 11:21 ack 1\n"
                                                      "> . 537:537 ack 21\n"
                                                      "< . 21:31 ack 1\n"
                                                      "< . 31:41 ack 1\n"
                                                      "> . 537:537 ack 41\n"
                                                      "none\n"
                                                      "got 40\n"
                                                      "< . 41:41 ack 537\n"
                                                      "quiet\n")

SCRIPT(a_gap_that_is_never_filled_is_forgotten, OPEN "< . 101:201 ack 1\n"
                                                     "> . 1:1 ack 1\n"
                                                     "none 60000\n"
                                                     "got 0\n"
                                                     "is open\n")

/* ---- windows ------------------------------------------------------------------------ */

SCRIPT(a_window_that_shrinks_is_kept_to, OPEN "host has 1000\n"
                                              "> . 1:537 ack 1\n"
                                              "> . 537:1001 ack 1\n"
                                              "< . 1:1 ack 537 win 100\n"
                                              "~> . 537:637 ack 1\n"
                                              "is open\n")

SCRIPT(an_end_waits_for_a_window, OPEN_WITH("100") "host has 200 end\n"
                                                   "> . 1:51 ack 1\n"
                                                   "> . 51:101 ack 1\n"
                                                   "< F. 1:1 ack 101 win 0\n"
                                                   "> . 101:101 ack 2\n"
                                                   "~> . 101:102 ack 2\n"
                                                   "< . 2:2 ack 101 win 5000\n"
                                                   "~> . 101:151 ack 2\n"
                                                   "> F. 151:201 ack 2\n"
                                                   "is closed\n"
                                                   "< . 2:2 ack 202\n"
                                                   "none 300000\n"
                                                   "quiet\n")

SCRIPT(what_is_sent_again_stays_in_order_when_the_window_is_too_small_for_it,
       OPEN "host has 2144\n"
            "> . 1:537 ack 1\n"
            "> . 537:1073 ack 1\n"
            "> . 1073:1609 ack 1\n"
            "> . 1609:2145 ack 1\n"
            "< . 1:1 ack 537 win 300\n"
            "< . 1:1 ack 537 win 300\n"
            "< . 1:1 ack 537 win 300\n"
            "< . 1:1 ack 537 win 300\n"
            "none 250\n"
            "~> . 537:837 ack 1\n"
            "< . 1:1 ack 837\n"
            "> . 837:1073 ack 1\n"
            "> . 1073:1609 ack 1\n"
            "< . 1:1 ack 2145\n"
            "quiet\n")

SCRIPT(half_a_segment_was_acknowledged_when_the_window_shrank,
       OPEN "host has 1072\n"
            "> . 1:537 ack 1\n"
            "> . 537:1073 ack 1\n"
            "< . 1:1 ack 401 win 100\n"
            "~> . 401:501 ack 1\n"
            "< . 1:1 ack 501\n"
            "> . 501:537 ack 1\n"
            "> . 537:1073 ack 1\n"
            "< . 1:1 ack 1073\n"
            "quiet\n")

/* ---- flags that belong nowhere ------------------------------------------------------ */

SCRIPT(segments_without_a_sense_open_nothing, "< FSRPU. 0:0\n"
                                              "< FR 0:0\n"
                                              "< SR 0:0\n"
                                              "< R. 0:0 ack 1\n"
                                              "none\n"
                                              "< FPU 0:0\n"
                                              "> R. 0:0 ack 1\n"
                                              "< P 0:0\n"
                                              "> R. 0:0 ack 0\n"
                                              "quiet\n")

SCRIPT(a_segment_without_flags_is_nothing_to_a_connection, OPEN "< P 1:101\n"
                                                                "none\n"
                                                                "got 0\n"
                                                                "< F 1:1\n"
                                                                "none\n"
                                                                "is open\n")

SCRIPT(a_syn_ack_in_a_connection_changes_nothing, OPEN "< S. 0:0 ack 1\n"
                                                       "> . 1:1 ack 1\n"
                                                       "< S. 1:1 ack 1\n"
                                                       "> . 1:1 ack 1\n"
                                                       "is open\n")

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pause_before_each_repetition_grows),
        cmocka_unit_test(who_never_acknowledges_data_is_given_up),
        cmocka_unit_test(who_never_answers_a_probe_is_given_up),
        cmocka_unit_test(who_answers_each_probe_is_not),
        cmocka_unit_test(who_never_acknowledges_an_end_is_given_up),
        cmocka_unit_test(a_partial_acknowledgement_is_the_next_loss),
        cmocka_unit_test(an_acknowledgement_of_the_past_is_nothing),
        cmocka_unit_test(duplicates_with_data_are_no_sign_of_loss),
        cmocka_unit_test(a_gap_that_is_never_filled_is_forgotten),
        cmocka_unit_test(a_window_that_shrinks_is_kept_to),
        cmocka_unit_test(an_end_waits_for_a_window),
        cmocka_unit_test(
            what_is_sent_again_stays_in_order_when_the_window_is_too_small_for_it),
        cmocka_unit_test(half_a_segment_was_acknowledged_when_the_window_shrank),
        cmocka_unit_test(segments_without_a_sense_open_nothing),
        cmocka_unit_test(a_segment_without_flags_is_nothing_to_a_connection),
        cmocka_unit_test(a_syn_ack_in_a_connection_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
