/* Arguments of a call as command-line words and input. */
#include "tools/fixture_test.h"

static struct err e;

/* The words for a call, with '|' between them. */
static const char *words(const char *name, const char *arguments)
{
    const struct tool *t = tool_named(name);
    struct tool_stage s = {.tool = t, .arguments = value(arguments)};
    struct command c;
    e = (struct err){0};
    bool ok = command_make(&s, false, scratch, &c, &e);
    scoped_buf struct buf all;
    buf_init(&all, 65536);
    for (size_t i = 0; ok && i < c.count; i++)
        buf_printf(&all, "%s%s", i ? "|" : "", c.words[i]);
    if (ok && c.has_input)
        buf_printf(&all, "<%.*s", STR_ARGS(c.input));
    tool_release(tools, t);
    return ok ? arena_copy(scratch, buf_cz(&all), all.n, &e) : e.msg;
}

static void the_seeds_base64_is_called_by_position(void **state)
{
    (void)state;
    assert_string_equal(words("base64", "{'mode': 'encode', 'input': 'Hello, World!'}"),
                        "base64|encode|Hello, World!");
    assert_string_equal(words("base64", "{'input': '', 'mode': 'decode'}"),
                        "base64|decode|");
}

static void the_seeds_grep_is_called_by_name(void **state)
{
    (void)state;
    assert_string_equal(words("grep", "{'pattern': 'a b', 'input': 'x'}"),
                        "grep|--pattern|a b|--input|x");
    assert_string_equal(words("grep", "{'input': 'x', 'flags': '-i', 'pattern': 'a'}"),
                        "grep|--input|x|--flags|-i|--pattern|a");
    assert_string_equal(words("grep", "{'pattern': 'a', 'input': 'x', 'flags': null}"),
                        "grep|--pattern|a|--input|x");
}

static void json_goes_to_standard_input_with_defaults(void **state)
{
    (void)state;
    assert_string_equal(words("object", "{'a': 'x'}"), "object<{\"a\":\"x\",\"n\":7}");
    assert_string_equal(words("object", "{'list': [1, 2.5], 'n': 0}"),
                        "object<{\"list\":[1,2.5],\"n\":0}");
    assert_string_equal(words("object", "{}"), "object<{\"n\":7}");
}

static void flags_and_positions_stand_where_the_manifest_says(void **state)
{
    (void)state;
    assert_string_equal(
        words("placed", "{'last': 'z', 'keys': [1, 2], 'first': ['a', 'b'], 'ignore': "
                        "true, 'color': 'always', 'words': ['x', 'y']}"),
        "placed|-k|1|-k|2|-i|--color=always|--words|x,y|--plain|3|a|b|z");
    assert_string_equal(words("placed", "{'last': '', 'ignore': false, 'plain': 1.5}"),
                        "placed|--plain|1.5|");
}

static void a_numbers_choices_may_be_spelt_as_strings(void **state)
{
    (void)state;
    assert_string_equal(words("placed", "{'last': 'x', 'level': 1, 'plain': 0}"),
                        "placed|--level|1|--plain|0|x");
    assert_string_equal(words("placed", "{'last': 'x', 'level': 2.50, 'plain': 0}"),
                        "placed|--level|2.5|--plain|0|x");
    assert_string_equal(words("placed", "{'last': 'x', 'level': '2.5', 'plain': 0}"),
                        "placed|--level|2.5|--plain|0|x");
}

static void an_object_in_an_array_is_a_word_of_json(void **state)
{
    (void)state;
    assert_string_equal(
        words("placed", "{'last': 'x', 'rows': [{'a': [1, 'b']}, {}], 'plain': 0}"),
        "placed|-r|{\"a\":[1,\"b\"]}|-r|{}|--plain|0|x");
}

static void a_parameter_may_be_standard_input(void **state)
{
    (void)state;
    assert_string_equal(
        words("fed", "{'input': 'a text', 'pattern': 'a', 'number': true}"),
        "fed|--pattern|a|--number<a text");
    assert_string_equal(words("fed", "{'input': '', 'pattern': 'a'}"),
                        "fed|--pattern|a<");
    /* Piped input or stdin replaces it. */
    assert_string_equal(words("fed", "{'pattern': 'a', 'stdin': 'other'}"),
                        "fed|--pattern|a<other");
    assert_non_null(
        strstr(words("fed", "{'pattern': 'a'}"), "arguments.input is missing"));
    assert_non_null(strstr(words("fed", "{'pattern': 'a', 'input': 'x', 'stdin': 'y'}"),
                           "arguments.stdin gives, too"));
}

static void args_stand_behind_and_nothing_else_is_required(void **state)
{
    (void)state;
    assert_string_equal(words("base64", "{'args': ['-d', 5], 'stdin': 'aGk='}"),
                        "base64|-d|5<aGk=");
    assert_string_equal(words("placed", "{'args': ['w'], 'ignore': true}"),
                        "placed|-i|w");
    assert_string_equal(words("probe", "{'args': [], 'cwd': '/tmp', 'files': {}, "
                                       "'timeout': 5, 'stdin': {'base64': 'aGk='}}"),
                        "probe<hi");
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    const struct {
        const char *tool, *arguments, *says[3];
    } rows[] = {
        {"base64", "{'mode': 'encode', 'inptu': 'x'}", {"'inptu'", "mode, input, args"}},
        {"base64",
         "{'mode': 'up', 'input': 'x'}",
         {"arguments.mode", "encode", "decode"}},
        {"base64", "{'mode': 'encode', 'input': 5}", {"arguments.input", "string"}},
        {"base64", "{'mode': 'encode'}", {"arguments.input is missing", "The text"}},
        {"base64", "{'mode': 'encode', 'input': null}", {"arguments.input is missing"}},
        {"object", "{'list': [1, 'x']}", {"arguments.list[1]", "number"}},
        {"object", "{'a': 'x', 'stdin': 'y'}", {"arguments.stdin"}},
        {"placed", "{'last': 'x', 'color': 'red'}", {"arguments.color", "always"}},
        {"placed", "{'last': 'x', 'level': 2}", {"arguments.level", "1, 2.5"}},
        {"placed", "{'last': 'x', 'level': true}", {"arguments.level", "1, 2.5"}},
        {"placed", "{'last': 'x', 'rows': ['a']}", {"arguments.rows[0]", "object"}},
        {"probe", "{'args': 'x'}", {"arguments.args is string", "array of strings"}},
        {"probe", "{'args': [{}]}", {"arguments.args holds object"}},
        {"probe", "{'args': ['a\\u0000b']}", {"NUL"}},
        {"probe", "{'stdin': 5}", {"arguments.stdin is number", "base64"}},
        {"probe", "{'stdin': {'base64': '?'}}", {"arguments.stdin"}},
        {"probe", "[]", {"array", "object"}},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *said = words(rows[i].tool, rows[i].arguments);
        if (e.code != ERR_INVALID)
            fail_msg("%s: %s", rows[i].arguments, said);
        for (size_t k = 0; k < 3 && rows[i].says[k]; k++)
            if (!strstr(said, rows[i].says[k]))
                fail_msg("\"%s\" does not say %s", said, rows[i].says[k]);
    }
}

static void too_many_words_are_refused(void **state)
{
    (void)state;
    scoped_buf struct buf text;
    buf_init(&text, 4 << 20);
    buf_cstr(&text, "{'args': ['");
    for (size_t i = 0; i < WASI_STRINGS_MAX / 64; i++)
        buf_printf(&text, "%064zu", i);
    buf_cstr(&text, "']}");
    assert_non_null(strstr(words("probe", buf_cz(&text)), "1048576 bytes"));
    assert_int_equal(e.code, ERR_LIMIT);
}

static void a_call_says_files_folder_and_timeout(void **state)
{
    (void)state;
    const struct tool *t = tool_named("probe");
    struct tool_world w = {0};
    struct tool_stage s = {.timeout_ms = 500};
    const struct json *v = value("{'files': {'a/b': 'text', 'c': {'base64': 'AP8='}}, "
                                 "'cwd': 'a', 'timeout': 100}");
    e = (struct err){0};
    assert_true(tool_call_read(t, v, scratch, &w, &s, &e));
    assert_int_equal(w.file_count, 2);
    assert_true(str_is(w.files[0].name, "a/b") && str_is(w.files[0].bytes, "text"));
    assert_memory_equal(w.files[1].bytes.at, "\0\xff", 2);
    assert_string_equal(w.folder, "a");
    assert_int_equal(s.timeout_ms, 100);
    assert_true(tool_call_read(t, value("{'timeout': 700}"), scratch, &w, &s, &e));
    assert_int_equal(s.timeout_ms, 100);
    assert_true(tool_call_read(t, value("{'files': {'d': ''}}"), scratch, &w, &s, &e));
    assert_int_equal(w.file_count, 3);
    assert_true(str_is(w.files[0].bytes, "text") && str_is(w.files[2].name, "d"));
    const char *wrong[] = {"{'timeout': 0}", "{'timeout': 1.5}", "{'cwd': ''}",
                           "{'cwd': 1}",     "{'files': []}",    "{'files': {'a': 1}}"};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        e = (struct err){0};
        assert_false(tool_call_read(t, value(wrong[i]), scratch, &w, &s, &e));
        assert_int_equal(e.code, ERR_INVALID);
    }
    tool_release(tools, t);
}

static void the_schema_tells_what_is_accepted(void **state)
{
    (void)state;
    const struct tool *t = tool_named("base64");
    scoped_buf struct buf text;
    buf_init(&text, 65536);
    struct json_writer w = json_writer(&text);
    tool_input_schema(t, &w);
    tool_release(tools, t);
    e = (struct err){0};
    const struct json *schema = json_read(buf_view(&text), scratch, &e);
    assert_non_null(schema);
    /* Not all clients' APIs take these; tools_check() refuses what no parameter is. */
    assert_null(json_get(schema, "additionalProperties"));
    assert_null(json_get(json_get(json_get(schema, "properties"), "stdin"), "type"));
    const char *fine[] = {"{'mode': 'encode', 'input': 'x'}",
                          "{'args': ['-d'], 'stdin': {'base64': ''}, 'timeout': 5}"};
    const char *wrong[] = {"{'mode': 'up'}", "{'stdin': 1}", "{'args': [1]}"};
    for (size_t i = 0; i < LENGTH(fine); i++)
        assert_true(json_schema_check(schema, value(fine[i]), "arguments", &e));
    for (size_t i = 0; i < LENGTH(wrong); i++)
        assert_false(json_schema_check(schema, value(wrong[i]), "arguments", &e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_seeds_base64_is_called_by_position),
        cmocka_unit_test(the_seeds_grep_is_called_by_name),
        cmocka_unit_test(json_goes_to_standard_input_with_defaults),
        cmocka_unit_test(flags_and_positions_stand_where_the_manifest_says),
        cmocka_unit_test(a_numbers_choices_may_be_spelt_as_strings),
        cmocka_unit_test(an_object_in_an_array_is_a_word_of_json),
        cmocka_unit_test(a_parameter_may_be_standard_input),
        cmocka_unit_test(args_stand_behind_and_nothing_else_is_required),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(too_many_words_are_refused),
        cmocka_unit_test(a_call_says_files_folder_and_timeout),
        cmocka_unit_test(the_schema_tells_what_is_accepted),
    };
    return cmocka_run_group_tests(tests, open_tools, close_tools);
}
