/* The host calls of one run: taken over from the guest, performed, and handed back.
 *
 * Quick ones are performed at once, in their order; slow ones at the same time, on the
 * pool's threads. Each is noted (made.c), for the trace and for hints.
 */

#include "os/os.h"
#include "script/internal.h"
#include "json/json.h"

#define ANSWERS_AT_ONCE ((size_t)8 << 20) /* bytes, before the guest goes on */

/* ---- performing --------------------------------------------------------- */

/* Checks the answer of a call's function, or of its continuation. */
static bool check_answer(bool ok, struct buf *out, struct err *e)
{
    if (!ok || !buf_check(out, "the answer", e))
        return false;
    if (out->n == 0)
        buf_cstr(out, "null");
    return true;
}

bool call_perform(struct run *r, struct script_task *t, uint32_t row, struct str args,
                  struct buf *out, struct err *e)
{
    uint32_t number = row & ~SCRIPT_WITHIN;
    if (number >= r->script->row_count)
        return err_set(e, ERR_NOT_FOUND, "there is no host call number %u", number);
    uint32_t feature = r->script->rows[number].feature;
    if (feature && !(r->q->features & feature))
        return err_set(e, ERR_DENIED, "%s is not enabled in this call",
                       r->script->rows[number].name);
    bool ok = r->q->perform(r->q->perform_arg, t, row, args, out, e);
    return (t && t->put_off) || check_answer(ok, out, e);
}

/* An error as the guest makes one of its own from it. */
void call_failure(const struct err *why, struct buf *out)
{
    const struct err_kind *kind = err_kind(why->code);
    struct json_writer w = json_writer(out);
    err_log(why, "host call");
    json_open_object(&w);
    json_pair_cstr(&w, "name", kind->name);
    json_pair_cstr(&w, "code", kind->code);
    json_pair_cstr(&w, "message", why->msg);
    json_pair_bool(&w, "retry", kind->retry);
    json_close(&w);
}

/* ---- host calls of one run ---------------------------------------------- */

bool run_perform(struct script_task *t)
{
    if (!t->times.start_ns)
        t->times.start_ns = os_mono_ns();
    t->put_off = false;
    if (!t->again)
        t->ok = call_perform(t->run, t, t->row | t->within, t->args, &t->out, &t->err);
    else
        t->ok = check_answer(t->again(t->waiter, t, &t->out, &t->err), &t->out, &t->err);
    if (t->put_off)
        return false;
    t->times.end_ns = os_mono_ns();
    return true;
}

void run_done(struct script_task *t)
{
    struct run *r = t->run;
    pthread_mutex_lock(&r->lock);
    t->next = r->finished;
    r->finished = t;
    r->away--;
    pthread_cond_signal(&r->change);
    pthread_mutex_unlock(&r->lock);
}

void run_poke(struct run *r)
{
    pthread_mutex_lock(&r->lock);
    r->poked = true;
    pthread_cond_signal(&r->change);
    pthread_mutex_unlock(&r->lock);
}

static struct script_task *task_new(struct run *r, const struct script_call *c,
                                    const char *args)
{
    struct script_task *t = malloc(sizeof *t + c->size);
    if (!t)
        return NULL;
    memcpy(t + 1, args, c->size);
    *t = (struct script_task){.run = r,
                              .id = c->id,
                              .row = c->row & ~SCRIPT_WITHIN,
                              .within = c->row & SCRIPT_WITHIN,
                              .args = {(char *)(t + 1), c->size},
                              .after = r->tasks,
                              .made = made_add(r, c, (struct str){args, c->size})};
    cancel_init(&t->cancel);
    buf_init(&t->out, CALL_ANSWER_MAX);
    if (r->tasks)
        r->tasks->before = t;
    r->tasks = t;
    return t;
}

static void task_free(struct script_task *t)
{
    struct run *r = t->run;
    made_end(r, t->made, &t->times, t->err.code, t->out.n);
    *(t->before ? &t->before->after : &r->tasks) = t->after;
    if (t->after)
        t->after->before = t->before;
    buf_done(&t->out);
    free(t);
}

/* Takes over the calls that the guest has made, slow and quick ones apart. */
bool run_take_calls(struct run *r, struct world *w, const struct script_answer *a,
                    struct err *e)
{
    struct str all = {0};
    if (!guest_text(w, a->calls_at, a->calls_size, &all, e))
        return false;
    for (size_t at = 0; all.n - at >= sizeof(struct script_call);) {
        struct script_call c;
        memcpy(&c, all.at + at, sizeof c);
        at += sizeof c;
        size_t padded = SCRIPT_PAD((size_t)c.size);
        struct script_task *t =
            padded <= all.n - at ? task_new(r, &c, all.at + at) : NULL;
        if (!t)
            return err_set(e, ERR_GUEST, "the guest's host calls cannot be read");
        at += padded;
        if (++r->out->stats.host_calls > r->q->calls_max) {
            task_free(t);
            return err_set(e, ERR_HOST_CALLS, "made more than %u host calls",
                           r->q->calls_max);
        }
        uint32_t number = c.row & ~SCRIPT_WITHIN;
        bool slow = number < r->script->row_count && r->script->rows[number].slow;
        queue_put(slow ? &r->slow : &r->quick, t);
    }
    return true;
}

/* The pool sends a few at a time: the others' turn comes too, the answers that wait for
 * the guest are bounded, and little is left to end when it ends. */
void run_send_slow(struct run *r)
{
    size_t n = 0;
    for (struct script_task *t = r->slow.first; t; t = t->next)
        n++;
    if (!n)
        return;
    pthread_mutex_lock(&r->lock);
    r->away += n;
    pthread_mutex_unlock(&r->lock);
    workers_put(r->script->workers, r, &r->slow);
}

/* Tasks behind one that was put off wait for it: they keep their order. */
static bool perform_one(struct run *r, struct script_task *t)
{
    pthread_mutex_lock(&r->lock);
    r->away++;
    pthread_mutex_unlock(&r->lock);
    if (run_perform(t)) {
        run_done(t);
        return true;
    }
    r->held = t;
    workers_park(r->script->workers, t);
    return false;
}

/* Performs quick calls, in their order, until their answers together are large
 * enough to be handed over: a thousand large notes are not held at once. */
void run_perform_quick(struct run *r)
{
    for (size_t bytes = 0; r->quick.first && !r->held && bytes < ANSWERS_AT_ONCE;) {
        if (os_mono_ns() > run_wait_until(r) || cancel_fired(r->q->cancel))
            return; /* the run ends, and with it the queue */
        struct script_task *t = queue_take(&r->quick);
        if (perform_one(r, t))
            bytes += t->out.n;
    }
}

static void wake_cancelled(void *arg)
{
    struct run *r = arg;
    pthread_mutex_lock(&r->lock);
    r->cancelled = true;
    pthread_cond_signal(&r->change);
    pthread_mutex_unlock(&r->lock);
}

/* Waits until a call is done, a timer is due, or the run must end. */
bool run_wait(struct run *r, const struct script_answer *a, struct err *e)
{
    uint64_t until = run_wait_until(r);
    if (a->has_timer && a->timer_ms >= 0 && a->timer_ms < 1e9) {
        uint64_t due = os_mono_ns() + (uint64_t)(a->timer_ms * 1e6);
        until = due < until ? due : until;
    }
    struct cancel_stop stop;
    bool open = cancel_on(r->q->cancel, &stop, wake_cancelled, r);
    pthread_mutex_lock(&r->lock);
    r->cancelled |= !open;
    bool hopeless = !r->finished && !r->away && !r->cancelled && !a->has_timer;
    bool late = hopeless;
    while (!r->finished && !r->cancelled && !late)
        late = !os_cond_wait(&r->change, &r->lock, until);
    bool cancelled = r->cancelled;
    pthread_mutex_unlock(&r->lock);
    cancel_off(r->q->cancel, &stop);
    if (cancelled)
        return err_set(e, ERR_CANCELLED, "cancelled while it was waiting");
    if (hopeless && os_mono_ns() < run_wait_until(r))
        return err_set(e, ERR_GUEST, "the code awaits a promise that can never settle");
    if (os_mono_ns() >= run_wait_until(r))
        return err_set(e, ERR_TIMEOUT,
                       "took longer than %llu ms in all, waiting included",
                       (unsigned long long)r->q->total_ms);
    return true;
}

/* ---- settling ----------------------------------------------------------- */

/* The finished ones, oldest first. */
static struct script_task *take_finished(struct run *r)
{
    pthread_mutex_lock(&r->lock);
    struct script_task *list = take(r->finished);
    pthread_mutex_unlock(&r->lock);
    struct script_task *ordered = NULL;
    for (struct script_task *t = list, *next; t; t = next) {
        next = t->next;
        t->next = ordered;
        ordered = t;
    }
    return ordered;
}

/* Answers how many of them had a place among those under way. */
static size_t free_tasks(struct script_task *t)
{
    size_t slots = 0;
    for (struct script_task *next; t; t = next) {
        next = t->next;
        slots += t->has_slot;
        if (t->run->held == t)
            t->run->held = NULL;
        task_free(t);
    }
    return slots;
}

static size_t settled_size(struct script_task *list)
{
    size_t n = 0;
    for (struct script_task *t = list; t; t = t->next) {
        if (!t->ok) {
            buf_clear(&t->out);
            call_failure(&t->err, &t->out);
        }
        n += sizeof(struct script_settled) + SCRIPT_PAD(t->out.n);
    }
    return n;
}

static void settled_put(struct run *r, struct script_task *list, char *to)
{
    for (struct script_task *t = list; t; t = t->next) {
        struct script_settled s = {
            .id = t->id, .failed = !t->ok, .size = (uint32_t)t->out.n};
        memcpy(to, &s, sizeof s);
        if (t->out.n)
            memcpy(to + sizeof s, t->out.at, t->out.n);
        to += sizeof s + SCRIPT_PAD(t->out.n);
        r->out->changed |= t->ok && r->script->rows[t->row].writes;
    }
}

void run_collect(struct run *r)
{
    struct script_task *list = take_finished(r);
    buf_clear(&r->settled);
    size_t n = settled_size(list);
    char *to = n ? buf_room(&r->settled, n) : NULL;
    if (to) {
        settled_put(r, list, to);
        r->settled.n += n;
    }
    r->round++;
    workers_settled(r->script->workers, r, free_tasks(list));
}

bool run_settle(struct run *r, struct world *w, struct script_answer *a, struct err *e)
{
    struct script_task *list = take_finished(r);
    size_t n = settled_size(list);
    uint64_t cell = n;
    char *to = guest_room(w, n, e);
    if (to)
        settled_put(r, list, to);
    r->round++;
    workers_settled(r->script->workers, r, free_tasks(list));
    return to && guest_answer(w, "resume", &cell, 1, a, sizeof *a, e);
}

/* ---- the end -------------------------------------------------------------- */

static bool is_all_back(struct run *r)
{
    pthread_mutex_lock(&r->lock);
    while (r->away && !r->poked)
        pthread_cond_wait(&r->change, &r->lock);
    r->poked = false;
    bool back = r->away == 0;
    pthread_mutex_unlock(&r->lock);
    return back;
}

/* Waiting tasks learn that the run is over, and end here: not behind others' work for the
 * pool's threads. */
static void end_tasks(struct run *r)
{
    struct workers *p = r->script->workers;
    for (struct script_task *t; (t = workers_next_of(p, r));) {
        if (run_perform(t))
            run_done(t);
        else
            workers_park(p, t);
    }
}

/* Tasks on other threads use this run: it does not end before them. */
void run_end_calls(struct run *r)
{
    struct queue unbegun;
    size_t n = 0;
    workers_withdraw(r->script->workers, r, &unbegun); /* they never begin */
    for (struct script_task *t = unbegun.first; t; t = t->next)
        n++;
    pthread_mutex_lock(&r->lock);
    r->away -= n;
    pthread_mutex_unlock(&r->lock);
    if (r->q->over)
        r->q->over(r->q->perform_arg);
    for (struct script_task *t = r->tasks; t; t = t->after) {
        cancel_fire(&t->cancel);
        script_wake(t);
    }
    do
        end_tasks(r);
    while (!is_all_back(r));
    for (struct script_task *t = r->finished; t; t = t->next)
        r->out->changed |= t->ok && r->script->rows[t->row].writes;
    while (r->tasks)
        task_free(r->tasks);
    workers_leave(r->script->workers, r);
}
