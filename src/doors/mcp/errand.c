/* The common part of requests that run, other than tools/call: the start and the end of
 * their answers, and what a failure is called. */
#include "mcp/core.h"

#define RESOURCE_NOT_FOUND (-32002) /* of the older era; RPC_PARAMS in the newer */

void errand_put(const struct call *c, struct buf *out, const struct answer *a)
{
    struct json_writer w = result_open(out, c->id, c->era);
    c->errand->put(c, &w, a);
    put_cache_hints(&w, c->era, c->errand->keeping);
    result_close(&w, c->era);
}

static int code_of(const struct call *c, const struct err *e, bool names_uri)
{
    if (e->code != ERR_NOT_FOUND)
        return err_kind(e->code)->jsonrpc;
    return names_uri && c->era == ERA_LEGACY ? RESOURCE_NOT_FOUND : RPC_PARAMS;
}

void errand_put_failure(const struct call *c, struct reply *r, const struct err *e)
{
    const struct json *uri = json_get(c->params, "uri");
    int code = code_of(c, e, uri != NULL);
    struct json_writer w = error_open(r->out, c->id, code);
    json_pair_cstr(&w, "message", e->msg);
    if (uri) {
        json_key(&w, "data");
        json_open_object(&w);
        json_pair(&w, "uri", uri);
        json_close(&w);
    }
    json_close(&w);
    json_close(&w);
    if (code == RPC_PARAMS && c->era == ERA_MODERN)
        r->status = 400;
}
