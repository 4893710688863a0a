#include "http/endpoint.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "uri/uri.h"

/* Digits only, 0 to 65535. */
static bool read_port(struct str text, uint16_t *port)
{
    unsigned n = 0;
    if (text.n == 0 || text.n > 5)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        n = n * 10 + (unsigned)(text.at[i] - '0');
    }
    *port = (uint16_t)n;
    return n <= UINT16_MAX;
}

/* ---- listening ---------------------------------------------------------- */

static bool parse_v4(struct endpoint *ep, const char *host)
{
    struct sockaddr_in *in = (struct sockaddr_in *)&ep->address;
    *in = (struct sockaddr_in){.sin_family = AF_INET};
    ep->size = sizeof *in;
    return inet_pton(AF_INET, host, &in->sin_addr) == 1;
}

static bool parse_v6(struct endpoint *ep, const char *host)
{
    struct sockaddr_in6 *in = (struct sockaddr_in6 *)&ep->address;
    *in = (struct sockaddr_in6){.sin6_family = AF_INET6};
    ep->size = sizeof *in;
    return inet_pton(AF_INET6, host, &in->sin6_addr) == 1;
}

bool endpoint_is_loopback(const void *sockaddr)
{
    const struct sockaddr *sa = sockaddr;
    if (!sa)
        return false;
    if (sa->sa_family == AF_INET6) {
        const struct in6_addr *in6 = &((const struct sockaddr_in6 *)sockaddr)->sin6_addr;
        return IN6_IS_ADDR_LOOPBACK(in6) ||
               (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr[12] == 127);
    }
    const struct sockaddr_in *in = sockaddr;
    return sa->sa_family == AF_INET && ntohl(in->sin_addr.s_addr) >> 24 == 127;
}

void endpoint_set_port(struct endpoint *ep, uint16_t port)
{
    if (endpoint_is_unix(ep))
        return;
    ep->port = port;
    if (ep->address.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&ep->address)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)&ep->address)->sin_port = htons(port);
}

bool endpoint_is_unix(const struct endpoint *ep)
{
    return ep->path[0] != 0;
}

static bool parse_unix(struct endpoint *ep, const char *path, struct err *e)
{
    if (path[0] != '/' || strlen(path) >= sizeof ep->path)
        return err_set(e, ERR_INVALID,
                       "cannot listen on 'unix:%.80s': an absolute path is needed, such "
                       "as unix:/run/user/1000/cloche.sock",
                       path);
    (void)snprintf(ep->path, sizeof ep->path, "%s", path);
    ep->address.ss_family = AF_UNIX;
    return true;
}

bool endpoint_parse(struct endpoint *ep, const char *text, struct err *e)
{
    *ep = (struct endpoint){0};
    if (str_starts(str_of(text), "unix:"))
        return parse_unix(ep, text + 5, e);
    struct str host, port;
    uint16_t number;
    if (!uri_read_authority(str_of(text), &host, &port) || !port.at ||
        !read_port(port, &number))
        return err_set(e, ERR_INVALID,
                       "cannot listen on '%.80s': ADDRESS:PORT is needed, such as "
                       "127.0.0.1:7878 or [::1]:0 (0 is any free port), or unix:/PATH",
                       text);

    /* Names are not looked up: what `localhost` means is not for a resolver to
     * say. */
    char name[48] = "127.0.0.1";
    bool v6 = host.at[0] == '[';
    struct str inner = v6 ? (struct str){host.at + 1, host.n - 2} : host;
    if (!str_same(host, STR("localhost")))
        (void)snprintf(name, sizeof name, "%.*s",
                       inner.n < sizeof name ? (int)inner.n : 0, inner.at);
    if (!(v6 ? parse_v6(ep, name) : parse_v4(ep, name)))
        return err_set(e, ERR_INVALID,
                       "cannot listen on '%.80s': not a numeric address, such as "
                       "127.0.0.1, [::1] or 0.0.0.0, nor localhost",
                       text);
    (void)snprintf(ep->host, sizeof ep->host, v6 ? "[%s]" : "%s", name);
    endpoint_set_port(ep, number);
    return true;
}

/* ---- peers -------------------------------------------------------------- */

static bool is_local_name(struct str host)
{
    return str_same(host, STR("localhost")) || str_same(host, STR("127.0.0.1")) ||
           str_same(host, STR("[::1]"));
}

/* A name that no page could have made to point at a forwarder: without a dot, or a path
 * in percent codes, as clients write it. */
static bool is_plain_name(struct str name)
{
    return is_local_name(name) || memchr(name.at, '%', name.n) ||
           (!memchr(name.at, '.', name.n) && !memchr(name.at, '[', name.n));
}

bool endpoint_is_host(const struct endpoint *ep, struct str host)
{
    struct str name, port;
    uint16_t number;
    if (!uri_read_authority(host, &name, &port))
        return false;
    if (endpoint_is_unix(ep))
        return is_plain_name(name) && (!port.at || read_port(port, &number));
    if (!is_local_name(name) && !str_same(name, str_of(ep->host)))
        return false;
    return !port.at || (read_port(port, &number) && number == ep->port);
}

static uint16_t port_or(struct str port, uint16_t usual, bool *ok)
{
    uint16_t number = usual;
    *ok = !port.at || read_port(port, &number);
    return number;
}

bool endpoint_is_own_origin(const struct endpoint *ep, bool tls, struct str origin,
                            struct str host)
{
    struct str scheme = tls ? STR("https://") : STR("http://");
    struct str name, port, host_name, host_port;
    bool ok = origin.n > scheme.n && memcmp(origin.at, scheme.at, scheme.n) == 0, host_ok;
    if (!ok)
        return false;
    origin.at += scheme.n, origin.n -= scheme.n;
    if (!uri_read_authority(origin, &name, &port) ||
        !uri_read_authority(host, &host_name, &host_port))
        return false;
    uint16_t usual = tls ? 443 : 80, number = port_or(port, usual, &ok),
             host_number = port_or(host_port, usual, &host_ok);
    /* A forwarder has a port of its own. */
    bool ours = endpoint_is_unix(ep) ? is_local_name(name)
                                     : number == ep->port || !is_local_name(name);
    return ok && host_ok && ours && number == host_number && str_same(name, host_name);
}

static bool is_numeric(struct str name)
{
    char text[64];
    struct in6_addr number;
    bool v6 = name.n > 2 && name.at[0] == '[';
    struct str inner = v6 ? (struct str){name.at + 1, name.n - 2} : name;
    if (inner.n == 0 || inner.n >= sizeof text || memchr(inner.at, 0, inner.n))
        return false;
    (void)snprintf(text, sizeof text, "%.*s", STR_ARGS(inner));
    return inet_pton(v6 ? AF_INET6 : AF_INET, text, &number) == 1;
}

bool endpoint_is_allowed_host(const struct endpoint *ep, struct str host,
                              const char *const *names)
{
    struct str name, port;
    uint16_t number = 0;
    if (!uri_read_authority(host, &name, &port) || (port.at && !read_port(port, &number)))
        return false;
    for (; names && *names; names++)
        if (str_same(host, str_of(*names)) || str_same(name, str_of(*names)))
            return true;
    return !endpoint_is_unix(ep) && !endpoint_is_loopback(&ep->address) &&
           is_numeric(name) && (!port.at || number == ep->port);
}

bool endpoint_is_allowed_origin(struct str origin, const char *const *names)
{
    for (; names && *names; names++)
        if (str_same(origin, str_of(*names)))
            return true;
    return false;
}
