/* The order of turns, without a network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/server.h"

#define WORKERS 16u
#define QUEUE 64u
#define KB ((size_t)1024)

static struct http_server server;
static struct http_request requests[2 * QUEUE];
static size_t used, running[4];

static int begin(void **state)
{
    (void)state;
    server = (struct http_server){
        .o = {.workers = WORKERS, .queue_max = QUEUE, .bodies_max = 1024 * KB}};
    pthread_mutex_init(&server.lock, NULL);
    used = 0;
    memset(running, 0, sizeof running);
    return 0;
}

static bool put(uint64_t share)
{
    assert_true(used < LENGTH(requests));
    struct http_request *rq = &requests[used++];
    *rq = (struct http_request){.share = share};
    return fair_put(&server, rq);
}

/* One caller of `share` holds so many bytes for its body; freed at the test's end. */
static bool hold(uint64_t share, size_t bytes)
{
    assert_true(used < LENGTH(requests));
    struct http_request *rq = &requests[used++];
    *rq = (struct http_request){.share = share};
    return fair_hold(&server, rq, bytes);
}

#define NOBODY UINT64_MAX

/* Returns whose turn it is. */
static uint64_t next(void)
{
    bool ready = fair_is_ready(&server);
    struct http_request *rq = fair_take(&server);
    assert_int_equal(ready, rq != NULL);
    if (rq)
        running[rq->share]++;
    return rq ? rq->share : NOBODY;
}

static size_t run_all_of(uint64_t share)
{
    size_t n = 0;
    while (next() == share)
        n++;
    return n;
}

static void end_of(uint64_t share, size_t n)
{
    for (; n; n--, running[share]--)
        fair_done(&server, share);
}

/* Runs all that waits, as a server does at its end; nothing is left. */
static int end(void **state)
{
    (void)state;
    server.ending = true;
    while (next() != NOBODY)
        continue;
    for (uint64_t share = 0; share < LENGTH(running); share++)
        end_of(share, running[share]);
    for (size_t i = 0; i < used; i++)
        fair_let_go(&server, &requests[i]);
    return server.lines || server.running || server.queued || server.bodies ? -1 : 0;
}

static void callers_take_turns_and_wait_in_their_own_line(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_true(put(1));
    assert_true(put(2));
    assert_true(put(3));
    assert_true(put(0));
    static const uint64_t order[] = {1, 2, 3, 0, 1, 1, NOBODY};
    for (size_t i = 0; i < LENGTH(order); i++)
        assert_int_equal(next(), order[i]);
}

static void one_callers_requests_run_in_their_order(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_true(put(1));
    for (int i = 0; i < 3; i++, running[1]++)
        assert_ptr_equal(fair_take(&server), &requests[i]);
}

static void nobody_has_more_than_half_of_the_workers(void **state)
{
    (void)state;
    for (unsigned i = 0; i < QUEUE / 4; i++)
        assert_true(put(1));
    assert_int_equal(run_all_of(1), WORKERS / 2);
    assert_false(fair_is_ready(&server));
    /* One ends: the next may run. */
    end_of(1, 1);
    assert_int_equal(run_all_of(1), 1);
    end_of(1, WORKERS / 2);
    assert_int_equal(run_all_of(1), QUEUE / 4 - WORKERS / 2 - 1);
}

static void the_last_workers_are_for_those_who_have_few(void **state)
{
    (void)state;
    for (unsigned i = 0; i < QUEUE / 4; i++)
        assert_true(put(1) && put(2));
    size_t n = 0;
    while (next() != NOBODY)
        n++;
    assert_int_equal(n, WORKERS - WORKERS / 4);
    assert_true(put(3));
    assert_int_equal(next(), 3);
    assert_int_equal(next(), NOBODY);
}

static void the_person_of_the_machine_has_what_is_there(void **state)
{
    (void)state;
    for (unsigned i = 0; i < WORKERS; i++)
        assert_true(put(0));
    assert_int_equal(run_all_of(0), WORKERS);
}

static void one_caller_does_not_fill_the_queue(void **state)
{
    (void)state;
    unsigned n = 0;
    while (put(1))
        n++;
    assert_int_equal(n, QUEUE / 4 + 1);
    assert_true(put(2));
    while (put(0))
        n++;
    assert_int_equal(n, QUEUE - 1);
    assert_false(put(3));
}

/* Slow or endless bodies delay their own senders only. */
static void large_bodies_leave_room_for_others_and_for_small_ones(void **state)
{
    (void)state;
    assert_true(hold(1, 256 * KB));
    assert_true(hold(1, 256 * KB));
    assert_false(hold(1, 17 * KB)); /* it has its half */
    assert_true(hold(1, 16 * KB));  /* small ones are charged to nobody */
    assert_true(hold(2, 256 * KB));
    assert_false(hold(3, 256 * KB)); /* the rest is for small ones */
    for (size_t i = 0; i < used; i++)
        fair_let_go(&server, &requests[i]);
    assert_true(hold(1, 512 * KB));
    assert_true(hold(2, 384 * KB));
    for (size_t left = 128; left; left -= 16)
        assert_true(hold(3, 16 * KB));
    assert_false(hold(3, 16 * KB));
}

static void what_the_person_sends_is_not_halved(void **state)
{
    (void)state;
    assert_true(hold(0, 512 * KB));
    assert_true(hold(0, 384 * KB));
    assert_false(hold(0, 17 * KB));
}

/* ---- places for those who wait for a person --------------------------------- */

static bool park_one_of(uint64_t share)
{
    assert_true(put(share));
    assert_int_equal(next(), share);
    bool parked = fair_park(&server, share);
    if (!parked)
        fair_done(&server, share);
    running[share]--;
    return parked;
}

static void nobody_has_more_than_a_quarter_of_the_places_for_persons(void **state)
{
    (void)state;
    unsigned mine = 0;
    while (mine < HTTP_PARKED_MAX && park_one_of(1))
        mine++;
    assert_int_equal(mine, HTTP_PARKED_MAX / 4);
    assert_true(park_one_of(2));
    fair_unpark(&server, 1);
    running[1]++;
    end_of(1, 1);
    assert_true(park_one_of(1));
    for (; mine; mine--) {
        fair_unpark(&server, 1);
        fair_done(&server, 1);
    }
    fair_unpark(&server, 2);
    fair_done(&server, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)
        test(callers_take_turns_and_wait_in_their_own_line),
        test(one_callers_requests_run_in_their_order),
        test(nobody_has_more_than_half_of_the_workers),
        test(the_last_workers_are_for_those_who_have_few),
        test(the_person_of_the_machine_has_what_is_there),
        test(one_caller_does_not_fill_the_queue),
        test(large_bodies_leave_room_for_others_and_for_small_ones),
        test(nobody_has_more_than_a_quarter_of_the_places_for_persons),
        test(what_the_person_sends_is_not_halved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
