/* Actions without a vault: arguments, levels, limits, and the shape of answers. */
#include <pthread.h>

#include "actions/fixture_test.h"

static int open_actions(void **state)
{
    (void)state;
    struct err e = {0};
    if (make_home() != 0)
        return -1;
    actions = actions_open(&(struct actions_options){.guest_dir = guest_of_tests()}, &e);
    return actions ? 0 : -1;
}

static const struct json *read_text(const char *text)
{
    struct err e = {0};
    const struct json *v = json_read(str_of(text), arena, &e);
    if (!v)
        fail_msg("%.200s: %s", text, e.msg);
    return v;
}

/* Calls an action that has to answer; `got` is the answer. Its shape is checked against
 * the action's schema. */
static bool answers(const char *name, const char *arguments)
{
    struct err e = {0};
    struct answer out = {0};
    buf_init(&out.json, 64 << 20);
    const struct action *action = action_named(actions, str_of(name));
    assert_non_null(action);
    if (!actions_call(actions, action, arguments ? read_text(arguments) : NULL, &caller,
                      &out, &e))
        fail_msg("%s: %s", name, e.msg);
    got = read_text(buf_cz(&out.json));
    buf_done(&out.json);
    if (action->output_schema &&
        !json_schema_check(read_text(action->output_schema), got, "answer", &e))
        fail_msg("%s: %s", name, e.msg);
    return !out.is_error;
}

static bool evaluates(const char *code, const char *more)
{
    scoped_buf struct buf arguments;
    buf_init(&arguments, 16 << 20);
    struct json_writer w = json_writer(&arguments);
    json_open_object(&w);
    json_pair_cstr(&w, "code", code);
    json_close(&w);
    if (more) {
        arguments.n--;
        buf_printf(&arguments, ",%s}", more);
    }
    bool ok = answers("evaluate_note_code", buf_cz(&arguments));
    assert_int_equal(json_bool(json_get(got, "success"), !ok), ok);
    return ok;
}

static void assert_result(const char *code, const char *more, const char *want)
{
    if (!evaluates(code, more))
        fail_msg("%s: %.*s", code, STR_ARGS(json_str(json_get(got, "error"))));
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    struct json_writer w = json_writer(&b);
    json_put(&w, json_get(got, "result"));
    assert_string_equal(buf_cz(&b), want);
}

static void assert_error(const char *code, const char *more, const char *type,
                         const char *message)
{
    if (evaluates(code, more))
        fail_msg("succeeded: %s", code);
    const struct json *details = json_get(got, "errorDetails");
    struct str said = json_str(json_get(details, "message"));
    if (!str_is(json_str(json_get(details, "type")), type) || !strstr(said.at, message))
        fail_msg("%s: %.*s", code, STR_ARGS(json_str(json_get(got, "error"))));
}

/* ---- the table ---------------------------------------------------------- */

static void the_actions_are_described_for_agents(void **state)
{
    (void)state;
    static const char *const names[] = {"evaluate_note_code", "get_note", "search_notes",
                                        "create_note", "update_note"};
    size_t count;
    const struct action *list = actions_list(actions, &count);
    for (size_t i = 0; i < LENGTH(names); i++)
        assert_string_equal(list[i].name, names[i]);
    for (size_t i = 0; i < count; i++) {
        assert_in_range(strlen(list[i].description), 20, 2047);
        assert_true(list[i].title[0] != '\0');
        bool has = list[i].output_schema != NULL;
        const struct json *schemas[] = {read_text(list[i].input_schema),
                                        has ? read_text(list[i].output_schema) : NULL};
        for (size_t k = 0; k < 1u + has; k++)
            assert_true(str_is(json_str(json_get(schemas[k], "type")), "object"));
    }
    assert_null(action_named(actions, STR("no_such_action")));
    assert_null(action_named(actions, STR("get_note\0")));
}

struct shown {
    size_t count, bytes;
    char names[1000];
};

static bool take_shown(void *arg, const struct action *a, struct err *e)
{
    (void)e;
    struct shown *s = arg;
    s->count++;
    s->bytes += strlen(a->name) + strlen(a->title) + strlen(a->description) +
                strlen(a->input_schema) +
                (a->output_schema ? strlen(a->output_schema) : 0);
    strcat(s->names, a->name);
    strcat(s->names, " ");
    return true;
}

static void few_actions_are_listed_and_the_rest_is_found(void **state)
{
    (void)state;
    struct shown s = {0};
    struct err e = {0};
    bool more = true;
    const struct caller who = {.name = "test"};
    assert_true(actions_show(actions, &who, STR(""), 100, take_shown, &s, &more, &e));
    assert_false(more);
    assert_in_range(s.count, 8, 12);   /* more would burden every context */
    assert_in_range(s.bytes, 1, 7500); /* with the envelope, 8 KB of tools/list */
    /* clients expect the actions they call */
    assert_non_null(strstr(s.names, "run_script "));
    assert_null(strstr(s.names, "search_api")); /* the action exists all the same */
    assert_non_null(action_named(actions, STR("search_api")));
    assert_non_null(strstr(s.names, "find_tools "));

    /* In pages, which go on after a name; an unknown name is an error. */
    struct shown two = {0}, rest = {0};
    assert_true(actions_show(actions, &who, STR(""), 2, take_shown, &two, &more, &e));
    assert_true(more);
    assert_string_equal(two.names, "evaluate_note_code get_note ");
    assert_true(
        actions_show(actions, &who, STR("get_note"), 100, take_shown, &rest, &more, &e));
    assert_int_equal(rest.count, s.count - 2);
    assert_false(
        actions_show(actions, &who, STR("got_note"), 100, take_shown, &rest, &more, &e));
    assert_int_equal(e.code, ERR_INVALID);
}

/* One rule for all of them, not in each schema. */
static void an_argument_that_is_not_named_is_refused(void **state)
{
    (void)state;
    size_t count;
    const struct action *list = actions_list(actions, &count);
    for (size_t i = 0; i < count; i++) {
        struct err e = {0};
        struct answer out = {0};
        buf_init(&out.json, 1 << 20);
        scoped_buf struct buf said;
        buf_init(&said, 1 << 20);
        buf_cstr(&said, "{\"nobody_takes_this\":1");
        struct json_iter it =
            json_iter(json_get(read_text(list[i].input_schema), "required"));
        while (json_next(&it))
            buf_printf(&said, ",\"%.*s\":\"x\"", STR_ARGS(json_str(it.value)));
        buf_char(&said, '}');
        const struct json *given = read_text(buf_cz(&said));
        buf_clear(&said);
        if (actions_call(actions, &list[i], given, &caller, &out, &e))
            buf_str(&said, buf_view(&out.json));
        else
            buf_cstr(&said, e.msg);
        if (!strstr(buf_cz(&said), "nobody_takes_this"))
            fail_msg("%s: %s", list[i].name, buf_cz(&said));
        buf_done(&out.json);
    }
}

static void levels_have_names(void **state)
{
    (void)state;
    enum level level;
    assert_true(level_named("zero", &level) && level == LEVEL_ZERO);
    assert_true(level_named("limited", &level) && level == LEVEL_LIMITED);
    assert_true(level_named("full", &level) && level == LEVEL_FULL);
    assert_false(level_named("Full", &level));
    assert_false(level_named("", &level));
}

/* ---- the shape of an answer --------------------------------------------- */

static void a_result_comes_with_logs_and_figures(void **state)
{
    (void)state;
    assert_true(evaluates("console.log('seen'); return {a: [1, null]}", NULL));
    static const char *const keys[] = {"success", "result", "executionTime",
                                       "logs",    "stats",  "truncated"};
    assert_int_equal(json_length(got), LENGTH(keys));
    for (size_t i = 0; i < LENGTH(keys); i++)
        assert_non_null(json_get(got, keys[i]));
    assert_true(json_equal(json_get(got, "logs"),
                           read_text("[{\"level\":\"log\",\"message\":\"seen\"}]")));
    assert_false(json_bool(json_get(got, "truncated"), true));
    const struct json *stats = json_get(got, "stats");
    assert_true(json_number(json_get(stats, "compute_ms"), 0) > 0);
    assert_true(json_int(json_get(stats, "peak_memory_bytes"), 0) > 1000000);
    assert_int_equal(json_int(json_get(stats, "host_calls"), -1), 0);
    assert_true(json_number(json_get(got, "executionTime"), 0) > 0);
}

static void a_failure_says_what_and_where(void **state)
{
    (void)state;
    assert_false(evaluates("let a = 1;\nthrow new TypeError('no')", NULL));
    assert_true(str_is(json_str(json_get(got, "error")), "TypeError: no"));
    assert_true(json_is(json_get(got, "result"), JSON_NULL));
    const struct json *d = json_get(got, "errorDetails");
    assert_true(str_is(json_str(json_get(d, "type")), "ExecutionError"));
    assert_true(str_is(json_str(json_get(d, "name")), "TypeError"));
    assert_true(str_is(json_str(json_get(d, "code")), "EXECUTION"));
    assert_int_equal(json_int(json_get(d, "line"), 0), 2);
    assert_true(json_int(json_get(d, "column"), 0) > 0);
    assert_non_null(strstr(json_str(json_get(d, "frame")).at, ">    2 | throw"));
    assert_non_null(strstr(json_str(json_get(d, "stack")).at, "code.js:2:"));
    assert_false(json_bool(json_get(d, "retry"), true));
    assert_false(json_bool(json_get(d, "changed"), true));
}

static void each_limit_is_an_error_of_its_own(void **state)
{
    (void)state;
    static const struct {
        const char *code, *more, *type;
    } all[] = {
        {"for (;;);", "\"timeout\":50", "Timeout"},
        {"'x'.repeat(2 ** 29)", "\"memoryLimit\":32", "MemoryExceeded"},
        {"function f() { f() } f()", NULL, "StackOverflow"},
        {"'x'.repeat(2 ** 21)", NULL, "OutputTooLarge"},
        {"for (;;) await notes.list().catch(() => {})", "\"timeout\":30000",
         "TooManyHostCalls"},
        {"let = ;", NULL, "SyntaxError"},
        {"eval('1')", NULL, "ExecutionError"},
        {"await notes.get('x')", NULL, "NoVault"},
        {"null.x", NULL, "ExecutionError"},
    };
    for (size_t i = 0; i < LENGTH(all); i++)
        assert_error(all[i].code, all[i].more, all[i].type, "");
    assert_error("'x'.repeat(2 ** 21)", NULL, "OutputTooLarge", "");
    assert_true(json_bool(json_get(got, "truncated"), false));
    assert_true(json_str(json_get(json_get(got, "errorDetails"), "preview")).n > 100);
}

static void cut_logs_are_told(void **state)
{
    (void)state;
    assert_true(
        evaluates("for (let i = 0; i < 20000; i++) console.log('line', i)", NULL));
    assert_true(json_bool(json_get(got, "truncated"), false));
}

/* ---- arguments ---------------------------------------------------------- */

static void wrong_arguments_are_refused_with_what_would_be_right(void **state)
{
    (void)state;
    static const struct {
        const char *arguments, *why;
    } all[] = {
        {NULL, "needs the field 'code'"},
        {"{}", "needs the field 'code'"},
        {"[]", "must be object"},
        {"{\"code\":5}", "must be string, not number"},
        {"{\"code\":\"1\",\"cod\":1}", "has no field 'cod'; known are: code"},
        {"{\"code\":\"1\",\"timeout\":\"5\"}", "must be integer"},
        {"{\"code\":\"1\",\"timeout\":0}", "at least 1"},
        {"{\"code\":\"1\",\"timeout\":1.5}", "must be integer"},
        {"{\"code\":\"1\",\"timeout\":30001}", "1 to 30000"},
        {"{\"code\":\"1\",\"timeout\":99999999999999999999}", "timeout"},
        {"{\"code\":\"1\",\"memoryLimit\":1}", "at least 8"},
        {"{\"code\":\"1\",\"memoryLimit\":257}", "8 to 256"},
        {"{\"code\":\"1\",\"language\":\"ruby\"}", "\"javascript\", \"typescript\""},
        {"{\"code\":\"1\",\"allowedAPIs\":[\"notes.gett\"]}", "no 'notes.gett'"},
        {"{\"code\":\"1\",\"allowedAPIs\":\"notes\"}", "must be array"},
        {"{\"code\":\"1\",\"context\":[1]}", "must be object"},
        {"{\"code\":\"1\",\"context\":{\"a b\":1}}", "identifier"},
        {"{\"code\":\"1\",\"context\":{\"notes\":1}}", "would hide"},
        {"{\"code\":\"1\",\"context\":{\"JSON\":1}}", "would hide"},
    };
    for (size_t i = 0; i < LENGTH(all); i++) {
        /* The same shape as for code that failed. */
        assert_false(answers("evaluate_note_code", all[i].arguments));
        const struct json *details = json_get(got, "errorDetails");
        assert_true(str_is(json_str(json_get(details, "type")), "InvalidInput"));
        struct str said = json_str(json_get(details, "message"));
        if (!strstr(said.at, all[i].why))
            fail_msg("%s: %s", all[i].arguments, said.at);
    }
}

static void a_network_without_a_host_is_refused(void **state)
{
    (void)state;
    assert_error("1", "\"enableNetwork\":true", "PermissionDenied", "network.hosts");
    assert_result("typeof fetch", "\"enableNetwork\":false", "\"undefined\"");
}

static void code_of_too_many_bytes_is_refused(void **state)
{
    (void)state;
    static char code[(1 << 20) + 2];
    memset(code, ' ', sizeof code - 1);
    assert_error(code, NULL, "LimitExceeded", "1048576");
    code[1 << 20] = '\0';
    assert_result(code, NULL, "null");
}

static void context_becomes_variables(void **state)
{
    (void)state;
    assert_result("return [who, list.length, context.who]",
                  "\"context\":{\"who\":\"Ada\",\"list\":[1,2]}", "[\"Ada\",2,\"Ada\"]");
    assert_result("return n", "\"context\":{\"n\":12345678901234567890}",
                  "12345678901234567000");
}

static void plain_actions_need_their_arguments_too(void **state)
{
    (void)state;
    static const struct {
        const char *name, *arguments, *why;
    } all[] = {
        {"get_note", "{}", "needs the field 'identifier'"},
        {"get_note", "{\"identifier\":\"\"}", "at least 1"},
        {"search_notes", "{\"query\":\"x\",\"limit\":0}", "at least 1"},
        {"search_notes", "{\"query\":\"x\",\"limit\":1001}", "at most 1000"},
        {"create_note", "{\"type\":\"a\",\"title\":\"b\"}", "needs the field 'content'"},
        {"update_note", "{\"identifier\":\"a\",\"metadata\":[]}", "must be object"},
    };
    for (size_t i = 0; i < LENGTH(all); i++) {
        struct err e = {0};
        struct answer out = {0};
        buf_init(&out.json, 1 << 20);
        assert_false(actions_call(actions, action_named(actions, str_of(all[i].name)),
                                  read_text(all[i].arguments), &caller, &out, &e));
        buf_done(&out.json);
        assert_int_equal(e.code, ERR_INVALID);
        if (!strstr(e.msg, all[i].why))
            fail_msg("%s: %s", all[i].name, e.msg);
    }
}

static void without_a_vault_notes_say_so(void **state)
{
    (void)state;
    static const char *const all[][2] = {
        {"get_note", "{\"identifier\":\"a\"}"},
        {"search_notes", "{\"query\":\"a\"}"},
        {"create_note", "{\"type\":\"a\",\"title\":\"b\",\"content\":\"c\"}"},
        {"update_note", "{\"identifier\":\"a\",\"content\":\"c\"}"},
    };
    for (size_t i = 0; i < LENGTH(all); i++) {
        struct err e = {0};
        struct answer out = {0};
        buf_init(&out.json, 1 << 20);
        assert_false(actions_call(actions, action_named(actions, str_of(all[i][0])),
                                  read_text(all[i][1]), &caller, &out, &e));
        buf_done(&out.json);
        assert_int_equal(e.code, ERR_NO_VAULT);
    }
    static const char *const calls[] = {
        "notes.get('a')",
        "notes.list()",
        "notes.search({query: 'a'})",
        "notes.create({type: 'a', title: 'b', content: ''})",
        "notes.update({identifier: 'a', content: ''})",
        "notes.delete({identifier: 'a'})"};
    for (size_t i = 0; i < LENGTH(calls); i++) {
        assert_error(calls[i], NULL, "NoVault", "--vault");
        assert_int_equal(json_int(json_get(json_get(got, "errorDetails"), "line"), 0), 1);
    }
    assert_result("try { await notes.get('a') } catch (e) { return [e.name, e.code] }",
                  NULL, "[\"NoVault\",\"NO_VAULT\"]");
}

/* ---- levels and lists --------------------------------------------------- */

static void a_level_is_a_ceiling_over_calls(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        enum level least; /* the least trusted level */
    } all[] = {
        {"notes.get('a')", LEVEL_ZERO},
        {"notes.list()", LEVEL_ZERO},
        {"notes.create({type: 'a', title: 'b', content: ''})", LEVEL_LIMITED},
        {"notes.update({identifier: 'a', content: ''})", LEVEL_LIMITED},
        {"notes.search({query: 'a'})", LEVEL_FULL},
        {"notes.delete({identifier: 'a'})", LEVEL_FULL},
    };
    for (size_t i = 0; i < LENGTH(all); i++)
        for (int level = LEVEL_FULL; level <= LEVEL_ZERO; level++) {
            caller.level = (enum level)level;
            bool may = level <= (int)all[i].least;
            assert_error(all[i].code, NULL, may ? "NoVault" : "PermissionDenied", "");
        }
    caller.level = LEVEL_ZERO;
    assert_result("return [utils.sanitizeTitle('a/b'), typeof utils.generateId()]", NULL,
                  "[\"ab\",\"string\"]");
    struct err e = {0};
    struct answer out = {0};
    buf_init(&out.json, 1 << 20);
    assert_false(actions_call(actions, action_named(actions, STR("search_notes")),
                              read_text("{\"query\":\"a\"}"), &caller, &out, &e));
    buf_done(&out.json);
    assert_int_equal(e.code, ERR_DENIED);
}

static void a_level_is_a_ceiling_over_limits(void **state)
{
    (void)state;
    caller.level = LEVEL_ZERO;
    assert_error("1", "\"timeout\":2001", "InvalidInput", "1 to 2000");
    assert_error("1", "\"memoryLimit\":33", "InvalidInput", "8 to 32");
    assert_result("1", "\"timeout\":2000,\"memoryLimit\":32", "1");
    assert_error("new Uint8Array(40 << 20)", NULL, "MemoryExceeded", "32 MB");
    caller.level = LEVEL_LIMITED;
    assert_error("1", "\"timeout\":10001", "InvalidInput", "1 to 10000");
    assert_error("new Uint8Array(70 << 20)", NULL, "MemoryExceeded", "64 MB");
    caller.level = LEVEL_FULL;
    assert_error("new Uint8Array(140 << 20)", NULL, "MemoryExceeded", "128 MB");
    assert_result("new Uint8Array(140 << 20).length", "\"memoryLimit\":256", "146800640");
}

static void only_listed_calls_may_be_made(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        bool get, create;
    } all[] = {
        {"[]", false, false},
        {"[\"notes.get\"]", true, false},
        {"[\"notes\"]", true, true},
        {"[\"notes.*\"]", true, true},
        {"[\"*\"]", true, true},
        {"[\"utils\"]", false, false},
        {"[\"notes.save\"]", false, true},
        {"[\"utils\",\"notes.create\"]", false, true},
    };
    for (size_t i = 0; i < LENGTH(all); i++) {
        char more[100];
        (void)snprintf(more, sizeof more, "\"allowedAPIs\":%s", all[i].list);
        assert_error("notes.get('a')", more, all[i].get ? "NoVault" : "PermissionDenied",
                     "");
        assert_error("notes.create({type: 'a', title: 'b', content: ''})", more,
                     all[i].create ? "NoVault" : "PermissionDenied", "");
    }
    /* A list can only narrow what the level allows. */
    caller.level = LEVEL_ZERO;
    assert_error("notes.create({type: 'a', title: 'b', content: ''})",
                 "\"allowedAPIs\":[\"notes\"]", "PermissionDenied", "level 'zero'");
}

static void a_cancelled_call_is_told_so(void **state)
{
    (void)state;
    struct cancel cancel;
    cancel_init(&cancel);
    cancel_fire(&cancel);
    caller.cancel = &cancel;
    assert_error("return 1", NULL, "Cancelled", "");
}

/* ---- what code finds ---------------------------------------------------- */

static void times_are_of_the_persons_zone(void **state)
{
    (void)state;
    static const char *const all[][3] = {
        {"Pacific/Auckland", "new Date(1796034600000).toString().slice(0, 33)",
         "\"Mon Nov 30 2026 23:30:00 GMT+1300\""},
        {"Pacific/Auckland", "utils.formatDate(1796034600000, 'YYYY-MM-DD dddd Z')",
         "\"2026-11-30 Monday +13:00\""},
        {"Pacific/Auckland", "new Date(2026, 6, 1).getTimezoneOffset()", "-720"},
        {"Pacific/Auckland", "utils.formatDate('2026-12-01', 'DD')", "\"01\""},
        {"America/Los_Angeles", "utils.formatDate('2026-12-01', 'DD')", "\"01\""},
        {"America/Los_Angeles", "new Date(1796034600000).getDate()", "30"},
        {"America/Los_Angeles", "new Date(2026, 6, 1).toISOString()",
         "\"2026-07-01T07:00:00.000Z\""},
        {"Asia/Kathmandu", "new Date(0).getTimezoneOffset()", "-330"},
        {"Asia/Kathmandu", "new Date(1796034600000).getTimezoneOffset()", "-345"},
        {"UTC", "new Date(1796034600000).getHours()", "10"},
    };
    for (size_t i = 0; i < LENGTH(all); i++) {
        assert_int_equal(setenv("TZ", all[i][0], 1), 0);
        tzset();
        assert_result(all[i][1], NULL, all[i][2]);
    }
}

static void utils_do_what_they_say(void **state)
{
    (void)state;
    static const char *const all[][2] = {
        {"utils.formatDate('2024-03-05T06:07:08.009Z')", "\"2024-03-05T06:07:08.009Z\""},
        {"utils.formatDate('2024-03-05T06:07:08.009Z', 'YYYY-MM-DD HH:mm:ss.SSS')",
         "\"2024-03-05 06:07:08.009\""},
        {"utils.formatDate(new Date(0), 'DD.MM.YYYY')", "\"01.01.1970\""},
        {"utils.formatDate(0, 'YYYY')", "\"1970\""},
        {"utils.formatDate('2026-03-02', 'dddd, MMMM Do YYYY [at] ddd D/M/YY')",
         "\"Monday, March 2nd 2026 at Mon 2/3/26\""},
        {"utils.formatDate('2027-01-03', 'GGGG-[W]WW-E gggg ww DDDD Qo')",
         "\"2026-W53-7 2027 02 003 1st\""},
        {"utils.formatDate('2026-11-12T15:04:05.6', 'hh:mm A h a SS YYYY-MM-DDTHH:mm')",
         "\"03:04 PM 3 pm 60 2026-11-12T15:04\""},
        {"try { utils.formatDate(0, 'YYYY bb') } catch (e) { e.name + e.message.slice(0, 16) "
         "}",
         "\"RangeErrorformatDate: 'bb'\""},
        {"try { utils.formatDate(0, 'MMMMM') } catch (e) { e.name }", "\"RangeError\""},
        {"try { utils.formatDate('nonsense') } catch (e) { e.name }", "\"RangeError\""},
        {"utils.sanitizeTitle(' A/b: c?* \\u00e9\\u4e2d-1 ')", "\"Ab c \u00e9\u4e2d-1\""},
        {"utils.parseLinks('a [[x]] b [[y|z]] [[n/t#h]] [[]] [no] [[open')",
         "[\"x\",\"y|z\",\"n/t#h\"]"},
        {"utils.parseLinks('')", "[]"},
        {"new Set(Array.from({length: 100}, () => utils.generateId())).size", "100"},
    };
    for (size_t i = 0; i < LENGTH(all); i++)
        assert_result(all[i][0], NULL, all[i][1]);
}

static void *evaluate_once(void *arg)
{
    struct err e = {0};
    struct answer out = {0};
    buf_init(&out.json, 1 << 20);
    scoped(arena_free) struct arena *a = arena_new(1 << 20);
    struct caller who = {.name = "thread"};
    const struct json *arguments = json_read(STR("{\"code\":\"return 6*7\"}"), a, &e);
    bool ok = actions_call(arg, action_named(arg, STR("evaluate_note_code")), arguments,
                           &who, &out, &e) &&
              strstr(buf_cz(&out.json), "\"result\":42") != NULL;
    buf_done(&out.json);
    return ok ? arg : NULL;
}

static void the_first_calls_may_come_at_once(void **state)
{
    (void)state;
    struct err e = {0};
    struct actions *fresh =
        actions_open(&(struct actions_options){.guest_dir = guest_of_tests()}, &e);
    pthread_t threads[4];
    for (size_t i = 0; i < LENGTH(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, evaluate_once, fresh), 0);
    for (size_t i = 0; i < LENGTH(threads); i++) {
        void *answer = NULL;
        pthread_join(threads[i], &answer);
        assert_ptr_equal(answer, fresh);
    }
    actions_close(fresh);
}

static void a_guest_that_is_missing_is_told(void **state)
{
    (void)state;
    struct err e = {0};
    struct actions *kept = actions;
    actions = actions_open(&(struct actions_options){.guest_dir = "/nowhere"}, &e);
    assert_non_null(actions);
    assert_error("1", NULL, "NotFound", "guest");
    assert_error("1", NULL, "NotFound", "guest"); /* repeated */
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    actions_doctor(actions, &b);
    actions_close(actions);
    actions = kept;
    const struct json *report = read_text(buf_cz(&b));
    assert_false(json_bool(json_get(report, "ok"), true));
    struct json_iter it = json_iter(json_get(report, "checks"));
    while (json_next(&it)) /* each finding has a message */
        assert_true(json_bool(json_get(it.value, "ok"), true) ||
                    json_str(json_get(it.value, "detail")).n > 0);
}

static void the_doctor_finds_everything_in_order(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    actions_warm(actions);
    actions_doctor(actions, &b);
    const struct json *report = read_text(buf_cz(&b));
    if (!json_bool(json_get(report, "ok"), false))
        fail_msg("%s", buf_cz(&b));
    assert_true(json_length(json_get(report, "checks")) >= 4);
}

static void an_answer_is_kept_for_equal_rights_alone(void **state)
{
    (void)state;
    static const char more[] = "\"cache\":true";
    assert_true(evaluates("return 'kept'", more));
    assert_null(json_get(got, "cached"));
    assert_true(evaluates("return 'kept'", more));
    assert_true(json_bool(json_get(got, "cached"), false));
    caller.name = "another";
    assert_true(evaluates("return 'kept'", more));
    assert_true(json_bool(json_get(got, "cached"), false));
    caller.level = LEVEL_LIMITED;
    assert_true(evaluates("return 'kept'", more));
    assert_null(json_get(got, "cached"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(an_answer_is_kept_for_equal_rights_alone),
        test(the_actions_are_described_for_agents),
        test(few_actions_are_listed_and_the_rest_is_found),
        test(an_argument_that_is_not_named_is_refused),
        test(levels_have_names),
        test(a_result_comes_with_logs_and_figures),
        test(a_failure_says_what_and_where),
        test(each_limit_is_an_error_of_its_own),
        test(cut_logs_are_told),
        test(wrong_arguments_are_refused_with_what_would_be_right),
        test(a_network_without_a_host_is_refused),
        test(code_of_too_many_bytes_is_refused),
        test(context_becomes_variables),
        test(plain_actions_need_their_arguments_too),
        test(without_a_vault_notes_say_so),
        test(a_level_is_a_ceiling_over_calls),
        test(a_level_is_a_ceiling_over_limits),
        test(only_listed_calls_may_be_made),
        test(a_cancelled_call_is_told_so),
        test(utils_do_what_they_say),
        test(times_are_of_the_persons_zone),
        test(the_first_calls_may_come_at_once),
        test(a_guest_that_is_missing_is_told),
        test(the_doctor_finds_everything_in_order),
    };
    return cmocka_run_group_tests(tests, open_actions, close_actions);
}
