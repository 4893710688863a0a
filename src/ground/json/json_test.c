/* JSON: what is accepted, what is not, and that what is written reads back. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/arena_test.h"
#include "json/json.h"

static const struct json *read_str(struct str text)
{
    struct err e = {0};
    const struct json *v = json_read(text, arena, &e);
    if (!v)
        fail_msg("'%.*s': %s", STR_ARGS(str_cut(text, 80)), e.msg);
    return v;
}

static const struct json *read_text(const char *text)
{
    return read_str(str_of(text));
}

static void assert_refused_str(struct str text, const char *why)
{
    struct err e = {0};
    if (json_read(text, arena, &e))
        fail_msg("accepted: %.*s", STR_ARGS(str_cut(text, 80)));
    assert_int_equal(e.code, ERR_INVALID);
    if (!strstr(e.msg, why))
        fail_msg("'%s' does not say '%s'", e.msg, why);
}

static void assert_refused(const char *text, const char *why)
{
    assert_refused_str(str_of(text), why);
}

/* Read, written again, and the same. */
static void assert_reads_as(const char *text, const char *want)
{
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    struct json_writer w = json_writer(&b);
    json_put(&w, read_text(text));
    assert_string_equal(buf_cz(&b), want);
}

/* ---- reading ------------------------------------------------------------ */

static void values_have_their_types(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum json_type type;
    } rows[] = {{"null", JSON_NULL},
                {" true ", JSON_BOOL},
                {"-0.5e3", JSON_NUMBER},
                {"\"x\"", JSON_STRING},
                {"\t[1]\n", JSON_ARRAY},
                {"{}", JSON_OBJECT},
                {"123456789012345678901234567890", JSON_NUMBER}};
    for (size_t i = 0; i < LENGTH(rows); i++)
        assert_int_equal(json_type(read_text(rows[i].text)), rows[i].type);
    assert_int_equal(json_type(NULL), JSON_ABSENT);
    assert_string_equal(json_type_name(JSON_ABSENT), "absent");
    assert_string_equal(json_type_name(JSON_BOOL), "boolean");
}

static void what_is_no_json_is_refused_with_its_place(void **state)
{
    (void)state;
    assert_refused("", "not JSON");
    assert_refused_str((struct str){NULL, 0}, "not JSON");
    assert_refused("{", "at byte");
    assert_refused("[1,]", "at byte");
    assert_refused("[1 2]", "at byte 3");
    assert_refused("{\"a\":1,}", "at byte");
    assert_refused("{a:1}", "at byte 1");
    assert_refused("'x'", "at byte 0");
    assert_refused("// c\n1", "at byte 0");
    assert_refused("1 1", "at byte 2");
    assert_refused("NaN", "at byte 0");
    assert_refused("[Infinity]", "at byte");
    assert_refused("01", "at byte");
    assert_refused("1.", "at byte");
    assert_refused(".5", "at byte");
    assert_refused("+1", "at byte");
    assert_refused("0x10", "at byte");
    assert_refused("\"a\nb\"", "at byte");
    assert_refused("\"\\x41\"", "at byte");
    assert_refused("\xef\xbb\xbf{}", "not JSON");
    assert_refused_str(STR("1\0"), "not JSON");
    assert_refused("nul", "not JSON");
}

static void text_must_be_utf8_without_lone_surrogates(void **state)
{
    (void)state;
    assert_refused("\"\xff\"", "not JSON");
    assert_refused("\"\xed\xa0\x80\"", "not JSON");
    assert_refused("\"\xc0\x80\"", "not JSON");
    assert_refused("\"\\ud800\"", "not JSON");
    assert_refused("\"\\udc00\"", "not JSON");
    assert_refused("\"\\ud800\\u0041\"", "not JSON");
    assert_true(
        str_eq(json_str(read_text("\"\\ud83d\\udd14\"")), STR("\xf0\x9f\x94\x94")));
}

static void escapes_are_read(void **state)
{
    (void)state;
    assert_true(
        str_eq(json_str(read_text("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\"")),
               STR("\"\\/\b\f\n\r\tA\xc3\xa9")));
    assert_true(str_eq(json_str(read_text("\"a\\u0000b\"")), STR("a\0b")));
    assert_string_equal(json_cstr(read_text("\"a\\u0000b\"")), "");
    assert_string_equal(json_cstr(read_text("\"ab\"")), "ab");
    assert_string_equal(json_cstr(read_text("7")), "");
    const struct json *v = read_text("{\"a\\u0000b\": 1, \"a\": 2}");
    assert_int_equal(json_int(json_get_str(v, STR("a\0b")), 0), 1);
    assert_int_equal(json_int(json_get(v, "a"), 0), 2);
}

static void brackets(char *out, size_t n, const char *open)
{
    size_t step = strlen(open);
    for (size_t i = 0; i < n; i++)
        memcpy(out + i * step, open, step);
    out[n * step] = '\0';
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    char text[JSON_DEPTH_MAX * 2 + 10];
    for (unsigned depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        struct str s = {text, (size_t)2 * depth};
        if (depth <= JSON_DEPTH_MAX)
            assert_int_equal(json_length(read_str(s)), 1);
        else
            assert_refused_str(s, "deeper than 128");
    }
}

static void a_bomb_of_brackets_costs_nothing(void **state)
{
    (void)state;
    static char bomb[10 << 20];
    struct err e = {0};
    scoped(arena_free) struct arena *small = arena_new(1000);
    memset(bomb, '[', sizeof bomb);
    assert_null(json_read((struct str){bomb, sizeof bomb}, small, &e));
    assert_int_equal(e.code,
                     ERR_INVALID); /* and not ERR_LIMIT: the arena was not asked */
    brackets(bomb, 100000, "{\"a\":");
    assert_refused(bomb, "deeper");
    /* Brackets inside strings do not count. */
    brackets(bomb + 1, 1000, "[\\\"{");
    bomb[0] = '"';
    strcat(bomb, "\"");
    assert_int_equal(json_str(read_text(bomb)).n, 3000);
}

static void a_key_is_read_of_what_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value; /* 0: none */
    } rows[] = {
        {"{\"k\":7,\"a\":\"\\ud83d\"}", 7},
        {"{\"a\":\"\\udc00\",\"k\":7}", 7},
        {"{\"a\":\"\\\\\\ud83d\\ud83d\\ude00\",\"k\":7}", 7},
        {"{\"a\":1,\"a\":1,\"k\":7}", 7},
        {"{\"k\":7,\"k\":7}", 0},
        {"{\"a\":{\"k\":7}}", 0},
        {"[{\"k\":7}]", 0},
        {"{\"k\":7,", 0},
        {"{\"k\":7,\"a\":\"\\ud83\"}", 0},
        {"{\"k\":7,\"a\":\"\\ud83", 0},
        {"", 0},
    };
    for (size_t i = 0; i < LENGTH(rows); i++)
        assert_int_equal(json_int(json_read_key(str_of(rows[i].text), "k", arena), 0),
                         rows[i].value);
    assert_null(json_read_key(STR("{\"k\":\"\\ud83d\"}"), "k", arena));
    assert_non_null(json_read_key(STR("{\"k\":\"\\ud83d\\ude00\"}"), "k", arena));
}

static void a_document_larger_than_the_arena_is_a_limit(void **state)
{
    (void)state;
    static char text[100001];
    struct err e = {0};
    scoped(arena_free) struct arena *small = arena_new(50000);
    memset(text, '1', sizeof text);
    text[0] = '"';
    text[sizeof text - 1] = '"';
    assert_null(json_read((struct str){text, sizeof text}, small, &e));
    assert_int_equal(e.code, ERR_LIMIT);
}

static void the_text_is_copied(void **state)
{
    (void)state;
    char text[] = "{\"key\":\"value\"}";
    const struct json *v = read_text(text);
    memset(text, 'x', sizeof text - 1);
    assert_true(str_is(json_str(json_get(v, "key")), "value"));
}

/* ---- keys that stand twice ---------------------------------------------- */

static void a_key_that_stands_twice_is_refused(void **state)
{
    (void)state;
    assert_refused("{\"a\":1,\"b\":2,\"a\":1}", "\"a\" occurs twice");
    assert_refused("[{\"x\":{\"\":1,\"\":2}}]", "occurs twice");
    assert_refused("{\"a\":1,\"\\u0061\":2}", "occurs twice");
    assert_refused("{\"k\\u0000a\":1,\"k\\u0000a\":2}", "occurs twice");
    read_text("{\"k\\u0000a\":1,\"k\\u0000b\":2,\"k\":3}");
    read_text("{\"a\":{\"a\":{\"a\":1}},\"A\":2}");
}

/* An object of `n` keys, of which `twice` stands at its end again. */
static void write_keys(struct buf *b, size_t n, size_t twice)
{
    buf_clear(b);
    struct json_writer w = json_writer(b);
    json_open_object(&w);
    for (size_t i = 0; i <= n; i++) {
        char key[40];
        (void)snprintf(key, sizeof key, "key %zu", i < n ? i * 7919 % n : twice);
        json_key(&w, key);
        json_put_int(&w, (int64_t)i);
    }
    json_close(&w);
}

static void also_among_many_keys_wherever_it_stands(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, 8 << 20);
    static const size_t sizes[] = {2, 15, 16, 17, 255, 256, 257, 300, 5000};
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        size_t n = sizes[i], places[] = {0, n / 2, n - 1};
        for (size_t k = 0; k < LENGTH(places); k++) {
            write_keys(&b, n, places[k]);
            assert_refused_str(buf_view(&b), "occurs twice");
        }
        write_keys(&b, n, n);
        assert_int_equal(json_length(read_str(buf_view(&b))), n + 1);
    }
}

static void many_keys_are_not_compared_pairwise(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, 32 << 20);
    write_keys(&b, 200000, 200000); /* pairwise: 20,000,000,000 comparisons */
    assert_int_equal(json_length(read_str(buf_view(&b))), 200001);
}

/* ---- numbers ------------------------------------------------------------ */

static void whole_numbers_are_told_from_others(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_int;
        int64_t value;
    } rows[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"-7", true, -7},
        {"1.0", true, 1},
        {"1e3", true, 1000},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"18446744073709551615", false, 0},
        {"99999999999999999999", false, 0},
        {"1.5", false, 0},
        {"1e300", false, 0},
        {"1e999", false, 0},
        {"9007199254740992.0", true, 9007199254740992},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct json *v = read_text(rows[i].text);
        if (json_is_int(v) != rows[i].is_int)
            fail_msg("%s", rows[i].text);
        assert_int_equal(json_int(v, -42), rows[i].is_int ? rows[i].value : -42);
    }
    assert_false(json_is_int(read_text("\"1\"")));
    assert_false(json_is_int(NULL));
}

static void no_digit_is_lost_on_the_way_through(void **state)
{
    (void)state;
    static const char *const same[] = {"123456789012345678901234567890",
                                       "18446744073709551615",
                                       "-9223372036854775808",
                                       "0.1",
                                       "1e+21",
                                       "1.7976931348623157e+308",
                                       "-1.5",
                                       "9007199254740993",
                                       "1e999"};
    for (size_t i = 0; i < LENGTH(same); i++)
        assert_reads_as(same[i], same[i]);
}

static void doubles_read_back_as_themselves(void **state)
{
    (void)state;
    uint64_t bits = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        double v;
        memcpy(&v, &bits, sizeof v);
        if (!isfinite(v))
            continue;
        char text[64];
        scoped_buf struct buf b = {.ceiling = sizeof text};
        struct json_writer w = json_writer(&b);
        json_put_number(&w, v);
        if (json_number(read_text(buf_cz(&b)), 0) != v)
            fail_msg("%.17g is written as %s", v, buf_cz(&b));
    }
}

/* Times in milliseconds are written by a way of their own. */
static void millionths_are_written_with_the_fewest_digits(void **state)
{
    (void)state;
    uint64_t bits = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        double v = (double)(bits >> (14 + bits % 50)) / 1e6 * (i % 2 ? -1 : 1);
        char text[64], wanted[64];
        scoped_buf struct buf b = {.ceiling = sizeof text};
        struct json_writer w = json_writer(&b);
        json_put_number(&w, v);
        (void)snprintf(wanted, sizeof wanted, "%.15g", v);
        if (fabs(v) >= 1e-4 && fabs(v) < 1e9 && strcmp(wanted, "-0") != 0)
            assert_string_equal(buf_cz(&b), wanted);
    }
}

static void what_is_not_finite_is_written_as_null(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, 100);
    struct json_writer w = json_writer(&b);
    json_open_array(&w);
    json_put_number(&w, NAN);
    json_put_number(&w, INFINITY);
    json_put_number(&w, -0.0);
    json_put_number(&w, 1e15);
    json_close(&w);
    assert_string_equal(buf_cz(&b), "[null,null,0,1000000000000000]");
}

/* ---- looking ------------------------------------------------------------ */

static void looks_at_what_is_not_there_are_safe(void **state)
{
    (void)state;
    const struct json *v = read_text("{\"list\":[1,\"two\"],\"flag\":true}");
    assert_null(json_get(v, "none"));
    assert_null(json_get(json_get(v, "list"), "x"));
    assert_null(json_at(v, 0));
    assert_null(json_at(json_get(v, "list"), 2));
    assert_null(json_get(NULL, "x"));
    assert_true(str_is(json_str(json_get(v, "list")), ""));
    assert_int_equal(json_int(json_get(v, "flag"), 9), 9);
    assert_true(json_bool(json_get(v, "flag"), false));
    assert_true(json_bool(json_get(v, "none"), true));
    assert_true(json_number(json_get(v, "none"), 1.5) == 1.5);
    assert_int_equal(json_length(json_get(v, "flag")), 0);
    struct json_iter it = json_iter(NULL);
    assert_false(json_next(&it));
}

static void containers_are_walked_in_their_order(void **state)
{
    (void)state;
    const struct json *v = read_text("{\"z\":[[],{}],\"a\":{\"k\":[1]},\"m\":3}");
    static const char *const keys[] = {"z", "a", "m"};
    struct json_iter it = json_iter(v);
    for (size_t i = 0; i < 3; i++) {
        assert_true(json_next(&it));
        assert_true(str_is(it.key, keys[i]));
        assert_ptr_equal(it.value, json_get(v, keys[i]));
    }
    assert_false(json_next(&it));
    it = json_iter(json_get(v, "z"));
    assert_true(json_next(&it) && json_is(it.value, JSON_ARRAY) && it.key.n == 0);
    assert_true(json_next(&it) && json_is(it.value, JSON_OBJECT));
    assert_false(json_next(&it));
    assert_ptr_equal(json_at(json_get(v, "z"), 1), it.value);
}

static void values_are_equal_by_content(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool equal;
    } rows[] = {
        {"{\"a\":1,\"b\":[2]}", "{\"b\":[2],\"a\":1.0}", true},
        {"[1,2]", "[2,1]", false},
        {"[1]", "[1,1]", false},
        {"{\"a\":1}", "{\"a\":1,\"b\":1}", false},
        {"{\"a\":1}", "{\"b\":1}", false},
        {"null", "false", false},
        {"null", "null", true},
        {"\"a\"", "\"a\"", true},
        {"\"1\"", "1", false},
        {"0.5", "5e-1", true},
        {"true", "false", false},
        {"9007199254740993", "9007199254740992", false},
        {"18446744073709551615", "18446744073709551614", false},
        {"123456789012345678901", "123456789012345678902", false},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct json *a = read_text(rows[i].a), *b = read_text(rows[i].b);
        if (json_equal(a, b) != rows[i].equal || json_equal(b, a) != rows[i].equal)
            fail_msg("%s and %s", rows[i].a, rows[i].b);
    }
    assert_true(json_equal(NULL, NULL));
    assert_false(json_equal(NULL, read_text("null")));
}

/* ---- writing ------------------------------------------------------------ */

static void commas_and_escapes_are_the_writers(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, 1000);
    struct json_writer w = json_writer(&b);
    json_open_object(&w);
    json_pair_str(&w, "s", STR("q\" b\\ n\n t\t r\r nul\0 e\x1b \xc3\xa9"));
    json_key(&w, "list");
    json_open_array(&w);
    json_put_int(&w, -1);
    json_open_object(&w);
    json_close(&w);
    json_put_bool(&w, true);
    json_put_null(&w);
    json_open_array(&w);
    json_close(&w);
    json_put_cstr(&w, "x");
    json_close(&w);
    json_pair_raw(&w, "raw", STR("{\"a\":1}"));
    json_pair_bool(&w, "no", false);
    json_pair_int(&w, "min", INT64_MIN);
    json_pair_number(&w, "half", 0.5);
    json_pair_cstr(&w, "k\n\"", "");
    json_pair(&w, "absent", NULL);
    json_close(&w);
    assert_string_equal(
        buf_cz(&b), "{\"s\":\"q\\\" b\\\\ n\\n t\\t r\\r nul\\u0000 e\\u001b \xc3\xa9\","
                    "\"list\":[-1,{},true,null,[],\"x\"],\"raw\":{\"a\":1},\"no\":false,"
                    "\"min\":-9223372036854775808,\"half\":0.5,\"k\\n\\\"\":\"\","
                    "\"absent\":null}");
    read_text(buf_cz(&b));
}

/* Wherever in a long text they stand. */
static void all_that_needs_it_is_escaped(void **state)
{
    (void)state;
    for (unsigned c = 0; c < 0x80; c++) {
        for (size_t at = 0; at < 20; at++) {
            char text[21], expected[64];
            memset(text, 'x', 20);
            text[at] = (char)c;
            scoped_buf struct buf b;
            buf_init(&b, 1000);
            struct json_writer w = json_writer(&b);
            json_put_str(&w, (struct str){text, sizeof text - 1});
            const char *usual = c == '\n'   ? "\\n"
                                : c == '\t' ? "\\t"
                                : c == '\r' ? "\\r"
                                : c == '"'  ? "\\\""
                                : c == '\\' ? "\\\\"
                                            : NULL;
            char one[8] = {(char)c};
            if (usual)
                (void)snprintf(one, sizeof one, "%s", usual);
            else if (c < ' ')
                (void)snprintf(one, sizeof one, "\\u%04x", c);
            (void)snprintf(expected, sizeof expected, "\"%.*s%s%.*s\"", (int)at,
                           "xxxxxxxxxxxxxxxxxxxx", one, (int)(19 - at),
                           "xxxxxxxxxxxxxxxxxxxx");
            assert_string_equal(buf_cz(&b), expected);
        }
    }
}

static void bytes_that_are_no_utf8_are_replaced(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, 1000);
    struct json_writer w = json_writer(&b);
    json_put_str(&w, STR("a\xff\"\xc3(\xe2\x82\xac\xed\xa0\x80\xf0\x9f"));
    assert_true(str_is_utf8(buf_view(&b)));
    assert_true(
        str_eq(json_str(read_text(buf_cz(&b))),
               STR("a\xef\xbf\xbd\"\xef\xbf\xbd(\xe2\x82\xac\xef\xbf\xbd\xef\xbf\xbd"
                   "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd")));
}

static void every_value_survives_reading_and_writing(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":[null,true,false,0,-1,1.5,\"\"],\"\":{\"b\":{}},"
                               "\"e\":\"\\u0001\\u0000\"}";
    assert_reads_as(text, text);
    assert_reads_as(" [ ] ", "[]");
}

static void a_value_too_deep_for_where_it_is_put_fails_the_buf(void **state)
{
    (void)state;
    char text[JSON_DEPTH_MAX * 2];
    memset(text, '[', JSON_DEPTH_MAX);
    memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    const struct json *deep = read_str((struct str){text, sizeof text});
    scoped_buf struct buf b;
    buf_init(&b, 1000);
    struct json_writer w = json_writer(&b);
    json_put(&w, deep);
    assert_false(b.failed);
    assert_true(str_eq(buf_view(&b), (struct str){text, sizeof text}));
    buf_clear(&b);
    w = json_writer(&b);
    json_open_object(&w);
    json_pair(&w, "inner", deep);
    json_close(&w);
    assert_true(b.failed);
}

static void a_writer_fails_with_its_buf(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, 8);
    struct json_writer w = json_writer(&b);
    json_open_array(&w);
    json_put_cstr(&w, "too long for it");
    json_put_int(&w, 1);
    json_close(&w);
    assert_true(b.failed);
}

static void an_object_is_had_without_some_of_its_pairs(void **state)
{
    (void)state;
    struct err e = {0};
    const struct json *all = read_text("{\"a\": {\"x\": [1, {\"y\": 2}]}, \"b\": \"B\", "
                                       "\"c\": [{\"d\": null}, 1.5], \"e\": true}");
    const struct json *less =
        json_less(all, (const char *const[]){"b", "e", "none", NULL}, arena, &e);
    assert_true(json_equal(less, read_text("{\"a\": {\"x\": [1, {\"y\": 2}]}, "
                                           "\"c\": [{\"d\": null}, 1.5]}")));
    assert_int_equal(json_length(less), 2);
    assert_true(json_is(json_get(json_at(json_get(less, "c"), 0), "d"), JSON_NULL));
    assert_null(json_get(less, "b"));
    assert_true(json_equal(json_less(all, NULL, arena, &e), all));
    less = json_less(all, (const char *const[]){"a", "b", "c", "e", NULL}, arena, &e);
    assert_true(json_is(less, JSON_OBJECT) && !json_length(less));
    scoped_buf struct buf b;
    buf_init(&b, 1000);
    struct json_writer w = json_writer(&b);
    json_open_object(&w);
    json_pair_int(&w, "n", 1);
    json_put_pairs(&w, all, (const char *const[]){"a", "c", NULL});
    json_put_pairs(&w, json_get(all, "b"), NULL);
    json_close(&w);
    assert_string_equal(buf_cz(&b), "{\"n\":1,\"b\":\"B\",\"e\":true}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_have_their_types),
        cmocka_unit_test(an_object_is_had_without_some_of_its_pairs),
        cmocka_unit_test(what_is_no_json_is_refused_with_its_place),
        cmocka_unit_test(text_must_be_utf8_without_lone_surrogates),
        cmocka_unit_test(escapes_are_read),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(a_bomb_of_brackets_costs_nothing),
        cmocka_unit_test(a_key_is_read_of_what_is_refused),
        cmocka_unit_test(a_document_larger_than_the_arena_is_a_limit),
        cmocka_unit_test(the_text_is_copied),
        cmocka_unit_test(a_key_that_stands_twice_is_refused),
        cmocka_unit_test(also_among_many_keys_wherever_it_stands),
        cmocka_unit_test(many_keys_are_not_compared_pairwise),
        cmocka_unit_test(whole_numbers_are_told_from_others),
        cmocka_unit_test(no_digit_is_lost_on_the_way_through),
        cmocka_unit_test(doubles_read_back_as_themselves),
        cmocka_unit_test(millionths_are_written_with_the_fewest_digits),
        cmocka_unit_test(what_is_not_finite_is_written_as_null),
        cmocka_unit_test(looks_at_what_is_not_there_are_safe),
        cmocka_unit_test(containers_are_walked_in_their_order),
        cmocka_unit_test(values_are_equal_by_content),
        cmocka_unit_test(commas_and_escapes_are_the_writers),
        cmocka_unit_test(all_that_needs_it_is_escaped),
        cmocka_unit_test(bytes_that_are_no_utf8_are_replaced),
        cmocka_unit_test(every_value_survives_reading_and_writing),
        cmocka_unit_test(a_value_too_deep_for_where_it_is_put_fails_the_buf),
        cmocka_unit_test(a_writer_fails_with_its_buf),
    };
    return cmocka_run_group_tests(tests, make_arena, free_arena);
}
