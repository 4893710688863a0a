/* Spent answers stay spent until they expire, and no caller evicts another's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcp/spent.h"

static struct spent spent;

static int opened(void **state)
{
    (void)state;
    spent_init(&spent);
    return 0;
}

static int closed(void **state)
{
    (void)state;
    spent_done(&spent);
    return 0;
}

static enum err_code take_one(uint32_t number, const char *who, int64_t now)
{
    struct err e = {0};
    unsigned char id[SPENT_ID] = {0};
    memcpy(id, &number, sizeof number);
    return spent_take(&spent, id, who, now, now + 1000, &e) ? ERR_NONE : e.code;
}

static void a_state_is_spent_once(void **state)
{
    (void)state;
    assert_int_equal(take_one(1, "a", 0), ERR_NONE);
    assert_int_equal(take_one(1, "a", 500), ERR_INVALID);
    assert_int_equal(take_one(1, "b", 999), ERR_INVALID);
    assert_int_equal(take_one(2, "a", 999), ERR_NONE);
}

static void nobody_pushes_out_what_another_has_spent(void **state)
{
    (void)state;
    assert_int_equal(take_one(1, "victim", 0), ERR_NONE);
    uint32_t n = 2;
    while (take_one(n, "greedy", 0) == ERR_NONE)
        assert_true(n++ < SPENT_MAX);
    assert_int_equal(n - 2, SPENT_MAX / 4);
    assert_int_equal(take_one(1, "victim", 0), ERR_INVALID);
    assert_int_equal(take_one(n, "victim", 0), ERR_NONE);
    assert_int_equal(take_one(n + 1, "greedy", 0), ERR_BUSY);
    assert_int_equal(take_one(n + 1, "greedy", 1000), ERR_NONE); /* the others are old */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_state_is_spent_once, opened, closed),
        cmocka_unit_test_setup_teardown(nobody_pushes_out_what_another_has_spent, opened,
                                        closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
