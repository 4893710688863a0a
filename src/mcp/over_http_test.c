#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mcp/fake_test.h"

static struct mcp *m;
static struct http_server *server;
static struct http_route route;
static uint16_t port;

static int opened(void **state)
{
    (void)state;
    struct err e = {0};
    m = fake_mcp();
    route = mcp_route(m);
    struct http_options o = {
        .listen = "127.0.0.1:0", .routes = &route, .n_routes = 1, .workers = 2};
    server = http_open(&o, &e);
    if (!server)
        fail_msg("%s", e.msg);
    port = (uint16_t)atoi(strrchr(http_url(server), ':') + 1);
    return 0;
}

static int closed(void **state)
{
    (void)state;
    http_close(server, 0);
    mcp_close(m);
    return 0;
}

static int call(void)
{
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof sa), 0);
    return fd;
}

/* `headers` with their line ends. */
static int ask(const char *method, const char *headers, const char *body)
{
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    buf_printf(&b, "%s /mcp HTTP/1.1\r\nHost: localhost:%u\r\nConnection: close\r\n%s",
               method, port, headers);
    if (body)
        buf_printf(&b, "Content-Length: %zu\r\n", strlen(body));
    buf_cstr(&b, "\r\n");
    if (body)
        buf_cstr(&b, body);
    int fd = call();
    for (size_t sent = 0; sent < b.n;) {
        ssize_t n = send(fd, b.at + sent, b.n - sent, MSG_NOSIGNAL);
        assert_true(n > 0);
        sent += (size_t)n;
    }
    return fd;
}

static const char *hear(int fd)
{
    static struct buf b;
    if (!b.ceiling)
        buf_init(&b, 8 << 20);
    buf_clear(&b);
    char piece[4096];
    ssize_t n;
    while ((n = recv(fd, piece, sizeof piece, 0)) > 0)
        buf_put(&b, piece, (size_t)n);
    close(fd);
    return buf_cz(&b);
}

#define JSON "Content-Type: application/json\r\n"
#define assert_status(text, status) \
    assert_memory_equal((text), "HTTP/1.1 " #status " ", sizeof "HTTP/1.1 " #status)
#define assert_says(text, part) assert_non_null(strstr((text), (part)))
#define assert_silent(text) assert_string_equal(strstr((text), "\r\n\r\n"), "\r\n\r\n")

static const char *post(const char *headers, const char *body)
{
    char all[1024];
    (void)snprintf(all, sizeof all, JSON "%s", headers);
    return hear(ask("POST", all, body));
}

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define OPEN                                                               \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{" \
    "\"protocolVersion\":\"2025-06-18\"}}"
#define CALL(id, name)                                                          \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{" \
    "\"name\":\"" name "\"}}"
#define CANCEL(id)                                                             \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{" \
    "\"requestId\":" id "}}"

/* The header that names a session that was opened. */
static const char *session(void)
{
    static char header[100];
    const char *text = post("", OPEN);
    assert_status(text, 200);
    const char *at = strstr(text, "Mcp-Session-Id: ");
    assert_non_null(at);
    (void)snprintf(header, sizeof header, "%.*s\r\n",
                   (int)(strlen("Mcp-Session-Id: ") + SESSION_TEXT), at);
    return header;
}

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
        assert_says(text, "Allow: POST, DELETE, OPTIONS\r\n");
    }
    const char *text = hear(ask("OPTIONS", "", NULL));
    assert_status(text, 204);
    assert_says(text, "Allow: POST, DELETE, OPTIONS\r\n");
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
    /* Another can be opened even with the old one's name. */
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
