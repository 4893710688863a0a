/* Evaluations: results, their conversion, and host calls. */
#include "script/fixture_test.h"

/* ---- which value is the result ------------------------------------------ */

static void a_top_level_return_gives_the_result(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"return 1", "1"},
        {"return", "null"},
        {"return undefined", "null"},
        {"return null", "null"},
        {"return {a: 1}", "{\"a\":1}"},
        {"return Promise.resolve(5)", "5"},
        {"return await Promise.resolve(5)", "5"},
        {"return (async () => 6)()", "6"},
        {"return {then(done) { done(7) }}", "7"},
        {"1; return 2; 3", "2"},
        {"function main() { return 1 } return 2", "2"},
        {"for (const x of [1, 2, 3]) if (x === 2) return x * 10; 99", "20"},
        {"switch (2) { case 2: return 'two' }", "\"two\""},
        {"try { return 1 } finally { console.log('x') }", "1"},
        {"label: { return 3 }", "3"},
        {"return 1 // with a comment", "1"},
        {"return 1 /* and another */", "1"},
        {"{ { { return 8 } } }", "8"},
        {"if(1)return(9)", "9"},
        {"await null; return 10", "10"},
    };
    assert_results(all);
}

static void a_return_that_is_not_reached_leaves_it_to_the_others(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"if (false) return 'a'; 'b'", "\"b\""},
        {"if (true) return 'a'; 'b'", "\"a\""},
        {"if (0) return 1\nlet x = 2\nx", "2"},
        {"if (0) return 1\nlet x = 2\nx;\n\n", "2"},
        {"if (0) return 1;\nconst o = {a: [1, 2]};\no.a.map(x => x * 2)", "[2,4]"},
        {"if (0) return 1;\n[1, 2]\n  .map(x => x + 1)\n  .join('-')", "\"2-3\""},
        {"if (0) return 1\nawait Promise.resolve(4)", "4"},
        {"if (0) return 1\nPromise.resolve(4)", "4"},
        {"if (0) return 1;\n`x${1}\ny`", "\"x1\\ny\""},
        {"if (0) return 1;\n({a: 1})", "{\"a\":1}"},
        {"if (0) return 1;\n(1, 2)", "2"},
        {"if (0) return 1;\nvar z = 1", "null"},
        {"if (0) return 1;\n'a;b'", "\"a;b\""},
        {"if (0) return 1;\n5 // a comment", "5"},
        {"if (0) return 1;\n/* c */ 5", "5"},
        {"if (0) return 1;\nfunction f() { return 5 }\nf()", "5"},
        {"if (0) return 1;\nfunction main() { return 7 }", "7"},
        {"function main() { return 7 }\nif (0) return 1;\n2", "7"},
        {"while (false) { return 1 }\nnew Map([['a', 1]])", "{\"a\":1}"},
    };
    assert_results(all);
}

static void a_return_inside_a_function_or_a_text_is_none(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"const f = () => { return 1 }; f() + 1", "2"},
        {"function f() { return 1 }\nf() + 1", "2"},
        {"class A { m() { return 1 } }\nnew A().m() + 1", "2"},
        {"'return 1'", "\"return 1\""},
        {"`return ${1}`", "\"return 1\""},
        {"// return 5\n7", "7"},
        {"/* return 5 */ 7", "7"},
        {"/return/.source", "\"return\""},
        {"({return: 1}).return", "1"},
        {"const returned = 3; returned", "3"},
        {"const o = {a() { return 1 }, b: function () { return 2 }}; o.a() + o.b()", "3"},
    };
    assert_results(all);
}

static void main_is_called_where_nothing_is_returned(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"function main() { return 42 }", "42"},
        {"async function main() { return 42 }", "42"},
        {"async function main() { await sleep(1); return 42 }", "42"},
        {"const main = async () => 5", "5"},
        {"const main = () => 5;\n", "5"},
        {"let main = function () { return 6 }", "6"},
        {"var main = () => 6", "6"},
        {"function main() { return 1 } 2", "1"},
        {"function main() {}", "null"},
        {"function main() { return null }", "null"},
        {"function m\\u0061in() { return 3 }", "3"},
        {"const helper = (x) => x + 1;\nasync function main() { return helper(1) }", "2"},
        {"await null;\nfunction main() { return 9 }", "9"},
        {"function main() { return 8 }\n// main() is called for us", "8"},
        {"function main(n = 3) { return n > 0 ? main(n - 1) : 'end' }", "\"end\""},
    };
    assert_results(all);
}

static void a_main_that_the_code_calls_is_not_called_again(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"let n = 0; async function main() { return ++n }\nmain()", "1"},
        {"let n = 0; async function main() { return ++n }\nawait main()", "1"},
        {"let n = 0; async function main() { return ++n }\nreturn main()", "1"},
        {"let n = 0; async function main() { return ++n }\nmain().then(x => x + 10)",
         "11"},
        {"let n = 0; function main() { n++ }\nmain(); n", "1"},
        {"let n = 0; const main = async () => ++n;\nawait main();\nn", "1"},
        {"let n = 0; function main() { return ++n }\nconst r = main();\nr * 5", "5"},
    };
    assert_results(all);
}

static void what_is_only_called_main_is_no_main(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"const o = {main() { return 1 }}; 5", "5"},
        {"const s = 'main'; s", "\"main\""},
        {"const main = 3; main + 1", "4"},
        {"{ let x = 1; { function mainly() {} } x }", "1"},
        {"const f = () => { function main() { return 1 } return 2 }; f()", "2"},
    };
    assert_results(all);
}

static void else_the_last_expression_gives_the_result(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"1 + 1", "2"},
        {"1; 2; 3", "3"},
        {"1\n2\n3\n", "3"},
        {"let x = 5; x * 2", "10"},
        {"let x = 5", "null"},
        {"", "null"},
        {"  \n\t ", "null"},
        {";", "null"},
        {"// only this", "null"},
        {"/* only this */", "null"},
        {"({a: 1})", "{\"a\":1}"},
        {"[1, 2].map(x => x * 2)", "[2,4]"},
        {"Promise.resolve(9)", "9"},
        {"(async () => 8)()", "8"},
        {"await Promise.resolve(3)", "3"},
        {"const r = await quick.echo(1); r", "[1]"},
        {"quick.echo(1)", "[1]"},
        {"if (true) { 5 } else { 6 }", "5"},
        {"for (let i = 0; i < 3; i++) i", "2"},
        {"try { 1 } finally { 2 }", "1"},
        {"let s = 0; for await (const x of [1, Promise.resolve(2)]) s += x; s", "3"},
        {"async () => 1", "null"},
        {"x = 3; x", "3"},
        {"var v = 1; v", "1"},
        {"'use strict'; 4", "4"},
        {"class A { static v = 6 }\nA.v", "6"},
        {"let a, b; [a, b] = [1, 2]; a + b", "3"},
        {"1 ? 'yes' : 'no'", "\"yes\""},
        {"`a${1}`", "\"a1\""},
        {"((a, b) => a ** b)(2, 10)", "1024"},
        {"0, 1, 2", "2"},
        {"typeof undefinedName", "\"undefined\""},
        {"let x = {a: {b: null}}; x?.a?.b?.c ?? 'none'", "\"none\""},
        {"\r\n1\r\n+1\r\n", "2"},
    };
    assert_results(all);
}

static void top_level_names_may_be_those_of_globals(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"const name = 'x', status = 1, top = 2; name + status + top", "\"x12\""},
        {"const URL = 5; URL", "5"},
        {"let fetch = () => 'mine'; fetch()", "\"mine\""},
        {"const module = {exports: 1}; module.exports", "1"},
        {"function require(x) { return x } require('y')", "\"y\""},
        {"const console = {log: (x) => x}; console.log(3)", "3"},
        {"const process = {env: {}}; process.env", "{}"},
    };
    assert_results(all);
}

static void code_of_any_size_is_taken(void **state)
{
    (void)state;
    scoped_buf struct buf code;
    buf_init(&code, 16 << 20);
    static const size_t sizes[] = {
        4050, 4060, 4063, 4064, 4065,  4070,  4071,  4072,  4073,   4094,    4095,
        4096, 4097, 4104, 8192, 65535, 65536, 65537, 99999, 200000, 1000000, 8000000};
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        buf_clear(&code);
        buf_cstr(&code, "'");
        while (code.n < sizes[i] - 8)
            buf_char(&code, 'x');
        buf_cstr(&code, "'.length");
        evaluate_str(buf_view(&code));
        assert_succeeded("a long text");
        char want[20];
        (void)snprintf(want, sizeof want, "%zu", sizes[i] - 9);
        assert_string_equal(buf_cz(&outcome.result), want);
    }
}

/* ---- what is kept of a value -------------------------------------------- */

static void every_json_value_is_kept(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"null", "null"},
        {"true", "true"},
        {"false", "false"},
        {"0", "0"},
        {"''", "\"\""},
        {"-1.5", "-1.5"},
        {"-0", "0"},
        {"1e21", "1e+21"},
        {"0.1 + 0.2", "0.30000000000000004"},
        {"2 ** 53", "9007199254740992"},
        {"1e-7", "1e-7"},
        {"5e-324", "5e-324"},
        {"1.7976931348623157e308", "1.7976931348623157e+308"},
        {"[]", "[]"},
        {"({})", "{}"},
        {"[[], {}, [{}], null, '']", "[[],{},[{}],null,\"\"]"},
        {"({b: 1, a: 2, 1: 3})", "{\"1\":3,\"b\":1,\"a\":2}"},
        {"({'': 1, 'k\"': 2, '\\n': 3})", "{\"\":1,\"k\\\"\":2,\"\\n\":3}"},
        {"'\\u0000\\u001f\"\\\\\\n\\r\\t\\b'",
         "\"\\u0000\\u001f\\\"\\\\\\n\\r\\t\\u0008\""},
        {"'\\u2028\\u00e9\\u20ac\\u{1F514}'", "\"\u2028\u00e9\u20ac\U0001F514\""},
        {"({'\\u00e9': '\\u{1F514}'})", "{\"\u00e9\":\"\U0001F514\"}"},
        {"[true, [false, [null]]]", "[true,[false,[null]]]"},
        {"const a = {x: 1}; [a, a, {a}]", "[{\"x\":1},{\"x\":1},{\"a\":{\"x\":1}}]"},
    };
    assert_results(all);
}

static void what_json_lacks_is_kept_as_far_as_it_goes(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"123n", "\"123n\""},
        {"-(2n ** 70n)", "\"-1180591620717411303424n\""},
        {"[1n, {n: 2n}]", "[\"1n\",{\"n\":\"2n\"}]"},
        {"NaN", "null"},
        {"[Infinity, -Infinity, NaN]", "[null,null,null]"},
        {"undefined", "null"},
        {"[undefined, () => 1, Symbol('x'), class {}]", "[null,null,null,null]"},
        {"({a: undefined, b: () => 1, c: Symbol('x'), d: 1})", "{\"d\":1}"},
        {"[1, , 3]", "[1,null,3]"},
        {"new Map([['a', 1], ['b', [2]]])", "{\"a\":1,\"b\":[2]}"},
        {"new Map([[1, 2], ['x', {y: 1}]])", "[[1,2],[\"x\",{\"y\":1}]]"},
        {"new Map()", "{}"},
        {"new Set([1, 'x', null])", "[1,\"x\",null]"},
        {"new Set()", "[]"},
        {"({m: new Map([['s', new Set([1])]])})", "{\"m\":{\"s\":[1]}}"},
        {"new Date(0)", "\"1970-01-01T00:00:00.000Z\""},
        {"new Date(NaN)", "null"},
        {"new Error('e')", "{\"name\":\"Error\",\"message\":\"e\"}"},
        {"Object.assign(new TypeError('e'), {code: 7})",
         "{\"name\":\"TypeError\",\"message\":\"e\",\"code\":7}"},
        {"class Mine extends Error { name = 'Mine' }; [new Mine('m')]",
         "[{\"name\":\"Mine\",\"message\":\"m\"}]"},
        {"new Uint8Array([1, 255])", "[1,255]"},
        {"new Int16Array([-1])", "[-1]"},
        {"new Float64Array([0.5, NaN])", "[0.5,null]"},
        {"new BigInt64Array([-1n])", "[\"-1n\"]"},
        {"[new Number(5), new String('s'), new Boolean(false), Object(7n)]",
         "[5,\"s\",false,\"7n\"]"},
        {"/x/g", "{}"},
        {"class P { x = 1; #y = 2; get z() { return 3 } }; new P()", "{\"x\":1}"},
        {"Object.create({inherited: 1}, {own: {value: 2, enumerable: true}})",
         "{\"own\":2}"},
        {"({[Symbol('s')]: 1, k: 2})", "{\"k\":2}"},
        {"(function () { return arguments })(1, 2)", "{\"0\":1,\"1\":2}"},
        {"Object.create(null)", "{}"},
        {"new Proxy({a: 1}, {})", "{\"a\":1}"},
        {"new Proxy([1, 2], {})", "[1,2]"},
        {"const a = [1]; a.extra = 2; a", "[1]"},
        {"({get a() { return 1 }})", "{\"a\":1}"},
    };
    assert_results(all);
}

static void lone_surrogates_become_replacement_characters(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"'\\ud800'", "\"\ufffd\""},
        {"'a\\udc00b\\ud83d'", "\"a\ufffdb\ufffd\""},
        {"({'k\\ud800': '\\udfff'})", "{\"k\ufffd\":\"\ufffd\"}"},
        {"'\\ud83d' + '\\udd14'", "\"\U0001F514\""},
        {"'\\u{1F514}'.split('')", "[\"\ufffd\",\"\ufffd\"]"},
        {"'\\ud7ff\\ue000'", "\"\xed\x9f\xbf\xee\x80\x80\""},
        {"['\\ud800', '\\u00ed\\u00a0'].length", "2"},
        {"'\\u00ed\\u00a0\\u0080'", "\"\u00ed\u00a0\xc2\x80\""},
    };
    assert_results(all);
}

static void to_json_is_asked_as_in_json_stringify(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"({toJSON() { return {a: 1} }})", "{\"a\":1}"},
        {"({toJSON() { return undefined }})", "null"},
        {"({k: {toJSON() { return undefined }}, l: 1})", "{\"l\":1}"},
        {"({k: {toJSON(key) { return key }}})", "{\"k\":\"k\"}"},
        {"[{toJSON(key) { return key }}]", "[\"0\"]"},
        {"({toJSON(key) { return key }})", "\"\""},
        {"({toJSON: 5})", "{\"toJSON\":5}"},
        {"({toJSON() { return {toJSON() { return 1 }} }})", "{}"},
        {"({toJSON() { return new Map([['a', 1]]) }})", "{\"a\":1}"},
        {"({toJSON() { return new Number(5) }})", "5"},
        {"new URL('http://a/b')", "\"http://a/b\""},
    };
    assert_results(all);
    assert_fails("({toJSON() { throw new RangeError('no') }})", ERR_GUEST, "RangeError",
                 "no");
    assert_fails("({get a() { throw new RangeError('no') }})", ERR_GUEST, "RangeError",
                 "no");
}

static void depth_is_bounded_and_cycles_are_errors(void **state)
{
    (void)state;
    assert_fails("const a = {}; a.a = a; a", ERR_GUEST, "TypeError", "contains itself");
    assert_fails("const a = []; a.push({a}); return a", ERR_GUEST, "TypeError",
                 "contains itself");
    assert_fails("const m = new Map(); m.set('m', m); m", ERR_GUEST, "TypeError",
                 "contains itself");
    assert_fails("let a = 1; for (let i = 0; i < 500; i++) a = [a]; a", ERR_GUEST,
                 "RangeError", "nested deeper");
    assert_fails("const f = () => ({toJSON() { return {a: f()} }}); f()", ERR_GUEST,
                 "RangeError", "nested deeper");
    evaluate("let a = 1; for (let i = 0; i < 119; i++) a = [a]; a");
    assert_succeeded("119 levels");
    assert_int_equal(outcome.result.n, 2 * 119 + 1);
}

/* ---- host calls --------------------------------------------------------- */

static void values_go_to_the_host_and_come_back(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"quick.echo()", "[]"},
        {"quick.echo(null, false, 0, '', 1.5, '\\u00e9', [1], {a: undefined, b: 1})",
         "[null,false,0,\"\",1.5,\"\u00e9\",[1],{\"b\":1}]"},
        {"quick.echo(undefined, 10n, new Date(0))",
         "[null,\"10n\",\"1970-01-01T00:00:00.000Z\"]"},
        /* what JSON does not have is refused, with its place */
        {"[NaN, {a: [1, -1 / 0]}, new Date('x'), () => 1, Symbol('s'), Promise.resolve(1)]"
         ".map((v) => { try { sync.echo(0, v) } catch (e) { return e.message.split(',')[0] } })",
         "[\"argument 2 is NaN\",\"a[1] is infinite\",\"argument 2 is an invalid date\","
         "\"argument 2 is a function\",\"argument 2 is a symbol\",\"argument 2 is a promise\"]"},
        {"quick.echo({a: {b: NaN}}).catch((e) => [e.name, e.message])",
         "[\"InvalidInput\",\"a.b is NaN, which JSON does not have; nothing was done\"]"},
        {"sync.echo(1, 'x')", "[1,\"x\"]"},
        /* writing the arguments makes calls itself */
        {"sync.echo({get a() { return sync.echo(1, 'inner') }, b: 2})",
         "[{\"a\":[1,\"inner\"],\"b\":2}]"},
        {"sync.echo({toJSON() { try { sync.fail('Conflict') } catch { return 'caught' } }})",
         "[\"caught\"]"},
        {"const later = []; const all = await quick.echo({get a() { later.push("
         "quick.echo('inner')); return 1 }, b: 2}); [all, await later[0]]",
         "[[{\"a\":1,\"b\":2}],[\"inner\"]]"},
        {"[sync.echo({a: [1]})[0].a[0] === 1]", "[true]"},
        {"slow.echo('s')", "[\"s\"]"},
        {"quick.nothing()", "null"},
        {"sync.release()", "null"},
        {"top()", "null"},
        {"inside.deep.twice(21)", "42"},
        {"quick.echo('\\ud800')", "[\"\ufffd\"]"},
        {"quick.echo(...Array(300).keys()).then(a => a.length)", "300"},
        {"const {a} = (await quick.echo({a: '__proto__'}))[0]; a", "\"__proto__\""},
        {"Object.getPrototypeOf((await quick.echo(JSON.parse('{\"__proto__\": {}}')))[0]) "
         "=== Object.prototype",
         "true"},
    };
    assert_results(all);
}

static void calls_answer_with_promises_but_for_synchronous_ones(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"[quick.echo() instanceof Promise, slow.echo() instanceof Promise, "
         "sync.echo() instanceof Promise, inside.deep.twice(1) instanceof Promise]",
         "[true,true,false,false]"},
        {"[quick.echo.name, inside.deep.twice.name, top.name]",
         "[\"echo\",\"twice\",\"top\"]"},
        {"[typeof quick, typeof inside.deep, typeof quick.none]",
         "[\"object\",\"object\",\"undefined\"]"},
        {"Object.keys(slow)", "[\"echo\",\"fail\",\"meet\",\"hold\",\"pause\"]"},
    };
    assert_results(all);
    assert_fails("quick.none()", ERR_GUEST, "TypeError", "not a function");
    assert_fails("await none.such()", ERR_GUEST, "ReferenceError", "none");
}

static void errors_of_calls_keep_their_kind(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"try { await quick.fail('NotFound') } catch (e) { "
         "return [e.name, e.code, e.message, e.retry, e instanceof Error] }",
         "[\"NotFound\",\"NOT_FOUND\",\"told to fail\",false,true]"},
        {"try { await slow.fail('Busy') } catch (e) { return [e.name, e.retry] }",
         "[\"Busy\",true]"},
        {"try { sync.fail('Conflict') } catch (e) { return [e.name, e.code] }",
         "[\"Conflict\",\"CONFLICT\"]"},
        {"quick.fail('NotFound').catch(e => 'caught ' + e.name)", "\"caught NotFound\""},
        {"(await Promise.allSettled([quick.fail('x'), quick.echo(1)])).map(r => r.status)",
         "[\"rejected\",\"fulfilled\"]"},
    };
    assert_results(all);
    assert_fails("await quick.fail('NotFound')", ERR_NOT_FOUND, "NotFound",
                 "told to fail");
    assert_fails("quick.fail('Conflict')", ERR_CONFLICT, "Conflict", "told to fail");
    assert_fails("await slow.fail('NoVault')", ERR_NO_VAULT, "NoVault", "told to fail");
    assert_fails("sync.fail('PermissionDenied')", ERR_DENIED, "PermissionDenied",
                 "told to fail");
    /* The name alone does not make it an error of the host. */
    assert_fails("throw Object.assign(new Error('mine'), {name: 'NotFound'})", ERR_GUEST,
                 "NotFound", "mine");
    assert_fails("throw Object.assign(new Error('mine'), {name: 'OutputTooLarge'})",
                 ERR_GUEST, "OutputTooLarge", "mine");
}

static void arguments_that_have_no_json_fail_only_their_call(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"const a = []; a.push(a); try { await quick.echo(a) } catch (e) { return e.name }",
         "\"TypeError\""},
        {"const a = []; a.push(a); try { sync.echo(a) } catch (e) { return e.name }",
         "\"TypeError\""},
        {"const bad = {get x() { throw new RangeError('getter') }};"
         "const all = await Promise.allSettled([quick.echo(1), quick.echo(bad), "
         "quick.echo(2)]); all.map(r => r.value?.[0] ?? r.reason.message)",
         "[1,\"getter\",2]"},
    };
    assert_results(all);
}

static void an_answer_that_is_no_json_fails_only_its_call(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"quick.raw('[1,2]')", "[1,2]"},
        {"quick.raw('')", "null"},
        {"quick.raw('{\"a\":').catch(e => e instanceof Error)", "true"},
        {"quick.raw('[1,2] x').catch(e => e instanceof Error)", "true"},
        {"const all = await Promise.allSettled([quick.raw('1'), quick.raw('nope'), "
         "quick.raw('2')]); all.map(r => r.status)",
         "[\"fulfilled\",\"rejected\",\"fulfilled\"]"},
    };
    assert_results(all);
}

static void slow_calls_are_performed_at_the_same_time(void **state)
{
    (void)state;
    /* Each answers only when all of them are there. */
    assert_result("await Promise.all(Array.from({length: 10}, () => slow.meet(10))); "
                  "'met'",
                  "\"met\"");
    assert_true(table.most_meeting >= 10);
    begin_test(NULL);
    assert_result("const all = []; for (let i = 0; i < 3; i++) all.push(slow.meet(4)); "
                  "await quick.echo(); all.push(slow.meet(4)); await Promise.all(all); 1",
                  "1");
}

static void more_slow_calls_than_threads_are_performed_too(void **state)
{
    (void)state;
    assert_result("(await Promise.all(Array.from({length: 200}, (_, i) => slow.echo(i))))"
                  ".every(([x], i) => x === i)",
                  "true");
    assert_int_equal(outcome.stats.host_calls, 200);
}

static void the_code_goes_on_as_soon_as_one_call_is_done(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"const first = await Promise.race([slow.hold(), slow.echo('quick')]); "
         "sync.release(); first",
         "[\"quick\"]"},
        {"const held = slow.hold(); const order = []; held.then(() => order.push('held'));"
         "order.push((await slow.echo('a'))[0]); order.push((await quick.echo('b'))[0]); "
         "sync.release(); await held; order",
         "[\"a\",\"b\",\"held\"]"},
        {"const held = slow.hold(); await sleep(1); sync.release(); await held",
         "\"held\""},
        {"const x = await Promise.any([quick.fail('x'), slow.hold(), quick.echo(1)]); "
         "sync.release(); x",
         "[1]"},
    };
    for (size_t i = 0; i < LENGTH(all); i++) {
        begin_test(NULL);
        assert_result(all[i].code, all[i].json);
    }
}

static void quick_calls_are_performed_in_their_order(void **state)
{
    (void)state;
    assert_result(
        "(await Promise.all(Array.from({length: 50}, () => quick.count()))).join()"
        " === Array.from({length: 50}, (_, i) => i + 1).join()",
        "true");
}

static void what_was_asked_of_the_host_is_done_before_the_end(void **state)
{
    (void)state;
    assert_result("quick.count(); return 1", "1");
    assert_int_equal(table.counted, 1);
    assert_result("quick.echo().then(() => quick.count()).then(() => quick.count()); 2",
                  "2");
    assert_int_equal(table.counted, 3);
    assert_result("slow.echo().then(() => quick.count()); 3", "3");
    assert_int_equal(table.counted, 4);
    /* Also when the code has failed. */
    assert_fails("quick.count(); throw new Error('after')", ERR_GUEST, "Error", "after");
    assert_int_equal(table.counted, 5);
}

static void a_change_is_told_whatever_comes_of_the_code(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        bool changed;
    } all[] = {
        {"return 1", false},
        {"await quick.echo(1)", false},
        {"await quick.write()", true},
        {"quick.write()", true},
        {"await quick.write(true)", false},
        {"await quick.write(true).catch(() => {})", false},
        {"await quick.write(); throw new Error('after')", true},
        {"quick.write(); throw new Error('at once')", true},
    };
    for (size_t i = 0; i < LENGTH(all); i++) {
        evaluate(all[i].code);
        if (outcome.changed != all[i].changed)
            fail_msg("%s", all[i].code);
    }
    request.compute_ms = 50;
    evaluate("await quick.write(); for (;;);");
    assert_int_equal(outcome.type, ERR_TIMEOUT);
    assert_true(outcome.changed);
}

static void large_answers_and_arguments_are_carried(void **state)
{
    (void)state;
    assert_result("(await quick.big(20000000)).length", "20000000");
    assert_result("const s = 'x'.repeat(5000000); (await quick.echo(s))[0] === s",
                  "true");
    assert_result("const all = await Promise.all(Array.from({length: 30}, () => "
                  "quick.big(1000000))); all.reduce((n, s) => n + s.length, 0)",
                  "30000000");
    assert_result("(sync.echo('y'.repeat(100000)))[0].length", "100000");
}

static void calls_are_counted(void **state)
{
    (void)state;
    evaluate(
        "await quick.echo(); sync.echo(); await slow.echo(); inside.deep.twice(1); 1");
    assert_int_equal(outcome.stats.host_calls, 3);
    assert_true(outcome.stats.compute_ms > 0);
    assert_true(outcome.stats.total_ms >= outcome.stats.host_ms);
    assert_true(outcome.stats.memory_peak > 0);
}

/* ---- timers ------------------------------------------------------------- */

static void timers_run_in_the_order_in_which_they_are_due(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"const o = []; setTimeout(() => o.push(3), 30); setTimeout(() => o.push(2), 15); "
         "setTimeout(() => o.push(1), 0); await sleep(40); o",
         "[1,2,3]"},
        {"const o = []; for (let i = 0; i < 5; i++) setTimeout(() => o.push(i), 1); "
         "await sleep(10); o",
         "[0,1,2,3,4]"},
        {"const o = []; setTimeout(() => o.push('timer')); Promise.resolve().then(() => "
         "o.push('job')); queueMicrotask(() => o.push('micro')); o.push('now'); "
         "await sleep(5); o",
         "[\"now\",\"job\",\"micro\",\"timer\"]"},
        {"const o = []; setTimeout((...args) => o.push(args), 1, 'a', 2); await sleep(5); o",
         "[[\"a\",2]]"},
        {"const o = []; const id = setTimeout(() => o.push(1), 1); clearTimeout(id); "
         "await sleep(10); o",
         "[]"},
        {"let n = 0; await new Promise(done => { const id = setInterval(() => { "
         "if (++n === 3) { clearInterval(id); done() } }, 1) }); await sleep(10); n",
         "3"},
        {"clearTimeout(undefined); clearTimeout(999); clearInterval('x'); 1", "1"},
        {"await sleep(1); await sleep(0); await sleep(); 'slept'", "\"slept\""},
        {"const o = []; setTimeout(() => { o.push(1); setTimeout(() => o.push(2)) }); "
         "await sleep(10); o",
         "[1,2]"},
        {"const t = Date.now(); await sleep(20); Date.now() - t >= 19", "true"},
        {"const fired = [], cleared = []; let early = 0;"
         "for (let i = 0; i < 300; i++) { const ms = i * 7 % 13, t = performance.now();"
         "  const id = setTimeout(() => { fired.push(i); early += performance.now() < t + ms }, ms);"
         "  if (i % 5 === 0) { clearTimeout(id); cleared.push(i) } }"
         "await sleep(30);"
         "[fired.length, new Set(fired).size, early, fired.some(i => i % 5 === 0)]",
         "[240,240,0,false]"},
        {"const r = await Promise.race([sleep(100000).then(() => 'slow'), "
         "sleep(1).then(() => 'quick')]); r",
         "\"quick\""},
    };
    assert_results(all);
    assert_fails("setTimeout('code')", ERR_GUEST, "TypeError", "needs a function");
}

static void timers_are_not_waited_for_once_the_result_is_there(void **state)
{
    (void)state;
    /* If awaited, each would end with Timeout. */
    request.total_ms = 20000;
    assert_result("setTimeout(() => {}, 1e9); 1", "1");
    assert_result("setInterval(() => {}, 1); 2", "2");
    assert_result("sleep(1e9); return 3", "3");
    assert_true(outcome.stats.total_ms < 20000);
}

/* ---- one after the other ------------------------------------------------ */

static void nothing_survives_from_one_evaluation_to_the_next(void **state)
{
    (void)state;
    static const char *const spoiling[] = {
        "leak = 1; var leak2 = 2; this.leak3 = 3; 1",
        "Array.prototype.leak = 1; Object.prototype.leak = 1; 1",
        "JSON = null; Math = null; Date = null; Map = null; console = null; 1",
        "Promise.prototype.then = () => { throw 1 }; Promise = null; return 1",
        "Object.defineProperty(Object.prototype, 'toJSON', {value: () => 'leak'}); 1",
        "quick.echo = () => 'leak'; quick = null; sync.echo = null; inside.deep = 1; 1",
        "Array.prototype.push = () => { throw 1 }; Array.prototype.map = null; 1",
        "Map.prototype.get = () => 'leak'; Map.prototype.values = null; 1",
        "Symbol.iterator; Array.prototype[Symbol.iterator] = null; 1",
        "String.prototype.replace = () => 'leak'; RegExp.prototype.exec = null; 1",
        "Function.prototype.call = Function.prototype.apply = null; Reflect.apply = null; 1",
        "setTimeout(() => { throw new Error('leak') }, 1); console.log('leak'); 1",
        "Object.freeze(Object.prototype); Object.freeze(Array.prototype); 1",
        "Error.prototype.message = 'leak'; Error.captureStackTrace = null; 1",
        "const leak = 5; class Leak {}; function leaking() {}; 1",
        "for (;;) {}",
        "const all = []; for (;;) all.push('leak'.repeat(1000))",
        "function leaking() { leaking() } leaking()",
        "await new Promise(() => {})",
    };
    for (size_t i = 0; i < LENGTH(spoiling); i++) {
        request.compute_ms = 100;
        evaluate(spoiling[i]);
        request.compute_ms = 10000;
        assert_result(
            "return [typeof leak, typeof leak2, typeof leak3, [].leak, ({}).leak, "
            "typeof leaking, typeof Leak, new Map([[1, 2]]).get(1), "
            "'a'.replace('a', 'b'), (await quick.echo('e'))[0], [...'xy'], "
            "Object.isFrozen(Object.prototype), new Error('m').message, "
            "Object.keys(Object.prototype).length, inside.deep.twice(2)]",
            "[\"undefined\",\"undefined\",\"undefined\",null,null,\"undefined\","
            "\"undefined\",2,\"b\",\"e\",[\"x\",\"y\"],false,\"m\",0,4]");
        assert_string_equal(buf_cz(&outcome.logs), "[]");
    }
}

static void code_that_spoils_its_own_world_only_harms_itself(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"Array.prototype.x = 1; [1]", "[1]"},
        {"JSON = null; ({a: 1})", "{\"a\":1}"},
        {"Promise.prototype.then = () => { throw 1 }; await 1; await quick.echo(2)",
         "[2]"},
        {"Map.prototype[Symbol.iterator] = null; quick.echo(1)", "[1]"},
        {"Array.prototype.push = null; await quick.echo(1); sync.echo(2)", "[2]"},
    };
    assert_results(all);
}

#define AT_ONCE 4

static void *evaluate_many(void *arg)
{
    unsigned me = *(unsigned *)arg;
    for (unsigned i = 0; i < 100; i++) {
        struct script_outcome out;
        script_outcome_init(&out);
        struct err e = {0};
        char code[200], want[40];
        (void)snprintf(code, sizeof code,
                       "const a = await quick.echo(%u), b = await slow.echo(%u); "
                       "if (%u === 7) for (;;); [a[0], b[0]]",
                       me, i, i % 10);
        (void)snprintf(want, sizeof want, "[%u,%u]", me, i);
        struct script_request q = request;
        q.code = str_of(code);
        q.compute_ms = 50;
        q.tenant = me % 2;
        bool ran = script_run(script, &q, &out, &e);
        bool right = ran && (i % 10 == 7 ? out.type == ERR_TIMEOUT
                                         : str_is(buf_view(&out.result), want));
        if (!right)
            fprintf(stderr, "%s: %s %s %s\n", code, e.msg, buf_cz(&out.result),
                    buf_cz(&out.message));
        script_outcome_done(&out);
        if (!right)
            return NULL;
    }
    return arg;
}

static void evaluations_run_side_by_side(void **state)
{
    (void)state;
    pthread_t threads[AT_ONCE];
    unsigned ids[AT_ONCE];
    for (unsigned i = 0; i < AT_ONCE; i++) {
        ids[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, evaluate_many, &ids[i]), 0);
    }
    for (unsigned i = 0; i < AT_ONCE; i++) {
        void *answer = NULL;
        pthread_join(threads[i], &answer);
        assert_ptr_equal(answer, &ids[i]);
    }
}

static void a_guest_that_is_not_there_is_told(void **state)
{
    (void)state;
    struct err e = {0};
    assert_null(script_open(g, "/nowhere", rows, LENGTH(rows), &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    e = (struct err){0};
    assert_null(script_open(g, "/tmp", rows, LENGTH(rows), &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

/* ---- optional rows, and JavaScript around calls ------------------------- */

static void optional_rows_are_not_there_unless_a_run_asks(void **state)
{
    (void)state;
    static const struct result_row without[] = {
        {"typeof extra", "\"undefined\""},
        {"typeof beam", "\"undefined\""},
        {"'extra' in quick", "false"},
        {"Object.keys(quick).includes('extra')", "false"},
        {"const extra = 1; const beam = 2; extra + beam", "3"},
    };
    assert_results(without);
    assert_fails("extra.echo(1)", ERR_GUEST, "ReferenceError", "extra is not defined");
    request.features = FEATURE_EXTRA;
    static const struct result_row with[] = {
        {"await extra.echo(1)", "[1]"},
        {"await quick.extra(2)", "[2]"},
        {"typeof beam", "\"undefined\""},
        {"Object.keys(extra)", "[\"echo\",\"bytes\",\"both\"]"},
        {"extra.bytes.name", "\"bytes\""},
    };
    assert_results(with);
    request.features = FEATURE_BEAM;
    assert_result("typeof extra + typeof beam", "\"undefinedfunction\"");
    request.features = FEATURE_BEAM | FEATURE_EXTRA;
    assert_result("typeof extra + typeof beam", "\"objectfunction\"");
    request.features = 0;
    assert_results(without);
}

static void a_row_may_have_javascript_around_it(void **state)
{
    (void)state;
    request.features = FEATURE_EXTRA | FEATURE_BEAM;
    static const struct result_row all[] = {
        {"(await beam(1, 'x')).text()", "\"1,x\""},
        {"await extra.both('a')", "[[\"a\"],[\"a\"]]"},
        {"beam.name", "\"beam\""},
        {"try { await extra.both() } catch (e) { [e.name, e.message] }",
         "[\"Conflict\",\"no x\"]"},
    };
    assert_results(all);
    assert_fails("await extra.both()", ERR_CONFLICT, "Conflict", "no x");
}

static void bytes_go_to_the_host_and_come_back(void **state)
{
    (void)state;
    request.features = FEATURE_EXTRA;
    static const struct result_row all[] = {
        {"[...extra.bytes(new Uint8Array([0, 1, 127, 128, 255]))]", "[0,1,127,128,255]"},
        {"extra.bytes(new Uint8Array()).length", "0"},
        {"const b = new Uint8Array(1000003); for (let i = 0; i < b.length; i++) b[i] = i * 7;"
         "const c = extra.bytes(b); c.length === b.length && c.every((x, i) => x === b[i])",
         "true"},
    };
    assert_results(all);
}

/* ---- what is noted of calls --------------------------------------------- */

static void calls_are_noted_in_their_order(void **state)
{
    (void)state;
    request.trace = true;
    evaluate("const a = await quick.echo('one');\n"
             "await Promise.all([quick.echo('two'),\n"
             "  slow.echo('three')]);\n"
             "sync.echo(4);\n"
             "try { await quick.fail('Conflict') } catch {}\n"
             "await quick.echo('x'.repeat(200)); await quick.echo('one')");
    assert_int_equal(outcome.made_count, 7);
    const struct script_made *m = outcome.made;
    static const uint32_t rows_made[] = {QUICK_ECHO, QUICK_ECHO, SLOW_ECHO, SYNC_ECHO,
                                         QUICK_FAIL, QUICK_ECHO, QUICK_ECHO};
    static const uint32_t lines[] = {1, 2, 3, 0, 5, 6, 6};
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(m[i].row, rows_made[i]);
        assert_int_equal(m[i].line, lines[i]);
        assert_true(m[i].answered && m[i].ms >= 0 && m[i].at_ms >= 0);
        assert_int_equal(m[i].failed, i == 4 ? ERR_CONFLICT : ERR_NONE);
    }
    assert_true(m[0].round < m[1].round && m[1].round == m[2].round);
    assert_true(m[3].round < m[5].round);
    assert_memory_equal(m[0].args, "[\"one\"]", m[0].args_shown);
    assert_int_equal(m[0].answer_size, strlen("[\"one\"]"));
    assert_int_equal(m[5].args_size, 204);
    assert_int_equal(m[5].args_shown, sizeof m[5].args);
    assert_true(m[0].args_hash == m[6].args_hash && m[0].args_hash != m[1].args_hash);
    request.trace = false;
    evaluate("await quick.echo(1)");
    assert_int_equal(outcome.made_count, 1);
    assert_int_equal(outcome.made[0].line, 0);
}

static void only_so_many_calls_are_noted(void **state)
{
    (void)state;
    assert_result("for (let i = 0; i < 1200; i++) await quick.echo(i); 'done'",
                  "\"done\"");
    assert_int_equal(outcome.made_count, SCRIPT_MADE_MAX);
    assert_int_equal(outcome.made_dropped, 200);
}

static bool over_told;

static void note_over(void *arg)
{
    (void)arg;
    over_told = true;
}

static void calls_that_were_never_answered_are_noted_so(void **state)
{
    (void)state;
    request.calls_max = 20;
    evaluate("for (let i = 0; i < 30; i++) quick.echo(i)");
    assert_int_equal(outcome.type, ERR_HOST_CALLS);
    request.calls_max = 10000;
    request.over = note_over;
    over_told = false;
    request.total_ms = 30;
    evaluate("slow.pause(60); for (let i = 0; i < 40; i++) slow.pause(i + 1000);"
             "await new Promise(() => {})");
    assert_int_equal(outcome.type, ERR_TIMEOUT);
    assert_true(over_told);
    assert_int_equal(outcome.made_count, 41);
    assert_false(outcome.made[40].answered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_top_level_return_gives_the_result),
        test(a_return_that_is_not_reached_leaves_it_to_the_others),
        test(a_return_inside_a_function_or_a_text_is_none),
        test(main_is_called_where_nothing_is_returned),
        test(a_main_that_the_code_calls_is_not_called_again),
        test(what_is_only_called_main_is_no_main),
        test(else_the_last_expression_gives_the_result),
        test(top_level_names_may_be_those_of_globals),
        test(code_of_any_size_is_taken),
        test(every_json_value_is_kept),
        test(what_json_lacks_is_kept_as_far_as_it_goes),
        test(lone_surrogates_become_replacement_characters),
        test(to_json_is_asked_as_in_json_stringify),
        test(depth_is_bounded_and_cycles_are_errors),
        test(values_go_to_the_host_and_come_back),
        test(calls_answer_with_promises_but_for_synchronous_ones),
        test(errors_of_calls_keep_their_kind),
        test(arguments_that_have_no_json_fail_only_their_call),
        test(an_answer_that_is_no_json_fails_only_its_call),
        test(slow_calls_are_performed_at_the_same_time),
        test(more_slow_calls_than_threads_are_performed_too),
        test(the_code_goes_on_as_soon_as_one_call_is_done),
        test(quick_calls_are_performed_in_their_order),
        test(what_was_asked_of_the_host_is_done_before_the_end),
        test(a_change_is_told_whatever_comes_of_the_code),
        test(large_answers_and_arguments_are_carried),
        test(calls_are_counted),
        test(timers_run_in_the_order_in_which_they_are_due),
        test(timers_are_not_waited_for_once_the_result_is_there),
        test(nothing_survives_from_one_evaluation_to_the_next),
        test(code_that_spoils_its_own_world_only_harms_itself),
        test(evaluations_run_side_by_side),
        test(a_guest_that_is_not_there_is_told),
        test(optional_rows_are_not_there_unless_a_run_asks),
        test(a_row_may_have_javascript_around_it),
        test(bytes_go_to_the_host_and_come_back),
        test(calls_are_noted_in_their_order),
        test(only_so_many_calls_are_noted),
        test(calls_that_were_never_answered_are_noted_so),
    };
    return cmocka_run_group_tests(tests, open_script, close_script);
}
