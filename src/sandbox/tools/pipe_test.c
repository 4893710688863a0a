/* The pipe between two stages: reads, waits, and its end. */
#include "tools/pipe.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "os/os.h"

#define FOR_EVER UINT64_MAX

static struct pipe *p;

static int begin(void **state)
{
    (void)state;
    p = pipe_new(0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    pipe_free(p);
    return 0;
}

static void put(const char *text)
{
    size_t done;
    assert_int_equal(pipe_write(p, text, strlen(text), &done), 0);
    assert_int_equal(done, strlen(text));
}

static void what_was_written_is_read_in_order(void **state)
{
    (void)state;
    char got[PIPE_BYTES];
    size_t done, whole = PIPE_BYTES - 3;
    char *many = mem_new(whole);
    memset(many, 'x', whole);
    put("abcdef");
    assert_int_equal(pipe_read(p, got, 4, &done), 0);
    assert_int_equal(done, 4);
    assert_memory_equal(got, "abcd", 4);
    /* Around the end of the ring. */
    assert_int_equal(pipe_write(p, many, whole, &done), 0);
    assert_int_equal(pipe_read(p, got, sizeof got, &done), 0);
    assert_int_equal(done, whole + 2);
    assert_memory_equal(got, "efxxx", 5);
    assert_int_equal(got[whole + 1], 'x');
    free(many);
}

static void an_end_is_told_to_both_sides(void **state)
{
    (void)state;
    char got[8];
    size_t done;
    put("ab");
    pipe_end_writing(p);
    assert_int_equal(pipe_read(p, got, sizeof got, &done), 0);
    assert_int_equal(done, 2);
    assert_int_equal(pipe_read(p, got, sizeof got, &done), 0);
    assert_int_equal(done, 0);
    pipe_end_reading(p);
    assert_int_equal(pipe_write(p, "x", 1, &done), EPIPE);
    assert_int_equal(done, 0);
}

static void who_only_looks_is_told_what_there_is(void **state)
{
    (void)state;
    size_t bytes;
    assert_int_equal(pipe_ready(p, 0, &bytes), EAGAIN);
    assert_int_equal(pipe_ready(p, os_mono_ns() + 1000000, &bytes), EAGAIN);
    put("abc");
    assert_int_equal(pipe_ready(p, FOR_EVER, &bytes), 0);
    assert_int_equal(bytes, 3);
    pipe_end_writing(p);
    assert_int_equal(pipe_ready(p, 0, &bytes), 0);
    assert_int_equal(bytes, 3);
    char got[3];
    assert_int_equal(pipe_read(p, got, sizeof got, &bytes), 0);
    assert_int_equal(pipe_ready(p, FOR_EVER, &bytes), 0);
    assert_int_equal(bytes, 0);
    pipe_stop(p);
    assert_int_equal(pipe_ready(p, FOR_EVER, &bytes), EINTR);
}

static void *write_late(void *arg)
{
    (void)arg;
    put("abc");
    return NULL;
}

static void who_looks_without_an_end_waits(void **state)
{
    (void)state;
    pthread_t thread;
    size_t bytes;
    assert_int_equal(pthread_create(&thread, NULL, write_late, NULL), 0);
    assert_int_equal(pipe_ready(p, FOR_EVER, &bytes), 0);
    assert_int_equal(bytes, 3);
    pthread_join(thread, NULL);
}

static void the_moment_at_which_all_ends_ends_looking(void **state)
{
    (void)state;
    size_t bytes;
    pipe_free(p);
    p = pipe_new(os_mono_ns() + 1000000);
    assert_int_equal(pipe_ready(p, FOR_EVER, &bytes), EINTR);
    assert_int_equal(pipe_read(p, &(char){0}, 1, &bytes), EINTR);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_was_written_is_read_in_order),         T(an_end_is_told_to_both_sides),
        T(who_only_looks_is_told_what_there_is),      T(who_looks_without_an_end_waits),
        T(the_moment_at_which_all_ends_ends_looking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
