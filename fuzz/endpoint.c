/* Three lines: what to listen on, a Host, an Origin. Only this machine passes, in the
 * spellings that are listed here and no other. */
#include <arpa/inet.h>
#include <strings.h>

#include "driver.h"
#include "http/endpoint.h"

/* "", or ":" and the digits of a port; *number is -1 without one. */
static bool is_port(struct str s, long *number)
{
    char digits[8] = "";
    *number = -1;
    if (s.n == 0)
        return true;
    if (s.n < 2 || s.n > 6 || s.at[0] != ':')
        return false;
    memcpy(digits, s.at + 1, s.n - 1);
    *number = strtol(digits, NULL, 10);
    return strspn(digits, "0123456789") == s.n - 1 && *number <= 65535;
}

static bool is_name_and_port(struct str s, const char *name, long *port)
{
    size_t n = strlen(name);
    return s.n >= n && strncasecmp(s.at, name, n) == 0 &&
           is_port((struct str){s.at + n, s.n - n}, port);
}

static bool is_this_machine(struct str s, long *port)
{
    return is_name_and_port(s, "localhost", port) ||
           is_name_and_port(s, "127.0.0.1", port) || is_name_and_port(s, "[::1]", port);
}

static void check_listening(const struct endpoint *ep)
{
    char text[80];
    if (endpoint_is_unix(ep)) {
        holds(ep->address.ss_family == AF_UNIX && !endpoint_is_loopback(&ep->address));
        return;
    }
    if (ep->address.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)&ep->address;
        holds(ep->size == sizeof *in && ntohs(in->sin6_port) == ep->port);
        bool inner = IN6_IS_ADDR_V4MAPPED(&in->sin6_addr)
                         ? in->sin6_addr.s6_addr[12] == 127
                         : !memcmp(&in->sin6_addr, &in6addr_loopback, 16);
        holds(endpoint_is_loopback(&ep->address) == inner);
    } else {
        const struct sockaddr_in *in = (const struct sockaddr_in *)&ep->address;
        holds(ep->address.ss_family == AF_INET && ep->size == sizeof *in);
        holds(ntohs(in->sin_port) == ep->port);
        holds(endpoint_is_loopback(&ep->address) ==
              ((ntohl(in->sin_addr.s_addr) & 0xff000000u) == 0x7f000000u));
    }
    /* What it is called leads to the same place, and is a Host of it. */
    int n = snprintf(text, sizeof text, "%s:%u", ep->host, ep->port);
    holds(n > 0 && (size_t)n < sizeof text);
    struct endpoint again;
    struct err e = {0};
    holds(endpoint_parse(&again, text, &e));
    holds(!memcmp(&again.address, &ep->address, ep->size));
    holds(!strcmp(again.host, ep->host));
    holds(endpoint_is_host(ep, str_of(text)) && endpoint_is_host(ep, str_of(ep->host)));
}

static void check_host(const struct endpoint *ep, struct str host)
{
    long port;
    bool mine = is_this_machine(host, &port) || is_name_and_port(host, ep->host, &port);
    holds(endpoint_is_host(ep, host) == (mine && (port < 0 || port == ep->port)));
}

/* The name of "name" or "name:port". */
static size_t name_of(struct str s)
{
    size_t n = s.n;
    while (n && s.at[n - 1] >= '0' && s.at[n - 1] <= '9')
        n--;
    return n && n < s.n && s.at[n - 1] == ':' ? n - 1 : s.n;
}

/* Whatever is taken for our own page has the name that stands in Host; a page's own address
 * is taken, and that of another port or scheme is not. */
static void check_origin(const struct endpoint *ep, struct str host, struct str origin)
{
    struct str rest = {origin.at + 7, origin.n > 7 ? origin.n - 7 : 0};
    if (endpoint_is_own_origin(ep, false, origin, host)) {
        holds(str_starts(origin, "http://") && rest.n);
        holds(name_of(rest) == name_of(host));
        holds(!strncasecmp(rest.at, host.at, name_of(host)));
    }
    holds(!endpoint_is_own_origin(ep, false, STR("null"), host));
    struct str own = STR("localhost:7878");
    holds(endpoint_is_own_origin(ep, false, STR("http://localhost:7878"), own));
    holds(!endpoint_is_own_origin(ep, false, STR("http://localhost:7879"), own));
    holds(!endpoint_is_own_origin(ep, false, STR("https://localhost:7878"), own));
    holds(!endpoint_is_own_origin(ep, false, STR("http://127.0.0.1:7878"), own));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size};
    struct str listen = next_part(&rest), host = next_part(&rest);
    scoped(arena_free) struct arena *a = arena_new((size_t)1 << 20);
    struct err e = {0};
    struct endpoint ep;
    /* An option of the command line: up to its NUL. */
    const char *text = arena_copy(a, listen.at, listen.n, &e);
    if (!text)
        return 0;
    if (endpoint_parse(&ep, text, &e)) {
        check_listening(&ep);
        if (!endpoint_is_unix(&ep))
            check_host(&ep, host);
    } else {
        holds_error(&e);
    }
    struct err none = {0};
    holds(endpoint_parse(&ep, "127.0.0.1:7878", &none));
    check_host(&ep, host);
    check_origin(&ep, host, rest);
    return 0;
}
