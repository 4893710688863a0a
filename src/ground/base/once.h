/* base/once.h - a part of base/base.h, which includes it. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

struct err;

/* A thing that the first who needs it makes, under a lock of its own. All zeros: not made.
 * Threads: safe. */
struct once {
    pthread_mutex_t lock;
    void *_Atomic made;
};
/* Returns the object, made now or before; the owner frees it. NULL and `make`'s error: the
 * next who needs it tries again. `make` may need another once, but never in a circle. */
void *once_need(struct once *o, void *(*make)(void *arg, struct err *e), void *arg,
                struct err *e);
/* NULL: not made yet. */
static inline void *once_peek(const struct once *o)
{
    return atomic_load_explicit(&o->made, memory_order_acquire);
}
