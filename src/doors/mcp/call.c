/* tools/call: from its parameters to its result, and the list of the calls that
 * wait or run, by which they can be cancelled.
 */
#include "mcp/core.h"

/* The ceiling of an action's JSON. The answer carries it twice, once inside a string. */
#define ANSWER_MAX ((size_t)32 * 1024 * 1024)
/* The most bytes of its text: hosts of agents cut what is larger where they like. */
#define SHOWN_MAX ((size_t)400000)

/* ---- running calls ---------------------------------------------------- */

void calls_init(struct calls *c)
{
    *c = (struct calls){0};
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->unpinned, NULL);
}

void calls_done(struct calls *c)
{
    pthread_cond_destroy(&c->unpinned);
    pthread_mutex_destroy(&c->lock);
}

static void calls_enter(struct calls *c, struct call *call)
{
    pthread_mutex_lock(&c->lock);
    call->listed = true;
    call->before = NULL;
    call->after = c->first;
    if (call->after)
        call->after->before = call;
    c->first = call;
    pthread_mutex_unlock(&c->lock);
}

bool calls_leave(struct calls *c, struct call *call)
{
    if (!call->session.there)
        return true;
    pthread_mutex_lock(&c->lock);
    if (!call->listed) {
        pthread_mutex_unlock(&c->lock);
        return !call->unwanted;
    }
    while (call->pins)
        pthread_cond_wait(&c->unpinned, &c->lock);
    *(call->before ? &call->before->after : &c->first) = call->after;
    if (call->after)
        call->after->before = call->before;
    call->listed = false;
    pthread_mutex_unlock(&c->lock);
    return !call->unwanted;
}

static bool is_meant(const struct call *call, const struct session *session,
                     const struct json *id)
{
    return (!session || memcmp(call->session.id, session->id, sizeof session->id) == 0) &&
           (!id || json_equal(call->id, id)) && !cancel_fired(call->cancel);
}

void calls_cancel(struct calls *c, const struct session *session, const struct json *id,
                  bool unwanted)
{
    pthread_mutex_lock(&c->lock);
    for (struct call *call = c->first; call;) {
        if (call->pins || !is_meant(call, session, id)) {
            call = call->after;
            continue;
        }
        /* A call is not stopped with our lock held: pinned, the call stays until we are
         * back. Then from the start, for the list may be another by now. */
        call->unwanted = call->unwanted || unwanted;
        call->pins++;
        pthread_mutex_unlock(&c->lock);
        cancel_fire(call->cancel);
        asks_wake(&call->m->asks);
        pthread_mutex_lock(&c->lock);
        call->pins--;
        pthread_cond_broadcast(&c->unpinned);
        call = c->first;
    }
    pthread_mutex_unlock(&c->lock);
}

/* ---- checking ----------------------------------------------------------- */

static struct call *call_new(struct exchange *x)
{
    const struct json *meta = json_get(x->params, "_meta");
    const struct json *token = json_get(meta, "progressToken");
    struct call *c = mem_new(sizeof *c);
    c->m = x->m;
    c->id = x->id;
    c->params = x->params;
    c->method = x->method;
    c->era = x->era;
    c->http = x->env->http;
    c->events = x->env->events;
    c->progress_token = json_is(token, JSON_STRING) || json_is_int(token) ? token : NULL;
    c->log_least = log_level_named(json_get(meta, META_LOG_LEVEL));
    c->session = *x->env->session;
    cancel_init(&c->own);
    c->cancel = x->env->cancel ? x->env->cancel : &c->own;
    return c;
}

struct call *call_leave(struct exchange *x, const struct action *action)
{
    struct call *c = call_new(x);
    c->action = action;
    /* A call of nobody's session can only be cancelled by hanging up. */
    if (c->session.there)
        calls_enter(&c->m->calls, c);
    x->call = c;
    return c;
}

void call_leave_errand(struct exchange *x, const struct errand *errand)
{
    struct call *c = call_leave(x, NULL);
    c->errand = errand;
}

#define UNKNOWN_TOOL "Unknown tool: %.*s; there are: %.*s%s"
#define UNKNOWN_ARGS(name, names, most)                                \
    STR_ARGS(str_cut(name, 128)), STR_ARGS(str_cut_list(names, most)), \
        (names).n > (most) ? " and more" : ""

static bool run_unknown(const struct call *c, const struct caller *who,
                        struct answer *out, struct err *e)
{
    (void)out;
    struct str name = json_str(json_get(c->params, "name"));
    scoped_buf struct buf meant = buf_of(BUF_LINE);
    c->m->backend.unknown(c->m->backend.arg, who, name, &meant);
    if (meant.n)
        return err_set(e, ERR_NOT_FOUND, "Unknown tool: %.*s; %s",
                       STR_ARGS(str_cut(name, 128)), buf_cz(&meant));
    struct str names = buf_view(&c->m->names);
    return err_set(e, ERR_NOT_FOUND, UNKNOWN_TOOL, UNKNOWN_ARGS(name, names, 200));
}

/* To be recorded it has to run, for the record may have to wait for the disk. */
static void prepare_unknown(struct exchange *x, struct str name)
{
    static const struct errand errand = {.method = "tools/call", .run = run_unknown};
    struct str names = buf_view(&x->m->names);
    if (x->m->backend.unknown)
        call_leave_errand(x, &errand);
    else
        reply_error(x, RPC_PARAMS, UNKNOWN_TOOL, UNKNOWN_ARGS(name, names, 400));
}

void call_prepare(struct exchange *x)
{
    const struct json *name = json_get(x->params, "name");
    if (!json_is(name, JSON_STRING)) {
        reply_error(x, RPC_PARAMS,
                    "Invalid params: tools/call needs name, a string, not %s",
                    json_type_name(json_type(name)));
        return;
    }
    const struct action *action = x->m->backend.named(x->m->backend.arg, json_str(name));
    if (!action) {
        prepare_unknown(x, json_str(name));
        return;
    }
    const struct json *arguments = json_get(x->params, "arguments");
    call_leave(x, action)->arguments = json_is(arguments, JSON_NULL) ? NULL : arguments;
}

/* ---- running ------------------------------------------------------------ */

static void content_put_text(struct json_writer *w, struct str text)
{
    json_open_object(w);
    json_pair_raw(w, "type", STR("\"text\""));
    json_pair_str(w, "text", text);
    json_close(w);
}

/* `note`: another block; or "". */
static void put_content(struct json_writer *w, struct str text, const char *note)
{
    json_key(w, "content");
    json_open_array(w);
    content_put_text(w, text);
    if (*note)
        content_put_text(w, str_of(note));
    json_close(w);
}

static void put_error(const struct call *c, struct reply *r, int code, const char *why)
{
    struct json_writer w = error_open(r->out, c->id, code);
    json_pair_cstr(&w, "message", why);
    json_close(&w);
    json_close(&w);
}

static void put_failure(const struct call *c, struct reply *r, const struct err *e)
{
    err_log(e, "mcp");
    if (c->errand) {
        errand_put_failure(c, r, e);
        return;
    }
    if (e->code == ERR_BUG) { /* nothing that who called could do better */
        put_error(c, r, err_kind(ERR_BUG)->jsonrpc, e->msg);
        return;
    }
    scoped_buf struct buf text = buf_of(sizeof e->msg + 100);
    enum err_code code = e->code;
    buf_printf(&text, "%s: %s", err_kind(code)->name, e->msg);
    struct json_writer w = result_open(r->out, c->id, c->era);
    put_content(&w, buf_view(&text), "");
    json_pair_bool(&w, "isError", true);
    result_close(&w, c->era);
}

/* A part of an answer, and where the whole is: as words, and as a link in the revisions
 * that know links. */
static void answer_put_part(struct json_writer *w, const struct call *c,
                            const struct answer *a)
{
    const char *version = c->session.version;
    bool links = !version || !str_is(str_of(version), VERSION_BATCHES);
    scoped_buf struct buf note = buf_of(BUF_LINE);
    buf_printf(&note,
               a->whole[0]
                   ? "(This is a part of the answer. The whole, %zu bytes of JSON, "
                     "is the resource %s for 15 minutes; read_result reads it in "
                     "pieces.)"
                   : "(This is a part of an answer of %zu bytes, which is too large "
                     "to be kept%s; evaluate_note_code can select what is needed.)",
               a->whole_bytes, a->whole);
    json_key(w, "content");
    json_open_array(w);
    content_put_text(w, buf_view(&a->json));
    content_put_text(w, buf_view(&note));
    if (a->note[0])
        content_put_text(w, str_of(a->note));
    if (links && a->whole[0]) {
        json_open_object(w);
        json_pair_raw(w, "type", STR("\"resource_link\""));
        json_pair_cstr(w, "uri", a->whole);
        json_pair_raw(w, "name", STR("\"whole answer\""));
        json_pair_raw(w, "mimeType", STR("\"application/json\""));
        json_pair_int(w, "size", (int64_t)a->whole_bytes);
        json_close(w);
    }
    json_close(w);
}

/* Blocks as the action made them. The note is one of its own behind them. */
static void put_blocks(struct json_writer *w, struct str blocks, const char *note)
{
    json_key(w, "content");
    json_open_array(w);
    if (blocks.n > 2) /* "[]" */
        json_put_raw(w, (struct str){blocks.at + 1, blocks.n - 2});
    if (*note)
        content_put_text(w, str_of(note));
    json_close(w);
}

static void put_answer(const struct call *c, struct buf *out, const struct answer *a)
{
    if (c->errand) {
        errand_put(c, out, a);
        return;
    }
    /* The common answer fits at once. */
    (void)buf_room(out, 2 * a->json.n + 512);
    struct json_writer w = result_open(out, c->id, c->era);
    if (a->content.n)
        put_blocks(&w, buf_view(&a->content), a->note);
    else if (a->whole_bytes)
        answer_put_part(&w, c, a);
    else
        put_content(&w, buf_view(&a->json), a->note);
    if (a->json.n && !a->text_alone)
        json_pair_raw(&w, "structuredContent", buf_view(&a->json));
    json_pair_bool(&w, "isError", a->is_error);
    result_close(&w, c->era);
}

/* Over HTTP something has to be answered even to who cancelled, if only no events. */
static void put_cancelled(const struct call *c, struct reply *r)
{
    if (c->http && !c->events)
        put_error(c, r, err_kind(ERR_CANCELLED)->jsonrpc,
                  "the request was cancelled by its client");
}

static bool call_perform_action(const struct call *c, const struct caller *who,
                                struct answer *out, struct err *e)
{
    const struct backend *b = &c->m->backend;
    bool ok = c->errand ? c->errand->run(c, who, out, e)
                        : b->call(b->arg, c->action, c->arguments, who, out, e);
    return ok && buf_check(&out->json, "the answer", e) &&
           buf_check(&out->content, "the answer", e);
}

/* Writes the outcome of a run; `e` is of one that failed. */
static void put_outcome(const struct call *c, const struct input *in,
                        const struct answer *a, struct err *e, struct reply *r)
{
    if (!e->code) {
        put_answer(c, r->out, a);
    } else if (e->code == ERR_CAPABILITY && c->era == ERA_MODERN) {
        input_put_lack(in, r->out, e->msg);
        r->status = 400;
    } else if (e->code == ERR_INPUT && input_is_wanted(in)) {
        struct err why = {0};
        if (!input_put(in, r->out, &why))
            put_failure(c, r, &why);
    } else {
        put_failure(c, r, e);
    }
    if (r->out->failed) {
        struct err large = {0};
        err_set(&large, ERR_OUTPUT, "it ran, but its answer is too large to be sent");
        buf_clear(r->out);
        put_failure(c, r, &large);
    }
}

static void run_checked(struct call *c, const struct front *f, struct input *in,
                        struct reply *r)
{
    struct err e = {0};
    struct answer a = {.most = SHOWN_MAX};
    buf_init(&a.json, ANSWER_MAX);
    buf_init(&a.content, ANSWER_MAX);
    unsigned before = sessions_vault(&c->m->sessions, &c->session), vault = before;
    struct talk talk;
    struct trace trace;
    const struct json *meta = json_get(c->params, "_meta");
    struct client_claim client = c->session.client;
    trace_read(meta, &trace);
    if (c->era == ERA_MODERN)
        client_read(&client, json_get(meta, META_CLIENT));
    struct caller caller = {.name = f->who,
                            .level = f->grant ? f->grant->level : LEVEL_FULL,
                            .grant = f->grant,
                            .client = &talk.client,
                            .cancel = c->cancel,
                            .trace = &trace,
                            .claim = &client,
                            .vault = &vault};

    char session[SESSION_TEXT + 1];
    if (c->session.there && c->http) {
        session_text(&c->session, session);
        caller.session = session;
    }
    talk_begin(&talk, c, f->outlet, in);
    if (call_perform_action(c, &caller, &a, &e))
        e = (struct err){0};
    else if (!e.code)
        err_set(&e, ERR_BUG, "the call failed without an error message (internal error)");
    talk_end(&talk);
    if (vault != before)
        sessions_set_vault(&c->m->sessions, &c->session, vault);
    if (!calls_leave(&c->m->calls, c))
        put_cancelled(c, r);
    else
        put_outcome(c, in, &a, &e, r);
    buf_done(&a.json);
    buf_done(&a.content);
}

void call_run_here(struct call *c, const struct front *f, struct reply *r)
{
    r->status = 200;
    struct input in;
    struct err e = {0};
    if (input_begin(&in, c, f->grant ? f->grant->principal : "", &e))
        run_checked(c, f, &in, r);
    else if (!calls_leave(&c->m->calls, c))
        put_cancelled(c, r);
    else {
        put_error(c, r, RPC_PARAMS, e.msg);
        r->status = 400;
    }
    input_done(&in);
}

void call_run(struct call *c, const struct front *f, struct reply *r)
{
    if (task_suits(c) && task_run(c, f, r))
        return;
    if (c->run)
        c->run(c, f, r);
    else
        call_run_here(c, f, r);
    call_drop(c);
}

void call_refuse(struct call *c, enum err_code code, const char *why, struct reply *r)
{
    struct err e = {0};
    err_set(&e, code, "%s", why);
    if (c->batch) {
        struct envelope env = {.session = &c->session};
        struct exchange x = {.m = c->m, .env = &env, .reply = r, .era = c->era};
        reply_error(&x, err_kind(code)->jsonrpc, "%s", why);
    } else {
        put_failure(c, r, &e);
    }
    call_drop(c);
}

void call_drop(struct call *c)
{
    (void)calls_leave(&c->m->calls, c);
    arena_free(c->arena);
    free(c);
}
