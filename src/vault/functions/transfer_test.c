/* Functions on their way to another vault, and from all kinds of files. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "functions/fixture_test.h"

static const char *export_of(struct fixture *x, const char *names)
{
    scoped_buf struct buf text;
    buf_init(&text, FUNCTIONS_FILE_MAX);
    const struct json *list = names ? json_read(str_of(names), x->arena, &x->e) : NULL;
    size_t count;
    assert_fine(x, functions_export(x->f, list, STR("here"), &text, &count, &x->e));
    const struct json *file = json_read(buf_view(&text), x->arena, &x->e);
    assert_int_equal(count, json_length(json_get(file, "functions")));
    return arena_copy(x->arena, buf_cz(&text), text.n, &x->e);
}

static struct function_import plain(const char *text, enum function_conflict on)
{
    return (struct function_import){.text = str_of(text), .on = on};
}

static const struct json *import(struct fixture *x, const struct function_import *i)
{
    return told(x, functions_import(x->f, i, &tester, out, &x->e));
}

static const struct json *row(const struct json *report, size_t i)
{
    return json_at(json_get(report, "functions"), i);
}

/* ' for ". */
static char *quoted(struct fixture *x, const char *text)
{
    char *copy = arena_copy(x->arena, text, strlen(text), &x->e);
    for (char *at = copy; *at; at++)
        if (*at == '\'')
            *at = '"';
    return copy;
}

static const char *code_of(struct fixture *x, const char *name)
{
    scoped_set const struct function_set *s = now(x);
    const struct function *fn = function_named(s, str_of(name));
    return fn ? str_cz(fn->code, x->arena, &x->e) : NULL;
}

static void what_leaves_one_vault_arrives_in_another(void **state)
{
    struct fixture *x = *state;
    put(x, "greet", "one");
    put(x, "leave", "bye");
    put(x, "stay", "no");
    const char *text = export_of(x, "[\"leave\",\"greet\",\"leave\"]");
    const struct json *v = json_read(str_of(text), x->arena, &x->e);
    assert_string_equal(str_at(x, v, "from"), "here");
    assert_int_equal(json_length(json_get(v, "functions")), 2);
    int64_t ms;
    assert_true(date_read(json_str(json_get(v, "exportedAt")), &ms));

    void *second = NULL;
    assert_int_equal(fixture_make(&second), 0);
    struct fixture *y = second;
    struct function_import i = plain(text, CONFLICT_SKIP);
    const struct json *report = import(y, &i);
    assert_true(json_bool(json_get(report, "success"), false));
    assert_int_equal(int_at(report, "imported"), 2);
    assert_int_equal(count_of(y), 2);
    assert_string_equal(code_of(y, "greet"), code_of(x, "greet"));
    assert_null(strstr(file_text(y, FILE_PATH), "exportedAt"));
    report = import(y, &i);
    assert_string_equal(str_at(y, row(report, 0), "action"), "same");
    assert_int_equal(int_at(report, "skipped"), 2);
    fixture_remove(&second);

    scoped_buf struct buf b;
    buf_init(&b, 1000);
    const struct json *wrong = json_read(STR("[\"greed\"]"), x->arena, &x->e);
    assert_false(functions_export(x->f, wrong, STR(""), &b, &(size_t){0}, &x->e));
    assert_refused(x, ERR_NOT_FOUND, "did you mean 'greet'");
}

static void a_taken_name_is_answered_as_was_wished(void **state)
{
    struct fixture *x = *state;
    put(x, "greet", "theirs");
    const char *text = export_of(x, NULL);
    put(x, "greet", "ours");
    struct function_import i = plain(text, CONFLICT_SKIP);
    const struct json *report = import(x, &i);
    assert_string_equal(str_at(x, row(report, 0), "action"), "skipped");
    assert_non_null(strstr(code_of(x, "greet"), "ours"));

    i.on = CONFLICT_RENAME;
    i.dry_run = true;
    report = import(x, &i);
    assert_string_equal(str_at(x, row(report, 0), "newName"), "greet2");
    assert_int_equal(count_of(x), 1);
    i.dry_run = false;
    report = import(x, &i);
    assert_string_equal(str_at(x, row(report, 0), "action"), "renamed");
    assert_string_equal(code_of(x, "greet2"),
                        "function greet2(who: string) { return `theirs ${who}` }");
    report = import(x, &i);
    assert_string_equal(str_at(x, row(report, 0), "newName"), "greet3");

    i.on = CONFLICT_VERSION;
    report = import(x, &i);
    assert_string_equal(str_at(x, row(report, 0), "action"), "version");
    assert_int_equal(int_at(row(report, 0), "version"), 3);
    assert_non_null(strstr(code_of(x, "greet"), "theirs"));

    put(x, "greet", "ours again");
    i.on = CONFLICT_REPLACE;
    report = import(x, &i);
    assert_string_equal(str_at(x, row(report, 0), "action"), "replaced");
    assert_non_null(strstr(code_of(x, "greet"), "theirs"));
    assert_int_equal(count_of(x), 3);
}

static void calls_between_those_that_came_follow_a_new_name(void **state)
{
    struct fixture *x = *state;
    put(x, "inner", "ours");
    struct function_import i = plain(
        quoted(x,
               "[{'name': 'inner', 'returnType': 'number', 'code': 'function inner() {"
               " return 1 }'}, {'name': 'outer', 'returnType': 'number', 'code': '"
               "const inner = `${customFunctions.inner()}`; // customFunctions.inner\\n"
               "function outer() { return customFunctions[\\'inner\\']() + other."
               "customFunctions.inner() + customFunctions?.inner?.() }'}]"),
        CONFLICT_RENAME);
    import(x, &i);
    assert_string_equal(code_of(x, "inner2"), "function inner2() { return 1 }");
    assert_string_equal(
        code_of(x, "outer"),
        "const inner = `${customFunctions.inner2()}`; // customFunctions.inner\n"
        "function outer() { return customFunctions[\"inner2\"]() + other."
        "customFunctions.inner() + customFunctions?.inner2?.() }");
}

static void files_of_others_are_read(void **state)
{
    struct fixture *x = *state;
    static const char one[] = "'name': 'a', 'description': '', 'parameters': {}, "
                              "'returnType': 'void', 'code': 'function a() {}'";
    static const char *const files[] = {
        "[{%s}]",
        "{'functions': [{%s}]}",
        "{'customFunctions': [{%s}]}",
        "{'theme': 'dark', 'vaultSettings': {'customFunctions': [{%s}]}}",
        "{'version': '1.0.0', 'lastUpdated': '2025-01-01', 'functions': {'uuid-1': {'id': "
        "'uuid-1', %s, 'tags': [], 'metadata': {'createdAt': '2025-01-01T00:00:00.000Z', "
        "'updatedAt': '2025-01-02T00:00:00.000Z', 'createdBy': 'agent', 'usageCount': 3, "
        "'version': 7}}}}",
        "\xef\xbb\xbf{'functions': [{%s}]}",
    };
    for (size_t i = 0; i < LENGTH(files); i++) {
        char *text = arena_printf(x->arena, &x->e, "%.*s%s%s",
                                  (int)(strstr(files[i], "%s") - files[i]), files[i], one,
                                  strstr(files[i], "%s") + 2);
        struct function_import im = plain(quoted(x, text), CONFLICT_SKIP);
        const struct json *report = import(x, &im);
        if (!json_bool(json_get(report, "success"), false) || count_of(x) != 1)
            fail_msg("%s", files[i]);
        if (i == 4) {
            scoped_set const struct function_set *s = now(x);
            assert_true(str_is(function_at(s, 0)->id, "uuid-1"));
            assert_int_equal(function_at(s, 0)->created_by, FUNCTION_BY_AGENT);
            assert_int_equal(function_at(s, 0)->created_ms, 1735689600000);
            assert_int_equal(function_at(s, 0)->version, 1);
        }
        take_away(x, "a");
    }
}

static void all_that_is_wrong_with_a_file_is_told_by_place(void **state)
{
    struct fixture *x = *state;
    struct function_import i = plain(
        quoted(
            x,
            "{\n"
            "  'version': 1,\n"
            "  'functions': [\n"
            "    {'name': 'ok', 'returnType': 'void', 'code': 'function ok() {}'},\n"
            "    {\n"
            "      'name': 'b\\u0061d',\n"
            "      'parameters': {'d\\u0061te': {'description': 'when'},\n"
            "        'two': {'type': 7, 'optional': 'yes'}},\n"
            "      'returnType': 'void', 'code': [1, 'x']\n"
            "    },\n"
            "    {'name': 'ok', 'returnType': 'void', 'code': '', 'tags': 'x',\n"
            "     'metadata': {'createdAt': 'yesterday', 'version': 0}},\n"
            "    7,\n"
            "    {'id': '../x\\n', 'name': 'last', 'returnType': 'void', 'code': 'x'}\n"
            "  ]\n"
            "}\n"),
        CONFLICT_SKIP);
    const struct json *report = import(x, &i), *errors = json_get(report, "errors");
    static const struct {
        const char *field, *code;
        int line, column;
    } rows[] = {
        {"functions[1].code[0]", "WRONG_TYPE", 9, 38},
        {"functions[1].parameters.date.type", "MISSING_FIELD", 7, 35},
        {"functions[1].parameters.two.type", "WRONG_TYPE", 8, 25},
        {"functions[1].parameters.two.optional", "WRONG_TYPE", 8, 40},
        {"functions[2].code", "EMPTY_FIELD", 11, 50},
        {"functions[2].tags", "WRONG_TYPE", 11, 62},
        {"functions[2].metadata.createdAt", "INVALID_DATE", 12, 32},
        {"functions[2].metadata.version", "INVALID_NUMBER", 12, 56},
        {"functions[3]", "WRONG_TYPE", 13, 5},
        {"functions[4].id", "INVALID_VALUE", 14, 12},
        {"functions[2].name", "DUPLICATE_NAME", 11, 14},
    };
    assert_false(json_bool(json_get(report, "success"), true));
    assert_int_equal(json_length(errors), LENGTH(rows));
    for (size_t k = 0; k < LENGTH(rows); k++) {
        const struct json *v = json_at(errors, k);
        if (!str_is(json_str(json_get(v, "field")), rows[k].field) ||
            !str_is(json_str(json_get(v, "code")), rows[k].code) ||
            int_at(v, "line") != rows[k].line || int_at(v, "column") != rows[k].column)
            fail_msg("%s: %s %s %lld:%lld", rows[k].field, str_at(x, v, "field"),
                     str_at(x, v, "code"), (long long)int_at(v, "line"),
                     (long long)int_at(v, "column"));
    }
    i = plain("{\n  \"functions\": [\n    {,}\n]}", CONFLICT_SKIP);
    errors = json_get(import(x, &i), "errors");
    assert_int_equal(int_at(json_at(errors, 0), "line"), 3);
    assert_int_equal(int_at(json_at(errors, 0), "column"), 6);
    assert_false(exists(x, FILE_PATH));
}

static bool refuse_all_but_good(void *arg, const struct function *fn,
                                const struct function_set *among, struct findings *found,
                                struct err *e)
{
    (void)arg;
    (void)e;
    assert_ptr_equal(function_named(among, fn->name)->code.at, fn->code.at);
    if (!str_starts(fn->name, "good"))
        findings_error(found, &(struct finding){.field = STR("code"),
                                                .code = "TYPE",
                                                .message = STR("no good")});
    return true;
}

/* `arg`: so many are still looked at. */
static bool break_off(void *arg, const struct function *fn,
                      const struct function_set *among, struct findings *found,
                      struct err *e)
{
    unsigned *left = arg;
    (void)fn;
    (void)among;
    (void)found;
    return (*left)-- > 0 ||
           err_set(e, ERR_CANCELLED, "the task was abandoned by its client");
}

static void what_could_not_be_checked_stays_out(void **state)
{
    struct fixture *x = *state;
    put(x, "first", "a");
    put(x, "second", "b");
    const char *text = export_of(x, NULL);
    take_away(x, "first");
    take_away(x, "second");
    struct function_import i = plain(text, CONFLICT_SKIP);
    unsigned left = 1;
    i.check = break_off;
    i.arg = &left;
    struct err e = {0};
    scoped_buf struct buf report;
    buf_init(&report, 1 << 20);
    struct json_writer w = json_writer(&report);
    assert_false(functions_import(x->f, &i, &tester, &w, &e));
    assert_int_equal(e.code, ERR_CANCELLED);
    assert_int_equal(count_of(x), 0);
}

static void what_is_checked_and_found_wrong_stays_out(void **state)
{
    struct fixture *x = *state;
    put(x, "good1", "a");
    put(x, "bad", "b");
    const char *text = export_of(x, NULL);
    take_away(x, "good1");
    take_away(x, "bad");
    struct function_import i = plain(text, CONFLICT_SKIP);
    i.check = refuse_all_but_good;
    const struct json *report = import(x, &i);
    assert_false(json_bool(json_get(report, "success"), true));
    assert_string_equal(str_at(x, row(report, 0), "action"), "failed");
    assert_int_equal(count_of(x), 0);
    i.partly = true;
    report = import(x, &i);
    assert_true(json_bool(json_get(report, "success"), false));
    assert_int_equal(int_at(report, "imported"), 1);
    assert_int_equal(version_of(x, "good1"), 2); /* its id was here before */
    assert_int_equal(count_of(x), 1);
}

static void a_name_is_changed_where_it_means_the_function(void **state)
{
    struct fixture *x = *state;
    static const struct {
        const char *code, *renamed; /* NULL: bound beside it */
    } rows[] = {
        {"function old(a) { return a }", "function new1(a) { return a }"},
        {"export async function old() { return x.old + old.length }",
         "export async function new1() { return x.old + new1.length }"},
        {"const old = (n) => n ? n * old(n - 1) : 1",
         "const new1 = (n) => n ? n * new1(n - 1) : 1"},
        {"function old() { return 'old' + `old ${old.name}` + /old/.source } // old",
         "function new1() { return 'old' + `old ${new1.name}` + /old/.source } // old"},
        {"function old() { return { old: 1 } }", NULL},
        {"function old() { return { old } }", NULL},
        {"function old() { return new1() } function new1() {}", NULL},
        {"function old() { return f(a, old) }", NULL},
        {"function old() { a / old / b; return [...old()] }",
         "function new1() { a / new1 / b; return [...new1()] }"},
        {"class A { x = 1; old() {} } function old() {}", NULL},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct function fn = made(x, "old", "x"), out;
        fn.code = str_of(rows[i].code);
        assert_fine(x, function_renamed(&fn, STR("new1"), x->arena, &out, &x->e));
        assert_true(str_is(out.name, "new1"));
        const char *expected =
            rows[i].renamed
                ? rows[i].renamed
                : arena_printf(x->arena, &x->e, "%s\nconst new1 = old;\n", rows[i].code);
        assert_string_equal(str_cz(out.code, x->arena, &x->e), expected);
    }
}

static void odd_code_is_cut_without_harm(void **state)
{
    struct fixture *x = *state;
    static const char *const odd[] = {
        "`${`${`",          "/*",  "'",  "`",   "/", "/[", "\\", "${}}}", "old.",
        "customFunctions[", "a?.", "//", "\"\\"};
    for (size_t i = 0; i < LENGTH(odd); i++) {
        struct function fn = made(x, "old", "x"), out;
        fn.code = str_of(odd[i]);
        assert_fine(x, function_renamed(&fn, STR("new1"), x->arena, &out, &x->e));
    }
    scoped_buf struct buf deep;
    buf_init(&deep, FUNCTION_CODE_MAX);
    for (int i = 0; i < 50000; i++)
        buf_cstr(&deep, "`${");
    struct function fn = made(x, "old", "x"), out;
    fn.code = buf_view(&deep);
    assert_fine(x, function_renamed(&fn, STR("new1"), x->arena, &out, &x->e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_leaves_one_vault_arrives_in_another),
        T(a_taken_name_is_answered_as_was_wished),
        T(calls_between_those_that_came_follow_a_new_name),
        T(files_of_others_are_read),
        T(all_that_is_wrong_with_a_file_is_told_by_place),
        T(what_is_checked_and_found_wrong_stays_out),
        T(what_could_not_be_checked_stays_out),
        T(a_name_is_changed_where_it_means_the_function),
        T(odd_code_is_cut_without_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
