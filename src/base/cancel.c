#include "base/base.h"

/* The lock is held only to read or change the two pointers and, once in a
 * cancel's life, during the call of `stop`: that keeps `arg` alive, because
 * cancel_off() waits for the same lock. */
static void lock(struct cancel *c)
{
    while (atomic_flag_test_and_set_explicit(&c->lock, memory_order_acquire))
        ;
}

static void unlock(struct cancel *c)
{
    atomic_flag_clear_explicit(&c->lock, memory_order_release);
}

void cancel_init(struct cancel *c)
{
    *c = (struct cancel){.lock = ATOMIC_FLAG_INIT};
    atomic_init(&c->fired, false);
}

bool cancel_on(struct cancel *c, void (*stop)(void *arg), void *arg)
{
    if (!c)
        return true;
    lock(c);
    bool open = !atomic_load(&c->fired);
    if (open) {
        c->stop = stop;
        c->arg = arg;
    }
    unlock(c);
    return open;
}

void cancel_off(struct cancel *c)
{
    if (!c)
        return;
    lock(c);
    c->stop = NULL;
    unlock(c);
}

void cancel_fire(struct cancel *c)
{
    lock(c);
    bool first = !atomic_exchange(&c->fired, true);
    if (first && c->stop)
        c->stop(c->arg);
    unlock(c);
}

bool cancel_fired(const struct cancel *c)
{
    return c && atomic_load(&c->fired);
}
