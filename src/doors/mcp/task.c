/* Three threads may have to do with a task: the one that runs it, the one that waits for
 * its answer until it becomes a task, and whoever asks about it. The lock of all tasks is
 * held for moments only, never while anything runs or waits for a client.
 */
#include "mcp/task_kept.h"

#include <stdio.h>

#include "actions/actions.h"
#include "crypto/crypto.h"
#include "mcp/core.h"
#include "os/os.h"
#include "json/json.h"

static int64_t mono_ms(const struct tasks *t)
{
    return os_mono_ms() + t->m->clock_ahead_ms;
}

/* ---- identity ------------------------------------------------------------ */

static void task_hold_grant(struct task *t, const struct grant *g)
{
    if (!g)
        return;
    if (g->hold)
        g->hold(g);
    t->grant = g;
    (void)snprintf(t->principal, sizeof t->principal, "%s", g->principal);
}

static void grant_let_go(const struct grant *g)
{
    if (g && g->let_go)
        g->let_go(g);
}

static void task_free(struct task *t)
{
    grant_let_go(t->grant);
    arena_free(t->arena);
    buf_done(&t->answer);
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->outlet_lock);
    free(t);
}

/* ---- messages before the answer ------------------------------------------- */

static bool task_pass_message(void *arg, struct str message, enum outlet_weight weight)
{
    struct task *t = arg;
    pthread_mutex_lock(&t->outlet_lock);
    bool ok = t->heard && t->heard->say(t->heard->arg, message, weight);
    pthread_mutex_unlock(&t->outlet_lock);
    return ok;
}

static void pass_beat(void *arg)
{
    struct task *t = arg;
    pthread_mutex_lock(&t->outlet_lock);
    if (t->heard && t->heard->beat)
        t->heard->beat(t->heard->arg);
    pthread_mutex_unlock(&t->outlet_lock);
}

static void stop_passing(struct task *t)
{
    pthread_mutex_lock(&t->outlet_lock);
    t->heard = NULL;
    pthread_mutex_unlock(&t->outlet_lock);
}

/* ---- the table; the lock is held ------------------------------------------ */

void task_touch(struct task *t, enum status status, const char *message)
{
    t->status = status;
    t->changed_ms = os_real_ms();
    (void)snprintf(t->message, sizeof t->message, "%s", message);
    struct str cut = str_cut(str_of(t->message), strlen(t->message));
    t->message[cut.n] = '\0';
    pthread_cond_broadcast(&t->changed);
}

bool task_is_over(const struct task *t)
{
    return t->status >= COMPLETED;
}

/* Removes the tasks whose time is over; one that still runs is stopped first. */
static void tasks_sweep(struct tasks *ts)
{
    int64_t now = mono_ms(ts);
    for (struct task **at = &ts->first; *at;) {
        struct task *t = *at;
        if (!t->detached || t->waited || t->ends_ms > now) {
            at = &t->next;
        } else if (!t->done) {
            if (!cancel_fired(&t->call->own)) {
                task_touch(t, FAILED, "its time is over");
                cancel_fire(&t->call->own);
            }
            at = &t->next;
        } else {
            *at = t->next;
            ts->count--;
            ts->bytes -= t->answer.n;
            task_free(t);
        }
    }
}

struct task *task_find(struct tasks *ts, struct str id, const char *principal)
{
    tasks_sweep(ts);
    struct task *t = ts->first;
    while (t && !(t->detached && crypto_equal(id, str_of(t->id)) &&
                  !strcmp(t->principal, principal)))
        t = t->next;
    return t;
}

static void task_unlist(struct tasks *ts, struct task *t)
{
    struct task **at = &ts->first;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    ts->count--;
}

static bool tasks_have_room(const struct tasks *ts, const char *principal)
{
    size_t kept = 0, running = 0;
    for (const struct task *t = ts->first; t; t = t->next)
        if (!strcmp(t->principal, principal)) {
            kept++;
            running += !t->done;
        }
    /* The last threads are for those who have none: calls may wait for persons. */
    bool thread = ts->running < TASK_THREADS &&
                  (running == 0 || (running < TASK_THREADS_PRINCIPAL &&
                                    ts->running < TASK_THREADS - TASK_THREADS / 8));
    return !ts->ending && share_fits(kept, ts->count, TASKS_MAX) &&
           kept < TASKS_PRINCIPAL_MAX && thread && ts->bytes < TASKS_BYTES / 2;
}

/* ---- running -------------------------------------------------------------- */

/* Takes the value of `member` out of the whole response; the rest of it is known. */
static bool take_member(struct task *t, const struct json *id, const char *member)
{
    scoped_buf struct buf head = buf_of(t->answer.n + 64);
    struct json_writer w = json_writer(&head);
    json_open_object(&w);
    json_pair_raw(&w, "jsonrpc", STR("\"2.0\""));
    json_pair(&w, "id", id);
    json_key(&w, member);
    if (head.failed || t->answer.n <= head.n + 1 ||
        memcmp(t->answer.at, head.at, head.n) != 0)
        return false;
    t->answer.n -= head.n + 1; /* and the brace behind it */
    memmove(t->answer.at, t->answer.at + head.n, t->answer.n);
    return true;
}

static void refuse_result(struct task *t, const char *why)
{
    buf_clear(&t->answer);
    struct json_writer w = json_writer(&t->answer);
    json_open_object(&w);
    json_pair_int(&w, "code", err_kind(ERR_LIMIT)->jsonrpc);
    json_pair_cstr(&w, "message", why);
    json_close(&w);
    task_touch(t, FAILED, why);
}

/* The lock is held: it is a task, and has run. */
static void keep_result(struct tasks *ts, struct task *t)
{
    if (task_is_over(t)) {
        buf_clear(&t->answer);
    } else if (take_member(t, t->call->id, "result")) {
        task_touch(t, COMPLETED, "");
    } else if (take_member(t, t->call->id, "error")) {
        task_touch(t, FAILED, "it ended with an error of the protocol");
    } else {
        buf_clear(&t->answer);
        task_touch(t, CANCELLED, "it was cancelled");
    }
    if (ts->bytes + t->answer.n > TASKS_BYTES)
        refuse_result(
            t,
            "it ran, but too many results are stored to keep this one; request less, or try later");
    ts->bytes += t->answer.n;
}

static void task_execute(struct tasks *ts, struct task *t)
{
    struct reply r = {.out = &t->answer};
    struct front front = {.who = t->who, .grant = t->grant, .outlet = &t->outlet};
    call_run_here(t->call, &front, &r);
    pthread_mutex_lock(&ts->lock);
    t->http_status = r.status;
    t->done = true;
    ts->running--;
    const struct grant *grant = take(t->grant);
    struct call *over = NULL;
    if (t->detached) {
        keep_result(ts, t);
        /* A waiting thread looks at it once more. */
        if (!t->waited) {
            over = t->call;
            t->call = NULL;
        }
    }
    char id[CRYPTO_TOKEN];
    memcpy(id, t->id, sizeof id);
    bool tell = t->detached;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&ts->lock);
    grant_let_go(grant);
    if (over)
        call_drop(over);
    if (tell)
        changes_task(&ts->m->changes, id);
}

static void *task_main(void *arg)
{
    struct tasks *ts = arg;
    pthread_mutex_lock(&ts->lock);
    for (;;) {
        struct task *t = ts->queue;
        if (t) {
            ts->queue = t->queued;
            pthread_mutex_unlock(&ts->lock);
            task_execute(ts, t);
            pthread_mutex_lock(&ts->lock);
        } else if (ts->ending) {
            break;
        } else {
            ts->idle++;
            pthread_cond_wait(&ts->work, &ts->lock);
            ts->idle--;
        }
    }
    pthread_mutex_unlock(&ts->lock);
    return NULL;
}

/* Is there a thread for one more? */
static bool need_thread(struct tasks *ts)
{
    size_t queued = 0;
    for (const struct task *t = ts->queue; t; t = t->queued)
        queued++;
    if (ts->idle > queued)
        return true;
    if (ts->threads == TASK_THREADS)
        return false;
    bool ok = os_thread_start(&ts->handles[ts->threads], "mcp-task", ACTIONS_THREAD_STACK,
                              task_main, ts);
    ts->threads += ok;
    return ok;
}

static struct task *task_new(struct tasks *ts, struct call *c, const struct front *f,
                             const struct reply *r)
{
    struct task *t = mem_new(sizeof *t);
    t->tasks = ts;
    t->call = c;
    t->heard = f->outlet;
    t->outlet = (struct outlet){.say = task_pass_message, .beat = pass_beat, .arg = t};
    t->waited = true;
    t->begun_ms = t->changed_ms = os_real_ms();
    t->ends_ms = mono_ms(ts) + TASK_TTL_MS;
    crypto_token(t->id);
    (void)snprintf(t->who, sizeof t->who, "%s", f->who);
    task_hold_grant(t, f->grant);
    buf_init(&t->answer, r->out->ceiling);
    pthread_mutex_init(&t->outlet_lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    return t;
}

static bool task_enqueue(struct tasks *ts, struct task *t)
{
    pthread_mutex_lock(&ts->lock);
    tasks_sweep(ts);
    bool ok = tasks_have_room(ts, t->principal) && need_thread(ts);
    if (ok) {
        t->next = ts->first;
        ts->first = t;
        ts->count++;
        ts->running++;
        struct task **at = &ts->queue;
        while (*at)
            at = &(*at)->queued;
        *at = t;
        pthread_cond_signal(&ts->work);
    }
    pthread_mutex_unlock(&ts->lock);
    return ok;
}

/* ---- waiting for the answer ------------------------------------------------ */

static void stop_call(void *arg)
{
    struct call *c = arg;
    cancel_fire(&c->own);
}

/* The lock is held. Until it has run, or is a task. */
static void await_outcome(struct tasks *ts, struct task *t)
{
    uint64_t until_ns = os_in_ms(ts->after_ms);
    while (!t->done && !t->detached) {
        if (t->held || cancel_fired(&t->call->own))
            pthread_cond_wait(&t->changed, &ts->lock);
        else if (!os_cond_wait(&t->changed, &ts->lock, until_ns) && !t->done &&
                 !t->held && !cancel_fired(&t->call->own))
            t->detached = true;
    }
}

static const char *const status_names[] = {"working", "input_required", "completed",
                                           "failed", "cancelled"};

void task_put_base(const struct task *t, struct json_writer *w)
{
    json_pair_cstr(w, "taskId", t->id);
    json_pair_cstr(w, "status", status_names[t->status]);
    if (t->message[0])
        json_pair_cstr(w, "statusMessage", t->message);
    json_pair_time(w, "createdAt", t->begun_ms);
    json_pair_time(w, "lastUpdatedAt", t->changed_ms);
    json_pair_int(w, "ttlMs", TASK_TTL_MS);
    json_pair_int(w, "pollIntervalMs", TASK_POLL_MS);
}

/* It is a task: its client gets the name, unless it has cancelled the request. */
static void task_hand_over(struct tasks *ts, struct task *t, struct reply *r)
{
    struct call *c = t->call;
    if (calls_leave(&ts->m->calls, c)) {
        struct json_writer w = result_open_as(r->out, c->id, "task");
        pthread_mutex_lock(&ts->lock);
        task_put_base(t, &w);
        pthread_mutex_unlock(&ts->lock);
        result_close(&w, ERA_MODERN);
    } else {
        cancel_fire(&c->own);
    }
    r->status = 200;
    pthread_mutex_lock(&ts->lock);
    t->waited = false;
    bool last = t->done;
    if (last)
        t->call = NULL;
    pthread_mutex_unlock(&ts->lock);
    if (last)
        call_drop(c);
}

static void take_answer(struct tasks *ts, struct task *t, struct reply *r)
{
    pthread_mutex_lock(&ts->lock);
    task_unlist(ts, t);
    pthread_mutex_unlock(&ts->lock);
    r->status = t->http_status;
    struct buf empty = *r->out;
    *r->out = t->answer;
    t->answer = empty;
    call_drop(t->call);
    task_free(t);
}

bool tasks_declared(const struct json *params)
{
    const struct json *capabilities =
        json_get(json_get(params, "_meta"), META_CAPABILITIES);
    const struct json *extensions = json_get(capabilities, "extensions");
    return json_is(json_get(extensions, EXTENSION_TASKS), JSON_OBJECT);
}

bool task_suits(const struct call *c)
{
    return c->era == ERA_MODERN && c->action && !c->task && tasks_declared(c->params);
}

bool task_run(struct call *c, const struct front *f, struct reply *r)
{
    struct tasks *ts = &c->m->tasks;
    struct task *t = task_new(ts, c, f, r);
    /* Cancelling the request stops the call, as long as somebody waits for it. */
    struct cancel *request = c->cancel == &c->own ? NULL : c->cancel;
    c->cancel = &c->own;
    c->task = t;
    if (!task_enqueue(ts, t)) {
        c->cancel = request ? request : &c->own;
        c->task = NULL;
        task_free(t);
        return false;
    }
    struct cancel_stop stop;
    if (request && !cancel_on(request, &stop, stop_call, c))
        cancel_fire(&c->own);
    pthread_mutex_lock(&ts->lock);
    await_outcome(ts, t);
    bool detached = t->detached;
    pthread_mutex_unlock(&ts->lock);
    if (request)
        cancel_off(request, &stop);
    stop_passing(t);
    if (detached)
        task_hand_over(ts, t, r);
    else
        take_answer(ts, t, r);
    return true;
}

bool task_is_one(struct task *t)
{
    pthread_mutex_lock(&t->tasks->lock);
    bool detached = t->detached;
    pthread_mutex_unlock(&t->tasks->lock);
    return detached;
}

bool task_hold(struct task *t)
{
    pthread_mutex_lock(&t->tasks->lock);
    t->held = !t->detached;
    bool held = t->held;
    pthread_mutex_unlock(&t->tasks->lock);
    return held;
}

bool task_detach(struct task *t, struct err *e)
{
    struct tasks *ts = t->tasks;
    pthread_mutex_lock(&ts->lock);
    bool ok = !t->held && !cancel_fired(&t->call->own);
    if (ok && !t->detached) {
        t->detached = true;
        pthread_cond_broadcast(&t->changed);
    }
    pthread_mutex_unlock(&ts->lock);
    return ok || err_set(e, ERR_CANCELLED, "the task was abandoned by its client");
}

/* ---- beginning and end ------------------------------------------------------ */

void tasks_init(struct tasks *ts, struct mcp *m)
{
    *ts = (struct tasks){
        .m = m, .after_ms = TASK_AFTER_MS, .input_ms = TASK_INPUT_S * 1000};
    pthread_mutex_init(&ts->lock, NULL);
    pthread_cond_init(&ts->work, NULL);
}

void tasks_expel(struct tasks *ts, bool (*stays)(void *arg, const void *left), void *arg)
{
    pthread_mutex_lock(&ts->lock);
    for (struct task *t = ts->first; t; t = t->next) {
        if (!t->grant || stays(arg, t->grant))
            continue;
        if (t->detached && !task_is_over(t))
            task_touch(t, FAILED, "the credential that started it is no longer valid");
        cancel_fire(&t->call->own);
    }
    pthread_mutex_unlock(&ts->lock);
}

void tasks_done(struct tasks *ts)
{
    pthread_mutex_lock(&ts->lock);
    ts->ending = true;
    for (struct task *t = ts->first; t; t = t->next)
        if (!t->done) {
            cancel_fire(&t->call->own);
            pthread_cond_broadcast(&t->changed);
        }
    pthread_cond_broadcast(&ts->work);
    pthread_mutex_unlock(&ts->lock);
    for (unsigned i = 0; i < ts->threads; i++)
        pthread_join(ts->handles[i], NULL);
    while (ts->first) {
        struct task *t = ts->first;
        ts->first = t->next;
        if (t->call)
            call_drop(t->call);
        task_free(t);
    }
    pthread_cond_destroy(&ts->work);
    pthread_mutex_destroy(&ts->lock);
}
