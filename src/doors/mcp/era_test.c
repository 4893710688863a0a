/* Required headers over HTTP, in both eras. */
#include <stdio.h>

#include "mcp/fake_test.h"

static struct mcp *m;
static struct session session;
static struct envelope env;
static struct buf out;
static struct reply reply;

static int opened(void **state)
{
    (void)state;
    m = fake_mcp();
    session = (struct session){0};
    env = (struct envelope){.http = true, .session = &session};
    buf_init(&out, 1 << 20);
    return 0;
}

static int closed(void **state)
{
    (void)state;
    buf_done(&out);
    mcp_close(m);
    return 0;
}

static void send(const char *text)
{
    buf_clear(&out);
    reply = (struct reply){.out = &out};
    struct call *c = take_message(m, str_of(text), &env, &reply);
    if (c)
        call_run(c, &fake_front, &reply);
}

static int code(void)
{
    const char *at = strstr(buf_cz(&out), "\"error\":{\"code\":");
    return at ? atoi(at + strlen("\"error\":{\"code\":")) : 0;
}

static void headers(const char *version, const char *method, const char *name)
{
    env.version = version ? str_of(version) : (struct str){0};
    env.method = method ? str_of(method) : (struct str){0};
    env.name = name ? str_of(name) : (struct str){0};
}

#define MODERN                                                               \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define META_LEVEL(level)                                                    \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{},"                     \
    "\"io.modelcontextprotocol/logLevel\":\"" level "\"}"
#define REQUEST(method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{" params "}}"
#define LIST REQUEST("tools/list", MODERN)
#define CALL(name) REQUEST("tools/call", "\"name\":\"" name "\"," MODERN)

#define assert_mismatch()                              \
    do {                                               \
        assert_int_equal(code(), MCP_HEADER_MISMATCH); \
        assert_int_equal(reply.status, 400);           \
    } while (0)

static void headers_that_repeat_the_body_are_fine(void **state)
{
    (void)state;
    headers("2026-07-28", "tools/list", NULL);
    send(LIST);
    assert_int_equal(code(), 0);
    assert_int_equal(reply.status, 200);
    headers("2026-07-28", "tools/call", "echo");
    send(CALL("echo"));
    assert_int_equal(code(), 0);
    assert_int_equal(fake.ran, 1);
}

static void headers_that_say_something_else_are_a_mismatch(void **state)
{
    (void)state;
    static const struct {
        const char *version, *method, *name;
    } rows[] = {
        {NULL, "tools/call", "echo"},         {"2025-11-25", "tools/call", "echo"},
        {"2099-01-01", "tools/call", "echo"}, {"2026-07-28", NULL, "echo"},
        {"2026-07-28", "tools/list", "echo"}, {"2026-07-28", "TOOLS/CALL", "echo"},
        {"2026-07-28", "", "echo"},           {"2026-07-28", "tools/call", NULL},
        {"2026-07-28", "tools/call", "fail"}, {"2026-07-28", "tools/call", "ECHO"},
        {"2026-07-28", "tools/call", ""},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        headers(rows[i].version, rows[i].method, rows[i].name);
        send(CALL("echo"));
        assert_mismatch();
    }
    assert_int_equal(fake.ran, 0);
}

static void a_header_twice_is_a_mismatch(void **state)
{
    (void)state;
    headers("2026-07-28", "tools/list", NULL);
    env.repeated = true;
    send(LIST);
    assert_mismatch();
}

static void a_name_may_be_encoded(void **state)
{
    (void)state;
    static const struct {
        const char *plain, *coded;
        bool same;
    } rows[] = {
        {"echo", "=?base64?ZWNobw==?=", true},
        {"echo", "=?base64?ZWNobw?=", false},   /* without its padding */
        {"echo", "=?base64?ZWNobx==?=", false}, /* the same bytes, bits left over */
        {"echo", "=?BASE64?ZWNobw==?=", false},
        {"echo", "=?base64?\?=", false},
        {"echo", "=?base64?ZWNo?=", false},
        {"echo", "=?base64?ZWNobyE=?=", false},
        {"abc", "=?base64?YWJj?=", true},
        {"ab", "=?base64?YWI=?=", true},
        {"ab", "=?base64?YWJ=?=", false},
        {"h\xc3\xa9", "=?base64?aMOp?=", true},
        {"h\xc3\xa9", "h\xc3\xa9", false}, /* not to be sent plain */
        {"=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?=", true},
        {"=?base64?x?=", "=?base64?x?=", false},
        {"", "=?base64?\?=", true},
        {"a", "=?base64?=", false},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char text[400];
        (void)snprintf(text, sizeof text,
                       REQUEST("tools/call", "\"name\":\"%s\"," MODERN), rows[i].plain);
        headers("2026-07-28", "tools/call", rows[i].coded);
        send(text);
        assert_int_equal(code() != MCP_HEADER_MISMATCH, rows[i].same);
    }
}

static void an_unknown_method_is_404_once_its_headers_agree(void **state)
{
    (void)state;
    headers("2026-07-28", "nope", NULL);
    send(REQUEST("nope", MODERN));
    assert_int_equal(code(), RPC_METHOD);
    assert_int_equal(reply.status, 404);
    headers("2026-07-28", "other", NULL);
    send(REQUEST("nope", MODERN));
    assert_mismatch();
    headers("2026-07-28", "initialize", NULL);
    send(REQUEST("initialize", "\"protocolVersion\":\"2025-11-25\"," MODERN));
    assert_int_equal(code(), RPC_METHOD);
}

static void a_newer_header_needs_newer_parameters(void **state)
{
    (void)state;
    headers("2026-07-28", "tools/list", NULL);
    send(REQUEST("tools/list", ""));
    assert_int_equal(code(), RPC_PARAMS);
    assert_int_equal(reply.status, 400);
    /* `initialize` means the older era, whatever the header. */
    headers("2026-07-28", "initialize", NULL);
    send(REQUEST("initialize", "\"protocolVersion\":\"2025-11-25\""));
    assert_int_equal(code(), 0);
    assert_true(reply.opened);
}

static void a_version_nobody_knows_is_400_for_all(void **state)
{
    (void)state;
    static const char *const messages[] = {
        REQUEST("tools/list", ""),
        REQUEST("ping", ""),
        REQUEST("initialize", "\"protocolVersion\":\"2025-11-25\""),
    };
    for (size_t i = 0; i < LENGTH(messages); i++) {
        headers("1900-01-01", NULL, NULL);
        send(messages[i]);
        assert_int_equal(reply.status, 400);
        assert_int_equal(code(), MCP_UNSUPPORTED_VERSION);
    }
    send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    assert_int_equal(reply.status, 400);
}

static void a_notification_says_the_same_in_its_headers(void **state)
{
    (void)state;
    static const char *const notice =
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{" MODERN "}}";
    headers("2026-07-28", "notifications/x", NULL);
    send(notice);
    assert_int_equal(reply.status, 202);
    assert_int_equal(out.n, 0);
    headers("2026-07-28", "tools/list", NULL);
    send(notice);
    assert_mismatch();
    headers("2025-11-25", "notifications/x", NULL);
    send(notice);
    assert_mismatch();
}

static void a_level_that_no_log_has_is_refused(void **state)
{
    (void)state;
    headers("2026-07-28", "tools/list", NULL);
    send(REQUEST("tools/list", META_LEVEL("loud")));
    assert_int_equal(code(), RPC_PARAMS);
    assert_int_equal(reply.status, 400);
    send(REQUEST("tools/list", META_LEVEL("debug")));
    assert_int_equal(code(), 0);
}

static void older_versions_need_no_more_than_their_name(void **state)
{
    (void)state;
    static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                           NULL};
    for (size_t i = 0; i < LENGTH(versions); i++) {
        headers(versions[i], NULL, NULL);
        send(REQUEST("tools/call", "\"name\":\"echo\""));
        assert_int_equal(code(), 0);
        assert_int_equal(reply.status, 200);
        /* Errors of theirs are not the transport's. */
        send(REQUEST("nope", ""));
        assert_int_equal(code(), RPC_METHOD);
        assert_int_equal(reply.status, 200);
    }
}

static void a_lost_session_is_404_but_to_who_opens_one(void **state)
{
    (void)state;
    env.lost_session = true;
    headers("2025-11-25", NULL, NULL);
    send(REQUEST("tools/list", ""));
    assert_int_equal(reply.status, 404);
    send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    assert_int_equal(reply.status, 404);
    send(REQUEST("initialize", "\"protocolVersion\":\"2025-11-25\""));
    assert_int_equal(reply.status, 200);
    /* The newer era has no sessions, and ignores their header. */
    headers("2026-07-28", "tools/list", NULL);
    send(LIST);
    assert_int_equal(reply.status, 200);
}

#define test(f) cmocka_unit_test_setup_teardown(f, opened, closed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(headers_that_repeat_the_body_are_fine),
        test(headers_that_say_something_else_are_a_mismatch),
        test(a_header_twice_is_a_mismatch),
        test(a_name_may_be_encoded),
        test(an_unknown_method_is_404_once_its_headers_agree),
        test(a_newer_header_needs_newer_parameters),
        test(a_version_nobody_knows_is_400_for_all),
        test(a_notification_says_the_same_in_its_headers),
        test(a_level_that_no_log_has_is_refused),
        test(older_versions_need_no_more_than_their_name),
        test(a_lost_session_is_404_but_to_who_opens_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
