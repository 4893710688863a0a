/* The policy of what code may reach over the network from a place. */
#include "egress/egress.h"
#include "place/place.h"
#include "place/policy.api.h"
#include "policy/policy.h"
#include "json/json.h"

static bool check_secret(struct str name, const struct json *v, struct err *e)
{
    static const char *const fields[] = {"value",  "env",    "file", "hosts",
                                         "header", "format", NULL};
    static const char *const texts[] = {"value", "env", "file", "header", "format"};
    struct err inner = {0};
    if (!entry_check_fields(v, fields, "{value | env | file, hosts, header?, format?}",
                            e))
        return err_wrap(e, "'%.*s'", STR_ARGS(str_cut(name, 40)));
    size_t sources = 0;
    for (size_t i = 0; i < LENGTH(texts); i++) {
        const struct json *text = json_get(v, texts[i]);
        if (text && !entry_check_text(text, "a string", &inner))
            return err_set(e, ERR_INVALID, "'%.*s' has a %s that %s",
                           STR_ARGS(str_cut(name, 40)), texts[i], inner.msg);
        sources += i < 3 && text;
    }
    if (sources != 1)
        return err_set(e, ERR_INVALID, "'%.*s' needs exactly one of value, env and file",
                       STR_ARGS(str_cut(name, 40)));
    const struct json *hosts = json_get(v, "hosts");
    if (!json_is(hosts, JSON_ARRAY) || !json_length(hosts))
        return err_set(e, ERR_INVALID,
                       "'%.*s' needs hosts, the list of those it may be sent to",
                       STR_ARGS(str_cut(name, 40)));
    struct json_iter it = json_iter(hosts);
    while (json_next(&it))
        if (!entry_check_host(it.value, &inner))
            return err_set(e, ERR_INVALID, "'%.*s' has a host that %s",
                           STR_ARGS(str_cut(name, 40)), inner.msg);
    return true;
}

/* A secret's own value is never shown. */
static void put_secrets(const struct json *secrets, struct json_writer *w)
{
    struct json_iter it = json_iter(secrets);
    json_open_object(w);
    while (json_next(&it)) {
        struct json_iter field = json_iter(it.value);
        json_key_str(w, it.key);
        json_open_object(w);
        while (json_next(&field)) {
            json_key_str(w, field.key);
            if (str_is(field.key, "value"))
                json_put_cstr(w, "(not shown)");
            else
                json_put(w, field.value);
        }
        json_close(w);
    }
    json_close(w);
}

static const struct key_shape a_secret = {.what = "secrets",
                                          .wanted = "an object {NAME: {...}}",
                                          .schema = SECRET_SCHEMA,
                                          .check = check_secret,
                                          .put = put_secrets};

static bool check_private(struct str name, const struct json *v, struct err *e)
{
    struct egress_entry entry;
    unsigned char address[16];
    (void)name;
    if (!entry_check_text(v, "an address with its port", e))
        return false;
    const char *why = egress_private_read(json_str(v), &entry, address);
    return !why || err_set(e, ERR_INVALID, "is '%.*s'; %s",
                           STR_ARGS(str_cut(json_str(v), 80)), why);
}

static const struct key_shape an_address = {
    .schema = "{\"type\":\"string\",\"minLength\":1}", .check = check_private};

#define NETWORK(...) KEY(struct network_policy, __VA_ARGS__)

static const struct key keys[] = {
    NETWORK("network.hosts", HOSTS, BOTH, hosts, "[]",
            "hosts that code may fetch from: 'api.example.org', '*.example.org', "
            "'http://host:8080'; for machines also 'tcp://host:22', 'udp://host:123', "
            "'icmp://host'",
            .high = 256, .order = 30),
    NETWORK("network.allowPrivate", NAMES, BOTH, allow_private, "[]",
            "private addresses that are allowed all the same, as 'ADDRESS:PORT'; for "
            "machines also 'udp://ADDRESS:PORT', 'icmp://ADDRESS'",
            .high = 64, .shape = &an_address),
    NETWORK("network.secrets", OBJECTS, USER, secrets, "{}",
            "{NAME: {value | env | file, hosts, header?, format?}}, put into requests at "
            "the border",
            .high = 64, .shape = &a_secret),
};
const struct policy_group network_policy = POLICY_GROUP(keys, struct network_policy);

/* ---- its rules ---------------------------------------------------------------- */

#define RULES_TEXT_MAX ((size_t)1 << 20)

/* One of allowPrivate: an address, or localhost, with its port, for TCP of any protocol. */
static bool is_address(const char *host)
{
    struct egress_entry entry;
    if (egress_entry_read(str_of(host), &entry) ||
        (entry.says_scheme && entry.scheme <= EGRESS_HTTP))
        return false;
    return egress_entry_is_address(&entry) || str_is(entry.name, "localhost");
}

static void put_hosts(struct json_writer *w, const char *key,
                      const struct policy_names *names, const char *const *more,
                      bool addresses)
{
    json_key(w, key);
    json_open_array(w);
    for (size_t i = 0; names && i < names->n; i++)
        json_put_cstr(w, names->at[i]);
    for (size_t i = 0; more && more[i]; i++)
        if (is_address(more[i]) == addresses)
            json_put_cstr(w, more[i]);
    json_close(w);
}

struct egress_rules *network_rules(const struct network_policy *p,
                                   const char *const *more, struct err *e)
{
    scoped_buf struct buf text;
    buf_init(&text, RULES_TEXT_MAX);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    put_hosts(&w, "hosts", p ? &p->hosts : NULL, more, false);
    put_hosts(&w, "allowPrivate", p ? &p->allow_private : NULL, more, true);
    if (p)
        json_pair(&w, "secrets", p->secrets);
    json_close(&w);
    scoped(arena_free) struct arena *a = arena_new(8 * RULES_TEXT_MAX);
    const struct json *network = buf_check(&text, "the hosts of the network", e)
                                     ? json_read(buf_view(&text), a, e)
                                     : NULL;
    struct egress_rules *rules = network ? egress_rules_read(network, e) : NULL;
    if (!rules && !more)
        err_wrap(e, "the policy");
    return rules;
}
