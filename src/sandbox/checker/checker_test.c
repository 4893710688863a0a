/* The checker's guest, which must have been built ('make checker'), and its cache of
 * answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/home_test.h"
#include "checker/internal.h"
#include "engine/traps_test.h"
#include "json/json.h"

static char root[HOME_SIZE];
static struct engine *g;
static struct checker *c;
static struct arena *arena;

static const struct str declarations[] = {
    {"interface Note { id: string; tags?: string[]; links: Note[] }\n"
     "declare const notes: { get(id: string): Promise<Note | null>;\n"
     "  list(o?: {limit?: number}): Promise<Note[]> };\n",
     0},
    {"declare function fetch(url: string): Promise<{status: number}>;\n", 0},
};

static struct checker *new_checker(void)
{
    struct str row[LENGTH(declarations)];
    for (size_t i = 0; i < LENGTH(row); i++)
        row[i] = str_of(declarations[i].at);
    return checker_new(g, "build/guest", row, LENGTH(row));
}

static int open_all(void **state)
{
    (void)state;
    struct err e = {0};
    if (!home_make(root))
        return -1;
    g = engine_open(&(struct engine_options){.ahead = "build/guest/ahead"}, &e);
    c = new_checker();
    return g ? 0 : -1;
}

static int close_all(void **state)
{
    (void)state;
    checker_free(c);
    engine_close(g);
    return folder_remove(root);
}

static int begin(void **state)
{
    (void)state;
    arena = arena_new((size_t)16 << 20);
    if (!checker_is_there(c))
        fail_msg("%s", "the type checker is missing: make checker builds it");
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static const struct json *ask(struct checker_question q)
{
    struct err e = {0};
    q.declared = q.declared ? q.declared : 1;
    scoped_checked const struct checker_answer *a = checker_check(c, &q, &e);
    if (!a)
        fail_msg("%s", e.msg);
    struct str text = checker_json(a);
    char *copy = arena_copy(arena, text.at, text.n, &e);
    const struct json *v = json_read((struct str){copy, text.n}, arena, &e);
    assert_non_null(v);
    return v;
}

static const struct json *of_code(const char *code)
{
    return ask((struct checker_question){.code = str_of(code)});
}

static const struct json *nth(const struct json *answer, size_t n)
{
    return json_at(json_get(answer, "diagnostics"), n);
}

static void assert_text(const struct json *v, const char *key, const char *wanted)
{
    struct str s = json_str(json_get(v, key));
    if (!str_is(s, wanted))
        fail_msg("%s is '%.*s', not '%s'", key, STR_ARGS(s), wanted);
}

static void assert_place(const struct json *d, int line, int column)
{
    assert_int_equal(json_int(json_get(d, "line"), 0), line);
    assert_int_equal(json_int(json_get(d, "column"), 0), column);
}

static void assert_sound(const struct json *answer)
{
    const struct json *d = nth(answer, 0);
    if (d)
        fail_msg("%.*s", STR_ARGS(json_str(json_get(d, "message"))));
}

/* ---- evaluations ------------------------------------------------------------ */

static void code_that_fits_is_sound(void **state)
{
    (void)state;
    assert_sound(of_code("const all = await notes.list({limit: 2});\n"
                         "return all.map(n => n.id);"));
    assert_sound(of_code("enum A { x } namespace B { export const y = A.x }\nB.y"));
    assert_sound(of_code("const all = []; all.push(1); all.push('a'); all"));
    assert_sound(of_code("function f(x) { return x.y }\nf({y: 1})"));
    assert_sound(of_code("try { f() } catch (e) { e.message }\nfunction f() {}"));
    assert_sound(of_code("export const a = 1; return a"));
    assert_sound(
        of_code("import type { Note } from 'notes';\nconst n: Note = 1 as any; n"));
}

static void a_mistake_is_told_in_the_codes_own_places(void **state)
{
    (void)state;
    const struct json *d = nth(of_code("const a = 1;\nreturn a.b;"), 0);
    assert_text(d, "code", "TS2339");
    assert_text(d, "field", "code");
    assert_text(d, "severity", "error");
    assert_place(d, 2, 10);
    d = nth(of_code("/* \xf0\x9f\x98\x80 */ nots.list()"), 0);
    assert_text(d, "code", "TS2552");
    assert_text(d, "suggestion", "notes");
    assert_place(d, 1, 9);
    d = nth(of_code("return nots"), 0);
    assert_place(d, 1, 8);
    d = nth(of_code("if (1) {"), 0);
    assert_text(d, "code", "TS1005");
    /* Code that closes the function it is wrapped in does not parse. */
    d = nth(of_code("return 1 } async function b() { return 2"), 0);
    assert_text(d, "code", "TS1128");
    d = nth(of_code("import x from 'some-lib'; x"), 0);
    assert_text(d, "code", "TS2307");
    d = nth(of_code("return process.env"), 0); /* no word of npm and of tsconfig.json */
    assert_text(d, "message", "Cannot find name 'process'.");
    assert_place(d, 1, 8);
    d = nth(of_code("document.title"), 0);
    assert_text(d, "message", "Cannot find name 'document'.");
}

static void what_was_not_asked_for_is_not_there(void **state)
{
    (void)state;
    struct checker_question q = {.code = STR("(await fetch('a')).status")};
    assert_text(nth(ask(q), 0), "code", "TS2304");
    q.declared = 3;
    assert_sound(ask(q));
    q.code = STR("own.b");
    q.own = STR("declare const own: {a: number};");
    assert_text(nth(ask(q), 0), "code", "TS2339");
    q.code = STR("own.a + earlier");
    q.remembers = true;
    assert_sound(ask(q));
    q.code = STR("/// <reference lib='dom' />\ndocument.title");
    q.remembers = false;
    assert_non_null(nth(ask(q), 0));
}

/* A frozen memory may not have grown: the guest has room for many more than Cloche's own. */
static void many_declarations_have_room(void **state)
{
    (void)state;
    char *text = arena_get(arena, 200 << 10, &(struct err){0});
    size_t n = 0;
    for (int i = 0; i < 2000; i++)
        n += (size_t)snprintf(
            text + n, 100,
            "declare function f%d(a: string, o?: {all: number}): number;\n", i);
    scoped(checker_free) struct checker *many =
        checker_new(g, "build/guest", &(struct str){text, n}, 1);
    struct checker_question q = {.code = STR("f7('a') + f1999('b', {all: 1})"),
                                 .declared = 1};
    struct err e = {0};
    scoped_checked const struct checker_answer *a = checker_check(many, &q, &e);
    if (!a)
        fail_msg("%s", e.msg);
    assert_int_equal(checker_errors(a), 0);
}

static void javascript_is_javascript(void **state)
{
    (void)state;
    struct checker_question q = {.code = STR("const o = {}; o.x = 1; return o.x"),
                                 .javascript = true};
    assert_sound(ask(q));
    q.code = STR("const n: number = 1");
    assert_text(nth(ask(q), 0), "code", "TS8010");
}

/* ---- functions ---------------------------------------------------------------- */

static const struct json *of_function(const char *code,
                                      const struct checker_parameter *parameters,
                                      size_t count, const char *returns)
{
    struct checker_signature s = {STR("f"), parameters, count, str_of(returns)};
    return ask((struct checker_question){.code = str_of(code), .function = &s});
}

static void a_function_that_is_what_it_says_is_sound(void **state)
{
    (void)state;
    const struct checker_parameter row[] = {
        {STR("id"), STR("string"), false, {0}},
        {STR("limit"), STR("number"), true, {0}},
        {STR("mode"), STR("'a' | 'b'"), false, STR("\"a\"")},
    };
    static const char *const codes[] = {
        "async function f(id: string, limit?: number, mode: 'a' | 'b' = 'b'): "
        "Promise<Note | null> { return await notes.get(id); }",
        "export const f = async (id: string, limit = 3, mode: string) => notes.get(id)",
        /* What says no type takes the definition's. */
        "async function f(id, limit, mode) { limit?.toFixed(); return notes.get(id); }",
        "const f = async (id, limit, mode) => notes.get(mode === 'a' ? id : mode);",
        "type Id = string; async function f(id: Id, limit?: number, mode?: string) {\n"
        "  const n = await notes.get(id); return n! }",
    };
    for (size_t i = 0; i < LENGTH(codes); i++)
        assert_sound(of_function(codes[i], row, LENGTH(row), "Promise<Note | null>"));
}

static void what_differs_from_the_definition_is_told_by_field(void **state)
{
    (void)state;
    const struct checker_parameter row[] = {{STR("a"), STR("number"), false, {0}},
                                            {STR("b"), STR("string"), true, {0}}};
    const struct {
        const char *code, *returns, *field, *severity;
    } cases[] = {
        {"function g(a: number, b?: string) {}", "void", "name", "error"},
        {"function f(a: string, b?: string) {}", "void", "parameters.a", "error"},
        {"function f(a: number, b: string) {}", "void", "parameters.b", "error"},
        {"function f(b: any, a: any) {}", "void", "parameters", "error"},
        {"function f(a: number) {}", "void", "parameters.b", "error"},
        {"function f(a: number, c?: string) {}", "void", "parameters.b", "error"},
        {"function f(a?: number, b?: string) {}", "void", "parameters.a", "warning"},
        {"function f(a: number, b?: string): number { return a }", "string", "returnType",
         "error"},
        {"function f(a: number, b?: string) { return a }", "string", "code", "error"},
        {"async function f(a: number, b?: string) { return a }", "number", "returnType",
         "warning"},
        {"function f(a: number, b?: string) {}", "Nte", "returnType", "error"},
        {"function f(a: number, b?: string) {}", "string; type X = 1", "returnType",
         "error"},
        {"const f = 1", "void", "name", "error"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const struct json *d =
            nth(of_function(cases[i].code, row, LENGTH(row), cases[i].returns), 0);
        assert_text(d, "field", cases[i].field);
        assert_text(d, "severity", cases[i].severity);
    }
}

static void parameters_are_held_against_their_types_and_defaults(void **state)
{
    (void)state;
    const struct {
        const char *type, *fallback, *field, *suggestion;
    } cases[] = {
        {"strng", "", "parameters.a.type", "string"},
        {"{", "", "parameters.a.type", ""},
        {"number) | (string", "", "parameters.a.type", ""},
        {"string /*", "", "parameters.a.type", ""},
        {"", "", "parameters.a.type", ""},
        {"number", "\"x\"", "parameters.a.default", ""},
        {"{x: number}", "{\"x\": 1, \"y\": 2}", "parameters.a.default", ""},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct checker_parameter p = {STR("a"), str_of(cases[i].type), false,
                                      str_of(cases[i].fallback)};
        const struct json *answer = of_function("function f(a: any) {}", &p, 1, "void");
        assert_text(nth(answer, 0), "field", cases[i].field);
        assert_text(nth(answer, 0), "suggestion", cases[i].suggestion);
        assert_null(nth(answer, 1));
        assert_null(json_get(answer, "shapes"));
    }
}

/* ---- shapes ---------------------------------------------------------------------- */

/* The shape at `n` of the types, as text. */
static void assert_shape(const struct json *shapes, int64_t n, const char *wanted)
{
    scoped_buf struct buf text;
    buf_init(&text, 10000);
    struct json_writer w = json_writer(&text);
    json_put(&w, json_at(json_get(shapes, "types"), (size_t)n));
    assert_string_equal(buf_cz(&text), wanted);
}

static void shapes_say_what_fits_at_run_time(void **state)
{
    (void)state;
    const struct {
        const char *type, *shape;
    } cases[] = {
        {"string", "\"string\""},
        {"any", "\"any\""},
        {"object", "\"object\""},
        {"boolean", "\"boolean\""},
        {"'a'", "{\"is\":\"a\"}"},
        {"2", "{\"is\":2}"},
        {"'a' | null", "{\"or\":[1,2]}"},
        {"boolean | string", "{\"or\":[1,2]}"},
        {"string[]", "{\"array\":1}"},
        {"readonly Note[]", "{\"array\":1}"},
        {"[number, string?]", "{\"optional\":1,\"tuple\":[1,2]}"},
        {"[number, ...string[]]", "{\"rest\":1,\"tuple\":[2]}"},
        {"Record<string, number>", "{\"fields\":{},\"others\":1}"},
        {"{a: 1, b?: string}", "{\"fields\":{\"a\":1,\"b\":2},\"optional\":[\"b\"]}"},
        {"Date", "{\"class\":\"Date\"}"},
        {"ReadonlyMap<string, 1>", "{\"class\":\"Map\"}"},
        {"() => void", "\"function\""},
        {"{}", "\"any\""},
        {"string & {brand: 1}", "\"string\""},
        {"`a${string}`", "\"string\""},
        {"Pick<Note, 'id'>", "{\"fields\":{\"id\":1}}"},
        {"Iterable<string>", "\"any\""},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct checker_parameter p = {STR("a"), str_of(cases[i].type), false, {0}};
        const struct json *answer = of_function("function f(a) {}", &p, 1, "void");
        assert_sound(answer);
        const struct json *shapes = json_get(answer, "shapes");
        assert_int_equal(json_int(json_at(json_get(shapes, "parameters"), 0), -1), 0);
        assert_shape(shapes, 0, cases[i].shape);
    }
}

static void a_recursive_type_leads_back_to_itself(void **state)
{
    (void)state;
    struct checker_parameter p = {STR("a"), STR("Note"), false, {0}};
    const struct json *shapes =
        json_get(of_function("function f(a: Note) {}", &p, 1, "void"), "shapes");
    const struct json *links =
        json_get(json_get(json_at(json_get(shapes, "types"), 0), "fields"), "links");
    assert_shape(shapes, json_int(links, -1), "{\"array\":0}");
}

static void shapes_are_known_whatever_else_the_code_finds(void **state)
{
    (void)state;
    struct err e = {0};
    const struct checker_parameter p = {.name = STR("a"), .type = STR("number[]")};
    const struct checker_signature s = {STR("known"), &p, 1, STR("void")};
    struct checker_question q = {
        .code = STR("function known(a: number[]) {}"), .declared = 1, .function = &s};
    assert_null(checker_known(c, &q));
    q.own = STR("declare const other: 1;");
    checker_drop(checker_check(c, &q, &e));
    q.own = STR("");
    scoped_checked const struct checker_answer *known = checker_known(c, &q);
    assert_non_null(known);
    const struct json *v = json_read(checker_json(known), arena, &e);
    assert_shape(json_get(v, "shapes"), 0, "{\"array\":1}");
    q.code = STR("function known(a: number[]) { return; }");
    assert_null(checker_known(c, &q));
}

static void there_are_at_most_256_shapes(void **state)
{
    (void)state;
    struct checker_parameter p = {STR("a"), STR("Deep<1>"), false, {0}};
    const struct json *answer =
        of_function("interface Deep<T> { next: Deep<[T]> }\nfunction f(a: Deep<1>) {}",
                    &p, 1, "void");
    const struct json *types = json_get(json_get(answer, "shapes"), "types");
    assert_int_equal(json_length(types), 256);
    assert_text(json_get(answer, "shapes"), "none", "");
    assert_shape(json_get(answer, "shapes"), 255, "\"any\"");
}

/* ---- what is kept, limits -------------------------------------------------------- */

static void what_was_answered_once_is_kept(void **state)
{
    (void)state;
    (void)of_code("const kept = 1; kept");
    struct checker_counts before = checker_count(c);
    (void)of_code("const kept = 1; kept");
    struct checker_counts after = checker_count(c);
    assert_int_equal(after.made, before.made);
    assert_int_equal(after.from_memory, before.from_memory + 1);
    checker_free(c);
    c = new_checker();
    (void)of_code("const kept = 1; kept");
    assert_int_equal(checker_count(c).from_disk, 1);
    assert_int_equal(checker_count(c).made, 0);
    (void)of_code("const kept = 2; kept");
    assert_int_equal(checker_count(c).made, 1);
}

static char *repeated(const char *head, const char *part, size_t n, const char *tail)
{
    scoped_buf struct buf b;
    buf_init(&b, (size_t)8 << 20);
    buf_cstr(&b, head);
    for (size_t i = 0; i < n; i++)
        buf_cstr(&b, part);
    buf_cstr(&b, tail);
    return mem_strdup(buf_cz(&b));
}

static enum err_code outcome(const char *code, struct checker_question q)
{
    struct err e = {0};
    q.code = str_of(code);
    q.declared = 1;
    scoped_checked const struct checker_answer *a = checker_check(c, &q, &e);
    if (a)
        return 0;
    assert_true(e.msg[0] != '\0');
    return e.code;
}

static void limits_are_kept_and_told(void **state)
{
    (void)state;
    scoped(free) char *long_code =
        repeated("// ", "0123456789", CHECKER_CODE_BYTES / 10 + 1, "");
    assert_int_equal(outcome(long_code, (struct checker_question){0}), ERR_LIMIT);
    assert_int_equal(outcome("\xff", (struct checker_question){0}), ERR_INVALID);
    assert_int_equal(outcome("'past'", (struct checker_question){.until_ns = 1}),
                     ERR_TIMEOUT);
    struct cancel stop;
    cancel_init(&stop);
    cancel_fire(&stop);
    assert_int_equal(outcome("'stopped'", (struct checker_question){.cancel = &stop}),
                     ERR_CANCELLED);
}

/* Any code ends, with an answer or an error, and the next question is answered. */
static void hostile_code_ends(void **state)
{
    (void)state;
    scoped(free) char *deep = repeated("const a = ", "[", 200000, "");
    scoped(free) char *type = repeated("type A = ", "(", 100000, "");
    scoped(free) char *plus = repeated("const a = 1", "+1", 100000, "");
    const char *const codes[] = {
        deep,
        type,
        plus,
        "type Bomb<N extends any[] = []> = N['length'] extends 1e9 ? N : Bomb<[...N, 0]>;"
        " let b: Bomb = 1;",
        "type P<T> = T extends `${infer A}${infer B}` ? A | P<B> | `${A}${P<B>}` : '';"
        " let p: P<'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz'> = 1;",
        "type X = [1,2,3,4,5,6,7,8,9,0]; type C<A> = A extends any[] ? `${A[number]}${A[number]}"
        "${A[number]}${A[number]}${A[number]}${A[number]}` : 0; let q: C<X> = 1;",
        "interface A<T> extends A<A<T>> {} let a: A<1> = {x: 1};",
        "class A extends A {} const x: typeof x = x; type T = T;",
        "\x01\x02 \xe2\x80\xa8 // \xe2\x80\xa9 `${`${`",
        "// @ts-nocheck\nnope",
    };
    for (size_t i = 0; i < LENGTH(codes); i++) {
        enum err_code code = outcome(codes[i], (struct checker_question){0});
        if (code != 0 && code != ERR_TIMEOUT && code != ERR_MEMORY && code != ERR_STACK &&
            code != ERR_GUEST)
            fail_msg("case %zu: %d", i, (int)code);
    }
    assert_sound(of_code("1 + 1"));
}

static void without_the_guest_it_says_how_to_build_it(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(checker_free) struct checker *none = checker_new(g, root, NULL, 0);
    assert_false(checker_is_there(none));
    assert_null(checker_check(none, &(struct checker_question){.code = STR("1")}, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_non_null(strstr(e.msg, "make checker"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(code_that_fits_is_sound),
        TEST(a_mistake_is_told_in_the_codes_own_places),
        TEST(what_was_not_asked_for_is_not_there),
        TEST(many_declarations_have_room),
        TEST(javascript_is_javascript),
        TEST(a_function_that_is_what_it_says_is_sound),
        TEST(what_differs_from_the_definition_is_told_by_field),
        TEST(parameters_are_held_against_their_types_and_defaults),
        TEST(shapes_say_what_fits_at_run_time),
        TEST(a_recursive_type_leads_back_to_itself),
        TEST(shapes_are_known_whatever_else_the_code_finds),
        TEST(there_are_at_most_256_shapes),
        TEST(what_was_answered_once_is_kept),
        TEST(limits_are_kept_and_told),
        TEST(hostile_code_ends),
        cmocka_unit_test(without_the_guest_it_says_how_to_build_it),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
