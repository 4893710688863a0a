/* Shortened output of commands: every missing byte is counted, and base64 stays valid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/arena_test.h"
#include "crypto/crypto.h"
#include "results/results.h"
#include "json/json.h"

#define MOST ((size_t)100000)
#define CEILING ((size_t)64 << 20)

static const struct json *told(const struct stream *s, size_t most)
{
    struct err e = {0};
    scoped_buf struct buf whole, part;
    buf_init(&whole, CEILING);
    buf_init(&part, CEILING);
    struct json_writer w = json_writer(&whole);
    json_open_object(&w);
    json_pair_bool(&w, "success", true);
    streams_put(s, &w);
    json_pair_int(&w, "exitCode", 3);
    streams_put_truncated(s, &w);
    json_close(&w);
    if (most && !streams_shorten(buf_view(&whole), most, &part, &e))
        fail_msg("%s", e.msg);
    assert_true(!most || part.n <= most);
    const struct json *v = json_read(buf_view(most ? &part : &whole), arena, &e);
    assert_non_null(v);
    assert_true(json_bool(json_get(v, "success"), false));
    assert_int_equal(json_int(json_get(v, "exitCode"), 0), 3);
    return v;
}

static int64_t lost(const struct json *v, const char *key)
{
    return json_int(json_get(json_get(v, "truncated"), key), 0);
}

static char *filled(size_t n, char with)
{
    char *at = arena_get(arena, n, &(struct err){0});
    memset(at, with, n);
    return at;
}

static void what_fits_is_told_as_it_is(void **state)
{
    (void)state;
    const struct stream s[STREAMS] = {{STR("out\n"), 0, 0}, {STR("\xff"), 0, 0}};
    for (size_t most = 0; most <= MOST; most += MOST) {
        const struct json *v = told(s, most);
        assert_true(str_is(json_str(json_get(v, "stdout")), "out\n"));
        assert_null(json_get(v, "stdoutEncoding"));
        assert_true(str_is(json_str(json_get(v, "stderr")), "/w=="));
        assert_true(str_is(json_str(json_get(v, "stderrEncoding")), "base64"));
        assert_null(json_get(v, "truncated"));
    }
}

static void text_says_in_its_place_what_is_missing(void **state)
{
    (void)state;
    const struct stream s[STREAMS] = {{STR("abcd"), 1234567, 2}, {STR(""), 0, 0}};
    const struct json *v = told(s, 0);
    assert_true(str_is(json_str(json_get(v, "stdout")),
                       "ab\n[... 1,234,567 bytes left out ...]\ncd"));
    assert_int_equal(lost(v, "stdout"), 1234567);
    assert_int_equal(lost(v, "stdoutAt"), 2);
}

/* Base64 has no place for a mark: the bytes are only counted. */
static void base64_is_base64_to_its_end(void **state)
{
    (void)state;
    for (size_t n = 500000; n < 500003; n++) {
        const struct stream s[STREAMS] = {{{filled(n, (char)0xfe), n}, 1000, n / 2},
                                          {STR(""), 0, 0}};
        const struct json *v = told(s, MOST);
        struct err e = {0};
        scoped_buf struct buf bytes;
        buf_init(&bytes, CEILING);
        assert_true(crypto_base64_read(json_str(json_get(v, "stdout")), &bytes, &e));
        assert_in_range(bytes.n, MOST / 2, MOST);
        assert_int_equal(bytes.n + (size_t)lost(v, "stdout"), n + 1000);
        assert_in_range(lost(v, "stdoutAt"), 1, bytes.n - 1);
    }
}

static void a_second_cut_is_counted_with_the_first(void **state)
{
    (void)state;
    size_t n = 300000;
    char *text = filled(n, 'x');
    memcpy(text, "first", 5);
    memcpy(text + n - 4, "last", 4);
    const struct stream s[STREAMS] = {{{text, n}, 700000, 150000}, {STR(""), 0, 0}};
    const struct json *v = told(s, MOST);
    struct str told_text = json_str(json_get(v, "stdout"));
    assert_true(str_starts(told_text, "first") && str_ends(told_text, "last"));
    const char *mark = memmem(told_text.at, told_text.n, "\n[...", 5);
    assert_non_null(mark);
    assert_int_equal(mark - told_text.at, lost(v, "stdoutAt"));
    assert_null(
        memmem(mark + 5, told_text.n - (size_t)(mark + 5 - told_text.at), "[...", 4));
    size_t marked = strlen("\n[... 900,000 bytes left out ...]\n");
    assert_int_equal(told_text.n - marked + (size_t)lost(v, "stdout"), n + 700000);
}

static void errors_keep_a_share_and_characters_are_whole(void **state)
{
    (void)state;
    size_t n = 300000;
    char *out = filled(n, 1), *errors = filled(n, 'e'); /* \u0001: six bytes each */
    for (size_t i = 0; i + 3 <= n; i += 3)
        memcpy(errors + i, "\u20ac", 3);
    const struct stream s[STREAMS] = {{{out, n}, 0, 0}, {{errors, n}, 0, 0}};
    const struct json *v = told(s, MOST);
    assert_null(json_get(v, "stderrEncoding"));
    assert_in_range(json_str(json_get(v, "stdout")).n, 9000, 13000);
    assert_in_range(json_str(json_get(v, "stderr")).n, 20000, 26000);
    assert_true(lost(v, "stdout") > 0 && lost(v, "stderr") > 0);
}

static void what_is_large_besides_is_not_ours_to_cut(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_buf struct buf json, part;
    buf_init(&json, CEILING);
    buf_init(&part, CEILING);
    buf_cstr(&json, "{\"stdout\":\"\",\"stderr\":\"\",\"files\":\"");
    buf_put(&json, filled(2 * MOST, 'f'), 2 * MOST);
    buf_cstr(&json, "\"}");
    assert_false(streams_shorten(buf_view(&json), MOST, &part, &e));
    assert_int_equal(e.code, ERR_OUTPUT);
    assert_int_equal(part.n, 0);
}

#define test(f) cmocka_unit_test_setup_teardown(f, make_arena, free_arena)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(what_fits_is_told_as_it_is),
        test(text_says_in_its_place_what_is_missing),
        test(base64_is_base64_to_its_end),
        test(a_second_cut_is_counted_with_the_first),
        test(errors_keep_a_share_and_characters_are_whole),
        test(what_is_large_besides_is_not_ours_to_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
