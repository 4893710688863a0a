/* Three threads may have to do with a task: the one that runs it, the one that waits for
 * its answer until it becomes a task, and whoever asks about it. The lock of all tasks is
 * held for moments only, never while anything runs or waits for a client.
 */
#include "mcp/task.h"

#include <stdio.h>
#include <time.h>

#include "actions/actions.h"
#include "crypto/crypto.h"
#include "mcp/core.h"
#include "os/os.h"
#include "json/json.h"

/* Between looks at whether a task that waits for answers is stopped. */
#define LOOK_MS 50u

enum status { WORKING, INPUT_REQUIRED, COMPLETED, FAILED, CANCELLED };
static const char *const status_names[] = {"working", "input_required", "completed",
                                           "failed", "cancelled"};

struct task {
    struct task *next;   /* of all that are kept */
    struct task *queued; /* behind it in the queue */
    struct tasks *tasks;
    char id[CRYPTO_TOKEN];
    char principal[PRINCIPAL_MAX + 1];
    enum status status;
    char message[200];            /* for people; empty: none */
    int64_t begun_ms, changed_ms; /* since 1970 */
    int64_t ends_ms;              /* monotonic: until when it is kept */
    struct call *call;            /* NULL: it has run */
    char who[CALLER_NAME];
    const struct grant
        *grant; /* held until it has run; NULL then, or as in struct front */
    const struct outlet *heard; /* of who waits, for as long as it does */
    struct outlet outlet;       /* leads there, or nowhere */
    pthread_mutex_t outlet_lock;
    struct buf answer; /* a whole JSON-RPC response, then the result or error alone */
    int http_status;
    pthread_cond_t changed;
    bool done;           /* it has run */
    bool waited;         /* somebody waits for its answer */
    bool detached;       /* it is a task */
    bool held;           /* it asked in its answer: it can be none */
    struct arena *arena; /* of the questions and their answers */
    struct question questions[TASK_QUESTIONS_MAX];
    size_t asked;
};

static int64_t mono_ms(const struct tasks *t)
{
    return os_mono_ms() + t->m->clock_ahead_ms;
}

/* ---- identity ------------------------------------------------------------ */

static void take_grant(struct task *t, const struct grant *g)
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

static void task_touch(struct task *t, enum status status, const char *message)
{
    t->status = status;
    t->changed_ms = os_real_ms();
    (void)snprintf(t->message, sizeof t->message, "%s", message);
    struct str cut = str_cut(str_of(t->message), strlen(t->message));
    t->message[cut.n] = '\0';
    pthread_cond_broadcast(&t->changed);
}

static bool task_is_over(const struct task *t)
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

static struct task *task_find(struct tasks *ts, struct str id, const char *principal)
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
        refuse_result(t, "it ran, but so many results are kept that there is no room for "
                         "this one; ask for less, or later");
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
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, ACTIONS_THREAD_STACK);
    bool ok = pthread_create(&ts->handles[ts->threads], &attr, task_main, ts) == 0;
    pthread_attr_destroy(&attr);
    if (ok)
        (void)pthread_setname_np(ts->handles[ts->threads++], "mcp-task");
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
    take_grant(t, f->grant);
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

static void deadline_in(struct timespec *out, uint64_t ms)
{
    clock_gettime(CLOCK_MONOTONIC, out);
    out->tv_sec += (time_t)(ms / 1000);
    out->tv_nsec += (long)(ms % 1000) * 1000000;
    out->tv_sec += out->tv_nsec / 1000000000;
    out->tv_nsec %= 1000000000;
}

/* The lock is held. Until it has run, or is a task. */
static void await_outcome(struct tasks *ts, struct task *t)
{
    struct timespec until;
    deadline_in(&until, ts->after_ms);
    while (!t->done && !t->detached) {
        if (t->held || cancel_fired(&t->call->own))
            pthread_cond_wait(&t->changed, &ts->lock);
        else if (pthread_cond_clockwait(&t->changed, &ts->lock, CLOCK_MONOTONIC,
                                        &until) != 0 &&
                 !t->done && !t->held && !cancel_fired(&t->call->own))
            t->detached = true;
    }
}

static void put_base(const struct task *t, struct json_writer *w)
{
    char when[25];
    json_pair_cstr(w, "taskId", t->id);
    json_pair_cstr(w, "status", status_names[t->status]);
    if (t->message[0])
        json_pair_cstr(w, "statusMessage", t->message);
    os_format_utc(t->begun_ms, when);
    json_pair_cstr(w, "createdAt", when);
    os_format_utc(t->changed_ms, when);
    json_pair_cstr(w, "lastUpdatedAt", when);
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
        put_base(t, &w);
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

/* ---- questions ------------------------------------------------------------- */

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

/* The lock is held. A name is never used again for another question: its client takes
 * one that it knows for asked. */
static bool task_put_question(struct task *t, const struct client_question *q,
                              unsigned can, struct err *e)
{
    if (t->asked == TASK_QUESTIONS_MAX)
        return err_set(e, ERR_LIMIT, "a task may ask %u questions, not more",
                       TASK_QUESTIONS_MAX);
    if (!t->arena)
        t->arena = arena_new(TASK_INPUT_MAX);
    struct question *new = &t->questions[t->asked];
    new->params = json_read(q->params, t->arena, e);
    if (!new->params || !can_answer_this(can, str_of(q->method), new->params, e))
        return false;
    new->is.method = arena_copy(t->arena, q->method, strlen(q->method), e);
    new->is.key = arena_printf(t->arena, e, "%s-%zu", q->key, t->asked + 1);
    new->answer = NULL;
    if (!new->is.method || !new->is.key)
        return false;
    t->asked++;
    return true;
}

static bool all_answered(const struct task *t)
{
    for (size_t i = 0; i < t->asked; i++)
        if (!t->questions[i].answer)
            return false;
    return true;
}

/* The lock is held. */
static bool await_answers(struct tasks *ts, struct task *t, const struct cancel *stop,
                          struct err *e)
{
    uint64_t until_ns = os_mono_ns() + ts->input_ms * 1000000ull;
    struct timespec look;
    task_touch(t, INPUT_REQUIRED, "it waits for answers");
    while (!all_answered(t)) {
        if (cancel_fired(&t->call->own) || cancel_fired(stop))
            return err_set(e, ERR_CANCELLED, "cancelled while it waited for an answer");
        if (os_mono_ns() >= until_ns)
            return err_set(e, ERR_TIMEOUT,
                           "nobody answered within %u s; nothing was changed",
                           ts->input_ms / 1000);
        deadline_in(&look, LOOK_MS);
        (void)pthread_cond_clockwait(&t->changed, &ts->lock, CLOCK_MONOTONIC, &look);
    }
    return true;
}

bool task_ask(struct task *t, const struct client_question *questions, size_t n,
              unsigned can, const struct cancel *stop, const struct json **answers,
              struct err *e)
{
    struct tasks *ts = t->tasks;
    pthread_mutex_lock(&ts->lock);
    size_t first = t->asked;
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++)
        ok = task_put_question(t, &questions[i], can, e);
    if (!ok)
        t->asked = first;
    pthread_mutex_unlock(&ts->lock);
    if (!ok || n == 0)
        return ok;
    changes_task(&ts->m->changes, t->id);
    pthread_mutex_lock(&ts->lock);
    ok = await_answers(ts, t, stop, e);
    for (size_t i = 0; i < n && ok; i++)
        answers[i] = t->questions[first + i].answer;
    if (!ok)
        t->asked = first; /* nobody is asked any more */
    if (!task_is_over(t))
        task_touch(t, WORKING, "");
    pthread_mutex_unlock(&ts->lock);
    changes_task(&ts->m->changes, t->id);
    return ok;
}

/* The lock is held. Copied: the request that it came with goes. */
static void take_response(struct task *t, struct str key, const struct json *answer)
{
    struct err ignored = {0};
    for (size_t i = 0; i < t->asked; i++) {
        struct question *q = &t->questions[i];
        if (q->answer || !str_is(key, q->is.key) ||
            !answer_check(str_of(q->is.method), q->params, answer, &ignored))
            continue;
        scoped_buf struct buf text = buf_of(TASK_INPUT_MAX);
        struct json_writer w = json_writer(&text);
        json_put(&w, answer);
        if (!text.failed)
            q->answer = json_read(buf_view(&text), t->arena, &ignored);
    }
}

/* ---- methods --------------------------------------------------------------- */

static void task_refuse_unknown(struct exchange *x, struct str id)
{
    reply_error(x, RPC_PARAMS,
                "there is no task '%.*s' of yours: tasks are kept for an hour, and end "
                "with the server",
                STR_ARGS(str_cut(id, 60)));
}

void tasks_refuse(struct exchange *x)
{
    struct call c = {.m = x->m, .id = x->id};
    struct input in = {.call = &c, .lacks_tasks = true};
    input_put_lack(&in, x->reply->out,
                   "this needs a client that declares the extension " EXTENSION_TASKS);
    x->reply->status = 400;
}

/* With the lock, if there is one; else answered. */
static struct task *task_of(struct exchange *x)
{
    if (!tasks_declared(x->params)) {
        tasks_refuse(x);
        return NULL;
    }
    const struct json *id = json_get(x->params, "taskId");
    if (!json_is(id, JSON_STRING)) {
        reply_error(x, RPC_PARAMS, "Invalid params: %.*s needs taskId, a string",
                    STR_ARGS(x->method));
        return NULL;
    }
    struct tasks *ts = &x->m->tasks;
    const struct grant *g = x->env->grant;
    pthread_mutex_lock(&ts->lock);
    struct task *t = task_find(ts, json_str(id), g ? g->principal : "");
    if (!t) {
        pthread_mutex_unlock(&ts->lock);
        task_refuse_unknown(x, json_str(id));
    }
    return t;
}

/* The error of one that was stopped by us. */
static void put_why(const struct task *t, struct json_writer *w)
{
    json_key(w, "error");
    json_open_object(w);
    json_pair_int(w, "code", err_kind(ERR_CANCELLED)->jsonrpc);
    json_pair_cstr(w, "message", t->message);
    json_close(w);
}

static void put_detail(const struct task *t, struct json_writer *w)
{
    put_base(t, w);
    if (t->status == INPUT_REQUIRED)
        input_put_questions(w, t->questions, t->asked);
    else if (t->status == COMPLETED)
        json_pair_raw(w, "result", buf_view(&t->answer));
    else if (t->status == FAILED && t->done && t->answer.n)
        json_pair_raw(w, "error", buf_view(&t->answer));
    else if (t->status == FAILED)
        put_why(t, w);
}

static void acknowledge(struct exchange *x)
{
    struct json_writer w = result_open(x->reply->out, x->id, ERA_MODERN);
    result_close(&w, ERA_MODERN);
}

void tasks_get(struct exchange *x)
{
    struct task *t = task_of(x);
    if (!t)
        return;
    struct json_writer w = result_open(x->reply->out, x->id, ERA_MODERN);
    put_detail(t, &w);
    pthread_mutex_unlock(&x->m->tasks.lock);
    result_close(&w, ERA_MODERN);
}

void tasks_update(struct exchange *x)
{
    const struct json *responses = json_get(x->params, "inputResponses");
    struct task *t = task_of(x);
    if (!t)
        return;
    bool fits = json_is(responses, JSON_OBJECT);
    if (fits && t->status == INPUT_REQUIRED) {
        struct json_iter it = json_iter(responses);
        while (json_next(&it))
            take_response(t, it.key, it.value);
        bool more = !all_answered(t);
        task_touch(t, more ? INPUT_REQUIRED : WORKING,
                   more ? "it waits for answers" : "");
    }
    pthread_mutex_unlock(&x->m->tasks.lock);
    if (fits)
        acknowledge(x);
    else
        reply_error(x, RPC_PARAMS,
                    "Invalid params: tasks/update needs inputResponses, an object");
}

void tasks_cancel(struct exchange *x)
{
    struct task *t = task_of(x);
    if (!t)
        return;
    if (!task_is_over(t)) {
        task_touch(t, CANCELLED, "it was cancelled by its client");
        cancel_fire(&t->call->own);
    }
    char id[CRYPTO_TOKEN];
    memcpy(id, t->id, sizeof id);
    pthread_mutex_unlock(&x->m->tasks.lock);
    changes_task(&x->m->changes, id);
    acknowledge(x);
}

bool task_put_notice(struct tasks *ts, struct str id, const char *principal,
                     struct json_writer *w)
{
    pthread_mutex_lock(&ts->lock);
    const struct task *t = task_find(ts, id, principal);
    if (t && w)
        put_detail(t, w);
    pthread_mutex_unlock(&ts->lock);
    return t != NULL;
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
            task_touch(t, FAILED,
                       "the credential that it was begun with is not good any more");
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
