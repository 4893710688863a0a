#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "os/os.h"

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
        assert_true(os_read_date(str_of(rows[i].text), &ms));
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
        if (os_read_date(str_of(bad[i]), &ms))
            fail_msg("accepted %s", bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_are_read_in_their_usual_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
