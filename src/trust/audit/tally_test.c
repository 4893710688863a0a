#include "audit/audit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void names_count_once_and_keep_their_order(void **state)
{
    (void)state;
    struct tally t = {0};
    assert_null(tally_next(&t, NULL));
    tally_add(&t, STR("b"));
    tally_add(&t, STR("a"));
    tally_add(&t, STR("b"));
    tally_add(&t, STR(""));
    assert_int_equal(t.count, 2);
    const char *first = tally_next(&t, NULL);
    assert_string_equal(first, "b");
    const char *second = tally_next(&t, first);
    assert_string_equal(second, "a");
    assert_null(tally_next(&t, second));
    tally_done(&t);
}

static void what_is_not_kept_is_counted(void **state)
{
    (void)state;
    struct tally t = {0};
    char name[3000];
    for (unsigned i = 0; i < 20000; i++) {
        memset(name, 'x', sizeof name - 1);
        int n = snprintf(name, 20, "%u", i % 10000);
        name[n] = '-';
        name[sizeof name - 1] = '\0';
        tally_add(&t, str_of(name));
    }
    assert_int_equal(t.count, 10000);
    assert_true(t.kept > 0 && t.kept < 100 && t.names.n <= TALLY_NAMES);
    const char *first = tally_next(&t, NULL);
    assert_int_equal(strlen(first), TALLY_NAME_MAX + strlen("\u2026"));
    size_t kept = 0;
    for (const char *at = NULL; (at = tally_next(&t, at));)
        kept++;
    assert_int_equal(kept, t.kept);
    tally_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_count_once_and_keep_their_order),
        cmocka_unit_test(what_is_not_kept_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
