/* All wait for the same time, so the list in which they entered is the order in which
 * they are due, and a thread that sleeps for that time misses nobody who comes
 * meanwhile: a short call comes and goes without waking it.
 */
#include "mcp/ticker.h"

#include "os/os.h"

void ticker_init(struct ticker *t)
{
    *t = (struct ticker){.beat_ms = BEAT_S * 1000};
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
}

void ticker_done(struct ticker *t)
{
    pthread_mutex_lock(&t->lock);
    must(!t->first);
    t->ending = true;
    pthread_cond_broadcast(&t->changed);
    bool started = t->started;
    pthread_mutex_unlock(&t->lock);
    if (started)
        pthread_join(t->thread, NULL);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
}

/* ---- the list; the lock is held ----------------------------------------- */

static void put_last(struct ticker *t, struct beat *b)
{
    b->due_ns = os_in_ms(t->beat_ms);
    b->before = t->last;
    b->after = NULL;
    *(t->last ? &t->last->after : &t->first) = b;
    t->last = b;
}

static void take_out(struct ticker *t, struct beat *b)
{
    *(b->before ? &b->before->after : &t->first) = b->after;
    *(b->after ? &b->after->before : &t->last) = b->before;
}

/* ---- the thread --------------------------------------------------------- */

static void ticker_beat(struct ticker *t, struct beat *b)
{
    take_out(t, b);
    put_last(t, b);
    t->running = b;
    pthread_mutex_unlock(&t->lock);
    b->fn(b->arg);
    pthread_mutex_lock(&t->lock);
    t->running = NULL;
    pthread_cond_broadcast(&t->changed);
}

/* For as long as one may have come meanwhile that is due then; and with nobody there
 * even after that, until somebody comes. */
static void wait_for_some(struct ticker *t)
{
    uint64_t until = os_in_ms(t->beat_ms);
    while (!t->first && !t->ending && os_mono_ns() < until)
        (void)os_cond_wait(&t->changed, &t->lock, until);
    t->asleep = true;
    while (!t->first && !t->ending)
        pthread_cond_wait(&t->changed, &t->lock);
    t->asleep = false;
}

static void *tick(void *arg)
{
    struct ticker *t = arg;
    pthread_mutex_lock(&t->lock);
    while (!t->ending) {
        if (!t->first)
            wait_for_some(t);
        else if (t->first->due_ns > os_mono_ns())
            (void)os_cond_wait(&t->changed, &t->lock, t->first->due_ns);
        else
            ticker_beat(t, t->first);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

/* Without a thread there are no signs of life; calls do well without. */
static void ticker_start(struct ticker *t)
{
    t->started = os_thread_start(&t->thread, "mcp-ticker", (size_t)256 << 10, tick, t);
}

void ticker_enter(struct ticker *t, struct beat *b)
{
    pthread_mutex_lock(&t->lock);
    if (!t->started)
        ticker_start(t);
    put_last(t, b);
    if (t->asleep)
        pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

void ticker_leave(struct ticker *t, struct beat *b)
{
    pthread_mutex_lock(&t->lock);
    while (t->running == b)
        pthread_cond_wait(&t->changed, &t->lock);
    take_out(t, b);
    pthread_mutex_unlock(&t->lock);
}
