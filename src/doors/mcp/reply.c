/* JSON-RPC 2.0: how results and errors are written. */
#include <stdio.h>

#include "mcp/core.h"

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

/* Answers that everybody gets stay the same while the program runs, or it is told. */
#define CACHE_MS 300000

void put_cache_hints(struct json_writer *w, enum era era, enum keeping how)
{
    if (era != ERA_MODERN || how == KEEP_UNSAID)
        return;
    json_pair_int(w, "ttlMs", how == KEEP_NOT ? 0 : CACHE_MS);
    json_pair_cstr(w, "cacheScope", how == KEEP_FOR_ALL ? "public" : "private");
}
