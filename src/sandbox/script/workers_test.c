/* Slow calls: threads, and waits without one. */

#include "base/system_test.h"
#include "script/fixture_test.h"

#define DEADLINE_NS 30000000000u /* for immediate events */

static void await(bool (*there)(void))
{
    uint64_t until = os_mono_ns() + DEADLINE_NS;
    while (!there()) {
        if (os_mono_ns() > until)
            fail_msg("it did not come");
        pause_ms(1);
    }
}

/* ---- evaluations beside the test's own --------------------------------------- */

struct beside {
    pthread_t thread;
    struct script_request q;
    struct script_outcome o;
    struct cancel cancel;
    bool ran;
};

static void *run_beside(void *arg)
{
    struct beside *b = arg;
    struct err e = {0};
    b->ran = script_run(script, &b->q, &b->o, &e);
    return NULL;
}

static void begin_beside(struct beside *b, const char *principal, const char *code)
{
    *b = (struct beside){.q = request};
    cancel_init(&b->cancel);
    b->q.principal = principal;
    b->q.code = str_of(code);
    b->q.cancel = &b->cancel;
    script_outcome_init(&b->o);
    assert_int_equal(pthread_create(&b->thread, NULL, run_beside, b), 0);
}

static void end_beside(struct beside *b, bool success)
{
    assert_int_equal(pthread_join(b->thread, NULL), 0);
    assert_true(b->ran);
    if (b->o.success != success)
        fail_msg("%.300s", buf_cz(&b->o.message));
    script_outcome_done(&b->o);
}

/* More calls than there are threads, of one principal's three evaluations. */
static const char forty_held[] =
    "await Promise.all(Array.from({length: 40}, () => slow.hold())); 'done'";

static unsigned held(void)
{
    pthread_mutex_lock(&table.lock);
    unsigned n = table.holding;
    pthread_mutex_unlock(&table.lock);
    return n;
}

static bool many_are_held(void)
{
    return held() >= 12;
}

static void hold_all(struct beside all[static 3], const char *principal)
{
    for (unsigned i = 0; i < 3; i++)
        begin_beside(&all[i], principal, forty_held);
    await(many_are_held);
    /* All calls are made once their number stays the same. */
    for (unsigned same = 0, last = 0; same < 100; pause_ms(2)) {
        same = held() == last ? same + 1 : 0;
        last = held();
    }
}

static void let_go(struct beside all[static 3])
{
    release();
    for (unsigned i = 0; i < 3; i++)
        end_beside(&all[i], true);
}

static void one_principals_calls_leave_threads_to_others(void **state)
{
    (void)state;
    struct beside all[3], other;
    hold_all(all, "a");
    request.total_ms = 20000;
    begin_beside(&other, "b", "await slow.echo(1)");
    pthread_join(other.thread, NULL);
    unsigned still = held();
    let_go(all);
    assert_true(other.o.success);
    assert_true(still >= 12);
    script_outcome_done(&other.o);
}

static void one_evaluations_calls_leave_threads_to_another(void **state)
{
    (void)state;
    struct beside many, other;
    begin_beside(&many, "a",
                 "await Promise.all(Array.from({length: 1000}, () => slow.hold())); 1");
    await(many_are_held);
    request.total_ms = 20000;
    begin_beside(&other, "a", "await slow.echo(1)");
    pthread_join(other.thread, NULL);
    release();
    end_beside(&many, true);
    assert_true(other.o.success);
    script_outcome_done(&other.o);
}

static void who_is_out_of_time_does_not_wait_for_calls_that_have_not_begun(void **state)
{
    (void)state;
    struct beside all[3], late;
    hold_all(all, "a");
    request.total_ms = 100;
    begin_beside(&late, "a",
                 "await Promise.all(Array.from({length: 100}, () => slow.echo()))");
    pthread_join(late.thread, NULL);
    unsigned still = held(); /* otherwise it would have waited for them */
    let_go(all);
    assert_false(late.o.success);
    assert_int_equal(late.o.type, ERR_TIMEOUT);
    assert_true(still >= 12);
    script_outcome_done(&late.o);
}

/* ---- waiting ------------------------------------------------------------------- */

#define SLEEPERS "Promise.all(Array.from({length: 500}, () => waits.slow(600000)))"

static bool five_hundred_sleep(void)
{
    return atomic_load(&table.sleeping) == 500;
}

static void calls_that_wait_have_no_thread(void **state)
{
    (void)state;
    struct beside b;
    assert_result("await slow.echo(1)", "[1]"); /* the first thread is there */
    begin_beside(&b, "a", "await " SLEEPERS);
    await(five_hundred_sleep);
    unsigned now = threads();
    cancel_fire(&b.cancel);
    end_beside(&b, false);
    assert_int_equal(b.o.type, ERR_CANCELLED);
    assert_int_equal(atomic_load(&table.sleeping), 0);
    if (now > 40) /* at most 32 for slow calls, and a few others */
        fail_msg("%u threads", now);
}

static void calls_that_wait_end_with_their_run_whoever_has_the_threads(void **state)
{
    (void)state;
    struct beside all[3], late;
    begin_beside(&late, "a", "await " SLEEPERS);
    await(five_hundred_sleep);
    hold_all(all, "a");
    cancel_fire(&late.cancel);
    pthread_join(late.thread, NULL);
    unsigned still = held();
    let_go(all);
    assert_int_equal(late.o.type, ERR_CANCELLED);
    assert_int_equal(atomic_load(&table.sleeping), 0);
    assert_true(still >= 12);
    script_outcome_done(&late.o);
}

static void each_call_is_stopped_by_a_cancel_of_its_own(void **state)
{
    (void)state;
    struct beside b;
    begin_beside(&b, "a",
                 "await Promise.all(Array.from({length: 12}, () => waits.stop()))");
    await(many_are_held);
    cancel_fire(&b.cancel);
    end_beside(&b, false);
    assert_int_equal(b.o.type, ERR_CANCELLED);
    assert_int_equal(held(), 0);
}

static void calls_that_wait_go_on_in_time(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"await waits.slow(1)", "\"slept\""},
        {"await waits.quick(1)", "\"slept\""},
        {"(await Promise.all(Array.from({length: 2000}, (x, i) => waits.slow(i % 7)))).length",
         "2000"},
        {"const order = []; await Promise.all([50, 30, 10].map((ms) => "
         "waits.slow(ms).then(() => order.push(ms)))); order.join()",
         "\"10,30,50\""},
    };
    assert_results(all);
}

static void quick_calls_keep_their_order_behind_one_that_waits(void **state)
{
    (void)state;
    assert_result("const order = []; await Promise.all([quick.count().then((n) => "
                  "order.push(n)), waits.quick(20).then(() => order.push('w')), "
                  "quick.count().then((n) => order.push(n)), slow.echo()"
                  ".then(() => order.push('s'))]); order.filter((x) => x !== 's')",
                  "[1,\"w\",2]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(one_principals_calls_leave_threads_to_others),
        test(one_evaluations_calls_leave_threads_to_another),
        test(who_is_out_of_time_does_not_wait_for_calls_that_have_not_begun),
        test(calls_that_wait_have_no_thread),
        test(calls_that_wait_end_with_their_run_whoever_has_the_threads),
        test(each_call_is_stopped_by_a_cancel_of_its_own),
        test(calls_that_wait_go_on_in_time),
        test(quick_calls_keep_their_order_behind_one_that_waits),
    };
    return cmocka_run_group_tests_name("workers", tests, open_script, close_script);
}
