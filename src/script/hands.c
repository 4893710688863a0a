/* Threads for host calls that wait. They are made as they are needed, up to a
 * number, and stay: a call that waits for calls of its own never waits for its
 * caller's thread, because callers do not run here. Those that wait for a person do not
 * count. */
#include "script/internal.h"

#define HANDS_MAX 32u
#define STACK_SIZE ENGINE_THREAD_STACK /* what they do may run a guest */

struct hands {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct errand *first, *last;
    pthread_t threads[HANDS_MAX + SCRIPT_RESTING_MAX];
    size_t count, idle, waiting, resting;
    bool ending;
};

static void *lend_a_hand(void *arg)
{
    struct hands *h = arg;
    pthread_mutex_lock(&h->lock);
    for (;;) {
        while (!h->first && !h->ending) {
            h->idle++;
            pthread_cond_wait(&h->work, &h->lock);
            h->idle--;
        }
        if (!h->first)
            break;
        struct errand *errand = h->first;
        h->first = errand->next;
        h->waiting--;
        pthread_mutex_unlock(&h->lock);
        run_perform(errand);
        run_done(errand);
        pthread_mutex_lock(&h->lock);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

struct hands *hands_new(void)
{
    struct hands *h = mem_new(sizeof *h);
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->work, NULL);
    return h;
}

void hands_free(struct hands *h)
{
    if (!h)
        return;
    pthread_mutex_lock(&h->lock);
    h->ending = true;
    pthread_cond_broadcast(&h->work);
    pthread_mutex_unlock(&h->lock);
    for (size_t i = 0; i < h->count; i++)
        pthread_join(h->threads[i], NULL);
    pthread_cond_destroy(&h->work);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

/* One more, where there are too few; the lock is held. */
static void need_hands(struct hands *h)
{
    if (h->waiting <= h->idle || h->count >= HANDS_MAX + h->resting)
        return;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    h->count += pthread_create(&h->threads[h->count], &attr, lend_a_hand, h) == 0;
    pthread_attr_destroy(&attr);
}

bool hands_rest(struct hands *h, struct err *e)
{
    pthread_mutex_lock(&h->lock);
    bool ok = h->resting < SCRIPT_RESTING_MAX;
    h->resting += ok;
    if (ok)
        need_hands(h);
    pthread_mutex_unlock(&h->lock);
    return ok || err_set(e, ERR_BUSY,
                         "too many calls wait for a person (%u may); nothing ran; ask "
                         "again when some are decided",
                         SCRIPT_RESTING_MAX);
}

void hands_resume(struct hands *h)
{
    pthread_mutex_lock(&h->lock);
    h->resting--;
    pthread_mutex_unlock(&h->lock);
}

void hands_take(struct hands *h, struct errand *errand)
{
    errand->next = NULL;
    pthread_mutex_lock(&h->lock);
    if (h->first)
        h->last->next = errand;
    else
        h->first = errand;
    h->last = errand;
    h->waiting++;
    need_hands(h);
    bool nobody = h->count == 0;
    if (nobody) { /* not one thread to be had: ours will do */
        h->first = NULL;
        h->waiting = 0;
    }
    pthread_cond_signal(&h->work);
    pthread_mutex_unlock(&h->lock);
    if (nobody) {
        run_perform(errand);
        run_done(errand);
    }
}
