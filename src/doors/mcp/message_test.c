#include <stdio.h>

#include "mcp/fake_test.h"

/* One message in, its answer out, as in a transport without threads. */
static struct mcp *m;
static struct session session;
static struct envelope env;
static struct buf out;
static struct arena *arena;
static struct reply reply;

static int opened(void **state)
{
    (void)state;
    m = fake_mcp();
    session = (struct session){.there = true};
    env = (struct envelope){.session = &session};
    buf_init(&out, 1 << 20);
    arena = arena_new(1 << 24);
    return 0;
}

static int closed(void **state)
{
    (void)state;
    buf_done(&out);
    arena_free(arena);
    mcp_close(m);
    return 0;
}

static const struct json *send(const char *text)
{
    buf_clear(&out);
    reply = (struct reply){.out = &out};
    struct call *c = take_message(m, str_of(text), &env, &reply);
    if (c)
        call_run(c, &fake_front, &reply);
    if (out.n == 0)
        return NULL;
    struct err e = {0};
    const struct json *v = json_read(buf_view(&out), arena, &e);
    if (!v)
        fail_msg("%s: %s", e.msg, buf_cz(&out));
    assert_true(str_is(json_str(json_get(v, "jsonrpc")), "2.0"));
    return v;
}

static bool text_is(const struct json *v, const char *path, const char *text)
{
    return str_is(json_str(fake_at(v, path)), text);
}

static bool has_text(const struct json *v, const char *path, const char *part)
{
    struct str s = json_str(fake_at(v, path));
    return memmem(s.at, s.n, part, strlen(part)) != NULL;
}

static int code_of(const struct json *v)
{
    return (int)json_int(fake_at(v, "error.code"), 0);
}

#define META(version, more)                                                   \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" version "\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}" more "}"
#define MODERN META("2026-07-28", "")
#define REQUEST(id, method, params)                                                    \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params \
    "}}"
#define OPEN(version) REQUEST("1", "initialize", "\"protocolVersion\":\"" version "\"")

/* ---- messages ----------------------------------------------------------- */

static void what_is_no_json_is_a_parse_error(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "{",
        "junk",
        "{\"jsonrpc\":\"2.0\"",
        "{} {}",
        "{\"a\":1,}",
        "nul",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\xff\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}",
    };
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        const struct json *v = send(wrong[i]);
        assert_int_equal(code_of(v), RPC_PARSE);
        assert_true(json_is(json_get(v, "id"), JSON_NULL));
        assert_int_equal(reply.status, 400);
    }
}

/* Its client waits for an answer by its id, and would wait for ever. */
static void a_request_that_is_json_is_refused_by_its_id(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "{\"id\":7,\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{\"a\":\"\\ud83d\"}}",
        "{\"params\":{\"a\":1,\"a\":2},\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":7}",
    };
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        const struct json *v = send(wrong[i]);
        assert_int_equal(code_of(v), RPC_REQUEST);
        assert_int_equal(json_int(json_get(v, "id"), 0), 7);
    }
    scoped_buf struct buf deep;
    buf_init(&deep, 1 << 20);
    buf_cstr(&deep, "{\"id\":\"deep\",\"params\":{\"a\":");
    for (int i = 0; i < 5000; i++)
        buf_char(&deep, '[');
    for (int i = 0; i < 5000; i++)
        buf_char(&deep, ']');
    buf_cstr(&deep, "}}");
    const struct json *v = send(buf_cz(&deep));
    assert_int_equal(code_of(v), RPC_REQUEST);
    assert_true(text_is(v, "id", "deep"));
}

static void an_id_that_is_not_there_once_is_none(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "{\"id\":\"\\ud83d\",\"jsonrpc\":\"2.0\",\"method\":\"ping\"}",
        "{\"id\":{\"a\":\"\\ud83d\"},\"jsonrpc\":\"2.0\",\"method\":\"ping\"}",
        "{\"params\":{\"id\":1,\"a\":\"\\ud83d\"}}",
        "[{\"id\":1,\"method\":\"\\ud83d\"}]",
    };
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        const struct json *v = send(wrong[i]);
        assert_int_equal(code_of(v), RPC_PARSE);
        assert_true(json_is(json_get(v, "id"), JSON_NULL));
    }
}

static void a_bomb_of_brackets_is_a_parse_error(void **state)
{
    (void)state;
    scoped_buf struct buf bomb;
    buf_init(&bomb, 1 << 20);
    for (int i = 0; i < 100000; i++)
        buf_char(&bomb, '[');
    assert_int_equal(code_of(send(buf_cz(&bomb))), RPC_PARSE);
}

static void what_is_no_request_is_invalid(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "1",
        "\"text\"",
        "null",
        "{}",
        "{\"jsonrpc\":\"2.0\",\"id\":1}",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}",
        "{\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1e400,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":-1e400,\"method\":\"ping\"}",
    };
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        assert_int_equal(code_of(send(wrong[i])), RPC_REQUEST);
        assert_int_equal(reply.status, 400);
    }
}

static void an_id_comes_back_as_it_was(void **state)
{
    (void)state;
    static const char *const ids[] = {
        "0",
        "-7",
        "9007199254740993",
        "123456789012345678901234567890",
        "\"\"",
        "\"a\"",
        "\"1\"",
        "\"\\u0000\\\"\xc3\xa9\"",
    };
    for (size_t i = 0; i < LENGTH(ids); i++) {
        char text[200], want[100];
        (void)snprintf(text, sizeof text,
                       "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}", ids[i]);
        (void)snprintf(want, sizeof want, "\"id\":%s,", ids[i]);
        send(text);
        assert_non_null(strstr(buf_cz(&out), want));
        assert_non_null(strstr(buf_cz(&out), "\"result\":{}"));
    }
}

static void parameters_of_a_wrong_type_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"[]", "\"x\"", "1", "true"};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        char text[200];
        (void)snprintf(text, sizeof text,
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\","
                       "\"params\":%s}",
                       wrong[i]);
        assert_int_equal(code_of(send(text)), RPC_PARAMS);
    }
    assert_non_null(json_get(send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\","
                                  "\"params\":null}"),
                             "result"));
    assert_int_equal(code_of(send(REQUEST("1", "ping", "\"_meta\":7"))), RPC_PARAMS);
}

static void an_unknown_method_is_told_at_once(void **state)
{
    (void)state;
    const struct json *v = send(REQUEST("1", "roots/list", ""));
    assert_int_equal(code_of(v), RPC_METHOD);
    assert_int_equal(reply.status, 200);
    assert_true(has_text(v, "error.message", "roots/list"));

    scoped_buf struct buf huge;
    buf_init(&huge, 1 << 20);
    buf_cstr(&huge, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"");
    for (int i = 0; i < 100000; i++)
        buf_cstr(&huge, "\xc3\xa9");
    buf_cstr(&huge, "\"}");
    assert_int_equal(code_of(send(buf_cz(&huge))), RPC_METHOD);
    assert_true(out.n < 500);
}

static void notifications_and_responses_get_no_answer(void **state)
{
    (void)state;
    static const char *const silent[] = {
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard\",\"params\":[1]}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":7}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
        "\"params\":{\"requestId\":[]}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\","
        "\"params\":{\"name\":\"echo\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"x\"}}",
    };
    for (size_t i = 0; i < LENGTH(silent); i++) {
        assert_null(send(silent[i]));
        assert_int_equal(reply.status, 202);
    }
    assert_int_equal(fake.ran, 0);
}

/* ---- the older era ------------------------------------------------------ */

static void initialize_agrees_on_a_version(void **state)
{
    (void)state;
    static const struct {
        const char *ask, *version;
    } rows[] = {
        {OPEN("2025-11-25"), "2025-11-25"}, {OPEN("2025-06-18"), "2025-06-18"},
        {OPEN("2025-03-26"), "2025-03-26"}, {OPEN("2024-11-05"), "2025-11-25"},
        {OPEN("2026-07-28"), "2025-11-25"}, {OPEN("2099-01-01"), "2025-11-25"},
        {OPEN(""), "2025-11-25"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct json *v = send(rows[i].ask);
        assert_true(text_is(v, "result.protocolVersion", rows[i].version));
        assert_string_equal(session.version, rows[i].version);
        assert_true(text_is(v, "result.serverInfo.name", "cloche"));
        assert_true(json_is(fake_at(v, "result.capabilities.tools"), JSON_OBJECT));
        struct str told = json_str(fake_at(v, "result.instructions"));
        assert_in_range(told.n, 100, 2047);
        assert_null(fake_at(v, "result.resultType"));
    }
    assert_int_equal(code_of(send(REQUEST("1", "initialize", ""))), RPC_PARAMS);
    assert_int_equal(code_of(send(REQUEST("1", "initialize", "\"protocolVersion\":7"))),
                     RPC_PARAMS);
}

static void the_list_of_tools_is_whole_and_on_one_line(void **state)
{
    (void)state;
    const struct json *v = send(REQUEST("1", "tools/list", ""));
    assert_null(memchr(out.at, '\n', out.n));
    assert_int_equal(json_length(fake_at(v, "result.tools")), LENGTH(fake_actions));
    for (size_t i = 0; i < LENGTH(fake_actions); i++) {
        const struct json *tool = json_at(fake_at(v, "result.tools"), i);
        assert_true(text_is(tool, "name", fake_actions[i].name));
        assert_true(text_is(tool, "inputSchema.type", "object"));
        assert_int_equal(json_is(json_get(tool, "outputSchema"), JSON_OBJECT),
                         fake_actions[i].output_schema != NULL);
    }
    assert_true(json_bool(fake_at(v, "result.tools.0.annotations.readOnlyHint"), false));
    assert_false(json_bool(fake_at(v, "result.tools.0.annotations.openWorldHint"), true));
    /* One that may do everything says nothing. */
    assert_int_equal(json_length(fake_at(v, "result.tools.3.annotations")), 0);
    assert_null(fake_at(v, "result.ttlMs"));
    assert_null(fake_at(v, "result.nextCursor"));
}

static void a_cursor_that_was_never_given_is_refused(void **state)
{
    (void)state;
    assert_int_equal(code_of(send(REQUEST("1", "tools/list", "\"cursor\":\"2\""))),
                     RPC_PARAMS);
    assert_int_equal(code_of(send(REQUEST("1", "tools/list", "\"cursor\":2"))),
                     RPC_PARAMS);
    assert_int_equal(code_of(send(REQUEST("1", "tools/list", "\"cursor\":null"))), 0);
}

static const struct action *list_broken(void *arg, size_t *n)
{
    (void)arg;
    static const struct action broken = {
        .name = "b", .title = "B", .description = "", .input_schema = "{\"type\":"};
    *n = 1;
    return &broken;
}

static void a_broken_schema_is_our_own_fault(void **state)
{
    (void)state;
    struct backend b = m->backend;
    b.list = list_broken;
    struct err e = {0};
    assert_null(mcp_open_on(&b, &e));
    assert_int_equal(e.code, ERR_BUG);
}

/* ---- the newer era ------------------------------------------------------ */

static void discover_tells_what_is_served(void **state)
{
    (void)state;
    const struct json *v = send(REQUEST("\"d\"", "server/discover", MODERN));
    assert_true(text_is(v, "result.supportedVersions.0", "2026-07-28"));
    assert_true(text_is(v, "result.resultType", "complete"));
    assert_true(text_is(v, "result.cacheScope", "public"));
    assert_true(json_int(fake_at(v, "result.ttlMs"), -1) >= 0);
    assert_true(json_is(fake_at(v, "result.capabilities.tools"), JSON_OBJECT));
    const struct json *meta = fake_at(v, "result._meta");
    assert_true(
        text_is(json_get(meta, "io.modelcontextprotocol/serverInfo"), "name", "cloche"));
}

static void what_a_newer_request_needs_is_asked_for(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        REQUEST("1", "server/discover", ""),
        REQUEST("1", "server/discover", "\"_meta\":{}"),
        REQUEST("1", "tools/list",
                "\"_meta\":{\"io.modelcontextprotocol/clientCapabilities\":{}}"),
        REQUEST("1", "tools/list",
                "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
                "\"2026-07-28\"}"),
        REQUEST("1", "tools/list",
                "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":1,"
                "\"io.modelcontextprotocol/clientCapabilities\":{}}"),
        REQUEST("1", "tools/list",
                "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
                "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":[]}"),
        REQUEST("1", "tools/list",
                META("2026-07-28", ",\"io.modelcontextprotocol/clientInfo\":\"me\"")),
    };
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        assert_int_equal(code_of(send(wrong[i])), RPC_PARAMS);
        assert_int_equal(reply.status, 400);
    }
}

static void a_version_that_is_not_served_is_named(void **state)
{
    (void)state;
    static const char *const other[] = {
        REQUEST("1", "tools/list", META("2099-01-01", "")),
        REQUEST("1", "server/discover", META("2099-01-01", "")),
    };
    for (size_t i = 0; i < LENGTH(other); i++) {
        const struct json *v = send(other[i]);
        assert_int_equal(code_of(v), MCP_UNSUPPORTED_VERSION);
        assert_true(text_is(v, "error.data.requested", "2099-01-01"));
        assert_true(text_is(v, "error.data.supported.0", "2026-07-28"));
        assert_int_equal(reply.status, 400);
    }
    /* Older ones are not spoken this way. */
    assert_int_equal(code_of(send(REQUEST("1", "tools/list", META("2025-11-25", "")))),
                     MCP_UNSUPPORTED_VERSION);
}

static void what_the_newer_era_dropped_is_unknown_there(void **state)
{
    (void)state;
    static const char *const dropped[] = {
        REQUEST("1", "ping", MODERN),
        REQUEST("1", "initialize", "\"protocolVersion\":\"2025-11-25\"," MODERN),
        REQUEST("1", "logging/setLevel", MODERN),
    };
    for (size_t i = 0; i < LENGTH(dropped); i++) {
        assert_int_equal(code_of(send(dropped[i])), RPC_METHOD);
        assert_int_equal(reply.status, 404);
    }
}

static void both_eras_are_served_side_by_side(void **state)
{
    (void)state;
    send(OPEN("2025-11-25"));
    const struct json *v = send(REQUEST("2", "tools/list", MODERN));
    assert_true(text_is(v, "result.resultType", "complete"));
    assert_true(json_int(fake_at(v, "result.ttlMs"), -1) >= 0);
    v = send(REQUEST("3", "tools/list", ""));
    assert_null(fake_at(v, "result.resultType"));
}

/* ---- calls -------------------------------------------------------------- */

static void a_call_answers_in_both_forms(void **state)
{
    (void)state;
    const struct json *v =
        send(REQUEST("1", "tools/call", "\"name\":\"echo\",\"arguments\":{\"a\":[1]}"));
    assert_true(text_is(v, "result.content.0.type", "text"));
    assert_true(text_is(v, "result.content.0.text", "{\"was\":{\"a\":[1]}}"));
    assert_int_equal(json_int(fake_at(v, "result.structuredContent.was.a.0"), 0), 1);
    assert_false(json_bool(fake_at(v, "result.isError"), true));
    assert_null(fake_at(v, "result.resultType"));

    v = send(REQUEST("1", "tools/call", "\"name\":\"echo\"," MODERN));
    assert_true(text_is(v, "result.resultType", "complete"));
    assert_true(json_is(fake_at(v, "result.structuredContent.was"), JSON_NULL));
    assert_non_null(fake_at(v, "result._meta"));
}

static void what_ran_and_was_not_done_is_an_error_result(void **state)
{
    (void)state;
    const struct json *v = send(REQUEST("1", "tools/call", "\"name\":\"refuse\""));
    assert_true(json_bool(fake_at(v, "result.isError"), false));
    assert_true(json_is(fake_at(v, "result.structuredContent.success"), JSON_BOOL));
}

static void a_failure_is_an_error_result_that_says_what_would_do(void **state)
{
    (void)state;
    const struct json *v = send(REQUEST("1", "tools/call", "\"name\":\"fail\""));
    assert_true(json_bool(fake_at(v, "result.isError"), false));
    assert_true(
        text_is(v, "result.content.0.text", "NotFound: no note 'x'; known are: y"));
    assert_null(fake_at(v, "result.structuredContent"));

    v = send(REQUEST("1", "tools/call", "\"name\":\"echo\",\"arguments\":[1]"));
    assert_true(json_bool(fake_at(v, "result.isError"), false));
    assert_true(has_text(v, "result.content.0.text", "must be object"));
}

static void an_unknown_tool_is_a_protocol_error(void **state)
{
    (void)state;
    const struct json *v = send(REQUEST("1", "tools/call", "\"name\":\"nope\""));
    assert_int_equal(code_of(v), RPC_PARAMS);
    assert_true(has_text(v, "error.message", "echo, refuse, fail, wait"));
    assert_int_equal(reply.status, 200);
    assert_int_equal(code_of(send(REQUEST("1", "tools/call", "\"name\":7"))), RPC_PARAMS);
    assert_int_equal(code_of(send(REQUEST("1", "tools/call", ""))), RPC_PARAMS);
    send(REQUEST("1", "tools/call", "\"name\":\"nope\"," MODERN));
    assert_int_equal(reply.status, 400);
}

static void *run_waiting(void *arg)
{
    call_run(arg, &fake_front, &reply);
    return NULL;
}

/* Starts the action that waits, on a thread, and sends `text` once it does. */
static void send_while_waiting(const char *id, const char *text)
{
    char ask[200];
    (void)snprintf(ask, sizeof ask,
                   "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\","
                   "\"params\":{\"name\":\"wait\"}}",
                   id);
    reply = (struct reply){.out = &out};
    struct call *c = take_message(m, str_of(ask), &env, &reply);
    assert_non_null(c);
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, run_waiting, c), 0);
    fake_await(&fake.waiting, fake.stopped + 1);
    scoped_buf struct buf nothing;
    buf_init(&nothing, 1000);
    struct reply other = {.out = &nothing};
    assert_null(take_message(m, str_of(text), &env, &other));
    assert_int_equal(nothing.n, 0);
    pthread_join(t, NULL);
}

static void who_cancels_a_call_hears_no_more_of_it(void **state)
{
    (void)state;
    send_while_waiting("7", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                            "\"params\":{\"requestId\":7,\"reason\":\"x\"}}");
    assert_int_equal(fake.stopped, 1);
    assert_int_equal(out.n, 0);
    /* Over HTTP every request needs an answer. */
    env.http = true;
    send_while_waiting("\"7\"",
                       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                       "\"params\":{\"requestId\":\"7\"}}");
    assert_non_null(strstr(buf_cz(&out), "cancelled by its client"));
}

static void only_the_call_that_is_meant_is_cancelled(void **state)
{
    (void)state;
    struct call *calls[3];
    static const char *const ids[] = {"7", "\"7\"", "8"};
    for (size_t i = 0; i < 3; i++) {
        char ask[200];
        (void)snprintf(ask, sizeof ask,
                       "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\","
                       "\"params\":{\"name\":\"wait\"}}",
                       ids[i]);
        calls[i] = take_message(m, str_of(ask), &env, &reply);
        assert_non_null(calls[i]);
    }
    struct session other = {.there = true, .id = {1}};
    struct envelope stranger = {.session = &other};
    const char *cancel = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                         "\"params\":{\"requestId\":\"7\"}}";
    assert_null(take_message(m, str_of(cancel), &stranger, &reply));
    assert_false(cancel_fired(calls[1]->cancel));
    assert_null(take_message(m, str_of(cancel), &env, &reply));
    assert_false(cancel_fired(calls[0]->cancel));
    assert_true(cancel_fired(calls[1]->cancel));
    assert_false(cancel_fired(calls[2]->cancel));
    /* What is cancelled before it begins does not run. */
    reply = (struct reply){.out = &out};
    call_run(calls[1], &fake_front, &reply);
    assert_int_equal(fake.ran, 0);
    assert_int_equal(fake.cancelled, 1); /* but is notified */
    assert_int_equal(out.n, 0);
    call_drop(calls[0]);
    call_drop(calls[2]);
}

/* ---- batches ------------------------------------------------------------ */

static void batches_are_for_the_one_version_that_knows_them(void **state)
{
    (void)state;
    const char *batch =
        "[" REQUEST("1", "ping", "") ",{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}," REQUEST(
            "2", "tools/call", "\"name\":\"echo\"") "," OPEN("2025-11-25") ",7]";
    assert_int_equal(code_of(send(batch)), RPC_REQUEST);
    send(OPEN("2025-06-18"));
    assert_int_equal(code_of(send(batch)), RPC_REQUEST);
    assert_int_equal(fake.ran, 0);

    send(OPEN("2025-03-26"));
    buf_clear(&out);
    reply = (struct reply){.out = &out};
    struct call *c = take_message(m, str_of(batch), &env, &reply);
    assert_non_null(c);
    call_run(c, &fake_front, &reply);
    struct err e = {0};
    const struct json *v = json_read(buf_view(&out), arena, &e);
    assert_int_equal(json_length(v), 4);
    assert_int_equal(json_int(fake_at(v, "0.id"), 0), 1);
    assert_int_equal(json_int(fake_at(v, "1.id"), 0), 2);
    assert_non_null(fake_at(v, "1.result.content"));
    assert_int_equal(json_int(fake_at(v, "2.error.code"), 0), RPC_REQUEST);
    assert_int_equal(json_int(fake_at(v, "3.error.code"), 0), RPC_REQUEST);
    assert_int_equal(code_of(send("[]")), RPC_REQUEST);
}

static void a_batch_without_requests_gets_no_answer(void **state)
{
    (void)state;
    send(OPEN("2025-03-26"));
    assert_null(send("[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]"));
    assert_int_equal(reply.status, 202);
}

#define test(f) cmocka_unit_test_setup_teardown(f, opened, closed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(what_is_no_json_is_a_parse_error),
        test(a_request_that_is_json_is_refused_by_its_id),
        test(an_id_that_is_not_there_once_is_none),
        test(a_bomb_of_brackets_is_a_parse_error),
        test(what_is_no_request_is_invalid),
        test(an_id_comes_back_as_it_was),
        test(parameters_of_a_wrong_type_are_refused),
        test(an_unknown_method_is_told_at_once),
        test(notifications_and_responses_get_no_answer),
        test(initialize_agrees_on_a_version),
        test(the_list_of_tools_is_whole_and_on_one_line),
        test(a_cursor_that_was_never_given_is_refused),
        test(a_broken_schema_is_our_own_fault),
        test(discover_tells_what_is_served),
        test(what_a_newer_request_needs_is_asked_for),
        test(a_version_that_is_not_served_is_named),
        test(what_the_newer_era_dropped_is_unknown_there),
        test(both_eras_are_served_side_by_side),
        test(a_call_answers_in_both_forms),
        test(what_ran_and_was_not_done_is_an_error_result),
        test(a_failure_is_an_error_result_that_says_what_would_do),
        test(an_unknown_tool_is_a_protocol_error),
        test(who_cancels_a_call_hears_no_more_of_it),
        test(only_the_call_that_is_meant_is_cancelled),
        test(batches_are_for_the_one_version_that_knows_them),
        test(a_batch_without_requests_gets_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
