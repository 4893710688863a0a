/* The linter's review of custom functions: forbidden code, complexity, and
 * dependencies. */
#include "lint/fixture_test.h"

static const char api[] =
    "[{\"name\":\"notes.get\",\"reads\":true},{\"name\":\"notes.list\",\"reads\":true},"
    "{\"name\":\"notes.create\",\"writes\":true},{\"name\":\"tools.*\"},"
    "{\"name\":\"utils.now\",\"sync\":true},{\"name\":\"fetch\",\"feature\":1}]";

static int begin(void **state)
{
    (void)state;
    return open_lint(api);
}

static const struct json *review(struct str code, struct arena *a)
{
    struct err e = {0};
    scoped_buf struct buf out;
    buf_init(&out, (size_t)1 << 20);
    if (!lint_review(lint, code, code, STR("f"), NULL, &out, &e))
        fail_msg("%.200s: %s", code.at, e.msg);
    const struct json *v = json_read(buf_view(&out), a, &e);
    if (!v)
        fail_msg("%s", e.msg);
    return v;
}

/* "rule:severity:line ..." of the errors and warnings. */
static void list_findings(const struct json *v, struct buf *out)
{
    struct json_iter it = json_iter(json_get(v, "findings"));
    while (json_next(&it)) {
        struct str severity = json_str(json_get(it.value, "severity"));
        if (!str_is(severity, "hint"))
            buf_printf(out, "%s%.*s:%c:%d", out->n ? " " : "",
                       STR_ARGS(json_str(json_get(it.value, "rule"))), severity.at[0],
                       (int)json_int(json_get(it.value, "line"), 0));
    }
}

struct example {
    const char *code, *found;
};

static void assert_examples(const struct example *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        scoped(arena_free) struct arena *a = arena_new((size_t)4 << 20);
        scoped_buf struct buf found;
        buf_init(&found, 65536);
        list_findings(review(str_of(all[i].code), a), &found);
        if (strcmp(buf_cz(&found), all[i].found) != 0)
            fail_msg("%s\n  finds    %s\n  expected %s", all[i].code, buf_cz(&found),
                     all[i].found);
    }
}

#define F(body) "function f(a) {\n" body "\n}"

static void sound_functions_are_not_talked_about(void **state)
{
    (void)state;
    static const struct example all[] = {
        {F("return a + 1;"), ""},
        {"const f = async (a) => { const n = await notes.get(a); return n?.title; };",
         ""},
        {"async function f(a) { return customFunctions.g(a); }\nconst LIMIT = 3;", ""},
        {F("if (typeof process !== 'undefined') return process.env; return a instanceof "
           "Function;"),
         ""},
        {F("const eval_ = a.constructor.name; return Object.prototype.hasOwnProperty.call("
           "a, 'x');"),
         ""},
        {F("const Map = a; Map.prototype.x = 1; const notes = {}; notes.get = 1; return "
           "[Map, notes];"),
         ""},
        {"function* f() { let i = 0; while (true) yield i++; }", ""},
        {F("const { process, module } = a; return [process.id, module];"), ""},
        {F("const o = {}; o['a' + 'b'] = 1; o[a] = 2; return o;"), ""},
        {"async function f() { return fetch('https://example.org'); }", ""},
    };
    assert_examples(all, LENGTH(all));
}

static void code_made_from_text_is_an_error_by_whatever_name(void **state)
{
    (void)state;
    static const struct example all[] = {
        {F("return eval(a);"), "no-eval:e:2"},
        {F("return (0, eval)(a);"), "no-eval:e:2"},
        {F("const e = eval;\nreturn e(a);"), "no-eval:e:2"},
        {F("return new Function(a)();"), "no-eval:e:2"},
        {F("return [Function].map((F) => F(a));"), "no-eval:e:2"},
        {F("return a.constructor.constructor('return 1')();"), "no-eval:e:2"},
        {F("return require(a);"), "no-import:e:2"},
        {F("const r = require;\nreturn r(a);"), "no-import:e:2"},
        {F("return import(a);"), "no-import:e:2"},
        {F("setTimeout('a()', 1);"), "no-eval:e:2"},
        {F("return a['con' + 'structor'];"), "obfuscated-code:e:2"},
        {F("return a[`__pro${'to'}__`];"), "obfuscated-code:e:2 prototype-access:w:2"},
        {F("return a[['ev', 'al'].join('')];"), "obfuscated-code:e:2"},
    };
    assert_examples(all, LENGTH(all));
}

static void what_is_everybodys_is_not_changed(void **state)
{
    (void)state;
    static const struct example all[] = {
        {F("Array.prototype.last = a;"), "shared-state:e:2"},
        {F("Object.assign(Object.prototype, a);"), "shared-state:e:2"},
        {F("Object.defineProperty(Array.prototype, 'x', { value: a });"),
         "shared-state:e:2"},
        {F("notes.get = a;"), "shared-state:e:2"},
        {F("delete customFunctions.g; delete notes.get; notes = a;"),
         "shared-state:e:2 shared-state:e:2"},
        {F("JSON = a;"), "shared-state:e:2"},
        {F("a.__proto__ = null;"), "prototype-access:e:2"},
        {F("return a.__proto__;"), "prototype-access:w:2"},
        {F("Object.setPrototypeOf(a, null);"), "prototype-access:w:2"},
    };
    assert_examples(all, LENGTH(all));
}

static void what_can_never_work_is_an_error(void **state)
{
    (void)state;
    static const struct example all[] = {
        {F("return process.env.HOME;"), "absent-global:e:2"},
        {F("return globalThis['eval'];"), "absent-global:e:2 obfuscated-code:e:2"},
        {F("while (true) a++;"), "unbounded-loop:e:2"},
        {F("for (;;) {}"), "unbounded-loop:e:2"},
        {"function g() {}", "no-binding:e:1"},
        {"const f = 3;", "no-binding:e:1"},
        {"", "no-binding:e:1"},
        {"function f( {", "syntax:e:1"},
        {"function f() {}\nreturn f();", "top-level-return:e:2"},
        {"function f() {}\nawait f();", "top-level-await:e:2"},
        {"function f() {}\nconst n = notes.get('a');", "top-level-call:w:2"},
    };
    assert_examples(all, LENGTH(all));
}

static void too_much_is_warned_of(void **state)
{
    (void)state;
    scoped_buf struct buf code, found;
    buf_init(&code, 1 << 20);
    buf_init(&found, 65536);
    buf_cstr(&code, "function f(a, b, c, d, e, g) {\n");
    for (int i = 0; i < 25; i++)
        buf_printf(&code, "if (a === %d) b++;\n", i);
    buf_cstr(&code, "if (a) { for (;;) { while (b) { if (c) { try { if (d) return 1; } "
                    "finally { e(); } } } } }\n");
    for (int i = 0; i < 120; i++)
        buf_cstr(&code, "b++;\n");
    buf_cstr(&code, "}\n");
    scoped(arena_free) struct arena *a = arena_new((size_t)4 << 20);
    const struct json *v = review(buf_view(&code), a);
    list_findings(v, &found);
    assert_string_equal(buf_cz(&found), "complexity:w:1 deep-nesting:w:1 "
                                        "long-function:w:1 many-parameters:w:1");
    const struct json *much = json_get(v, "complexity");
    assert_int_equal(json_int(json_get(much, "cyclomatic"), 0), 25 + 1 + 5);
    assert_int_equal(json_int(json_get(much, "nesting"), 0), 6);
    assert_int_equal(json_int(json_get(much, "parameters"), 0), 6);
    assert_int_equal(json_int(json_get(much, "lines"), 0), 148);

    static const struct example all[] = {
        {"async function f() { return notes.list(); }", "unbounded-list:w:1"},
        {"async function f() { return notes.list({ limit: 5 }); }", ""},
    };
    assert_examples(all, LENGTH(all));
}

static void unreadable_code_is_told(void **state)
{
    (void)state;
    static const struct example all[] = {
        {"function f(_0x12ab, _0x12ac, _0x12ad) { return _0x12ab + _0x12ac + _0x12ad; }",
         "obfuscated-code:e:1"},
        {F("return String.fromCharCode(97, 108, 101, 114, 116, 40, 49, 41);"),
         "obfuscated-code:w:2"},
        {F("return \"\\x61\\x62\\x63\\x64\\x65\\x66\\x67\\x68\\x69\\x70\\x71\\x72\\x73\\x74"
           "\\x75\\x76\\x77\";"),
         "obfuscated-code:e:1"},
    };
    assert_examples(all, LENGTH(all));
}

static void what_it_hangs_on_is_listed(void **state)
{
    (void)state;
    scoped(arena_free) struct arena *a = arena_new((size_t)4 << 20);
    const struct json *v =
        review(STR("async function f(k) {\n"
                   "  const { one, two: x } = customFunctions;\n"
                   "  await customFunctions.three(1);\n"
                   "  await customFunctions['four'](await notes.get(k));\n"
                   "  if ('five' in customFunctions && typeof customFunctions) x();\n"
                   "  const { get } = notes;\n"
                   "  await get(await tools.jq({}));\n"
                   "  return customFunctions[k]();\n"
                   "}\n"),
               a);
    const struct json *uses = json_get(v, "uses");
    scoped_buf struct buf names;
    buf_init(&names, 4096);
    struct json_iter it = json_iter(json_get(uses, "functions"));
    while (json_next(&it))
        buf_printf(&names, "%.*s:%d ", STR_ARGS(json_str(json_get(it.value, "name"))),
                   (int)json_int(json_get(it.value, "line"), 0));
    assert_string_equal(buf_cz(&names), "one:2 two:2 three:3 four:4 ");
    assert_int_equal(json_length(json_get(uses, "dynamic")), 1);
    const struct json *at = json_at(json_get(uses, "dynamic"), 0);
    assert_int_equal(json_int(json_get(at, "line"), 0), 8);
    assert_int_equal(json_length(json_get(uses, "calls")), 2);
    const struct json *bound = json_get(v, "binding");
    assert_true(json_bool(json_get(bound, "async"), false));
    assert_int_equal(json_int(json_get(bound, "parameters"), 0), 1);
}

/* Many warnings leave room for errors after them. */
static void warnings_do_not_hide_errors(void **state)
{
    (void)state;
    scoped_buf struct buf code, found;
    buf_init(&code, 1 << 20);
    buf_init(&found, 1 << 20);
    buf_cstr(&code, "function f(a) {\n");
    for (int i = 0; i < 2000; i++)
        buf_cstr(&code, "a.__proto__;\n");
    buf_cstr(&code, "eval(a);\n}");
    scoped(arena_free) struct arena *a = arena_new((size_t)16 << 20);
    list_findings(review(buf_view(&code), a), &found);
    assert_true(str_starts(buf_view(&found), "no-eval:e:2002 "));
}

/* Hostile code is reviewed or refused, and the next review works as before. */
static void bombs_end(void **state)
{
    (void)state;
    static const char *const pieces[][3] = {
        {"function f() { return ", "[", ""},
        {"function f() { ", "if (a) ", ""},
        {"function f() { return a", "['b' + 'c']", "; }"},
        {"function f() { return '' ", "+ 'a'", "; }"},
        {"function f() { return `", "${`", ""},
    };
    for (size_t i = 0; i < LENGTH(pieces); i++) {
        struct err e = {0};
        scoped_buf struct buf code, out;
        buf_init(&code, LINT_CODE_MAX + 64);
        buf_init(&out, (size_t)1 << 20);
        buf_cstr(&code, pieces[i][0]);
        while (code.n + 64 < (size_t)200 << 10)
            buf_cstr(&code, pieces[i][1]);
        buf_cstr(&code, pieces[i][2]);
        bool ok = lint_review(lint, buf_view(&code), STR(""), STR("f"), NULL, &out, &e);
        assert_true(ok || e.code == ERR_GUEST || e.code == ERR_TIMEOUT ||
                    e.code == ERR_MEMORY);
    }
    static const struct example all[] = {{F("return a;"), ""}};
    assert_examples(all, LENGTH(all));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_functions_are_not_talked_about),
        cmocka_unit_test(code_made_from_text_is_an_error_by_whatever_name),
        cmocka_unit_test(what_is_everybodys_is_not_changed),
        cmocka_unit_test(what_can_never_work_is_an_error),
        cmocka_unit_test(too_much_is_warned_of),
        cmocka_unit_test(unreadable_code_is_told),
        cmocka_unit_test(what_it_hangs_on_is_listed),
        cmocka_unit_test(warnings_do_not_hide_errors),
        cmocka_unit_test(bombs_end),
    };
    return cmocka_run_group_tests(tests, begin, close_lint);
}
