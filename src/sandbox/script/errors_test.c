/* Errors: their messages and positions. */
#include "script/fixture_test.h"

/* Fails as assert_fails(), at this place. */
static void assert_fails_at(const char *code, enum err_code type, const char *name,
                            const char *message, uint32_t line, uint32_t column)
{
    assert_fails(code, type, name, message);
    if (outcome.line != line || outcome.column != column)
        fail_msg("%s\n  fails at %u:%u, not %u:%u", code, outcome.line, outcome.column,
                 line, column);
}

static void assert_frame(const char *frame)
{
    assert_string_equal(buf_cz(&outcome.frame), frame);
}

static void an_error_has_its_place_and_the_lines_around_it(void **state)
{
    (void)state;
    assert_fails_at(
        "const a = 1;\nconst b = 2;\nthrow new TypeError('bad')\nlet c\nlet d", ERR_GUEST,
        "TypeError", "bad", 3, 11);
    assert_frame("     1 | const a = 1;\n"
                 "     2 | const b = 2;\n"
                 ">    3 | throw new TypeError('bad')\n"
                 "       |           ^\n"
                 "     4 | let c\n"
                 "     5 | let d");
    assert_string_equal(buf_cz(&outcome.stack), "    at (code.js:3:11)");
    assert_fails_at("null.x", ERR_GUEST, "TypeError", "of null", 1, 6);
    assert_frame(">    1 | null.x\n       |      ^");
    assert_fails_at("\n\n\nmissing()", ERR_GUEST, "ReferenceError", "missing", 4, 1);
    assert_fails_at("\tnull.x", ERR_GUEST, "TypeError", "null", 1, 7);
    assert_frame(">    1 | \tnull.x\n       | \t     ^");
    assert_fails_at("'\\u{1F514} \u20ac \U0001F514' + null.x", ERR_GUEST, "TypeError",
                    "null", 1, 24);
    assert_fails_at("1;\r\n2;\r\nnull.x;\r\n", ERR_GUEST, "TypeError", "null", 3, 6);
    assert_frame(
        "     1 | 1;\n     2 | 2;\n>    3 | null.x;\n       |      ^\n     4 | ");
}

static void the_place_is_the_same_in_code_with_a_return(void **state)
{
    (void)state;
    static const char *const tails[] = {"null.x",
                                        "  null.x",
                                        "const a = 1;\n null.x",
                                        "1 + null.x",
                                        "throw new RangeError('r')",
                                        "[1].map(() => null.x)",
                                        "(() => {\n null.x })()"};
    for (size_t i = 0; i < LENGTH(tails); i++) {
        char code[200];
        (void)snprintf(code, sizeof code, "if (0) void 1;\n%s", tails[i]);
        evaluate(code);
        uint32_t line = outcome.line, column = outcome.column;
        assert_true(line > 1 && column > 0);
        (void)snprintf(code, sizeof code, "if (0) return;\n%s", tails[i]);
        evaluate(code);
        if (outcome.line != line || outcome.column != column)
            fail_msg("%s: %u:%u, not %u:%u", code, outcome.line, outcome.column, line,
                     column);
    }
}

static void functions_are_named_in_the_stack(void **state)
{
    (void)state;
    assert_fails_at("function f() {\n  g()\n}\nconst g = () => { null.y };\nf()",
                    ERR_GUEST, "TypeError", "null", 4, 24);
    assert_string_equal(buf_cz(&outcome.stack), "    at g (code.js:4:24)\n"
                                                "    at f (code.js:2:3)\n"
                                                "    at (code.js:5:1)");
    assert_fails_at("async function later() {\n  await null;\n  null.z\n}\nawait later()",
                    ERR_GUEST, "TypeError", "null", 3, 8);
    assert_non_null(strstr(buf_cz(&outcome.stack), "at later (code.js:3:8)"));
    assert_fails_at("[3, 1].sort(() => {\n  throw new Error('in sort') })", ERR_GUEST,
                    "Error", "in sort", 2, 13);
    /* Frames of our own code are hidden from agents. */
    static const char *const through_ours[] = {
        "structuredClone(() => 1)",
        "console.log({get a() { throw 1 }}, null.x)",
        "new URL('no url')",
        "setTimeout('x')",
        "await quick.fail('NotFound')",
        "sync.fail('NotFound')",
        "crypto.getRandomValues(5)",
        "inside.deep.twice(10n)"};
    for (size_t i = 0; i < LENGTH(through_ours); i++) {
        evaluate(through_ours[i]);
        assert_false(outcome.success);
        if (strchr(buf_cz(&outcome.stack), '<') || outcome.line != 1)
            fail_msg("%s: %s", through_ours[i], buf_cz(&outcome.stack));
    }
}

static void a_rejected_call_stands_where_it_was_made(void **state)
{
    (void)state;
    assert_fails_at("const a = 1;\n  await quick.fail('NotFound');", ERR_NOT_FOUND,
                    "NotFound", "told to fail", 2, 15);
    assert_fails_at("const a = 1;\nconst p = slow.fail('Busy');\nawait quick.echo();\n"
                    "await p",
                    ERR_BUSY, "Busy", "told to fail", 2, 16);
    assert_fails_at("\nsync.fail('Conflict')", ERR_CONFLICT, "Conflict", "told to fail",
                    2, 6);
    assert_fails_at(
        "async function get() {\n  return quick.fail('IoError')\n}\nawait get()", ERR_IO,
        "IoError", "told to fail", 2, 16);
}

static void the_place_is_the_failing_call(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        uint32_t line, column;
    } all[] = {
        {"const x = 1; throw new Error(`a ${x}`)", 1, 24},
        {"await quick.fail(String('Busy'))", 1, 13},
        {"await quick.fail(await quick.echo('Busy'), String(1))", 1, 13},
        {"await Promise.all([quick.echo(1), quick.fail(String('Busy')), slow.echo(2)])",
         1, 41},
        {"await Promise.all(['Busy'].map((x) =>\n  quick.fail(String(x))))", 2, 9},
        {"await quick\n  .fail(\n    String('Busy'),\n    String(1))", 2, 4},
        {"const o = {f: (x) => quick.fail(x)};\nawait o.f(String('Busy'))", 1, 28},
        {"return sync.fail(String('Busy')) + sync.echo(1)", 1, 13},
        {"await quick.fail(...[String('Busy')])", 1, 13},
        {"await quick?.fail?.(String('Busy'))", 1, 14},
        {"nowhere.at(String(1))", 1, 1},
        {"const o = {}; o.a.b(String(1), Number(2))", 1, 19},
        {"const o = {};\nreturn [String(1), o.a\n  .b, String(2)]", 3, 4},
        {"const o = {}; o.a[String(1)].c", 1, 17},
        {"const o = {}; o.a.b = String(1)", 1, 15},
        {"const c = 1; c = String(2)", 1, 14},
        {"const {a, b} = ((x) => null)(String(1))", 1, 8},
        {"const f = ({a}) => a; f()", 1, 13},
        {"const [a] = Number(String(1))", 1, 8},
        {"for (const x of Number(String(1))) 0", 1, 17},
        {"for (const x of {}) 0", 1, 17},
        {"const F = {}; new F.G(String(1))", 1, 19},
        {"const F = {}; new F(String(1))", 1, 19},
        {"`a`.b`x${String(1)}`", 1, 5},
        {"class A { #p; f() { return this.#p(String(1)) } } new A().f()", 1, 33},
        {"class A { constructor() { this.x(String(1)) } } new A()", 1, 32},
    };
    for (size_t i = 0; i < LENGTH(all); i++) {
        evaluate(all[i].code);
        if (outcome.success || outcome.line != all[i].line ||
            outcome.column != all[i].column)
            fail_msg("%s\n  fails at %u:%u, not %u:%u: %s", all[i].code, outcome.line,
                     outcome.column, all[i].line, all[i].column,
                     buf_cz(&outcome.message));
    }
}

static void syntax_errors_are_a_kind_of_their_own(void **state)
{
    (void)state;
    assert_fails_at("let a = 1;\nlet b = ;", ERR_SYNTAX, "SyntaxError", "';'", 2, 9);
    assert_frame("     1 | let a = 1;\n>    2 | let b = ;\n       |         ^");
    assert_fails_at("return 1;\nlet b = ;\n", ERR_SYNTAX, "SyntaxError", "';'", 2, 9);
    assert_fails_at("'open", ERR_SYNTAX, "SyntaxError", "end of string", 1, 1);
    assert_fails_at("await = 5", ERR_SYNTAX, "SyntaxError", "", 1, 7);
    assert_fails_at("import x from 'y'", ERR_SYNTAX, "SyntaxError", "", 1, 8);
    static const char *const others[] = {"let a; let a",
                                         "export default 1",
                                         "x ===",
                                         "class { }",
                                         "const c",
                                         "for (;;",
                                         "({a: 1}",
                                         "return return",
                                         "1 = 2",
                                         "/(/",
                                         "`${`",
                                         "a b",
                                         "\"\\u{110000}\"",
                                         "break",
                                         "0 ?? 1 || 2",
                                         "/* not closed",
                                         "new.target.x = ",
                                         "yield 1 2"};
    for (size_t i = 0; i < LENGTH(others); i++) {
        evaluate(others[i]);
        if (outcome.success || outcome.type != ERR_SYNTAX)
            fail_msg("%s: %s", others[i], buf_cz(&outcome.message));
    }
}

static void what_ends_too_early_is_told_at_its_end(void **state)
{
    (void)state;
    assert_fails_at("function f() {\n  return 1;\n\n", ERR_SYNTAX, "SyntaxError",
                    "no partner", 2, 12);
    assert_fails_at("const x = [1, 2", ERR_SYNTAX, "SyntaxError", "no partner", 1, 16);
    assert_fails_at("foo(1,\n    2\n\n\n", ERR_SYNTAX, "SyntaxError", "no partner", 2, 6);
    assert_fails_at("return 1; }", ERR_SYNTAX, "SyntaxError", "no partner", 1, 12);
    assert_frame(">    1 | return 1; }\n       |            ^");
}

static void code_does_not_close_what_it_has_not_opened(void **state)
{
    (void)state;
    static const char *const all[] = {
        "}; 1; {",     "})();(function(){", "} 1 {",          "}",
        "1 }",         "})\n(() => {",      "return 1 } + {", ")(",
        "} finally {", "} else {",          "*/ 1 /*"};
    for (size_t i = 0; i < LENGTH(all); i++) {
        evaluate(all[i]);
        if (outcome.success || outcome.type != ERR_SYNTAX)
            fail_msg("%s: %s", all[i], buf_cz(&outcome.message));
    }
    static const struct result_row fine[] = {
        {"'})' + `}${')'}`", "\"})})\""},
        {"/[})]/.test('}')", "true"},
        {"/})/.source", "\"})\""},
        {"1 // })", "1"},
        {"/* }) */ 2", "2"},
        {"if (0) return /}/; '}'", "\"}\""},
    };
    for (size_t i = 1; i < LENGTH(fine); i++)
        if (i != 2) /* no regular expression: its parenthesis is not opened */
            assert_result(fine[i].code, fine[i].json);
}

static void whatever_is_thrown_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *code, *name, *message;
    } all[] = {
        {"throw 'text'", "Error", "text"},
        {"throw 5", "Error", "5"},
        {"throw null", "Error", "null"},
        {"throw undefined", "Error", "undefined"},
        {"throw Symbol('s')", "Error", "Symbol(s)"},
        {"throw 10n", "Error", "10"},
        {"throw {a: 1}", "Error", "{ a: 1 }"},
        {"throw {message: 'm', name: 'N'}", "N", "m"},
        {"throw []", "Error", "[]"},
        {"throw Object.create(null)", "Error", "[null prototype] {}"},
        {"throw function named() {}", "Error", "named"},
        {"throw new (class Mine extends Error { name = 'Mine' })('mine')", "Mine",
         "mine"},
        {"throw Object.assign(new Error('m'), {name: 5})", "5", "m"},
        {"throw Object.assign(new Error(), {message: {toString: () => 'obj'}})", "Error",
         "obj"},
        {"throw new Error('')", "Error", ""},
        {"throw new Error('two\\nlines')", "Error", "two\nlines"},
        {"throw new Error('\\ud800\\u0000')", "Error", "\ufffd"},
        {"await Promise.any([Promise.reject(1), quick.fail('x')])", "AggregateError", ""},
        {"throw {get message() { throw 1 }}", "Error", "cannot be shown"},
        {"throw {get name() { throw 1 }}", "Error", "cannot be shown"},
        {"throw Object.assign(new Error('m'), {name: {toString() { throw 1 }}})", "Error",
         "cannot be shown"},
        {"throw new Proxy({}, {get() { throw 1 }})", "Error", "cannot be shown"},
        {"throw new Proxy(new Error('behind'), {})", "Error", "behind"},
        {"const e = new Error('s'); Object.defineProperty(e, 'stack', {value: 5}); throw e",
         "Error", "s"},
        {"const e = new Error('s'); Object.defineProperty(e, 'stack', {value: {}}); throw e",
         "Error", "s"},
        {"JSON.parse('{')", "SyntaxError", ""},
        {"decodeURIComponent('%')", "URIError", ""},
        {"new Array(-1)", "RangeError", ""},
        {"undefined.x", "TypeError", "undefined"},
        {"const c = 1; c = 2", "TypeError", ""},
        {"import('x')", "ReferenceError", ""},
        {"throw (await quick.fail('NotFound').catch(e => ({...e, name: 'x'})))", "x", ""},
    };
    for (size_t i = 0; i < LENGTH(all); i++)
        assert_fails(all[i].code, ERR_GUEST, all[i].name, all[i].message);
}

static void forged_stacks_do_no_harm(void **state)
{
    (void)state;
    evaluate("const e = new Error('m'); e.stack = 'code.js:99999999999999:1'; throw e");
    assert_int_equal(outcome.type, ERR_GUEST);
    evaluate(
        "const e = new Error('m'); e.stack = 'at code.js:4294967295:4294967295'; throw e");
    assert_int_equal(outcome.type, ERR_GUEST);
    assert_int_equal(outcome.frame.n, 0);
    evaluate(
        "const e = new Error('m'); e.stack = 'at code.js:0:0\\n at code.js:1:0'; throw e");
    assert_int_equal(outcome.type, ERR_GUEST);
    evaluate("const e = new Error('m'); e.stack = 'x'.repeat(1e6); throw e");
    assert_in_range(outcome.stack.n, 1, 64 << 10);
}

static void long_texts_are_cut_not_dropped(void **state)
{
    (void)state;
    static const char *const all[] = {
        "throw new Error('x'.repeat(100000))",
        "throw new Error('x'.repeat(5000000))",
        "throw 'x'.repeat(5000000)",
        "throw new Error('\\u{1F514}'.repeat(1000000))",
        "throw Object.assign(new Error('x'), {name: 'n'.repeat(1000000)})",
        "throw {a: Array.from({length: 100}, () => 'y'.repeat(10000))}",
        "throw new Error('\\u0000'.repeat(100000))"};
    for (size_t i = 0; i < LENGTH(all); i++) {
        evaluate(all[i]);
        assert_int_equal(outcome.type, ERR_GUEST);
        assert_in_range(outcome.message.n, 1, 64 << 10);
    }
    /* Lines of the frame, too. */
    scoped_buf struct buf code;
    buf_init(&code, 1 << 20);
    for (int i = 0; i < 3; i++) {
        buf_cstr(&code, "const text = '");
        for (int k = 0; k < 10000; k++)
            buf_cstr(&code, "\u20ac");
        buf_printf(&code, "';\n%s\n{\n", i == 2 ? "null.x" : "");
    }
    buf_cstr(&code, "}}}");
    evaluate_str(buf_view(&code));
    assert_int_equal(outcome.line, 8);
    assert_in_range(outcome.frame.n, 100, 2000);
    assert_non_null(strstr(buf_cz(&outcome.frame), " ..."));
}

static void the_stack_that_code_sees_is_its_own(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"new Error('x').stack.trim()", "\"at <eval> (code.js:1:5)\""},
        {"const a = 1;\nconst s = new Error('x').stack.trim();\nreturn s",
         "\"at <anonymous> (code.js:2:15)\""},
        {"function f() {\n  return new Error('x').stack.trim().split('\\n')\n}\nf()",
         "[\"at f (code.js:2:14)\",\"    at <eval> (code.js:4:1)\"]"},
        {"async function f() { await null;\n  throw new Error('y') }\n"
         "try { await f() } catch (e) { e.stack.trim() }",
         "\"at f (code.js:2:13)\""},
        {"try {\n  await quick.fail('NotFound') } catch (e) { e.stack.trim() }",
         "\"at <eval> (code.js:2:15)\""},
        {"try {\n  sync.fail('NotFound') } catch (e) { e.stack.trim() }",
         "\"at <eval> (code.js:2:8)\""},
    };
    assert_results(all);
}

static void rejections_that_nobody_looks_at_are_errors(void **state)
{
    (void)state;
    assert_fails("Promise.reject(new RangeError('lost')); return 1", ERR_GUEST,
                 "RangeError", "lost");
    assert_fails("(async () => { throw new Error('lost') })(); 1", ERR_GUEST, "Error",
                 "lost");
    assert_fails("new Promise(() => { throw new Error('lost') }); return 1", ERR_GUEST,
                 "Error", "lost");
    assert_fails("Promise.reject(1).then(() => {}); return 1", ERR_GUEST, "Error", "1");
    assert_fails("quick.fail('Conflict'); return 1", ERR_CONFLICT, "Conflict", "fail");
    assert_fails("quick.fail('Conflict').finally(() => {}); return 1", ERR_CONFLICT,
                 "Conflict", "fail");
    assert_fails("setTimeout(() => { throw new Error('late') }, 1); await sleep(10); 1",
                 ERR_GUEST, "Error", "late");
    assert_fails("queueMicrotask(() => { throw new Error('micro') }); 1", ERR_GUEST,
                 "Error", "micro");
    assert_fails(
        "Promise.reject(new Error('first')); Promise.reject(new Error('second')); 1",
        ERR_GUEST, "Error", "first");
    assert_fails("Promise.reject(new Error('aside')); throw new Error('own')", ERR_GUEST,
                 "Error", "own");
    static const struct result_row handled[] = {
        {"Promise.reject(1).catch(() => {}); return 1", "1"},
        {"const p = Promise.reject(1); await sleep(1); p.catch(() => {}); return 2", "2"},
        {"quick.fail('Conflict').catch(() => {}); return 3", "3"},
        {"const p = (async () => { throw 1 })(); try { await p } catch { 4 }", "4"},
        {"await Promise.allSettled([Promise.reject(1), Promise.reject(2)]); 5", "5"},
        {"const all = Array.from({length: 100}, (_, i) => Promise.reject(i)); "
         "for (const p of all.reverse()) p.catch(() => {}); 6",
         "6"},
    };
    assert_results(handled);
}

static void waiting_for_what_never_comes_is_an_error(void **state)
{
    (void)state;
    assert_fails("await new Promise(() => {})", ERR_GUEST, "ExecutionError",
                 "nothing will settle");
    assert_fails("return new Promise(() => {})", ERR_GUEST, "ExecutionError",
                 "nothing will settle");
    assert_fails("await quick.echo(); await {then() {}}", ERR_GUEST, "ExecutionError",
                 "nothing will settle");
    assert_fails("setTimeout(() => {}, 1); await new Promise(() => {})", ERR_GUEST,
                 "ExecutionError", "nothing will settle");
}

static void what_is_not_there_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *code, *missing, *message;
    } cases[] = {
        {"quick.eco(1)", "quick.eco", "quick.eco is not a function"},
        {"const s = '\u20ac'; await quick\n  ?.eco(1)", "quick.eco", "quick.eco is not"},
        {"return await Promise.all([1].map((x) => quick.lisst(x)))", "quick.lisst",
         "quick.lisst"},
        {"inside.deep.twise(1)", "inside.deep.twise",
         "inside.deep.twise is not a function"},
        {"if (0) return;\nquick.eco()", "quick.eco", "quick.eco is not a function"},
        {"fetch('x')", "fetch", "fetch is not a function"},
        {"require('fs')", "require", "require is not a function"},
        {"await quik.echo('x')", "quik.echo", "quik is not defined"},
        {"nowhere", "nowhere", "nowhere is not defined"},
        {"const note = await quick.nothing(); return note.content", "note", "of null"},
        {"const o = {}; o.a.b", "o.a", "of undefined"},
        {"quick.no.way()", "quick.no", "of undefined"},
        {"const a = [1]; a.map(undefined)", "", "what map was given is not a function"},
        {"new Promise()", "", "what Promise was given is not a function"},
        {"const f = 1; f()", "f", "f is not a function"},
        {"const F = {}; new F.G(String(1))", "F.G", "F.G is not a constructor"},
        {"const o = {}; [...o.f(String(1))]", "o.f", "o.f is not a function"},
        {"const {content} = await quick.nothing()", "",
         "cannot read property 'content' of undefined or null"},
        {"const [a] = await quick.nothing()", "", "null is not iterable"},
        {"(() => ({}))().x()", "", "x is not a function"},
        {"(() => 0)()()", "", "not a function"},
        {"[].x()", "", "x is not a function"},
        {"throw new TypeError('not a function')", "", "not a function"},
        {"throw new ReferenceError('x is not defined')", NULL, "x is not defined"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        evaluate(cases[i].code);
        assert_false(outcome.success);
        if (cases[i].missing && strcmp(buf_cz(&outcome.missing), cases[i].missing) != 0)
            fail_msg("%s: '%s' is missing", cases[i].code, buf_cz(&outcome.missing));
        if (!strstr(buf_cz(&outcome.message), cases[i].message))
            fail_msg("%s: %s", cases[i].code, buf_cz(&outcome.message));
    }
}

/* A source map: the code's lines are ten further down, and shifted by one column. */
static void ten_lines_down(void *arg, uint32_t *line, uint32_t *column)
{
    (void)arg;
    *line = *line == 1 ? 0 : *line + 10; /* the first line has no source */
    *column += 1;
}

static void places_are_turned_into_those_of_the_source(void **state)
{
    (void)state;
    struct script_origin from = {.source = STR("\n\n\n\n\n\n\n\n\n\n\nhere\nthere"),
                                 .file = "code.ts",
                                 .place = ten_lines_down};
    assert_fails_at("function f() { null.x }\nconsole.log(new Error('e').stack, "
                    "'at code.js:2:3', '\\n  see code.js:2:3');\n null.y",
                    ERR_GUEST, "TypeError", "null", 3, 7);
    script_outcome_origin(&outcome, &from, NULL, 0);
    assert_int_equal(outcome.line, 13);
    assert_int_equal(outcome.column, 8);
    assert_non_null(strstr(buf_cz(&outcome.frame), ">   13 | there\n       |        ^"));
    assert_string_equal(buf_cz(&outcome.stack), "    at (code.ts:13:8)");
    const char *logs = buf_cz(&outcome.logs);
    assert_non_null(strstr(logs, "code.ts:12:"));
    assert_non_null(strstr(logs, "see code.js:2:3")); /* not a frame */
    outcome.line = 1;
    script_outcome_origin(&outcome, &from, NULL, 0);
    assert_int_equal(outcome.line, 0);
    assert_int_equal(outcome.frame.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(an_error_has_its_place_and_the_lines_around_it),
        test(the_place_is_the_same_in_code_with_a_return),
        test(functions_are_named_in_the_stack),
        test(a_rejected_call_stands_where_it_was_made),
        test(the_place_is_the_failing_call),
        test(syntax_errors_are_a_kind_of_their_own),
        test(what_ends_too_early_is_told_at_its_end),
        test(code_does_not_close_what_it_has_not_opened),
        test(whatever_is_thrown_is_told),
        test(forged_stacks_do_no_harm),
        test(long_texts_are_cut_not_dropped),
        test(the_stack_that_code_sees_is_its_own),
        test(rejections_that_nobody_looks_at_are_errors),
        test(waiting_for_what_never_comes_is_an_error),
        test(what_is_not_there_is_named),
        test(places_are_turned_into_those_of_the_source),
    };
    return cmocka_run_group_tests(tests, open_script, close_script);
}
