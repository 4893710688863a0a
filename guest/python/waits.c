/* A wait without end, for what only another thread could do: a world has one thread. Where WASI's
 * own function would end the world, the code that waits gets a RuntimeError.
 *
 * CPython's locks take 0 for "woken by a signal", and run its handlers, the pending calls, before
 * they wait again. A lock that does not run them would wait forever: the second wait without a
 * handler in between ends the world. */
#include <pthread.h>
#include <Python.h>

static bool is_pending;

static int raise_deadlock(void *none)
{
    (void)none;
    is_pending = false;
    PyErr_SetString(
        PyExc_RuntimeError,
        "deadlock: this waits for another thread (a lock, an event, a queue, a future), "
        "and there are no threads. asyncio has all of these, without threads");
    return -1;
}

int pthread_cond_wait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex)
{
    (void)condition, (void)mutex;
    if (is_pending || Py_AddPendingCall(raise_deadlock, NULL) != 0)
        __builtin_trap();
    is_pending = true;
    return 0;
}
