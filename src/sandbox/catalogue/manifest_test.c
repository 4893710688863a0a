/* Manifests: what is right, what is wrong and where, and what is made of one. */
#include "catalogue/manifest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct tool_notes notes;
static struct buf clean, text;
static struct arena *arena;
static struct err e;

static int begin(void **state)
{
    (void)state;
    tool_notes_init(&notes);
    buf_init(&clean, MANIFEST_MAX);
    buf_init(&text, 2 * MANIFEST_MAX);
    arena = arena_new(MANIFEST_MEMORY);
    e = (struct err){0};
    return 0;
}

static int end(void **state)
{
    (void)state;
    tool_notes_done(&notes);
    buf_done(&clean);
    buf_done(&text);
    arena_free(arena);
    return 0;
}

/* A manifest with these parameters and these further fields, spelt with ' for ". */
static struct str manifest(const char *parameters, const char *more)
{
    buf_printf(&text,
               "{'name':'probe','version':'1.0.0','description':'d','category':'c',"
               "'parameters':{'type':'object','properties':%s},"
               "'returns':{'type':'string','description':'r'},"
               "'execution':{'argStyle':'cli','fileAccess':'read'}%s}",
               parameters, more);
    for (size_t i = 0; i < text.n; i++)
        text.at[i] = text.at[i] == '\'' ? '"' : text.at[i];
    return buf_view(&text);
}

static bool check(struct str m)
{
    return manifest_check(m, &notes, &clean, &e);
}

static void assert_note(struct buf *list, const char *line)
{
    if (!strstr(buf_cz(list), line))
        fail_msg("\"%s\" is not among:\n%s", line, buf_cz(list));
}

static struct tool filled(const char *parameters, const char *more)
{
    struct tool t = {0};
    if (!check(manifest(parameters, more)))
        fail_msg("%s", e.msg);
    const struct json *m = json_read(buf_view(&clean), arena, &e);
    assert_non_null(m);
    assert_true(manifest_fill(m, arena, &t, &e));
    return t;
}

static void what_is_right_passes_without_a_word(void **state)
{
    (void)state;
    struct tool t = filled("{}", "");
    assert_int_equal(notes.error_count, 0);
    assert_int_equal(notes.warning_count, 0);
    assert_string_equal(t.name, "probe");
    assert_string_equal(t.version, "1.0.0");
    assert_int_equal(t.execution.style, TOOL_CLI);
    assert_int_equal(t.execution.access, TOOL_READ);
    assert_int_equal(t.execution.memory_bytes, 64 << 20);
    assert_int_equal(t.execution.timeout_ms, 30000);
    assert_int_equal(t.parameter_count, 0);
    assert_null(t.license);
    assert_false(t.returns_object);
}

static void a_mark_of_utf8_before_it_is_passed_over(void **state)
{
    (void)state;
    buf_cstr(&text, "\xef\xbb\xbf");
    assert_true(check(manifest("{}", "")));
}

static void parameters_say_how_they_are_spelt(void **state)
{
    (void)state;
    struct tool t = filled("{'in':{'type':'string','description':'i','position':1},"
                           "'n':{'type':'number','description':'n','enum':['1','2'],"
                           "'default':1,'flag':'-n'},"
                           "'all':{'type':'array','description':'a',"
                           "'items':{'type':'number'}}}",
                           "");
    assert_int_equal(t.parameter_count, 3);
    assert_int_equal(t.parameters[0].position, 1);
    assert_false(t.parameters[0].required);
    assert_string_equal(t.parameters[1].flag, "-n");
    assert_int_equal(t.parameters[1].type, TOOL_NUMBER);
    assert_int_equal(json_int(json_at(t.parameters[1].choices, 1), 0), 2);
    assert_int_equal(json_int(t.parameters[1].default_value, 0), 1);
    assert_int_equal(t.parameters[2].type, TOOL_ARRAY);
    assert_int_equal(t.parameters[2].items, TOOL_NUMBER);
}

static void what_nobody_knows_is_left_out_with_a_warning(void **state)
{
    (void)state;
    struct tool t = filled("{}", ",'colour':'red','license':'MIT'");
    assert_int_equal(notes.warning_count, 1);
    assert_note(&notes.warnings, "colour is not known, and left out");
    assert_null(strstr(buf_cz(&clean), "colour"));
    assert_string_equal(t.license, "MIT");
}

static void all_that_is_wrong_is_told_at_once_by_its_place(void **state)
{
    (void)state;
    buf_cstr(&text, "{\"name\":\"Bad Name\",\"version\":1,\"category\":\"c\","
                    "\"parameters\":{\"type\":\"object\",\"properties\":{\"p\":{\"type\":"
                    "\"date\",\"description\":\"d\"}}},"
                    "\"returns\":{\"type\":\"string\",\"description\":\"r\"},"
                    "\"execution\":{\"argStyle\":\"shell\",\"fileAccess\":\"read\","
                    "\"memoryLimit\":1099511627776,\"timeout\":0}}");
    assert_false(check(buf_view(&text)));
    assert_int_equal(e.code, ERR_INVALID);
    assert_int_equal(notes.error_count, 7);
    assert_note(&notes.errors, "name is \"Bad Name\"; a string");
    assert_note(&notes.errors, "version is 1; a string");
    assert_note(&notes.errors, "description is missing");
    assert_note(&notes.errors, "parameters.properties.p.type is \"date\"; \"string\"");
    assert_note(&notes.errors, "execution.argStyle is \"shell\"; \"cli\"");
    assert_note(&notes.errors, "execution.memoryLimit is 1099511627776; a whole number");
    assert_note(&notes.errors, "execution.timeout is 0; a whole number");
}

static void a_schema_does_not_say_all(void **state)
{
    (void)state;
    assert_false(
        check(manifest("{'a':{'type':'number','description':'d','default':'x'},"
                       "'b':{'type':'string','description':'d','position':1},"
                       "'c':{'type':'string','description':'d','position':1},"
                       "'f':{'type':'string','description':'d','position':2,'flag':'-f'},"
                       "'g':{'type':'string','description':'d','enum':['x','y'],"
                       "'default':'z'}}",
                       "")));
    assert_note(&notes.errors, "parameters.properties.a.default is \"x\"; a number");
    assert_note(&notes.errors, "parameters.properties.c has the position of another");
    assert_note(&notes.errors, "parameters.properties.f has a flag and a position");
    assert_note(&notes.errors,
                "parameters.properties.g.default is \"z\"; \"x\" or \"y\"");
    assert_int_equal(notes.error_count, 4);
}

static void names_that_not_all_clients_take_are_told(void **state)
{
    (void)state;
    struct tool t = filled("{'max.count':{'type':'string','description':'d'},"
                           "'9lives':{'type':'string','description':'d'},"
                           "'dry-run':{'type':'string','description':'d'},"
                           "'max_count9':{'type':'string','description':'d'}}",
                           "");
    assert_int_equal(notes.warning_count, 3);
    assert_note(&notes.warnings, "parameters.properties.dry-run is a name that not all");
    assert_false(tool_suits_clients(&t));
    t.parameters += 3;
    t.parameter_count = 1;
    assert_true(tool_suits_clients(&t));
    char name[TOOL_CLIENTS_NAME_MAX + 2];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    t.name = name;
    assert_false(tool_suits_clients(&t));
    name[sizeof name - 2] = 0;
    assert_true(tool_suits_clients(&t));
}

static void what_is_required_must_be_a_parameter(void **state)
{
    (void)state;
    buf_cstr(&text, "{\"name\":\"probe\",\"version\":\"1\",\"description\":\"d\","
                    "\"category\":\"c\",\"parameters\":{\"type\":\"object\","
                    "\"properties\":{},\"required\":[\"file\"]},"
                    "\"returns\":{\"type\":\"string\",\"description\":\"r\"},"
                    "\"execution\":{\"argStyle\":\"cli\",\"fileAccess\":\"none\"}}");
    assert_false(check(buf_view(&text)));
    assert_note(&notes.errors,
                "parameters.required[0] is \"file\"; a name of parameters.properties");
}

static void a_nul_within_a_text_is_no_end_of_it(void **state)
{
    (void)state;
    assert_false(check(manifest("{}", ",'license':'MIT\\u0000x'")));
    assert_note(&notes.errors, "license is");
}

static void what_is_no_json_and_what_is_too_long_is_refused(void **state)
{
    (void)state;
    assert_false(check(STR("{\"name\": ")));
    assert_int_equal(e.code, ERR_INVALID);
    assert_non_null(strstr(e.msg, "not JSON that can be parsed"));
    e = (struct err){0};
    char *long_one = mem_new(MANIFEST_MAX + 1);
    memset(long_one, ' ', MANIFEST_MAX + 1);
    assert_false(check((struct str){long_one, MANIFEST_MAX + 1}));
    assert_int_equal(e.code, ERR_LIMIT);
    free(long_one);
}

/* A person sees a number of lines, however many there are; the rest are counted. */
static void errors_without_end_are_counted_and_cut(void **state)
{
    (void)state;
    buf_cstr(&text, "{\"parameters\":{\"type\":\"object\",\"properties\":{");
    for (int i = 0; i < 90; i++)
        buf_printf(&text, "%s\"p%d\":{\"type\":\"%0150d\"}", i ? "," : "", i, i);
    buf_cstr(&text, "}}}");
    assert_false(check(buf_view(&text)));
    assert_true(notes.error_count > 180);
    assert_true(notes.errors.n <= notes.errors.ceiling);
    assert_int_equal(notes.errors.at[notes.errors.n - 1], '\n');
    assert_non_null(strstr(e.msg, " more"));
}

static void a_command_of_the_machine_is_its_words(void **state)
{
    (void)state;
    struct tool t = {0};
    assert_true(check(manifest("{}", ",'runtime':'vm','command':['bash','-c','it is']")));
    assert_int_equal(notes.error_count + notes.warning_count, 0);
    const struct json *m = json_read(buf_view(&clean), arena, &e);
    assert_true(manifest_is_command(m) && manifest_fill(m, arena, &t, &e));
    assert_string_equal(t.command[0], "bash");
    assert_string_equal(t.command[2], "it is");
    assert_null(t.command[3]);
    assert_int_equal(t.execution.memory_bytes, TOOL_MACHINE_BYTES);
    buf_clear(&text);
    tool_put_command(&t, &text);
    assert_string_equal(buf_cz(&text), "bash -c 'it is'");
    const char *const odd[] = {"a'b", "", "$(x)", NULL};
    t.command = odd;
    buf_clear(&text);
    tool_put_command(&t, &text);
    assert_string_equal(buf_cz(&text), "'a'\\''b' '' '$(x)'");
}

static void a_module_has_no_command(void **state)
{
    (void)state;
    struct tool t = {0};
    assert_true(check(manifest("{}", ",'runtime':'wasm','command':['bash']")));
    assert_note(&notes.warnings, "command belongs to the runtime \"vm\"");
    const struct json *m = json_read(buf_view(&clean), arena, &e);
    assert_false(manifest_is_command(m));
    assert_true(manifest_fill(m, arena, &t, &e));
    assert_null(t.command);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_is_right_passes_without_a_word),
        T(a_mark_of_utf8_before_it_is_passed_over),
        T(parameters_say_how_they_are_spelt),
        T(what_nobody_knows_is_left_out_with_a_warning),
        T(all_that_is_wrong_is_told_at_once_by_its_place),
        T(a_schema_does_not_say_all),
        T(names_that_not_all_clients_take_are_told),
        T(what_is_required_must_be_a_parameter),
        T(a_nul_within_a_text_is_no_end_of_it),
        T(what_is_no_json_and_what_is_too_long_is_refused),
        T(errors_without_end_are_counted_and_cut),
        T(a_command_of_the_machine_is_its_words),
        T(a_module_has_no_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
