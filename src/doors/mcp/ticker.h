/* mcp/ticker.h - signs of life for calls and streams that take long: one thread for all
 * of them, which does not exist before the first.
 *
 * Threads: safe. Private to the room mcp.
 */
#pragma once
#include <pthread.h>

#include "base/base.h"

#define BEAT_S 15u

/* A callback that is called each BEAT_S, from when it entered. It is its owner's, who
 * must not move it until it has left. */
struct beat {
    void (*fn)(void *arg); /* must not wait, and may not leave by itself */
    void *arg;
    uint64_t due_ns;
    struct beat *before, *after;
};

struct ticker {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct beat *first, *last; /* in the order in which they are due */
    struct beat *running;      /* whose fn is being called, without the lock */
    bool started, ending, asleep;
    pthread_t thread;
    unsigned beat_ms; /* BEAT_S; less in tests, which set it before the first */
};

void ticker_init(struct ticker *t);
void ticker_done(struct ticker *t); /* nothing is in it */
void ticker_enter(struct ticker *t, struct beat *b);
/* When it returns, fn is not being called and will not be. */
void ticker_leave(struct ticker *t, struct beat *b);
