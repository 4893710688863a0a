/* The protocol revision of a message, and whether headers and `_meta` agree on it.
 * Source: 2026-07-28, basic/versioning, basic/index (_meta),
 * basic/transports/streamable-http (Request Metadata, Server Validation).
 */
#include "mcp/core.h"
#include "mcp/mirror.h"

const char *legacy_version(struct str name)
{
    static const char *const known[] = {VERSION_LEGACY, "2025-06-18", VERSION_BATCHES};
    for (size_t i = 0; i < LENGTH(known); i++)
        if (str_is(name, known[i]))
            return known[i];
    return NULL;
}

void client_read(struct client_claim *out, const struct json *info)
{
    client_claim_read(out, json_str(json_get(info, "name")),
                      json_str(json_get(info, "version")));
}

/* ---- headers ------------------------------------------------------------ */

/* The header says this, decoded? */
static bool header_names(struct str header, struct str value)
{
    scoped_buf struct buf text = buf_of(header.n + 64);
    return header_decode(header, &text) && str_eq(buf_view(&text), value);
}

static bool mismatch(struct exchange *x, const char *header, struct str there,
                     struct str wanted)
{
    if (!there.at)
        return reply_error(x, MCP_HEADER_MISMATCH,
                           "Header mismatch: %s is missing; the body says '%.*s'", header,
                           STR_ARGS(str_cut(wanted, 100)));
    return reply_error(x, MCP_HEADER_MISMATCH,
                       "Header mismatch: %s header value '%.*s' does not match body "
                       "value '%.*s'",
                       header, STR_ARGS(str_cut(there, 100)),
                       STR_ARGS(str_cut(wanted, 100)));
}

/* The parameter that Mcp-Name repeats. */
static const char *name_parameter(struct str method)
{
    if (str_is(method, "tools/call") || str_is(method, "prompts/get"))
        return "name";
    if (str_is(method, "resources/read"))
        return "uri";
    bool of_task = str_is(method, "tasks/get") || str_is(method, "tasks/update") ||
                   str_is(method, "tasks/cancel");
    return of_task ? "taskId" : NULL;
}

static bool check_headers(struct exchange *x)
{
    const struct envelope *env = x->env;
    if (!env->method.at || !str_eq(env->method, x->method))
        return mismatch(x, "Mcp-Method", env->method, x->method);
    const char *key = name_parameter(x->method);
    const struct json *value = key ? json_get(x->params, key) : NULL;
    if (!json_is(value, JSON_STRING))
        return true;
    struct str name = json_str(value);
    if (!env->name.at || !header_names(env->name, name))
        return mismatch(x, "Mcp-Name", env->name, name);
    if (!str_is(x->method, "tools/call"))
        return true;
    const struct action *tool = x->m->backend.named(x->m->backend.arg, name);
    return !tool || mirrors_check(x, tool, json_get(x->params, "arguments"));
}

/* ---- the era ------------------------------------------------------------ */

static bool check_modern(struct exchange *x, const struct json *meta)
{
    const struct json *declared = json_get(meta, META_VERSION);
    struct str version = json_str(declared);
    bool http = x->env->http;
    if (http && x->env->repeated)
        return reply_error(x, MCP_HEADER_MISMATCH,
                           "Header mismatch: MCP-Protocol-Version, Mcp-Method and "
                           "Mcp-Name may each occur once");
    if (!json_is(declared, JSON_STRING))
        return reply_error(x, RPC_PARAMS,
                           "Invalid params: params._meta must have \"" META_VERSION
                           "\", a string such as \"" VERSION_MODERN "\"");
    if (http && !(x->env->version.at && str_eq(x->env->version, version)))
        return mismatch(x, "MCP-Protocol-Version", x->env->version, version);
    if (!str_is(version, VERSION_MODERN))
        return reply_unsupported(x, version);
    if (!json_is(json_get(meta, META_CAPABILITIES), JSON_OBJECT))
        return reply_error(x, RPC_PARAMS,
                           "Invalid params: params._meta must have \"" META_CAPABILITIES
                           "\", an object (it may be empty)");
    const struct json *client = json_get(meta, META_CLIENT);
    if (client && !json_is(client, JSON_OBJECT))
        return reply_error(x, RPC_PARAMS,
                           "Invalid params: \"" META_CLIENT "\" in params._meta must "
                           "be an object");
    const struct json *level = json_get(meta, META_LOG_LEVEL);
    if (level && log_level_named(level) == LOG_UNASKED)
        return reply_error(x, RPC_PARAMS,
                           "Invalid params: \"" META_LOG_LEVEL
                           "\" in params._meta is '%.*s'; " LOG_LEVELS,
                           STR_ARGS(str_cut(json_str(level), 40)));
    return !http || check_headers(x);
}

bool era_check_header(struct exchange *x)
{
    struct str header = x->env->version;
    if (header.at && !str_is(header, VERSION_MODERN) && !legacy_version(header))
        return reply_unsupported(x, header);
    /* Sessions are of the older era. */
    if (x->env->lost_session && !str_is(header, VERSION_MODERN)) {
        reply_error(x, RPC_REQUEST,
                    "Session not found: open another one with initialize");
        x->reply->status = 404;
        return false;
    }
    return true;
}

bool era_check_notification(struct exchange *x)
{
    const struct envelope *env = x->env;
    const struct json *declared = json_get(json_get(x->params, "_meta"), META_VERSION);
    bool modern = declared || str_is(env->version, VERSION_MODERN);
    if (declared && !str_eq(env->version, json_str(declared)))
        return mismatch(x, "MCP-Protocol-Version", env->version, json_str(declared));
    if (modern && env->method.at && !str_eq(env->method, x->method))
        return mismatch(x, "Mcp-Method", env->method, x->method);
    return era_check_header(x);
}

bool era_check(struct exchange *x)
{
    const struct json *meta = json_get(x->params, "_meta");
    if (meta && !json_is(meta, JSON_OBJECT))
        return reply_error(x, RPC_PARAMS,
                           "Invalid params: params._meta must be an object, not %s",
                           json_type_name(json_type(meta)));
    bool opening = str_is(x->method, "initialize");
    bool modern = json_get(meta, META_VERSION) || json_get(meta, META_CAPABILITIES) ||
                  str_is(x->method, "server/discover") ||
                  (str_is(x->env->version, VERSION_MODERN) && !opening);
    if (modern) {
        x->era = ERA_MODERN;
        return check_modern(x, meta);
    }
    if (!x->env->http)
        return true;
    struct envelope anew = *x->env; /* initialize needs no session to be there */
    anew.lost_session = anew.lost_session && !opening;
    struct exchange look = *x;
    look.env = &anew;
    return era_check_header(&look);
}

unsigned log_level_named(const struct json *name)
{
    unsigned i = 0;
    while (i < CLIENT_LEVELS && !str_is(json_str(name), client_level_names[i]))
        i++;
    return i < CLIENT_LEVELS ? i : LOG_UNASKED;
}
