/* Questions to clients of the older era: JSON-RPC requests of ours, on the stream of
 * the call that asks, answered by whatever message of the same session brings a
 * response with the question's id. The ids are random: nobody answers what he was not
 * asked.
 */
#include <stdio.h>
#include <time.h>

#include "mcp/core.h"
#include "mcp/outlet.h"
#include "os/os.h"

/* Between looks at whether what does not wake us has ended the waiting. */
#define LOOK_MS 100u
#define ID_BYTES 16u

struct ask {
    char id[2 * ID_BYTES + 1];
    unsigned char session[16];
    char owner[PRINCIPAL_MAX + 1];
    bool answered;
    bool abandoned;      /* nobody is there to answer */
    struct buf response; /* as it came */
    struct ask *before, *after;
};

void asks_init(struct asks *a)
{
    *a = (struct asks){.wait_ms = ASK_WAIT_S * 1000};
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
}

void asks_done(struct asks *a)
{
    must(!a->first);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
}

void asks_wake(struct asks *a)
{
    pthread_mutex_lock(&a->lock);
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

void asks_abandon(struct asks *a, const struct session *session)
{
    pthread_mutex_lock(&a->lock);
    for (struct ask *q = a->first; q; q = q->after)
        q->abandoned =
            q->abandoned || !memcmp(q->session, session->id, sizeof q->session);
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

/* ---- the list ----------------------------------------------------------- */

static void ask_name(struct ask *q)
{
    unsigned char bytes[ID_BYTES];
    os_random(bytes, sizeof bytes);
    for (unsigned i = 0; i < ID_BYTES; i++)
        (void)snprintf(q->id + 2 * i, 3, "%02x", bytes[i]);
}

static unsigned of_session(const struct asks *a, const unsigned char session[static 16])
{
    unsigned n = 0;
    for (const struct ask *q = a->first; q; q = q->after)
        n += memcmp(q->session, session, 16) == 0;
    return n;
}

static unsigned of_owner(const struct asks *a, const char *owner)
{
    unsigned n = 0;
    for (const struct ask *q = a->first; q; q = q->after)
        n += strcmp(q->owner, owner) == 0;
    return n;
}

/* Of a principal's sessions together, and of each. */
static bool has_room(const struct asks *a, const struct ask *list, size_t n)
{
    size_t mine = of_owner(a, list->owner), session = of_session(a, list->session);
    return session + n <= ASKS_SESSION_MAX &&
           share_fits(mine + n - 1, a->count + n - 1, ASKS_MAX);
}

static bool enter_all(struct asks *a, struct ask *list, size_t n, struct err *e)
{
    pthread_mutex_lock(&a->lock);
    bool room = has_room(a, list, n);
    for (size_t i = 0; room && i < n; i++) {
        list[i].before = NULL;
        list[i].after = a->first;
        if (a->first)
            a->first->before = &list[i];
        a->first = &list[i];
        a->count++;
    }
    pthread_mutex_unlock(&a->lock);
    return room || err_set(e, ERR_BUSY,
                           "too many questions wait for your client's answer (%u may); "
                           "nothing was changed",
                           ASKS_SESSION_MAX);
}

static void leave_all(struct asks *a, struct ask *list, size_t n)
{
    pthread_mutex_lock(&a->lock);
    for (struct ask *q = list; q < list + n; q++) {
        *(q->before ? &q->before->after : &a->first) = q->after;
        if (q->after)
            q->after->before = q->before;
        a->count--;
    }
    pthread_mutex_unlock(&a->lock);
}

void asks_answer(struct asks *a, const struct session *from, const struct json *response)
{
    struct str id = json_str(json_get(response, "id"));
    if (!from->there || !id.n)
        return;
    pthread_mutex_lock(&a->lock);
    struct ask *q = a->first;
    while (q && !(str_is(id, q->id) && !memcmp(q->session, from->id, sizeof q->session)))
        q = q->after;
    if (q && !q->answered) {
        struct json_writer w = json_writer(&q->response);
        json_put(&w, response);
        q->answered = true;
        pthread_cond_broadcast(&a->changed);
    }
    pthread_mutex_unlock(&a->lock);
}

/* ---- asking ------------------------------------------------------------- */

static bool send(struct talk *t, const struct ask *q, const struct client_question *what,
                 struct err *e)
{
    scoped_buf struct buf line;
    buf_init(&line, 2 * ASK_ANSWER_MAX);
    struct json_writer w = json_writer(&line);
    json_open_object(&w);
    json_pair_raw(&w, "jsonrpc", STR("\"2.0\""));
    json_pair_cstr(&w, "id", q->id);
    json_pair_cstr(&w, "method", what->method);
    json_pair_raw(&w, "params", what->params);
    json_close(&w);
    if (!buf_check(&line, "the question to your client", e))
        return false;
    return t->outlet->say(t->outlet->arg, buf_view(&line), OUTLET_HEAVY) ||
           err_set(e, ERR_CAPABILITY,
                   "your client could not be asked %s: it is not there, or does not "
                   "accept text/event-stream; nothing was changed",
                   what->method);
}

/* A question that nobody waits for any more. */
static void take_back(struct talk *t, const struct ask *q, const char *why)
{
    scoped_buf struct buf line;
    buf_init(&line, 1024);
    struct json_writer w = json_writer(&line);
    json_open_object(&w);
    json_pair_raw(&w, "jsonrpc", STR("\"2.0\""));
    json_pair_cstr(&w, "method", "notifications/cancelled");
    json_key(&w, "params");
    json_open_object(&w);
    json_pair_cstr(&w, "requestId", q->id);
    json_pair_cstr(&w, "reason", why);
    json_close(&w);
    json_close(&w);
    (void)t->outlet->say(t->outlet->arg, buf_view(&line), OUTLET_HEAVY);
}

static bool all_answered(const struct ask *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!list[i].answered)
            return false;
    return true;
}

static void wait_a_look(struct asks *a)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)LOOK_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_clockwait(&a->changed, &a->lock, CLOCK_MONOTONIC, &until);
}

static bool wait_for(struct asks *a, const struct ask *list, size_t n,
                     const struct cancel *cancel, const struct cancel *stop,
                     struct err *e)
{
    uint64_t until = os_mono_ns() + a->wait_ms * 1000000ull;
    bool ok = true;
    pthread_mutex_lock(&a->lock);
    while (ok && !all_answered(list, n)) {
        if (cancel_fired(cancel) || cancel_fired(stop))
            ok = err_set(e, ERR_CANCELLED, "cancelled while it waited for an answer");
        else if (list->abandoned)
            ok = err_set(e, ERR_CANCELLED, "your client went away without an answer");
        else if (os_mono_ns() >= until)
            ok = err_set(e, ERR_TIMEOUT,
                         "nobody answered the question within %u s; nothing was changed",
                         a->wait_ms / 1000);
        else
            wait_a_look(a);
    }
    pthread_mutex_unlock(&a->lock);
    return ok;
}

static const struct json *read_answer(const struct ask *q, struct arena *arena,
                                      struct err *e)
{
    if (q->response.failed) {
        err_set(e, ERR_INVALID, "your client's answer is larger than %zu MiB",
                ASK_ANSWER_MAX >> 20);
        return NULL;
    }
    const struct json *response = json_read(buf_view(&q->response), arena, e);
    const struct json *error = json_get(response, "error");
    if (error)
        err_set(e, ERR_INVALID, "your client answered with an error: %.*s",
                STR_ARGS(str_cut(json_str(json_get(error, "message")), 200)));
    return error ? NULL : json_get(response, "result");
}

static bool read_answers(const struct ask *list, const struct client_question *questions,
                         size_t n, struct arena *arena, const struct json **answers,
                         struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        answers[i] = read_answer(&list[i], arena, e);
        const struct json *params = json_read(questions[i].params, arena, e);
        if (e->code || !answer_check(str_of(questions[i].method), params, answers[i], e))
            return false;
    }
    return true;
}

static bool ask_all(struct asks *a, struct talk *t, struct ask *list,
                    const struct client_question *questions, size_t n,
                    const struct cancel *stop, struct err *e)
{
    const struct cancel *cancel = t->call->cancel;
    size_t sent = 0;
    while (sent < n && send(t, &list[sent], &questions[sent], e))
        sent++;
    bool ok = sent == n && wait_for(a, list, n, cancel, stop, e);
    leave_all(a, list, n);
    for (size_t i = 0; !ok && i < sent; i++)
        if (!list[i].answered)
            take_back(t, &list[i],
                      e->code == ERR_TIMEOUT ? "nobody answered" : "cancelled");
    return ok;
}

bool asks_ask(struct asks *a, struct talk *t, const struct client_question *questions,
              size_t n, const struct cancel *stop, struct arena *arena,
              const struct json **answers, struct err *e)
{
    const struct session *session = &t->call->session;
    if (n == 0)
        return true;
    if (n > ASKS_SESSION_MAX)
        return err_set(e, ERR_LIMIT, "%zu questions at once; %u may be asked", n,
                       ASKS_SESSION_MAX);
    for (size_t i = 0; i < n; i++) {
        const struct json *params = json_read(questions[i].params, arena, e);
        if (!params ||
            !can_answer_this(session->can, str_of(questions[i].method), params, e))
            return false;
    }
    scoped(free) struct ask *list = mem_new(n * sizeof *list);
    for (size_t i = 0; i < n; i++) {
        ask_name(&list[i]);
        memcpy(list[i].session, session->id, sizeof list[i].session);
        memcpy(list[i].owner, session->owner, sizeof list[i].owner);
        buf_init(&list[i].response, ASK_ANSWER_MAX);
    }
    bool ok = enter_all(a, list, n, e) && ask_all(a, t, list, questions, n, stop, e) &&
              read_answers(list, questions, n, arena, answers, e);
    for (size_t i = 0; i < n; i++)
        buf_done(&list[i].response);
    return ok;
}
