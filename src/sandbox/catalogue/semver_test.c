/* Versions: syntax and precedence (semver.org, 2.0.0, 11). */
#include "catalogue/semver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void what_is_a_version_is_told(void **state)
{
    (void)state;
    static const char *const fine[] = {"0.0.0",
                                       "1.2.3",
                                       "10.20.30",
                                       "1.0.0-alpha",
                                       "1.0.0-0a.b-",
                                       "1.0.0+001",
                                       "1.0.0-x.7.z.92+exp.sha.5114f85"};
    static const char *const wrong[] = {
        "",       "1",      "1.2",      "1.2.3.4", "v1.2.3",     "1.2.x",  "01.2.3",
        "1.2.3-", "1.2.3+", "1.2.3-01", "1..3",    "1.2.3-a..b", "1.2.3 ", "-1.2.3"};
    for (size_t i = 0; i < LENGTH(fine); i++)
        if (!semver_is(str_of(fine[i])))
            fail_msg("%s is one", fine[i]);
    for (size_t i = 0; i < LENGTH(wrong); i++)
        if (semver_is(str_of(wrong[i])))
            fail_msg("'%s' is none", wrong[i]);
}

static void versions_have_an_order(void **state)
{
    (void)state;
    static const char *const rows[] = {"0.9.0",
                                       "1.0.0-1",
                                       "1.0.0-2",
                                       "1.0.0-11",
                                       "1.0.0-alpha",
                                       "1.0.0-alpha.1",
                                       "1.0.0-alpha.beta",
                                       "1.0.0-beta",
                                       "1.0.0-beta.2",
                                       "1.0.0-beta.11",
                                       "1.0.0-rc.1",
                                       "1.0.0",
                                       "1.0.9",
                                       "1.0.10",
                                       "1.2.0",
                                       "1.10.0",
                                       "2.0.0",
                                       "18446744073709551616.0.0",
                                       "100000000000000000000.0.0"};
    for (size_t i = 0; i < LENGTH(rows); i++)
        for (size_t k = 0; k < LENGTH(rows); k++) {
            int order = semver_compare(str_of(rows[i]), str_of(rows[k]));
            if ((order < 0) != (i < k) || (order > 0) != (i > k))
                fail_msg("%s and %s: %d", rows[i], rows[k], order);
        }
    assert_int_equal(semver_compare(STR("1.0.0+a"), STR("1.0.0+b")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_a_version_is_told),
        cmocka_unit_test(versions_have_an_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
