#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/endpoint.h"

static void an_address_and_a_port_are_read(void **state)
{
    (void)state;
    struct err e = {0};
    struct endpoint ep;
    assert_true(endpoint_parse(&ep, "127.0.0.1:7878", &e));
    assert_string_equal(ep.host, "127.0.0.1");
    assert_int_equal(ep.port, 7878);
    assert_int_equal(ep.address.ss_family, AF_INET);

    assert_true(endpoint_parse(&ep, "[::1]:0", &e));
    assert_string_equal(ep.host, "[::1]");
    assert_int_equal(ep.port, 0);
    assert_int_equal(ep.address.ss_family, AF_INET6);

    assert_true(endpoint_parse(&ep, "LocalHost:65535", &e));
    assert_string_equal(ep.host, "127.0.0.1");
    assert_int_equal(ep.port, 65535);

    assert_true(endpoint_parse(&ep, "127.9.9.9:1", &e));
    assert_string_equal(ep.host, "127.9.9.9");
}

static void what_is_no_address_with_a_port_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        ":",
        "127.0.0.1",
        "127.0.0.1:",
        ":7878",
        "7878",
        "127.0.0.1:x",
        "127.0.0.1:65536",
        "[::1]",
        "[::1",
        "[::1]7878",
        "127.0.0.1:-1",
        "::1:80",
        "example.com:80",
        "127.0.0.1: 80",
        "[127.0.0.1]:80",
        "127.1:80",
        "127.0.0.1:000080",
        "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0001]:80",
    };
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        struct err e = {0};
        struct endpoint ep;
        assert_false(endpoint_parse(&ep, wrong[i], &e));
        assert_int_equal(e.code, ERR_INVALID);
    }
}

static void addresses_of_other_machines_are_told_from_loopback(void **state)
{
    (void)state;
    static const char *const open[] = {"0.0.0.0:80",     "[::]:80",
                                       "192.168.1.1:80", "128.0.0.1:80",
                                       "[fe80::1]:80",   "[::ffff:10.0.0.1]:80"};
    static const char *const own[] = {"127.0.0.1:80", "127.9.9.9:80", "[::1]:80",
                                      "[::ffff:127.0.0.1]:80", "localhost:80"};
    for (size_t i = 0; i < LENGTH(open) + LENGTH(own); i++) {
        struct err e = {0};
        struct endpoint ep;
        bool is_open = i < LENGTH(open);
        assert_true(endpoint_parse(&ep, is_open ? open[i] : own[i - LENGTH(open)], &e));
        assert_int_equal(endpoint_is_loopback(&ep.address), !is_open);
    }
    assert_false(endpoint_is_loopback(NULL));
}

static void further_hosts_and_origins_are_allowed_by_name(void **state)
{
    (void)state;
    static const char *const hosts[] = {"notes.example", "other.example:8443", NULL};
    static const char *const origins[] = {"https://app.example", NULL};
    struct err e = {0};
    struct endpoint ep, open;
    assert_true(endpoint_parse(&ep, "127.0.0.1:80", &e));
    assert_true(endpoint_parse(&open, "0.0.0.0:80", &e));
    assert_true(endpoint_is_allowed_host(&ep, STR("notes.example"), hosts));
    assert_true(endpoint_is_allowed_host(&ep, STR("Notes.Example:99"), hosts));
    assert_true(endpoint_is_allowed_host(&ep, STR("other.example:8443"), hosts));
    assert_false(endpoint_is_allowed_host(&ep, STR("other.example"), hosts));
    assert_false(endpoint_is_allowed_host(&ep, STR("notes.example:x"), hosts));
    assert_false(endpoint_is_allowed_host(&ep, STR("evil.notes.example"), hosts));
    assert_false(endpoint_is_allowed_host(&ep, STR("10.0.0.1"), hosts));
    assert_false(endpoint_is_allowed_host(&ep, STR("notes.example"), NULL));
    /* No page can make an address point elsewhere. */
    assert_true(endpoint_is_allowed_host(&open, STR("10.0.0.1:80"), NULL));
    assert_true(endpoint_is_allowed_host(&open, STR("[fe80::1]"), NULL));
    assert_false(endpoint_is_allowed_host(&open, STR("10.0.0.1:81"), NULL));
    assert_false(endpoint_is_allowed_host(&open, STR("evil.example"), NULL));
    assert_true(endpoint_is_allowed_origin(STR("https://app.example"), origins));
    assert_false(endpoint_is_allowed_origin(STR("http://app.example"), origins));
    assert_false(endpoint_is_allowed_origin(STR("https://app.example"), NULL));
}

static bool is_host(const char *listen, uint16_t port, const char *host)
{
    struct err e = {0};
    struct endpoint ep;
    assert_true(endpoint_parse(&ep, listen, &e));
    endpoint_set_port(&ep, port);
    return endpoint_is_host(&ep, str_of(host));
}

static void this_machines_names_with_our_port_are_hosts(void **state)
{
    (void)state;
    assert_true(is_host("127.0.0.1:0", 7878, "127.0.0.1:7878"));
    assert_true(is_host("127.0.0.1:0", 7878, "localhost:7878"));
    assert_true(is_host("127.0.0.1:0", 7878, "LOCALHOST:7878"));
    assert_true(is_host("127.0.0.1:0", 7878, "[::1]:7878"));
    assert_true(is_host("127.0.0.1:0", 7878, "localhost"));
    assert_true(is_host("127.0.0.5:0", 7878, "127.0.0.5:7878"));
    assert_true(is_host("[::1]:0", 7878, "[::1]:7878"));
}

static void other_names_and_ports_are_no_hosts(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "evil.example:7878",
        "localhost.evil.example:7878",
        "evil.localhost:7878",
        "localhost:7879",
        "localhost:",
        "localhost:7878x",
        "localhost:7878:7878",
        "127.0.0.1.evil.example",
        "127.0.0.2:7878",
        "[::1]x",
        "[::1",
        "::1",
        "user@localhost:7878",
        "localhost:7878/",
        " localhost",
        "localhost:07878000",
    };
    for (size_t i = 0; i < LENGTH(wrong); i++)
        assert_false(is_host("127.0.0.1:0", 7878, wrong[i]));
}

static bool is_own(const char *listen, bool tls, const char *origin, const char *host)
{
    struct endpoint ep;
    struct err e = {0};
    assert_true(endpoint_parse(&ep, listen, &e));
    return endpoint_is_own_origin(&ep, tls, str_of(origin), str_of(host));
}

static void a_page_of_ours_is_an_own_origin(void **state)
{
    (void)state;
    static const char *const local = "127.0.0.1:7878";
    assert_true(is_own(local, false, "http://localhost:7878", "localhost:7878"));
    assert_true(is_own(local, false, "http://127.0.0.1:7878", "127.0.0.1:7878"));
    assert_true(is_own(local, false, "http://[::1]:7878", "[::1]:7878"));
    assert_true(is_own(local, false, "http://LOCALHOST:7878", "localhost:7878"));
    assert_true(is_own(local, true, "https://localhost:7878", "localhost:7878"));
    assert_true(is_own("127.0.0.1:80", false, "http://localhost", "localhost:80"));
    assert_true(is_own("[::1]:443", true, "https://[::1]", "[::1]"));
    assert_true(is_own("0.0.0.0:8443", true, "https://notes.example", "notes.example"));
    assert_true(is_own("unix:/s", false, "http://localhost:9000", "localhost:9000"));
}

static void no_other_page_is_an_own_origin(void **state)
{
    (void)state;
    static const char *const hosts[] = {"localhost:7878", "localhost", "127.0.0.1:7878"};
    static const char *const wrong[] = {
        "",
        "null",
        "http://",
        "http://evil.example",
        "http://localhost",
        "http://localhost:1",
        "http://localhost:3000",
        "http://[::1]:7878",
        "https://localhost:7878",
        "http://localhost.evil.example:7878",
        "http://localhost:7878:7878",
        "http://localhost:78780",
        "http://localhost:7878/",
        "http://localhost:7878, http://evil.example",
        "http://localhost:7878@evil.example",
        "http://evil.example#localhost:7878",
        "HTTP://localhost:7878",
        "ftp://localhost:7878",
        "localhost:7878",
        "chrome-extension://localhost:7878",
    };
    for (size_t i = 0; i < LENGTH(wrong); i++)
        for (size_t j = 0; j < LENGTH(hosts); j++)
            assert_false(is_own("127.0.0.1:7878", false, wrong[i], hosts[j]));
    assert_false(
        is_own("127.0.0.1:7878", false, "http://127.0.0.1:7878", "localhost:7878"));
    assert_false(is_own("unix:/s", false, "http://evil.example", "evil.example"));
    assert_false(is_own("unix:/s", false, "http://localhost:1", "localhost:2"));
}

static void a_socket_in_the_file_system_is_called_as_clients_like(void **state)
{
    (void)state;
    static const char *const right[] = {
        "localhost", "localhost:9000", "127.0.0.1",           "[::1]",
        "unix",      "docker",         "%2Frun%2Fcloche.sock"};
    static const char *const wrong[] = {
        "",      "evil.example", "evil.example:80",
        "[::2]", "10.0.0.1",     "localhost.evil.example"};
    for (size_t i = 0; i < LENGTH(right); i++)
        assert_true(is_host("unix:/run/cloche.sock", 0, right[i]));
    for (size_t i = 0; i < LENGTH(wrong); i++)
        assert_false(is_host("unix:/run/cloche.sock", 0, wrong[i]));
    struct endpoint ep;
    struct err e = {0};
    assert_false(endpoint_parse(&ep, "unix:relative", &e));
    assert_int_equal(e.code, ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_and_a_port_are_read),
        cmocka_unit_test(what_is_no_address_with_a_port_is_refused),
        cmocka_unit_test(addresses_of_other_machines_are_told_from_loopback),
        cmocka_unit_test(further_hosts_and_origins_are_allowed_by_name),
        cmocka_unit_test(this_machines_names_with_our_port_are_hosts),
        cmocka_unit_test(other_names_and_ports_are_no_hosts),
        cmocka_unit_test(a_page_of_ours_is_an_own_origin),
        cmocka_unit_test(no_other_page_is_an_own_origin),
        cmocka_unit_test(a_socket_in_the_file_system_is_called_as_clients_like),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
