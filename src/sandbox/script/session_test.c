/* Sessions: what one evaluation leaves to the next. */
#include "script/fixture_test.h"

/* The session that the next evaluation goes on with. */
static struct buf kept;

static int begin_session(void **state)
{
    begin_test(state);
    buf_done(&kept);
    buf_init(&kept, (size_t)64 << 20);
    request.session = true;
    request.saved_max = (size_t)64 << 20;
    return 0;
}
#define session_test(name) cmocka_unit_test_setup(name, begin_session)

/* One call of the session, which goes on from what it saved. */
static void call(const char *code)
{
    request.saved = buf_view(&kept);
    evaluate(code);
    if (outcome.saved.n == 0)
        return;
    buf_clear(&kept);
    assert_true(buf_str(&kept, buf_view(&outcome.saved)));
}

static void call_gives(const char *code, const char *json)
{
    call(code);
    assert_succeeded(code);
    assert_int_equal(outcome.unsaved.code, ERR_NONE);
    assert_true(outcome.saved.n > 0);
    if (strcmp(buf_cz(&outcome.result), json) != 0)
        fail_msg("%.300s\n  gives %.500s\n  not   %.500s", code, buf_cz(&outcome.result),
                 json);
}

/* Calls, one after the other. */
#define calls_give(all)                               \
    for (size_t row_ = 0; row_ < LENGTH(all); row_++) \
    call_gives((all)[row_].code, (all)[row_].json)

static void what_is_declared_is_there_in_the_next_call(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"let a = 1; const b = 'two'; var c = [3]; class D { d() { return 4 } }\n"
         "function f(x) { return x + a } async function g() { await null; return 6 }",
         "null"},
        {"[a, b, c, new D().d(), f(4), await g()]", "[1,\"two\",[3],4,5,6]"},
        {"a = 10; c.push(7); f(1)", "11"},
        {"const {x, y: [z]} = {x: 1, y: [2]}; let [p, ...q] = 'pqr'; x + z", "3"},
        {"[a, c, x, z, p, q]", "[10,[3,7],1,2,\"p\",[\"q\",\"r\"]]"},
        {"const m = new Map([[{}, 1]]), s = new Set([5]), d = new Date(0), r = /x(y)/g;"
         "const big = 2n ** 70n, t = new Float64Array([1.5]), w = Symbol('w'); null",
         "null"},
        {"[m.size, s.has(5), d.toISOString(), r.exec('xy')[1], big, t[0], typeof w]",
         "[1,true,\"1970-01-01T00:00:00.000Z\",\"y\",\"1180591620717411303424n\",1.5,"
         "\"symbol\"]"},
    };
    calls_give(all);
}

static void names_may_be_declared_again(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"let x = 1; const y = 1; class Z {} function f() { return 1 } var v = 1",
         "null"},
        {"let x = 2; const y = 2; class Z { z = 2 } function f() { return 2 } var v; v",
         "1"},
        {"[x, y, new Z().z, f(), v]", "[2,2,2,2,1]"},
        {"const x = 3; let y = 3; var Z = 3; let f = 3; const v = 3; [x, y, Z, f, v]",
         "[3,3,3,3,3]"},
        {"var x = 4, y = 4, v = 4; function f() { return 4 } class Z { z = 4 }\n"
         "[x, y, v, f(), new Z().z]",
         "[4,4,4,4,4]"},
        {"let v = 5; v", "5"},
        {"v", "5"},
    };
    calls_give(all);
    call("const fixed = 1");
    call("fixed = 2");
    assert_string_equal(buf_cz(&outcome.name), "TypeError");
    call_gives("fixed", "1");
    call("let twice = 1; let twice = 2");
    assert_int_equal(outcome.type, ERR_SYNTAX);
    call("let NaN = 1");
    assert_int_equal(outcome.success, false);
    call_gives("NaN", "null");
}

static void closures_keep_their_variables(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"let n = 0; function next() { return ++n }\n"
         "const own = (() => { let m = 100; return () => ++m })(); next()",
         "1"},
        {"[next(), next(), own()]", "[2,3,101]"},
        {"n = 50; [next(), own()]", "[51,102]"},
        {"const step = 10; function next() { return n += step } [next(), n]", "[61,61]"},
        {"function* count() { let i = 0; while (true) yield i++ } const it = count();"
         "it.next().value",
         "0"},
        {"[it.next().value, it.next().value]", "[1,2]"},
    };
    calls_give(all);
}

static void state_is_an_object_that_lasts(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"state", "{}"},
        {"state.list = [1]; state.get = () => state.list.length; return state.list",
         "[1]"},
        {"state.list.push(2); return state.get()", "2"},
        {"Object.keys(state)", "[\"list\",\"get\"]"},
    };
    calls_give(all);
    request.session = false;
    request.saved = (struct str){0};
    assert_result("typeof state", "\"undefined\"");
}

static void a_return_ends_the_code_and_keeps_the_names(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"const a = 1; return a + 1; const never = 1", "2"},
        {"if (a === 1) { return 'early' } 'late'", "\"early\""},
        {"if (a === 2) { return 'early' } 'late'", "\"late\""},
        {"try { return await quick.echo(1) } finally { let u = 1; a }", "[1]"},
        {"for (const i of [1, 2, 3]) if (i === 2) return {value: i}", "{\"value\":2}"},
        {"return", "null"},
        {"const last = a + 5; last * 2", "12"},
        {"last // a comment", "6"},
        {"await Promise.resolve(last)", "6"},
        {"Promise.resolve(last)", "6"},
        {"let q = 1;", "null"},
    };
    calls_give(all);
    call("never");
    assert_string_equal(buf_cz(&outcome.name), "ReferenceError");
}

static void main_is_called_where_it_was_declared_by_this_code(void **state)
{
    (void)state;
    static const struct result_row all[] = {
        {"async function main() { return 'm' + 1 }", "\"m1\""},
        {"'main is only named'", "\"main is only named\""},
        {"main()", "\"m1\""},
        {"const main = () => 'again'", "\"again\""},
        {"function main() { return 3 } return 4", "4"},
        {"let main = 5; 6", "6"},
    };
    calls_give(all);
}

static void each_call_stands_for_itself(void **state)
{
    (void)state;
    call_gives(
        "console.group(); console.log('one'); setTimeout(() => console.log('late'), 5);"
        "setInterval(() => {}, 1); globalCount = 1; 'x'.repeat(100)",
        "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"");
    assert_string_equal(buf_cz(&outcome.logs),
                        "[{\"level\":\"log\",\"message\":\"  one\"}]");
    call_gives("await sleep(20); console.log('two')", "null");
    assert_string_equal(buf_cz(&outcome.logs),
                        "[{\"level\":\"log\",\"message\":\"two\"}]");
    call_gives("await quick.echo(1)", "[1]");
    assert_int_equal(outcome.stats.host_calls, 1);
    /* A rejection of one call is not another's. */
    call("Promise.reject(new Error('aside')); 1");
    assert_string_equal(buf_cz(&outcome.message), "aside");
    call_gives("2", "2");
    call("throw new Error('own')");
    assert_int_equal(outcome.line, 1);
    assert_true(outcome.saved.n > 0);
    call_gives("3", "3");
    /* Nor is a promise that waited for a call or a timer. That a timer does not run has no
     * sign but that its time passes. */
    call_gives(
        "let seen = 0; sleep(200).then(() => seen++); const never = new Promise(() => {});"
        "await quick.echo(1); seen",
        "0");
    call_gives("await sleep(300); seen", "0");
    call("await never");
    assert_non_null(strstr(buf_cz(&outcome.message), "nothing will settle"));
    call_gives("performance.now() < 1000", "true");
}

static void places_are_those_of_the_call_they_lie_in(void **state)
{
    (void)state;
    call_gives(
        "let x = 1;\nfunction f() {\n  null.y }\nasync function g() { await null;\n  f() }",
        "null");
    call("1;\n2; f()");
    assert_int_equal(outcome.line, 2);
    assert_int_equal(outcome.column, 4);
    assert_non_null(strstr(buf_cz(&outcome.frame), "2; f()"));
    assert_non_null(strstr(buf_cz(&outcome.stack), "at f (call-1.js:3:8)\n"));
    assert_non_null(strstr(buf_cz(&outcome.stack), "(code.js:2:4)"));
    /* Nothing of this call's text is there: no place is better than a wrong one. */
    call("await g()");
    assert_int_equal(outcome.line, 0);
    assert_int_equal(outcome.frame.n, 0);
    assert_non_null(strstr(buf_cz(&outcome.stack), "at f (call-1.js:3:8)"));
    call("1;\nthrow new Error('own')");
    assert_int_equal(outcome.line, 2);
    call("1;\n}");
    assert_int_equal(outcome.type, ERR_SYNTAX);
    assert_int_equal(outcome.line, 2);
    request.trace = true;
    call_gives("const one = () => quick.echo(1);\nawait one(); await\nquick.echo(2)",
               "[2]");
    assert_int_equal(outcome.made[0].line, 1);
    call_gives("await one();\nawait quick.echo(3)", "[3]");
    assert_int_equal(outcome.made[0].line, 1); /* where this call's code made it */
    assert_int_equal(outcome.made[1].line, 2);
}

static void a_limit_leaves_the_session_as_it_was(void **state)
{
    (void)state;
    call_gives("let list = [1]; let done = 'before'", "null");
    request.compute_ms = 50;
    call("list.push(2); done = 'in'; while (true) {}");
    assert_int_equal(outcome.type, ERR_TIMEOUT);
    assert_int_equal(outcome.saved.n, 0);
    request.compute_ms = 10000;
    call_gives("[list, done]", "[[1],\"before\"]");
    request.memory_bytes = (uint64_t)16 << 20;
    call("list.push(3); const all = []; while (true) all.push(new Uint8Array(1e6))");
    assert_int_equal(outcome.type, ERR_MEMORY);
    request.memory_bytes = (uint64_t)128 << 20;
    call_gives("[list, typeof all]", "[[1],\"undefined\"]");
    struct cancel cancel;
    cancel_init(&cancel);
    request.cancel = table.cancel = &cancel;
    call("list.push(4); sync.cancel(); while (true) {}");
    assert_int_equal(outcome.type, ERR_CANCELLED);
    request.cancel = NULL;
    request.calls_max = 2;
    call("list.push(5); for (let i = 0; i < 5; i++) await quick.echo(i)");
    assert_int_equal(outcome.type, ERR_HOST_CALLS);
    request.calls_max = 100;
    call("list.push(6); (function f() { f() })()");
    assert_int_equal(outcome.type, ERR_STACK);
    /* That one was an exception in the code: what came before it stays. */
    call_gives("[list, done]", "[[1,6],\"before\"]");
}

static void the_memory_limit_counts_the_whole_session(void **state)
{
    (void)state;
    call_gives(
        "const held = []; for (let i = 0; i < 20; i++) held.push(new Uint8Array(1e6)); "
        "held.length",
        "20");
    assert_true(outcome.saved.n < (size_t)1 << 20); /* zeros cost nothing */
    request.memory_bytes = (uint64_t)16 << 20;
    struct err e = {0};
    request.code = STR("1");
    request.saved = buf_view(&kept);
    assert_false(script_run(script, &request, &outcome, &e));
    assert_int_equal(e.code, ERR_MEMORY);
    request.memory_bytes = (uint64_t)48 << 20;
    call("for (let i = 0; i < 40; i++) held.push(new Uint8Array(1e6))");
    assert_int_equal(outcome.type, ERR_MEMORY);
    call_gives("held.length", "20");
    /* What is let go of can be used again. */
    static const char *const churn =
        "held.length = 0;"
        "for (let i = 0; i < 30; i++) held.push(new Uint8Array(1e6));"
        "held.length";
    for (int i = 0; i < 5; i++)
        call_gives(churn, "30");
}

static void a_session_larger_than_may_be_kept_is_not(void **state)
{
    (void)state;
    request.saved_max = (size_t)2 << 20;
    call_gives("let n = 1", "null");
    call(
        "n = 2; const noise = new Uint8Array(4 << 20).map(() => Math.random() * 256); 'done'");
    assert_succeeded("noise");
    assert_string_equal(buf_cz(&outcome.result), "\"done\"");
    assert_int_equal(outcome.saved.n, 0);
    assert_int_equal(outcome.unsaved.code, ERR_LIMIT);
    call_gives("n", "1");
}

static void two_that_go_on_from_one_point_never_agree(void **state)
{
    (void)state;
    call_gives(
        "function id() { return [Math.random(), crypto.randomUUID(), "
        "Array.from(crypto.getRandomValues(new Uint8Array(8))).join()] } id().length",
        "3");
    scoped_buf struct buf first;
    buf_init(&first, 4096);
    request.saved = buf_view(&kept);
    evaluate("id()");
    buf_str(&first, buf_view(&outcome.result));
    request.saved = buf_view(&kept);
    evaluate("id()");
    scoped(arena_free) struct arena *a = arena_new(1 << 20);
    struct err e = {0};
    const struct json *one = json_read(buf_view(&first), a, &e);
    const struct json *two = json_read(buf_view(&outcome.result), a, &e);
    for (size_t i = 0; i < 3; i++)
        assert_false(json_equal(json_at(one, i), json_at(two, i)));
}

static void context_and_optional_rows_are_each_calls_own(void **state)
{
    (void)state;
    request.context = STR("{\"given\": 1, \"other\": [2]}");
    call_gives("let own = given; [given, other, context.given]", "[1,[2],1]");
    request.context = STR("{\"given\": 5, \"own\": 6}");
    call_gives("[given, own, context]", "[5,6,{\"given\":5,\"own\":6}]");
    request.context = (struct str){0};
    request.features = FEATURE_EXTRA | FEATURE_BEAM;
    call_gives(
        "const far = beam, deep = extra.echo, more = quick.extra; await extra.echo(1)",
        "[1]");
    request.features = 0;
    call_gives("[typeof beam, typeof extra, typeof quick.extra, typeof quick.echo]",
               "[\"undefined\",\"undefined\",\"undefined\",\"function\"]");
    static const char *const held[] = {"await far(1)", "await deep(1)", "await more(1)"};
    for (size_t i = 0; i < LENGTH(held); i++) {
        call(held[i]);
        assert_int_equal(outcome.type, ERR_DENIED);
        assert_non_null(strstr(buf_cz(&outcome.message), "not enabled in this call"));
    }
    request.features = FEATURE_EXTRA;
    call_gives("await Promise.all([deep(1), extra.echo(2), quick.extra(3)])",
               "[[1],[2],[3]]");
}

static void what_can_not_have_been_saved_is_refused(void **state)
{
    (void)state;
    call_gives("let x = {a: 'some text'}; x", "{\"a\":\"some text\"}");
    struct err e = {0};
    request.code = STR("x");
    size_t n = kept.n;
    /* Cut anywhere, or with one byte more. */
    for (size_t cut = 1; cut < n; cut += cut < 200 ? 1 : n / 100) {
        e = (struct err){0};
        request.saved = (struct str){kept.at, cut};
        assert_false(script_run(script, &request, &outcome, &e));
        assert_int_equal(e.code, ERR_CONFLICT);
    }
    buf_char(&kept, 'x');
    request.saved = buf_view(&kept);
    e = (struct err){0};
    assert_false(script_run(script, &request, &outcome, &e));
    assert_int_equal(e.code, ERR_CONFLICT);
    kept.n = n;
    /* Of another build. */
    kept.at[20] = (char)(kept.at[20] ^ 1);
    request.saved = buf_view(&kept);
    e = (struct err){0};
    assert_false(script_run(script, &request, &outcome, &e));
    assert_int_equal(e.code, ERR_CONFLICT);
    kept.at[20] = (char)(kept.at[20] ^ 1);
    call_gives("x.a", "\"some text\"");
}

/* Whatever stands in a damaged file: the guest may go wrong, the host does not. */
static void damage_harms_nobody_else(void **state)
{
    (void)state;
    call_gives(
        "let list = Array.from({length: 200}, (_, i) => ({i, t: 't' + i})); list.length",
        "200");
    scoped_buf struct buf whole;
    buf_init(&whole, (size_t)64 << 20);
    buf_str(&whole, buf_view(&kept));
    request.compute_ms = 200;
    request.total_ms = 2000;
    request.code =
        STR("list.map((x) => x.t).join(); state.a = {}; await quick.echo(list)");
    uint64_t seed = 1;
    for (int i = 0; i < 300; i++) {
        buf_clear(&kept);
        buf_str(&kept, buf_view(&whole));
        for (int k = 0; k < 20; k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            kept.at[48 + (seed >> 33) % (kept.n - 48)] ^= (char)(seed >> 25);
        }
        struct err e = {0};
        script_outcome_done(&outcome);
        script_outcome_init(&outcome);
        request.saved = buf_view(&kept);
        (void)script_run(script, &request, &outcome, &e);
    }
    request.session = false;
    request.saved = (struct str){0};
    assert_result("1 + 1", "2");
}

static void a_hundred_calls_do_not_swell_it(void **state)
{
    (void)state;
    call_gives("const seen = new Map(); let turn = 0; 0", "0");
    for (int i = 0; i < 20; i++)
        call(
            "seen.set(turn++, 1); const rows = await Promise.all(Array.from({length: 50}, (_, i) "
            "=> quick.echo({i}))); sync.echo(1); await sleep(0); rows.length");
    size_t after = outcome.saved.n;
    for (int i = 0; i < 100; i++)
        call(
            "seen.set(turn++, 1); const rows = await Promise.all(Array.from({length: 50}, (_, i) "
            "=> quick.echo({i}))); sync.echo(1); await sleep(0); rows.length");
    assert_in_range(outcome.saved.n, after / 2, after + after / 2);
    call_gives("seen.size", "120");
}

static int open_small(void **state)
{
    (void)state;
    return open_script_with(ENGINE_MEMORY_SMALL);
}

static int open_pool(void **state)
{
    (void)state;
    return open_script_with(ENGINE_MEMORY_POOL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        session_test(what_is_declared_is_there_in_the_next_call),
        session_test(names_may_be_declared_again),
        session_test(closures_keep_their_variables),
        session_test(state_is_an_object_that_lasts),
        session_test(a_return_ends_the_code_and_keeps_the_names),
        session_test(main_is_called_where_it_was_declared_by_this_code),
        session_test(each_call_stands_for_itself),
        session_test(places_are_those_of_the_call_they_lie_in),
        session_test(a_limit_leaves_the_session_as_it_was),
        session_test(the_memory_limit_counts_the_whole_session),
        session_test(a_session_larger_than_may_be_kept_is_not),
        session_test(two_that_go_on_from_one_point_never_agree),
        session_test(context_and_optional_rows_are_each_calls_own),
        session_test(what_can_not_have_been_saved_is_refused),
        session_test(damage_harms_nobody_else),
        session_test(a_hundred_calls_do_not_swell_it),
    };
    const struct CMUnitTest fallback[] = {
        session_test(what_is_declared_is_there_in_the_next_call),
        session_test(closures_keep_their_variables),
        session_test(the_memory_limit_counts_the_whole_session),
    };
    int failed = cmocka_run_group_tests(tests, open_script, close_script);
    failed += cmocka_run_group_tests_name("in wasmtime's pool", fallback, open_pool,
                                          close_script);
    failed += cmocka_run_group_tests_name("in small memories", fallback, open_small,
                                          close_script);
    buf_done(&kept);
    return failed;
}
