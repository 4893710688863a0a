/* The linter's findings, and code without findings. */
#include "lint/fixture_test.h"

static const char api[] =
    "[{\"name\":\"notes.get\",\"reads\":true},{\"name\":\"notes.list\",\"reads\":true,"
    "\"options\":[\"typeName\",\"limit\"]},{\"name\":\"notes.search\",\"reads\":true,"
    "\"options\":[\"query\",\"limit\"]},{\"name\":\"notes.create\",\"writes\":true,"
    "\"options\":[\"type\",\"title\",\"content\",\"metadata\"]},"
    "{\"name\":\"notes.update\",\"writes\":true},{\"name\":\"links.getBacklinks\"},"
    "{\"name\":\"utils.generateId\",\"sync\":true},{\"name\":\"fetch\",\"feature\":1}]";

static int begin(void **state)
{
    (void)state;
    return open_lint(api);
}

/* "rule:line:column ..." of what is found. */
static void find(const char *code, struct buf *out)
{
    struct err e = {0};
    struct lint_findings f;
    lint_findings_init(&f);
    if (!lint_check(lint, str_of(code), STR(""), 0, NULL, &f, &e))
        fail_msg("%s: %s", code, e.msg);
    scoped(arena_free) struct arena *a = arena_new((size_t)1 << 22);
    const struct json *list = json_read(buf_view(&f.json), a, &e);
    struct json_iter it = json_iter(list);
    while (json_next(&it))
        buf_printf(out, "%s%.*s:%d:%d", out->n ? " " : "",
                   STR_ARGS(json_str(json_get(it.value, "rule"))),
                   (int)json_int(json_get(it.value, "line"), 0),
                   (int)json_int(json_get(it.value, "column"), 0));
    lint_findings_done(&f);
}

struct example {
    const char *code, *found;
};

static void assert_examples(const struct example *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        scoped_buf struct buf found;
        buf_init(&found, 65536);
        find(all[i].code, &found);
        if (strcmp(buf_cz(&found), all[i].found) != 0)
            fail_msg("%s\nfound: %s\ninstead of: %s", all[i].code, buf_cz(&found),
                     all[i].found);
    }
}
#define EXAMPLES(...)                                  \
    static const struct example all[] = {__VA_ARGS__}; \
    (void)state;                                       \
    assert_examples(all, LENGTH(all))

static void code_in_all_its_forms_is_parsed(void **state)
{
    EXAMPLES({"return 1", ""}, {"await notes.get('a')", ""}, {"1 + 1", ""}, {"", ""},
             {"async function main() { return 1 }", ""},
             {"if (true) { return await notes.get('a') } 5", ""},
             {"const x = await notes.get('a'); x?.title ?? ''", ""},
             {"class A { #x = 1; static { } get x() { return this.#x } } new A().x", ""},
             {"for await (const x of []) { x } 1", ""}, {"return 1_000n ** 2n", ""},
             {"return 1 +", "syntax:1:11"}, {"let a; let a; a", "syntax:1:12"},
             {"'\xc3\xa9\xf0\x9f\x98\x80'; )", "syntax:1:7"}, {"\n\n  }", "syntax:3:3"});
}

static void what_is_refused_is_found(void **state)
{
    EXAMPLES(
        {"return eval('1')", "no-eval:1:8"},
        {"new Function('return 1')()", "no-eval:1:1"}, {"Function('a')", "no-eval:1:1"},
        {"(async () => {}).constructor('return 1')", "no-eval:1:1"},
        {"setTimeout('f()', 1); 1", "no-eval:1:12"},
        {"import fs from 'fs'; 1", "no-import:1:1"},
        {"return await import('x')", "no-import:1:14"},
        {"const x = require('fs'); x", "no-import:1:11"},
        {"export const a = 1; a", "no-import:1:1"}, {"with ({}) { 1 }", "no-with:1:1"},
        /* one's own are one's own */
        {"const eval_ = (x) => x; eval_('1')", ""},
        {"function require(x) { return x } require('a')", ""});
}

static void loops_without_an_end_are_found(void **state)
{
    EXAMPLES({"while (true) {} 1", "unbounded-loop:1:1"},
             {"for (;;) { f() } 1", "unbounded-loop:1:1"},
             {"do { } while (1); 1", "unbounded-loop:1:1"},
             {"while (true) { (() => { return 1 })() } 1", "unbounded-loop:1:1"},
             {"while (true) { if (f()) break }  1", ""}, {"for (;;) { return 1 }", ""},
             {"for (;;) { await sleep(1) } 1", ""}, {"while (true) { throw 1 } 1", ""},
             {"a: for (;;) { for (;;) { break a } } 1", ""},
             {"function* f() { for (;;) yield 1 } f()", ""}, {"while (x) {} 1", ""},
             {"for (;;i++) { if (i > 3) break } 1", ""});
}

static void promises_that_nobody_waits_for_are_found(void **state)
{
    EXAMPLES({"notes.update('a', {}); return 1", "unawaited-call:1:1"},
             {"notes.create({}); notes.get('a')", "unawaited-call:1:1"},
             {"[1].forEach(async (x) => { await notes.update(x, {}) }); 1",
              "async-foreach:1:5"},
             {"return notes.get('a').title", "missing-await:1:8"},
             {"const n = notes.get('a'); return n.title", "missing-await:1:11"},
             {"for (const n of notes.list()) n.id", "missing-await:1:17"},
             {"return [...notes.list()]", "missing-await:1:12"},
             {"if (notes.get('a')) return 1", "missing-await:1:5"},
             {"const {get: g} = notes; return g('a').title", "missing-await:1:32"},
             {"const n = notes; return n.get('a').title", "missing-await:1:25"},
             /* and these are not */
             {"return notes.get('a')", ""}, {"notes.get('a')", ""},
             {"const p = notes.get('a'); return await p", ""},
             {"const p = notes.get('a'); return p.then((n) => n.title)", ""},
             {"await Promise.all([1].map((x) => notes.get(x))); 1", ""},
             {"void notes.update('a', {}); 1", ""}, {"utils.generateId(); 1", ""},
             {"let n = notes.get('a'); n = await n; return n.title", ""},
             {"const n = notes.get('a'); [1].map((n) => n.x); return n", ""},
             {"const notes = {get() {}}; notes.get(); return 1", ""});
}

static void promises_in_place_of_values_are_found(void **state)
{
    EXAMPLES(
        {"return {a: notes.get('a'), b: 1}", "missing-await:1:12"},
        {"return [1, notes.get('a')]", "missing-await:1:12"},
        {"({a: notes.get('a')})", "missing-await:1:6"},
        {"return ['a'].map(async (x) => x)", "missing-await:1:8"},
        {"return ids.map((x) => notes.get(x))", "missing-await:1:8"},
        {"async function main() { return {all: [1].map(async (x) => x)} }",
         "missing-await:1:38"},
        {"const n = notes.list(); return n + 1", "missing-await:1:11"},
        {"const f = async () => 1; return `${f()} and more`", "missing-await:1:36"},
        {"return JSON.stringify(notes.get('a'))", "missing-await:1:23"},
        {"console.log(notes.get('a')); return 1", "missing-await:1:13"},
        {"return String(notes.get('a'))", "missing-await:1:15"},
        {"return [1].reduce(async (s, x) => s + x, 0) + 1", "missing-await:1:8"},
        {"return Promise.all([1]).length", "missing-await:1:25"},
        {"return rows.filter(async (r) => r.ok)", "async-callback:1:13"},
        /* and these are not */
        {"return ids.map((x) => x.id)", ""}, {"return {a: await notes.get('a')}", ""},
        {"return await Promise.all(ids.map(async (x) => x))", ""},
        {"return Promise.all(ids.map((x) => notes.get(x)))", ""},
        {"const p = ids.map((x) => notes.get(x)); return (await Promise.all(p)).length",
         ""},
        {"const cache = {a: notes.get('a')}; return (await cache.a).title", ""},
        {"const p = notes.get('a'); return p === null", ""},
        {"function f() { return [notes.get('a')] } return Promise.all(f())", ""},
        {"const x = {map(f) { return f }}; return x.map(1) + 1", ""});
}

static void names_that_are_not_there_are_found(void **state)
{
    EXAMPLES(
        {"return await notes.serach({query: 'a'})", "unknown-api:1:14"},
        {"return await notes.getBacklinks('a')", "unknown-api:1:14"},
        {"return notes.nope?.('a')", ""}, {"return notes.nope", ""},
        {"return notes.hasOwnProperty('get')", ""},
        {"return await notes.create({type: 'a', titel: 'b'})", "unknown-option:1:39"},
        {"return await notes.create({...x, type: 'a', [k]: 1})", ""},
        {"const notes = await notes.list(); return notes", "shadowed-api:1:7"},
        {"return process.env", "absent-global:1:8"}, {"return typeof process", ""},
        {"if (typeof window !== 'undefined') window.x(); return 1", ""},
        {"const o = {process: 1}; return o.process", ""},
        {"return (await fetch('https://a.test')).status", "absent-global:1:15"});
}

static void what_helps_nobody_is_found(void **state)
{
    EXAMPLES(
        {"try { await notes.get('a') } catch {} return 1", "swallowed-error:1:30"},
        {"try { await notes.get('a') } catch (e) { /* it may be gone */ } return 1", ""},
        {"try { JSON.parse(x) } catch {} return 1", ""},
        {"await notes.get('a').catch(() => {}); return 1", "swallowed-error:1:28"},
        {"await notes.get('a'); return 1", "unused-result:1:1"},
        {"try { await notes.get('a') } catch (e) { return e.name }", ""},
        {"let s = 'a'; s.replace('a', 'b'); return s", "unused-result:1:14"},
        {"for (const n of await notes.list()) await notes.update(n.id, {}); return 1",
         "unlimited-writes:1:17"},
        {"for (const n of await notes.list({limit: 5})) await notes.update(n.id, {}); return 1",
         ""},
        {"for (const n of await notes.list({limit: 5})) out.push(await notes.get(n.id)); return 1",
         "await-in-loop:1:56"},
        {"const all = await notes.list()", "no-result:1:1"});
}

static void findings_are_counted_by_what_they_are(void **state)
{
    (void)state;
    struct err e = {0};
    struct lint_findings f;
    lint_findings_init(&f);
    assert_true(lint_check(lint,
                           STR("eval('1'); while (true) {} const x = await notes.list()"),
                           STR(""), 0, NULL, &f, &e));
    assert_int_equal(f.errors, 1);
    assert_int_equal(f.warnings, 1);
    assert_int_equal(f.hints, 1);
    assert_non_null(strstr(buf_cz(&f.json), "\"suggestion\""));
    lint_findings_done(&f);
}

static void a_feature_that_is_asked_for_is_there(void **state)
{
    (void)state;
    struct err e = {0};
    struct lint_findings f;
    lint_findings_init(&f);
    struct str code = STR("return (await fetch('https://a.test')).status");
    for (int again = 0; again < 2; again++) {
        assert_true(lint_check(lint, code, STR(""), 1, NULL, &f, &e));
        assert_string_equal(buf_cz(&f.json), "[]");
        buf_clear(&f.json);
        assert_true(lint_check(lint, code, STR(""), 0, NULL, &f, &e));
        assert_non_null(strstr(buf_cz(&f.json), "enableNetwork"));
        buf_clear(&f.json);
    }
    lint_findings_done(&f);
}

/* ---- hostile code ------------------------------------------------------- */

static void repeat(struct buf *out, const char *text, int n)
{
    while (n-- > 0)
        buf_cstr(out, text);
}

static void code_that_cannot_be_checked_is_told_so(void **state)
{
    (void)state;
    static const char *const units[] = {"(",    "[",   "{",     "a=>", "!",
                                        "a?b:", "`${", "if(a)", "-",   "a.b(",
                                        "1,",   "'",   "//",    "\n",  "x=1;"};
    for (size_t i = 0; i < LENGTH(units); i++) {
        struct err e = {0};
        struct lint_findings f;
        scoped_buf struct buf code;
        buf_init(&code, LINT_CODE_MAX + 100);
        repeat(&code, units[i], (int)((LINT_CODE_MAX - 1) / strlen(units[i])));
        lint_findings_init(&f);
        if (!lint_check(lint, buf_view(&code), STR(""), 0, NULL, &f, &e) &&
            e.code != ERR_GUEST && e.code != ERR_TIMEOUT && e.code != ERR_MEMORY)
            fail_msg("%s: %s", units[i], e.msg);
        lint_findings_done(&f);
    }
    /* and after all that, as before */
    assert_examples(&(struct example){"return eval('1')", "no-eval:1:8"}, 1);
}

static void too_much_code_and_no_text_are_refused(void **state)
{
    (void)state;
    struct lint_findings f;
    lint_findings_init(&f);
    struct err e = {0}, none = {0};
    char *code = mem_new(LINT_CODE_MAX + 1);
    memset(code, ' ', LINT_CODE_MAX + 1);
    assert_false(lint_check(lint, (struct str){code, LINT_CODE_MAX + 1}, STR(""), 0, NULL,
                            &f, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    assert_true(
        lint_check(lint, (struct str){code, LINT_CODE_MAX}, STR(""), 0, NULL, &f, &none));
    e = (struct err){0};
    assert_false(lint_check(lint, STR("\xff"), STR(""), 0, NULL, &f, &e));
    assert_int_equal(e.code, ERR_INVALID);
    free(code);
    lint_findings_done(&f);
}

static void a_check_can_be_cancelled(void **state)
{
    (void)state;
    struct cancel c;
    struct err e = {0};
    struct lint_findings f;
    lint_findings_init(&f);
    cancel_init(&c);
    cancel_fire(&c);
    assert_false(
        lint_check(lint, STR("return 'never seen before'"), STR(""), 0, &c, &f, &e));
    assert_int_equal(e.code, ERR_CANCELLED);
    lint_findings_done(&f);
}

static void findings_are_at_most_fifty(void **state)
{
    (void)state;
    scoped_buf struct buf code;
    struct err e = {0};
    struct lint_findings f;
    buf_init(&code, (size_t)1 << 20);
    repeat(&code, "eval('1');", 1000);
    lint_findings_init(&f);
    assert_true(lint_check(lint, buf_view(&code), STR(""), 0, NULL, &f, &e));
    assert_int_equal(f.errors, 50);
    lint_findings_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_in_all_its_forms_is_parsed),
        cmocka_unit_test(what_is_refused_is_found),
        cmocka_unit_test(loops_without_an_end_are_found),
        cmocka_unit_test(promises_that_nobody_waits_for_are_found),
        cmocka_unit_test(promises_in_place_of_values_are_found),
        cmocka_unit_test(names_that_are_not_there_are_found),
        cmocka_unit_test(what_helps_nobody_is_found),
        cmocka_unit_test(findings_are_counted_by_what_they_are),
        cmocka_unit_test(a_feature_that_is_asked_for_is_there),
        cmocka_unit_test(code_that_cannot_be_checked_is_told_so),
        cmocka_unit_test(too_much_code_and_no_text_are_refused),
        cmocka_unit_test(a_check_can_be_cancelled),
        cmocka_unit_test(findings_are_at_most_fifty),
    };
    return cmocka_run_group_tests(tests, begin, close_lint);
}
