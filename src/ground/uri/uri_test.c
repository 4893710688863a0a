#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "uri/uri.h"

static void a_uri_is_read_in_its_parts(void **state)
{
    (void)state;
    struct uri u;
    assert_true(uri_read(STR("https://[::1]:8443/a?b#c"), &u));
    assert_true(str_is(u.scheme, "https") && str_is(u.origin, "https://[::1]:8443"));
    assert_true(str_is(u.host, "[::1]") && str_is(u.port, "8443"));
    assert_true(str_is(u.rest, "/a?b#c"));
    assert_true(uri_read(STR("http://localhost?x"), &u));
    assert_true(str_is(u.host, "localhost") && !u.port.at && str_is(u.rest, "?x"));
}

static void what_could_be_read_in_two_ways_is_none(void **state)
{
    (void)state;
    static const char *const none[] = {"",
                                       "https:/a",
                                       "://a",
                                       "https://",
                                       "https:///a",
                                       "a.example",
                                       "https://:80",
                                       "https://[::1",
                                       "http://[a]b",
                                       "http://127.0.0.1:1@evil",
                                       "http://a@b"};
    struct uri u;
    for (size_t i = 0; i < LENGTH(none); i++)
        if (uri_read(str_of(none[i]), &u))
            fail_msg("%s was read", none[i]);
}

static void what_is_escaped_comes_back(void **state)
{
    (void)state;
    char all[256], back[256 * 3];
    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    scoped_buf struct buf coded;
    buf_init(&coded, 1000);
    uri_escape((struct str){all, sizeof all}, &coded);
    assert_int_equal(uri_unescape(buf_view(&coded), true, back), 256);
    assert_memory_equal(all, back, 256);
    assert_int_equal(uri_unescape(STR("a+b"), true, back), 3);
    assert_memory_equal(back, "a b", 3);
    assert_int_equal(uri_unescape(STR("%4"), false, back), URI_WRONG);
    assert_int_equal(uri_unescape(STR("%4g"), false, back), URI_WRONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_uri_is_read_in_its_parts),
        cmocka_unit_test(what_could_be_read_in_two_ways_is_none),
        cmocka_unit_test(what_is_escaped_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
