/* The one thread that keeps all deadlines.
 *
 * It sleeps until the earliest moment at which any running call could be due.
 * Computing time is CPU time of the guest's thread, which runs no faster than
 * the clock: so it looks when the time could be used up at the earliest, reads
 * the thread's CPU clock, and looks again after what is left.
 *
 * Besides, it closes modules that nobody has used for long, at most once in that time.
 *
 * Stopping happens under the lock that watchdog_remove() takes: once a call has
 * been removed, its memory may serve another world.
 */
#include <errno.h>
#include <time.h>

#include "engine/internal.h"
#include "os/os.h"

struct watchdog {
    struct engine *engine;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    struct watch *first;
    uint64_t sleeping_until_ns;
    _Atomic uint64_t
        tend_ns; /* when engine_tend() is due; UINT64_MAX: nothing is loaded */
    bool ending;
};

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t) != 0)
        return 0;
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Stops the call if it is due; else sets when to look again. */
static void watch_check(struct watch *w, uint64_t now)
{
    if (now >= w->wall_end_ns) {
        world_stop(w->world, ERR_TIMEOUT);
        w->look_ns = UINT64_MAX;
        return;
    }
    w->look_ns = w->wall_end_ns;
    if (w->cpu_end_ns == UINT64_MAX)
        return;
    uint64_t used = clock_ns(w->cpu_clock);
    if (used >= w->cpu_end_ns) {
        world_stop(w->world, ERR_TIMEOUT);
        w->look_ns = UINT64_MAX;
    } else if (now + (w->cpu_end_ns - used) < w->look_ns) {
        w->look_ns = now + (w->cpu_end_ns - used);
    }
}

/* The lock is held, but not meanwhile. What is asked for then is looked at again. */
static void watchdog_run_tasks(struct watchdog *d)
{
    atomic_store(&d->tend_ns, UINT64_MAX);
    pthread_mutex_unlock(&d->lock);
    uint64_t next = engine_tend(d->engine);
    pthread_mutex_lock(&d->lock);
    if (next < d->tend_ns)
        atomic_store(&d->tend_ns, next);
}

static void *keep_watch(void *arg)
{
    struct watchdog *d = arg;
    pthread_mutex_lock(&d->lock);
    while (!d->ending) {
        uint64_t now = os_mono_ns(), next = UINT64_MAX;
        for (struct watch *w = d->first; w; w = w->next) {
            if (w->look_ns <= now)
                watch_check(w, now);
            if (w->look_ns < next)
                next = w->look_ns;
        }
        if (d->tend_ns <= now) {
            watchdog_run_tasks(d);
            continue;
        }
        next = d->tend_ns < next ? d->tend_ns : next;
        d->sleeping_until_ns = next;
        (void)os_cond_wait(&d->wake, &d->lock, next);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

struct watchdog *watchdog_new(struct engine *g, struct err *e)
{
    struct watchdog *d = mem_new(sizeof *d);
    d->engine = g;
    atomic_init(&d->tend_ns, UINT64_MAX);
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->wake, NULL);
    d->sleeping_until_ns = UINT64_MAX;
    if (!os_thread_start(&d->thread, "engine-watch", 0, keep_watch, d)) {
        free(d);
        err_set(e, ERR_IO, "cannot start the thread that keeps deadlines: %m");
        return NULL;
    }
    return d;
}

void watchdog_free(struct watchdog *d)
{
    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    must(d->first == NULL);
    d->ending = true;
    pthread_cond_signal(&d->wake);
    pthread_mutex_unlock(&d->lock);
    pthread_join(d->thread, NULL);
    pthread_cond_destroy(&d->wake);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

void watchdog_add(struct watchdog *d, struct watch *w)
{
    pthread_mutex_lock(&d->lock);
    w->before = NULL;
    w->next = d->first;
    if (d->first)
        d->first->before = w;
    d->first = w;
    /* The common call is due later than what the thread already waits for. */
    if (w->look_ns < d->sleeping_until_ns)
        pthread_cond_signal(&d->wake);
    pthread_mutex_unlock(&d->lock);
}

void watchdog_remove(struct watchdog *d, struct watch *w)
{
    pthread_mutex_lock(&d->lock);
    if (w->before)
        w->before->next = w->next;
    else
        d->first = w->next;
    if (w->next)
        w->next->before = w->before;
    pthread_mutex_unlock(&d->lock);
}

void watchdog_move(struct watchdog *d, struct watch *w, uint64_t cpu_end_ns,
                   uint64_t wall_end_ns)
{
    pthread_mutex_lock(&d->lock);
    w->cpu_end_ns = cpu_end_ns;
    w->wall_end_ns = wall_end_ns;
    if (cpu_end_ns != UINT64_MAX || wall_end_ns != UINT64_MAX)
        watch_check(w, os_mono_ns());
    if (w->look_ns < d->sleeping_until_ns)
        pthread_cond_signal(&d->wake);
    pthread_mutex_unlock(&d->lock);
}

void watchdog_tend(struct watchdog *d, uint64_t at_ns)
{
    if (at_ns >= atomic_load_explicit(&d->tend_ns, memory_order_relaxed))
        return;
    pthread_mutex_lock(&d->lock);
    if (at_ns < d->tend_ns)
        atomic_store(&d->tend_ns, at_ns);
    if (at_ns < d->sleeping_until_ns)
        pthread_cond_signal(&d->wake);
    pthread_mutex_unlock(&d->lock);
}

void watchdog_stop(struct watchdog *d, struct world *w, enum err_code why)
{
    pthread_mutex_lock(&d->lock);
    world_stop(w, why);
    pthread_mutex_unlock(&d->lock);
}
