#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/target.h"

static struct target *parsed(const char *text)
{
    const char *why = NULL;
    struct target *t = target_parse(text, &why);
    if (!t)
        fail_msg("%s: %s", text, why);
    return t;
}

static void a_path_is_decoded_part_by_part(void **state)
{
    (void)state;
    struct target *t = parsed("/workspaces/a%20b/n%C3%b6tes/");
    assert_int_equal(t->n_parts, 3);
    assert_true(str_is(t->parts[0], "workspaces"));
    assert_true(str_is(t->parts[1], "a b"));
    assert_true(str_is(t->parts[2], "n\xc3\xb6tes"));
    assert_true(str_is(t->path, "/workspaces/a b/n\xc3\xb6tes"));
    assert_null(t->authority.at);
    free(t);
    t = parsed("/");
    assert_int_equal(t->n_parts, 0);
    assert_true(str_is(t->path, "/"));
    free(t);
    t = parsed("/a+b");
    assert_true(str_is(t->parts[0], "a+b"));
    free(t);
}

static void a_query_keeps_its_order_and_what_repeats(void **state)
{
    (void)state;
    struct target *t = parsed("/q?a=1&b&&a=%26+x&=&c=d=e");
    assert_int_equal(t->n_query, 5);
    assert_true(str_is(t->query[0].name, "a") && str_is(t->query[0].value, "1"));
    assert_true(str_is(t->query[1].name, "b") && t->query[1].value.n == 0);
    assert_true(str_is(t->query[2].name, "a") && str_is(t->query[2].value, "& x"));
    assert_int_equal(t->query[3].name.n, 0);
    assert_true(str_is(t->query[4].value, "d=e"));
    assert_true(str_is(t->path, "/q"));
    free(t);
}

static void a_whole_address_is_taken_too(void **state)
{
    (void)state;
    struct target *t = parsed("HTTP://localhost:80/mcp?x=1");
    assert_true(str_is(t->authority, "localhost:80"));
    assert_true(str_is(t->path, "/mcp"));
    assert_int_equal(t->n_query, 1);
    free(t);
}

static void what_two_readers_would_take_differently_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",         "mcp",         "/a/../b",   "/a/..",      "/%2e%2E/b", "/./a",
        "/a%5cb",   "/a\\b",       "/a%00",     "/a%0ab",     "/a%7f",     "/a%",
        "/a%2",     "/a%zz",       "/%ff",      "/a\xff",     "/a b",      "/a#b",
        "/a?b=%00", "/a?b=%",      "/a?b=%ff",  "/a?%c0%80",  "/a\tb",     "http://",
        "http://a", "http:///mcp", "ftp://a/b", "https://?x", "//../x",    "/a/%c0%ae/",
        "/a%e2%80", "*/",          "/\x01",
    };
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        const char *why = NULL;
        struct target *t = target_parse(wrong[i], &why);
        if (t)
            fail_msg("'%s' was taken", wrong[i]);
        assert_non_null(why);
    }
}

static void a_slash_that_was_encoded_stays_in_its_part(void **state)
{
    (void)state;
    struct target *t = parsed("http://localhost/a/b%2Fc?d=%2F");
    assert_true(t->slashes);
    assert_int_equal(t->n_parts, 2);
    assert_true(str_is(t->parts[1], "b/c"));
    assert_true(str_is(t->sent, "/a/b%2Fc?d=%2F"));
    free(t);
    t = parsed("/a/b?c=%2F");
    assert_false(t->slashes);
    free(t);
}

static void parts_and_parameters_have_a_ceiling(void **state)
{
    (void)state;
    char path[64] = "", query[512] = "/?";
    for (unsigned i = 0; i < TARGET_PARTS_MAX; i++)
        strcat(path, "/x");
    for (unsigned i = 0; i < TARGET_QUERY_MAX; i++)
        strcat(query, "a=b&");
    free(parsed(path));
    free(parsed(query));
    const char *why = NULL;
    assert_null(target_parse(strcat(path, "/x"), &why));
    assert_non_null(strstr(why, "too many parts"));
    assert_null(target_parse(strcat(query, "a=b"), &why));
    assert_non_null(strstr(why, "too many parameters"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_decoded_part_by_part),
        cmocka_unit_test(a_query_keeps_its_order_and_what_repeats),
        cmocka_unit_test(a_whole_address_is_taken_too),
        cmocka_unit_test(what_two_readers_would_take_differently_is_refused),
        cmocka_unit_test(a_slash_that_was_encoded_stays_in_its_part),
        cmocka_unit_test(parts_and_parameters_have_a_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
