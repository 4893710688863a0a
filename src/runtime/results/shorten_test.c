/* Shortened answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/arena_test.h"
#include "results/results.h"
#include "json/json.h"

#define MOST ((size_t)400000)

static const struct json *shortened(struct buf *json)
{
    struct err e = {0};
    scoped_buf struct buf out;
    buf_init(&out, (size_t)1 << 20);
    if (!shorten(buf_view(json), MOST, &out, &e))
        fail_msg("%s", e.msg);
    assert_true(out.n <= MOST);
    const struct json *v = json_read(buf_view(&out), arena, &e);
    assert_non_null(v);
    return v;
}

static void put_many(struct buf *b, const char *what, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_cstr(b, what);
}

static void the_longest_text_is_cut_and_the_rest_stays(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, (size_t)16 << 20);
    buf_cstr(&b, "{\"id\":\"a/b\",\"content\":\"");
    put_many(&b, "\xc3\xa4", 1000000);
    buf_cstr(&b, "\",\"tags\":[\"x\"],\"big\":12345678901234567890,\"none\":null}");
    const struct json *v = shortened(&b);
    assert_true(str_is(json_str(json_get(v, "id")), "a/b"));
    struct str content = json_str(json_get(v, "content"));
    assert_true(str_ends(content, "\xc3\xa4 [... cut here, of 2000000 bytes]"));
    assert_in_range(content.n, 200000, 300000);
    assert_int_equal(json_length(json_get(v, "tags")), 1);
    assert_true(json_is(json_get(v, "none"), JSON_NULL));
}

static void what_grows_by_escapes_is_cut_shorter(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, (size_t)16 << 20);
    buf_cstr(&b, "{\"content\":\"");
    put_many(&b, "\\u0001", 500000);
    buf_cstr(&b, "\"}");
    assert_in_range(json_str(json_get(shortened(&b), "content")).n, 32 << 10, 66000);
}

static void many_rows_lose_their_end(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, (size_t)16 << 20);
    buf_cstr(&b, "{\"results\":[0");
    put_many(&b, ",{\"id\":\"meeting/Standup\",\"title\":\"Standup\"}", 50000);
    buf_cstr(&b, "],\"total\":50001}");
    const struct json *v = shortened(&b);
    assert_in_range(json_length(json_get(v, "results")), 1000, 20000);
    assert_int_equal(json_int(json_get(v, "total"), 0), 50001);
}

static void what_has_no_end_to_lose_is_refused(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_buf struct buf b, out;
    buf_init(&b, (size_t)16 << 20);
    buf_init(&out, (size_t)1 << 20);
    buf_cstr(&b, "[0");
    put_many(&b, ",1234567", 100000);
    buf_cstr(&b, "]");
    assert_false(shorten(buf_view(&b), MOST, &out, &e));
    assert_int_equal(e.code, ERR_OUTPUT);
    assert_int_equal(out.n, 0);
}

static void depth_is_no_danger(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, (size_t)16 << 20);
    put_many(&b, "[", JSON_DEPTH_MAX - 1);
    buf_char(&b, '"');
    put_many(&b, "x", 500000);
    buf_char(&b, '"');
    put_many(&b, "]", JSON_DEPTH_MAX - 1);
    assert_int_equal(json_length(shortened(&b)), 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make_arena, free_arena)
    const struct CMUnitTest tests[] = {
        T(the_longest_text_is_cut_and_the_rest_stays),
        T(what_grows_by_escapes_is_cut_shorter),
        T(many_rows_lose_their_end),
        T(what_has_no_end_to_lose_is_refused),
        T(depth_is_no_danger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
