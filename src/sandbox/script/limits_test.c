/* Limits: each stops any code for good. */
#include "script/fixture_test.h"

/* After each limit the next evaluation works. */
static void assert_all_is_well(void)
{
    struct script_request kept = request;
    begin_test(NULL);
    assert_result("const a = (await quick.echo(1))[0]; a + 1", "2");
    request = kept;
}

static void assert_all_stopped(const char *const *all, size_t n, enum err_code type,
                               const char *said)
{
    for (size_t i = 0; i < n; i++) {
        assert_stopped(all[i], type);
        assert_non_null(strstr(buf_cz(&outcome.message), said));
        assert_all_is_well();
    }
}

/* ---- computing time ----------------------------------------------------- */

static void what_the_host_computes_is_not_the_codes(void **state)
{
    (void)state;
    request.compute_ms = 300;
    /* 40 calls that use the CPU for 25 ms each, on this thread. */
    static const char code[] = "for (let i = 0; i < 40; i++) sync.busy(25); 'done'";
    assert_result(code, "\"done\"");
    assert_true(outcome.stats.compute_ms < 300);
    assert_true(outcome.stats.host_ms >= 900);
    assert_stopped("sync.busy(25); for (;;);", ERR_TIMEOUT);
    assert_all_is_well();
}

static void whatever_never_ends_is_stopped(void **state)
{
    (void)state;
    static const char *const all[] = {
        "for (;;);",
        "while (true) {}",
        "do ; while (true)",
        "for (let i = 0; ; i++) Math.sqrt(i)",
        "await null; while (true);",
        "return (async () => { await null; for (;;); })()",
        "await quick.echo(); for (;;);",
        "function main() { for (;;); }",
        /* microtasks */
        "Promise.resolve().then(() => { while (true); }); await new Promise(() => {})",
        "const again = () => Promise.resolve().then(again); await again()",
        "const again = () => queueMicrotask(again); again(); await new Promise(() => {})",
        "(async () => { for (;;) await null })(); await new Promise(() => {})",
        "for await (const x of (async function* () { for (;;) yield 1 })());",
        "setTimeout(() => { for (;;); }); await new Promise(() => {})",
        /* native loops of the interpreter */
        "/(a+)+$/.test('a'.repeat(40) + 'b')",
        "/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(60))",
        "'a'.repeat(50).match(/(a|a)*b/)",
        "[3, 2, 1].sort(() => { for (;;); })",
        "Array.from({length: 1e5}, (_, i) => i).sort(() => { for (let i = 0; i < 1e4; i++); "
        "return 1 })",
        "let x = 3n ** 200000n; for (;;) x * x",
        "new Array(2 ** 32 - 1).indexOf(1); for (;;) [].concat.apply([], [[1]])",
        "Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)",
        "Array.prototype.reverse.call({length: 2 ** 53 - 1})",
        "const a = new Uint8Array(1 << 24); for (;;) a.fill(1)",
        "const a = new Uint8Array(1 << 24); for (;;) a.copyWithin(1, 0)",
        "const a = new Float64Array(1 << 20); for (;;) a.sort()",
        "const s = 'ab'.repeat(1 << 20); for (;;) s.split('a')",
        "const s = 'a'.repeat(1 << 22); for (;;) s.indexOf('b')",
        "const s = 'a'.repeat(1 << 20); for (;;) s.replaceAll('a', 'bb')",
        "const o = JSON.stringify(Array.from({length: 1e4}, (_, i) => ({i}))); "
        "for (;;) JSON.parse(o)",
        "const o = Array.from({length: 1e4}, (_, i) => ({i})); for (;;) JSON.stringify(o)",
        "JSON.stringify({toJSON() { for (;;); }})",
        "JSON.parse('[1]', () => { for (;;); })",
        "'a'.replace(/a/, () => { for (;;); })",
        "for (;;) structuredClone({a: [1, {b: 2}]})",
        "new TextDecoder().decode(new Uint8Array(1 << 22).fill(255))",
        "for (;;) new URL('http://a/b?c#d')",
        "for (;;) encodeURIComponent('\\u20ac'.repeat(1000))",
        "for (;;) new Date().toISOString()",
        "function* g() { for (;;) yield 1 } for (const x of g());",
        "new Proxy({}, {ownKeys() { for (;;); }}); "
        "Object.keys(new Proxy({}, {ownKeys() { for (;;); }}))",
        "'' + {toString() { for (;;); }}",
        "const m = new Map(); for (;;) { m.set(m.size % 1000, 1); m.delete(5) }",
        /* while it is being told */
        "({get a() { for (;;); }})",
        "return {toJSON() { for (;;); }}",
        "return {then() { for (;;); }}",
        "return new Proxy({}, {ownKeys() { for (;;); }})",
        "throw {get name() { for (;;); }}",
        "throw new Proxy(new Error(), {get() { for (;;); }})",
        "console.log(new Proxy({}, {ownKeys() { for (;;); }}))",
        "await quick.echo({toJSON() { for (;;); }})",
        "sync.echo(new Proxy([], {get() { for (;;); }}))",
    };
    request.compute_ms = 50;
    for (size_t i = 0; i < LENGTH(all); i++) {
        assert_stopped(all[i], ERR_TIMEOUT);
        assert_true(outcome.stats.compute_ms >= 50);
        assert_non_null(strstr(buf_cz(&outcome.message), "50 ms"));
    }
    assert_all_is_well();
}

static void code_that_swallows_exceptions_is_stopped_too(void **state)
{
    (void)state;
    static const char *const all[] = {
        "for (;;) { try { throw 1 } catch {} }",
        "for (;;) { try { for (;;); } catch {} finally { continue } }",
        "for (;;) { try { null.x } catch {} }",
        "function f() { try { f() } catch { f() } } for (;;) f()",
        "function f() { try { f() } finally { f() } } f()",
        "for (;;) { try { eval('1') } catch {} }",
        "for (;;) { try { JSON.parse('{') } catch {} }",
        "for (;;) await Promise.reject(1).catch(() => {})",
        "async function f() { try { await null; throw 1 } catch { return f() } } await f()",
    };
    request.compute_ms = 50;
    assert_all_stopped(all, LENGTH(all), ERR_TIMEOUT, "50 ms");
}

static void waiting_is_not_computing(void **state)
{
    (void)state;
    request.compute_ms = 60;
    assert_result("await sleep(100); 1", "1");
    assert_result("await slow.pause(100)", "\"paused\"");
}

static void computing_counts_over_all_pauses(void **state)
{
    (void)state;
    request.compute_ms = 50;
    assert_stopped("for (;;) { for (let i = 0; i < 1e4; i++); await quick.echo() }",
                   ERR_TIMEOUT);
    assert_stopped("for (;;) { for (let i = 0; i < 1e4; i++); await sleep(0) }",
                   ERR_TIMEOUT);
    assert_stopped("setInterval(() => { for (let i = 0; i < 1e4; i++); }, 0); "
                   "await new Promise(() => {})",
                   ERR_TIMEOUT);
}

/* ---- total time --------------------------------------------------------- */

static void the_whole_may_take_only_so_long(void **state)
{
    (void)state;
    static const char *const all[] = {
        "await sleep(1e6)",
        "await slow.pause(60)",
        "setInterval(() => {}, 5); await new Promise(() => {})",
        "for (;;) await sleep(1)",
        "for (;;) await slow.pause(1)",
        "for (;;);",
        "slow.pause(60); return 1",
    };
    request.total_ms = 40;
    assert_all_stopped(all, LENGTH(all), ERR_TIMEOUT, "");
}

static void computing_and_waiting_together_have_a_limit_of_their_own(void **state)
{
    (void)state;
    static const char *const all[] = {
        "await sleep(1e6)",
        "await slow.pause(60)",
        "setInterval(() => {}, 5); await new Promise(() => {})",
        "for (;;) await sleep(1)",
        "for (;;) await slow.pause(1)",
    };
    request.timeout_ms = 40;
    assert_all_stopped(all, LENGTH(all), ERR_TIMEOUT, "took longer than 40 ms");
    assert_stopped("for (;;);", ERR_TIMEOUT);
    /* Waiting is not computing: separate limits apply. */
    request.timeout_ms = 60000;
    request.compute_ms = 30;
    assert_result("await sleep(100); 1", "1");
    assert_stopped("await sleep(1); for (;;);", ERR_TIMEOUT);
    assert_non_null(strstr(buf_cz(&outcome.message), "computed for more than 30 ms"));
}

static uint64_t stood_for_an_hour(void *arg)
{
    (void)arg;
    return 3600 * (uint64_t)1000000000;
}

static void what_stands_still_does_not_count_there_either(void **state)
{
    (void)state;
    request.timeout_ms = 40;
    request.stood = stood_for_an_hour;
    assert_result("await sleep(100); 1", "1");
}

static void calls_that_had_not_begun_are_not_made_after_the_end(void **state)
{
    (void)state;
    /* More than there are threads: calls that wait for one are dropped. */
    request.total_ms = 60;
    evaluate(
        "const all = []; for (let i = 0; i < 64; i++) all.push(slow.pause(100)); "
        "for (let i = 0; i < 1000; i++) all.push(slow.meet(1)); await Promise.all(all)");
    assert_int_equal(outcome.type, ERR_TIMEOUT);
    assert_int_equal(table.most_meeting, 0);
    assert_all_is_well();
}

/* ---- memory ------------------------------------------------------------- */

static void memory_over_the_limit_ends_the_code(void **state)
{
    (void)state;
    static const char *const all[] = {
        "'x'.repeat(2 ** 29)",
        "const a = []; for (;;) a.push(new Array(1000).fill(1))",
        "const a = []; for (;;) a.push({a: 1, b: [2]})",
        "let s = 'x'; const a = []; for (;;) a.push((s += 'y').repeat(1000))",
        "new Uint8Array(2 ** 30)",
        "new ArrayBuffer(2 ** 30)",
        "function* g() { for (;;) yield 1 } [...g()]",
        "Array.from({length: 1e8}, (_, i) => i)",
        "new Array(1e8).fill(0)",
        "'x'.repeat(1e7).split('').map(x => x + 1)",
        "const m = new Map(); for (let i = 0; ; i++) m.set(i, i)",
        "'x'.padEnd(2 ** 29)",
        "let x = 3n; for (;;) { globalThing = [globalThing, x]; }; var globalThing",
        "JSON.stringify('\\u0000'.repeat(5e7))",
        "await quick.big(40000000)",
        "await quick.echo('x'.repeat(2e7))",
        "crypto.getRandomValues(new Uint8Array(2 ** 29))",
        "const f = () => new Promise(() => f); const a = []; for (;;) a.push(f())",
        "structuredClone(new Array(3e6).fill(0))",
        "new TextEncoder().encode('\\u20ac'.repeat(1e7))",
        "console.log('x'.repeat(5e7))",
        "'x'.repeat(4e7).replace(/x/g, 'yy')",
        "await Promise.all(Array.from({length: 64}, () => quick.big(1000000)))",
    };
    request.memory_bytes = (uint64_t)32 << 20;
    assert_all_stopped(all, LENGTH(all), ERR_MEMORY, "32 MB");
}

static void code_that_swallows_the_refusal_ends_too(void **state)
{
    (void)state;
    static const char *const all[] = {
        "try { 'x'.repeat(2 ** 29) } catch {} return 1",
        "try { new Uint8Array(2 ** 30) } catch (e) { return e.name }",
        "for (;;) { try { 'x'.repeat(2 ** 29) } catch {} }",
        "try { 'x'.repeat(2 ** 29) } catch {} await sleep(1); return 1",
        "(async () => { 'x'.repeat(2 ** 29) })().catch(() => {}); 5",
    };
    request.memory_bytes = (uint64_t)32 << 20;
    assert_all_stopped(all, LENGTH(all), ERR_MEMORY, "32 MB");
}

static void memory_within_the_limit_is_to_be_had(void **state)
{
    (void)state;
    request.memory_bytes = (uint64_t)128 << 20;
    assert_result("new Uint8Array(100 << 20).fill(1).length", "104857600");
    assert_in_range(outcome.stats.memory_peak, 100u << 20, 128u << 20);
    assert_result("let s = 0; for (let i = 0; i < 200; i++) s += new Uint8Array(10 << 20)"
                  ".fill(1)[5]; s",
                  "200"); /* given back and used again */
    assert_true(outcome.stats.memory_peak <= (uint64_t)128 << 20);
}

static void a_guest_without_the_least_memory_does_not_begin(void **state)
{
    (void)state;
    request.memory_bytes = 1 << 20;
    assert_stopped("1", ERR_MEMORY);
    assert_all_is_well();
}

static void floods_of_promises_end(void **state)
{
    (void)state;
    static const char *const all[] = {
        "const f = () => { Promise.resolve().then(f); Promise.resolve().then(f) }; f(); "
        "await new Promise(() => {})",
        "const all = []; for (;;) all.push(new Promise(() => {}))",
        "for (;;) Promise.resolve().then(() => {})",
        "for (;;) Promise.reject(1)",
        "for (;;) setTimeout(() => {}, 1e6)",
        "const f = async () => { await null; f(); f() }; f(); await new Promise(() => {})",
    };
    request.memory_bytes = (uint64_t)32 << 20;
    request.compute_ms = 2000;
    for (size_t i = 0; i < LENGTH(all); i++) {
        evaluate(all[i]);
        if (outcome.type != ERR_MEMORY && outcome.type != ERR_TIMEOUT)
            fail_msg("%s: %s", all[i], buf_cz(&outcome.message));
        assert_all_is_well();
    }
}

/* ---- stack -------------------------------------------------------------- */

static void deep_recursion_is_a_stack_overflow(void **state)
{
    (void)state;
    static const char *const all[] = {
        "function f() { return f() + 1 } f()",
        "const f = () => f(); f()",
        "async function f() { await f() } await f()",
        "class A { get a() { return this.a } } new A().a",
        "const o = {toString() { return '' + this }}; '' + o",
        "const p = new Proxy({}, {get(t, k, r) { return r[k] }}); p.x",
        "[1].map(function f() { return [1].map(f) })",
        "JSON.stringify({toJSON() { return JSON.stringify(this) }})",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; JSON.stringify(a)",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a.toString()",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a.flat(Infinity)",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; structuredClone(a)",
        "[2, 1].sort(function f() { return [2, 1].sort(f) })",
        "'a'.replace(/a/, function f() { return 'a'.replace(/a/, f) })",
        "function f() { try { return f() } finally { f } } f()",
        "function* g() { yield* g() } [...g()]",
        "const f = (...a) => f(...a); f(1, 2)",
        "new (class A { constructor() { new A() } })()",
        "Reflect.construct(function F() { Reflect.construct(F, []) }, [])",
    };
    assert_all_stopped(all, LENGTH(all), ERR_STACK, "");
}

static void a_stack_overflow_may_be_caught(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"function f() { f() } try { f() } catch (e) { return [e.name, "
         "e instanceof RangeError] }",
         "[\"RangeError\",true]"},
        {"let depth = 0; function f() { depth++; f() } try { f() } catch {} depth > 1000",
         "true"},
        {"let n = 0; for (let i = 0; i < 20; i++) { try { (function f() { f() })() } "
         "catch { n++ } } n",
         "20"},
    };
    assert_results(all);
}

/* Deep nesting in what is parsed, compiled or matched: an outcome, not a crash. */
static void deep_texts_end_somehow(void **state)
{
    (void)state;
    static const struct {
        const char *open, *inner, *close;
    } shapes[] = {
        {"[", "", "]"},      {"(", "1", ")"},
        {"{", "", "}"},      {"({a:", "1", "})"},
        {"!", "1", ""},      {"-", "1", ""},
        {"a=>", "1", ""},    {"`${", "1", "}`"},
        {"if(1)", ";", ""},  {"1+(", "1", ")"},
        {"f(", "1", ")"},    {"function f(){", "", "}"},
        {"a?b:", "1", ""},   {"class A{static{", "", "}}"},
        {"await ", "1", ""}, {"new ", "X", ""},
        {"[...", "x", "]"},  {"typeof ", "1", ""},
        {"x=", "1", ""},     {"try{", "", "}catch{}"},
    };
    scoped_buf struct buf code;
    buf_init(&code, 8 << 20);
    static const int depths[] = {200, 20000};
    for (size_t k = 0; k < LENGTH(depths); k++)
        for (size_t i = 0; i < LENGTH(shapes); i++) {
            buf_clear(&code);
            for (int n = 0; n < depths[k]; n++)
                buf_cstr(&code, shapes[i].open);
            buf_cstr(&code, shapes[i].inner);
            for (int n = 0; n < depths[k]; n++)
                buf_cstr(&code, shapes[i].close);
            evaluate_str(buf_view(&code));
        }
    static const char *const others[] = {
        "JSON.parse('['.repeat(1e5) + ']'.repeat(1e5))",
        "JSON.parse('{\"a\":'.repeat(1e5))",
        "new RegExp('('.repeat(1e5) + ')'.repeat(1e5))",
        "new RegExp('(?='.repeat(1e4) + ')'.repeat(1e4)).test('a')",
        "new RegExp('[a-z]'.repeat(1e5)).test('a')",
        "/(?:(?:a*)*)*b/.test('a'.repeat(1e5))",
        "new RegExp('(a*)'.repeat(200) + 'b').test('a'.repeat(100))",
    };
    request.compute_ms = 500;
    for (size_t i = 0; i < LENGTH(others); i++)
        evaluate(others[i]);
    assert_all_is_well();
}

/* ---- host calls --------------------------------------------------------- */

static void only_so_many_calls_are_made(void **state)
{
    (void)state;
    static const char *const all[] = {
        "for (let i = 0; i < 6; i++) await quick.echo(i)",
        "await Promise.all(Array.from({length: 6}, () => quick.echo()))",
        "for (let i = 0; i < 6; i++) quick.echo(i); return 1",
        "for (let i = 0; i < 6; i++) sync.echo(i); return 1",
        "for (let i = 0; i < 6; i++) slow.echo(i); return 1",
        "for (;;) { try { await quick.echo() } catch {} }",
        "for (;;) { try { sync.echo() } catch {} }",
        "for (;;) quick.echo().catch(() => {})",
        "for (;;) { try { await quick.fail('x') } catch {} }",
        "const a = []; a.push(a); for (;;) quick.echo(a).catch(() => {})",
        "await quick.echo(); await slow.echo(); sync.echo(); quick.echo(); quick.echo(); "
        "await quick.echo()",
    };
    request.calls_max = 5;
    assert_all_stopped(all, LENGTH(all), ERR_HOST_CALLS, "5 host calls");
    assert_result("for (let i = 0; i < 3; i++) await quick.echo(i); sync.echo(1); "
                  "inside.deep.twice(1); (await slow.echo(2))[0]",
                  "2");
    request.calls_max = 0;
    assert_result("inside.deep.twice(1)", "2");
    assert_stopped("quick.echo()", ERR_HOST_CALLS);
}

static void no_call_beyond_the_limit_is_performed(void **state)
{
    (void)state;
    request.calls_max = 5;
    assert_stopped("for (;;) await quick.count()", ERR_HOST_CALLS);
    assert_int_equal(table.counted, 5);
    table.counted = 0;
    assert_stopped("for (;;) quick.count()", ERR_HOST_CALLS);
    assert_in_range(table.counted, 0, 5);
}

/* ---- output ------------------------------------------------------------- */

static void a_result_over_its_cap_is_told_with_its_beginning(void **state)
{
    (void)state;
    request.result_max = 1000;
    assert_result("'x'.repeat(10)", "\"xxxxxxxxxx\"");
    evaluate("'x'.repeat(998)");
    assert_succeeded("exactly the cap");
    assert_int_equal(outcome.result.n, 1000);
    static const char *const all[] = {
        "'x'.repeat(999)",
        "'x'.repeat(5000000)",
        "Array.from({length: 100000}, (_, i) => i)",
        "'\\u20ac'.repeat(1000)",
        "'\\u{1F514}'.repeat(1000)",
        "({a: {b: 'y'.repeat(2000)}})",
        "'\\u0000'.repeat(200)",
        "new Error('z'.repeat(2000))",
        "10n ** 2000n",
        "function main() { return 'x'.repeat(999) }",
    };
    for (size_t i = 0; i < LENGTH(all); i++) {
        assert_stopped(all[i], ERR_OUTPUT);
        assert_in_range(outcome.preview.n, 1, 1000);
        assert_int_equal(outcome.result.n, 0);
        assert_all_is_well();
    }
    evaluate("'x'.repeat(5000)");
    assert_int_equal(outcome.preview.at[0], '"');
    assert_int_equal(outcome.preview.at[outcome.preview.n - 1], 'x');
    request.result_max = 0;
    assert_stopped("1", ERR_OUTPUT);
}

static void logs_over_their_cap_are_dropped_and_counted(void **state)
{
    (void)state;
    request.logs_max = 1000;
    evaluate("for (let i = 0; i < 1000; i++) console.log('line', i); 'done'");
    assert_succeeded("a flood");
    assert_in_range(outcome.logs.n, 500, 5000);
    assert_in_range(outcome.logs_dropped, 900, 999);
    assert_true(str_starts(buf_view(&outcome.logs),
                           "[{\"level\":\"log\",\"message\":\"line 0\"},"));
    evaluate("console.log('x'.repeat(100000)); console.log('after'); 1");
    assert_succeeded("a long line");
    assert_in_range(outcome.logs.n, 500, 1100);
    assert_non_null(strstr(buf_cz(&outcome.logs), "... [cut]"));
    assert_null(strstr(buf_cz(&outcome.logs), "after"));
    assert_int_equal(outcome.logs_dropped, 2);
    for (int shift = 0; shift < 4; shift++) {
        char code[100];
        (void)snprintf(code, sizeof code,
                       "console.log('%.*s' + '\\u{1F514}\\u20ac'.repeat(1000)); 1", shift,
                       "xxxx");
        evaluate(code); /* looks whether the logs are UTF-8 */
        assert_succeeded(code);
    }
    for (size_t cap = 0; cap < 80; cap++) {
        request.logs_max = cap;
        evaluate("console.log('abc'); console.log('x'.repeat(100)); 1");
        assert_succeeded("a small cap");
    }
    assert_true(outcome.logs_dropped > 0);
}

static void logs_are_kept_when_a_limit_ends_the_code(void **state)
{
    (void)state;
    assert_fails("console.log('before'); throw new Error('x')", ERR_GUEST, "Error", "x");
    assert_non_null(strstr(buf_cz(&outcome.logs), "before"));
    request.result_max = 10;
    assert_stopped("console.log('before'); 'x'.repeat(100)", ERR_OUTPUT);
    assert_non_null(strstr(buf_cz(&outcome.logs), "before"));
}

/* ---- cancellation ------------------------------------------------------- */

static void *cancel_when_marked(void *cancel)
{
    while (!atomic_load(&table.marked))
        sched_yield();
    cancel_fire(cancel);
    release();
    return NULL;
}

static void a_cancelled_evaluation_ends_wherever_it_is(void **state)
{
    (void)state;
    static const char *const all[] = {
        "sync.mark(); for (;;);",
        "sync.mark(); await sleep(1e9)",
        "sync.mark(); await new Promise(r => setTimeout(r, 1e9))",
        "sync.mark(); for (;;) await quick.echo()",
        "sync.mark(); for (;;) await sleep(0)",
        "sync.mark(); for (;;) { try { for (;;); } catch {} }",
        "const held = slow.hold(); sync.mark(); await held; for (;;);",
        "sync.mark(); /(a+)+$/.test('a'.repeat(60) + 'b')",
    };
    request.total_ms = 0; /* no other limit */
    request.compute_ms = 0;
    request.calls_max = UINT32_MAX;
    for (size_t i = 0; i < LENGTH(all); i++) {
        struct cancel cancel;
        cancel_init(&cancel);
        request.cancel = &cancel;
        atomic_store(&table.marked, false);
        table.released = false;
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, cancel_when_marked, &cancel), 0);
        assert_stopped(all[i], ERR_CANCELLED);
        pthread_join(thread, NULL);
        request.cancel = NULL;
    }
    assert_all_is_well();
}

static void a_cancel_during_a_host_call_ends_it_there(void **state)
{
    (void)state;
    struct cancel cancel;
    cancel_init(&cancel);
    request.cancel = table.cancel = &cancel;
    assert_stopped("sync.cancel(); await quick.count(); return 1", ERR_CANCELLED);
    assert_int_equal(table.counted, 0);
    assert_stopped("quick.count()", ERR_CANCELLED); /* fired before it began */
    assert_int_equal(table.counted, 0);
}

/* A user is asked in the middle of a synchronous call. */
static uint64_t stood_since_the_mark(void *arg)
{
    (void)arg;
    return atomic_load(&table.marked) ? 3600 * (uint64_t)1000000000 : 0;
}

static void time_that_stands_still_is_not_counted(void **state)
{
    (void)state;
    static const char code[] = "sync.mark(); sync.busy(600); sync.echo(1); 2";
    request.total_ms = 500;
    assert_stopped(code, ERR_TIMEOUT);
    begin_test(NULL);
    request.total_ms = 500;
    request.stood = stood_since_the_mark;
    assert_result(code, "2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(what_the_host_computes_is_not_the_codes),
        test(whatever_never_ends_is_stopped),
        test(code_that_swallows_exceptions_is_stopped_too),
        test(waiting_is_not_computing),
        test(computing_counts_over_all_pauses),
        test(the_whole_may_take_only_so_long),
        test(computing_and_waiting_together_have_a_limit_of_their_own),
        test(what_stands_still_does_not_count_there_either),
        test(calls_that_had_not_begun_are_not_made_after_the_end),
        test(memory_over_the_limit_ends_the_code),
        test(code_that_swallows_the_refusal_ends_too),
        test(memory_within_the_limit_is_to_be_had),
        test(a_guest_without_the_least_memory_does_not_begin),
        test(floods_of_promises_end),
        test(deep_recursion_is_a_stack_overflow),
        test(a_stack_overflow_may_be_caught),
        test(deep_texts_end_somehow),
        test(only_so_many_calls_are_made),
        test(no_call_beyond_the_limit_is_performed),
        test(a_result_over_its_cap_is_told_with_its_beginning),
        test(logs_over_their_cap_are_dropped_and_counted),
        test(logs_are_kept_when_a_limit_ends_the_code),
        test(a_cancelled_evaluation_ends_wherever_it_is),
        test(a_cancel_during_a_host_call_ends_it_there),
        test(time_that_stands_still_is_not_counted),
    };
    return cmocka_run_group_tests(tests, open_script, close_script);
}
