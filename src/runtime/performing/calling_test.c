/* Performing a host call: one that is busy is retried. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "evaluation/evaluation.h"
#include "performing/internal.h"
#include "performing/performing.h"
#include "json/json.h"

static unsigned asked, busy_for;
static struct cancel *to_fire;

/* Fails with ERR_BUSY `busy_for` times, after half an answer. */
static bool busy_call(struct calling *x, struct json_writer *out, struct err *e)
{
    (void)x;
    asked++;
    if (to_fire)
        cancel_fire(to_fire);
    if (asked <= busy_for) {
        json_open_array(out);
        return err_set(e, ERR_BUSY, "busy, time %u", asked);
    }
    json_put_int(out, 7);
    return true;
}

static bool broken_call(struct calling *x, struct json_writer *out, struct err *e)
{
    (void)x;
    (void)out;
    asked++;
    return err_set(e, ERR_IO, "broken");
}

static struct evaluation v;
static struct caller who;
static struct buf out;

static bool performs(host_call_fn *f, unsigned busy, struct err *e)
{
    const struct host_call row = {.row = {.name = "test.call"}, .call = f};
    v = (struct evaluation){.who = &who};
    asked = 0;
    busy_for = busy;
    buf_clear(&out);
    struct calling x = {.v = &v, .c = &row};
    return call_with_retries(&x, &out, e);
}

static int begin(void **state)
{
    (void)state;
    who = (struct caller){.name = "test"};
    to_fire = NULL;
    buf_init(&out, 1000);
    return 0;
}

static int end(void **state)
{
    (void)state;
    buf_done(&out);
    return 0;
}

static void what_is_busy_for_a_moment_is_asked_again(void **state)
{
    (void)state;
    struct err e = {0};
    assert_true(performs(busy_call, 2, &e));
    assert_string_equal(buf_cz(&out), "7");
    assert_int_equal(asked, 3);
    assert_int_equal(v.retries, 2);
    assert_int_equal(e.code, ERR_NONE);
}

static void what_stays_busy_is_given_up(void **state)
{
    (void)state;
    struct err e = {0};
    assert_false(performs(busy_call, 1000, &e));
    assert_int_equal(e.code, ERR_BUSY);
    assert_string_equal(e.msg, "busy, time 5");
    assert_int_equal(v.retries, 4);
}

static void other_failures_are_not_repeated(void **state)
{
    (void)state;
    struct err e = {0};
    assert_false(performs(broken_call, 0, &e));
    assert_int_equal(e.code, ERR_IO);
    assert_int_equal(asked, 1);
}

static void who_cancels_does_not_wait(void **state)
{
    (void)state;
    struct cancel cancel;
    cancel_init(&cancel);
    who.cancel = to_fire = &cancel;
    struct err e = {0};
    assert_false(performs(busy_call, 1000, &e));
    assert_int_equal(e.code, ERR_BUSY);
    assert_int_equal(asked, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_busy_for_a_moment_is_asked_again, begin,
                                        end),
        cmocka_unit_test_setup_teardown(what_stays_busy_is_given_up, begin, end),
        cmocka_unit_test_setup_teardown(other_failures_are_not_repeated, begin, end),
        cmocka_unit_test_setup_teardown(who_cancels_does_not_wait, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
