/* Connections that are made elsewhere: the same rules, asked for a name, and then for an address. */
#include <arpa/inet.h>
#include <stdio.h>

#include "egress/internal.h"

static enum egress_scheme use_of(const struct egress_peer *p)
{
    return p->kind == EGRESS_ECHO        ? EGRESS_ICMP
           : p->kind == EGRESS_DATAGRAMS ? EGRESS_UDP
                                         : EGRESS_TCP;
}

/* Rules that https:// and http:// stand before mean TCP at their port. */
static bool rule_allows(const struct host_rule *rule, const char *host,
                        const struct egress_peer *p)
{
    enum egress_scheme of = rule->scheme <= EGRESS_HTTP ? EGRESS_TCP : rule->scheme;
    return of == use_of(p) && rule->port == p->port && rule_names(rule, host);
}

/* A name in the one form that rules have. */
static bool read_name(struct target *t, const char *name, struct err *e)
{
    char url[HOST_MAX + 16];
    struct err why = {0};
    int n = snprintf(url, sizeof url, "https://%s/", name);
    bool fits = n > 0 && (size_t)n < sizeof url && !strpbrk(name, "/?#@:%[]\\");
    if (!curl_load(e))
        return false;
    return (fits && target_read(t, NULL, str_of(url), &why)) ||
           err_set(e, ERR_INVALID, "'%.100s' is not the name of a host",
                   str_is_utf8(str_of(name)) ? name : "");
}

bool egress_may_resolve(const struct egress_rules *r, const char *name, struct err *e)
{
    struct target t;
    struct address a;
    if (!read_name(&t, name, e))
        return false;
    bool named = false;
    for (size_t i = 0; r && i < r->hosts.count; i++)
        named |= rule_names(&r->hosts.at[i], t.host);
    if (address_read(t.host, &a))
        (void)err_set(e, ERR_INVALID, "'%s' is an address, and no name", t.host);
    else if (!named)
        (void)err_set(
            e, ERR_DENIED,
            "%s is not among the hosts that the policy allows; the person can add "
            "'%s' to network.hosts",
            t.host, t.host);
    target_done(&t);
    return !e->code;
}

/* The rule that leaves most freedom; NULL: none names one of its names. */
static const struct host_rule *any_name(const struct egress_rules *r,
                                        const struct egress_peer *p)
{
    const struct host_rule *found = NULL;
    for (size_t i = 0; i < p->name_count; i++) {
        struct target t;
        struct err why = {0};
        if (!read_name(&t, p->names[i], &why))
            continue;
        for (size_t k = 0; k < r->hosts.count; k++)
            if (rule_allows(&r->hosts.at[k], t.host, p) &&
                !(found && found->scheme > EGRESS_HTTP))
                found = &r->hosts.at[k];
        target_done(&t);
    }
    return found;
}

static enum egress_speaks speaks_of(const struct host_rule *rule)
{
    return rule->scheme == EGRESS_HTTPS  ? EGRESS_SPEAKS_TLS
           : rule->scheme == EGRESS_HTTP ? EGRESS_SPEAKS_HTTP
                                         : EGRESS_SPEAKS_ANYTHING;
}

/* As rules spell it. */
static void write_address(const struct address *a, char out[static INET6_ADDRSTRLEN + 2])
{
    char text[INET6_ADDRSTRLEN];
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    bool v4 = memcmp(a->at, mapped, sizeof mapped) == 0;
    must(inet_ntop(v4 ? AF_INET : AF_INET6, a->at + (v4 ? 12 : 0), text, sizeof text));
    (void)snprintf(out, INET6_ADDRSTRLEN + 2, v4 ? "%s" : "[%s]", text);
}

static bool names_address(const struct egress_rules *r, const struct egress_peer *p,
                          const struct address *a, const char *text)
{
    for (size_t i = 0; i < r->address_count; i++)
        if (address_rule_matches(&r->addresses[i], use_of(p), a, p->port))
            return true;
    for (size_t i = 0; i < r->hosts.count; i++)
        if (!r->hosts.at[i].below && rule_allows(&r->hosts.at[i], text, p))
            return true;
    return false;
}

bool egress_may_connect(const struct egress_rules *r, const struct egress_peer *p,
                        uint16_t own_port, enum egress_speaks *speaks, struct err *e)
{
    struct address a;
    char text[INET6_ADDRSTRLEN + 2];
    memcpy(a.at, p->address, sizeof a.at);
    write_address(&a, text);
    char to[INET6_ADDRSTRLEN + 10];
    (void)snprintf(to, sizeof to, p->kind == EGRESS_ECHO ? "%s" : "%s:%u", text, p->port);
    const char *why = own_port && p->port == own_port && address_is_own(&a)
                          ? "where this program itself listens"
                          : rules_refuse_address(r, use_of(p), &a, p->port);
    if (why)
        return err_set(
            e, ERR_DENIED,
            "%s is %s; nothing was sent; only what network.allowPrivate of the "
            "policy names is reached there",
            to, why);
    const struct host_rule *rule = r ? any_name(r, p) : NULL;
    bool address = r && names_address(r, p, &a, text);
    *speaks = rule && !address ? speaks_of(rule) : EGRESS_SPEAKS_ANYTHING;
    if (rule || address)
        return true;
    char port[8] = "";
    if (p->kind != EGRESS_ECHO)
        (void)snprintf(port, sizeof port, ":%u", p->port);
    const char *name = p->name_count ? p->names[0] : text;
    return err_set(
        e, ERR_DENIED,
        "%s%s is not among the hosts that the policy allows; nothing was sent; the "
        "person can add '%s%s%s' to network.hosts",
        name, port, egress_scheme_text(use_of(p)), name, port);
}

bool egress_may_speak(const struct egress_rules *r, const char *name, uint16_t port,
                      enum egress_speaks speaks, struct err *e)
{
    struct target t;
    struct err why = {0};
    bool named = false;
    if (!read_name(&t, name, &why))
        return err_set(e, ERR_DENIED, "%s", why.msg);
    for (size_t i = 0; r && i < r->hosts.count; i++) {
        const struct host_rule *rule = &r->hosts.at[i];
        named |= rule->scheme <= EGRESS_TCP && rule->port == port &&
                 rule_names(rule, t.host) &&
                 (rule->scheme == EGRESS_TCP || speaks_of(rule) == speaks);
    }
    if (!named)
        (void)err_set(e, ERR_DENIED,
                      "%s:%u is not among the hosts that the policy allows, though its "
                      "address is another's that is; the connection was reset",
                      t.host, port);
    target_done(&t);
    return named;
}
