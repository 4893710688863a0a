#include "mcp/wire_test.h"

static void a_message_is_answered_with_json(void **state)
{
    (void)state;
    const char *text = post("", PING);
    assert_status(text, 200);
    assert_says(text, "Content-Type: application/json\r\n");
    assert_says(text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    text = post("", CALL("\"a\"", "echo"));
    assert_status(text, 200);
    assert_says(text, "\"id\":\"a\",\"result\":{\"content\"");
}

static void notifications_are_accepted_in_silence(void **state)
{
    (void)state;
    const char *text =
        post("", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    assert_status(text, 202);
    assert_silent(text);
    text = post("", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    assert_status(text, 202);
    assert_silent(text);
}

static void broken_messages_are_400(void **state)
{
    (void)state;
    assert_status(post("", "{"), 400);
    assert_status(post("", ""), 400);
    assert_status(post("", "[]"), 400);
    assert_status(post("", "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}"), 400);
}

static void only_json_is_taken(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "Content-Type: text/plain\r\n",
        "Content-Type: application/jsonx\r\n",
        "Content-Type: application/x-www-form-urlencoded\r\n",
        "Content-Type:\r\n",
    };
    for (size_t i = 0; i < LENGTH(wrong); i++)
        assert_status(hear(ask("POST", wrong[i], PING)), 415);
    assert_status(
        hear(ask("POST", "content-type: Application/JSON ; charset=utf-8\r\n", PING)),
        200);
}

static void accept_is_read_kindly(void **state)
{
    (void)state;
    static const char *const fine[] = {
        "",
        "Accept: */*\r\n",
        "Accept: application/json\r\n",
        "Accept: application/json, text/event-stream\r\n",
        "Accept: text/event-stream\r\n",
        "Accept: text/html, application/*;q=0.1\r\n",
        "Accept:\r\n",
    };
    for (size_t i = 0; i < LENGTH(fine); i++)
        assert_status(post(fine[i], PING), 200);
    assert_status(post("Accept: text/html, image/png\r\n", PING), 406);
}

static void other_methods_are_named_in_allow(void **state)
{
    (void)state;
    static const char *const others[] = {"GET", "PUT", "PATCH", "DELETE", "FOO"};
    for (size_t i = 0; i < LENGTH(others); i++) {
        const char *text = hear(ask(others[i], "Accept: text/event-stream\r\n", NULL));
        assert_status(text, 405);
        assert_says(text, "Allow: POST, GET, DELETE, OPTIONS\r\n");
    }
    const char *text = hear(ask("OPTIONS", "", NULL));
    assert_status(text, 204);
    assert_says(text, "Allow: POST, GET, DELETE, OPTIONS\r\n");
    text = hear(ask("HEAD", "", NULL));
    assert_status(text, 405);
    assert_silent(text);
}

static void a_session_lives_until_it_is_deleted(void **state)
{
    (void)state;
    const char *mine = session();
    assert_status(post(mine, PING), 200);
    assert_status(hear(ask("DELETE", mine, NULL)), 204);
    assert_status(post(mine, PING), 404);
    assert_status(hear(ask("DELETE", mine, NULL)), 404);
    /* Another session can be opened, even with the old one's name. */
    const char *text = post(mine, OPEN);
    assert_status(text, 200);
    assert_says(text, "Mcp-Session-Id: ");
    assert_status(post("Mcp-Session-Id: made-up\r\n", PING), 404);
    assert_status(post("", PING), 200);
}

static void a_call_is_cancelled_within_its_session(void **state)
{
    (void)state;
    char mine[100], other[100], headers[200];
    (void)snprintf(mine, sizeof mine, "%s", session());
    (void)snprintf(other, sizeof other, "%s", session());
    (void)snprintf(headers, sizeof headers, JSON "%s", mine);
    int fd = ask("POST", headers, CALL("5", "wait"));
    fake_await(&fake.waiting, 1);
    assert_status(post(other, CANCEL("5")), 202);
    assert_status(post("", CANCEL("5")), 202);
    assert_status(post(mine, CANCEL("6")), 202);
    assert_int_equal(fake.stopped, 0);
    assert_status(post(mine, CANCEL("5")), 202);
    const char *text = hear(fd);
    assert_status(text, 200);
    assert_says(text, "\"id\":5,\"error\"");
    assert_int_equal(fake.stopped, 1);
}

static void deleting_a_session_stops_its_calls(void **state)
{
    (void)state;
    char mine[100], headers[200];
    (void)snprintf(mine, sizeof mine, "%s", session());
    (void)snprintf(headers, sizeof headers, JSON "%s", mine);
    int fd = ask("POST", headers, CALL("5", "wait"));
    fake_await(&fake.waiting, 1);
    assert_status(hear(ask("DELETE", mine, NULL)), 204);
    fake_await(&fake.stopped, 1);
    assert_status(hear(fd), 200);
}

static void hanging_up_cancels_the_call(void **state)
{
    (void)state;
    int fd = ask("POST", JSON, CALL("5", "wait"));
    fake_await(&fake.waiting, 1);
    close(fd);
    fake_await(&fake.stopped, 1);
    assert_status(post("", PING), 200);
}

static void pings_and_cancellations_pass_calls_that_wait(void **state)
{
    (void)state;
    char mine[100], headers[200];
    (void)snprintf(mine, sizeof mine, "%s", session());
    (void)snprintf(headers, sizeof headers, JSON "%s", mine);
    int fds[3];
    fds[0] = ask("POST", headers, CALL("1", "wait"));
    fds[1] = ask("POST", headers, CALL("2", "wait"));
    fake_await(&fake.waiting, 2); /* both workers are busy */
    fds[2] = ask("POST", headers, CALL("3", "wait"));
    assert_status(post(mine, PING), 200);
    /* The third was read before the ping: it does not begin at all. */
    assert_status(post(mine, CANCEL("3")), 202);
    assert_status(post(mine, CANCEL("1")), 202);
    assert_status(post(mine, CANCEL("2")), 202);
    for (int i = 0; i < 3; i++)
        assert_says(hear(fds[i]), "cancelled by its client");
    assert_int_equal(fake.ran, 2);
}

static void a_large_message_is_read_by_a_worker(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    buf_cstr(&b, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                 "\"name\":\"echo\",\"arguments\":{\"a\":\"");
    for (int i = 0; i < 100000; i++)
        buf_char(&b, 'x');
    buf_cstr(&b, "\"}}}");
    const char *text = post("", buf_cz(&b));
    assert_status(text, 200);
    assert_true(strlen(text) > 200000);
}

static void the_newer_era_answers_by_status(void **state)
{
    (void)state;
#define META                                                                 \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
    const char *discover = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\","
                           "\"params\":{" META "}}";
    assert_status(post("MCP-Protocol-Version: 2026-07-28\r\n"
                       "Mcp-Method: server/discover\r\n",
                       discover),
                  200);
    assert_status(post("mcp-protocol-version: 2026-07-28\r\n"
                       "MCP-METHOD:   server/discover  \r\n",
                       discover),
                  200);
    assert_status(post("MCP-Protocol-Version: 2026-07-28\r\n"
                       "Mcp-Method: server/discover\r\n"
                       "Mcp-Method: server/discover\r\n",
                       discover),
                  400);
    const char *text = post("MCP-Protocol-Version: 2026-07-28\r\n", discover);
    assert_status(text, 400);
    assert_says(text, "-32020");
    assert_null(strstr(text, "Mcp-Session-Id"));
    text =
        post("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: ping\r\n",
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{" META "}}");
    assert_status(text, 404);
    assert_says(text, "-32601");
}

static void who_finds_it_busy_is_told_in_json_rpc(void **state)
{
    http_close(server, 0);
    struct err e = {0};
    struct http_options o = {.listen = "127.0.0.1:0",
                             .routes = &route,
                             .n_routes = 1,
                             .workers = 1,
                             .queue_max = 1};
    server = http_open(&o, &e);
    assert_non_null(server);
    port = (uint16_t)atoi(strrchr(http_url(server), ':') + 1);
    int fds[2] = {ask("POST", JSON, CALL("1", "wait")), -1};
    fake_await(&fake.waiting, 1);
    fds[1] = ask("POST", JSON, CALL("2", "wait"));
    /* Which of the next two gets room is undetermined; one does not. */
    const char *text = "";
    for (unsigned i = 0; i < 100 && !strstr(text, "-32"); i++) {
        int fd = ask("POST", JSON, CALL("\"third\"", "echo"));
        struct timeval soon = {.tv_usec = 50000};
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
        text = hear(fd);
    }
    assert_status(text, 503);
    assert_says(text, "Content-Type: application/json\r\n");
    assert_says(text, "\"id\":\"third\",\"error\":{\"code\":");
    close(fds[0]);
    close(fds[1]);
    (void)state;
}

#define test(f) cmocka_unit_test_setup_teardown(f, opened, closed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_message_is_answered_with_json),
        test(notifications_are_accepted_in_silence),
        test(broken_messages_are_400),
        test(only_json_is_taken),
        test(accept_is_read_kindly),
        test(other_methods_are_named_in_allow),
        test(a_session_lives_until_it_is_deleted),
        test(a_call_is_cancelled_within_its_session),
        test(deleting_a_session_stops_its_calls),
        test(hanging_up_cancels_the_call),
        test(pings_and_cancellations_pass_calls_that_wait),
        test(a_large_message_is_read_by_a_worker),
        test(the_newer_era_answers_by_status),
        test(who_finds_it_busy_is_told_in_json_rpc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
