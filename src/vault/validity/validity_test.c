/* Definitions of custom functions that are sound and that are not, and who calls whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "functions/fixture_test.h"
#include "validity/validity.h"
#include "json/json.h"

static const char *const table[] = {"notes.get", "utils.formatDate"};
static const struct name_words taken = {table, LENGTH(table)};

static const char sound[] =
    "{'name': 'greet', 'description': 'Says hello.', 'parameters': {'who': {'type': "
    "'string'}, 'times': {'type': 'number', 'default': 1}}, 'returnType': 'string', "
    "'code': 'function greet(who: string, times = 1) { return who; }', 'tags': ['a']}";

/* JSON in single quotes. */
static const struct function *definition(struct fixture *x, const char *text,
                                         struct findings *found)
{
    char *copy = arena_copy(x->arena, text, strlen(text), &x->e);
    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c == '"' ? '\'' : *c;
    const struct json *v = json_read(str_of(copy), x->arena, &x->e);
    struct function *fn = arena_get(x->arena, sizeof *fn, &x->e);
    assert_fine(x, v && fn);
    (void)function_read(v, x->arena, fn, found, &x->e);
    assert_int_equal(x->e.code, ERR_NONE);
    return fn;
}

/* "CODE:field ..." of errors, then warnings in brackets. */
static const char *listed(struct fixture *x, const struct findings *f)
{
    scoped_buf struct buf all, out;
    buf_init(&all, 1 << 20);
    buf_init(&out, 1 << 20);
    buf_printf(&all, "[[%s],[%s]]", buf_cz((struct buf *)(uintptr_t)&f->errors),
               buf_cz((struct buf *)(uintptr_t)&f->warnings));
    const struct json *both = json_read(buf_view(&all), x->arena, &x->e);
    assert_fine(x, both);
    for (size_t i = 0; i < 2; i++) {
        struct json_iter it = json_iter(json_at(both, i));
        while (json_next(&it))
            buf_printf(&out, i ? "%s(%.*s:%.*s)" : "%s%.*s:%.*s", out.n ? " " : "",
                       STR_ARGS(json_str(json_get(it.value, "code"))),
                       STR_ARGS(json_str(json_get(it.value, "field"))));
    }
    return arena_copy(x->arena, buf_cz(&out), out.n, &x->e);
}

static const char *faults(struct fixture *x, const char *text,
                          const struct function_set *among)
{
    scoped_findings struct findings f;
    findings_init(&f);
    const struct function *fn = definition(x, text, &f);
    if (!f.error_count)
        function_validate(fn, among, &taken, &f);
    return listed(x, &f);
}

/* The sound one with `to` in the place of `from`. */
static const char *with(struct fixture *x, const char *from, const char *to)
{
    const char *at = strstr(sound, from);
    assert_non_null(at);
    return arena_printf(x->arena, &x->e, "%.*s%s%s", (int)(at - sound), sound, to,
                        at + strlen(from));
}

static void a_sound_definition_passes(void **state)
{
    struct fixture *x = *state;
    assert_string_equal(faults(x, sound, NULL), "");
}

static void every_fault_is_told_with_its_field(void **state)
{
    struct fixture *x = *state;
    static const char *const all[][3] = {
        {"'greet'", "'notes'", "RESERVED_NAME:name"},
        {"'greet'", "'class'", "RESERVED_NAME:name"},
        {"'greet'", "'a-b'", "INVALID_NAME:name"},
        {"'greet'", "'then'", "RESERVED_NAME:name"},
        {"'greet'", "'Greet'", "(NAME_STYLE:name)"},
        {"Says hello.", "  ", "EMPTY_FIELD:description"},
        {"'who': {'type': 'string'}", "'who': {'type': 'string) {'}",
         "INVALID_TYPE:parameters.who.type"},
        {"'who': {'type': 'string'}",
         "'who': {'type': 'string', 'optional': true}, 'b': "
         "{'type': 'number'}",
         "REQUIRED_AFTER_OPTIONAL:parameters.b"},
        {"'who'", "'...who'", "REST_NOT_LAST:parameters....who"},
        {"'who'", "'this'", "RESERVED_NAME:parameters.this"},
        {"'who'", "'utils'", "(HIDES_GLOBAL:parameters.utils)"},
        {"'who'", "'then'", ""},
        {"'default': 1", "'default': 'x'", "DEFAULT_TYPE:parameters.times.default"},
        {"'returnType': 'string'", "'returnType': 'string; x'",
         "INVALID_TYPE:returnType"},
        {"'tags': ['a']", "'tags': ['a', 'b', 'a']", "(DUPLICATE_TAG:tags)"},
        {"'tags': ['a']", "'examples': [{'args': {'nobody': 1, 'who': 'x'}}]",
         "UNKNOWN_PARAMETER:examples[0].args"},
        {"'tags': ['a']", "'examples': [{'args': {'times': 2}}]",
         "MISSING_ARGUMENT:examples[0].args"},
        {"'tags': ['a']",
         "'examples': [{'args': []}, {'args': ['a', 1, 2]}, {'args': "
         "['a']}]",
         "MISSING_ARGUMENT:examples[0].args TOO_MANY_ARGUMENTS:examples[1].args"},
        {"'tags': ['a']", "'examples': [{'args': {}, 'error': 'who'}]", ""},
    };
    for (size_t i = 0; i < LENGTH(all); i++) {
        const char *found = faults(x, with(x, all[i][0], all[i][1]), NULL);
        if (strcmp(found, all[i][2]) != 0)
            fail_msg("%s: %s, not %s", all[i][1], found, all[i][2]);
    }
}

static void all_faults_are_told_at_once(void **state)
{
    struct fixture *x = *state;
    assert_string_equal(
        faults(x,
               "{'name': 'new', 'description': 'x', 'parameters': {'a': {'type': 'x y;', "
               "'optional': true}, 'utils': {'type': 'string', 'default': 1}, 'd': "
               "{'type': 'Note'}}, 'returnType': '(', 'code': 'x'}",
               NULL),
        "RESERVED_NAME:name INVALID_TYPE:parameters.a.type "
        "DEFAULT_TYPE:parameters.utils.default REQUIRED_AFTER_OPTIONAL:parameters.d "
        "INVALID_TYPE:returnType (HIDES_GLOBAL:parameters.utils)");
}

/* ---- among others ----------------------------------------------------------------- */

static void put_function(struct fixture *x, const char *name, const char *code)
{
    scoped_findings struct findings f;
    findings_init(&f);
    const char *text = arena_printf(
        x->arena, &x->e,
        "{'name': '%s', 'description': 'x', 'parameters': {}, 'returnType': 'void', "
        "'code': '%s'}",
        name, code);
    struct function_change c = {.fn = definition(x, text, &f)};
    assert_string_equal(listed(x, &f), "");
    assert_fine(x, functions_change(x->f, &c, 1, &tester, NULL, &x->e));
}

static void a_name_that_is_taken_is_told_with_a_free_one(void **state)
{
    struct fixture *x = *state;
    put_function(x, "greet", "function greet() {}");
    put_function(x, "greet2", "function greet2() {}");
    scoped_set const struct function_set *s = functions_now(x->f, &x->e);
    assert_string_equal(faults(x, sound, s), "NAME_TAKEN:name");
    assert_string_equal(faults(x, with(x, "'greet'", "'gREET'"), s),
                        "(SIMILAR_NAME:name)");

    scoped_findings struct findings f;
    findings_init(&f);
    function_validate(definition(x, sound, &f), s, &taken, &f);
    assert_non_null(strstr(buf_cz(&f.errors), "name this one 'greet3'"));

    /* Its own next version has the same name. */
    struct function next = *function_named(s, STR("greet"));
    scoped_findings struct findings none;
    findings_init(&none);
    function_validate(&next, s, &taken, &none);
    assert_string_equal(listed(x, &none), "");
}

/* ---- who calls whom ---------------------------------------------------------------- */

/* Calls are what follows "customFunctions." in the code. */
static const struct function_uses *uses_of(void *arg, const struct function *fn,
                                           struct err *e)
{
    struct fixture *x = arg;
    struct function_uses *u = arena_get(x->arena, sizeof *u, e);
    struct function_use *all = arena_get(x->arena, 8 * sizeof *all, e);
    u->at = all;
    const char *at = fn->code.at, *end = at + fn->code.n;
    while ((at = memmem(at, (size_t)(end - at), "customFunctions.", 16))) {
        at += 16;
        all[u->count].line = 1;
        all[u->count].name.at = at;
        while (*at >= 'a' && *at <= 'z')
            at++;
        all[u->count].name.n = (size_t)(at - all[u->count].name.at);
        u->count++;
    }
    return u;
}

static const char *circles(struct fixture *x, const struct function_set *s,
                           const char *name)
{
    scoped_findings struct findings f;
    findings_init(&f);
    assert_true(
        function_circles(function_named(s, str_of(name)), s, uses_of, x, &f, &x->e));
    assert_int_equal(f.error_count, 0);
    const struct json *w =
        f.warning_count ? json_read(buf_view(&f.warnings), x->arena, &x->e) : NULL;
    struct str message = json_str(json_get(w, "message"));
    return arena_copy(x->arena, message.at ? message.at : "", message.n, &x->e);
}

static void circles_are_named(void **state)
{
    struct fixture *x = *state;
    put_function(x, "a", "customFunctions.b() + customFunctions.missing()");
    put_function(x, "b", "customFunctions.d(customFunctions.c())");
    put_function(x, "c", "customFunctions.a()");
    put_function(x, "d", "customFunctions.e() + customFunctions.e()");
    put_function(x, "e", "1");
    put_function(x, "self", "customFunctions.self()");
    put_function(x, "out", "customFunctions.a()"); /* leads to a circle, and is in none */
    scoped_set const struct function_set *s = functions_now(x->f, &x->e);
    assert_string_equal(circles(x, s, "a"), "calls go in a circle: a -> b -> c -> a");
    assert_string_equal(circles(x, s, "c"), "calls go in a circle: c -> a -> b -> c");
    assert_string_equal(circles(x, s, "d"), "");
    assert_string_equal(circles(x, s, "self"), "");
    assert_string_equal(circles(x, s, "out"), "");
}

static void long_ways_end(void **state)
{
    struct fixture *x = *state;
    for (int i = 0; i < 200; i++) {
        char name[8] = {'n', (char)('a' + i / 26), (char)('a' + i % 26)};
        char code[64];
        (void)snprintf(code, sizeof code, "customFunctions.n%c%c()",
                       'a' + (i + 1) % 200 / 26, 'a' + (i + 1) % 200 % 26);
        put_function(x, name, code);
    }
    scoped_set const struct function_set *s = functions_now(x->f, &x->e);
    assert_string_equal(circles(x, s, "naa"), ""); /* longer than is looked at */
}

static void what_is_missing_is_named_with_the_nearest(void **state)
{
    struct fixture *x = *state;
    put_function(x, "dailyNote", "1");
    put_function(x, "other", "1");
    scoped_set const struct function_set *s = functions_now(x->f, &x->e);
    static const struct function_use used[] = {{{"dailyNotes", 10}, 3, 5},
                                               {{"dailyNote", 9}, 4, 1},
                                               {{"greet", 5}, 5, 1},
                                               {{"zzzzzz", 6}, 6, 1}};
    const struct function_uses uses = {used, LENGTH(used), false};
    scoped_findings struct findings f;
    findings_init(&f);
    function_missing(definition(x, sound, &f), &uses, s, &f);
    assert_int_equal(f.error_count, 2);
    assert_string_equal(
        buf_cz(&f.errors),
        "{\"field\":\"code\",\"line\":3,\"column\":5,\"code\":\"MISSING_FUNCTION\",\"message\":\"there "
        "is no function customFunctions.dailyNotes\",\"suggestion\":\"Did you mean "
        "'dailyNote'?\"},{\"field\":\"code\",\"line\":6,\"column\":1,\"code\":\"MISSING_FUNCTION\",\"message\":\"there "
        "is no function "
        "customFunctions.zzzzzz\",\"suggestion\":\"list_custom_functions lists "
        "them.\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_sound_definition_passes),
        T(every_fault_is_told_with_its_field),
        T(all_faults_are_told_at_once),
        T(a_name_that_is_taken_is_told_with_a_free_one),
        T(circles_are_named),
        T(long_ways_end),
        T(what_is_missing_is_named_with_the_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
