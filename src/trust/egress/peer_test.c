#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "egress/internal.h"

static struct egress_rules *rules(const char *network)
{
    struct err e = {0};
    scoped(arena_free) struct arena *a = arena_new((size_t)1 << 20);
    struct egress_rules *r = egress_rules_read(json_read(str_of(network), a, &e), &e);
    if (!r)
        fail_msg("%s: %s", network, e.msg);
    return r;
}

static enum err_code resolve(const struct egress_rules *r, const char *name)
{
    struct err e = {0};
    return egress_may_resolve(r, name, &e) ? ERR_NONE : e.code;
}

/* `name` NULL: the address alone. */
static bool connects(const struct egress_rules *r, const char *name, const char *address,
                     uint16_t port, enum egress_kind kind)
{
    struct err e = {0};
    struct address a;
    assert_true(address_read(address, &a));
    struct egress_peer p = {kind, &name, name != NULL, a.at, port};
    enum egress_speaks speaks;
    bool may = egress_may_connect(r, &p, 4848, &speaks, &e);
    assert_int_equal(e.code, may ? ERR_NONE : ERR_DENIED);
    return may;
}

#define PUBLIC "93.184.215.14"

static void a_name_is_asked_where_a_rule_names_it(void **state)
{
    (void)state;
    scoped(egress_rules_free) struct egress_rules *r = rules(
        "{\"hosts\":[\"example.org\",\"*.test.org:8443\",\"tcp://git.example:22\"]}");
    assert_int_equal(resolve(r, "example.org"), ERR_NONE);
    assert_int_equal(resolve(r, "EXAMPLE.org."), ERR_NONE);
    assert_int_equal(resolve(r, "a.b.test.org"), ERR_NONE);
    assert_int_equal(resolve(r, "git.example"), ERR_NONE);
    static const char *const refused[] = {"test.org", "example.org.evil.test",
                                          "xexample.org", "localhost", "www.example.org"};
    for (size_t i = 0; i < LENGTH(refused); i++)
        assert_int_equal(resolve(r, refused[i]), ERR_DENIED);
    static const char *const no_names[] = {"",
                                           ".",
                                           "a..b",
                                           "127.0.0.1",
                                           "0x7f.1",
                                           "2130706433",
                                           "example.org/",
                                           "a@example.org",
                                           "example.org:443",
                                           "[::1]",
                                           "exa mple.org",
                                           "example%2eorg",
                                           "a\nb",
                                           "\xff\xfe"};
    for (size_t i = 0; i < LENGTH(no_names); i++)
        assert_int_equal(resolve(r, no_names[i]), ERR_INVALID);
    assert_int_equal(resolve(NULL, "example.org"), ERR_DENIED);
}

static void a_connection_is_of_a_name_that_led_there(void **state)
{
    (void)state;
    scoped(egress_rules_free) struct egress_rules *r =
        rules("{\"hosts\":[\"example.org\",\"http://old.test\",\"tcp://git.example:22\","
              "\"udp://time.example:123\"]}");
    assert_true(connects(r, "example.org", PUBLIC, 443, false));
    assert_true(connects(r, "old.test", PUBLIC, 80, false));
    assert_true(connects(r, "git.example", PUBLIC, 22, false));
    assert_true(connects(r, "time.example", PUBLIC, 123, true));
    assert_false(connects(r, NULL, PUBLIC, 443, false));
    assert_false(connects(r, "example.org", PUBLIC, 80, false));
    assert_false(connects(r, "example.org", PUBLIC, 443, true));
    assert_false(connects(r, "time.example", PUBLIC, 123, false));
    assert_false(connects(r, "other.example", PUBLIC, 443, false));
    assert_false(connects(NULL, "example.org", PUBLIC, 443, false));
}

/* Whatever the resolver says. */
static void no_name_leads_to_what_is_near(void **state)
{
    (void)state;
    scoped(egress_rules_free) struct egress_rules *r =
        rules("{\"hosts\":[\"example.org\",\"*\",\"tcp://example.org:4848\"]}");
    static const char *const near[] = {
        "127.0.0.1",       "10.1.2.3",        "192.168.1.1",
        "169.254.1.1",     "169.254.169.254", "::1",
        "fe80::1",         "fd00::1",         "::ffff:10.0.0.1",
        "64:ff9b::7f00:1", "2002:7f00:1::1",  "0.0.0.0",
        "100.100.100.200", "fd00:ec2::254",   "224.0.0.1",
        "255.255.255.255", "172.16.0.1",      "::127.0.0.1",
        "198.18.0.1",      "ff02::1"};
    for (size_t i = 0; i < LENGTH(near); i++)
        assert_false(connects(r, "example.org", near[i], 443, false));
    assert_false(connects(r, "example.org", "127.0.0.1", 4848, false));
    assert_true(connects(r, "example.org", PUBLIC, 4848, false));
}

static void an_address_is_named_by_the_policy_itself(void **state)
{
    (void)state;
    scoped(egress_rules_free) struct egress_rules *r =
        rules("{\"hosts\":[\"" PUBLIC ":8443\",\"tcp://[2606:4700::1]:22\"],"
              "\"allowPrivate\":[\"127.0.0.1:3000\",\"127.0.0.1:4848\"]}");
    assert_true(connects(r, NULL, PUBLIC, 8443, false));
    assert_true(connects(r, NULL, "2606:4700::1", 22, false));
    assert_true(connects(r, NULL, "127.0.0.1", 3000, false));
    assert_false(connects(r, NULL, "127.0.0.1", 3001, false));
    assert_false(connects(r, NULL, "127.0.0.2", 3000, false));
    assert_false(connects(r, NULL, "127.0.0.1", 3000, true));
    assert_false(connects(r, NULL, "127.0.0.1", 4848, false)); /* this program's own */
}

static void each_protocol_has_a_rule_of_its_own(void **state)
{
    (void)state;
    scoped(egress_rules_free) struct egress_rules *r = rules(
        "{\"hosts\":[\"example.org\",\"icmp://ping.test\",\"icmp://*.all.test\",\"tcp://" PUBLIC
        ":22\",\"icmp://8.8.8.8\"],"
        "\"allowPrivate\":[\"127.0.0.1:3000\",\"tcp://127.0.0.1:22\",\"udp://127.0.0.1:53\","
        "\"icmp://127.0.0.1\",\"udp://localhost:99\"]}");
    static const struct {
        const char *name, *address;
        uint16_t port;
        enum egress_kind kind;
        bool may;
    } rows[] = {
        {"ping.test", PUBLIC, 0, EGRESS_ECHO, true},
        {"a.all.test", PUBLIC, 0, EGRESS_ECHO, true},
        {"example.org", PUBLIC, 0, EGRESS_ECHO, false},
        {"ping.test", PUBLIC, 443, EGRESS_STREAM, false},
        {"ping.test", PUBLIC, 0, EGRESS_DATAGRAMS, false},
        {NULL, "8.8.8.8", 0, EGRESS_ECHO, true},
        {NULL, "8.8.4.4", 0, EGRESS_ECHO, false},
        {NULL, PUBLIC, 22, EGRESS_STREAM, true},
        {NULL, PUBLIC, 22, EGRESS_DATAGRAMS, false},
        {NULL, "127.0.0.1", 3000, EGRESS_STREAM, true},
        {NULL, "127.0.0.1", 3000, EGRESS_DATAGRAMS, false},
        {NULL, "127.0.0.1", 22, EGRESS_STREAM, true},
        {NULL, "127.0.0.1", 53, EGRESS_DATAGRAMS, true},
        {NULL, "127.0.0.1", 53, EGRESS_STREAM, false},
        {NULL, "127.0.0.1", 0, EGRESS_ECHO, true},
        {NULL, "127.0.0.2", 0, EGRESS_ECHO, false},
        {NULL, "::1", 99, EGRESS_DATAGRAMS, true},
        {"ping.test", "10.0.0.1", 0, EGRESS_ECHO, false},
        {"ping.test", "169.254.169.254", 0, EGRESS_ECHO, false},
    };
    for (size_t i = 0; i < LENGTH(rows); i++)
        if (connects(r, rows[i].name, rows[i].address, rows[i].port, rows[i].kind) !=
            rows[i].may)
            fail_msg("row %zu", i);
    struct err e = {0};
    assert_false(egress_allows(r, STR("http://127.0.0.1:22/"), &e));
    assert_true(egress_allows(r, STR("http://127.0.0.1:3000/"), &(struct err){0}));
    struct address near;
    assert_true(address_read("127.0.0.1", &near));
    assert_non_null(rules_refuse_address(r, EGRESS_HTTPS, &near, 22));
}

static void a_refusal_says_the_rule_that_would_allow_it(void **state)
{
    (void)state;
    static const struct {
        enum egress_kind kind;
        uint16_t port;
        const char *rule;
    } rows[] = {{EGRESS_STREAM, 22, "'tcp://a.test:22'"},
                {EGRESS_DATAGRAMS, 53, "'udp://a.test:53'"},
                {EGRESS_ECHO, 0, "'icmp://a.test'"}};
    static const char *const name = "a.test";
    scoped(egress_rules_free) struct egress_rules *r = rules("{}");
    struct address a;
    assert_true(address_read(PUBLIC, &a));
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct err e = {0};
        enum egress_speaks speaks;
        struct egress_peer p = {rows[i].kind, &name, 1, a.at, rows[i].port};
        assert_false(egress_may_connect(r, &p, 0, &speaks, &e));
        assert_non_null(strstr(e.msg, rows[i].rule));
    }
}

static void fetch_is_let_out_by_no_bare_rule(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(egress_rules_free) struct egress_rules *r =
        rules("{\"hosts\":[\"tcp://example.org:443\",\"tcp://example.org:80\"]}");
    assert_false(egress_allows(r, STR("https://example.org/"), &e));
    e = (struct err){0};
    assert_false(egress_allows(r, STR("http://example.org/"), &e));
}

static void a_bare_rule_says_its_port(void **state)
{
    (void)state;
    static const char *const wrong[] = {"tcp://example.org",
                                        "udp://example.org:",
                                        "tcp://[::1]",
                                        "tcp://example.org:0",
                                        "tcp://example.org:65536",
                                        "tcp://:80",
                                        "icmp://example.org:7",
                                        "icmp://"};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        struct err e = {0};
        char text[100];
        (void)snprintf(text, sizeof text, "{\"hosts\":[\"%s\"]}", wrong[i]);
        scoped(arena_free) struct arena *a = arena_new((size_t)1 << 20);
        assert_null(egress_rules_read(json_read(str_of(text), a, &e), &e));
        assert_int_equal(e.code, ERR_INVALID);
    }
}

/* Where many names share an address, what is spoken has to name one that is allowed. */
static void a_rule_for_a_name_wants_to_hear_it(void **state)
{
    (void)state;
    scoped(egress_rules_free) struct egress_rules *r =
        rules("{\"hosts\":[\"example.org\",\"http://old.test\",\"tcp://git.test:22\","
              "\"*.shop.test\"]}");
    static const struct {
        const char *name;
        uint16_t port;
        enum egress_speaks speaks;
    } rows[] = {{"example.org", 443, EGRESS_SPEAKS_TLS},
                {"old.test", 80, EGRESS_SPEAKS_HTTP},
                {"git.test", 22, EGRESS_SPEAKS_ANYTHING}};
    struct err e = {0};
    struct address a;
    assert_true(address_read(PUBLIC, &a));
    for (size_t i = 0; i < LENGTH(rows); i++) {
        enum egress_speaks speaks;
        struct egress_peer p = {false, &rows[i].name, 1, a.at, rows[i].port};
        assert_true(egress_may_connect(r, &p, 0, &speaks, &e));
        assert_int_equal(speaks, rows[i].speaks);
    }
    assert_true(egress_may_speak(r, "Example.ORG", 443, EGRESS_SPEAKS_TLS, &e));
    assert_true(egress_may_speak(r, "a.shop.test", 443, EGRESS_SPEAKS_TLS, &e));
    assert_true(egress_may_speak(r, "old.test", 80, EGRESS_SPEAKS_HTTP, &e));
    static const char *const refused[] = {
        "old.test", "shop.test",       "evil.test",    "",
        "a/b",      "example.org:443", "93.184.215.14"};
    for (size_t i = 0; i < LENGTH(refused); i++)
        assert_false(egress_may_speak(r, refused[i], 443, EGRESS_SPEAKS_TLS, &e));
    assert_false(egress_may_speak(r, "example.org", 443, EGRESS_SPEAKS_HTTP, &e));
    assert_false(egress_may_speak(r, "example.org", 8443, EGRESS_SPEAKS_TLS, &e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_asked_where_a_rule_names_it),
        cmocka_unit_test(a_connection_is_of_a_name_that_led_there),
        cmocka_unit_test(no_name_leads_to_what_is_near),
        cmocka_unit_test(an_address_is_named_by_the_policy_itself),
        cmocka_unit_test(each_protocol_has_a_rule_of_its_own),
        cmocka_unit_test(a_refusal_says_the_rule_that_would_allow_it),
        cmocka_unit_test(fetch_is_let_out_by_no_bare_rule),
        cmocka_unit_test(a_bare_rule_says_its_port),
        cmocka_unit_test(a_rule_for_a_name_wants_to_hear_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
