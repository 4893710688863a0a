/* Text by others stays within its place in ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "functions/functions.h"
#include "functions_api/function_text.h"
#include "json/json.h"

static const char *shown(struct str text, size_t most, bool type)
{
    static struct buf out;
    buf_done(&out);
    buf_init(&out, 1 << 16);
    if (type)
        words_put_type(text, most, &out);
    else
        words_put(text, most, &out);
    return buf_cz(&out);
}
#define words(s) shown(str_of(s), 100, false)
#define type(s) shown(str_of(s), 100, true)

static void words_stay_on_their_line(void **state)
{
    (void)state;
    assert_string_equal(words("  two\n\n  lines\t here "), "two lines here");
    assert_string_equal(words("### head"), "head");
    assert_string_equal(words("- > `x`"), "x'");
    assert_string_equal(words("a */ b /* c"), "a * / b /* c");
    assert_string_equal(words("a\u2028b\u2029c\xc2\x85"
                              "d"),
                        "a b c d");
    assert_string_equal(words(""), "");
}

static void what_is_not_seen_is_left_out(void **state)
{
    (void)state;
    assert_string_equal(words("a\u202eb\u2066c\u200bd\ufeff"), "abcd");
    assert_string_equal(words("x\U000e0041\U000e0042"), "x");
    /* Joiners of letters and emoji are visible. */
    assert_string_equal(words("a\u200db"), "a\u200db");
}

static void long_words_end_in_dots(void **state)
{
    (void)state;
    assert_string_equal(shown(STR("abcdef"), 3, false), "abc...");
    assert_string_equal(shown(STR("abc"), 3, false), "abc");
    assert_string_equal(shown(STR("aä\u20acb"), 2, false), "aä...");
}

static void types_are_told_as_they_are(void **state)
{
    static const char *const types[] = {
        "string",
        "Note[]",
        "Promise<Map<string, number[]>>",
        "{a: string; b?: number}",
        "(x: number, y: string) => void",
        "'a;b' | \"c)\" | `d${string}`",
        "[a: string, b?: number]",
        "A extends B ? C : D",
    };
    (void)state;
    for (size_t i = 0; i < LENGTH(types); i++)
        assert_string_equal(type(types[i]), types[i]);
    assert_string_equal(type("string |\n number"), "string |  number");
}

static void a_type_that_would_leave_its_place_is_any(void **state)
{
    static const char *const types[] = {
        "",           "string; } evil", "string, evil: number",
        "string = 1", "string) { }",    "{a: string",
        "string /* ", "string // x",    "'open",
        "a\\u0062",   "{(})",
    };
    (void)state;
    for (size_t i = 0; i < LENGTH(types); i++)
        assert_string_equal(type(types[i]), "any");
    char deep[401];
    memset(deep, '(', 200);
    memset(deep + 200, ')', 200);
    deep[400] = '\0';
    assert_string_equal(shown(str_of(deep), 1000, true), "any");
    assert_string_equal(shown(STR("Promise<string>"), 5, true), "any");
    assert_string_equal(shown((struct str){"a\0b", 3}, 100, true), "any");
}

static void names_are_identifiers(void **state)
{
    (void)state;
    assert_true(words_are_name(STR("dailyNote_2$")));
    assert_true(words_are_name(STR("größe")));
    assert_false(words_are_name(STR("")));
    assert_false(words_are_name(STR("2x")));
    assert_false(words_are_name(STR("a b")));
    assert_false(words_are_name(STR("a()")));
}

static const char *usage(const char *returns, const char *args)
{
    static struct buf out;
    static struct arena *a;
    struct err e = {0};
    buf_done(&out);
    buf_init(&out, 1 << 16);
    arena_free(a);
    a = arena_new(1 << 20);
    const struct function_parameter parameters[] = {
        {.name = STR("date"), .type = STR("string")},
        {.name = STR("most"), .type = STR("number"), .optional = true}};
    const struct function_example example = {.args = args ? json_read(str_of(args), a, &e)
                                                          : NULL};
    const struct function fn = {.name = STR("f"),
                                .return_type = str_of(returns),
                                .parameters = parameters,
                                .parameter_count = 2,
                                .examples = &example,
                                .example_count = args != NULL};
    function_put_usage(&fn, &out);
    arena_free(take(a));
    return buf_cz(&out);
}

static void a_call_with_any_number_of_arguments_is_shown_with_one(void **state)
{
    (void)state;
    const struct function_parameter rest = {.name = STR("...xs"),
                                            .type = STR("number[]")};
    const struct function fn = {.name = STR("f"),
                                .return_type = STR("void"),
                                .parameters = &rest,
                                .parameter_count = 1};
    scoped_buf struct buf out;
    buf_init(&out, 1 << 16);
    function_put_usage(&fn, &out);
    assert_string_equal(buf_cz(&out), "customFunctions.f(1);");
}

static void a_call_is_shown_as_code_would_make_it(void **state)
{
    (void)state;
    assert_string_equal(usage("Promise<Note>", "[\"2024-01-15\", 3]"),
                        "const note = await customFunctions.f('2024-01-15', 3);");
    assert_string_equal(usage("Note[]", "{\"most\": 2, \"date\": \"it's\"}"),
                        "const notes = customFunctions.f(\"it's\", 2);");
    assert_string_equal(usage("void", NULL), "customFunctions.f('2024-01-15');");
    assert_string_equal(usage("Promise<void>", "{\"date\":\"x\"}"),
                        "await customFunctions.f('x');");
    assert_string_equal(usage("{a: number}[]", NULL),
                        "const results = customFunctions.f('2024-01-15');");
    assert_string_equal(usage("Promise<string>", NULL),
                        "const result = await customFunctions.f('2024-01-15');");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_stay_on_their_line),
        cmocka_unit_test(what_is_not_seen_is_left_out),
        cmocka_unit_test(long_words_end_in_dots),
        cmocka_unit_test(types_are_told_as_they_are),
        cmocka_unit_test(a_type_that_would_leave_its_place_is_any),
        cmocka_unit_test(names_are_identifiers),
        cmocka_unit_test(a_call_is_shown_as_code_would_make_it),
        cmocka_unit_test(a_call_with_any_number_of_arguments_is_shown_with_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
