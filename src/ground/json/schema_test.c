/* The schema check: what is allowed, and messages that say what would be accepted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/arena_test.h"
#include "json/json.h"

static const struct json *read_text(const char *text)
{
    struct err e = {0};
    const struct json *v = json_read(str_of(text), arena, &e);
    if (!v)
        fail_msg("%s: %s", text, e.msg);
    return v;
}

struct row {
    const char *schema, *value;
    const char *why; /* the whole message; NULL: it is valid */
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct err e = {0};
        bool ok = json_schema_check(read_text(rows[i].schema), read_text(rows[i].value),
                                    "arguments", &e);
        if (ok != !rows[i].why)
            fail_msg("%s %s: %s", rows[i].schema, rows[i].value, ok ? "allowed" : e.msg);
        assert_int_equal(e.code, ok ? ERR_NONE : ERR_INVALID);
        assert_string_equal(e.msg, ok ? "" : rows[i].why);
    }
}
#define TITLED \
    "{\"const\":\"#f00\",\"title\":\"Red\"},{\"const\":\"#0f0\",\"title\":\"Green\"}"
#define CHECK(rows) check_rows(rows, LENGTH(rows))

static void types_are_told_apart(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"{\"type\":\"integer\"}", "1", NULL},
        {"{\"type\":\"integer\"}", "1.0", NULL},
        {"{\"type\":\"integer\"}", "1.5", "arguments must be integer, not number"},
        {"{\"type\":\"integer\"}", "1e30", "arguments must be integer, not number"},
        {"{\"type\":\"number\"}", "1.5", NULL},
        {"{\"type\":\"number\"}", "\"1\"", "arguments must be number, not string"},
        {"{\"type\":\"boolean\"}", "true", NULL},
        {"{\"type\":\"boolean\"}", "0", "arguments must be boolean, not number"},
        {"{\"type\":\"object\"}", "[]", "arguments must be object, not array"},
        {"{\"type\":[\"string\",\"null\"]}", "null", NULL},
        {"{\"type\":[\"string\",\"null\"]}", "1",
         "arguments must be string or null, not number"},
        {"{}", "1", NULL},
        {"{\"format\":\"x\",\"unknown\":{}}", "1", NULL},
        {"true", "1", NULL},
    };
    CHECK(rows);
}

static void the_place_is_named(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"{\"properties\":{\"a\":{\"items\":{\"properties\":{\"b\":{\"type\":\"string\"}}}}}}",
         "{\"a\":[{\"b\":\"x\"},{\"b\":1}]}",
         "arguments.a[1].b must be string, not number"},
        {"{\"items\":{\"items\":{\"type\":\"null\"}}}", "[[],[null,2]]",
         "arguments[1][1] must be null, not number"},
    };
    CHECK(rows);
}

static void objects_have_the_fields_they_need_and_no_others(void **state)
{
    (void)state;
    static const char strict[] =
        "{\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"a\"],"
        "\"additionalProperties\":false}";
    const struct row rows[] = {
        {strict, "{\"a\":1}", NULL},
        {strict, "{\"a\":null,\"b\":2}", NULL},
        {strict, "{\"b\":1}", "arguments needs the field 'a'"},
        {strict, "{\"b\":1,\"A\":1}",
         "arguments needs the field 'a' and has no field 'A'; known are: a, b"},
        {strict, "{\"a\":1,\"c\":1}", "arguments has no field 'c'; known are: a, b"},
        {strict, "{\"a\":1,\"A\":1}",
         "arguments has no field 'A'; known are: a, b. Did you mean 'a'?"},
        {strict, "{\"a\":1,\"a\\u0000\":1}",
         "arguments has no field 'a'; known are: a, b"},
        {strict, "[]", NULL}, /* not an object: `type` says so, if it is to */
        {"{\"additionalProperties\":{\"type\":\"string\"}}", "{\"x\":\"y\"}", NULL},
        {"{\"additionalProperties\":{\"type\":\"string\"}}", "{\"x\":1}",
         "arguments.x must be string, not number"},
        {"{\"additionalProperties\":true}", "{\"x\":1}", NULL},
        {"{\"properties\":{}}", "{\"x\":1}", NULL},
    };
    CHECK(rows);
}

static void lists_of_values_are_held_to(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"{\"enum\":[\"js\",\"ts\",3,null]}", "\"ts\"", NULL},
        {"{\"enum\":[\"js\",\"ts\",3,null]}", "3.0", NULL},
        {"{\"enum\":[\"js\",\"ts\",3,null]}", "null", NULL},
        {"{\"enum\":[\"js\",\"ts\",3,null]}", "\"py\"",
         "arguments must be one of \"js\", \"ts\", 3, null, not \"py\""},
        {"{\"const\":{\"a\":[1]}}", "{\"a\":[1]}", NULL},
        {"{\"const\":1}", "2", "arguments is not the one value that is accepted"},
        {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"integer\"}]}", "1", NULL},
        {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"integer\"}]}", "true",
         "arguments must be string, not boolean"},
        {"{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"integer\"}]}", "1", NULL},
        {"{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"integer\"}]}", "true",
         "arguments must be string, not boolean"},
        {"{\"oneOf\":[{\"minimum\":1},{\"maximum\":3}]}", "2",
         "arguments fits more than one of the forms that exclude each other"},
        {"{\"oneOf\":[{\"minimum\":1},{\"maximum\":3}]}", "4", NULL},
        {"{\"oneOf\":[" TITLED "]}", "\"#0f0\"", NULL},
        {"{\"oneOf\":[" TITLED "]}", "\"Green\"",
         "arguments must be one of \"#f00\", \"#0f0\", not \"Green\""},
        {"{\"items\":{\"anyOf\":[" TITLED "]}}", "[\"#f00\",\"#0f0\"]", NULL},
        {"{\"items\":{\"anyOf\":[" TITLED "]}}", "[\"#f00\",\"#00f\"]",
         "arguments[1] must be one of \"#f00\", \"#0f0\", not \"#00f\""},
    };
    CHECK(rows);
}

static void ranges_and_lengths_include_their_ends(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"{\"minimum\":1,\"maximum\":3}", "1", NULL},
        {"{\"minimum\":1,\"maximum\":3}", "3", NULL},
        {"{\"minimum\":1,\"maximum\":3}", "0", "arguments is 0, at least 1 is accepted"},
        {"{\"minimum\":1,\"maximum\":3}", "3.5",
         "arguments is 3.5, at most 3 is accepted"},
        {"{\"maximum\":3}", "1e999", "arguments is inf, at most 3 is accepted"},
        {"{\"maximum\":3}", "99999999999999999999999",
         "arguments is 1e+23, at most 3 is accepted"},
        {"{\"minLength\":1}", "\"\"",
         "arguments has a length of 0, at least 1 is accepted"},
        {"{\"maxLength\":3}", "\"\\u20ac\\ud83d\\udd14x\"",
         NULL}, /* characters, not bytes */
        {"{\"maxLength\":3}", "\"abcd\"",
         "arguments has a length of 4, at most 3 is accepted"},
        {"{\"minItems\":1}", "[]", "arguments has a length of 0, at least 1 is accepted"},
        {"{\"maxItems\":1}", "[1,2]",
         "arguments has a length of 2, at most 1 is accepted"},
        {"{\"minimum\":5}", "\"1\"", NULL}, /* says nothing about strings */
    };
    CHECK(rows);
}

static void messages_stay_short_and_valid_whatever_is_sent(void **state)
{
    (void)state;
    scoped_buf struct buf value;
    buf_init(&value, 1 << 20);
    struct json_writer w = json_writer(&value);
    json_open_object(&w);
    scoped_buf struct buf key;
    buf_init(&key, 1 << 16);
    for (int i = 0; i < 3000; i++)
        buf_cstr(&key, "\xf0\x9f\x94\x94\n");
    json_key_str(&w, buf_view(&key));
    json_put_int(&w, 1);
    json_close(&w);
    static const char *const schemas[] = {
        "{\"additionalProperties\":false}",
        "{\"additionalProperties\":{\"type\":\"string\"}}",
        "{\"additionalProperties\":{\"enum\":[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"]}}",
    };
    for (size_t i = 0; i < LENGTH(schemas); i++) {
        struct err e = {0};
        assert_false(json_schema_check(read_text(schemas[i]), read_text(buf_cz(&value)),
                                       "arguments", &e));
        assert_true(str_is_utf8(str_of(e.msg)));
        assert_null(strchr(e.msg, '\n'));
        assert_true(str_starts(str_of(e.msg), "arguments"));
    }
}

static void a_place_deep_inside_is_cut_not_dropped(void **state)
{
    (void)state;
    scoped_buf struct buf schema, value;
    buf_init(&schema, 1 << 20);
    buf_init(&value, 1 << 20);
    for (int i = 0; i < 40; i++) {
        buf_cstr(&schema, "{\"properties\":{\"inner\":");
        buf_cstr(&value, "{\"inner\":");
    }
    buf_cstr(&schema, "{\"type\":\"string\"}");
    buf_cstr(&value, "1");
    for (int i = 0; i < 40; i++) {
        buf_cstr(&schema, "}}");
        buf_cstr(&value, "}");
    }
    struct err e = {0};
    assert_false(json_schema_check(read_text(buf_cz(&schema)), read_text(buf_cz(&value)),
                                   "arguments", &e));
    assert_true(str_starts(str_of(e.msg), "arguments.inner.inner"));
    assert_non_null(strstr(e.msg, "must be string"));
}

static void what_is_missing_is_called_absent(void **state)
{
    (void)state;
    struct err e = {0};
    assert_false(
        json_schema_check(read_text("{\"type\":\"object\"}"), NULL, "params", &e));
    assert_string_equal(e.msg, "params must be object, not absent");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_told_apart),
        cmocka_unit_test(the_place_is_named),
        cmocka_unit_test(objects_have_the_fields_they_need_and_no_others),
        cmocka_unit_test(lists_of_values_are_held_to),
        cmocka_unit_test(ranges_and_lengths_include_their_ends),
        cmocka_unit_test(messages_stay_short_and_valid_whatever_is_sent),
        cmocka_unit_test(a_place_deep_inside_is_cut_not_dropped),
        cmocka_unit_test(what_is_missing_is_called_absent),
    };
    return cmocka_run_group_tests(tests, make_arena, free_arena);
}
