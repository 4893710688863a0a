/* What the client of a task and the task have to say to each other: its questions, and the
 * methods by which it is asked about, answered and cancelled.
 */
#include "mcp/task_kept.h"

#include "os/os.h"

/* Between looks at whether a task that waits for answers is stopped. */
#define LOOK_MS 50u

/* ---- questions ------------------------------------------------------------- */

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

static bool task_is_answered(const struct task *t)
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
    uint64_t until_ns = os_in_ms(ts->input_ms);
    task_touch(t, INPUT_REQUIRED, "it waits for answers");
    while (!task_is_answered(t)) {
        if (cancel_fired(&t->call->own) || cancel_fired(stop))
            return err_set(e, ERR_CANCELLED, "cancelled while it waited for an answer");
        if (os_mono_ns() >= until_ns)
            return err_set(e, ERR_TIMEOUT,
                           "there was no answer within %u s; nothing was changed",
                           ts->input_ms / 1000);
        (void)os_cond_wait(&t->changed, &ts->lock, os_in_ms(LOOK_MS));
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
    reply_error(
        x, RPC_PARAMS,
        "you have no task '%.*s': tasks are kept for an hour, and end with the server",
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
    task_put_base(t, w);
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
        bool more = !task_is_answered(t);
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
