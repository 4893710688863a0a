/* The rules of a policy: reading them, and what they say about a name or an address. */
#include <stdio.h>
#include <strings.h>

#include "egress/internal.h"

#define RULES_MAX 1000u /* of each list */

/* ---- patterns of hosts -------------------------------------------------- */

static bool wrong_host(const char *place, struct str text, const char *why, struct err *e)
{
    return err_set(e, ERR_INVALID, "%s: '%.*s' is not a host; %s", place,
                   STR_ARGS(str_cut(text, 100)), why);
}

static bool is_address(const char *host)
{
    struct address a;
    return host[0] == '[' || address_read(host, &a);
}

static bool rule_read_host(struct host_rule *rule, struct str text, const char *place,
                           bool web, struct arena *a, struct err *e)
{
    struct egress_entry entry;
    const char *wrong = egress_entry_read(text, &entry);
    bool all = !wrong && !entry.name.n;
    if (!wrong && web && entry.scheme > EGRESS_HTTP)
        wrong = "https:// and http:// are accepted here";
    if (wrong || entry.name.n > HOST_MAX)
        return wrong_host(place, text, wrong ? wrong : "its name is too long", e);
    *rule = (struct host_rule){
        .below = entry.below, .scheme = entry.scheme, .port = entry.port};
    /* Read as a URL is, so that both come out in the same form. */
    char url[HOST_MAX + 32];
    (void)snprintf(url, sizeof url, "http://%s%.*s/", all ? "any" : "",
                   STR_ARGS(entry.name));
    struct target t;
    struct err why = {0};
    if (!curl_load(e))
        return false;
    if (!target_read(&t, NULL, str_of(url), &why))
        return wrong_host(place, text, "it has no valid name", e);
    rule->name = arena_copy(a, t.host, all ? 0 : strlen(t.host), e);
    target_done(&t);
    if (rule->below && !all && is_address(t.host))
        return wrong_host(place, text, "a star stands for names, not for addresses", e);
    return rule->name != NULL;
}

bool host_rules_read(struct host_rules *out, const struct json *list, const char *place,
                     bool web, struct arena *a, struct err *e)
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
        if (!rule_read_host(&out->at[out->count], json_str(it.value), place, web, a, e))
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
    return rule->scheme == (t->https ? EGRESS_HTTPS : EGRESS_HTTP) &&
           rule->port == t->port && rule_names(rule, t->host);
}

bool host_rules_match(const struct host_rules *rules, const struct target *t)
{
    for (size_t i = 0; i < rules->count; i++)
        if (host_matches(&rules->at[i], t))
            return true;
    return false;
}

/* ---- addresses that were granted ---------------------------------------- */

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
    struct egress_entry entry;
    const char *why = egress_private_read(text, &entry, rule->address.at);
    if (why)
        return err_set(e, ERR_INVALID, "network.allowPrivate: '%.*s' is not accepted; %s",
                       STR_ARGS(str_cut(text, 100)), why);
    rule->port = entry.port;
    rule->scheme = entry.scheme;
    rule->localhost = str_is(entry.name, "localhost");
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

bool address_rule_matches(const struct address_rule *rule, enum egress_scheme use,
                          const struct address *a, uint16_t port)
{
    struct address v4, v6;
    bool any_tcp = rule->scheme == EGRESS_HTTPS && use == EGRESS_TCP;
    if (rule->port != port || (rule->scheme != use && !any_tcp))
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
        if (is_ip ? address_rule_matches(rule, EGRESS_HTTPS, &a, t->port)
                  : rule->localhost && rule->scheme == EGRESS_HTTPS &&
                        rule->port == t->port && !strcmp(t->host, "localhost"))
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

const char *rules_refuse_address(const struct egress_rules *r, enum egress_scheme use,
                                 const struct address *a, uint16_t port)
{
    enum address_kind kind = address_kind(a);
    if (kind == ADDRESS_METADATA)
        return "where a cloud keeps its keys";
    if (r && r->near)
        return NULL; /* its only host is all that is asked of */
    for (size_t i = 0; r && i < r->address_count; i++)
        if (address_rule_matches(&r->addresses[i], use, a, port))
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
        !host_rules_read(&r->hosts, json_get(network, "hosts"), "network.hosts", false,
                         r->arena, e) ||
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
        *host = (struct host_rule){
            .name = name, .scheme = t.https ? EGRESS_HTTPS : EGRESS_HTTP, .port = t.port};
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
