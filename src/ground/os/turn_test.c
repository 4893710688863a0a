/* Time slices of a thread, where the system lets a program set them. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "base/skip_test.h"
#include "os/os.h"

#define SHORT 200000u
#define SHORTER 100000u

static void *change_turn(void *arg)
{
    *(uint64_t *)arg = os_thread_turn(SHORTER);
    return NULL;
}

static void turns_are_as_asked_also_in_threads_begun_since_and_then_as_before(
    void **state)
{
    (void)state;
    uint64_t inherited = 0, before = os_thread_turn(SHORT);
    if (before == 0)
        skip_system("threads have no time slices of their own");
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, change_turn, &inherited), 0);
    pthread_join(thread, NULL);
    assert_int_equal(inherited, SHORT);
    assert_int_equal(os_thread_turn(0), 0); /* nothing is asked */
    assert_int_equal(os_thread_turn(before), SHORT);
    assert_int_equal(os_thread_turn(before), before);
}

static void how_nice_a_thread_is_stays(void **state)
{
    (void)state;
    errno = 0;
    int nice = getpriority(PRIO_PROCESS, 0) + 1;
    assert_int_equal(setpriority(PRIO_PROCESS, 0, nice > 19 ? 19 : nice), 0);
    nice = getpriority(PRIO_PROCESS, 0);
    (void)os_thread_turn(SHORT);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), nice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            turns_are_as_asked_also_in_threads_begun_since_and_then_as_before),
        cmocka_unit_test(how_nice_a_thread_is_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
