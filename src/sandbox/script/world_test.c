/* The world of code: its contents, what is absent, and that it is new. */
#include "script/fixture_test.h"

/* ---- new each time ------------------------------------------------------ */

static void no_two_worlds_draw_the_same_numbers(void **state)
{
    (void)state;
    static const char *const all[] = {
        "Math.random()",
        "[Math.random(), Math.random(), Math.random()]",
        "crypto.randomUUID()",
        "[...crypto.getRandomValues(new Uint8Array(16))]",
        "[...crypto.getRandomValues(new Uint32Array(4))]",
        "await null; Math.random()",
    };
    for (size_t i = 0; i < LENGTH(all); i++) {
        char seen[20][200];
        for (size_t k = 0; k < LENGTH(seen); k++) {
            evaluate(all[i]);
            assert_succeeded(all[i]);
            (void)snprintf(seen[k], sizeof seen[k], "%s", buf_cz(&outcome.result));
            for (size_t other = 0; other < k; other++)
                assert_string_not_equal(seen[other], seen[k]);
        }
    }
}

static void random_numbers_are_as_they_should_be(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"Array.from({length: 10000}, Math.random).every(x => x >= 0 && x < 1)", "true"},
        {"new Set(Array.from({length: 10000}, Math.random)).size", "10000"},
        {"const n = Array.from({length: 10000}, Math.random).filter(x => x < 0.5).length; "
         "n > 4500 && n < 5500",
         "true"},
        {"/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/"
         ".test(crypto.randomUUID())",
         "true"},
        {"new Set(Array.from({length: 1000}, () => crypto.randomUUID())).size", "1000"},
        {"const a = new Uint8Array(8); crypto.getRandomValues(a) === a", "true"},
        {"const b = new Uint8Array(8); crypto.getRandomValues(b.subarray(2, 4)); "
         "[b[0], b[1], ...b.slice(4)]",
         "[0,0,0,0,0,0]"},
        {"new Set(crypto.getRandomValues(new Uint8Array(65536))).size", "256"},
        {"try { crypto.getRandomValues(new Uint8Array(65537)) } catch (e) { e.name }",
         "\"QuotaExceededError\""},
        {"try { crypto.getRandomValues(new Float64Array(1)) } catch (e) { e.name }",
         "\"TypeMismatchError\""},
        {"try { crypto.getRandomValues([1]) } catch (e) { e.name }",
         "\"TypeMismatchError\""},
        {"crypto.getRandomValues(new Uint8Array(0)).length", "0"},
    };
    assert_results(all);
}

static int64_t number_of(const char *code)
{
    evaluate(code);
    assert_succeeded(code);
    return (int64_t)strtod(buf_cz(&outcome.result), NULL);
}

static void clocks_are_the_real_ones(void **state)
{
    (void)state;
    static const char *const now[] = {"Date.now()", "new Date().getTime()",
                                      "performance.timeOrigin + performance.now()",
                                      "Date.parse(new Date().toISOString())",
                                      "await sleep(1); Date.now()"};
    for (size_t i = 0; i < LENGTH(now); i++) {
        int64_t before = os_real_ms(), said = number_of(now[i]), after = os_real_ms();
        assert_in_range(said, before - 2, after + 2);
    }
    static const struct result_row all[] = {
        {"const a = performance.now(); for (let i = 0; i < 1e5; i++); "
         "performance.now() > a",
         "true"},
        {"performance.now() < 60000", "true"},
        {"new Date(0).getTimezoneOffset()", "0"},
        {"new Date(2024, 0, 1, 12).toISOString()", "\"2024-01-01T12:00:00.000Z\""},
        {"new Date('2024-07-01T00:00:00').toISOString()", "\"2024-07-01T00:00:00.000Z\""},
        {"String(new Date(0)).includes('1970')", "true"},
    };
    assert_results(all);
}

/* ---- what is not there -------------------------------------------------- */

static void what_would_lead_out_reads_as_undefined(void **state)
{
    (void)state;
    static const char *const names[] = {"fetch",       "require",    "process",
                                        "module",      "exports",    "global",
                                        "globalThis",  "std",        "os",
                                        "print",       "bjson",      "window",
                                        "self",        "Deno",       "Bun",
                                        "Worker",      "scriptArgs", "XMLHttpRequest",
                                        "WebAssembly", "__filename", "importScripts",
                                        "load",        "readFile",   "WebSocket",
                                        "navigator",   "document"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        char code[100];
        (void)snprintf(code, sizeof code, "typeof %s", names[i]);
        assert_result(code, "\"undefined\"");
    }
    for (size_t i = 0; i < 7; i++) {
        char code[100];
        (void)snprintf(code, sizeof code, "[%s === undefined, %s]", names[i], names[i]);
        assert_result(code, "[true,null]");
    }
}

static void code_made_from_text_is_refused(void **state)
{
    (void)state;
    static const char *const all[] = {
        "eval('1')",
        "(0, eval)('1')",
        "const e = eval; e('1')",
        "Function('return 1')",
        "new Function('return 1')",
        "new Function()",
        "(() => {}).constructor('return 1')",
        "(function () {}).constructor('return 1')()",
        "(async () => {}).constructor('return 1')",
        "(function* () {}).constructor('yield 1')",
        "(async function* () {}).constructor('yield 1')",
        "Object.getPrototypeOf(async () => {}).constructor('return 1')",
        "Reflect.construct(Function, ['return 1'])",
        "Reflect.construct((() => {}).constructor, ['return 1'])",
        "[].map.constructor('return 1')",
        "[]['fil' + 'ter']['constr' + 'uctor']('return 1')()",
        "class A extends Function {}; new A('return 1')",
        "class A extends Function { constructor() { super('return 1') } }; new A()",
        "Function.prototype.constructor('return 1')",
        "Error.constructor('return 1')",
        "quick.echo.constructor('return 1')",
        "inside.deep.twice.constructor('return 1')",
        "console.log.constructor('return 1')",
        "Function.call(null, 'return 1')",
        "Function.bind(null, 'return 1')()",
        "Reflect.apply(Function, null, ['return 1'])",
    };
    for (size_t i = 0; i < LENGTH(all); i++) {
        assert_fails(all[i], ERR_GUEST, "EvalError", "not available");
        assert_int_equal(outcome.line, 1);
    }
    evaluate("import('data:text/javascript,1')");
    assert_false(outcome.success);
}

static void functions_are_still_functions(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"[(() => 1) instanceof Function, typeof Function, Function.name]",
         "[true,\"function\",\"Function\"]"},
        {"Function.prototype === Object.getPrototypeOf(() => 1)", "true"},
        {"(function () { return this.x }).call({x: 5})", "5"},
        {"((a, b) => a + b).apply(null, [1, 2])", "3"},
        {"(function f(a, b) {}).length", "2"},
        {"Object.prototype.toString.call(async () => {})", "\"[object AsyncFunction]\""},
    };
    assert_results(all);
}

/* ---- the language ------------------------------------------------------- */

static void the_language_is_that_of_2023(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"[3, 1, 2].toSorted()", "[1,2,3]"},
        {"[1, 2, 3].findLast(x => x < 3)", "2"},
        {"[1, 2].with(0, 9)", "[9,2]"},
        {"[1, 2, 3].at(-1)", "3"},
        {"Object.groupBy?.([1, 2, 3], x => x % 2 ? 'odd' : 'even') ?? 'none'",
         "{\"odd\":[1,3],\"even\":[2]}"},
        {"'a-b-c'.replaceAll('-', '+')", "\"a+b+c\""},
        {"Object.fromEntries([['a', 1]])", "{\"a\":1}"},
        {"class A { static #p = 1; static get() { return A.#p } static { A.s = 2 } }; "
         "[A.get(), A.s]",
         "[1,2]"},
        {"let o = {a: null}; o.a ?\?= 5; o.b ||= 6; o.c &&= 7; o", "{\"a\":5,\"b\":6}"},
        {"1_000_000", "1000000"},
        {"new WeakRef({}) instanceof WeakRef", "true"},
        {"'x'.matchAll ? [...'a1b2'.matchAll(/\\d/g)].map(m => m[0]) : 0",
         "[\"1\",\"2\"]"},
        {"/(?<y>\\d{4})-(?<m>\\d\\d)/u.exec('2024-05').groups.y", "\"2024\""},
        {"/\\p{L}+/u.exec('h\\u00e9llo w')[0]", "\"h\u00e9llo\""},
        {"'\\u00c9cole'.normalize('NFD').length", "6"},
        {"'\\u00e9'.localeCompare('f') !== 0", "true"},
        {"(1234.5).toLocaleString().length > 0", "true"},
        {"new Date(0).toLocaleDateString().length > 0", "true"},
        {"structuredClone(new Map([[1, {a: 1}]])).get(1)", "{\"a\":1}"},
        {"Array.fromAsync ? await Array.fromAsync([1, 2]) : [1, 2]", "[1,2]"},
        {"await Promise.withResolvers?.().constructor, 1", "1"},
    };
    assert_results(all);
}

/* Our splice replaces the interpreter's: the same result as a reference
 * implementation. */
static void splice_does_what_the_standard_says(void **state)
{
    (void)state;
    assert_result(
        "function plain(a, args) {"
        "  const n = a.length, s = args.length ? Math.trunc(args[0]) || 0 : 0;"
        "  const from = s < 0 ? Math.max(n + s, 0) : Math.min(s, n);"
        "  const count = args.length === 0 ? 0 : args.length === 1 ? n - from :"
        "    Math.min(Math.max(Math.trunc(args[1]) || 0, 0), n - from);"
        "  return [a.slice(from, from + count),"
        "    [...a.slice(0, from), ...args.slice(2), ...a.slice(from + count)]];"
        "}"
        "const bad = [];"
        "for (let n = 0; n < 6; n++)"
        "  for (const s of [undefined, -7, -2, -1, 0, 1, 3, 9, NaN, Infinity, -Infinity, 1.9])"
        "    for (const c of [undefined, -1, 0, 1, 2, 9, NaN, Infinity, '2'])"
        "      for (let items = 0; items < 4; items++) {"
        "        const a = Array.from({length: n}, (_, i) => i);"
        "        const args = [s, c, ...Array(items).fill('x')];"
        "        const want = JSON.stringify(plain(a, args));"
        "        const got = JSON.stringify([a.splice(...args), a]);"
        "        if (got !== want) bad.push([n, s, c, items, got, want]);"
        "      }"
        "bad",
        "[]");
    static const struct result_row all[] = {
        {"const a = [1, 2, 3]; [a.splice(), a.splice(1), a]", "[[],[2,3],[1]]"},
        {"[].splice.length + [].splice.name", "\"2splice\""},
        {"const o = {length: 3, 0: 'a', 1: 'b', 2: 'c'}; Array.prototype.splice.call(o, 1, 1); "
         "o",
         "{\"0\":\"a\",\"1\":\"c\",\"length\":2}"},
        {"const a = Object.freeze([1, 2]); try { a.splice(0, 1) } catch (e) { e.name }",
         "\"TypeError\""},
        {"const a = [1, , 3, , 5]; [a.splice(1, 2), a, 1 in a]",
         "[[null,3],[1,null,5],false]"},
        {"class B extends Array {}; const b = B.from([1, 2, 3]); "
         "b.splice(0, 1) instanceof B",
         "true"},
        {"try { [1].splice(0n, 1) } catch (e) { e.name }", "\"TypeError\""},
        {"const a = Array.from({length: 1000}, (_, i) => i); while (a.length > 1) "
         "a.splice(1, 7); a",
         "[0]"},
    };
    assert_results(all);
}

/* ---- the guest's own C: memory, heap, numbers ---------------------------- */

/* memmove and memset are the guest's own: all small lengths, overlaps both ways. */
static void bytes_are_moved_and_filled_as_they_should_be(void **state)
{
    (void)state;
    assert_result(
        "const bad = []; const size = 400;"
        "const plain = Uint8Array.from({length: size}, (_, i) => i * 7);"
        "for (const n of [0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 80, 127, 128, "
        "129, 200])"
        "  for (const from of [0, 1, 3, 64, 100])"
        "    for (const to of [0, 1, 2, 5, 8, 16, 33, 63, 64, 65, 99, 101, 150]) {"
        "      const a = plain.slice(); a.copyWithin(to, from, from + n);"
        "      for (let i = 0; i < size; i++) {"
        "        const want = i >= to && i < to + n ? plain[from + i - to] : plain[i];"
        "        if (a[i] !== want) { bad.push(['move', n, from, to, i]); break }"
        "      }"
        "      const b = plain.slice(); b.fill(200, to, to + n);"
        "      for (let i = 0; i < size; i++)"
        "        if (b[i] !== (i >= to && i < to + n ? 200 : plain[i])) {"
        "          bad.push(['fill', n, to, i]); break }"
        "    }"
        "bad.slice(0, 5)",
        "[]");
}

static void the_heap_keeps_what_is_put_into_it(void **state)
{
    (void)state;
    request.memory_bytes = (uint64_t)256 << 20;
    assert_result(
        "let seed = 12345; const random = (n) => {"
        "  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0; return (seed >>> 8) % n };"
        "const kept = new Array(200).fill(null); let bad = 0;"
        "for (let round = 0; round < 20000; round++) {"
        "  const i = random(kept.length), old = kept[i];"
        "  if (old && !(old.bytes.every ? old.bytes[0] === old.tag && "
        "      old.bytes[old.bytes.length - 1] === old.tag && "
        "      old.text.length === old.n && old.text.endsWith('<' + old.tag) : 1)) bad++;"
        "  const tag = random(256), n = 1 + random([16, 100, 600, 5000, 100000][random(5)]);"
        "  const text = 'x'.repeat(n) + '<' + tag;"
        "  kept[i] = random(4) ? {tag, n: text.length, text, bytes: new "
        "    Uint8Array(n).fill(tag)} : null;"
        "}"
        "for (const o of kept) if (o && !o.bytes.every(b => b === o.tag)) bad++;"
        "bad",
        "0");
    assert_result("let a = []; for (let i = 0; i < 300000; i++) { a.push({i}); "
                  "if (a.length > 1000) a = a.slice(500) } a.every((o, k) => k === 0 || "
                  "o.i === a[k - 1].i + 1)",
                  "true");
    assert_result(
        "const m = new Map(); for (let i = 0; i < 100000; i++) { m.set('k' + i, i); "
        "if (i % 3 === 0) m.delete('k' + (i >> 1)) } "
        "[...m].every(([k, v]) => k === 'k' + v)",
        "true");
}

static void numbers_are_read_and_written_exactly(void **state)
{
    (void)state;
    scoped_buf struct buf code;
    buf_init(&code, 1 << 20);
    double numbers[3000];
    uint64_t bits = 88172645463325252u;
    buf_cstr(&code, "[");
    for (size_t i = 0; i < LENGTH(numbers);) {
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        memcpy(&numbers[i], &bits, sizeof bits);
        if (i % 3 == 1) /* numbers as people write them */
            numbers[i] = (double)(bits % 100000000) / 1000;
        if (numbers[i] - numbers[i] != 0)
            continue; /* infinite, or no number */
        buf_printf(&code, i % 3 == 1 ? "%.15g," : "%.17g,", numbers[i]);
        i++;
    }
    buf_cstr(&code, "]");
    evaluate_str(buf_view(&code));
    assert_succeeded("numbers");
    struct err e = {0};
    scoped(arena_free) struct arena *a = arena_new(8 << 20);
    struct json_iter it = json_iter(json_read(buf_view(&outcome.result), a, &e));
    for (size_t i = 0; i < LENGTH(numbers); i++) {
        assert_true(json_next(&it));
        if (json_number(it.value, 0) != numbers[i])
            fail_msg("%.17g came back as %.17g", numbers[i], json_number(it.value, 0));
    }
    static const struct result_row all[] = {
        {"[Number('1e400'), Number('-1e400'), 1e-400].map(String)",
         "[\"Infinity\",\"-Infinity\",\"0\"]"},
        {"[Number('0x1f'), Number('0b101'), Number('0o17'), Number(' 12 '), Number('')]",
         "[31,5,15,12,0]"},
        {"[Number('1_0'), Number('1e'), Number('.'), Number('--1')].map(String)",
         "[\"NaN\",\"NaN\",\"NaN\",\"NaN\"]"},
        {"[parseFloat('3.14abc'), parseFloat('.5e1'), parseFloat('-.1'), parseInt('12px')]",
         "[3.14,5,-0.1,12]"},
        {"2.2250738585072011e-308", "2.225073858507201e-308"},
        {"[0.1, 0.2, 0.3].map(x => x.toFixed(20))",
         "[\"0.10000000000000000555\",\"0.20000000000000001110\",\"0.29999999999999998890\"]"},
        {"['1' + '0'.repeat(400) + 'e-400', '0.' + '0'.repeat(400) + '1e401'].map(Number)",
         "[1,1]"},
        {"Number('9007199254740993')", "9007199254740992"},
        {"Number('9'.repeat(30))", "1e+30"},
    };
    assert_results(all);
}

/* ---- injected values ---------------------------------------------------- */

static void assert_with_context(const char *context, const char *code, const char *json)
{
    request.context = str_of(context);
    assert_result(code, json);
    request.context = STR("");
}

static void values_are_injected_as_they_are(void **state)
{
    (void)state;
    assert_with_context("{\"a\":1,\"b\":[true,null],\"c\":{\"d\":\"e\"}}", "[a, b, c.d]",
                        "[1,[true,null],\"e\"]");
    assert_with_context("{\"a\":1}", "context", "{\"a\":1}");
    assert_with_context("{\"a\":{\"x\":1}}", "a === context.a", "true");
    assert_with_context("{}", "context", "{}");
    assert_with_context("{\"a\":1}", "a = 2; a", "2");
    assert_with_context("{\"a\":1}", "const a = 3; a", "3");
    assert_with_context("{\"$\":1,\"_x\":2,\"\u00e9\":3,\"y9\":4}",
                        "$ + _x + \u00e9 + y9", "10");
    assert_with_context("{\"s\":\"\\u0000\\ud83d\\udd14\"}", "[s.length, s]",
                        "[3,\"\\u0000\U0001F514\"]");
    assert_with_context("{\"n\":123456789012345678901234567890}", "n",
                        "1.2345678901234568e+29");
    assert_with_context("{\"o\":{\"__proto__\":{\"polluted\":1}}}",
                        "[({}).polluted, Object.keys(o)]", "[null,[\"__proto__\"]]");
    assert_with_context("{\"o\":{\"constructor\":1,\"toString\":2}}",
                        "[o.constructor, o.toString]", "[1,2]");
    assert_with_context(" {\n\"a\" : 1 }\n", "a", "1");
    assert_result("typeof context", "\"undefined\"");
}

static void injected_values_of_any_size_arrive(void **state)
{
    (void)state;
    scoped_buf struct buf context;
    buf_init(&context, 16 << 20);
    static const size_t sizes[] = {10,   4000, 4020, 4030,  4040,
                                   4050, 4060, 4096, 70000, 5000000};
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        buf_clear(&context);
        buf_cstr(&context, "{\"text\":\"");
        for (size_t n = 0; n < sizes[i]; n++)
            buf_char(&context, 'x');
        buf_cstr(&context, "\"}");
        char want[20];
        (void)snprintf(want, sizeof want, "%zu", sizes[i]);
        assert_with_context(buf_cz(&context), "text.length", want);
    }
}

static void assert_context_refused(const char *context, const char *why)
{
    struct err e = {0};
    script_outcome_done(&outcome);
    script_outcome_init(&outcome);
    request.code = STR("1");
    request.context = str_of(context);
    if (script_run(script, &request, &outcome, &e))
        fail_msg("accepted: %s", context);
    assert_int_equal(e.code, ERR_INVALID);
    if (!strstr(e.msg, why))
        fail_msg("'%s' does not say '%s'", e.msg, why);
    request.context = STR("");
}

static void keys_must_be_free_identifiers(void **state)
{
    (void)state;
    static const char *const hidden[] = {"quick",       "sync",
                                         "slow",        "inside",
                                         "top",         "console",
                                         "JSON",        "Promise",
                                         "Array",       "Object",
                                         "setTimeout",  "sleep",
                                         "fetch",       "globalThis",
                                         "eval",        "undefined",
                                         "NaN",         "this",
                                         "return",      "await",
                                         "let",         "arguments",
                                         "context",     "crypto",
                                         "URL",         "__proto__",
                                         "__main",      "Math",
                                         "Symbol",      "Error",
                                         "TypeError",   "Uint8Array",
                                         "isNaN",       "parseInt",
                                         "performance", "structuredClone",
                                         "ArrayBuffer", "encodeURIComponent",
                                         "Intl",        "WeakMap",
                                         "DataView",    "TextDecoder",
                                         "Event"};
    for (size_t i = 0; i < LENGTH(hidden); i++) {
        char context[100];
        (void)snprintf(context, sizeof context, "{\"%s\":1}", hidden[i]);
        assert_context_refused(context, "would hide");
    }
    /* All that the world has. */
    evaluate("Object.getOwnPropertyNames(this).filter(n => !/^leak/.test(n))");
    scoped(arena_free) struct arena *a = arena_new(1 << 20);
    struct err e = {0};
    struct json_iter it = json_iter(json_read(buf_view(&outcome.result), a, &e));
    assert_true(it.left > 80);
    while (json_next(&it)) {
        char context[100];
        (void)snprintf(context, sizeof context, "{\"%.*s\":1}",
                       STR_ARGS(json_str(it.value)));
        assert_context_refused(context, "would hide");
    }
    static const char *const no_names[] = {
        "",         "a b",     "1a",      "a-b",      "a.b",     "\\u0000",
        "a\\n",     "(",       "\\u0020", "a\\u2028", "\\u200b", "\\ud83d\\udd14",
        "a\\u00a0", "\\ufeff", "\\u00d7"};
    for (size_t i = 0; i < LENGTH(no_names); i++) {
        char context[100];
        (void)snprintf(context, sizeof context, "{\"%s\":1}", no_names[i]);
        assert_context_refused(context, "identifier");
    }
}

static void a_context_must_be_an_object_of_json(void **state)
{
    (void)state;
    assert_context_refused("[1]", "not array");
    assert_context_refused("5", "not number");
    assert_context_refused("null", "not null");
    assert_context_refused("{", "not JSON");
    assert_context_refused("{\"a\":1,\"a\":2}", "twice");
    assert_context_refused("{\"a\":\"\xff\"}", "not JSON");
    assert_context_refused("{\"a\":1} x", "not JSON");
    char deep[600] = "{\"a\":";
    memset(deep + 5, '[', 200);
    memset(deep + 205, ']', 200);
    strcpy(deep + 405, "}");
    assert_context_refused(deep, "deeper");
}

/* ---- odd code ----------------------------------------------------------- */

static void code_may_hold_any_text(void **state)
{
    (void)state;
    evaluate_str(STR("'a\0b'.length"));
    assert_succeeded("a NUL");
    assert_string_equal(buf_cz(&outcome.result), "3");
    static const struct str all[] = {STR("\0"),
                                     STR("1\0"),
                                     STR("throw '\0'"),
                                     STR("\xef\xbb\xbf"
                                         "1"),
                                     STR("console.log('\0')"),
                                     STR("x\xcc\x81 = 1"),
                                     STR("\xe2\x80\xa8"
                                         "1"),
                                     STR("const \xf0\x9d\x92\xb3 = 2; \xf0\x9d\x92\xb3"),
                                     STR("//\xe2\x80\xa9null.x")};
    for (size_t i = 0; i < LENGTH(all); i++)
        evaluate_str(all[i]); /* an outcome whose texts are UTF-8 */
    for (int c = 0; c < 128; c++) {
        char one = (char)c;
        evaluate_str((struct str){&one, 1});
    }
}

static void code_that_is_no_text_is_refused(void **state)
{
    (void)state;
    static const struct str all[] = {STR("'\xff'"), STR("// \xc3\n1"),
                                     STR("'\xed\xa0\x80'"), STR("`\xf0\x9f`")};
    for (size_t i = 0; i < LENGTH(all); i++) {
        struct err e = {0};
        script_outcome_done(&outcome);
        script_outcome_init(&outcome);
        request.code = all[i];
        assert_false(script_run(script, &request, &outcome, &e));
        assert_int_equal(e.code, ERR_INVALID);
    }
}

/* ---- libraries ---------------------------------------------------------- */

static void text_is_encoded_and_decoded(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"[...new TextEncoder().encode('a\\u00e9\\u20ac\\u{1F514}')]",
         "[97,195,169,226,130,172,240,159,148,148]"},
        {"[...new TextEncoder().encode('\\ud800')]", "[239,191,189]"},
        {"[...new TextEncoder().encode()]", "[]"},
        {"const b = new Uint8Array(4); const r = new TextEncoder().encodeInto('a\\u20acb', b); "
         "[r, [...b]]",
         "[{\"read\":2,\"written\":4},[97,226,130,172]]"},
        {"new TextDecoder().decode(new Uint8Array([97, 226, 130, 172]))", "\"a\u20ac\""},
        {"new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 97]))", "\"a\""},
        {"new TextDecoder('utf-8', {ignoreBOM: true}).decode(new Uint8Array([0xef, 0xbb, 0xbf, "
         "97])).length",
         "2"},
        {"new TextDecoder().decode(new Uint8Array([97, 255, 98, 226, 130, 99]))",
         "\"a\ufffdb\ufffdc\""},
        {"new TextDecoder().decode(new Uint8Array([0xf0, 0x9f, 0x94]))", "\"\ufffd\""},
        {"new TextDecoder().decode(new Uint8Array([0xed, 0xa0, 0x80]))",
         "\"\ufffd\ufffd\ufffd\""},
        {"new TextDecoder().decode(new Uint8Array([0xc0, 0x80, 0xf5]))",
         "\"\ufffd\ufffd\ufffd\""},
        {"try { new TextDecoder('utf-8', {fatal: true}).decode(new Uint8Array([255])) } "
         "catch (e) { e.name }",
         "\"TypeError\""},
        {"const d = new TextDecoder(); [226, 130, 172].map(b => d.decode(new Uint8Array([b]), "
         "{stream: true})).join('|') + d.decode()",
         "\"||\u20ac\""},
        {"const d = new TextDecoder(); d.decode(new Uint8Array([226]), {stream: true}) + "
         "d.decode()",
         "\"\ufffd\""},
        {"new TextDecoder('latin1').decode(new Uint8Array([0xe9, 0x80]))",
         "\"\u00e9\u20ac\""},
        {"new TextDecoder('utf-16le').decode(new Uint8Array([0x61, 0, 0xac, 0x20]))",
         "\"a\u20ac\""},
        {"[new TextDecoder().encoding, new TextEncoder().encoding]",
         "[\"utf-8\",\"utf-8\"]"},
        {"try { new TextDecoder('klingon') } catch (e) { e.name }", "\"RangeError\""},
        {"new TextDecoder().decode(new TextEncoder().encode('\\u{1F514}'.repeat(1000))) === "
         "'\\u{1F514}'.repeat(1000)",
         "true"},
        {"new TextDecoder().decode(new Uint8Array([1, 97, 2]).buffer.slice(1, 2))",
         "\"a\""},
        {"new TextDecoder().decode(new Uint8Array([1, 97, 2]).subarray(1, 2))", "\"a\""},
        {"[btoa('hi\\xff'), atob('aGn/')]", "[\"aGn/\",\"hi\u00ff\"]"},
        {"[btoa(''), atob(''), atob(' aG k= ')]", "[\"\",\"\",\"hi\"]"},
        {"try { btoa('\\u20ac') } catch (e) { 'refused' }", "\"refused\""},
        {"try { atob('a') } catch (e) { 'refused' }", "\"refused\""},
        {"try { atob('****') } catch (e) { 'refused' }", "\"refused\""},
    };
    assert_results(all);
}

static void urls_are_taken_apart(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"const u = new URL('https://us%65r:p%40w@EXAMPLE.com:8080/a/../b%20c?x=1&x=2&y=#frag'); "
         "[u.href, u.origin, u.protocol, u.username, u.password, u.host, u.hostname, u.port, "
         "u.pathname, u.search, u.hash]",
         "[\"https://us%65r:p%40w@example.com:8080/b%20c?x=1&x=2&y=#frag\","
         "\"https://example.com:8080\",\"https:\",\"us%65r\",\"p%40w\",\"example.com:8080\","
         "\"example.com\",\"8080\",\"/b%20c\",\"?x=1&x=2&y=\",\"#frag\"]"},
        {"new URL('../c?d#e', 'http://a/b/b2/b3').href", "\"http://a/b/c?d#e\""},
        {"new URL('//h/p', 'https://a/b').href", "\"https://h/p\""},
        {"new URL('?q', 'http://a/b?c#d').href", "\"http://a/b?q\""},
        {"new URL('#f', 'http://a/b?c#d').href", "\"http://a/b?c#f\""},
        {"new URL('http://a:80/').href", "\"http://a/\""},
        {"new URL('http://0x7f.1/').hostname", "\"127.0.0.1\""},
        {"new URL('http://[2001:DB8::0:1]/').hostname", "\"[2001:db8::1]\""},
        {"new URL('http:\\\\\\\\a\\\\b').href", "\"http://a/b\""},
        {"new URL('  http://a/\\tb\\n ').href", "\"http://a/b\""},
        {"new URL('mailto:x@y').pathname", "\"x@y\""},
        {"new URL('file:///C:/a/../b').href", "\"file:///C:/b\""},
        {"new URL('data:text/plain,a b').href", "\"data:text/plain,a b\""},
        {"new URL('http://a/\\u20ac?\\u20ac#\\u20ac').href",
         "\"http://a/%E2%82%AC?%E2%82%AC#%E2%82%AC\""},
        {"['', 'a', '//a', 'http://', 'http://a:99999', 'http://[::1', 'http://a b/', "
         "'http://%/', 'http://1.2.3.4.5/', 'http://256.1.1.1/'].map(u => URL.canParse(u))",
         "[false,false,false,false,false,false,false,false,false,false]"},
        {"try { new URL('nope') } catch (e) { e.name }", "\"TypeError\""},
        {"const u = new URL('http://a/'); u.searchParams.append('k', 'v w&'); "
         "u.searchParams.set('z', '1'); [u.href, u.search]",
         "[\"http://a/?k=v+w%26&z=1\",\"?k=v+w%26&z=1\"]"},
        {"const u = new URL('http://a/b'); u.pathname = '/c d'; u.hash = 'h'; u.port = '81'; "
         "u.host = 'x'; u.protocol = 'https'; u.search = '?q=1'; u.searchParams.get('q') + "
         "u.href",
         "\"1https://x:81/c%20d?q=1#h\""},
        {"[...new URLSearchParams('a=1&b=2&a=3&c')]",
         "[[\"a\",\"1\"],[\"b\",\"2\"],[\"a\",\"3\"],[\"c\",\"\"]]"},
        {"const p = new URLSearchParams({x: 'a b', y: '\\u20ac'}); p.delete('x'); "
         "[String(p), p.has('y'), p.get('n'), p.size]",
         "[\"y=%E2%82%AC\",true,null,1]"},
        {"new URLSearchParams('?a=%zz+b').get('a')", "\"%zz b\""},
        {"const p = new URLSearchParams('b=1&a=2'); p.sort(); p.toString()",
         "\"a=2&b=1\""},
    };
    assert_results(all);
}

static void values_are_cloned(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"const a = {x: [1, {y: new Date(5)}]}; const b = structuredClone(a); "
         "[b, b !== a, b.x[1] !== a.x[1], b.x[1].y instanceof Date]",
         "[{\"x\":[1,{\"y\":\"1970-01-01T00:00:00.005Z\"}]},true,true,true]"},
        {"const a = {}; a.self = a; const b = structuredClone(a); b.self === b", "true"},
        {"const s = structuredClone(new Set([1, {a: 2}])); [s instanceof Set, [...s]]",
         "[true,[1,{\"a\":2}]]"},
        {"const e = structuredClone(new RangeError('r')); [e instanceof Error, e.message]",
         "[true,\"r\"]"},
        {"const t = new Uint8Array([1, 2]); const u = structuredClone(t); t[0] = 9; [...u]",
         "[1,2]"},
        {"structuredClone(/x/gi).flags", "\"gi\""},
        {"[structuredClone(null), structuredClone(1n), structuredClone('s')]",
         "[null,\"1n\",\"s\"]"},
        {"try { structuredClone(() => 1) } catch (e) { e.name }", "\"DataCloneError\""},
        {"try { structuredClone({f: Symbol()}) } catch (e) { e.name }",
         "\"DataCloneError\""},
        {"structuredClone([1, , 3]).length", "3"},
    };
    assert_results(all);
}

static void signals_abort(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"const c = new AbortController(); const seen = []; c.signal.addEventListener('abort', "
         "() => seen.push(c.signal.aborted)); c.abort(); c.abort(); "
         "[seen, c.signal.aborted, c.signal.reason.name]",
         "[[true],true,\"AbortError\"]"},
        {"const c = new AbortController(); c.abort('why'); try { c.signal.throwIfAborted() } "
         "catch (e) { e }",
         "\"why\""},
        {"AbortSignal.abort('x').reason", "\"x\""},
        {"const c = new AbortController(); const any = AbortSignal.any([c.signal]); c.abort(1); "
         "any.aborted",
         "true"},
        {"const s = AbortSignal.timeout(1); await sleep(10); [s.aborted, s.reason.name]",
         "[true,\"TimeoutError\"]"},
        {"const c = new AbortController(); let n = 0; c.signal.onabort = () => n++; c.abort(); n",
         "1"},
    };
    assert_results(all);
}

static void assert_logs(const char *code, const char *logs)
{
    evaluate(code);
    assert_succeeded(code);
    if (strcmp(buf_cz(&outcome.logs), logs) != 0)
        fail_msg("%s\n  logs %s\n  not  %s", code, buf_cz(&outcome.logs), logs);
}

static void assert_logged(const char *arguments, const char *message)
{
    char code[400];
    scoped_buf struct buf logs;
    buf_init(&logs, 4000);
    (void)snprintf(code, sizeof code, "console.log(%s)", arguments);
    struct json_writer w = json_writer(&logs);
    json_open_array(&w);
    json_open_object(&w);
    json_pair_cstr(&w, "level", "log");
    json_pair_cstr(&w, "message", message);
    json_close(&w);
    json_close(&w);
    assert_logs(code, buf_cz(&logs));
}

static void consoles_lines_are_kept_in_order_with_their_level(void **state)
{
    (void)state;
    assert_logs(
        "console.log('a'); console.info('b'); console.warn('c'); console.error('d'); "
        "console.debug('e'); await quick.echo(); console.log('f')",
        "[{\"level\":\"log\",\"message\":\"a\"},{\"level\":\"info\",\"message\":\"b\"},"
        "{\"level\":\"warn\",\"message\":\"c\"},{\"level\":\"error\",\"message\":\"d\"},"
        "{\"level\":\"debug\",\"message\":\"e\"},{\"level\":\"log\",\"message\":\"f\"}]");
    assert_logs("1", "[]");
    assert_logs("console.group('g'); console.log('in\\nner'); console.groupEnd(); "
                "console.log('out')",
                "[{\"level\":\"log\",\"message\":\"g\"},"
                "{\"level\":\"log\",\"message\":\"  in\\n  ner\"},"
                "{\"level\":\"log\",\"message\":\"out\"}]");
    assert_logs("console.assert(true, 'x'); console.assert(false, 'y'); console.count(); "
                "console.count()",
                "[{\"level\":\"error\",\"message\":\"Assertion failed: y\"},"
                "{\"level\":\"log\",\"message\":\"default: 1\"},"
                "{\"level\":\"log\",\"message\":\"default: 2\"}]");
}

static void values_are_shown_as_people_expect(void **state)
{
    (void)state;
    static const struct {
        const char *arguments, *message;
    } all[] = {
        {"", ""},
        {"'text'", "text"},
        {"'a', 1, true, null, undefined", "a 1 true null undefined"},
        {"-0, 10n, Symbol('s')", "0 10n Symbol(s)"},
        {"{a: 1, 'b c': 'x'}", "{ a: 1, 'b c': 'x' }"},
        {"[1, 'x', [2]]", "[1, 'x', [2]]"},
        {"{}", "{}"},
        {"[]", "[]"},
        {"{a: {b: {c: {d: {e: {f: 1}}}}}}",
         "{ a: { b: { c: { d: { e: [Object] } } } } }"},
        {"new Map([['k', {v: 1}]])", "Map(1) { 'k' => { v: 1 } }"},
        {"new Set([1, 'x'])", "Set(2) { 1, 'x' }"},
        {"new Date(0)", "1970-01-01T00:00:00.000Z"},
        {"new Date(NaN)", "Invalid Date"},
        {"/x/g", "/x/g"},
        {"() => 1, function named() {}", "[Function] [Function: named]"},
        {"class A {}", "[Function: A]"},
        {"new (class Thing { x = 1 })", "Thing { x: 1 }"},
        {"Object.create(null)", "[null prototype] {}"},
        {"new Uint8Array(3)", "Uint8Array(3) [0, 0, 0]"},
        {"Promise.resolve(1)", "Promise"},
        {"{get a() { return 1 }}", "{ a: [Getter] }"},
        {"Array.from({length: 102}, () => 0).join().length, [...Array(103).fill(0)].length",
         "203 103"},
        {"'%s is %d years and %i, %f %j %o %%', 'Bob', 42.5, 42.9, '1.5', {a: 1}, [1]",
         "Bob is 42.5 years and 42, 1.5 {\"a\":1} [1] %"},
        {"'%s', 'a', 'b'", "a b"},
        {"'%s'", "%s"},
        {"'100%', 5", "100% 5"},
        {"'%x %s', 1", "%x 1"},
        {"'it\\'s', [\"it's\"]", "it's [\"it's\"]"},
    };
    for (size_t i = 0; i < LENGTH(all); i++)
        assert_logged(all[i].arguments, all[i].message);
    assert_logs("const a = {n: 1}; a.self = a; console.log(a)",
                "[{\"level\":\"log\",\"message\":\"{ n: 1, self: [Circular] }\"}]");
    assert_logs("console.log('\\u0000\\ud800\\u{1F514}')",
                "[{\"level\":\"log\",\"message\":\"\\u0000\ufffd\U0001F514\"}]");
    evaluate("console.log(Array.from({length: 150}, (_, i) => i))");
    assert_non_null(strstr(buf_cz(&outcome.logs), "99, ... 50 more]"));
    evaluate("console.log(new TypeError('bad'))");
    assert_non_null(strstr(buf_cz(&outcome.logs), "TypeError: bad\\n    at (code.js:1:"));
}

static void showing_a_value_never_ends_the_code(void **state)
{
    (void)state;
    static const char *const all[] = {
        "console.log({get a() { throw 1 }}); 1",
        "console.log(new Proxy({}, {})); 1",
        "console.log({toString() { throw 1 }, toJSON() { throw 1 }}); 1",
        "console.log(Object.create({constructor: 5})); 1",
        "console.log(Object.create({get constructor() { throw 1 }})); 1",
        "console.log(new Proxy({}, {ownKeys() { throw 1 }})); 1",
        "console.log(new Proxy({}, {get() { throw 1 }, getPrototypeOf() { throw 1 }})); 1",
        "console.log('%d', Symbol('x')); 1",
        "console.log('%d', 10n); 1",
        "console.log('%j', (() => { const a = {}; a.a = a; return a })()); 1",
        "console.log('%s', Object.create(null)); 1",
        "console.log(Object.defineProperty(new Error('x'), 'stack', {value: 5})); 1",
        "const r = Proxy.revocable({}, {}); r.revoke(); console.log(r.proxy); 1",
    };
    for (size_t i = 0; i < LENGTH(all); i++)
        assert_result(all[i], "1");
}

/* ---- memory of other kinds ---------------------------------------------- */

static int open_in_the_pool(void **state)
{
    (void)state;
    return open_script_with(ENGINE_MEMORY_POOL);
}

static int open_in_small_memories(void **state)
{
    (void)state;
    return open_script_with(ENGINE_MEMORY_SMALL);
}

static void evaluations_work_in_other_memories_too(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"1 + 1", "2"},
        {"const a = await Promise.all([quick.echo(1), slow.echo(2)]); a", "[[1],[2]]"},
        {"typeof leak", "\"undefined\""},
        {"leak = 1; Array.prototype.leak = 1; 1", "1"},
        {"[typeof leak, [].leak]", "[\"undefined\",null]"},
        {"new Uint8Array(50 << 20).fill(1).length", "52428800"},
    };
    assert_results(all);
    request.compute_ms = 50;
    assert_stopped("for (;;);", ERR_TIMEOUT);
    assert_stopped("const a = new Uint8Array(1 << 24); for (;;) a.fill(1)", ERR_TIMEOUT);
    request.compute_ms = 10000;
    assert_stopped("function f() { f() } f()", ERR_STACK);
    request.memory_bytes = (uint64_t)32 << 20;
    assert_stopped("'x'.repeat(2 ** 29)", ERR_MEMORY);
    assert_stopped("try { 'x'.repeat(2 ** 29) } catch {} return 1", ERR_MEMORY);
    assert_stopped(
        "const a = []; for (;;) { try { a.push(new Array(1000).fill(1)) } catch {} }",
        ERR_MEMORY);
    assert_result("[typeof leak, [].leak]", "[\"undefined\",null]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(no_two_worlds_draw_the_same_numbers),
        test(random_numbers_are_as_they_should_be),
        test(clocks_are_the_real_ones),
        test(what_would_lead_out_reads_as_undefined),
        test(code_made_from_text_is_refused),
        test(functions_are_still_functions),
        test(the_language_is_that_of_2023),
        test(splice_does_what_the_standard_says),
        test(bytes_are_moved_and_filled_as_they_should_be),
        test(the_heap_keeps_what_is_put_into_it),
        test(numbers_are_read_and_written_exactly),
        test(values_are_injected_as_they_are),
        test(injected_values_of_any_size_arrive),
        test(keys_must_be_free_identifiers),
        test(a_context_must_be_an_object_of_json),
        test(code_may_hold_any_text),
        test(code_that_is_no_text_is_refused),
        test(text_is_encoded_and_decoded),
        test(urls_are_taken_apart),
        test(values_are_cloned),
        test(signals_abort),
        test(consoles_lines_are_kept_in_order_with_their_level),
        test(values_are_shown_as_people_expect),
        test(showing_a_value_never_ends_the_code),
    };
    const struct CMUnitTest in_the_pool[] = {
        test(evaluations_work_in_other_memories_too)};
    const struct CMUnitTest in_small[] = {test(evaluations_work_in_other_memories_too)};
    int failed = cmocka_run_group_tests(tests, open_script, close_script);
    failed += cmocka_run_group_tests(in_the_pool, open_in_the_pool, close_script);
    failed += cmocka_run_group_tests(in_small, open_in_small_memories, close_script);
    return failed;
}
