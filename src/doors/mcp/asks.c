/* Questions to clients of the older era: JSON-RPC requests of ours, on the stream of
 * the call that asks, answered by whatever message of the same session brings a
 * response with the question's id. The ids are random: nobody answers what he was not
 * asked.
 */

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
    struct asked *of;
    struct ask *before, *after;
};

/* Questions that were asked at once. */
struct asked {
    struct asks *in;
    struct talk *talk;
    size_t n, sent;
    uint64_t until_ns;
    void (*wake)(void *arg); /* NULL: its own thread waits */
    void *wake_arg;
    struct ask list[];
};

/* The lock is held. */
static void tell_changed(struct asks *a, const struct ask *q)
{
    pthread_cond_broadcast(&a->changed);
    if (q->of->wake)
        q->of->wake(q->of->wake_arg);
}

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
    for (struct ask *q = a->first; q; q = q->after)
        tell_changed(a, q);
    pthread_mutex_unlock(&a->lock);
}

void asks_abandon(struct asks *a, const struct session *session)
{
    pthread_mutex_lock(&a->lock);
    for (struct ask *q = a->first; q; q = q->after)
        if (!memcmp(q->session, session->id, sizeof q->session)) {
            q->abandoned = true;
            tell_changed(a, q);
        }
    pthread_mutex_unlock(&a->lock);
}

/* ---- the list ----------------------------------------------------------- */

static void ask_name(struct ask *q)
{
    unsigned char bytes[ID_BYTES];
    os_random(bytes, sizeof bytes);
    hex_write(bytes, sizeof bytes, q->id);
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

/* Checks the limits of a principal's sessions together, and of each. */
static bool asks_have_room(const struct asks *a, const struct ask *list, size_t n)
{
    size_t mine = of_owner(a, list->owner), session = of_session(a, list->session);
    return session + n <= ASKS_SESSION_MAX &&
           share_fits(mine + n - 1, a->count + n - 1, ASKS_MAX);
}

static bool enter_all(struct asks *a, struct ask *list, size_t n, struct err *e)
{
    pthread_mutex_lock(&a->lock);
    bool room = asks_have_room(a, list, n);
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
                           "too many questions wait for answers (%u of one session may, "
                           "and of one caller %u); nothing was changed",
                           ASKS_SESSION_MAX, ASKS_MAX / 4);
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
        tell_changed(a, q);
    }
    pthread_mutex_unlock(&a->lock);
}

/* ---- asking ------------------------------------------------------------- */

static bool send(struct talk *t, const struct ask *q, const struct client_question *what,
                 struct err *e)
{
    scoped_buf struct buf line = buf_of(2 * ASK_ANSWER_MAX);
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
    scoped_buf struct buf line = buf_of(BUF_LINE);
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

static bool asks_are_answered(const struct ask *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!list[i].answered)
            return false;
    return true;
}

static void asks_wait(struct asks *a)
{
    (void)os_cond_wait(&a->changed, &a->lock, os_in_ms(LOOK_MS));
}

/* With the lock: is there nothing to wait for any more? *e: why not. */
static bool asked_is_over(const struct asked *x, struct err *e)
{
    if (asks_are_answered(x->list, x->n))
        return true;
    if (x->list->abandoned)
        return !err_set(e, ERR_CANCELLED, "your client went away without an answer");
    if (os_mono_ns() < x->until_ns)
        return false;
    return !err_set(e, ERR_TIMEOUT,
                    "the question was not answered within %u s; nothing was changed",
                    x->in->wait_ms / 1000);
}

static void asked_wait(struct asked *x, const struct cancel *cancel,
                       const struct cancel *stop)
{
    struct err none = {0};
    pthread_mutex_lock(&x->in->lock);
    while (!asked_is_over(x, &none) && !cancel_fired(cancel) && !cancel_fired(stop))
        asks_wait(x->in);
    pthread_mutex_unlock(&x->in->lock);
}

static const struct json *ask_read_answer(const struct ask *q, struct arena *arena,
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
        answers[i] = ask_read_answer(&list[i], arena, e);
        const struct json *params = json_read(questions[i].params, arena, e);
        if (e->code || !answer_check(str_of(questions[i].method), params, answers[i], e))
            return false;
    }
    return true;
}

static void asked_free(struct asked *x)
{
    for (size_t i = 0; i < x->n; i++)
        buf_done(&x->list[i].response);
    free(x);
}

static bool check_questions(const struct session *session,
                            const struct client_question *questions, size_t n,
                            struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(2 * n * ASK_ANSWER_MAX);
    if (n > ASKS_SESSION_MAX)
        return err_set(e, ERR_LIMIT, "%zu questions at once; %u may be asked", n,
                       ASKS_SESSION_MAX);
    for (size_t i = 0; i < n; i++) {
        const struct json *params = json_read(questions[i].params, arena, e);
        if (!params ||
            !can_answer_this(session->can, str_of(questions[i].method), params, e))
            return false;
    }
    return true;
}

static void end_asking(struct asked *x, const struct err *e)
{
    leave_all(x->in, x->list, x->n);
    for (size_t i = 0; e->code && i < x->sent; i++)
        if (!x->list[i].answered)
            take_back(x->talk, &x->list[i],
                      e->code == ERR_TIMEOUT ? "nobody answered" : "cancelled");
}

struct asked *asks_begin(struct asks *a, struct talk *t,
                         const struct client_question *questions, size_t n,
                         void (*wake)(void *arg), void *arg, struct err *e)
{
    const struct session *session = &t->call->session;
    if (!check_questions(session, questions, n, e))
        return NULL;
    struct asked *x = mem_new(sizeof *x + n * sizeof x->list[0]);
    *x = (struct asked){.in = a, .talk = t, .n = n, .wake = wake, .wake_arg = arg};
    x->until_ns = os_in_ms(a->wait_ms);
    for (size_t i = 0; i < n; i++) {
        ask_name(&x->list[i]);
        x->list[i].of = x;
        memcpy(x->list[i].session, session->id, sizeof x->list[i].session);
        memcpy(x->list[i].owner, session->owner, sizeof x->list[i].owner);
        buf_init(&x->list[i].response, ASK_ANSWER_MAX);
    }
    bool entered = enter_all(a, x->list, n, e);
    while (entered && x->sent < n && send(t, &x->list[x->sent], &questions[x->sent], e))
        x->sent++;
    if (entered && x->sent == n)
        return x;
    if (entered)
        end_asking(x, e);
    asked_free(x);
    return NULL;
}

bool asks_look(struct asked *x, uint64_t *look_ns)
{
    struct err none = {0};
    *look_ns = x->until_ns;
    pthread_mutex_lock(&x->in->lock);
    bool over = asked_is_over(x, &none);
    pthread_mutex_unlock(&x->in->lock);
    return over;
}

bool asks_end(struct asked *x, const struct client_question *questions,
              struct arena *arena, const struct json **answers, struct err *e)
{
    pthread_mutex_lock(&x->in->lock);
    bool over = asked_is_over(x, e);
    pthread_mutex_unlock(&x->in->lock);
    if (!over)
        err_set(e, ERR_CANCELLED, "cancelled while it waited for an answer");
    end_asking(x, e);
    bool ok = !e->code && read_answers(x->list, questions, x->n, arena, answers, e);
    asked_free(x);
    return ok;
}

bool asks_ask(struct asks *a, struct talk *t, const struct client_question *questions,
              size_t n, const struct cancel *stop, struct arena *arena,
              const struct json **answers, struct err *e)
{
    if (n == 0)
        return true;
    struct asked *x = asks_begin(a, t, questions, n, NULL, NULL, e);
    if (!x)
        return false;
    asked_wait(x, t->call->cancel, stop);
    return asks_end(x, questions, arena, answers, e);
}
