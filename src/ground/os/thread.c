#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "os/beneath.h"

struct beginning {
    char name[16];
    void *(*run)(void *arg);
    void *arg;
};

/* A thread names itself: another one would have to open a file for that. */
static void *thread_begin(void *given)
{
    struct beginning b = *(struct beginning *)given;
    free(given);
    (void)prctl(PR_SET_NAME, b.name);
    return b.run(b.arg);
}

unsigned beneath_processors(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return n > 1 ? (unsigned)n : 1;
}

bool os_thread_start(pthread_t *thread, const char *name, size_t stack,
                     void *(*run)(void *), void *arg)
{
    struct beginning *b = mem_new(sizeof *b);
    *b = (struct beginning){.run = run, .arg = arg};
    (void)snprintf(b->name, sizeof b->name, "%s", name);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    errno = stack ? pthread_attr_setstacksize(&attr, stack) : 0;
    if (!errno)
        errno = pthread_create(thread, &attr, thread_begin, b);
    bool ok = errno == 0;
    if (!ok)
        free(b);
    pthread_attr_destroy(&attr);
    return ok;
}

void os_thread_behind(void)
{
    /* Of the thread, on Linux, not of its process. */
    (void)!nice(10);
}

bool os_cond_wait(pthread_cond_t *c, pthread_mutex_t *lock, uint64_t until_ns)
{
    if (until_ns == UINT64_MAX)
        return pthread_cond_wait(c, lock) == 0;
    struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u),
                             .tv_nsec = (long)(until_ns % 1000000000u)};
    return pthread_cond_clockwait(c, lock, CLOCK_MONOTONIC, &until) == 0;
}
