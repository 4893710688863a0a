/* Entries of `hosts` and `allowPrivate` as they are written, without curl: a policy is read at each
 * start of the program, and few of them fetch. */
#include "egress/internal.h"

#define WANTED                                                                      \
    "a name such as 'example.org', '*.example.org', 'example.org:8443' or "         \
    "'http://example.org' is accepted, without a path, or 'tcp://example.org:22', " \
    "'udp://example.org:123' or 'icmp://example.org'"
#define WANTED_PRIVATE                                                        \
    "an address with its port is accepted, such as '192.168.1.5:3000', "      \
    "'[fd00::5]:8080' or 'localhost:3000', also behind tcp:// or udp://, or " \
    "'icmp://192.168.1.5'"

static const struct {
    const char *text;
    enum egress_scheme scheme;
    uint16_t port;
} schemes[] = {{"https://", EGRESS_HTTPS, 443},
               {"http://", EGRESS_HTTP, 80},
               {"tcp://", EGRESS_TCP, 0},
               {"udp://", EGRESS_UDP, 0},
               {"icmp://", EGRESS_ICMP, 0}};

const char *egress_scheme_text(enum egress_scheme s)
{
    return schemes[s].text;
}

static struct str skip(struct str text, size_t n)
{
    return (struct str){text.at + n, text.n - n};
}

static struct str take_scheme(struct str text, struct egress_entry *out)
{
    *out = (struct egress_entry){.scheme = EGRESS_HTTPS, .port = 443};
    for (size_t i = 0; i < LENGTH(schemes); i++)
        if (str_starts(text, schemes[i].text)) {
            out->scheme = schemes[i].scheme;
            out->port = schemes[i].port;
            out->says_scheme = true;
            return skip(text, strlen(schemes[i].text));
        }
    return text;
}

/* "*" stands for all names, "*." for those below one. */
static struct str take_star(struct str text, struct egress_entry *out)
{
    bool all = str_is(text, "*") || str_starts(text, "*:");
    out->below = all || str_starts(text, "*.");
    return skip(text, all ? 1 : out->below ? 2 : 0);
}

static bool is_host(struct str host)
{
    bool v6 = host.n > 2 && host.at[0] == '[' && host.at[host.n - 1] == ']';
    for (size_t i = 0; i < host.n; i++) {
        unsigned char c = (unsigned char)host.at[i];
        if (c <= ' ' || c == 0x7f || strchr("/?#@\\%*", c))
            return false;
        if (!v6 && strchr("[]:", c))
            return false;
    }
    return host.n > 0;
}

static bool read_port(struct str text, uint16_t *out)
{
    uint32_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] < '0' || text.at[i] > '9' || i == 5)
            return false;
        n = 10 * n + (uint32_t)(text.at[i] - '0');
    }
    *out = (uint16_t)n;
    return n > 0 && n <= UINT16_MAX;
}

const char *egress_entry_read(struct str text, struct egress_entry *out)
{
    struct str rest = take_star(take_scheme(text, out), out);
    const char *colon = rest.n ? memrchr(rest.at, ':', rest.n) : NULL;
    bool inside = colon && memchr(colon, ']', (size_t)(rest.at + rest.n - colon));
    out->says_port = colon && !inside;
    out->name = rest;
    if (out->says_port)
        out->name.n = (size_t)(colon - rest.at);
    bool all = out->below && !out->name.n;
    if (!all && !is_host(out->name))
        return WANTED;
    if (out->below && !all && out->name.at[0] == '[')
        return WANTED;
    if (out->scheme == EGRESS_ICMP && out->says_port)
        return "icmp:// has no port";
    if (out->says_port)
        return read_port(skip(rest, out->name.n + 1), &out->port) ? NULL : WANTED;
    return out->port || out->scheme == EGRESS_ICMP ? NULL
                                                   : "tcp:// and udp:// need a port";
}

/* A last label that begins with a digit is no name's. */
bool egress_entry_is_address(const struct egress_entry *n)
{
    struct str name = n->name;
    name.n -= str_ends(name, ".");
    const char *dot = name.n ? memrchr(name.at, '.', name.n) : NULL;
    const char *last = dot ? dot + 1 : name.at;
    return name.n && (name.at[0] == '[' ||
                      (last < name.at + name.n && *last >= '0' && *last <= '9'));
}

/* In its plain form, as resolvers take it for nothing else. */
static bool name_address(struct str name, struct address *out)
{
    char text[64];
    bool v6 = name.n > 2 && name.at[0] == '[';
    if (v6)
        name = (struct str){name.at + 1, name.n - 2};
    if (name.n >= sizeof text)
        return false;
    memcpy(text, name.at, name.n);
    text[name.n] = '\0';
    return (strchr(text, ':') != NULL) == v6 && address_read(text, out);
}

const char *egress_private_read(struct str text, struct egress_entry *out,
                                unsigned char address[static 16])
{
    struct address a = {0};
    const char *why = egress_entry_read(text, out);
    bool web = out->says_scheme && out->scheme <= EGRESS_HTTP;
    bool port = out->says_port || out->scheme == EGRESS_ICMP;
    bool localhost = !out->below && str_is(out->name, "localhost");
    if (why || web || !port || out->below || (!localhost && !name_address(out->name, &a)))
        return WANTED_PRIVATE;
    memcpy(address, a.at, sizeof a.at);
    return !localhost && address_kind(&a) == ADDRESS_METADATA
               ? "it is a cloud metadata address, which cannot be granted"
               : NULL;
}
