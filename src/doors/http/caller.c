/* The sender of a request, and its admission: by Host, Origin and the headers of proxies,
 * then by the `admit` function.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <strings.h>

#include "http/server.h"

/* ---- whose address -------------------------------------------------------- */

/* Without tokens only those on this machine may come in, and who stands behind
 * a proxy cannot be told. */
static bool was_forwarded(const struct http_request *rq)
{
    for (unsigned i = 0; i < rq->n_fields; i++) {
        struct str name = rq->fields[i].name;
        if (str_same(name, STR("Forwarded")) || str_same(name, STR("Via")) ||
            str_same(name, STR("X-Real-IP")) ||
            (name.n > 12 && strncasecmp(name.at, "X-Forwarded-", 12) == 0))
            return true;
    }
    return false;
}

static const struct sockaddr *socket_peer(const struct http_request *rq)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(rq->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : NULL;
}

static bool write_socket_peer(struct http_request *rq)
{
    const struct sockaddr *sa = socket_peer(rq);
    const void *at = NULL;
    if (sa && sa->sa_family == AF_INET)
        at = &((const struct sockaddr_in *)(const void *)sa)->sin_addr;
    else if (sa && sa->sa_family == AF_INET6)
        at = &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr;
    return at && inet_ntop(sa->sa_family, at, rq->peer, sizeof rq->peer);
}

/* The text after the last `c`, or all of it. */
static struct str behind_last(struct str s, char c)
{
    const char *at = s.n ? memrchr(s.at, c, s.n) : NULL;
    if (at)
        s = (struct str){at + 1, (size_t)(s.at + s.n - at - 1)};
    return str_trim(s);
}

/* The last field of this name: each proxy appends, and only the last one is ours. */
static struct str last_field(const struct http_request *rq, const char *name)
{
    for (unsigned i = rq->n_fields; i-- > 0;)
        if (str_same(rq->fields[i].name, str_of(name)))
            return rq->fields[i].value;
    return (struct str){0};
}

/* `for=` in the last element of Forwarded (RFC 7239). */
static struct str forwarded_for(const struct http_request *rq)
{
    struct str rest = behind_last(last_field(rq, "Forwarded"), ',');
    while (rest.n) {
        const char *stop = memchr(rest.at, ';', rest.n);
        struct str pair = {rest.at, stop ? (size_t)(stop - rest.at) : rest.n};
        size_t over = pair.n + (stop != NULL);
        rest.at += over;
        rest.n -= over;
        pair = str_trim(pair);
        if (pair.n > 4 && strncasecmp(pair.at, "for=", 4) == 0)
            return str_trim((struct str){pair.at + 4, pair.n - 4});
    }
    return (struct str){0};
}

/* An address as proxies write it: "1.2.3.4", "1.2.3.4:5", "::1", "[::1]:5", quoted. */
static bool write_address(struct http_request *rq, struct str s)
{
    if (s.n >= 2 && s.at[0] == '"' && s.at[s.n - 1] == '"')
        s = (struct str){s.at + 1, s.n - 2};
    const char *colon = s.n ? memchr(s.at, ':', s.n) : NULL;
    if (s.n && s.at[0] == '[') {
        const char *end = memchr(s.at, ']', s.n);
        s = (struct str){s.at + 1, end ? (size_t)(end - s.at - 1) : 0};
    } else if (colon && colon == memrchr(s.at, ':', s.n)) {
        s.n = (size_t)(colon - s.at);
    }
    char text[HTTP_PEER];
    struct in6_addr number;
    if (s.n == 0 || s.n >= sizeof text)
        return false;
    (void)snprintf(text, sizeof text, "%.*s", STR_ARGS(s));
    for (unsigned i = 0; i < 2; i++) {
        int family = i ? AF_INET6 : AF_INET;
        if (inet_pton(family, text, &number) == 1)
            return inet_ntop(family, &number, rq->peer, sizeof rq->peer) != NULL;
    }
    return false;
}

const char *http_peer(struct http_request *rq)
{
    if (rq->peer[0])
        return rq->peer;
    if (rq->server->o.behind_proxy &&
        (write_address(rq, behind_last(last_field(rq, "X-Forwarded-For"), ',')) ||
         write_address(rq, forwarded_for(rq))))
        return rq->peer;
    if (!write_socket_peer(rq))
        (void)snprintf(rq->peer, sizeof rq->peer, "%s",
                       endpoint_is_unix(&rq->server->self) ? "unix" : "unknown");
    return rq->peer;
}

enum http_whence http_whence(struct http_request *rq)
{
    const struct http_server *s = rq->server;
    if (rq->detached)
        return rq->whence;
    bool near = endpoint_is_unix(&s->self) || (endpoint_is_loopback(&s->self.address) &&
                                               endpoint_is_loopback(socket_peer(rq)));
    if (!near || s->o.behind_proxy || was_forwarded(rq) ||
        !endpoint_is_host(&s->self, http_header(rq, "Host")))
        return HTTP_ELSEWHERE;
    switch (link_account(rq->link)) {
    case ACCOUNT_OWN:
        return HTTP_OWN_ACCOUNT;
    case ACCOUNT_OTHER:
        return HTTP_OTHER_ACCOUNT;
    case ACCOUNT_UNKNOWN:
        break;
    }
    return HTTP_UNKNOWN_ACCOUNT;
}

bool http_is_local(struct http_request *rq)
{
    return http_whence(rq) == HTTP_OWN_ACCOUNT;
}

/* ---- may it come in -------------------------------------------------------- */

static bool check_host(struct http_request *rq)
{
    const struct http_server *s = rq->server;
    struct str host = http_header(rq, "Host");
    if (http_header_count(rq, "Host") != 1 ||
        (rq->target->authority.at && !str_eq(rq->target->authority, host)))
        return request_refuse(rq, MHD_HTTP_BAD_REQUEST,
                              "one Host header is needed, and the same in the target");
    if (endpoint_is_host(&s->self, host) ||
        endpoint_is_allowed_host(&s->self, host, s->o.allowed_hosts))
        return true;
    return request_refuse(rq, MHD_HTTP_FORBIDDEN,
                          "refused: Host must be localhost, 127.0.0.1 or [::1], with "
                          "this server's port, or a name given with --allow-host");
}

/* Browsers that tell (Fetch Metadata) tell of every request, also of those without an
 * Origin; "none" is a person's own doing, as an address that was typed in. */
static bool is_own_site(const struct http_request *rq)
{
    size_t n = http_header_count(rq, "Sec-Fetch-Site");
    struct str site = http_header(rq, "Sec-Fetch-Site");
    return n == 0 || (n == 1 && (str_is(site, "same-origin") || str_is(site, "none")));
}

static bool check_origin(struct http_request *rq)
{
    const struct http_server *s = rq->server;
    bool given = http_header_count(rq, "Origin") > 0;
    struct str origin = http_header(rq, "Origin"), host = http_header(rq, "Host");
    if (given && endpoint_is_allowed_origin(origin, s->o.allowed_origins))
        return true;
    bool own = !given || endpoint_is_own_origin(&s->self, s->tls != NULL, origin, host);
    if (own && is_own_site(rq))
        return true;
    return request_refuse(
        rq, MHD_HTTP_FORBIDDEN,
        own ? "refused: the request comes from a page of another site "
              "(Sec-Fetch-Site); an address opened directly is accepted, and pages "
              "allowed with --allow-origin"
            : "refused: Origin must be absent, or this server's own address as in "
              "Host, or one given with --allow-origin");
}

static bool request_admit(struct http_request *rq)
{
    const struct http_options *o = &rq->server->o;
    if (!o->admit) {
        /* It listens on this machine alone, then, and Host was looked at. */
        if (link_account(rq->link) == ACCOUNT_OWN && !was_forwarded(rq))
            return true;
        return request_refuse(
            rq, MHD_HTTP_FORBIDDEN,
            "refused: only programs of this account, on this machine and "
            "through no proxy, may come in here");
    }
    struct http_response rs;
    response_init(&rs);
    bool in = o->admit(o->admit_arg, rq, &rs, &rq->admitted);
    if (in && rq->admitted && o->share)
        rq->share = o->share(o->admit_arg, rq->admitted);
    if (in)
        response_done(&rs);
    else
        (void)response_put(rq, &rs);
    return in;
}

bool caller_check(struct http_request *rq)
{
    return check_host(rq) && check_origin(rq) && request_admit(rq);
}
