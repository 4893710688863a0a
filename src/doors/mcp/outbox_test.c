#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mcp/outbox.h"

/* A client at the other end of a pipe, or a socket, who reads on demand. */
static int ends[2];
static struct outbox box;
static atomic_uint lost;

static void count_lost(void *arg)
{
    (void)arg;
    atomic_fetch_add(&lost, 1);
}

static int opened(void **state)
{
    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    atomic_store(&lost, 0);
    outbox_init(&box, ends[1], count_lost, NULL);
    return 0;
}

/* One of another user, which cannot be opened again. */
static int opened_as_it_is(void **state)
{
    opened(state);
    close(box.own);
    box.own = -1;
    return 0;
}

static int opened_socket(void **state)
{
    (void)state;
    int both[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both), 0);
    ends[0] = both[0];
    ends[1] = both[1];
    atomic_store(&lost, 0);
    outbox_init(&box, ends[1], count_lost, NULL);
    return 0;
}

static int closed(void **state)
{
    (void)state;
    outbox_done(&box);
    if (ends[0] >= 0)
        close(ends[0]);
    close(ends[1]);
    return 0;
}

static bool put(char letter, size_t n, enum outbox_weight weight)
{
    struct buf line;
    buf_init(&line, n);
    char *at = buf_room(&line, n);
    memset(at, letter, n);
    line.n = n;
    bool ok = outbox_put(&box, &line, weight);
    buf_done(&line);
    return ok;
}

/* Reads until it has all; every byte must be of the row of letters. */
static void expect(const char *letters, size_t each)
{
    static char piece[65536];
    size_t done = 0, all = strlen(letters) * each;
    while (done < all) {
        ssize_t n =
            read(ends[0], piece, all - done < sizeof piece ? all - done : sizeof piece);
        assert_true(n > 0);
        for (ssize_t i = 0; i < n; i++, done++)
            assert_int_equal(piece[i], letters[done / each]);
    }
}

static void lines_come_in_order_and_whole(void **state)
{
    (void)state;
    size_t n = (size_t)1 << 20;
    for (const char *c = "abcdefgh"; *c; c++)
        assert_true(put(*c, n, OUTBOX_ANSWER)); /* none of them waits */
    expect("abcdefgh", n);
    while (!outbox_is_empty(&box, 1000))
        ;
    assert_true(put('z', 10, OUTBOX_LIGHT));
    expect("z", 10);
}

static void what_is_light_is_left_out_first(void **state)
{
    (void)state;
    size_t n = (size_t)1 << 20;
    assert_true(put('a', n, OUTBOX_LIGHT));
    assert_true(put('b', n, OUTBOX_LIGHT)); /* no more than waited before */
    assert_false(put('c', n, OUTBOX_LIGHT));
    unsigned heavy = 0;
    while (put('d', n, OUTBOX_HEAVY))
        heavy++;
    assert_in_range(heavy, 8, 17);
    assert_true(put('e', n, OUTBOX_ANSWER));
    assert_true(box.waiting < 2 * OUTBOX_HEAVY_MAX);
}

static void *put_more(void *arg)
{
    return put('y', 10, OUTBOX_ANSWER) ? arg : NULL;
}

static void an_answer_waits_for_room(void **state)
{
    (void)state;
    size_t n = (size_t)1 << 20;
    for (unsigned i = 0; i < 65; i++)
        assert_true(put('x', n, OUTBOX_ANSWER));
    pthread_t other;
    void *done = NULL;
    assert_int_equal(pthread_create(&other, NULL, put_more, &n), 0);
    for (unsigned i = 0; i < 65; i++)
        expect("x", n);
    pthread_join(other, &done);
    assert_non_null(done);
    expect("y", 10);
}

static void who_reads_no_more_lets_go_of_who_waits(void **state)
{
    (void)state;
    size_t n = (size_t)1 << 20;
    for (unsigned i = 0; i < 65; i++)
        assert_true(put('x', n, OUTBOX_ANSWER));
    pthread_t other;
    void *done = &n;
    assert_int_equal(pthread_create(&other, NULL, put_more, &n), 0);
    close(ends[0]);
    ends[0] = -1;
    pthread_join(other, &done);
    assert_null(done);
    assert_true(outbox_is_broken(&box));
    assert_true(outbox_is_empty(&box, 0));
    while (!atomic_load(&lost)) /* told right after */
        sched_yield();
    assert_int_equal(atomic_load(&lost), 1);
    assert_false(put('z', 1, OUTBOX_ANSWER));
}

static void one_may_give_up(void **state)
{
    (void)state;
    assert_true(put('x', (size_t)1 << 20, OUTBOX_ANSWER));
    assert_false(outbox_is_empty(&box, 1));
    outbox_break(&box);
    assert_true(outbox_is_empty(&box, 0));
    assert_int_equal(atomic_load(&lost), 0);
}

static void the_descriptor_itself_may_still_wait(void **state)
{
    (void)state;
    assert_true(box.own >= 0);
    assert_true(fcntl(box.own, F_GETFL) & O_NONBLOCK);
    assert_false(fcntl(ends[1], F_GETFL) & O_NONBLOCK);
}

#define T(f) cmocka_unit_test_setup_teardown(f, opened, closed)
#define AS_IT_IS(f) {"as it is: " #f, f, opened_as_it_is, closed, NULL}
#define SOCKET(f) {"socket: " #f, f, opened_socket, closed, NULL}

int main(void)
{
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    const struct CMUnitTest tests[] = {
        T(lines_come_in_order_and_whole),
        T(what_is_light_is_left_out_first),
        T(an_answer_waits_for_room),
        T(who_reads_no_more_lets_go_of_who_waits),
        T(one_may_give_up),
        AS_IT_IS(lines_come_in_order_and_whole),
        AS_IT_IS(what_is_light_is_left_out_first),
        AS_IT_IS(an_answer_waits_for_room),
        AS_IT_IS(who_reads_no_more_lets_go_of_who_waits),
        AS_IT_IS(one_may_give_up),
        T(the_descriptor_itself_may_still_wait),
        SOCKET(lines_come_in_order_and_whole),
        SOCKET(who_reads_no_more_lets_go_of_who_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
