/* CPU time of a day, counted by the hour. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vm/account.h"

#define S ((uint64_t)1000000000)
#define HOUR ACCOUNT_HOUR_NS

static void expect(struct account *k, uint64_t max_ns, uint64_t now_ns, const char *part)
{
    struct err e = {0};
    assert_int_equal(account_check(k, max_ns, now_ns, &e), part == NULL);
    if (part && (e.code != ERR_LIMIT || !strstr(e.msg, part)))
        fail_msg("%s", e.msg);
}

static void what_was_computed_counts_for_a_day(void **state)
{
    (void)state;
    struct accounts *all = accounts_new();
    uint64_t now = 1000 * HOUR + HOUR / 2;
    struct account *k = account_enter(all, STR("ann"), now);
    expect(k, 10 * S, now, NULL);
    account_add(k, 6 * S, now);
    expect(k, 10 * S, now, NULL);
    account_add(k, 5 * S, now + 2 * HOUR);
    expect(k, 10 * S, now + 2 * HOUR, "used the 10 seconds");
    expect(k, 10 * S, now + 2 * HOUR,
           "in 1291 minutes"); /* then the first hour has expired */
    expect(k, 12 * S, now + 2 * HOUR, NULL);
    expect(k, 0, now + 2 * HOUR, NULL);
    expect(k, 10 * S, now + 23 * HOUR, "in 31 minutes");
    expect(k, 10 * S, now + 24 * HOUR, NULL);
    expect(k, 5 * S, now + 24 * HOUR, "in 91 minutes");
    expect(k, 1, now + 26 * HOUR, NULL);
    account_add(k, 3 * S, now + 100 * HOUR);
    expect(k, 3 * S, now + 100 * HOUR, "in 1411 minutes");
    expect(k, 1, now + 1000 * HOUR, NULL);
    account_leave(k);
    accounts_free(all);
}

static void an_account_outlives_who_holds_it_as_long_as_something_counts(void **state)
{
    (void)state;
    struct accounts *all = accounts_new();
    struct account *ann = account_enter(all, STR("ann"), HOUR),
                   *bob = account_enter(all, STR("bob"), HOUR);
    assert_true(ann != bob);
    assert_ptr_equal(account_enter(all, STR("ann"), HOUR), ann);
    account_add(ann, 7 * S, HOUR);
    account_leave(ann);
    account_leave(ann);
    account_leave(bob);
    account_leave(NULL);
    expect(bob = account_enter(all, STR("bob"), 2 * HOUR), 7 * S, 2 * HOUR, NULL);
    expect(ann = account_enter(all, STR("ann"), 2 * HOUR), 7 * S, 2 * HOUR, "used");
    account_leave(ann);
    expect(ann = account_enter(all, STR("ann"), 25 * HOUR), 7 * S, 25 * HOUR, NULL);
    account_leave(ann);
    account_leave(bob);
    accounts_free(all);
    accounts_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_computed_counts_for_a_day),
        cmocka_unit_test(an_account_outlives_who_holds_it_as_long_as_something_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
