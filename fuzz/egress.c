/* First line: an entry of network.hosts. Second line: a URL. Third line: a header's value
 * with secrets in it. The rest: the network section of a policy. Whatever the entry is, a
 * URL that it lets out has a host that it means, and no header breaks a request up. */
#include "driver.h"
#include "egress/internal.h"

static struct egress_rules *rules_of(struct str network, struct arena *a)
{
    struct err e = {0};
    const struct json *v = json_read(network, a, &e);
    struct egress_rules *r = v ? egress_rules_read(v, &e) : NULL;
    if (!r)
        holds_error(&e);
    return r;
}

static struct egress_rules *rules_of_host(struct str host, struct arena *a)
{
    scoped_buf struct buf text;
    buf_init(&text, (size_t)1 << 20);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_key(&w, "hosts");
    json_open_array(&w);
    json_put_str(&w, host);
    json_close(&w);
    json_close(&w);
    return rules_of(buf_view(&text), a);
}

/* The host that the URL names is the rule's, or below it. */
static void holds_match(const struct host_rule *rule, const struct target *t)
{
    size_t n = strlen(rule->name), m = strlen(t->host);
    holds(rule->scheme == (t->https ? EGRESS_HTTPS : EGRESS_HTTP) &&
          rule->port == t->port);
    if (rule->below)
        holds(n == 0 || (m > n + 1 && t->host[m - n - 1] == '.' &&
                         !strcmp(t->host + m - n, rule->name)));
    else
        holds(!strcmp(t->host, rule->name));
}

static void check_url(const struct egress_rules *r, struct str url)
{
    struct err e = {0}, none = {0};
    struct target t, again;
    if (!target_read(&t, NULL, url, &e)) {
        holds_error(&e);
        return;
    }
    /* Plain, and the same when it is read again: what curl is given is what we saw. */
    for (const char *c = t.host; *c; c++)
        holds(*c > ' ' && *c < 0x7f && !strchr("/\\@?#%", *c));
    scoped_buf struct buf text;
    buf_init(&text, (size_t)1 << 20);
    holds(target_write(&t, &text));
    if (text.n <= EGRESS_URL_MAX && target_read(&again, NULL, buf_view(&text), &none)) {
        holds(target_same_origin(&t, &again));
        target_done(&again);
    }
    if (r && rules_allow_name(r, &t, &e))
        holds_match(&r->hosts.at[0], &t);
    else
        holds(!r || e.code == ERR_DENIED);
    target_done(&t);
}

static void check_value(struct str value)
{
    struct err e = {0};
    struct egress_header h = {STR("X-Any"), value};
    struct egress_request q = {.headers = &h, .header_count = 1};
    if (!check_headers(&q, 65536, &e)) {
        holds_error(&e);
        return;
    }
    static const char network[] =
        "{\"secrets\":{\"A\":{\"value\":\"0123456789\",\"hosts\":[\"a.test\"]}}}";
    scoped(arena_free) struct arena *a = arena_new((size_t)1 << 20);
    scoped(egress_rules_free) struct egress_rules *r = rules_of(str_of(network), a);
    struct keys keys;
    struct target t;
    scoped_buf struct buf lines;
    buf_init(&lines, (size_t)1 << 20);
    keys_open(&keys, r);
    holds(target_read(&t, NULL, STR("https://a.test/"), &e));
    size_t ends = 0;
    if (write_headers(&q, &keys, &t, false, true, &lines, &e)) {
        for (size_t i = 0; i < lines.n; i++) {
            ends += lines.at[i] == '\n';
            holds(lines.at[i] != '\r' && lines.at[i] != '\0');
        }
        holds(ends == 3); /* ours, User-Agent, Via */
        holds(keys_scrub(&keys, &lines));
        holds(!memmem(lines.at, lines.n, "0123456789", 10));
    } else {
        holds_error(&e);
    }
    target_done(&t);
    keys_close(&keys);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size};
    struct str host = next_part(&rest), url = next_part(&rest), value = next_part(&rest);
    scoped(arena_free) struct arena *a = arena_new((size_t)16 << 20);
    scoped(egress_rules_free) struct egress_rules *r =
        str_is_utf8(host) ? rules_of_host(host, a) : NULL;
    check_url(r, url);
    check_value(value);
    egress_rules_free(rules_of(rest, a));
    return 0;
}
