/* From an issuer's URL to its keys: its metadata, in one of three places, and what that
 * names. Whoever starts the server trusts the issuer, but not with our network: what it
 * names on another host must be public. */
#include <stdio.h>

#include "access/oauth.h"
#include "egress/egress.h"
#include "uri/uri.h"

#define METADATA_MAX ((size_t)256 * 1024) /* bytes */
#define METADATA_MEMORY ((size_t)16 << 20)
#define FETCH_MS 10000u

/* ---- its URL ------------------------------------------------------------ */

static bool is_loopback(struct str url)
{
    struct uri u;
    return uri_read(url, &u) && str_is(u.scheme, "http") &&
           (str_is(u.host, "127.0.0.1") || str_is(u.host, "localhost") ||
            str_is(u.host, "[::1]"));
}

static bool issuer_is_plain(struct str url)
{
    for (size_t i = 0; i < url.n; i++)
        if (url.at[i] <= ' ' || url.at[i] > '~' || strchr("\"\\<>@?#", url.at[i]))
            return false;
    return true;
}

bool issuer_check(const char *url, struct err *e)
{
    struct uri u;
    struct str all = str_of(url);
    if (all.n <= ISSUER_MAX && issuer_is_plain(all) && uri_read(all, &u) &&
        (is_loopback(all) || str_is(u.scheme, "https")))
        return true;
    return err_set(e, ERR_INVALID,
                   "--oauth-issuer: '%.100s' is not a valid issuer URL; use "
                   "https://HOST[:PORT][/PATH], or http:// for a loopback host",
                   url);
}

/* RFC 8414, section 3.1: before the path; OpenID Connect Discovery, section 4: behind. */
size_t issuer_places(const char *url, char out[static ISSUER_PLACES][ISSUER_MAX + 64])
{
    static const char oauth[] = "/.well-known/oauth-authorization-server",
                      openid[] = "/.well-known/openid-configuration";
    struct uri u;
    (void)uri_read(str_of(url), &u); /* issuer_check() has */
    struct str path = u.rest;
    while (path.n && path.at[path.n - 1] == '/')
        path.n--;
    const size_t room = ISSUER_MAX + 64;
    (void)snprintf(out[0], room, "%.*s%s%.*s", STR_ARGS(u.origin), oauth, STR_ARGS(path));
    (void)snprintf(out[1], room, "%.*s%s%.*s", STR_ARGS(u.origin), openid,
                   STR_ARGS(path));
    (void)snprintf(out[2], room, "%.*s%.*s%s", STR_ARGS(u.origin), STR_ARGS(path),
                   openid);
    return path.n ? 3 : 2;
}

/* ---- its metadata ------------------------------------------------------- */

const char *issuer_keys_url(const char *issuer, struct str metadata, struct arena *a,
                            struct err *e)
{
    const struct json *v = json_read(metadata, a, e);
    if (!v)
        return NULL;
    struct str said = json_str(json_get(v, "issuer")),
               keys = json_str(json_get(v, "jwks_uri"));
    bool local = is_loopback(str_of(issuer));
    if (!str_is(said, issuer))
        err_set(e, ERR_INVALID, "its metadata names another issuer, '%.*s'",
                STR_ARGS(str_cut(said, 100)));
    else if (!str_starts(keys, "https://") && !(local && is_loopback(keys)))
        err_set(e, ERR_INVALID, "its metadata names no https jwks_uri");
    else
        return str_cz(keys, a, e);
    return NULL;
}

/* ---- fetching ----------------------------------------------------------- */

/* `near`: also where it is not public. */
static bool fetch(const char *url, bool near, const struct cancel *cancel,
                  struct buf *body, struct err *e)
{
    scoped(egress_rules_free) struct egress_rules *rules =
        egress_rules_one(str_of(url), near, e);
    if (!rules)
        return false;
    const struct egress_header accept = {STR("Accept"), STR("application/json")};
    struct egress_options o = {.rules = rules,
                               .cancel = cancel,
                               .fetch_ms = FETCH_MS,
                               .response_max = METADATA_MAX};
    struct egress_request q = {.method = STR("GET"),
                               .url = str_of(url),
                               .headers = &accept,
                               .header_count = 1,
                               .redirect = EGRESS_ERROR};
    struct egress_response r;
    scoped(egress_close) struct egress *g = egress_open(&o);
    egress_response_init(&r);
    bool ok = egress_fetch(g, &q, &r, e) &&
              (r.status == 200 ||
               err_set(e, ERR_NOT_FOUND, "%.200s answers with %d", url, r.status)) &&
              (buf_str(body, buf_view(&r.body)) || buf_check(body, "the answer", e));
    egress_response_done(&r);
    return ok;
}

static const char *find_keys_url(const char *issuer, const struct cancel *cancel,
                                 struct arena *a, struct err *e)
{
    char places[ISSUER_PLACES][ISSUER_MAX + 64];
    size_t n = issuer_places(issuer, places);
    scoped_buf struct buf body = buf_of(METADATA_MAX);
    for (size_t i = 0; i < n; i++) {
        struct err why = {0};
        buf_clear(&body);
        const char *found = fetch(places[i], true, cancel, &body, &why)
                                ? issuer_keys_url(issuer, buf_view(&body), a, &why)
                                : NULL;
        if (found)
            return found;
        /* The first says most, unless it is only not there. */
        if (!e->code || e->code == ERR_NOT_FOUND)
            *e = why;
        if (why.code != ERR_NOT_FOUND && why.code != ERR_INVALID)
            return NULL;
    }
    return NULL;
}

struct jwks *issuer_fetch(const char *issuer, const struct cancel *cancel, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(METADATA_MEMORY);
    scoped_buf struct buf body = buf_of(METADATA_MAX);
    const char *url = find_keys_url(issuer, cancel, a, e);
    if (!url)
        return NULL;
    struct uri keys, own;
    bool near = uri_read(str_of(url), &keys) && uri_read(str_of(issuer), &own) &&
                str_eq(keys.origin, own.origin);
    near |= is_loopback(str_of(url)); /* then the issuer is there, too */
    return fetch(url, near, cancel, &body, e) ? jwks_read(buf_view(&body), e) : NULL;
}
