/* Threads for ag, whose workers take files from a queue that the first thread fills: without
 * threads a worker runs when it is waited for, and finds the whole queue. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/* The C library has declared types of the same names. */
#define pthread_t       struct worker_thread
#define pthread_mutex_t int
#define pthread_cond_t  int

pthread_t
{
    void *(*run)(void *);
    void *argument;
};

#define PTHREAD_MUTEX_INITIALIZER 0
#define PTHREAD_COND_INITIALIZER  0

static inline int pthread_create(pthread_t *t, const void *attributes, void *(*run)(void *),
                                 void *argument)
{
    (void)attributes;
    *t = (pthread_t){run, argument};
    return 0;
}

static inline int pthread_join(pthread_t t, void **result)
{
    (void)result;
    t.run(t.argument);
    return 0;
}

/* Its one caller is the function that was started. */
#define pthread_exit(result) return (result)

static inline int pthread_nothing(int *what)
{
    (void)what;
    return 0;
}
#define pthread_mutex_init(mutex, attributes) pthread_nothing(mutex)
#define pthread_mutex_destroy                 pthread_nothing
#define pthread_mutex_lock                    pthread_nothing
#define pthread_mutex_unlock                  pthread_nothing
#define pthread_cond_init(cond, attributes)   pthread_nothing(cond)
#define pthread_cond_destroy                  pthread_nothing
#define pthread_cond_broadcast                pthread_nothing
#define pthread_cond_signal                   pthread_nothing
#define pthread_cond_wait(cond, mutex)        pthread_nothing(cond)
