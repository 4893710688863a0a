/* JSON-RPC 2.0: what kind of message is it, and how are answers written. */
#include <math.h>
#include <stdio.h>

#include "mcp/core.h"

/* A message takes some multiple of its text once it is read. */
#define MESSAGE_ARENA ((size_t)128 * 1024 * 1024)

/* ---- writing ------------------------------------------------------------ */

static const char server_meta[] =
    "{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"cloche\","
    "\"title\":\"Cloche\",\"version\":\"" CLOCHE_VERSION "\"}}";

static struct json_writer answer_open(struct buf *out, const struct json *id)
{
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_pair_raw(&w, "jsonrpc", STR("\"2.0\""));
    if (id)
        json_pair(&w, "id", id);
    return w;
}

struct json_writer result_open(struct buf *out, const struct json *id, enum era era)
{
    if (era == ERA_MODERN)
        return result_open_as(out, id, "complete");
    struct json_writer w = answer_open(out, id);
    json_key(&w, "result");
    json_open_object(&w);
    return w;
}

struct json_writer result_open_as(struct buf *out, const struct json *id,
                                  const char *type)
{
    struct json_writer w = answer_open(out, id);
    json_key(&w, "result");
    json_open_object(&w);
    json_pair_cstr(&w, "resultType", type);
    return w;
}

void result_close(struct json_writer *w, enum era era)
{
    if (era == ERA_MODERN)
        json_pair_raw(w, "_meta", (struct str){server_meta, sizeof server_meta - 1});
    json_close(w);
    json_close(w);
}

static void open_error(struct json_writer *w, int code)
{
    json_key(w, "error");
    json_open_object(w);
    json_pair_int(w, "code", code);
}

struct json_writer error_open(struct buf *out, const struct json *id, int code)
{
    struct json_writer w = answer_open(out, id);
    open_error(&w, code);
    return w;
}

/* JSON-RPC has null for an id that could not be read. MCP's schemas since 2025-11-25 know
 * no such id, but let it be left out, which is what its transport over HTTP always wants. */
static bool knows_null(const struct envelope *env)
{
    const char *agreed =
        env->session && env->session->there ? env->session->version : NULL;
    return !env->http && (!agreed || strcmp(agreed, VERSION_LEGACY) < 0);
}

struct json_writer unread_open(struct buf *out, const struct envelope *env, int code)
{
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_pair_raw(&w, "jsonrpc", STR("\"2.0\""));
    if (knows_null(env))
        json_pair_raw(&w, "id", STR("null"));
    open_error(&w, code);
    return w;
}

/* Before 2026-07-28 the status only speaks of the transport. */
static int status_of(int code, enum era era)
{
    switch (code) {
    case RPC_METHOD:
        return era == ERA_MODERN ? 404 : 200;
    case RPC_PARAMS:
        return era == ERA_MODERN ? 400 : 200;
    case RPC_PARSE:
    case RPC_REQUEST:
    case MCP_HEADER_MISMATCH:
    case MCP_UNSUPPORTED_VERSION:
        return 400;
    default:
        return 200;
    }
}

bool reply_error(struct exchange *x, int code, const char *fmt, ...)
{
    char text[640];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);

    struct json_writer w = x->id ? error_open(x->reply->out, x->id, code)
                                 : unread_open(x->reply->out, x->env, code);
    json_pair_str(&w, "message", str_cut(str_of(text), strlen(text)));
    json_close(&w);
    json_close(&w);
    x->reply->status = status_of(code, x->era);
    return false;
}

bool reply_unsupported(struct exchange *x, struct str requested)
{
    struct json_writer w = error_open(x->reply->out, x->id, MCP_UNSUPPORTED_VERSION);
    json_pair_cstr(&w, "message",
                   "Unsupported protocol version; " VERSION_MODERN
                   " is served, and older ones by initialize");
    json_key(&w, "data");
    json_open_object(&w);
    json_pair_raw(&w, "supported", STR("[\"" VERSION_MODERN "\"]"));
    json_pair_str(&w, "requested", str_cut(requested, 200));
    json_close(&w);
    json_close(&w);
    json_close(&w);
    x->reply->status = status_of(MCP_UNSUPPORTED_VERSION, x->era);
    return false;
}

/* ---- reading ------------------------------------------------------------ */

/* Strings and whole numbers; null is for JSON-RPC's own use. */
static bool is_id(const struct json *id)
{
    if (json_is(id, JSON_STRING))
        return true;
    double n = json_number(id, NAN);
    return n == floor(n);
}

static void take_response(struct exchange *x, const struct json *response)
{
    x->reply->status = 202;
    if (!x->env->http || era_check_header(x))
        asks_answer(&x->m->asks, x->env->session, response);
}

static void take_notification(struct exchange *x)
{
    x->reply->status = 202;
    if (!x->env->http || era_check_notification(x))
        notification_take(x);
}

static void take_request(struct exchange *x, const struct json *params)
{
    if (json_is(params, JSON_OBJECT))
        x->params = params;
    else if (params && !json_is(params, JSON_NULL)) {
        reply_error(x, RPC_PARAMS, "Invalid params: params must be an object, not %s",
                    json_type_name(json_type(params)));
        return;
    }
    if (era_check(x))
        method_answer(x);
}

static void classify(struct exchange *x, const struct json *root)
{
    if (!json_is(root, JSON_OBJECT)) {
        reply_error(x, RPC_REQUEST, "Invalid Request: a message is a JSON object, not %s",
                    json_type_name(json_type(root)));
        return;
    }
    const struct json *id = json_get(root, "id");
    const struct json *method = json_get(root, "method");
    if (is_id(id))
        x->id = id;
    if (!str_is(json_str(json_get(root, "jsonrpc")), "2.0")) {
        reply_error(x, RPC_REQUEST, "Invalid Request: \"jsonrpc\" must be \"2.0\"");
    } else if (!method && (json_get(root, "result") || json_get(root, "error"))) {
        take_response(x, root);
    } else if (!json_is(method, JSON_STRING)) {
        reply_error(x, RPC_REQUEST,
                    "Invalid Request: \"method\" must be a string, not %s",
                    json_type_name(json_type(method)));
    } else if (id && !x->id) {
        reply_error(x, RPC_REQUEST,
                    "Invalid Request: \"id\" must be a string or a whole number");
    } else {
        x->method = json_str(method);
        if (id) {
            take_request(x, json_get(root, "params"));
        } else {
            x->params = json_get(root, "params");
            take_notification(x);
        }
    }
}

struct call *take_value(struct mcp *m, struct arena *arena, const struct json *root,
                        const struct envelope *env, struct reply *r)
{
    struct exchange x = {
        .m = m, .arena = arena, .env = env, .reply = r, .era = ERA_LEGACY};
    r->status = 200;
    classify(&x, root);
    return x.call;
}

static struct call *take_batch(struct mcp *m, struct arena *arena,
                               const struct json *root, const struct envelope *env,
                               struct reply *r)
{
    struct exchange x = {
        .m = m, .arena = arena, .env = env, .reply = r, .era = ERA_LEGACY};
    r->status = 200;
    call_prepare_batch(&x, root);
    return x.call;
}

/* A request that is JSON, but more than we take, hears so by its id: nobody else could
 * tell its client which of them it was. */
static void refuse_text(struct str text, const struct err *e, struct exchange *x)
{
    scoped(arena_free) struct arena *arena = arena_new(MESSAGE_ARENA);
    const struct json *id = json_read_key(text, "id", arena);
    x->id = is_id(id) ? id : NULL;
    if (x->id || e->code == ERR_LIMIT)
        reply_error(x, RPC_REQUEST, "Invalid Request: %s", e->msg);
    else
        reply_error(x, RPC_PARSE, "Parse error: %s", e->msg);
}

struct call *take_message(struct mcp *m, struct str text, const struct envelope *env,
                          struct reply *r)
{
    scoped(arena_free) struct arena *arena = arena_new(MESSAGE_ARENA);
    struct err e = {0};
    const struct json *root = json_read(text, arena, &e);
    if (!root) {
        struct exchange x = {.m = m, .env = env, .reply = r, .era = ERA_LEGACY};
        refuse_text(text, &e, &x);
        return NULL;
    }
    struct call *c = json_is(root, JSON_ARRAY) ? take_batch(m, arena, root, env, r)
                                               : take_value(m, arena, root, env, r);
    if (c)
        c->arena = take(arena);
    return c;
}
