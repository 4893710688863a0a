/* Usage of functions: recorded in the background, counted by any number of processes,
 * reported with statistics. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/home_test.h"
#include "os/os.h"
#include "usage/inner.h"
#include "usage/shape.h"

static char folder[HOME_SIZE];

static void write_file(const char *name, const char *text)
{
    struct err e = {0};
    scoped_fd int dir = os_dir_open(folder, &e);
    assert_true(os_write_file(dir, name, str_of(text), OS_REPLACE, 0600, NULL, &e));
}

static const struct usage_function alpha = {
    .id = STR("fn-a"),
    .name = STR("alpha"),
    .code = STR("function alpha(x) {\n  return 1;\n\n}\n"),
    .version = 1,
    .made_ms = 1600000000000};
static const struct usage_function beta = {
    .id = STR("fn-b"),
    .name = STR("beta"),
    .code = STR("function beta(x) { // the same\n  return 1; }"),
    .version = 1,
    .made_ms = 1600000000000};

static int make_folder(void **state)
{
    (void)state;
    char own[96];
    if (!folder_make(folder))
        return -1;
    (void)snprintf(own, sizeof own, "%s/.cloche", folder);
    if (mkdir(own, 0700) != 0)
        return -1;
    write_file(".cloche/custom-functions.json", "{\"functions\": []}");
    return 0;
}

static int drop_folder(void **state)
{
    (void)state;
    return folder_remove(folder);
}

static int open_folder(void)
{
    struct err e = {0};
    int dir = os_dir_open(folder, &e);
    assert_true(dir >= 0);
    return dir;
}

static struct usage *open_usage(void)
{
    scoped_fd int dir = open_folder();
    return usage_open(dir);
}

/* `calls` calls of it by one evaluation, each of `ms`, `failed` of them with a
 * TypeError. */
static void use(struct usage *u, const struct usage_function *of, uint32_t calls,
                uint32_t failed, double ms, const char *session)
{
    double times[64];
    for (size_t i = 0; i < LENGTH(times); i++)
        times[i] = ms;
    struct usage_failure failure = {STR("TypeError"), failed};
    struct usage_use one = {.of = of,
                            .calls = calls,
                            .failed = failed,
                            .failures = &failure,
                            .failure_count = failed > 0,
                            .ms = ms * calls,
                            .times_ms = times,
                            .time_count = calls < LENGTH(times) ? calls : LENGTH(times),
                            .load_ms = 0.5};
    struct usage_evaluation v = {.caller = STR("stdio"),
                                 .session = str_of(session),
                                 .at_ms = os_real_ms(),
                                 .uses = &one,
                                 .use_count = 1};
    usage_note(u, &v);
}

static uint64_t count_of(struct usage *u, const char *id)
{
    scoped(usage_counts_free) struct usage_counts *c = usage_count_all(u);
    return usage_count_of(c, str_of(id)).calls;
}

/* Of one, or of both. */
static const struct json *stats(struct usage *u, const struct usage_function *one,
                                struct arena *a)
{
    struct err e = {0};
    const struct usage_function both[] = {alpha, beta};
    scoped_buf struct buf text;
    buf_init(&text, (size_t)8 << 20);
    struct json_writer w = json_writer(&text);
    if (!(one ? usage_stats_of(u, one, &w, &e) : usage_stats(u, both, 2, &w, &e)))
        fail_msg("%s", e.msg);
    const struct json *v = json_read(buf_view(&text), a, &e);
    if (!v)
        fail_msg("%s", e.msg);
    return v;
}

static const struct json *metric(const struct json *all, const char *name)
{
    const struct json *m = json_get(json_get(all, "metrics"), name);
    assert_true(json_is(m, JSON_OBJECT));
    assert_true(json_str(json_get(m, "formula")).n > 0);
    return m;
}

static bool suggested(const struct json *all, const char *kind, const char *function)
{
    struct json_iter it = json_iter(json_get(all, "suggestions"));
    while (json_next(&it))
        if (str_is(json_str(json_get(it.value, "kind")), kind) &&
            str_is(json_str(json_get(it.value, "function")), function))
            return json_length(json_get(it.value, "figures")) > 0;
    return false;
}

/* ---- durations ----------------------------------------------------------- */

static void a_duration_is_told_within_a_tenth(void **state)
{
    (void)state;
    for (double ms = 0.0012; ms < 3e6; ms *= 1.07) {
        double told = usage_bucket_ms(usage_bucket(ms));
        assert_true(told > ms * (1 - USAGE_ERROR) && told < ms * (1 + USAGE_ERROR));
    }
    assert_int_equal(usage_bucket(-1), 0);
    assert_int_equal(usage_bucket(1e300), USAGE_BUCKETS - 1);
}

static void quantiles_are_those_of_the_calls(void **state)
{
    (void)state;
    uint64_t counts[USAGE_BUCKETS] = {0};
    assert_true(usage_quantile(counts, 0.5) == 0);
    counts[usage_bucket(1)] = 94;
    counts[usage_bucket(100)] = 6;
    assert_float_equal(usage_quantile(counts, 0.5), 1, 0.1);
    assert_float_equal(usage_quantile(counts, 0.95), 100, 10);
}

/* ---- counting -------------------------------------------------------------- */

static void what_was_used_is_counted_at_once_and_after_reopening(void **state)
{
    (void)state;
    struct usage *u = open_usage();
    assert_int_equal(count_of(u, "fn-a"), 0);
    use(u, &alpha, 3, 1, 2.0, "s");
    use(u, &alpha, 1, 0, 2.0, "s");
    assert_int_equal(count_of(u, "fn-a"), 4);
    use(u, &beta, 2, 0, 2.0, "s");
    usage_close(u);
    u = open_usage();
    assert_int_equal(count_of(u, "fn-a"), 4);
    assert_int_equal(count_of(u, "fn-b"), 2);
    assert_int_equal(count_of(u, "fn-c"), 0);
    usage_close(u);
}

static void processes_that_use_one_function_lose_no_call(void **state)
{
    (void)state;
    pid_t pids[3];
    for (size_t i = 0; i < LENGTH(pids); i++) {
        pids[i] = fork();
        if (pids[i])
            continue;
        struct usage *u = open_usage();
        for (unsigned n = 0; n < 500; n++)
            use(u, &alpha, 2, 0, 0.1, "s");
        usage_close(u);
        _exit(0);
    }
    for (size_t i = 0; i < LENGTH(pids); i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    struct usage *u = open_usage();
    assert_int_equal(count_of(u, "fn-a"), 3000);
    usage_close(u);
}

static void a_vault_that_cannot_be_written_keeps_nothing_and_fails_nothing(void **state)
{
    (void)state;
    char own[96];
    (void)snprintf(own, sizeof own, "%s/.cloche", folder);
    /* Root may write everywhere: for it a file is put in place of the database. */
    (void)snprintf(own, sizeof own, "%s/.cloche/functions-usage.db", folder);
    assert_int_equal(mkdir(own, 0700), 0);
    struct usage *u = open_usage();
    use(u, &alpha, 3, 0, 1, "s");
    assert_int_equal(count_of(u, "fn-a"), 0);
    scoped(arena_free) struct arena *a = arena_new((size_t)8 << 20);
    assert_int_equal(json_length(json_get(stats(u, NULL, a), "functions")), 2);
    usage_close(u);
}

static void who_holds_the_lock_for_long_delays_the_counting_alone(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_fd int vault = open_folder();
    struct db *d = usage_open_writer(vault, &e);
    struct usage *u = open_usage();
    {
        scoped_transaction struct transaction t = {0};
        assert_true(db_begin(&t, d, &e));
        for (unsigned i = 0; i < 10; i++)
            use(u, &alpha, 1, 0, 1, "s");
        assert_int_equal(count_of(u, "fn-a"), 0);
    }
    usage_close(u);
    u = open_usage();
    assert_int_equal(count_of(u, "fn-a"), 10);
    usage_close(u);
    db_close(d);
}

static void more_than_can_wait_is_dropped(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_fd int vault = open_folder();
    struct db *d = usage_open_writer(vault, &e);
    struct usage *u = open_usage();
    {
        scoped_transaction struct transaction t = {0};
        assert_true(db_begin(&t, d, &e));
        for (unsigned i = 0; i < 3 * 4096; i++)
            use(u, &alpha, 1, 0, 1, "s");
    }
    usage_close(u);
    u = open_usage();
    assert_in_range(count_of(u, "fn-a"), 1, 2 * 4096);
    usage_close(u);
    db_close(d);
}

static void a_damaged_database_begins_anew(void **state)
{
    (void)state;
    write_file(".cloche/functions-usage.db",
               "this is no database, and never was one "
               "however long it may be: more than 100 bytes "
               "of it are here to be looked at by SQLite.");
    struct usage *u = open_usage();
    use(u, &alpha, 3, 0, 1, "s");
    assert_int_equal(count_of(u, "fn-a"), 3);
    usage_close(u);
}

static void tables_of_another_make_begin_anew(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_fd int vault = open_folder();
    struct db *d = usage_open_writer(vault, &e);
    assert_true(db_exec(d, "DROP TABLE usage; CREATE TABLE usage(x)", &e));
    db_close(d);
    struct usage *u = open_usage();
    use(u, &alpha, 3, 0, 1, "s");
    assert_int_equal(count_of(u, "fn-a"), 3);
    usage_close(u);
}

static void a_session_counts_where_there_is_no_function_yet(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_fd int vault = open_folder();
    assert_true(os_remove_file(vault, ".cloche/custom-functions.json", &e));
    struct usage *u = open_usage();
    struct usage_evaluation v = {.caller = STR("stdio"), .at_ms = os_real_ms()};
    usage_note(u, &v);
    usage_note(u, &v);
    usage_close(u);
    struct usage_totals totals;
    scoped(db_close) struct db *d = usage_open_writer(vault, &e);
    assert_true(d && usage_totals(d, os_real_ms(), &totals, &e));
    assert_int_equal(totals.month_sessions, 1);
    assert_int_equal(totals.month_calls, 0);
}

static void a_trial_is_a_run_and_no_call(void **state)
{
    (void)state;
    scoped(arena_free) struct arena *a = arena_new((size_t)8 << 20);
    struct usage *u = open_usage();
    struct usage_use one = {.of = &alpha, .calls = 1, .ms = 1};
    struct usage_evaluation v = {.caller = STR("stdio"),
                                 .at_ms = os_real_ms(),
                                 .uses = &one,
                                 .use_count = 1,
                                 .is_trial = true};
    for (unsigned i = 0; i < USAGE_RUNS + 5; i++)
        usage_note(u, &v);
    use(u, &alpha, 4, 1, 10, "s");
    const struct json *told = stats(u, &alpha, a), *runs = json_get(told, "runs");
    assert_int_equal(json_int(json_get(told, "calls"), 0), 4);
    assert_int_equal(json_length(runs), USAGE_RUNS + 1);
    assert_null(json_get(json_at(runs, 0), "trial"));
    assert_true(json_bool(json_get(json_at(runs, 1), "trial"), false));
    const struct json *day = json_at(json_get(told, "days"), 0);
    assert_int_equal(json_int(json_get(day, "calls"), 0), 4);
    assert_int_equal(json_int(json_get(day, "failed"), 0), 1);
    usage_close(u);
}

/* ---- figures --------------------------------------------------------------- */

static void the_statistics_of_one_tell_of_versions_errors_and_runs(void **state)
{
    (void)state;
    scoped(arena_free) struct arena *a = arena_new((size_t)8 << 20);
    struct usage *u = open_usage();
    for (unsigned i = 0; i < USAGE_RUNS + 5; i++)
        use(u, &alpha, 4, 1, 10, "s");
    const struct json *one = stats(u, &alpha, a);
    assert_int_equal(json_int(json_get(one, "calls"), 0), 100);
    assert_int_equal(json_int(json_get(one, "failed"), 0), 25);
    assert_float_equal(json_number(json_get(one, "successRate"), 0), 0.75, 1e-9);
    const struct json *ms = json_get(one, "durations");
    assert_float_equal(json_number(json_get(ms, "p50"), 0), 10, 1);
    assert_float_equal(json_number(json_get(ms, "mean"), 0), 10, 1e-6);
    const struct json *kind = json_at(json_get(one, "errors"), 0);
    assert_true(str_is(json_str(json_get(kind, "kind")), "TypeError"));
    assert_int_equal(json_int(json_get(kind, "count"), 0), 25);
    assert_int_equal(json_length(json_get(one, "versions")), 1);
    assert_int_equal(json_length(json_get(one, "runs")), USAGE_RUNS);
    assert_true(suggested(one, "failing", "alpha"));
    usage_close(u);
}

static void kinds_of_errors_are_names_and_few(void **state)
{
    (void)state;
    scoped(arena_free) struct arena *a = arena_new((size_t)8 << 20);
    struct usage *u = open_usage();
    for (unsigned i = 0; i < 100; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, i % 2 ? "Kind%u" : "my secret is %u", i);
        struct usage_failure failure = {str_of(text), 1};
        struct usage_use one = {.of = &alpha,
                                .calls = 1,
                                .failed = 1,
                                .failures = &failure,
                                .failure_count = 1};
        struct usage_evaluation v = {
            .caller = STR("x"), .at_ms = os_real_ms(), .uses = &one, .use_count = 1};
        usage_note(u, &v);
    }
    const struct json *errors = json_get(stats(u, &alpha, a), "errors");
    assert_in_range(json_length(errors), 2, USAGE_KINDS + 1);
    assert_true(str_is(json_str(json_get(json_at(errors, 0), "kind")), "other"));
    assert_true(json_int(json_get(json_at(errors, 0), "count"), 0) >= 50);
    usage_close(u);
}

static void the_seeds_metrics_follow_from_what_was_noted(void **state)
{
    (void)state;
    scoped(arena_free) struct arena *a = arena_new((size_t)8 << 20);
    struct usage *u = open_usage();
    struct usage_evaluation none = {
        .caller = STR("stdio"), .session = STR("other"), .at_ms = os_real_ms()};
    use(u, &alpha, 2, 0, 10, "one"); /* three lines: two were not written */
    usage_note(u, &none);
    usage_tried(u, USAGE_KEPT, 100);
    usage_tried(u, USAGE_MISTYPED, 50);
    const struct json *all = stats(u, NULL, a);
    assert_float_equal(
        json_number(json_get(metric(all, "functionReuseRate"), "value"), 0), 0.5, 1e-9);
    assert_float_equal(json_number(json_get(metric(all, "codeReduction"), "value"), 0), 1,
                       1e-9);
    assert_float_equal(
        json_number(json_get(metric(all, "responseTimeImprovement"), "value"), 0), 0.995,
        1e-9);
    assert_int_equal(json_int(json_get(metric(all, "functionCreationRate"), "value"), -1),
                     0);
    assert_float_equal(
        json_number(json_get(metric(all, "functionUsageFrequency"), "value"), 0), 1,
        1e-9);
    assert_float_equal(
        json_number(json_get(metric(all, "functionExecutionTime"), "value"), 0), 1.025,
        1e-9);
    assert_float_equal(json_number(json_get(metric(all, "errorRates"), "compilation"), 0),
                       0.5, 1e-9);
    assert_true(json_number(json_get(metric(all, "storageEfficiency"), "value"), 0) > 0);
    assert_true(json_is(json_get(metric(all, "uiEngagement"), "value"), JSON_NULL));
    assert_true(suggested(all, "never used", "beta"));
    assert_true(suggested(all, "same code", "beta"));
    usage_close(u);
}

static void versions_beyond_the_newest_are_kept_together(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(arena_free) struct arena *a = arena_new((size_t)8 << 20);
    scoped_fd int vault = open_folder();
    struct db *d = usage_open_writer(vault, &e);
    assert_non_null(d);
    struct deed deed = {.what = DEED_USE, .id = "fn-a", .session = 1, .calls = 2};
    for (unsigned i = 1; i <= 2 * USAGE_VERSIONS; i++) {
        deed.version = i;
        deed.times[i % USAGE_BUCKETS] = 2;
        (void)snprintf(deed.kinds[0].kind, USAGE_KIND, "Kind%u", i);
        deed.kinds[0].count = 1;
        deed.at_ms = os_real_ms();
        assert_true(usage_write(d, &deed, &e));
        memset(deed.times, 0, sizeof deed.times);
    }
    assert_true(usage_prune(d, os_real_ms(), &e));
    assert_true(usage_prune(d, os_real_ms(), &e));
    struct usage_detail x;
    assert_true(usage_detail(d, STR("fn-a"), os_real_ms(), USAGE_VERSIONS, a, &x, &e));
    assert_int_equal(x.all.calls, 4 * USAGE_VERSIONS);
    assert_int_equal(x.version_count, USAGE_VERSIONS);
    assert_int_equal(x.versions[0].version, 2 * USAGE_VERSIONS);
    assert_int_equal(x.versions[x.version_count - 1].version, 0);
    assert_in_range(x.all.kind_count, 1, USAGE_KINDS + 1);
    uint64_t timed = 0;
    for (size_t i = 0; i < USAGE_BUCKETS; i++)
        timed += x.all.times[i];
    assert_int_equal(timed, 4 * USAGE_VERSIONS);
    db_close(d);
}

static void what_is_old_is_dropped(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_fd int vault = open_folder();
    struct db *d = usage_open_writer(vault, &e);
    struct deed deed = {
        .what = DEED_USE, .id = "fn-a", .version = 1, .session = 1, .calls = 1};
    int64_t now = os_real_ms();
    deed.at_ms = now - 100 * USAGE_DAY_MS;
    assert_true(usage_write(d, &deed, &e));
    struct usage_totals t;
    assert_true(usage_prune(d, now, &e) && usage_totals(d, now, &t, &e));
    assert_int_equal(t.calls, 1);
    assert_int_equal(t.month_calls, 0);
    scoped(query_end) struct query *q = db_query(
        d, "SELECT (SELECT count(*) FROM days) + (SELECT count(*) FROM sessions)", &e);
    assert_true(query_next(q, &e));
    assert_int_equal(query_int(q, 0), 0);
    query_end(take(q));
    db_close(d);
}

static void a_version_that_became_slower_is_told(void **state)
{
    (void)state;
    scoped(arena_free) struct arena *a = arena_new((size_t)8 << 20);
    struct usage *u = open_usage();
    struct usage_function second = alpha;
    second.version = 2;
    use(u, &alpha, 20, 0, 10, "s");
    assert_false(suggested(stats(u, &alpha, a), "slower", "alpha"));
    use(u, &second, 20, 0, 2000, "s");
    const struct json *one = stats(u, &second, a);
    assert_true(suggested(one, "slower", "alpha"));
    assert_true(suggested(one, "slow", "alpha"));
    assert_int_equal(json_length(json_get(one, "versions")), 2);
    usage_close(u);
}

/* ---- shapes ---------------------------------------------------------------- */

static uint64_t shape(const char *code)
{
    struct code_shape s;
    code_shape(str_of(code), &s);
    return s.hash;
}

static void names_and_literals_do_not_make_a_shape(void **state)
{
    (void)state;
    uint64_t one = shape("const n = await notes.get('a');\nreturn n.title + 1;");
    assert_true(one == shape("// first\nconst x = await notes.get( \"bc\" );\n"
                             "return x.title + 27;"));
    assert_true(one != shape("const n = await notes.get('a');\nreturn n.path + 1;"));
    assert_true(one != shape("const n = await notes.list('a');\nreturn n.title + 1;"));
    assert_true(shape("f(a, b)") != shape("f(a)"));
    assert_true(shape("x = /a'b/; y") == shape("x = /c\"[/]d/g; y"));
    assert_true(shape("a / b / c") != shape("x = /b/"));
}

static void literals_are_told_with_their_lines(void **state)
{
    (void)state;
    struct code_shape s;
    code_shape(STR("const a = 'x';\n\nf(a, `t${1 + '}'}u`, 12.5e3);"), &s);
    assert_int_equal(s.literal_count, 3);
    assert_int_equal(s.lines, 2);
    assert_true(str_is(s.literals[0].text, "'x'"));
    assert_int_equal(s.literals[2].line, 3);
    assert_true(str_is(s.literals[2].text, "12.5e3"));
}

static void a_shape_of_any_bytes_ends(void **state)
{
    (void)state;
    static const char bytes[] = "/'\"`${}*\\\n a1[]:?.";
    struct code_shape s;
    char text[41];
    uint32_t seed = 1;
    for (unsigned round = 0; round < 20000; round++) {
        size_t n = round % 40;
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1664525 + 1013904223;
            text[i] = bytes[(seed >> 16) % (sizeof bytes - 1)];
        }
        code_shape((struct str){text, n}, &s);
        assert_true(s.literal_count <= LENGTH(s.literals));
    }
}

static void functions_in_code_are_found(void **state)
{
    (void)state;
    struct str parts[4];
    struct str code = STR("const a = 1;\nasync function f(x) {\n  return x;\n}\n"
                          "const g = (y) => {\n  return y;\n};\nreturn f(g(a));");
    assert_int_equal(code_functions(code, parts, 4), 2);
    assert_true(str_starts(parts[0], "async function f") && str_ends(parts[0], "\n}"));
    assert_true(str_starts(parts[1], "const g"));
    assert_int_equal(code_functions(code, parts, 1), 1);
    assert_int_equal(code_functions(STR("function f() {"), parts, 4), 0);
}

/* ---- code that comes again ---------------------------------------------------- */

#define BODY(name, id)                                            \
    "const " name " = await notes.get('" id "');\n"               \
    "const lines = " name ".content.split('\\n');\n"              \
    "const tasks = lines.filter((l) => l.startsWith('- [ ]'));\n" \
    "const open = tasks.map((t) => t.slice(6));\n"                \
    "return { open, count: open.length };\n"

static bool looked(struct repeats *r, const char *conversation, const char *code,
                   struct buf *hint)
{
    buf_clear(hint);
    return repeats_look(r, str_of(conversation), str_of(code), hint);
}

static void the_third_time_says_it_once_with_what_differed(void **state)
{
    (void)state;
    scoped_buf struct buf hint;
    buf_init(&hint, 4096);
    struct repeats *r = repeats_new();
    assert_false(looked(r, "a", BODY("n", "note/one"), &hint));
    assert_false(looked(r, "a", BODY("page", "note/two"), &hint));
    assert_false(looked(r, "b", BODY("n", "note/one"), &hint));
    assert_true(looked(r, "a", BODY("x", "note/three"), &hint));
    assert_non_null(strstr(buf_cz(&hint), "register_custom_function"));
    assert_non_null(strstr(buf_cz(&hint), "'note/one' (line 1)."));
    assert_null(strstr(buf_cz(&hint), "- [ ]"));
    assert_false(looked(r, "a", BODY("y", "note/four"), &hint));
    repeats_free(r);
}

static void a_function_that_is_sent_again_is_named(void **state)
{
    (void)state;
    scoped_buf struct buf hint;
    buf_init(&hint, 4096);
    struct repeats *r = repeats_new();
    static const char *const ends[] = {"return f();", "await f();\nreturn [f(), 2];",
                                       "const a = [f()];\nreturn a.length + 17 * 3;"};
    for (size_t i = 0; i < LENGTH(ends); i++) {
        char code[1024];
        (void)snprintf(code, sizeof code, "async function f() {\n%s}\n%s",
                       BODY("n", "note/one"), ends[i]);
        assert_int_equal(looked(r, "a", code, &hint), i == 2);
    }
    assert_non_null(strstr(buf_cz(&hint), "`async function f() {`"));
    repeats_free(r);
}

static void short_code_and_many_patterns_say_nothing(void **state)
{
    (void)state;
    scoped_buf struct buf hint;
    buf_init(&hint, 4096);
    struct repeats *r = repeats_new();
    for (unsigned i = 0; i < 10; i++)
        assert_false(looked(r, "a", "const n = 1;\nreturn await notes.get('a');", &hint));
    for (unsigned i = 0; i < 400; i++) {
        char code[4096];
        size_t n = 0;
        for (unsigned k = 0; k < 6 + i % 200; k++)
            n += (size_t)snprintf(code + n, sizeof code - n, "f%u(1);\n", k);
        assert_false(looked(r, "a", code, &hint));
    }
    repeats_free(r);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_duration_is_told_within_a_tenth),
        cmocka_unit_test(quantiles_are_those_of_the_calls),
        WITH_FOLDER(what_was_used_is_counted_at_once_and_after_reopening),
        WITH_FOLDER(processes_that_use_one_function_lose_no_call),
        WITH_FOLDER(a_vault_that_cannot_be_written_keeps_nothing_and_fails_nothing),
        WITH_FOLDER(who_holds_the_lock_for_long_delays_the_counting_alone),
        WITH_FOLDER(more_than_can_wait_is_dropped),
        WITH_FOLDER(a_damaged_database_begins_anew),
        WITH_FOLDER(tables_of_another_make_begin_anew),
        WITH_FOLDER(a_session_counts_where_there_is_no_function_yet),
        WITH_FOLDER(a_trial_is_a_run_and_no_call),
        WITH_FOLDER(the_statistics_of_one_tell_of_versions_errors_and_runs),
        WITH_FOLDER(kinds_of_errors_are_names_and_few),
        WITH_FOLDER(the_seeds_metrics_follow_from_what_was_noted),
        WITH_FOLDER(versions_beyond_the_newest_are_kept_together),
        WITH_FOLDER(what_is_old_is_dropped),
        WITH_FOLDER(a_version_that_became_slower_is_told),
        cmocka_unit_test(names_and_literals_do_not_make_a_shape),
        cmocka_unit_test(literals_are_told_with_their_lines),
        cmocka_unit_test(a_shape_of_any_bytes_ends),
        cmocka_unit_test(functions_in_code_are_found),
        cmocka_unit_test(the_third_time_says_it_once_with_what_differed),
        cmocka_unit_test(a_function_that_is_sent_again_is_named),
        cmocka_unit_test(short_code_and_many_patterns_say_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
