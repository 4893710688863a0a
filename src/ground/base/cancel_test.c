/* Cancellation: once, at once, and never after cancel_off(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/base.h"

struct work {
    struct cancel cancel;
    atomic_bool listening;
    atomic_int stopped, stopped_late;
    atomic_int round;
};

static void stop(void *arg)
{
    struct work *w = arg;
    if (atomic_load(&w->listening))
        atomic_fetch_add(&w->stopped, 1);
    else
        atomic_fetch_add(&w->stopped_late, 1);
}

static void whoever_works_is_stopped_once(void **state)
{
    (void)state;
    struct cancel_stop place;
    struct work w = {.listening = true};
    cancel_init(&w.cancel);
    assert_false(cancel_fired(&w.cancel));
    assert_true(cancel_on(&w.cancel, &place, stop, &w));
    assert_int_equal(w.stopped, 0);
    cancel_fire(&w.cancel);
    cancel_fire(&w.cancel);
    assert_int_equal(w.stopped, 1);
    assert_true(cancel_fired(&w.cancel));
    cancel_off(&w.cancel, &place);
}

static void work_that_begins_too_late_is_not_begun(void **state)
{
    (void)state;
    struct cancel_stop place;
    struct work w = {.listening = true};
    cancel_init(&w.cancel);
    cancel_fire(&w.cancel);
    assert_false(cancel_on(&w.cancel, &place, stop, &w));
    cancel_off(&w.cancel, &place);
    assert_int_equal(w.stopped, 0);
}

static void nobody_is_stopped_who_has_left(void **state)
{
    (void)state;
    struct cancel_stop place;
    struct work w = {.listening = true};
    cancel_init(&w.cancel);
    assert_true(cancel_on(&w.cancel, &place, stop, &w));
    cancel_off(&w.cancel, &place);
    cancel_fire(&w.cancel);
    assert_int_equal(w.stopped, 0);
}

static void without_a_cancel_nothing_ever_fires(void **state)
{
    (void)state;
    struct cancel_stop place;
    assert_true(cancel_on(NULL, &place, stop, NULL));
    assert_false(cancel_fired(NULL));
    cancel_off(NULL, &place);
}

static void all_who_work_are_stopped_but_those_who_have_left(void **state)
{
    (void)state;
    struct cancel cancel;
    struct work w[4] = {0};
    struct cancel_stop places[LENGTH(w)];
    cancel_init(&cancel);
    for (size_t i = 0; i < LENGTH(w); i++) {
        w[i].listening = true;
        assert_true(cancel_on(&cancel, &places[i], stop, &w[i]));
    }
    cancel_off(&cancel, &places[0]); /* the last of the list */
    cancel_off(&cancel, &places[2]);
    cancel_fire(&cancel);
    for (size_t i = 0; i < LENGTH(w); i++)
        assert_int_equal(w[i].stopped, i % 2);
    cancel_off(&cancel, &places[3]);
    cancel_off(&cancel, &places[1]);
}

#define ROUNDS 2000

/* Fires once in each round. */
static void *fire_each_round(void *arg)
{
    struct work *w = arg;
    for (int round = 1; round <= ROUNDS; round++) {
        while (atomic_load(&w->round) != round)
            sched_yield();
        cancel_fire(&w->cancel);
        atomic_store(&w->round, -round);
    }
    return NULL;
}

static void after_leaving_nobody_is_stopped_also_from_another_thread(void **state)
{
    (void)state;
    struct cancel_stop place;
    struct work w = {0};
    pthread_t thread;
    cancel_init(&w.cancel);
    assert_int_equal(pthread_create(&thread, NULL, fire_each_round, &w), 0);
    for (int round = 1; round <= ROUNDS; round++) {
        cancel_init(&w.cancel);
        int before = atomic_load(&w.stopped);
        atomic_store(&w.listening, true);
        atomic_store(&w.round, round);
        bool open = cancel_on(&w.cancel, &place, stop, &w);
        cancel_off(&w.cancel, &place);
        atomic_store(&w.listening, false);
        int after = atomic_load(&w.stopped);
        assert_true(after - before <= open);
        while (atomic_load(&w.round) != -round)
            sched_yield();
        assert_int_equal(atomic_load(&w.stopped), after);
    }
    pthread_join(thread, NULL);
    assert_int_equal(w.stopped_late, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_works_is_stopped_once),
        cmocka_unit_test(work_that_begins_too_late_is_not_begun),
        cmocka_unit_test(nobody_is_stopped_who_has_left),
        cmocka_unit_test(all_who_work_are_stopped_but_those_who_have_left),
        cmocka_unit_test(without_a_cancel_nothing_ever_fires),
        cmocka_unit_test(after_leaving_nobody_is_stopped_also_from_another_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
