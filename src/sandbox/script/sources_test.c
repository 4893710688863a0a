/* Sources that are loaded while an evaluation runs: positions, and counts of calls. */
#include "script/fixture_test.h"

#define F "const f = later(1, 'deep.f@1', "
#define LOOK F "'\\n\\nfunction look(a) {\\n  return a.b.c;\\n}\\nreturn look');\n"

static void two_lines_up(void *arg, uint32_t *line, uint32_t *column)
{
    (void)arg;
    (void)column;
    *line = *line > 2 ? *line - 2 : 0;
}

static const struct script_origin deep = {
    .source = STR("function look(a) {\n  return a.b.c;\n}"),
    .file = "deep.f",
    .made = "deep.f@1",
    .place = two_lines_up,
};

static void a_failure_inside_has_both_places(void **state)
{
    (void)state;
    assert_fails(LOOK "f({b: 1});\n  f({});", ERR_GUEST, "TypeError", "undefined");
    assert_int_equal(outcome.line, 3);
    assert_string_equal(outcome.within.file, "deep.f@1");
    assert_int_equal(outcome.within.line, 4);
    assert_int_equal(outcome.within.column, 14);
    script_outcome_origin(&outcome, NULL, &deep, 1);
    assert_int_equal(outcome.line, 3);
    assert_int_equal(outcome.within.line, 2);
    assert_non_null(strstr(buf_cz(&outcome.within.frame), ">    2 |   return a.b.c;"));
    assert_string_equal(buf_cz(&outcome.stack),
                        "    at look (deep.f:2:14)\n    at (code.js:3:3)");
}

static void the_stack_goes_on_where_a_promise_was_asked_for(void **state)
{
    (void)state;
    assert_fails(F "'async function f() {\\n  await 0;\\n  throw new Error(\"e\");\\n}\\n"
                   "return f');\nawait null;\nawait f();",
                 ERR_GUEST, "Error", "e");
    assert_int_equal(outcome.within.line, 3);
    assert_int_equal(outcome.line, 3);
    assert_non_null(strstr(buf_cz(&outcome.stack), "at f (deep.f@1:3:"));
    assert_non_null(strstr(buf_cz(&outcome.stack), "(code.js:3:"));
    /* A frozen error keeps its own. */
    assert_fails(F "'async function f() {\\n  await 0;\\n  throw Object.freeze(new "
                   "Error(\"e\"));\\n}\\nreturn f');\nawait f();",
                 ERR_GUEST, "Error", "e");
}

static void columns_count_characters(void **state)
{
    (void)state;
    assert_fails(F "'const a = \"\u00e4\u00f6\u00fc\"; return () => { null.x }');\nf()",
                 ERR_GUEST, "TypeError", "null");
    assert_int_equal(outcome.within.line, 1);
    assert_int_equal(outcome.within.column, 38);
}

static struct str text_of_f(void *arg, struct str file)
{
    (void)arg;
    return str_is(file, "deep.f@1") ? STR("function f() {\n  quick.eco(1);\n}\nreturn f")
                                    : (struct str){0};
}

static void what_is_not_there_is_named_in_it(void **state)
{
    (void)state;
    static const char code[] =
        F "'function f() {\\n  quick.eco(1);\\n}\\nreturn f');\nsync.echo(f())";
    request.source = text_of_f;
    assert_fails(code, ERR_GUEST, "TypeError", "quick.eco is not a function");
    assert_string_equal(buf_cz(&outcome.missing), "quick.eco");
    request.source = NULL;
    assert_fails(code, ERR_GUEST, "TypeError", "not a function");
    assert_int_equal(outcome.missing.n, 0);
}

static void it_is_strict_and_has_no_this(void **state)
{
    (void)state;
    assert_result(F "'return function () { return this === undefined }');\nf()", "true");
    assert_fails(F "'return () => { leaked = 1 }');\nf()", ERR_GUEST, "ReferenceError",
                 "leaked");
}

static void what_does_not_parse_is_an_error_like_others(void **state)
{
    (void)state;
    assert_result("try { later(1, 'x@1', 'return ('); } catch (e) { e.name }",
                  "\"SyntaxError\"");
}

/* ---- counting ------------------------------------------------------------- */

static void calls_are_counted_by_how_they_ended(void **state)
{
    (void)state;
    evaluate(
        F "'return (x) => { if (x) throw x; }');\n"
          "const g = later(3, 'g', 'return async () => { await null; throw new "
          "RangeError(\"r\") }');\n"
          "for (const x of [0, 0, new TypeError(''), 'text', {get name() { throw 1 }}, "
          "null])\n"
          "  try { f(x) } catch {}\n"
          "await g().catch(() => 0);");
    assert_true(outcome.success);
    assert_int_equal(outcome.tally_count, 3);
    const struct script_tally *t = outcome.tallies;
    assert_int_equal(t[0].calls, 6);
    assert_int_equal(t[0].failed, 3);
    assert_int_equal(t[0].kinds[0], 2); /* of no kind */
    assert_int_equal(t[0].kinds[1], 1); /* TypeError */
    assert_int_equal(t[0].samples, 6);
    assert_int_equal(t[1].calls, 0);
    assert_int_equal(t[2].calls, 1);
    assert_int_equal(t[2].kinds[2], 1); /* RangeError */
    assert_int_equal(t[2].open, 0);
    assert_int_equal(outcome.visit_count, 0);
}

static void samples_stay_few_and_spread_over_all(void **state)
{
    (void)state;
    evaluate(F "'return () => 0');\nfor (let i = 0; i < 1000; i++) f()");
    const struct script_tally *t = outcome.tallies;
    assert_int_equal(t->calls, 1000);
    assert_int_equal(t->ended, 1000);
    assert_true(t->samples <= SCRIPT_SAMPLES && t->samples >= SCRIPT_SAMPLES / 2);
    assert_true(t->stride * t->samples >= 900);
    assert_true(t->total_ms >= t->longest_ms);
}

static void what_a_stopped_run_was_in_is_open(void **state)
{
    (void)state;
    request.compute_ms = 50;
    assert_stopped(F "'return () => { for (;;); }');\nf()", ERR_TIMEOUT);
    assert_int_equal(outcome.tally_count, 1);
    assert_int_equal(outcome.tallies[0].open, 1);
    request.compute_ms = 10000;
    assert_stopped(
        F "'const a = []; return () => { for (;;) a.push(new Array(1000).fill(1)); "
          "}');\nf()",
        ERR_MEMORY);
    assert_int_equal(outcome.tallies[0].open, 1);
}

static void calls_beyond_what_is_counted_only_run(void **state)
{
    (void)state;
    assert_result("const f = later(257, 'f', 'return (x) => x + 1');\n"
                  "const g = later(256, 'g', 'const all = []; return () => new "
                  "Promise((r) => all.push(r))');\n"
                  "for (let i = 0; i < 5000; i++) g();\n"
                  "f(1)",
                  "2");
    assert_int_equal(outcome.tally_count, 256);
    assert_int_equal(outcome.tallies[255].calls, 5000);
    assert_int_equal(outcome.tallies[255].open, 5000);
}

static void a_trace_tells_each_call_and_where_calls_were_made(void **state)
{
    (void)state;
    request.trace = true;
    evaluate(F "'return async (x) => {\\n  await quick.echo(x);\\n  if (x) throw new "
               "Error();\\n}');\n"
               "await f(0);\n"
               "await f(1).catch(() => 0);\nawait quick.echo(2)");
    assert_true(outcome.success);
    assert_int_equal(outcome.visit_count, 2);
    const struct script_visit *v = outcome.visits;
    assert_int_equal(v[0].source, 1);
    assert_int_equal(v[0].from, 0);
    assert_int_equal(v[0].line, 2);
    assert_int_equal(v[0].outcome, 1);
    assert_int_equal(v[1].line, 3);
    assert_int_equal(v[1].outcome, 2);
    assert_true(v[0].start_ns >= outcome.begun_ns && v[0].end_ns >= v[0].start_ns);
    assert_int_equal(outcome.made_count, 3);
    assert_int_equal(outcome.made[0].from, 1);
    assert_int_equal(outcome.made[0].line, 2);
    assert_int_equal(outcome.made[2].from, 0);
    assert_int_equal(outcome.made[2].line, 4);
    evaluate(F "'return () => 0');\nfor (let i = 0; i < 1100; i++) f()");
    assert_int_equal(outcome.visit_count, SCRIPT_VISITS_MAX);
    assert_int_equal(outcome.visits_dropped, 100);
}

/* ---- sessions ---------------------------------------------------------------- */

static void a_session_keeps_what_was_made_and_no_counts(void **state)
{
    (void)state;
    request.session = true;
    request.saved_max = (size_t)64 << 20;
    evaluate(F "'return () => { null.x }');\ntry { f() } catch {}; later()");
    assert_true(outcome.success);
    assert_string_equal(buf_cz(&outcome.result), "0");
    assert_int_equal(outcome.tallies[0].calls, 1);
    struct buf saved = outcome.saved;
    buf_init(&outcome.saved, 0);
    request.saved = buf_view(&saved);
    evaluate("later()");
    assert_string_equal(buf_cz(&outcome.result), "1");
    assert_int_equal(outcome.tally_count, 0);
    assert_fails("f()", ERR_GUEST, "TypeError", "null");
    assert_int_equal(outcome.tallies[0].failed, 1);
    buf_done(&saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_failure_inside_has_both_places),
        test(the_stack_goes_on_where_a_promise_was_asked_for),
        test(columns_count_characters),
        test(what_is_not_there_is_named_in_it),
        test(it_is_strict_and_has_no_this),
        test(what_does_not_parse_is_an_error_like_others),
        test(calls_are_counted_by_how_they_ended),
        test(samples_stay_few_and_spread_over_all),
        test(what_a_stopped_run_was_in_is_open),
        test(calls_beyond_what_is_counted_only_run),
        test(a_trace_tells_each_call_and_where_calls_were_made),
        test(a_session_keeps_what_was_made_and_no_counts),
    };
    return cmocka_run_group_tests(tests, open_script, close_script);
}
