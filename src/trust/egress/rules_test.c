#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

static void assert_allows(const struct egress_rules *r, const char *url)
{
    struct err e = {0};
    if (!egress_allows(r, str_of(url), &e))
        fail_msg("%s: %s", url, e.msg);
}

static void assert_refuses(const struct egress_rules *r, const char *url,
                           enum err_code code)
{
    struct err e = {0};
    if (egress_allows(r, str_of(url), &e))
        fail_msg("%s was allowed", url);
    if (e.code != code)
        fail_msg("%s: code %d: %s", url, e.code, e.msg);
}

static void nothing_is_allowed_where_nothing_is_said(void **state)
{
    (void)state;
    scoped(egress_rules_free) struct egress_rules *r = rules("{}");
    assert_false(egress_rules_any(r));
    assert_false(egress_rules_any(NULL));
    assert_refuses(r, "https://example.org/", ERR_DENIED);
    assert_refuses(NULL, "https://example.org/", ERR_DENIED);
}

static void a_name_is_allowed_with_its_scheme_and_port(void **state)
{
    (void)state;
    scoped(egress_rules_free) struct egress_rules *r = rules(
        "{\"hosts\":[\"example.org\",\"api.example.org:8443\",\"http://old.test\"]}");
    assert_true(egress_rules_any(r));
    assert_allows(r, "https://example.org");
    assert_allows(r, "https://EXAMPLE.org:443/a?b#c");
    assert_allows(r, "https://example.org./");
    assert_allows(r, "https://api.example.org:8443/");
    assert_allows(r, "http://old.test/");
    assert_refuses(r, "http://example.org/", ERR_DENIED);
    assert_refuses(r, "https://example.org:444/", ERR_DENIED);
    assert_refuses(r, "https://api.example.org/", ERR_DENIED);
    assert_refuses(r, "https://old.test/", ERR_DENIED);
    assert_refuses(r, "https://www.example.org/", ERR_DENIED);
    assert_refuses(r, "https://example.org.evil.test/", ERR_DENIED);
    assert_refuses(r, "https://evilexample.org/", ERR_DENIED);
    assert_refuses(r, "https://example.org%2eevil.test/", ERR_DENIED);
}

static void a_star_stands_for_what_is_below_a_name(void **state)
{
    (void)state;
    scoped(egress_rules_free) struct egress_rules *r =
        rules("{\"hosts\":[\"*.example.org\",\"http://*.lan.test:8080\"]}");
    assert_allows(r, "https://a.example.org/");
    assert_allows(r, "https://a.b.example.org/");
    assert_allows(r, "http://x.lan.test:8080/");
    assert_refuses(r, "https://example.org/", ERR_DENIED);
    assert_refuses(r, "https://aexample.org/", ERR_DENIED);
    assert_refuses(r, "https://.example.org/", ERR_INVALID);

    scoped(egress_rules_free) struct egress_rules *all = rules("{\"hosts\":[\"*\"]}");
    assert_allows(all, "https://whatever.test/");
    assert_refuses(all, "http://whatever.test/", ERR_DENIED);
    assert_refuses(all, "https://8.8.8.8/", ERR_DENIED);
    assert_refuses(all, "https://127.0.0.1/", ERR_DENIED);
    assert_refuses(all, "https://[::1]/", ERR_DENIED);
}

static void one_name_has_one_form(void **state)
{
    (void)state;
    scoped(egress_rules_free) struct egress_rules *r =
        rules("{\"hosts\":[\"B\u00fccher.example\",\"8.8.8.8\",\"[2606:4700::1]\"]}");
    assert_allows(r, "https://xn--bcher-kva.example/");
    assert_allows(r, "https://b\u00fccher.EXAMPLE/");
    assert_allows(r, "https://0x8.8.8.8/");
    assert_allows(r, "https://134744072/");
    assert_allows(r, "https://8.8.2056/");
    assert_allows(r, "https://[2606:4700:0::1]/");
    assert_refuses(r, "https://[::ffff:8.8.8.8]/", ERR_DENIED);
}

static void an_address_is_granted_with_its_port(void **state)
{
    (void)state;
    scoped(egress_rules_free) struct egress_rules *r = rules(
        "{\"allowPrivate\":[\"192.168.1.5:3000\",\"[fd00::5]:80\",\"localhost:4000\"]}");
    assert_true(egress_rules_any(r));
    assert_allows(r, "http://192.168.1.5:3000/");
    assert_allows(r, "https://192.168.1.5:3000/");
    assert_allows(r, "http://0xc0.0xa8.1.5:3000/");
    assert_allows(r, "http://[fd00::5]/");
    assert_allows(r, "http://localhost:4000/");
    assert_allows(r, "http://127.0.0.1:4000/");
    assert_allows(r, "http://[::1]:4000/");
    assert_refuses(r, "http://192.168.1.5/", ERR_DENIED);
    assert_refuses(r, "http://192.168.1.6:3000/", ERR_DENIED);
    assert_refuses(r, "http://localhost:3000/", ERR_DENIED);
    assert_refuses(r, "http://127.0.0.2:4000/", ERR_DENIED);
}

static void what_cannot_be_fetched_is_no_url(void **state)
{
    (void)state;
    scoped(egress_rules_free) struct egress_rules *r =
        rules("{\"hosts\":[\"example.org\",\"http://example.org\"]}");
    static const char *const wrong[] = {
        "",
        "example.org",
        "/path",
        "//example.org/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "gopher://example.org/",
        "https://",
        "https://user@example.org/",
        "https://user:password@example.org/",
        "https://example.org:0/",
        "https://example.org:65536/",
        "https://example.org:x/",
        "https://example.org\\@evil.test/",
        "https://exa mple.org/",
        "https://example.org/\r\nHost: evil.test",
        "https://example.org\n/",
        "https://[fe80::1%25eth0]/",
        "https://[::1/",
        "https://exam_ple..org/",
        "https://example.org%00.evil.test/",
        "https://0x7f./",
        "https://1.2.3.4.5/",
        "https://a.0x10/",
    };
    for (size_t i = 0; i < LENGTH(wrong); i++)
        assert_refuses(r, wrong[i], ERR_INVALID);
    struct err e = {0};
    assert_false(egress_allows(r, (struct str){"https://example.org/\0a", 22}, &e));
    assert_int_equal(e.code, ERR_INVALID);
    char *long_url = mem_new(EGRESS_URL_MAX + 100);
    memset(long_url, 'a', EGRESS_URL_MAX + 99);
    memcpy(long_url, "https://example.org/", 20);
    assert_refuses(r, long_url, ERR_INVALID);
    free(long_url);
}

static void a_policy_is_told_which_entry_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *network, *word;
    } wrong[] = {
        {"[]", "network"},
        {"{\"host\":[]}", "network.host"},
        {"{\"hosts\":\"example.org\"}", "network.hosts"},
        {"{\"hosts\":[1]}", "network.hosts"},
        {"{\"hosts\":[\"\"]}", "network.hosts"},
        {"{\"hosts\":[\"https://example.org/path\"]}", "https://example.org/path"},
        {"{\"hosts\":[\"ftp://example.org\"]}", "ftp://example.org"},
        {"{\"hosts\":[\"a*.example.org\"]}", "a*.example.org"},
        {"{\"hosts\":[\"user@example.org\"]}", "user@example.org"},
        {"{\"hosts\":[\"*.10.0.0.1\"]}", "*.10.0.0.1"},
        {"{\"hosts\":[\"example.org:99999\"]}", "99999"},
        {"{\"allowPrivate\":[\"192.168.1.5\"]}", "192.168.1.5"},
        {"{\"allowPrivate\":[\"[::1]\"]}", "[::1]"},
        {"{\"allowPrivate\":[\"nas.lan:80\"]}", "nas.lan:80"},
        {"{\"allowPrivate\":[\"10.0.0.0/8:80\"]}", "10.0.0.0/8"},
        {"{\"allowPrivate\":[\"169.254.169.254:80\"]}", "cloud metadata"},
        {"{\"allowPrivate\":[\"[fd00:ec2::254]:80\"]}", "cloud metadata"},
        {"{\"allowPrivate\":[\"[::ffff:169.254.169.254]:80\"]}", "cloud metadata"},
        {"{\"secrets\":[]}", "network.secrets"},
        {"{\"secrets\":{\"1\":{}}}", "network.secrets"},
        {"{\"secrets\":{\"A\":{\"hosts\":[\"a.test\"]}}}", "network.secrets.A"},
        {"{\"secrets\":{\"A\":{\"value\":\"x\",\"env\":\"Y\",\"hosts\":[\"a.test\"]}}}",
         "network.secrets.A"},
        {"{\"secrets\":{\"A\":{\"file\":\"x\",\"hosts\":[\"a.test\"]}}}", "absolute"},
        {"{\"secrets\":{\"A\":{\"value\":\"x\"}}}", "network.secrets.A.hosts"},
        {"{\"secrets\":{\"A\":{\"value\":\"x\",\"host\":[]}}}", "network.secrets.A.host"},
        {"{\"secrets\":{\"A\":{\"value\":\"x\",\"hosts\":[\"a.test\"],\"header\":\"a b\"}}}",
         "header"},
        {"{\"secrets\":{\"A\":{\"value\":\"x\",\"hosts\":[\"a.test\"],\"format\":\"a\"}}}",
         "format"},
    };
    scoped(arena_free) struct arena *a = arena_new((size_t)1 << 20);
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        struct err e = {0};
        const struct json *v = json_read(str_of(wrong[i].network), a, &e);
        assert_non_null(v);
        assert_null(egress_rules_read(v, &e));
        assert_int_equal(e.code, ERR_INVALID);
        if (!strstr(e.msg, wrong[i].word))
            fail_msg("%s: %s", wrong[i].network, e.msg);
    }
}

static void long_lists_are_refused(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_buf struct buf text;
    buf_init(&text, (size_t)1 << 20);
    buf_cstr(&text, "{\"hosts\":[\"a.test\"");
    for (int i = 0; i < 1000; i++)
        buf_cstr(&text, ",\"a.test\"");
    buf_cstr(&text, "]}");
    scoped(arena_free) struct arena *a = arena_new((size_t)4 << 20);
    assert_null(egress_rules_read(json_read(buf_view(&text), a, &e), &e));
    assert_int_equal(e.code, ERR_LIMIT);
}

/* ---- addresses ---------------------------------------------------------- */

static enum address_kind kind(const char *text)
{
    struct address a;
    if (!address_read(text, &a))
        fail_msg("%s is no address", text);
    return address_kind(&a);
}

static void addresses_that_are_not_the_internets_are_known(void **state)
{
    (void)state;
    static const char *const near[] = {
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::8.8.8.8",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:0:127.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b:1::8.8.8.8",
        "100::1",
        "2001::1",
        "2001:10::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:808:808::",
        "3fff::1",
        "4000::1",
        "5f00::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    };
    static const char *const outside[] = {
        "1.1.1.1",          "8.8.8.8",
        "100.63.255.255",   "100.128.0.1",
        "172.15.255.255",   "172.32.0.1",
        "198.17.0.1",       "198.20.0.1",
        "223.255.255.255",  "::ffff:1.1.1.1",
        "64:ff9b::8.8.8.8", "2606:4700:4700::1111",
        "2001:200::1",      "2001:4860:4860::8888",
    };
    static const char *const metadata[] = {
        "169.254.169.254",   "169.254.170.2",          "100.100.100.200",
        "168.63.129.16",     "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
        "::169.254.169.254", "fd00:ec2::254",
    };
    for (size_t i = 0; i < LENGTH(near); i++)
        if (kind(near[i]) != ADDRESS_NEAR)
            fail_msg("%s", near[i]);
    for (size_t i = 0; i < LENGTH(outside); i++)
        if (kind(outside[i]) != ADDRESS_PUBLIC)
            fail_msg("%s", outside[i]);
    for (size_t i = 0; i < LENGTH(metadata); i++)
        if (kind(metadata[i]) != ADDRESS_METADATA)
            fail_msg("%s", metadata[i]);
}

static void this_machines_own_addresses_are_known(void **state)
{
    (void)state;
    static const char *const own[] = {"127.0.0.1", "127.9.9.9", "0.0.0.0",
                                      "::1",       "::",        "::ffff:127.0.0.1"};
    struct address a;
    for (size_t i = 0; i < LENGTH(own); i++) {
        assert_true(address_read(own[i], &a));
        assert_true(address_is_own(&a));
    }
    assert_true(address_read("192.0.2.77", &a));
    assert_false(address_is_own(&a));
}

static void a_grant_opens_one_address_and_port(void **state)
{
    (void)state;
    scoped(egress_rules_free) struct egress_rules *r =
        rules("{\"hosts\":[\"*\"],\"allowPrivate\":[\"10.0.0.5:80\",\"localhost:81\"]}");
    struct address a;
    assert_true(address_read("10.0.0.5", &a));
    assert_null(rules_refuse_address(r, EGRESS_HTTPS, &a, 80));
    assert_non_null(rules_refuse_address(r, EGRESS_HTTPS, &a, 81));
    assert_true(address_read("::ffff:10.0.0.5", &a));
    assert_null(rules_refuse_address(r, EGRESS_HTTPS, &a, 80));
    assert_true(address_read("10.0.0.6", &a));
    assert_non_null(rules_refuse_address(r, EGRESS_HTTPS, &a, 80));
    assert_true(address_read("::1", &a));
    assert_null(rules_refuse_address(r, EGRESS_HTTPS, &a, 81));
    assert_true(address_read("169.254.169.254", &a));
    assert_non_null(rules_refuse_address(r, EGRESS_HTTPS, &a, 80));
    assert_true(address_read("1.1.1.1", &a));
    assert_null(rules_refuse_address(r, EGRESS_HTTPS, &a, 443));
    assert_null(rules_refuse_address(NULL, EGRESS_HTTPS, &a, 443));
}

/* Rules of our own: one place, wherever it is, but for metadata services. */
static void one_place_is_let_out_and_no_other(void **state)
{
    (void)state;
    struct err e = {0};
    struct address inner, metadata;
    assert_true(address_read("10.0.0.1", &inner) &&
                address_read("169.254.169.254", &metadata));
    for (int near = 0; near < 2; near++) {
        scoped(egress_rules_free) struct egress_rules *r =
            egress_rules_one(STR("https://Keys.example:8443/a"), near, &e);
        assert_non_null(r);
        assert_true(egress_allows(r, STR("https://keys.example:8443/b?c"), &e));
        static const char *const others[] = {
            "https://keys.example/a", "http://keys.example:8443/a",
            "https://a.keys.example:8443/", "https://10.0.0.1:8443/"};
        for (size_t i = 0; i < LENGTH(others); i++) {
            struct err why = {0};
            assert_false(egress_allows(r, str_of(others[i]), &why));
        }
        assert_int_equal(rules_refuse_address(r, EGRESS_HTTPS, &inner, 8443) == NULL,
                         near);
        assert_non_null(rules_refuse_address(r, EGRESS_HTTPS, &metadata, 8443));
    }
    assert_null(egress_rules_one(STR("ftp://x/"), true, &e));
    assert_int_equal(e.code, ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_allowed_where_nothing_is_said),
        cmocka_unit_test(a_name_is_allowed_with_its_scheme_and_port),
        cmocka_unit_test(a_star_stands_for_what_is_below_a_name),
        cmocka_unit_test(one_name_has_one_form),
        cmocka_unit_test(an_address_is_granted_with_its_port),
        cmocka_unit_test(what_cannot_be_fetched_is_no_url),
        cmocka_unit_test(a_policy_is_told_which_entry_is_wrong),
        cmocka_unit_test(long_lists_are_refused),
        cmocka_unit_test(addresses_that_are_not_the_internets_are_known),
        cmocka_unit_test(this_machines_own_addresses_are_known),
        cmocka_unit_test(a_grant_opens_one_address_and_port),
        cmocka_unit_test(one_place_is_let_out_and_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
