/* JSON-RPC batches, which one version of the protocol knows: several messages as one call. */
#include "mcp/core.h"

#define BATCH_MAX 64u

/* Runs the messages one after the other; the reply is an array of their answers. */
static void run_batch(struct call *c, const struct front *f, struct reply *r)
{
    struct envelope env = {.http = c->http,
                           .events = c->events,
                           .session = &c->session,
                           .grant = f->grant,
                           .cancel = c->cancel};
    struct buf *whole = r->out;
    struct json_iter it = json_iter(c->batch);
    while (json_next(&it)) {
        scoped_buf struct buf one = buf_of(whole->ceiling);
        struct reply part = {.out = &one};
        struct exchange x = {.m = c->m, .env = &env, .reply = &part, .era = ERA_LEGACY};
        if (str_is(json_str(json_get(it.value, "method")), "initialize")) {
            const struct json *id = json_get(it.value, "id");
            x.id = json_is(id, JSON_STRING) || json_is_int(id) ? id : NULL;
            reply_error(&x, RPC_REQUEST,
                        "Invalid Request: initialize cannot be part "
                        "of a batch");
        } else {
            struct call *inner = take_value(c->m, c->arena, it.value, &env, &part);
            if (inner)
                call_run(inner, f, &part);
        }
        if (one.n) {
            buf_char(whole, whole->n ? ',' : '[');
            buf_str(whole, buf_view(&one));
        }
        whole->failed = whole->failed || one.failed;
    }
    if (whole->n)
        buf_char(whole, ']');
    r->status = whole->n ? 200 : 202;
    if (whole->failed) {
        struct exchange x = {.m = c->m, .env = &env, .reply = r, .era = ERA_LEGACY};
        buf_clear(whole);
        reply_error(&x, err_kind(ERR_OUTPUT)->jsonrpc,
                    "the batch ran, but its answers are too large to be sent together");
    }
}

void batch_prepare(struct exchange *x, const struct json *batch)
{
    const char *version = x->env->session->version;
    bool known = (version && str_is(str_of(version), VERSION_BATCHES)) ||
                 (!version && str_is(x->env->version, VERSION_BATCHES));
    if (!known) {
        reply_error(
            x, RPC_REQUEST,
            "Invalid Request: batches of messages are only part of " VERSION_BATCHES
            "; send one message at a time");
    } else if (json_length(batch) == 0 || json_length(batch) > BATCH_MAX) {
        reply_error(x, RPC_REQUEST,
                    "Invalid Request: a batch holds 1 to %u messages, not %zu", BATCH_MAX,
                    json_length(batch));
    } else if (!x->env->http || era_check_header(x)) {
        struct call *c = call_leave(x, NULL);
        c->batch = batch;
        c->run = run_batch;
    }
}
