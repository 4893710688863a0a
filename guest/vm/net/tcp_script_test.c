/* TCP's states, as RFC 9293 has them: each segment that goes and comes. */
#include "vm/net/script_test.h"

/* A test of the script's name. */
#define SCRIPT(name, text)         \
    static void name(void **state) \
    {                              \
        (void)state;               \
        run_script(text);          \
    }

#define OPEN_WITH(window)            \
    "< S 0:0 win " window "\n"       \
    "none\n"                         \
    "is connecting\n"                \
    "host opened\n"                  \
    "> S. 0:0 ack 1\n"               \
    "< . 1:1 ack 1 win " window "\n" \
    "is open\n"
#define OPEN OPEN_WITH("60000")
#define MACHINE_ENDS   \
    "< F. 1:1 ack 1\n" \
    "> . 1:1 ack 2\n"  \
    "is shut\n"
#define HOST_ENDS      \
    "host has 0 end\n" \
    "> F. 1:1 ack 1\n" \
    "is open\n"

/* ---- opening ----------------------------------------------------------------------- */

SCRIPT(a_syn_that_is_sent_again_is_one_connection, "< S 0:0\n"
                                                   "< S 0:0\n"
                                                   "none 5000\n"
                                                   "host opened\n"
                                                   "> S. 0:0 ack 1\n"
                                                   "< S 0:0\n" /* ours was lost */
                                                   "> S. 0:0 ack 1\n"
                                                   "< . 1:1 ack 1\n"
                                                   "none\n"
                                                   "is open\n")

SCRIPT(a_syn_ack_that_is_lost_is_sent_again, "< S 0:0\n"
                                             "host opened\n"
                                             "> S. 0:0 ack 1\n"
                                             "~> S. 0:0 ack 1\n"
                                             "~> S. 0:0 ack 1\n"
                                             "< . 1:1 ack 1\n"
                                             "none 10000\n"
                                             "is open\n")

SCRIPT(who_never_answers_a_syn_ack_is_forgotten, "< S 0:0\n"
                                                 "host opened\n"
                                                 "> S. 0:0 ack 1\n"
                                                 "~> S. 0:0 ack 1\n"
                                                 "~> S. 0:0 ack 1\n"
                                                 "~> S. 0:0 ack 1\n"
                                                 "~> S. 0:0 ack 1\n"
                                                 "none 60000\n"
                                                 "is reset\n"
                                                 "quiet\n")

SCRIPT(data_beside_a_syn_is_sent_again_behind_it, "< S 0:10\n"
                                                  "host opened\n"
                                                  "> S. 0:0 ack 1\n"
                                                  "< . 1:11 ack 1\n"
                                                  "got 10\n"
                                                  "~> . 1:1 ack 11\n")

SCRIPT(an_acknowledgement_of_what_was_not_sent_opens_nothing, "< S 0:0\n"
                                                              "host opened\n"
                                                              "> S. 0:0 ack 1\n"
                                                              "< . 1:1 ack 7\n"
                                                              "> R. 7:7 ack 1\n"
                                                              "< . 1:1 ack 1\n"
                                                              "is open\n")

SCRIPT(a_segment_of_no_connection_is_reset, "< . 1:1 ack 0\n"
                                            "> R. 0:0 ack 1\n"
                                            "< F. 1:1 ack 0\n"
                                            "> R. 0:0 ack 2\n"
                                            "< R 1:1\n"
                                            "none\n"
                                            "quiet\n")

SCRIPT(a_syn_in_a_connection_is_asked_about,
       OPEN "< S 500:500\n"
            "> . 1:1 ack 1\n"
            "is open\n"
            "< S 90000:90000\n"
            "> . 1:1 ack 1\n"
            "is open\n"
            "< R 1:1\n" /* it has forgotten the one before */
            "is reset\n")

/* ---- data to the machine ----------------------------------------------------------- */

SCRIPT(what_is_lost_is_sent_again, OPEN "host has 100\n"
                                        "> . 1:101 ack 1\n"
                                        "~> . 1:101 ack 1\n"
                                        "~> . 1:101 ack 1\n"
                                        "< . 1:1 ack 101\n"
                                        "none 20000\n"
                                        "quiet\n")

SCRIPT(three_duplicates_are_enough_to_send_again,
       OPEN "host has 2144\n" /* TCP that tells no MSS takes 536 */
            "> . 1:537 ack 1\n"
            "> . 537:1073 ack 1\n"
            "> . 1073:1609 ack 1\n"
            "> . 1609:2145 ack 1\n"
            "< . 1:1 ack 1\n"
            "< . 1:1 ack 1\n"
            "none\n"
            "< . 1:1 ack 1\n"
            "> . 1:537 ack 1\n")

SCRIPT(a_window_of_0_is_probed_until_it_opens,
       OPEN_WITH("100") "host has 200\n"
                        "> . 1:51 ack 1\n" /* half a window is the most */
                        "> . 51:101 ack 1\n"
                        "< . 1:1 ack 101 win 0\n"
                        "~> . 101:102 ack 1\n"
                        "< . 1:1 ack 101 win 0\n"
                        "~> . 101:102 ack 1\n"
                        "< . 1:1 ack 101 win 0\n"
                        "~> . 101:102 ack 1\n"
                        "< . 1:1 ack 101 win 5000\n"
                        "~> . 101:151 ack 1\n"
                        "> . 151:201 ack 1\n"
                        "< . 1:1 ack 201\n"
                        "none 20000\n"
                        "quiet\n")

SCRIPT(a_window_is_not_exceeded, OPEN_WITH("150") "host has 400\n"
                                                  "> . 1:76 ack 1\n"
                                                  "> . 76:151 ack 1\n"
                                                  "none\n"
                                                  "< . 1:1 ack 151 win 100\n"
                                                  "> . 151:226 ack 1\n"
                                                  "none\n"
                                                  "< . 1:1 ack 226 win 60000\n"
                                                  "> . 226:301 ack 1\n"
                                                  "> . 301:376 ack 1\n"
                                                  "> . 376:401 ack 1\n")

SCRIPT(an_acknowledgement_of_the_future_is_not_believed, OPEN "host has 100\n"
                                                              "> . 1:101 ack 1\n"
                                                              "< . 1:1 ack 5000\n"
                                                              "> . 101:101 ack 1\n"
                                                              "~> . 1:101 ack 1\n"
                                                              "is open\n")

/* ---- data of the machine ------------------------------------------------------------ */

SCRIPT(segments_out_of_order_are_put_in_order,
       OPEN "< . 101:201 ack 1\n"
            "> . 1:1 ack 1\n"
            "got 0\n"
            "< . 301:401 ack 1\n"
            "> . 1:1 ack 1\n"
            "< . 1:101 ack 1\n"
            "got 200\n"
            "~> . 1:1 ack 201\n"
            "< . 151:351 ack 1\n" /* what overlaps is taken once */
            "got 400\n"
            "~> . 1:1 ack 401\n")

SCRIPT(a_fin_out_of_order_waits_for_what_is_before_it, OPEN "< F. 101:201 ack 1\n"
                                                            "> . 1:1 ack 1\n"
                                                            "is open\n"
                                                            "< . 1:101 ack 1\n"
                                                            "> . 1:1 ack 202\n"
                                                            "got 200\n"
                                                            "is shut\n")

SCRIPT(what_comes_again_is_acknowledged_again, OPEN "< . 1:101 ack 1\n"
                                                    "~> . 1:1 ack 101\n"
                                                    "< . 1:101 ack 1\n"
                                                    "> . 1:1 ack 101\n"
                                                    "< . 51:151 ack 1\n"
                                                    "~> . 1:1 ack 151\n"
                                                    "got 150\n")

SCRIPT(what_is_beyond_the_window_is_not_taken, OPEN "< . 50001:50101 ack 1\n"
                                                    "> . 1:1 ack 1\n"
                                                    "host takes 0\n"
                                                    "< . 1:1401 ack 1\n"
                                                    "~> . 1:1 ack 1401\n"
                                                    "< . 1401:2801 ack 1\n"
                                                    "~> . 1:1 ack 2801\n"
                                                    "< . 2801:4201 ack 1\n"
                                                    "~> . 1:1 ack 4201\n"
                                                    "< . 4201:5601 ack 1\n"
                                                    "~> . 1:1 ack 5601\n"
                                                    "< . 5601:7001 ack 1\n"
                                                    "~> . 1:1 ack 7001\n"
                                                    "< . 7001:8401 ack 1\n"
                                                    "~> . 1:1 ack 7301 win 0\n"
                                                    "< . 7301:8401 ack 1\n" /* a probe */
                                                    "> . 1:1 ack 7301 win 0\n"
                                                    "got 0\n"
                                                    "host takes 100000\n"
                                                    "host writable\n"
                                                    "> . 1:1 ack 7301 win 14600\n"
                                                    "< . 7301:8401 ack 1\n"
                                                    "got 8400\n"
                                                    "~> . 1:1 ack 8401\n")

SCRIPT(urgent_data_is_data, OPEN "< U. 1:11 ack 1 urg 5\n"
                                 "got 10\n"
                                 "< U. 11:21 ack 1 urg 60000\n"
                                 "> . 1:1 ack 21\n"
                                 "got 20\n")

SCRIPT(a_keepalive_is_answered, OPEN "< . 0:0 ack 1\n"
                                     "> . 1:1 ack 1\n"
                                     "< . 0:1 ack 1\n"
                                     "> . 1:1 ack 1\n"
                                     "got 0\n"
                                     "is open\n")

SCRIPT(a_host_that_is_gone_resets, OPEN "host gone\n"
                                        "> R. 1:1 ack 1\n"
                                        "is reset\n"
                                        "quiet\n")

/* ---- ends -------------------------------------------------------------------------- */

SCRIPT(both_end_at_once, OPEN HOST_ENDS "< F. 1:1 ack 1\n" /* they cross */
                                        "> . 2:2 ack 2\n"
                                        "is closed\n"
                                        "< . 2:2 ack 2\n"
                                        "< F. 1:1 ack 2\n" /* ours was lost */
                                        "> . 2:2 ack 2\n"
                                        "none 5000\n"
                                        "quiet\n")

SCRIPT(a_fin_that_is_lost_is_sent_again, OPEN HOST_ENDS "~> F. 1:1 ack 1\n"
                                                        "~> F. 1:1 ack 1\n"
                                                        "< . 1:1 ack 2\n"
                                                        "none 20000\n"
                                                        "is open\n"
                                                        "< F. 1:1 ack 2\n"
                                                        "> . 2:2 ack 2\n"
                                                        "is closed\n"
                                                        "none 5000\n"
                                                        "quiet\n")

SCRIPT(the_host_goes_on_when_the_machine_has_ended,
       OPEN MACHINE_ENDS "host has 100\n"
                         "> . 1:101 ack 2\n"
                         "< . 2:2 ack 101\n"
                         "none 60000\n"
                         "host has 50 end\n"
                         "> . 101:151 ack 2\n"
                         "> F. 151:151 ack 2\n"
                         "is closed\n"
                         "~> . 101:151 ack 2\n" /* lost */
                         "< . 2:2 ack 151\n"
                         "~> F. 151:151 ack 2\n"
                         "< . 2:2 ack 152\n"
                         "quiet\n")

SCRIPT(the_machine_goes_on_when_the_host_has_ended, OPEN HOST_ENDS "< . 1:101 ack 2\n"
                                                                   "got 100\n"
                                                                   "~> . 2:2 ack 101\n"
                                                                   "none 60000\n"
                                                                   "< F. 101:201 ack 2\n"
                                                                   "> . 2:2 ack 202\n"
                                                                   "got 200\n"
                                                                   "is closed\n")

SCRIPT(data_behind_the_machines_end_is_nothing, OPEN MACHINE_ENDS "< . 2:102 ack 1\n"
                                                                  "none 1000\n"
                                                                  "got 0\n"
                                                                  "is shut\n")

SCRIPT(a_syn_with_a_later_number_begins_anew_in_time_wait,
       OPEN HOST_ENDS "< F. 1:1 ack 2\n"
                      "> . 2:2 ack 2\n"
                      "is closed\n"
                      "< S 1:1\n" /* one of before */
                      "> . 2:2 ack 2\n"
                      "is closed\n"
                      "< S 70000:70000\n"
                      "is connecting\n"
                      "none\n")

/* ---- RST at each state --------------------------------------------------------------- */

SCRIPT(a_reset_while_the_host_connects_ends_it, "< S 0:0\n"
                                                "is connecting\n"
                                                "< R 1:1\n"
                                                "is reset\n"
                                                "quiet\n")

SCRIPT(a_reset_of_a_syn_ack_ends_it, "< S 0:0\n"
                                     "host opened\n"
                                     "> S. 0:0 ack 1\n"
                                     "< R 1:1\n"
                                     "is reset\n"
                                     "quiet\n")

SCRIPT(a_reset_has_to_have_the_next_number, OPEN "< R 500:500\n"
                                                 "> . 1:1 ack 1\n"
                                                 "is open\n"
                                                 "< R 90000:90000\n"
                                                 "< R 0:0\n"
                                                 "none\n"
                                                 "is open\n"
                                                 "< R. 1:1 ack 1\n"
                                                 "is reset\n"
                                                 "quiet\n")

SCRIPT(a_reset_with_data_under_way_ends_it, OPEN "host has 100\n"
                                                 "> . 1:101 ack 1\n"
                                                 "< R 1:1\n"
                                                 "is reset\n"
                                                 "none 20000\n"
                                                 "quiet\n")

SCRIPT(a_reset_in_close_wait_ends_it, OPEN MACHINE_ENDS "< R 2:2\n"
                                                        "is reset\n"
                                                        "quiet\n")

SCRIPT(a_reset_in_fin_wait_1_ends_it, OPEN HOST_ENDS "< R 1:1\n"
                                                     "is reset\n"
                                                     "quiet\n")

SCRIPT(a_reset_in_fin_wait_2_ends_it, OPEN HOST_ENDS "< . 1:1 ack 2\n"
                                                     "< R 1:1\n"
                                                     "is reset\n"
                                                     "quiet\n")

SCRIPT(a_reset_in_closing_ends_it, OPEN HOST_ENDS "< F. 1:1 ack 1\n"
                                                  "> . 2:2 ack 2\n"
                                                  "< R 2:2\n"
                                                  "quiet\n")

SCRIPT(a_reset_in_last_ack_ends_it, OPEN MACHINE_ENDS "host has 0 end\n"
                                                      "> F. 1:1 ack 2\n"
                                                      "is closed\n"
                                                      "< R 2:2\n"
                                                      "quiet\n")

SCRIPT(a_reset_in_time_wait_is_nothing, OPEN HOST_ENDS "< F. 1:1 ack 2\n"
                                                       "> . 2:2 ack 2\n"
                                                       "< R 2:2\n"
                                                       "< F. 1:1 ack 2\n"
                                                       "> . 2:2 ack 2\n"
                                                       "none 5000\n"
                                                       "quiet\n")

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_syn_that_is_sent_again_is_one_connection),
        cmocka_unit_test(a_syn_ack_that_is_lost_is_sent_again),
        cmocka_unit_test(who_never_answers_a_syn_ack_is_forgotten),
        cmocka_unit_test(data_beside_a_syn_is_sent_again_behind_it),
        cmocka_unit_test(an_acknowledgement_of_what_was_not_sent_opens_nothing),
        cmocka_unit_test(a_segment_of_no_connection_is_reset),
        cmocka_unit_test(a_syn_in_a_connection_is_asked_about),
        cmocka_unit_test(what_is_lost_is_sent_again),
        cmocka_unit_test(three_duplicates_are_enough_to_send_again),
        cmocka_unit_test(a_window_of_0_is_probed_until_it_opens),
        cmocka_unit_test(a_window_is_not_exceeded),
        cmocka_unit_test(an_acknowledgement_of_the_future_is_not_believed),
        cmocka_unit_test(segments_out_of_order_are_put_in_order),
        cmocka_unit_test(a_fin_out_of_order_waits_for_what_is_before_it),
        cmocka_unit_test(what_comes_again_is_acknowledged_again),
        cmocka_unit_test(what_is_beyond_the_window_is_not_taken),
        cmocka_unit_test(urgent_data_is_data),
        cmocka_unit_test(a_keepalive_is_answered),
        cmocka_unit_test(a_host_that_is_gone_resets),
        cmocka_unit_test(both_end_at_once),
        cmocka_unit_test(a_fin_that_is_lost_is_sent_again),
        cmocka_unit_test(the_host_goes_on_when_the_machine_has_ended),
        cmocka_unit_test(the_machine_goes_on_when_the_host_has_ended),
        cmocka_unit_test(data_behind_the_machines_end_is_nothing),
        cmocka_unit_test(a_syn_with_a_later_number_begins_anew_in_time_wait),
        cmocka_unit_test(a_reset_while_the_host_connects_ends_it),
        cmocka_unit_test(a_reset_of_a_syn_ack_ends_it),
        cmocka_unit_test(a_reset_has_to_have_the_next_number),
        cmocka_unit_test(a_reset_with_data_under_way_ends_it),
        cmocka_unit_test(a_reset_in_close_wait_ends_it),
        cmocka_unit_test(a_reset_in_fin_wait_1_ends_it),
        cmocka_unit_test(a_reset_in_fin_wait_2_ends_it),
        cmocka_unit_test(a_reset_in_closing_ends_it),
        cmocka_unit_test(a_reset_in_last_ack_ends_it),
        cmocka_unit_test(a_reset_in_time_wait_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
