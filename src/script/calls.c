/* The host calls of one run: taken over from the guest, performed, and handed back.
 *
 * Quick ones are performed at once, in their order; slow ones at the same time, on other
 * threads. Each is noted (made.c), for the trace and for hints.
 */
#include <time.h>

#include "os/os.h"
#include "script/internal.h"
#include "json/json.h"

#define ANSWERS_AT_ONCE ((size_t)8 << 20) /* bytes, before the guest goes on */
#define SLOW_AT_ONCE 12u                  /* slow calls of one run on their way */

/* ---- performing --------------------------------------------------------- */

bool call_perform(struct run *r, uint32_t row, struct str args, struct buf *out,
                  struct err *e)
{
    if (row >= r->script->row_count)
        return err_set(e, ERR_NOT_FOUND, "there is no host call number %u", row);
    uint32_t feature = r->script->rows[row].feature;
    if (feature && !(r->q->features & feature))
        return err_set(e, ERR_DENIED, "%s is not enabled in this call",
                       r->script->rows[row].name);
    if (!r->q->perform(r->q->perform_arg, row, args, out, e) ||
        !buf_check(out, "the answer", e))
        return false;
    if (out->n == 0)
        buf_cstr(out, "null");
    return true;
}

/* An error as the guest makes one of its own from it. */
void call_failure(const struct err *why, struct buf *out)
{
    const struct err_kind *kind = err_kind(why->code);
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_pair_cstr(&w, "name", kind->name);
    json_pair_cstr(&w, "code", kind->code);
    json_pair_cstr(&w, "message", why->msg);
    json_pair_bool(&w, "retry", kind->retry);
    json_close(&w);
}

/* ---- host calls of one run ---------------------------------------------- */

void run_perform(struct errand *errand)
{
    if (atomic_load(&errand->run->over))
        return;
    errand->times.start_ns = os_mono_ns();
    errand->ok =
        call_perform(errand->run, errand->row, errand->args, &errand->out, &errand->err);
    errand->times.end_ns = os_mono_ns();
}

void run_done(struct errand *errand)
{
    struct run *r = errand->run;
    pthread_mutex_lock(&r->lock);
    errand->next = r->finished;
    r->finished = errand;
    r->finished_count++;
    r->away--;
    pthread_cond_signal(&r->change);
    pthread_mutex_unlock(&r->lock);
}

static struct errand *errand_new(struct run *r, const struct script_call *c,
                                 const char *args)
{
    struct errand *x = malloc(sizeof *x + c->size);
    if (!x)
        return NULL;
    memcpy(x + 1, args, c->size);
    *x = (struct errand){.run = r,
                         .id = c->id,
                         .row = c->row,
                         .args = {(char *)(x + 1), c->size},
                         .made = made_add(r, c, (struct str){args, c->size})};
    buf_init(&x->out, CALL_ANSWER_MAX);
    return x;
}

static void errand_free(struct errand *x)
{
    made_end(x->run, x->made, &x->times, x->err.code, x->out.n);
    buf_done(&x->out);
    free(x);
}

static void queue_put(struct queue *q, struct errand *x)
{
    x->next = NULL;
    if (q->first)
        q->last->next = x;
    else
        q->first = x;
    q->last = x;
}

static struct errand *queue_take(struct queue *q)
{
    struct errand *x = q->first;
    q->first = x->next;
    return x;
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
        struct errand *x = padded <= all.n - at ? errand_new(r, &c, all.at + at) : NULL;
        if (!x)
            return err_set(e, ERR_GUEST, "the guest's host calls cannot be read");
        at += padded;
        if (++r->out->stats.host_calls > r->q->calls_max) {
            errand_free(x);
            return err_set(e, ERR_HOST_CALLS, "made more than %u host calls",
                           r->q->calls_max);
        }
        bool slow = c.row < r->script->row_count && r->script->rows[c.row].slow;
        queue_put(slow ? &r->slow : &r->quick, x);
    }
    return true;
}

/* Sends slow calls out, a few at a time: the others' turn comes too, the answers
 * that wait for the guest are bounded, and little is left to end when it ends. */
void run_send_slow(struct run *r)
{
    while (r->slow.first) {
        pthread_mutex_lock(&r->lock);
        bool room = r->away + r->finished_count < SLOW_AT_ONCE;
        r->away += room;
        pthread_mutex_unlock(&r->lock);
        if (!room)
            return;
        hands_take(r->script->hands, queue_take(&r->slow));
    }
}

/* Performs quick calls, in their order, until their answers together are large
 * enough to be handed over: a thousand large notes are not held at once. */
void run_perform_quick(struct run *r)
{
    for (size_t bytes = 0; r->quick.first && bytes < ANSWERS_AT_ONCE;) {
        if (os_mono_ns() > run_until(r) || cancel_fired(r->q->cancel))
            return; /* the run ends, and with it the queue */
        struct errand *x = queue_take(&r->quick);
        run_perform(x);
        bytes += x->out.n;
        pthread_mutex_lock(&r->lock);
        r->away++;
        pthread_mutex_unlock(&r->lock);
        run_done(x);
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
    uint64_t until = run_until(r);
    if (a->has_timer && a->timer_ms >= 0 && a->timer_ms < 1e9) {
        uint64_t due = os_mono_ns() + (uint64_t)(a->timer_ms * 1e6);
        until = due < until ? due : until;
    }
    struct timespec at = {.tv_sec = (time_t)(until / 1000000000u),
                          .tv_nsec = (long)(until % 1000000000u)};
    struct cancel_stop stop;
    bool open = cancel_on(r->q->cancel, &stop, wake_cancelled, r);
    int late = 0;
    pthread_mutex_lock(&r->lock);
    r->cancelled |= !open;
    bool hopeless = !r->finished && !r->away && !r->cancelled && !a->has_timer;
    late = hopeless;
    while (!r->finished && !r->cancelled && late == 0)
        late = pthread_cond_timedwait(&r->change, &r->lock, &at);
    bool cancelled = r->cancelled;
    pthread_mutex_unlock(&r->lock);
    cancel_off(r->q->cancel, &stop);
    if (cancelled)
        return err_set(e, ERR_CANCELLED, "cancelled while it was waiting");
    if (hopeless && os_mono_ns() < run_until(r))
        return err_set(e, ERR_GUEST, "the code waits for an answer that cannot come");
    if (os_mono_ns() >= run_until(r))
        return err_set(e, ERR_TIMEOUT,
                       "took longer than %llu ms in all, waiting included",
                       (unsigned long long)r->q->total_ms);
    return true;
}

/* ---- settling ----------------------------------------------------------- */

/* The finished ones, oldest first. */
static struct errand *take_finished(struct run *r)
{
    pthread_mutex_lock(&r->lock);
    struct errand *list = take(r->finished);
    r->finished_count = 0;
    pthread_mutex_unlock(&r->lock);
    struct errand *ordered = NULL;
    for (struct errand *x = list, *next; x; x = next) {
        next = x->next;
        x->next = ordered;
        ordered = x;
    }
    return ordered;
}

static void free_errands(struct errand *x)
{
    for (struct errand *next; x; x = next) {
        next = x->next;
        errand_free(x);
    }
}

static size_t settled_size(struct errand *list)
{
    size_t n = 0;
    for (struct errand *x = list; x; x = x->next) {
        if (!x->ok) {
            buf_clear(&x->out);
            call_failure(&x->err, &x->out);
        }
        n += sizeof(struct script_settled) + SCRIPT_PAD(x->out.n);
    }
    return n;
}

bool run_settle(struct run *r, struct world *w, struct script_answer *a, struct err *e)
{
    struct errand *list = take_finished(r);
    size_t n = settled_size(list);
    char *to = guest_room(w, n, e);
    for (struct errand *x = list; to && x; x = x->next) {
        struct script_settled s = {
            .id = x->id, .failed = !x->ok, .size = (uint32_t)x->out.n};
        memcpy(to, &s, sizeof s);
        memcpy(to + sizeof s, x->out.at, x->out.n);
        to += sizeof s + SCRIPT_PAD(x->out.n);
        r->out->changed |= x->ok && r->script->rows[x->row].writes;
    }
    r->round++;
    bool ok = to && guest_step(w, "resume", n, a, e);
    free_errands(list);
    return ok;
}

/* Those on other threads use this run: it does not end before them. */
void run_end_calls(struct run *r)
{
    atomic_store(&r->over, true);
    if (r->q->over)
        r->q->over(r->q->perform_arg);
    pthread_mutex_lock(&r->lock);
    r->ended = true; /* those that have not begun do not begin */
    while (r->away)
        pthread_cond_wait(&r->change, &r->lock);
    pthread_mutex_unlock(&r->lock);
    for (struct errand *x = r->finished; x; x = x->next)
        r->out->changed |= x->ok && r->script->rows[x->row].writes;
    free_errands(take(r->finished));
    free_errands(take(r->quick.first));
    free_errands(take(r->slow.first));
}
