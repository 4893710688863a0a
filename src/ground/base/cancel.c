#include "base/base.h"

/* The lock is held only to read or change the list and, once in a cancel's life,
 * during the calls of `stop`: that keeps each `arg` alive, because cancel_off()
 * waits for the same lock. */
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

bool cancel_on(struct cancel *c, struct cancel_stop *s, void (*stop)(void *arg),
               void *arg)
{
    *s = (struct cancel_stop){.stop = stop, .arg = arg};
    if (!c)
        return true;
    lock(c);
    s->on = !atomic_load(&c->fired);
    if (s->on) {
        s->next = c->first;
        if (c->first)
            c->first->before = s;
        c->first = s;
    }
    unlock(c);
    return s->on;
}

void cancel_off(struct cancel *c, struct cancel_stop *s)
{
    if (!c || !s->on)
        return;
    lock(c);
    if (s->before)
        s->before->next = s->next;
    else
        c->first = s->next;
    if (s->next)
        s->next->before = s->before;
    s->on = false;
    unlock(c);
}

void cancel_fire(struct cancel *c)
{
    lock(c);
    bool first = !atomic_exchange(&c->fired, true);
    for (struct cancel_stop *s = first ? c->first : NULL; s; s = s->next)
        s->stop(s->arg);
    unlock(c);
}

void cancel_set_due(struct cancel *c, bool (*is_due)(void *arg), void *arg)
{
    c->is_due = is_due;
    c->due_arg = arg;
}

bool cancel_fired(const struct cancel *c)
{
    return c && (atomic_load(&c->fired) || (c->is_due && c->is_due(c->due_arg)));
}
