#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "os/os.h"

static void *look(void *arg)
{
    pthread_attr_t attr;
    (void)pthread_getattr_np(pthread_self(), &attr);
    (void)pthread_attr_getstacksize(&attr, arg);
    (void)pthread_attr_destroy(&attr);
    return NULL;
}

static void a_thread_gets_the_stack_that_was_asked_for(void **state)
{
    (void)state;
    size_t stack = 0;
    pthread_t thread;
    assert_true(os_thread_start(&thread, "looks", (size_t)512 << 10, look, &stack));
    assert_int_equal(pthread_join(thread, NULL), 0);
    /* A sanitizer adds what it keeps there itself; by default it would be megabytes. */
    assert_in_range(stack, (size_t)512 << 10, (size_t)2 << 20);
}

static void a_stack_that_is_too_small_is_an_error(void **state)
{
    (void)state;
    pthread_t thread;
    assert_false(os_thread_start(&thread, "none", 1, look, NULL));
    assert_int_equal(errno, EINVAL);
}

static void a_wait_ends_at_its_deadline_and_not_before(void **state)
{
    (void)state;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    uint64_t until = os_in_ms(20);
    pthread_mutex_lock(&lock);
    while (os_cond_wait(&never, &lock, until))
        continue;
    assert_true(os_mono_ns() >= until);
    assert_false(os_cond_wait(&never, &lock, 0));
    pthread_mutex_unlock(&lock);
}

struct bell {
    pthread_mutex_t lock;
    pthread_cond_t rings;
    bool rang;
};

static void *ring(void *arg)
{
    struct bell *b = arg;
    pthread_mutex_lock(&b->lock);
    b->rang = true;
    pthread_cond_signal(&b->rings);
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

static void a_wait_without_a_deadline_ends_with_the_signal(void **state)
{
    (void)state;
    struct bell b = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    pthread_t thread;
    pthread_mutex_lock(&b.lock);
    assert_true(os_thread_start(&thread, "rings", 0, ring, &b));
    while (!b.rang)
        assert_true(os_cond_wait(&b.rings, &b.lock, UINT64_MAX));
    pthread_mutex_unlock(&b.lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void *step_behind(void *arg)
{
    int *nice_now = arg;
    os_thread_behind();
    *nice_now = getpriority(PRIO_PROCESS, 0);
    return NULL;
}

static void a_thread_goes_behind_others_and_leaves_them_as_they_are(void **state)
{
    (void)state;
    pthread_t thread;
    int own = getpriority(PRIO_PROCESS, 0), its;
    int most = own < 9 ? own + 10 : 19;
    assert_true(os_thread_start(&thread, "behind", 0, step_behind, &its));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(its, most);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_gets_the_stack_that_was_asked_for),
        cmocka_unit_test(a_stack_that_is_too_small_is_an_error),
        cmocka_unit_test(a_wait_ends_at_its_deadline_and_not_before),
        cmocka_unit_test(a_wait_without_a_deadline_ends_with_the_signal),
        cmocka_unit_test(a_thread_goes_behind_others_and_leaves_them_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
