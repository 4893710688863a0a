/* Threads for slow host calls, made as they are needed, up to a number; they stay.
 *
 * Threads cannot be taken away again from who has them, so principals have shares, as in
 * http/fair.c: they take turns, none has more than half of the threads, and the last
 * quarter is for those who have hardly any. Within a principal its evaluations take turns.
 *
 * Evaluations do not run here, so a call that waits for calls of its own never waits for
 * its caller's thread. A call that only waits has no thread at all: it is put off, and
 * goes on when it is woken, or when its time has come. */
#include "script/internal.h"

#include "os/os.h"

#define THREADS_MAX 32u
#define FEW 3u           /* threads that anybody may have */
#define SLOW_AT_ONCE 12u /* calls of one run that are performed, or answered */
#define STACK_SIZE ENGINE_THREAD_STACK /* what they do may run a guest */
#define TIMER_STACK ((size_t)256 << 10)

/* A principal's share of the threads. */
struct share {
    struct share *next;
    char *principal;
    struct run *first, *last; /* that have something to do, in turn */
    unsigned running;
    unsigned runs;    /* that were entered */
    unsigned resting; /* calls that wait for a person */
    unsigned lent;    /* and threads */
};

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct share *shares; /* in turn */
    pthread_t threads[THREADS_MAX + SCRIPT_RESTING_MAX];
    size_t count, idle, running, resting, lent;
    bool starting; /* one that was made has not come yet */
    bool ending;

    pthread_cond_t due;
    struct script_task **timers; /* a heap, the first is at 1 */
    size_t timer_count, timer_capacity;
    bool has_timer;
    pthread_t timer;
};

void queue_put(struct queue *q, struct script_task *t)
{
    t->next = NULL;
    if (q->first)
        q->last->next = t;
    else
        q->first = t;
    q->last = t;
}

struct script_task *queue_take(struct queue *q)
{
    struct script_task *t = q->first;
    if (t)
        q->first = t->next;
    return t;
}

/* ---- timers; the lock is held ------------------------------------------------ */

static void timer_set(struct workers *p, size_t at, struct script_task *t)
{
    p->timers[at] = t;
    t->timer_at = at;
}

/* Moves it to where it belongs, from `at`. */
static void timer_place(struct workers *p, size_t at, struct script_task *t)
{
    for (; at > 1 && p->timers[at / 2]->until_ns > t->until_ns; at /= 2)
        timer_set(p, at, p->timers[at / 2]);
    for (size_t child; (child = 2 * at) <= p->timer_count; at = child) {
        if (child < p->timer_count &&
            p->timers[child + 1]->until_ns < p->timers[child]->until_ns)
            child++;
        if (p->timers[child]->until_ns >= t->until_ns)
            break;
        timer_set(p, at, p->timers[child]);
    }
    timer_set(p, at, t);
}

static void timer_remove(struct workers *p, struct script_task *t)
{
    size_t at = t->timer_at;
    if (!at)
        return;
    t->timer_at = 0;
    struct script_task *last = p->timers[p->timer_count--];
    if (last != t)
        timer_place(p, at, last);
}

static void *keep_time(void *arg);

static bool has_timer(struct workers *p)
{
    if (p->has_timer)
        return true;
    p->has_timer = os_thread_start(&p->timer, "host-timer", TIMER_STACK, keep_time, p);
    return p->has_timer;
}

/* false: there is nobody to keep the time, so it goes on at once and looks for itself. */
static bool timer_add(struct workers *p, struct script_task *t)
{
    if (t->until_ns == UINT64_MAX)
        return true;
    if (!has_timer(p))
        return false;
    if (p->timer_count + 2 > p->timer_capacity) {
        p->timer_capacity = p->timer_capacity ? 2 * p->timer_capacity : 64;
        p->timers = realloc(p->timers, p->timer_capacity * sizeof(struct script_task *));
        must(p->timers != NULL);
    }
    timer_place(p, ++p->timer_count, t);
    if (t->timer_at == 1)
        pthread_cond_signal(&p->due);
    return true;
}

/* ---- whose turn it is; the lock is held ----------------------------------------- */

static struct share *find_share(struct workers *p, const char *principal)
{
    struct share *s = p->shares;
    while (s && strcmp(s->principal, principal) != 0)
        s = s->next;
    return s;
}

static void unlink_share(struct workers *p, struct share *s)
{
    struct share **at = &p->shares;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
}

static void append_share(struct workers *p, struct share *s)
{
    struct share **at = &p->shares;
    while (*at)
        at = &(*at)->next;
    *at = s;
    s->next = NULL;
}

/* Forgets one that nobody uses. */
static void tidy_share(struct workers *p, struct share *s)
{
    if (s->runs || s->running || s->resting)
        return;
    unlink_share(p, s);
    free(s->principal);
    free(s);
}

static bool has_turn(const struct run *r)
{
    const struct run_tasks *x = &r->in_workers;
    return x->ready.first ||
           (x->fresh.first && x->slots < SLOW_AT_ONCE && x->waiting < SCRIPT_WAITING_MAX);
}

static void list_run(struct run *r)
{
    struct share *s = r->in_workers.share;
    if (r->in_workers.listed || r->in_workers.over || !has_turn(r))
        return;
    r->in_workers.listed = true;
    r->in_workers.next = NULL;
    if (s->first)
        s->last->in_workers.next = r;
    else
        s->first = r;
    s->last = r;
}

static void unlist_run(struct run *r)
{
    struct share *s = r->in_workers.share;
    struct run *last = NULL, **at = &s->first;
    if (!r->in_workers.listed)
        return;
    while (*at != r) {
        last = *at;
        at = &(*at)->in_workers.next;
    }
    *at = r->in_workers.next;
    if (s->last == r)
        s->last = last;
    r->in_workers.listed = false;
}

static bool may_run(const struct workers *p, const struct share *s)
{
    /* Threads that wait for a person do not count. */
    size_t running = p->running > p->lent ? p->running - p->lent : 0;
    size_t mine = s->running > s->lent ? s->running - s->lent : 0;
    size_t idle = running < THREADS_MAX ? THREADS_MAX - running : 0;
    return s->first && idle &&
           (mine < FEW || (mine < THREADS_MAX / 2 && idle > THREADS_MAX / 4));
}

static struct share *next_share(const struct workers *p)
{
    struct share *s = p->shares;
    while (s && !may_run(p, s))
        s = s->next;
    return s;
}

static struct script_task *take_of(struct run *r)
{
    struct run_tasks *x = &r->in_workers;
    struct script_task *t = queue_take(&x->ready);
    if (!t)
        t = queue_take(&x->fresh);
    if (t && !t->has_slot) {
        t->has_slot = true;
        x->slots++;
    }
    return t;
}

/* The next task, now running; NULL: nobody may. Who had a turn goes behind all others. */
static struct script_task *next_task(struct workers *p)
{
    struct share *s = next_share(p);
    if (!s)
        return NULL;
    struct run *r = s->first;
    unlist_run(r);
    struct script_task *t = take_of(r);
    list_run(r);
    if (p->shares->next) {
        unlink_share(p, s);
        append_share(p, s);
    }
    t->state = TASK_RUNNING;
    t->woken = false;
    s->running++;
    p->running++;
    return t;
}

/* ---- threads ---------------------------------------------------------------------- */

static void *workers_thread(void *arg);

/* Somebody shall come, where there is something to do for one more. */
static void call_worker(struct workers *p)
{
    if (p->starting || !next_share(p))
        return; /* who starts calls the next */
    if (p->idle) {
        pthread_cond_signal(&p->work);
        return;
    }
    if (p->count >= THREADS_MAX + p->lent)
        return;
    p->starting = os_thread_start(&p->threads[p->count], "host-call", STACK_SIZE,
                                  workers_thread, p);
    p->count += p->starting;
}

static void make_ready(struct workers *p, struct script_task *t)
{
    timer_remove(p, t);
    if (t->state == TASK_WAITING && t->kind == SCRIPT_WAIT_LIGHT)
        t->run->in_workers.waiting--;
    t->state = TASK_QUEUED;
    queue_put(&t->run->in_workers.ready, t);
    if (t->run->in_workers.over) { /* its own thread goes on with it */
        run_poke(t->run);
        return;
    }
    list_run(t->run);
    call_worker(p);
}

/* It was put off: from now on it waits, unless it was woken meanwhile. */
static void park(struct workers *p, struct script_task *t)
{
    struct run_tasks *x = &t->run->in_workers;
    if (t->kind == SCRIPT_WAIT_LIGHT && t->has_slot) {
        t->has_slot = false;
        x->slots--;
    }
    t->state = TASK_RUNNING;
    if (t->woken || (x->over && cancel_fired(&t->cancel)) || !timer_add(p, t)) {
        t->woken = false;
        make_ready(p, t);
        return;
    }
    t->state = TASK_WAITING;
    x->waiting += t->kind == SCRIPT_WAIT_LIGHT;
    list_run(t->run);
    call_worker(p);
}

static void *workers_thread(void *arg)
{
    struct workers *p = arg;
    pthread_mutex_lock(&p->lock);
    p->starting = false;
    while (!p->ending) {
        struct script_task *t = next_task(p);
        if (!t) {
            p->idle++;
            pthread_cond_wait(&p->work, &p->lock);
            p->idle--;
            continue;
        }
        struct share *s = t->run->in_workers.share;
        call_worker(p); /* for the next, if there is one */
        pthread_mutex_unlock(&p->lock);
        bool done = run_perform(t);
        pthread_mutex_lock(&p->lock);
        s->running--;
        p->running--;
        if (!done) {
            park(p, t);
        } else { /* from then on its run may be gone */
            pthread_mutex_unlock(&p->lock);
            run_done(t);
            pthread_mutex_lock(&p->lock);
        }
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void *keep_time(void *arg)
{
    struct workers *p = arg;
    pthread_mutex_lock(&p->lock);
    while (!p->ending) {
        uint64_t until = p->timer_count ? p->timers[1]->until_ns : UINT64_MAX;
        if (until <= os_mono_ns()) {
            make_ready(p, p->timers[1]);
            continue;
        }
        (void)os_cond_wait(&p->due, &p->lock, until);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

struct workers *workers_new(void)
{
    struct workers *p = mem_new(sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->due, NULL);
    return p;
}

void workers_free(struct workers *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->ending = true;
    pthread_cond_broadcast(&p->work);
    pthread_cond_broadcast(&p->due);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->count; i++)
        pthread_join(p->threads[i], NULL);
    if (p->has_timer)
        pthread_join(p->timer, NULL);
    must(!p->shares);
    free(p->timers);
    pthread_cond_destroy(&p->due);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* ---- runs --------------------------------------------------------------------------- */

static struct share *need_share(struct workers *p, const char *principal)
{
    struct share *s = find_share(p, principal);
    if (!s) {
        s = mem_new(sizeof *s);
        s->principal = mem_strdup(principal);
        append_share(p, s);
    }
    return s;
}

/* Most evaluations make no slow call at all: they are entered with the first. */
void workers_enter(struct workers *p, struct run *r)
{
    if (r->in_workers.share)
        return;
    pthread_mutex_lock(&p->lock);
    r->in_workers.share = need_share(p, r->q->principal ? r->q->principal : "");
    r->in_workers.share->runs++;
    pthread_mutex_unlock(&p->lock);
}

void workers_leave(struct workers *p, struct run *r)
{
    struct share *s = r->in_workers.share;
    if (!s)
        return;
    pthread_mutex_lock(&p->lock);
    unlist_run(r);
    s->runs--;
    tidy_share(p, s);
    pthread_mutex_unlock(&p->lock);
}

/* Not one thread is to be had: ours will do. */
static void perform_here(struct workers *p, struct run *r)
{
    struct queue all;
    workers_withdraw(p, r, &all);
    pthread_mutex_lock(&p->lock);
    r->in_workers.over = false;
    pthread_mutex_unlock(&p->lock);
    for (struct script_task *t; (t = queue_take(&all));) {
        t->times.start_ns = os_mono_ns();
        t->ok = call_perform(r, NULL, t->row | t->within, t->args, &t->out, &t->err);
        t->times.end_ns = os_mono_ns();
        run_done(t);
    }
}

void workers_put(struct workers *p, struct run *r, struct queue *tasks)
{
    workers_enter(p, r);
    pthread_mutex_lock(&p->lock);
    for (struct script_task *t; (t = queue_take(tasks));) {
        t->state = TASK_QUEUED;
        queue_put(&r->in_workers.fresh, t);
    }
    list_run(r);
    call_worker(p);
    bool nobody = p->count == 0;
    pthread_mutex_unlock(&p->lock);
    if (nobody)
        perform_here(p, r);
}

void workers_park(struct workers *p, struct script_task *t)
{
    workers_enter(p, t->run);
    pthread_mutex_lock(&p->lock);
    park(p, t);
    pthread_mutex_unlock(&p->lock);
}

void workers_settled(struct workers *p, struct run *r, size_t n)
{
    if (!n)
        return;
    pthread_mutex_lock(&p->lock);
    r->in_workers.slots -= (unsigned)n;
    list_run(r);
    call_worker(p);
    pthread_mutex_unlock(&p->lock);
}

void workers_withdraw(struct workers *p, struct run *r, struct queue *out)
{
    *out = (struct queue){0};
    if (!r->in_workers.share)
        return;
    pthread_mutex_lock(&p->lock);
    unlist_run(r);
    r->in_workers.over = true;
    *out = r->in_workers.fresh;
    r->in_workers.fresh = (struct queue){0};
    pthread_mutex_unlock(&p->lock);
}

struct script_task *workers_next_of(struct workers *p, struct run *r)
{
    if (!r->in_workers.share)
        return NULL;
    pthread_mutex_lock(&p->lock);
    struct script_task *t = queue_take(&r->in_workers.ready);
    if (t) {
        t->state = TASK_RUNNING;
        t->woken = false;
    }
    pthread_mutex_unlock(&p->lock);
    return t;
}

/* ---- waiting ------------------------------------------------------------------------ */

void script_wait(struct script_task *t, script_again_fn *again, void *waiter,
                 enum script_wait_kind kind, uint64_t until_ns)
{
    t->again = again;
    t->waiter = waiter;
    t->kind = kind;
    t->until_ns = until_ns;
    t->put_off = true;
}

void script_wake(struct script_task *t)
{
    struct workers *p = t->run->script->workers;
    pthread_mutex_lock(&p->lock);
    if (t->state == TASK_WAITING)
        make_ready(p, t);
    else
        t->woken = t->state != TASK_QUEUED;
    pthread_mutex_unlock(&p->lock);
}

struct cancel *script_task_cancel(struct script_task *t)
{
    return &t->cancel;
}

/* ---- persons -------------------------------------------------------------------------- */

bool script_rest(struct script *s, const char *principal, bool thread, struct err *e)
{
    struct workers *p = s->workers;
    pthread_mutex_lock(&p->lock);
    struct share *mine = need_share(p, principal);
    bool ok = share_fits(mine->resting, p->resting, SCRIPT_RESTING_MAX);
    mine->resting += ok;
    p->resting += ok;
    mine->lent += ok && thread;
    p->lent += ok && thread;
    tidy_share(p, mine);
    call_worker(p);
    pthread_mutex_unlock(&p->lock);
    return ok || err_set(e, ERR_BUSY,
                         "too many calls wait for a person (%u may, and of one caller a "
                         "quarter of that); nothing ran; ask again when some are decided",
                         SCRIPT_RESTING_MAX);
}

void script_resume(struct script *s, const char *principal, bool thread)
{
    struct workers *p = s->workers;
    pthread_mutex_lock(&p->lock);
    struct share *mine = find_share(p, principal);
    must(mine && mine->resting);
    mine->resting--;
    p->resting--;
    mine->lent -= thread;
    p->lent -= thread;
    tidy_share(p, mine);
    pthread_mutex_unlock(&p->lock);
}
