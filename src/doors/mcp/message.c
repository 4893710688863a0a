/* JSON-RPC 2.0: what kind of message is it, and who answers it. */
#include <math.h>

#include "mcp/core.h"

/* A message takes some multiple of its text once it is read. */
#define MESSAGE_ARENA ((size_t)128 * 1024 * 1024)

/* ---- reading ------------------------------------------------------------ */

/* Strings and whole numbers; null is for JSON-RPC's own use. */
static bool message_is_id(const struct json *id)
{
    if (json_is(id, JSON_STRING))
        return true;
    double n = json_number(id, NAN);
    return isfinite(n) && n == floor(n);
}

static void message_take_response(struct exchange *x, const struct json *response)
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
    if (message_is_id(id))
        x->id = id;
    if (!str_is(json_str(json_get(root, "jsonrpc")), "2.0")) {
        reply_error(x, RPC_REQUEST, "Invalid Request: \"jsonrpc\" must be \"2.0\"");
    } else if (!method && (json_get(root, "result") || json_get(root, "error"))) {
        message_take_response(x, root);
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
    batch_prepare(&x, root);
    return x.call;
}

/* A request that is JSON, but more than we take, hears so by its id: nobody else could
 * tell its client which of them it was. */
static void message_refuse_text(struct str text, const struct err *e, struct exchange *x)
{
    scoped(arena_free) struct arena *arena = arena_new(MESSAGE_ARENA);
    const struct json *id = json_read_key(text, "id", arena);
    x->id = message_is_id(id) ? id : NULL;
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
        message_refuse_text(text, &e, &x);
        return NULL;
    }
    struct call *c = json_is(root, JSON_ARRAY) ? take_batch(m, arena, root, env, r)
                                               : take_value(m, arena, root, env, r);
    if (c)
        c->arena = take(arena);
    return c;
}
