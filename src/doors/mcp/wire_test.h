/* mcp/wire_test.h - a server on a local port and its clients' requests, for this room's
 * tests. Only for *_test.c. */
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/system_test.h"
#include "mcp/fake_test.h"

static struct mcp *m;
static struct http_server *server;
static struct http_route route;
static uint16_t port;

static inline int opened(void **state)
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

static inline int closed(void **state)
{
    (void)state;
    http_close(server, 0);
    mcp_close(m);
    return 0;
}

static inline int call(void)
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
static inline int ask(const char *method, const char *headers, const char *body)
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

#define JSON "Content-Type: application/json\r\n"
#define assert_status(text, status) \
    assert_memory_equal((text), "HTTP/1.1 " #status " ", sizeof "HTTP/1.1 " #status)
#define assert_says(text, part) assert_non_null(strstr((text), (part)))
#define assert_silent(text) assert_string_equal(strstr((text), "\r\n\r\n"), "\r\n\r\n")

static inline const char *post(const char *headers, const char *body)
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
static inline const char *session(void)
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
