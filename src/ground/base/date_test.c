#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/base.h"

static void dates_are_read_in_their_usual_forms(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {
        {"1970-01-01", 0},
        {"2026-11-21T05:16:00.000Z", 1795238160000},
        {"2026-11-21T05:16:00Z", 1795238160000},
        {"2026-11-21 05:16", 1795238160000},
        {"2026-11-21T07:16:00+02:00", 1795238160000},
        {"2026-11-21T07:16:00.5+0200", 1795238160500},
        {" 2026-11-20T23:16:00 -06 ", 1795238160000},
        {"2026-11-21T05:16:00.123456Z", 1795238160123},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        int64_t ms = -1;
        assert_true(date_read(str_of(rows[i].text), &ms));
        assert_int_equal(ms, rows[i].ms);
    }
    static const char *const bad[] = {"",
                                      "2026",
                                      "2026-13-01",
                                      "2026-02-30",
                                      "tomorrow",
                                      "2026-11-21T",
                                      "2026-11-21T05:16:00.",
                                      "2026-11-21x",
                                      "2026-11-21T05:16Zz",
                                      "2026-11-21T99:00"};
    int64_t ms;
    for (size_t i = 0; i < LENGTH(bad); i++)
        if (date_read(str_of(bad[i]), &ms))
            fail_msg("accepted %s", bad[i]);
}

static void times_are_written_in_utc_with_milliseconds(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {951782400123, "2000-02-29T00:00:00.123Z"},
        {1795238160000, "2026-11-21T05:16:00.000Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
        {-62167219200000, "0000-01-01T00:00:00.000Z"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char text[25];
        date_format(rows[i].ms, text);
        assert_string_equal(text, rows[i].text);
    }
    /* Years beyond four digits: any time, in the same format. */
    static const int64_t beyond[] = {INT64_MAX, INT64_MIN, 253402300800000};
    for (size_t i = 0; i < LENGTH(beyond); i++) {
        char text[25];
        date_format(beyond[i], text);
        assert_int_equal(strlen(text), 24);
        assert_int_equal(text[23], 'Z');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_are_read_in_their_usual_forms),
        cmocka_unit_test(times_are_written_in_utc_with_milliseconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
