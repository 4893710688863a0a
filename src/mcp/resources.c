/* Resources: results that were too large for their answer (cloche://results/...).
 *
 * They are named to whom they were made for, in that answer, and to nobody else: the
 * list is empty, a template tells what their names look like. Reading one is a call
 * like a tool's, for the backend asks who reads. */
#include "mcp/core.h"

#define RESOURCE_NOT_FOUND (-32002) /* of the older era; RPC_PARAMS in the newer */

static bool has_no_cursor(struct exchange *x)
{
    const struct json *cursor = json_get(x->params, "cursor");
    return !cursor || json_is(cursor, JSON_NULL) ||
           reply_error(
               x, RPC_PARAMS,
               "Invalid params: unknown cursor; %.*s has one page, without a cursor",
               STR_ARGS(x->method));
}

static void put_list(struct exchange *x, const char *key, struct str json)
{
    if (!has_no_cursor(x))
        return;
    struct json_writer w = result_open(x->reply->out, x->id, x->era);
    json_pair_raw(&w, key, json);
    put_cache_hints(&w, x->era);
    result_close(&w, x->era);
}

void resources_list(struct exchange *x)
{
    put_list(x, "resources", STR("[]"));
}

void resources_templates(struct exchange *x)
{
    put_list(
        x, "resourceTemplates",
        STR("[{\"uriTemplate\":\"cloche://results/{id}\",\"name\":\"result\","
            "\"title\":\"A large result\",\"description\":\"The whole result of an "
            "evaluation that ended with OutputTooLarge; errorDetails.resource names it, "
            "for 15 minutes.\",\"mimeType\":\"application/json\"}]"));
}

void resources_read(struct exchange *x)
{
    const struct json *uri = json_get(x->params, "uri");
    if (!json_is(uri, JSON_STRING)) {
        reply_error(x, RPC_PARAMS,
                    "Invalid params: resources/read needs uri, a string, not %s",
                    json_type_name(json_type(uri)));
        return;
    }
    call_leave(x, NULL)->resource = json_str(uri);
}

void resource_put(const struct call *c, struct buf *out, struct str text)
{
    struct json_writer w = result_open(out, c->id, c->era);
    json_key(&w, "contents");
    json_open_array(&w);
    json_open_object(&w);
    json_pair_str(&w, "uri", c->resource);
    json_pair_raw(&w, "mimeType", STR("\"application/json\""));
    json_pair_str(&w, "text", text);
    json_close(&w);
    json_close(&w);
    put_cache_hints(&w, c->era);
    result_close(&w, c->era);
}

void resource_put_failure(const struct call *c, struct reply *r, const struct err *e)
{
    bool missing = e->code == ERR_NOT_FOUND;
    int code = err_kind(e->code)->jsonrpc;
    if (missing)
        code = c->era == ERA_MODERN ? RPC_PARAMS : RESOURCE_NOT_FOUND;
    struct json_writer w = error_open(r->out, c->id, code);
    json_pair_cstr(&w, "message", e->msg);
    json_key(&w, "data");
    json_open_object(&w);
    json_pair_str(&w, "uri", c->resource);
    json_close(&w);
    json_close(&w);
    json_close(&w);
    if (missing && c->era == ERA_MODERN)
        r->status = 400;
}
