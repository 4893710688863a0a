/* The rules of a policy: reading them, and what they say about a name or an address. */
#include <stdio.h>
#include <strings.h>

#include "egress/internal.h"

#define RULES_MAX 1000u /* of each list */

/* ---- patterns of hosts -------------------------------------------------- */

static bool wrong_host(const char *place, struct str text, struct err *e)
{
    return err_set(e, ERR_INVALID,
                   "%s: '%.*s' is not a host; for example 'example.org', "
                   "'*.example.org', 'example.org:8443' or 'http://example.org' is "
                   "accepted",
                   place, STR_ARGS(str_cut(text, 100)));
}

/* "*", "*.NAME" and "NAME" differ only before their first letter. */
static struct str strip_star(struct str text, struct host_rule *rule)
{
    bool http = str_starts(text, "http://");
    rule->udp = str_starts(text, "udp://");
    rule->bare = rule->udp || str_starts(text, "tcp://");
    size_t scheme = http ? 7 : rule->bare ? 6 : str_starts(text, "https://") ? 8 : 0;
    struct str rest = {text.at + scheme, text.n - scheme};
    rule->https = !http && !rule->bare;
    rule->below = str_starts(rest, "*.") || str_is(rest, "*") || str_starts(rest, "*:");
    size_t star = !rule->below ? 0 : str_starts(rest, "*.") ? 2 : 1;
    return (struct str){rest.at + star, rest.n - star};
}

/* A bare rule says which port: none is usual for it. */
static bool says_port(struct str rest)
{
    const char *colon = memrchr(rest.at, ':', rest.n);
    return colon && !memchr(colon, ']', (size_t)(rest.at + rest.n - colon)) &&
           colon + 1 < rest.at + rest.n;
}

static bool is_address(const char *host)
{
    struct address a;
    return host[0] == '[' || address_read(host, &a);
}

static bool rule_read_host(struct host_rule *rule, struct str text, const char *place,
                           struct arena *a, struct err *e)
{
    struct str rest = strip_star(text, rule);
    bool any = rule->below && (rest.n == 0 || rest.at[0] == ':');
    if (rest.n > HOST_MAX || (rule->bare && !says_port(rest)) ||
        memchr(rest.at, '/', rest.n) || memchr(rest.at, '?', rest.n) ||
        memchr(rest.at, '#', rest.n) || memchr(rest.at, '%', rest.n) ||
        (!any && rest.n == 0))
        return wrong_host(place, text, e);
    /* Read as a URL is, so that both come out in the same form. */
    char url[HOST_MAX + 32];
    (void)snprintf(url, sizeof url, "%s://%s%.*s/", rule->https ? "https" : "http",
                   any ? "any" : "", STR_ARGS(rest));
    struct target t;
    struct err why = {0};
    if (!curl_load(e))
        return false;
    if (!target_read(&t, NULL, str_of(url), &why))
        return wrong_host(place, text, e);
    rule->port = t.port;
    rule->name = arena_copy(a, t.host, any ? 0 : strlen(t.host), e);
    target_done(&t);
    if (rule->below && !any && is_address(t.host))
        return wrong_host(place, text, e);
    return rule->name != NULL;
}

bool host_rules_read(struct host_rules *out, const struct json *list, const char *place,
                     struct arena *a, struct err *e)
{
    *out = (struct host_rules){0};
    size_t n = json_length(list);
    if (json_type(list) != JSON_ARRAY && list)
        return err_set(e, ERR_INVALID, "%s is %s; a list of hosts is accepted", place,
                       json_type_name(json_type(list)));
    if (n > RULES_MAX)
        return err_set(e, ERR_LIMIT, "%s has %zu entries; at most %u are accepted", place,
                       n, RULES_MAX);
    if (n == 0)
        return true;
    if (!(out->at = arena_get(a, n * sizeof *out->at, e)))
        return false;
    struct json_iter it = json_iter(list);
    while (json_next(&it)) {
        if (!rule_read_host(&out->at[out->count], json_str(it.value), place, a, e))
            return false;
        out->count++;
    }
    return true;
}

bool rule_names(const struct host_rule *rule, const char *host)
{
    if (!rule->below)
        return !strcmp(rule->name, host);
    if (is_address(host))
        return false; /* a star stands for names */
    size_t n = strlen(rule->name), m = strlen(host);
    if (n == 0)
        return true;
    return m > n + 1 && host[m - n - 1] == '.' && !strcmp(host + m - n, rule->name);
}

static bool host_matches(const struct host_rule *rule, const struct target *t)
{
    return !rule->bare && rule->https == t->https && rule->port == t->port &&
           rule_names(rule, t->host);
}

bool host_rules_match(const struct host_rules *rules, const struct target *t)
{
    for (size_t i = 0; i < rules->count; i++)
        if (host_matches(&rules->at[i], t))
            return true;
    return false;
}

/* ---- addresses that were granted ---------------------------------------- */

static bool wrong_address(struct str text, struct err *e)
{
    return err_set(e, ERR_INVALID,
                   "network.allowPrivate: '%.*s' is not an address with a port; for "
                   "example '192.168.1.5:3000', '[fd00::5]:8080' or 'localhost:3000' "
                   "is accepted",
                   STR_ARGS(str_cut(text, 100)));
}

/* The address in a target's host. */
static bool host_address(const char *host, struct address *out)
{
    char inner[HOST_MAX];
    size_t n = strlen(host);
    if (host[0] != '[')
        return address_read(host, out);
    (void)snprintf(inner, sizeof inner, "%.*s", (int)(n - 2), host + 1);
    return address_read(inner, out);
}

static bool read_address(struct address_rule *rule, struct str text, struct err *e)
{
    char url[HOST_MAX + 32];
    struct target t;
    struct err why = {0};
    bool has_port = memchr(text.at, ':', text.n) && !str_ends(text, "]");
    if (!has_port || text.n > HOST_MAX || memchr(text.at, '/', text.n))
        return wrong_address(text, e);
    (void)snprintf(url, sizeof url, "http://%.*s/", STR_ARGS(text));
    if (!curl_load(e))
        return false;
    if (!target_read(&t, NULL, str_of(url), &why))
        return wrong_address(text, e);
    target_done(&t);
    rule->port = t.port;
    rule->localhost = !strcmp(t.host, "localhost");
    if (!rule->localhost && !host_address(t.host, &rule->address))
        return wrong_address(text, e);
    if (!rule->localhost && address_kind(&rule->address) == ADDRESS_METADATA)
        return err_set(e, ERR_INVALID,
                       "network.allowPrivate: '%.*s' is a cloud metadata address, "
                       "which cannot be granted",
                       STR_ARGS(str_cut(text, 100)));
    return true;
}

static bool read_addresses(struct egress_rules *r, const struct json *list, struct err *e)
{
    size_t n = json_length(list);
    if (list && !json_is(list, JSON_ARRAY))
        return err_set(e, ERR_INVALID,
                       "network.allowPrivate is %s; a list of addresses is accepted",
                       json_type_name(json_type(list)));
    if (n > RULES_MAX)
        return err_set(e, ERR_LIMIT,
                       "network.allowPrivate has %zu entries; at most %u are accepted", n,
                       RULES_MAX);
    if (n == 0)
        return true;
    if (!(r->addresses = arena_get(r->arena, n * sizeof *r->addresses, e)))
        return false;
    struct json_iter it = json_iter(list);
    while (json_next(&it)) {
        if (!read_address(&r->addresses[r->address_count], json_str(it.value), e))
            return false;
        r->address_count++;
    }
    return true;
}

bool address_rule_matches(const struct address_rule *rule, const struct address *a,
                          uint16_t port)
{
    struct address v4, v6;
    if (rule->port != port)
        return false;
    if (!rule->localhost)
        return address_eq(&rule->address, a);
    must(address_read("127.0.0.1", &v4) && address_read("::1", &v6));
    return address_eq(a, &v4) || address_eq(a, &v6);
}

/* Is the URL's host itself a granted address? */
static bool is_granted_host(const struct egress_rules *r, const struct target *t)
{
    struct address a;
    bool is_ip = host_address(t->host, &a);
    for (size_t i = 0; i < r->address_count; i++) {
        const struct address_rule *rule = &r->addresses[i];
        if (is_ip ? address_rule_matches(rule, &a, t->port)
                  : rule->localhost && rule->port == t->port &&
                        !strcmp(t->host, "localhost"))
            return true;
    }
    return false;
}

/* ---- decisions ---------------------------------------------------------- */

bool rules_allow_name(const struct egress_rules *r, const struct target *t, struct err *e)
{
    if (r && (host_rules_match(&r->hosts, t) || is_granted_host(r, t)))
        return true;
    struct address a;
    bool usual = t->port == (t->https ? 443 : 80);
    char port[8] = "";
    if (!usual)
        (void)snprintf(port, sizeof port, ":%u", t->port);
    bool is_near = host_address(t->host, &a) && address_kind(&a) != ADDRESS_PUBLIC;
    if (is_near)
        return err_set(
            e, ERR_DENIED,
            "%s:%u is an address of this machine or its networks; nothing was "
            "sent; the person can grant it in the policy: network.allowPrivate",
            t->host, t->port);
    return err_set(e, ERR_DENIED,
                   "%s://%s%s is not among the hosts that the policy allows; nothing was "
                   "sent; the person can add '%s%s%s' to network.hosts",
                   t->https ? "https" : "http", t->host, port, t->https ? "" : "http://",
                   t->host, port);
}

const char *rules_refuse_address(const struct egress_rules *r, const struct address *a,
                                 uint16_t port)
{
    enum address_kind kind = address_kind(a);
    if (kind == ADDRESS_METADATA)
        return "where a cloud keeps its keys";
    if (r && r->near)
        return NULL; /* its only host is all that is asked of */
    for (size_t i = 0; r && i < r->address_count; i++)
        if (address_rule_matches(&r->addresses[i], a, port))
            return NULL;
    if (kind != ADDRESS_PUBLIC)
        return "private, reserved or of this machine";
    return address_is_own(a) ? "one of this machine's own" : NULL;
}

bool egress_allows(const struct egress_rules *r, struct str url, struct err *e)
{
    struct target t;
    if (!target_read(&t, NULL, url, e))
        return false;
    bool ok = rules_allow_name(r, &t, e);
    target_done(&t);
    return ok;
}

bool egress_rules_any(const struct egress_rules *r)
{
    return r && (r->hosts.count || r->address_count);
}

/* ---- the whole section -------------------------------------------------- */

static bool check_keys(const struct json *network, struct err *e)
{
    if (network && !json_is(network, JSON_OBJECT))
        return err_set(e, ERR_INVALID, "network is %s; an object is accepted",
                       json_type_name(json_type(network)));
    struct json_iter it = json_iter(network);
    while (json_next(&it))
        if (!str_is(it.key, "hosts") && !str_is(it.key, "allowPrivate") &&
            !str_is(it.key, "secrets"))
            return err_set(
                e, ERR_INVALID,
                "network.%.*s is not known; hosts, allowPrivate and secrets are",
                STR_ARGS(str_cut(it.key, 60)));
    return true;
}

struct egress_rules *egress_rules_read(const struct json *network, struct err *e)
{
    scoped(egress_rules_free) struct egress_rules *r = mem_new(sizeof *r);
    r->arena = arena_new(ARENA_SMALL);
    if (!check_keys(network, e) ||
        !host_rules_read(&r->hosts, json_get(network, "hosts"), "network.hosts", r->arena,
                         e) ||
        !read_addresses(r, json_get(network, "allowPrivate"), e) ||
        !secrets_read(r, json_get(network, "secrets"), e))
        return NULL;
    return take(r);
}

struct egress_rules *egress_rules_one(struct str url, bool near, struct err *e)
{
    struct target t;
    if (!target_read(&t, NULL, url, e))
        return NULL;
    scoped(egress_rules_free) struct egress_rules *r = mem_new(sizeof *r);
    r->arena = arena_new(ARENA_SMALL);
    r->near = near;
    struct host_rule *host = arena_get(r->arena, sizeof *host, e);
    char *name = arena_copy(r->arena, t.host, strlen(t.host), e);
    if (host)
        *host = (struct host_rule){.name = name, .https = t.https, .port = t.port};
    r->hosts = (struct host_rules){host, 1};
    target_done(&t);
    return host && name ? take(r) : NULL;
}

void egress_rules_free(struct egress_rules *r)
{
    if (!r)
        return;
    arena_free(r->arena);
    free(r);
}
