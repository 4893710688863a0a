/* Calls that go on as tasks: when, for whom, until when, and what is asked meanwhile. */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "mcp/fake_test.h"

/* ---- tools that take as long as the test wants ----------------------------- */

#define FORM                                                                             \
    "{\"message\":\"?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"v\":" \
    "{\"type\":\"string\"}},\"required\":[\"v\"]}}"
#define ASKS(key) {key, "elicitation/create", {FORM, sizeof FORM - 1}, false, NULL}

static const struct client_question one[] = {ASKS("one")}, two[] = {ASKS("a"), ASKS("b")};

static const struct action tools[] = {
    {"quick", "", "", FAKE_SCHEMA, NULL, true, false, true, false},
    {"slow", "", "", FAKE_SCHEMA, NULL, true, false, true, false},
    {"later", "", "", FAKE_SCHEMA, NULL, true, false, true, false},
    {"asks later", "", "", FAKE_SCHEMA, NULL, true, false, true, false},
    {"asks first", "", "", FAKE_SCHEMA, NULL, true, false, true, false},
    {"fails later", "", "", FAKE_SCHEMA, NULL, true, false, true, false},
    {"breaks later", "", "", FAKE_SCHEMA, NULL, true, false, true, false},
    {"asks twice", "", "", FAKE_SCHEMA, NULL, true, false, true, false},
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static unsigned begun, allowed; /* so many may end that wait */

static void await_allowance(const struct caller *who, struct err *e)
{
    bool stopped = false;
    struct cancel_stop stop;
    if (!cancel_on(who->cancel, &stop, fake_stop, &stopped))
        stopped = true;
    pthread_mutex_lock(&lock);
    begun++;
    pthread_cond_broadcast(&more);
    pthread_mutex_unlock(&lock);
    /* The cancel's word comes over the fake's own condition. */
    pthread_mutex_lock(&fake.lock);
    while (!stopped && !allowed)
        pthread_cond_wait(&fake.changed, &fake.lock);
    if (!stopped)
        allowed--;
    pthread_mutex_unlock(&fake.lock);
    cancel_off(who->cancel, &stop);
    if (stopped)
        err_set(e, ERR_CANCELLED, "stopped");
}

static bool tell(const struct json *const *answers, size_t n, struct answer *out)
{
    struct json_writer w = json_writer(&out->json);
    json_open_object(&w);
    json_key(&w, "told");
    json_open_array(&w);
    for (size_t i = 0; i < n; i++)
        json_put(&w, fake_at(answers[i], "content.v"));
    json_close(&w);
    json_close(&w);
    return true;
}

static bool perform(void *arg, const struct action *which, const struct json *arguments,
                    const struct caller *who, struct answer *out, struct err *e)
{
    (void)arg;
    (void)arguments;
    scoped(arena_free) struct arena *a = arena_new(1 << 20);
    const struct client *c = who->client;
    const struct json *told[2] = {0};
    switch (which - tools) {
    case 0:
        return buf_cstr(&out->json, "{\"quick\":true}");
    case 1:
        await_allowance(who, e);
        client_progress(c, 1, 2, STR("said to nobody"));
        return !e->code && buf_cstr(&out->json, "{\"slow\":true}");
    case 2:
        if (!client_later(c, e))
            return false;
        await_allowance(who, e);
        return !e->code && buf_cstr(&out->json, "{\"later\":true}");
    case 3:
        return client_later(c, e) && client_ask(c, two, 2, a, told, e) &&
               tell(told, 2, out);
    case 4:
        return client_ask(c, one, 1, a, told, e) && client_later(c, e) &&
               tell(told, 1, out);
    case 5:
        out->is_error = true;
        return client_later(c, e) && buf_cstr(&out->json, "{\"failed\":true}");
    case 6:
        return client_later(c, e) && err_set(e, ERR_BUG, "it broke");
    default:
        return client_later(c, e) && client_ask(c, one, 1, a, told, e) &&
               client_ask(c, one, 1, a, told + 1, e) && tell(told, 2, out);
    }
}

static const struct action *list(void *arg, size_t *n)
{
    (void)arg;
    *n = LENGTH(tools);
    return tools;
}

static const struct action *named(void *arg, struct str tool)
{
    (void)arg;
    for (size_t i = 0; i < LENGTH(tools); i++)
        if (str_is(tool, tools[i].name))
            return &tools[i];
    return NULL;
}

static void let(unsigned n)
{
    pthread_mutex_lock(&fake.lock);
    allowed += n;
    pthread_cond_broadcast(&fake.changed);
    pthread_mutex_unlock(&fake.lock);
}

static void await_begun(unsigned n)
{
    pthread_mutex_lock(&lock);
    while (begun < n)
        pthread_cond_wait(&more, &lock);
    pthread_mutex_unlock(&lock);
}

/* ---- asking ------------------------------------------------------------------ */

#define KNOWS "\"elicitation\":{},\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}"

static struct mcp *m;
static struct arena *arena;
static const struct json *got;
static int status;
static struct grant grant;
static struct front front;
static struct envelope env;
static struct session session;

static int opened(void **state)
{
    (void)state;
    struct err e = {0};
    struct backend b = {.list = list, .named = named, .call = perform};
    m = mcp_open_on(&b, &e);
    assert_non_null(m);
    m->tasks.after_ms = 60000; /* a test says when */
    arena = arena_new(1 << 26);
    begun = allowed = 0;
    front = (struct front){.who = "a test"};
    session = (struct session){0};
    env = (struct envelope){.session = &session};
    return 0;
}

static int closed(void **state)
{
    (void)state;
    mcp_close(m);
    arena_free(arena);
    return 0;
}

static struct call *taken(const char *method, const char *params,
                          const char *capabilities, struct buf *out, struct reply *r)
{
    struct err e = {0};
    buf_init(out, 1 << 22);
    *r = (struct reply){.out = out};
    const char *text = arena_printf(
        arena, &e,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s,\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":{%s}}}}",
        method, params, capabilities);
    env.grant = front.grant;
    return take_message(m, str_of(text), &env, r);
}

static void request(const char *method, const char *params, const char *capabilities)
{
    struct err e = {0};
    scoped_buf struct buf out;
    struct reply r;
    struct call *c = taken(method, params, capabilities, &out, &r);
    if (c)
        call_run(c, &front, &r);
    status = r.status;
    got = json_read(buf_view(&out), arena, &e);
    if (!got)
        fail_msg("%s: %s", e.msg, buf_cz(&out));
}

static struct str at(const char *path)
{
    return json_str(fake_at(got, path));
}

static void call(const char *tool)
{
    struct err e = {0};
    request("tools/call", arena_printf(arena, &e, "\"name\":\"%s\"", tool), KNOWS);
}

static int code(void)
{
    return (int)json_int(fake_at(got, "error.code"), 0);
}

/* Becomes a task; its id. */
static const char *become(const char *tool)
{
    struct err e = {0};
    call(tool);
    if (!str_is(at("result.resultType"), "task"))
        fail_msg("no task, but %.*s %.*s", STR_ARGS(at("result.resultType")),
                 STR_ARGS(at("error.message")));
    return str_cz(at("result.taskId"), arena, &e);
}

static void ask_of(const char *method, const char *id, const char *more_params)
{
    struct err e = {0};
    request(method, arena_printf(arena, &e, "\"taskId\":\"%s\"%s", id, more_params),
            KNOWS);
}

static bool is_status(const char *name)
{
    return str_is(at("result.status"), name);
}

/* Until it is what it must come to; a test in which it never does hangs. */
static void await_status(const char *id, const char *name)
{
    do
        ask_of("tasks/get", id, "");
    while (!is_status(name));
}

static void assert_acknowledged(void)
{
    assert_true(str_is(at("result.resultType"), "complete"));
    assert_int_equal(json_length(fake_at(got, "result")), 2); /* and _meta */
}

/* Until nothing runs. */
static void await_quiet(void)
{
    size_t running;
    do {
        pthread_mutex_lock(&m->tasks.lock);
        running = m->tasks.running;
        pthread_mutex_unlock(&m->tasks.lock);
    } while (running);
}

/* ---- when ---------------------------------------------------------------------- */

static void what_is_quick_is_no_task(void **state)
{
    (void)state;
    call("quick");
    assert_true(str_is(at("result.resultType"), "complete"));
    assert_true(json_bool(fake_at(got, "result.structuredContent.quick"), false));
    assert_null(m->tasks.first);
}

static void what_takes_long_becomes_a_task_by_itself(void **state)
{
    (void)state;
    m->tasks.after_ms = 1;
    const char *id = become("slow");
    assert_true(is_status("working"));
    assert_int_equal(json_int(fake_at(got, "result.ttlMs"), 0), 3600000);
    assert_int_equal(json_int(fake_at(got, "result.pollIntervalMs"), 0), 1000);
    assert_int_equal(at("result.createdAt").n, 24);
    assert_int_equal(at("result.lastUpdatedAt").n, 24);
    assert_null(fake_at(got, "result.requestState"));
    assert_null(fake_at(got, "result.content"));
    ask_of("tasks/get", id, "");
    assert_true(is_status("working"));
    assert_true(str_is(at("result.resultType"), "complete"));
    let(1);
    await_status(id, "completed");
    assert_true(str_is(at("result.taskId"), id));
    assert_true(json_bool(fake_at(got, "result.result.structuredContent.slow"), false));
    assert_true(json_is(fake_at(got, "result.result.content"), JSON_ARRAY));
    ask_of("tasks/get", id, "");
    assert_true(is_status("completed"));
}

static void a_tool_says_that_it_takes_long(void **state)
{
    (void)state;
    const char *id = become("later");
    let(1);
    await_status(id, "completed");
}

static void who_does_not_know_tasks_waits(void **state)
{
    (void)state;
    m->tasks.after_ms = 1;
    let(1);
    request("tools/call", "\"name\":\"slow\"", "");
    assert_true(str_is(at("result.resultType"), "complete"));
    request("tools/call", "\"name\":\"later\"", "\"elicitation\":{}");
    assert_int_equal(code(), MCP_MISSING_CAPABILITY);
    assert_int_equal(status, 400);
    const struct json *needed =
        fake_at(got, "error.data.requiredCapabilities.extensions");
    assert_true(json_is(json_get(needed, EXTENSION_TASKS), JSON_OBJECT));
    static const char *const methods[] = {"tasks/get", "tasks/update", "tasks/cancel"};
    for (size_t i = 0; i < LENGTH(methods); i++) {
        request(methods[i], "\"taskId\":\"x\",\"inputResponses\":{}", "");
        assert_int_equal(code(), MCP_MISSING_CAPABILITY);
    }
}

static void mistakes_of_tools_are_results_and_ours_are_failures(void **state)
{
    (void)state;
    const char *id = become("fails later");
    await_status(id, "completed");
    assert_true(json_bool(fake_at(got, "result.result.isError"), false));
    assert_null(fake_at(got, "result.error"));
    id = become("breaks later");
    await_status(id, "failed");
    assert_int_equal(json_int(fake_at(got, "result.error.code"), 0), -32603);
    assert_true(str_is(at("result.error.message"), "it broke"));
    assert_null(fake_at(got, "result.result"));
}

/* ---- questions ------------------------------------------------------------------ */

#define SAYS(key, v) "\"" key "\":{\"action\":\"accept\",\"content\":{\"v\":\"" v "\"}}"

static void a_task_asks_and_goes_on_with_the_answers(void **state)
{
    (void)state;
    const char *id = become("asks later");
    await_status(id, "input_required");
    const struct json *asked = fake_at(got, "result.inputRequests");
    assert_int_equal(json_length(asked), 2);
    assert_non_null(json_get(asked, "a-1"));
    assert_non_null(json_get(asked, "b-2"));
    assert_null(fake_at(got, "result.requestState"));
    /* what is no answer changes nothing */
    ask_of("tasks/update", id, ",\"inputResponses\":{\"a-1\":7,\"x\":{},\"b\":{}}");
    assert_acknowledged();
    ask_of("tasks/get", id, "");
    assert_int_equal(json_length(fake_at(got, "result.inputRequests")), 2);
    /* some of them are answered */
    ask_of("tasks/update", id, ",\"inputResponses\":{" SAYS("b-2", "2") "}");
    assert_acknowledged();
    ask_of("tasks/get", id, "");
    assert_true(is_status("input_required"));
    assert_int_equal(json_length(fake_at(got, "result.inputRequests")), 1);
    assert_non_null(json_get(fake_at(got, "result.inputRequests"), "a-1"));
    /* an answer holds once it is given */
    ask_of("tasks/update", id,
           ",\"inputResponses\":{" SAYS("b-2", "3") "," SAYS("a-1", "1") "}");
    assert_acknowledged();
    await_status(id, "completed");
    assert_true(str_is(at("result.result.structuredContent.told.0"), "1"));
    assert_true(str_is(at("result.result.structuredContent.told.1"), "2"));
    ask_of("tasks/update", id, ",\"inputResponses\":{" SAYS("a-1", "9") "}");
    assert_acknowledged();
}

static void no_name_of_a_question_is_used_twice(void **state)
{
    (void)state;
    const char *id = become("asks twice");
    await_status(id, "input_required");
    assert_non_null(json_get(fake_at(got, "result.inputRequests"), "one-1"));
    ask_of("tasks/update", id, ",\"inputResponses\":{" SAYS("one-1", "first") "}");
    do
        await_status(id, "input_required");
    while (!json_get(fake_at(got, "result.inputRequests"), "one-2"));
    assert_int_equal(json_length(fake_at(got, "result.inputRequests")), 1);
    ask_of("tasks/update", id, ",\"inputResponses\":{" SAYS("one-2", "second") "}");
    await_status(id, "completed");
    assert_true(str_is(at("result.result.structuredContent.told.1"), "second"));
}

static void what_is_asked_before_is_asked_in_the_answer(void **state)
{
    (void)state;
    call("asks first");
    assert_true(str_is(at("result.resultType"), "input_required"));
    assert_null(fake_at(got, "result.taskId"));
    struct err e = {0};
    const char *answered = arena_printf(arena, &e,
                                        "\"name\":\"asks first\",\"requestState\":\"%s\","
                                        "\"inputResponses\":{" SAYS("one", "Ada") "}",
                                        str_cz(at("result.requestState"), arena, &e));
    request("tools/call", answered, KNOWS);
    assert_true(str_is(at("result.resultType"), "task"));
    assert_null(fake_at(got, "result.requestState"));
    await_status(str_cz(at("result.taskId"), arena, &e), "completed");
    assert_true(str_is(at("result.result.structuredContent.told.0"), "Ada"));
}

static void nobody_is_asked_for_ever(void **state)
{
    (void)state;
    m->tasks.input_ms = 1;
    const char *id = become("asks later");
    await_status(id, "completed");
    assert_true(json_bool(fake_at(got, "result.result.isError"), false));
    assert_non_null(strstr(at("result.result.content.0.text").at, "there was no answer"));
}

/* ---- the end --------------------------------------------------------------------- */

static void a_task_is_cancelled_and_stays_so(void **state)
{
    (void)state;
    const char *id = become("later");
    await_begun(1);
    ask_of("tasks/cancel", id, "");
    assert_acknowledged();
    ask_of("tasks/get", id, "");
    assert_true(is_status("cancelled"));
    ask_of("tasks/cancel", id, "");
    assert_acknowledged();
    await_quiet();
    ask_of("tasks/get", id, "");
    assert_true(is_status("cancelled"));
    assert_null(fake_at(got, "result.result"));
    id = become("asks later");
    await_status(id, "input_required");
    ask_of("tasks/cancel", id, "");
    await_status(id, "cancelled");
    assert_null(fake_at(got, "result.inputRequests"));
}

static atomic_uint held;

static void hold(const struct grant *g)
{
    assert_ptr_equal(g, &grant);
    held++;
}

static void let_go(const struct grant *g)
{
    assert_ptr_equal(g, &grant);
    held--;
}

static bool stays(void *arg, const void *left)
{
    return left == arg;
}

static void whose_credential_is_revoked_has_his_tasks_stopped(void **state)
{
    (void)state;
    const char *mine = become("later");
    grant = (struct grant){.principal = "token a", .hold = hold, .let_go = let_go};
    front.grant = &grant;
    held = 0;
    const char *id = become("later");
    await_begun(2);
    assert_int_equal(held, 1);
    mcp_expel(m, stays, &grant);
    ask_of("tasks/get", id, "");
    assert_true(is_status("working"));
    mcp_expel(m, stays, NULL);
    await_status(id, "failed");
    assert_non_null(strstr(at("result.error.message").at, "credential"));
    front.grant = NULL;
    ask_of("tasks/get", mine, "");
    assert_true(is_status("working"));
    let(1);
    await_quiet();
    while (held) /* let go of last of all */
        sched_yield();
}

static void *hang_up(void *arg)
{
    await_begun(1);
    cancel_fire(arg);
    return NULL;
}

static void who_hangs_up_before_it_is_a_task_stops_it(void **state)
{
    (void)state;
    struct cancel cancel;
    cancel_init(&cancel);
    env.cancel = &cancel;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, hang_up, &cancel), 0);
    call("slow");
    pthread_join(thread, NULL);
    assert_true(json_bool(fake_at(got, "result.isError"), false));
    assert_null(m->tasks.first);
}

static void who_hangs_up_after_that_does_not(void **state)
{
    (void)state;
    struct cancel cancel;
    cancel_init(&cancel);
    env.cancel = &cancel;
    const char *id = become("later");
    env.cancel = NULL;
    cancel_fire(&cancel);
    let(1);
    await_status(id, "completed");
}

static void a_task_is_kept_for_an_hour(void **state)
{
    (void)state;
    const char *id = become("fails later");
    await_status(id, "completed");
    m->clock_ahead_ms = TASK_TTL_MS - 10000;
    ask_of("tasks/get", id, "");
    assert_true(is_status("completed"));
    m->clock_ahead_ms = TASK_TTL_MS + 1;
    ask_of("tasks/get", id, "");
    assert_int_equal(code(), RPC_PARAMS);
    assert_int_equal(m->tasks.count, 0);
    assert_int_equal(m->tasks.bytes, 0);
}

static void what_runs_for_an_hour_is_stopped(void **state)
{
    (void)state;
    const char *id = become("later");
    await_begun(1);
    m->clock_ahead_ms = TASK_TTL_MS + 1;
    do
        ask_of("tasks/get", id, "");
    while (code() == 0);
    assert_int_equal(code(), RPC_PARAMS);
}

static void the_servers_end_is_the_tasks(void **state)
{
    (void)state;
    (void)become("later");
    (void)become("asks later");
    await_begun(1); /* closed() waits for them */
}

/* ---- whose, and how many ---------------------------------------------------------- */

static void a_task_is_its_principals_alone(void **state)
{
    (void)state;
    grant = (struct grant){.principal = "token a"};
    front.grant = &grant;
    const char *id = become("fails later");
    await_status(id, "completed");
    grant.principal = "token b";
    static const char *const methods[] = {"tasks/get", "tasks/update", "tasks/cancel"};
    for (size_t i = 0; i < LENGTH(methods); i++) {
        ask_of(methods[i], id, ",\"inputResponses\":{}");
        assert_int_equal(code(), RPC_PARAMS);
        assert_int_equal(status, 400);
    }
    front.grant = NULL;
    ask_of("tasks/get", id, "");
    assert_int_equal(code(), RPC_PARAMS);
}

static void what_names_no_task_is_refused(void **state)
{
    (void)state;
    ask_of("tasks/get", "nobody's", "");
    assert_int_equal(code(), RPC_PARAMS);
    ask_of("tasks/cancel", "", "");
    assert_int_equal(code(), RPC_PARAMS);
    request("tasks/get", "\"taskId\":7", KNOWS);
    assert_int_equal(code(), RPC_PARAMS);
    const char *id = become("asks later");
    ask_of("tasks/update", id, "");
    assert_int_equal(code(), RPC_PARAMS);
    request("tasks/list", "\"x\":1", KNOWS);
    assert_int_equal(code(), RPC_METHOD);
    request("tasks/result", "\"x\":1", KNOWS);
    assert_int_equal(code(), RPC_METHOD);
}

/* Beyond the bound a call runs as for everybody else, and is told that it must wait. */
static void one_principal_has_so_many_at_once(void **state)
{
    (void)state;
    grant = (struct grant){.principal = "token a"};
    front.grant = &grant;
    for (unsigned i = 0; i < TASK_THREADS_PRINCIPAL; i++)
        (void)become("later");
    call("quick");
    assert_true(str_is(at("result.resultType"), "complete"));
    call("later");
    assert_true(json_bool(fake_at(got, "result.isError"), false));
    assert_non_null(strstr(at("result.content.0.text").at, "Busy"));
    grant.principal = "token b";
    (void)become("later");
    let(TASK_THREADS_PRINCIPAL + 1);
}

static void one_principal_has_so_many_kept(void **state)
{
    (void)state;
    grant = (struct grant){.principal = "token a"};
    front.grant = &grant;
    for (unsigned i = 0; i < TASKS_PRINCIPAL_MAX; i++)
        await_status(become("fails later"), "completed");
    call("fails later");
    assert_non_null(strstr(at("result.content.0.text").at, "Busy"));
    grant.principal = "token b";
    (void)become("fails later");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, opened, closed)
    const struct CMUnitTest tests[] = {
        TEST(what_is_quick_is_no_task),
        TEST(what_takes_long_becomes_a_task_by_itself),
        TEST(a_tool_says_that_it_takes_long),
        TEST(who_does_not_know_tasks_waits),
        TEST(mistakes_of_tools_are_results_and_ours_are_failures),
        TEST(a_task_asks_and_goes_on_with_the_answers),
        TEST(no_name_of_a_question_is_used_twice),
        TEST(what_is_asked_before_is_asked_in_the_answer),
        TEST(nobody_is_asked_for_ever),
        TEST(a_task_is_cancelled_and_stays_so),
        TEST(whose_credential_is_revoked_has_his_tasks_stopped),
        TEST(who_hangs_up_before_it_is_a_task_stops_it),
        TEST(who_hangs_up_after_that_does_not),
        TEST(a_task_is_kept_for_an_hour),
        TEST(what_runs_for_an_hour_is_stopped),
        TEST(the_servers_end_is_the_tasks),
        TEST(a_task_is_its_principals_alone),
        TEST(what_names_no_task_is_refused),
        TEST(one_principal_has_so_many_at_once),
        TEST(one_principal_has_so_many_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
