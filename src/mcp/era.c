/* Which revision of the protocol a message speaks, and whether what it says of
 * that in its headers and in `_meta` holds together.
 * Source: 2026-07-28, basic/versioning, basic/index (_meta),
 * basic/transports/streamable-http (Request Metadata, Server Validation).
 */
#include "mcp/core.h"

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_CLIENT "io.modelcontextprotocol/clientInfo"

const char *legacy_version(struct str name)
{
    static const char *const known[] = {VERSION_LEGACY, "2025-06-18", VERSION_BATCHES};
    for (size_t i = 0; i < LENGTH(known); i++)
        if (str_is(name, known[i]))
            return known[i];
    return NULL;
}

/* ---- headers ------------------------------------------------------------ */

/* Visible ASCII, space and tab: RFC 9110, 5.5. */
static bool is_clean(struct str value)
{
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.at[i];
        if ((c < ' ' && c != '\t') || c > '~')
            return false;
    }
    return true;
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Padded, and only in the one form an encoder makes: with several spellings of
 * one name, what looks at headers could be shown another than we see. */
static bool base64_is(struct str coded, struct str plain)
{
    if (coded.n != (plain.n + 2) / 3 * 4)
        return false;
    for (size_t i = 0; i < coded.n; i++) {
        size_t first = i / 4 * 3, part = i % 4; /* byte, and sextet of its group */
        uint32_t group = 0;
        for (size_t k = 0; k < 3; k++)
            group = group << 8 |
                    (first + k < plain.n ? (unsigned char)plain.at[first + k] : 0u);
        bool padding = part > 1 && first + part > plain.n;
        int want = (int)(group >> (18 - 6 * part) & 63u);
        if (padding ? coded.at[i] != '=' : base64_digit(coded.at[i]) != want)
            return false;
    }
    return true;
}

static bool header_names(struct str header, struct str value)
{
    static const size_t around = sizeof "=?base64?" - 1 + sizeof "?=" - 1;
    if (header.n >= around && str_starts(header, "=?base64?") && str_ends(header, "?=")) {
        struct str coded = {header.at + sizeof "=?base64?" - 1, header.n - around};
        return base64_is(coded, value);
    }
    return str_eq(header, value);
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
    return str_is(method, "resources/read") ? "uri" : NULL;
}

static bool check_headers(struct exchange *x)
{
    const struct envelope *env = x->env;
    if (!env->method.at || !is_clean(env->method) || !str_eq(env->method, x->method))
        return mismatch(x, "Mcp-Method", env->method, x->method);
    const char *key = name_parameter(x->method);
    const struct json *value = key ? json_get(x->params, key) : NULL;
    if (!json_is(value, JSON_STRING))
        return true;
    struct str name = json_str(value);
    if (!env->name.at || !is_clean(env->name) || !header_names(env->name, name))
        return mismatch(x, "Mcp-Name", env->name, name);
    return true;
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
                           "Mcp-Name may each stand there once");
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
