/* Fetches from a server of this test's own, on loopback, by an explicit grant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/system_test.h"
#include "egress/internal.h"

/* ---- the server: one answer a connection, then it closes ---------------- */

#define ANSWERS_MAX 16

struct server {
    int fd;
    uint16_t port;
    pthread_t thread;
    char *answers[ANSWERS_MAX];
    size_t count;
    char requests[ANSWERS_MAX][8192];
    bool silent; /* accepts requests, answers none */
};

static size_t body_length(const char *request)
{
    const char *at = strcasestr(request, "\r\ncontent-length:");
    return at ? strtoul(at + 17, NULL, 10) : 0;
}

static void read_request(int fd, char *out, size_t room)
{
    size_t n = 0;
    for (;;) {
        ssize_t got = recv(fd, out + n, room - 1 - n, 0);
        if (got <= 0)
            return;
        n += (size_t)got;
        out[n] = '\0';
        const char *end = strstr(out, "\r\n\r\n");
        if (end && n >= (size_t)(end + 4 - out) + body_length(out))
            return;
    }
}

static void *serve(void *arg)
{
    struct server *s = arg;
    char rest[1024];
    for (size_t i = 0; i < s->count; i++) {
        int c = accept(s->fd, NULL, NULL);
        if (c < 0)
            break;
        read_request(c, s->requests[i], sizeof s->requests[i]);
        if (!s->silent) {
            (void)!send(c, s->answers[i], strlen(s->answers[i]), MSG_NOSIGNAL);
            shutdown(c, SHUT_WR);
        }
        while (recv(c, rest, sizeof rest, 0) > 0)
            ;
        close(c);
    }
    return NULL;
}

static void server_begin(struct server *s)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(bind(s->fd, (struct sockaddr *)&at, size) == 0 && listen(s->fd, 8) == 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&at, &size), 0);
    s->port = ntohs(at.sin_port);
}

/* An answer; "@" in it stands for the server's address. */
static void answer(struct server *s, const char *text)
{
    struct buf out;
    buf_init(&out, (size_t)1 << 20);
    for (; *text; text++)
        if (*text == '@')
            buf_printf(&out, "127.0.0.1:%u", s->port);
        else
            buf_char(&out, *text);
    (void)buf_cz(&out);
    s->answers[s->count++] = out.at;
}

static void server_run(struct server *s)
{
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void server_end(struct server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
    for (size_t i = 0; i < s->count; i++)
        free(s->answers[i]);
}

/* ---- a session ---------------------------------------------------------- */

/* All fetches: by a thread that waits, or by the loop. */
static struct egress_loop *loop;

struct trial {
    struct server server;
    struct egress_rules *rules;
    struct egress_options options;
    struct egress *session;
    struct egress_response out;
    struct err e;
    char hosts[400]; /* reported by tell() */
};

static void note_hop(void *arg, const struct egress_hop *hop)
{
    struct trial *t = arg;
    size_t n = strlen(t->hosts);
    (void)snprintf(t->hosts + n, sizeof t->hosts - n, "%s %s %d;", hop->method, hop->host,
                   hop->status);
}

/* `network` with the server's port in the place of "@". */
static void begin(struct trial *t, const char *network)
{
    scoped_buf struct buf text;
    buf_init(&text, 4096);
    for (; *network; network++)
        if (*network == '@')
            buf_printf(&text, "%u", t->server.port);
        else
            buf_char(&text, *network);
    scoped(arena_free) struct arena *a = arena_new((size_t)1 << 20);
    t->rules = egress_rules_read(json_read(buf_view(&text), a, &t->e), &t->e);
    if (!t->rules)
        fail_msg("%s", t->e.msg);
    t->options.rules = t->rules;
    t->options.tell = note_hop;
    t->options.tell_arg = t;
    t->options.loop = loop;
    t->session = egress_open(&t->options);
    egress_response_init(&t->out);
    server_run(&t->server);
}

static void end(struct trial *t)
{
    egress_close(t->session);
    egress_response_done(&t->out);
    egress_rules_free(t->rules);
    server_end(&t->server);
}

struct bell {
    pthread_mutex_t lock;
    pthread_cond_t rings;
    bool rang;
};

static void ring(void *arg)
{
    struct bell *b = arg;
    pthread_mutex_lock(&b->lock);
    b->rang = true;
    pthread_cond_signal(&b->rings);
    pthread_mutex_unlock(&b->lock);
}

/* It polls for a cancel now and then, which does not ring. */
static void listen_for(struct bell *b)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec++;
    pthread_mutex_lock(&b->lock);
    while (!b->rang &&
           pthread_cond_clockwait(&b->rings, &b->lock, CLOCK_MONOTONIC, &until) == 0)
        ;
    b->rang = false;
    pthread_mutex_unlock(&b->lock);
}

static bool fetch_by(struct egress *g, const struct egress_request *q,
                     struct egress_response *out, struct err *e)
{
    struct bell b = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    if (!loop)
        return egress_fetch(g, q, out, e);
    struct egress_trip *trip = egress_begin(g, q, out, ring, &b, e);
    if (!trip)
        return false;
    while (!egress_look(trip))
        listen_for(&b);
    return egress_end(trip, e);
}

static bool fetch_with(struct trial *t, struct egress_request q, const char *path)
{
    char url[300];
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u%s", t->server.port, path);
    q.url = str_of(path[0] == '/' ? url : path);
    if (!q.method.n)
        q.method = STR("GET");
    egress_response_done(&t->out);
    egress_response_init(&t->out);
    t->e = (struct err){0};
    return fetch_by(t->session, &q, &t->out, &t->e);
}

static bool fetch(struct trial *t, const char *path)
{
    return fetch_with(t, (struct egress_request){0}, path);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in: %s", part, text);
}

static void assert_has_not(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("'%s' is in: %s", part, text);
}

#define GRANTED "{\"allowPrivate\":[\"127.0.0.1:@\"]}"

/* ---- plain fetches ------------------------------------------------------ */

static void an_answer_comes_with_status_headers_and_body(void **state)
{
    (void)state;
    struct trial t = {0};
    server_begin(&t.server);
    answer(&t.server, "HTTP/1.1 404 Not There\r\nX-One: 1\r\nx-one: 2\r\n\r\nbody");
    begin(&t, GRANTED);
    assert_true(fetch(&t, "/a?b=c#d"));
    assert_int_equal(t.out.status, 404);
    assert_string_equal(buf_cz(&t.out.status_text), "Not There");
    assert_string_equal(buf_cz(&t.out.headers), "[[\"x-one\",\"1\"],[\"x-one\",\"2\"]]");
    assert_string_equal(buf_cz(&t.out.body), "body");
    assert_has(buf_cz(&t.out.url), "/a?b=c");
    assert_has_not(buf_cz(&t.out.url), "#");
    assert_false(t.out.redirected);
    assert_has(t.server.requests[0], "GET /a?b=c HTTP/1.1\r\n");
    assert_has(t.server.requests[0], "Via: 1.1 cloche\r\n");
    assert_string_equal(t.hosts, "GET 127.0.0.1 404;");
    end(&t);
}

static void a_body_and_headers_are_sent(void **state)
{
    (void)state;
    struct trial t = {0};
    server_begin(&t.server);
    answer(&t.server, "HTTP/1.1 200 OK\r\n\r\n");
    begin(&t, GRANTED);
    const struct egress_header headers[] = {{STR("X-Mine"), STR("yes")},
                                            {STR("Host"), STR("evil.test")},
                                            {STR("Content-Length"), STR("999")},
                                            {STR("X-Empty"), STR("")},
                                            {STR("Content-Type"), STR("text/x")}};
    assert_true(fetch_with(&t,
                           (struct egress_request){.method = STR("PATCH"),
                                                   .headers = headers,
                                                   .header_count = LENGTH(headers),
                                                   .has_body = true,
                                                   .body = STR("hello")},
                           "/"));
    const char *sent = t.server.requests[0];
    assert_has(sent, "PATCH / HTTP/1.1\r\nHost: 127.0.0.1:");
    assert_has(sent, "X-Mine: yes\r\n");
    assert_has(sent, "X-Empty:\r\n");
    assert_has(sent, "Content-Length: 5\r\n");
    assert_has(sent, "Content-Type: text/x\r\n");
    assert_has(sent, "\r\n\r\nhello");
    assert_has_not(sent, "evil.test");
    assert_has_not(sent, "Expect");
    end(&t);
}

static void what_would_break_the_request_up_is_refused(void **state)
{
    (void)state;
    struct trial t = {0};
    server_begin(&t.server);
    begin(&t, GRANTED);
    static const struct egress_header wrong[] = {
        {STR("X-A"), STR("a\r\nX-B: b")}, {STR("X-A"), STR("a\nb")},
        {STR("X-A"), {"a\0b", 3}},        {STR("X A"), STR("a")},
        {STR("X-A\r\nB"), STR("a")},      {STR(""), STR("a")},
        {STR("X:A"), STR("a")},
    };
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        struct egress_request q = {.headers = &wrong[i], .header_count = 1};
        assert_false(fetch_with(&t, q, "/"));
        assert_int_equal(t.e.code, ERR_INVALID);
    }
    static const char *const methods[] = {
        "GET /x HTTP/1.1\r\n", "G ET", "TRACE", "connect", "A\n", "A\x80"};
    for (size_t i = 0; i < LENGTH(methods); i++) {
        struct egress_request q = {.method = str_of(methods[i])};
        assert_false(fetch_with(&t, q, "/"));
        assert_int_equal(t.e.code, ERR_INVALID);
    }
    struct egress_request get = {.has_body = true, .body = STR("x")};
    assert_false(fetch_with(&t, get, "/"));
    assert_int_equal(t.e.code, ERR_INVALID);
    assert_string_equal(t.hosts, "");
    end(&t);
}

/* ---- names and addresses ------------------------------------------------ */

static void a_name_that_leads_inside_is_refused_on_the_socket(void **state)
{
    (void)state;
    static const char *const inside[] = {
        "127.0.0.1", "10.1.2.3",      "169.254.169.254", "::1",
        "0.0.0.0",   "fd00:ec2::254", "::ffff:127.0.0.1"};
    for (size_t i = 0; i < LENGTH(inside); i++) {
        struct trial t = {0};
        char row[100];
        server_begin(&t.server);
        (void)snprintf(row, sizeof row, "good.test:%u:%s", t.server.port, inside[i]);
        t.options.resolve = (const char *const[]){row, NULL};
        begin(&t, "{\"hosts\":[\"http://good.test:@\"]}");
        char url[100];
        (void)snprintf(url, sizeof url, "http://good.test:%u/", t.server.port);
        assert_false(fetch(&t, url));
        assert_int_equal(t.e.code, ERR_DENIED);
        assert_has(t.e.msg, "good.test");
        assert_has(t.e.msg, "allowPrivate");
        assert_string_equal(t.server.requests[0], "");
        assert_string_equal(t.hosts, "GET good.test 0;");
        end(&t);
    }
}

static void a_name_may_lead_to_a_granted_address(void **state)
{
    (void)state;
    struct trial t = {0};
    char row[100], url[100];
    server_begin(&t.server);
    answer(&t.server, "HTTP/1.1 200 OK\r\n\r\nin");
    /* One address that is refused, then the granted one. */
    (void)snprintf(row, sizeof row, "nas.test:%u:127.0.0.9,127.0.0.1", t.server.port);
    t.options.resolve = (const char *const[]){row, NULL};
    begin(&t, "{\"hosts\":[\"http://nas.test:@\"],\"allowPrivate\":[\"127.0.0.1:@\"]}");
    (void)snprintf(url, sizeof url, "http://nas.test:%u/", t.server.port);
    assert_true(fetch(&t, url));
    assert_string_equal(buf_cz(&t.out.body), "in");
    end(&t);
}

static void our_own_port_is_never_reached(void **state)
{
    (void)state;
    struct trial t = {0};
    server_begin(&t.server);
    t.options.own_port = t.server.port;
    begin(&t, GRANTED);
    assert_false(fetch(&t, "/"));
    assert_int_equal(t.e.code, ERR_DENIED);
    assert_has(t.e.msg, "itself listens");
    end(&t);
}

/* ---- redirects ---------------------------------------------------------- */

static void redirects_are_followed_and_checked_again(void **state)
{
    (void)state;
    struct trial t = {0};
    server_begin(&t.server);
    answer(&t.server, "HTTP/1.1 302 Found\r\nLocation: /there\r\n\r\n");
    answer(&t.server, "HTTP/1.1 200 OK\r\n\r\nthere");
    answer(&t.server, "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n");
    answer(&t.server, "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n");
    answer(&t.server, "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n");
    answer(&t.server, "HTTP/1.1 302 Found\r\nLocation: http://a:b@@/\r\n\r\n");
    begin(&t, GRANTED);
    assert_true(fetch(&t, "/here"));
    assert_true(t.out.redirected);
    assert_has(buf_cz(&t.out.url), "/there");
    assert_string_equal(buf_cz(&t.out.body), "there");
    assert_false(fetch(&t, "/"));
    assert_int_equal(t.e.code, ERR_DENIED);
    assert_false(fetch(&t, "/"));
    assert_int_equal(t.e.code, ERR_DENIED);
    assert_false(fetch(&t, "/"));
    assert_int_equal(t.e.code, ERR_INVALID);
    assert_false(fetch(&t, "/"));
    assert_int_equal(t.e.code, ERR_INVALID);
    end(&t);
}

static void a_redirect_can_be_left_alone_or_refused(void **state)
{
    (void)state;
    struct trial t = {0};
    server_begin(&t.server);
    for (int i = 0; i < 2; i++)
        answer(&t.server, "HTTP/1.1 301 Moved\r\nLocation: /x\r\n\r\n");
    begin(&t, GRANTED);
    assert_true(fetch_with(&t, (struct egress_request){.redirect = EGRESS_MANUAL}, "/"));
    assert_int_equal(t.out.status, 301);
    assert_has(buf_cz(&t.out.headers), "[\"location\",\"/x\"]");
    assert_false(fetch_with(&t, (struct egress_request){.redirect = EGRESS_ERROR}, "/"));
    assert_int_equal(t.e.code, ERR_IO);
    end(&t);
}

static void redirects_end(void **state)
{
    (void)state;
    struct trial t = {0};
    server_begin(&t.server);
    for (int i = 0; i < 4; i++)
        answer(&t.server, "HTTP/1.1 307 Again\r\nLocation: /\r\n\r\n");
    t.options.redirects_max = 3;
    begin(&t, GRANTED);
    assert_false(fetch(&t, "/"));
    assert_int_equal(t.e.code, ERR_LIMIT);
    end(&t);
}

static void a_post_becomes_a_get_as_browsers_do(void **state)
{
    (void)state;
    struct trial t = {0};
    server_begin(&t.server);
    answer(&t.server, "HTTP/1.1 303 See\r\nLocation: /got\r\n\r\n");
    answer(&t.server, "HTTP/1.1 200 OK\r\n\r\n");
    answer(&t.server, "HTTP/1.1 308 Same\r\nLocation: /put\r\n\r\n");
    answer(&t.server, "HTTP/1.1 200 OK\r\n\r\n");
    begin(&t, GRANTED);
    const struct egress_header type = {STR("Content-Type"), STR("text/x")};
    struct egress_request q = {.method = STR("POST"),
                               .headers = &type,
                               .header_count = 1,
                               .has_body = true,
                               .body = STR("hello")};
    assert_true(fetch_with(&t, q, "/"));
    assert_has(t.server.requests[1], "GET /got ");
    assert_has_not(t.server.requests[1], "text/x");
    assert_true(fetch_with(&t, q, "/"));
    assert_has(t.server.requests[3], "POST /put ");
    assert_has(t.server.requests[3], "hello");
    end(&t);
}

static void what_is_another_origins_does_not_go_along(void **state)
{
    (void)state;
    struct trial t = {0};
    char row[100];
    server_begin(&t.server);
    answer(&t.server, "HTTP/1.1 302 Found\r\nLocation: /same\r\n\r\n");
    char away[200];
    (void)snprintf(away, sizeof away,
                   "HTTP/1.1 302 Found\r\nLocation: http://other.test:%u/\r\n\r\n",
                   t.server.port);
    answer(&t.server, away);
    answer(&t.server, "HTTP/1.1 302 Found\r\nLocation: http://@/back\r\n\r\n");
    answer(&t.server, "HTTP/1.1 200 OK\r\n\r\n");
    (void)snprintf(row, sizeof row, "other.test:%u:127.0.0.1", t.server.port);
    t.options.resolve = (const char *const[]){row, NULL};
    begin(&t, "{\"hosts\":[\"http://other.test:@\"],\"allowPrivate\":[\"127.0.0.1:@\"],"
              "\"secrets\":{\"KEY\":{\"value\":\"0123456789\",\"hosts\":["
              "\"http://127.0.0.1:@\"]}}}");
    const struct egress_header headers[] = {{STR("Authorization"), STR("Basic YTpi")},
                                            {STR("Cookie"), STR("a=b")},
                                            {STR("X-Key"), STR("k {{secret:KEY}}")},
                                            {STR("X-Plain"), STR("p")}};
    assert_true(fetch_with(
        &t, (struct egress_request){.headers = headers, .header_count = LENGTH(headers)},
        "/"));
    assert_has(t.server.requests[1], "Authorization: Basic YTpi\r\n");
    assert_has(t.server.requests[1], "X-Key: k 0123456789\r\n");
    for (int i = 2; i < 4; i++) {
        assert_has_not(t.server.requests[i], "Authorization");
        assert_has_not(t.server.requests[i], "Cookie");
        assert_has_not(t.server.requests[i], "X-Key");
        assert_has(t.server.requests[i], "X-Plain: p\r\n");
    }
    assert_string_equal(
        t.hosts,
        "GET 127.0.0.1 302;GET 127.0.0.1 302;GET other.test 302;GET 127.0.0.1 200;");
    end(&t);
}

/* ---- secrets ------------------------------------------------------------ */

#define KEYED(more)                                                                            \
    "{\"allowPrivate\":[\"127.0.0.1:@\"],\"secrets\":{\"KEY\":{\"value\":\"s3cr\\\"t/+1234\"," \
    "\"hosts\":[\"http://127.0.0.1:@\"]" more "}}}"

static void a_secret_is_put_in_and_taken_out_again(void **state)
{
    (void)state;
    struct trial t = {0};
    server_begin(&t.server);
    answer(&t.server, "HTTP/1.1 200 s3cr\"t/+1234\r\nX-Echo: s3cr\"t/+1234\r\n"
                      "\r\n1 s3cr\"t/+1234 2 s3cr%22t%2F%2B1234 3 s3cr\\\"t/+1234 "
                      "4 czNjciJ0LysxMjM0 s3cr");
    begin(&t, KEYED(""));
    const struct egress_header h = {STR("X-Key"), STR("<{{secret:KEY}}>")};
    assert_true(
        fetch_with(&t, (struct egress_request){.headers = &h, .header_count = 1}, "/"));
    assert_has(t.server.requests[0], "X-Key: <s3cr\"t/+1234>\r\n");
    assert_string_equal(buf_cz(&t.out.body),
                        "1 [secret:KEY] 2 [secret:KEY] 3 [secret:KEY] "
                        "4 [secret:KEY] s3cr");
    assert_string_equal(buf_cz(&t.out.status_text), "[secret:KEY]");
    assert_has(buf_cz(&t.out.headers), "[\"x-echo\",\"[secret:KEY]\"]");
    end(&t);
}

static void a_secret_goes_where_it_may_only(void **state)
{
    (void)state;
    struct trial t = {0};
    server_begin(&t.server);
    begin(&t,
          "{\"allowPrivate\":[\"127.0.0.1:@\"],\"secrets\":{"
          "\"KEY\":{\"value\":\"0123456789\",\"hosts\":[\"api.test\"]},"
          "\"ONE\":{\"value\":\"0123456789\",\"hosts\":[\"http://127.0.0.1:@\"],"
          "\"header\":\"X-One\"},"
          "\"GONE\":{\"env\":\"CLOCHE_TEST_UNSET\",\"hosts\":[\"http://127.0.0.1:@\"]},"
          "\"SHORT\":{\"value\":\"1234567\",\"hosts\":[\"http://127.0.0.1:@\"]}}}");
    static const struct {
        struct egress_header h;
        enum err_code code;
    } wrong[] = {
        {{STR("X-Key"), STR("{{secret:KEY}}")}, ERR_DENIED},
        {{STR("X-Key"), STR("{{secret:ONE}}")}, ERR_DENIED},
        {{STR("X-Key"), STR("{{secret:NONE}}")}, ERR_NOT_FOUND},
        {{STR("X-Key"), STR("{{secret:GONE}}")}, ERR_NOT_FOUND},
        {{STR("X-Key"), STR("{{secret:SHORT}}")}, ERR_INVALID},
        {{STR("X-Key"), STR("{{secret:KEY")}, ERR_INVALID},
        {{STR("X-Key"), STR("{{secret:}}")}, ERR_INVALID},
        {{STR("X-Key"), STR("{{secret:A B}}")}, ERR_INVALID},
    };
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        struct egress_request q = {.headers = &wrong[i].h, .header_count = 1};
        assert_false(fetch_with(&t, q, "/"));
        assert_int_equal(t.e.code, wrong[i].code);
        assert_has_not(t.e.msg, "0123456789");
    }
    assert_false(fetch(&t, "/?key={{secret:ONE}}"));
    assert_int_equal(t.e.code, ERR_INVALID);
    assert_has_not(t.hosts, "200");
    end(&t);
}

static void a_secret_with_a_header_goes_by_itself(void **state)
{
    (void)state;
    struct trial t = {0};
    server_begin(&t.server);
    answer(&t.server, "HTTP/1.1 200 OK\r\n\r\n");
    answer(&t.server, "HTTP/1.1 200 OK\r\n\r\n");
    answer(&t.server, "HTTP/1.1 200 OK\r\n\r\n");
    begin(&t, KEYED(",\"header\":\"Authorization\""));
    assert_true(fetch(&t, "/"));
    assert_has(t.server.requests[0], "Authorization: Bearer s3cr\"t/+1234\r\n");
    const struct egress_header own = {STR("authorization"), STR("mine")};
    struct egress_request q = {.headers = &own, .header_count = 1};
    assert_true(fetch_with(&t, q, "/"));
    assert_has(t.server.requests[1], "authorization: mine\r\n");
    assert_has_not(t.server.requests[1], "s3cr");
    const struct egress_header filled = {STR("authorization"),
                                         STR("token {{secret:KEY}}")};
    q.headers = &filled;
    assert_true(fetch_with(&t, q, "/"));
    assert_has(t.server.requests[2], "authorization: token s3cr\"t/+1234\r\n");
    end(&t);
}

static void a_secret_comes_from_a_file_or_a_variable(void **state)
{
    (void)state;
    char path[] = "/tmp/cloche-secret-XXXXXX", network[600];
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "from-a-file\n", 12) == 12);
    close(fd);
    setenv("CLOCHE_TEST_KEY", "from-the-environment", 1);
    struct trial t = {0};
    server_begin(&t.server);
    answer(&t.server, "HTTP/1.1 200 OK\r\n\r\n");
    (void)snprintf(network, sizeof network,
                   "{\"allowPrivate\":[\"127.0.0.1:@\"],\"secrets\":{"
                   "\"A\":{\"file\":\"%s\",\"hosts\":[\"http://127.0.0.1:@\"],"
                   "\"header\":\"X-A\"},\"B\":{\"env\":\"CLOCHE_TEST_KEY\","
                   "\"hosts\":[\"http://127.0.0.1:@\"],\"header\":\"X-B\"}}}",
                   path);
    begin(&t, network);
    assert_true(fetch(&t, "/"));
    assert_has(t.server.requests[0], "X-A: from-a-file\r\n");
    assert_has(t.server.requests[0], "X-B: from-the-environment\r\n");
    end(&t);
    unlink(path);
}

/* ---- limits ------------------------------------------------------------- */

static void answers_that_are_too_large_are_cut_off(void **state)
{
    (void)state;
    struct trial t = {0};
    server_begin(&t.server);
    answer(&t.server, "HTTP/1.1 200 OK\r\n\r\n0123456789");
    answer(&t.server,
           "HTTP/1.1 200 OK\r\nX-Long: 0123456789012345678901234567890123456789"
           "012345678901234567890123456789\r\n\r\n");
    answer(&t.server,
           "HTTP/1.1 100 Go\r\nA: 0123456789012345\r\n\r\n"
           "HTTP/1.1 100 Go\r\nA: 0123456789012345\r\n\r\nHTTP/1.1 200 OK\r\n\r\n");
    t.options.response_max = 9;
    t.options.headers_max = 64;
    begin(&t, GRANTED);
    for (int i = 0; i < 3; i++) {
        assert_false(fetch(&t, "/"));
        assert_int_equal(t.e.code, ERR_LIMIT);
        assert_int_equal(t.out.body.n, 0);
    }
    end(&t);
}

static void requests_that_are_too_large_are_refused(void **state)
{
    (void)state;
    struct trial t = {0};
    server_begin(&t.server);
    t.options.request_max = 4;
    t.options.headers_max = 64;
    begin(&t, GRANTED);
    struct egress_request q = {
        .method = STR("POST"), .has_body = true, .body = STR("12345")};
    assert_false(fetch_with(&t, q, "/"));
    assert_int_equal(t.e.code, ERR_LIMIT);
    struct egress_header many[EGRESS_HEADERS_MAX + 1];
    for (size_t i = 0; i < LENGTH(many); i++)
        many[i] = (struct egress_header){STR("A"), STR("")};
    q = (struct egress_request){.headers = many, .header_count = LENGTH(many)};
    assert_false(fetch_with(&t, q, "/"));
    assert_int_equal(t.e.code, ERR_LIMIT);
    q.header_count = 20;
    assert_false(fetch_with(&t, q, "/"));
    assert_int_equal(t.e.code, ERR_LIMIT);
    end(&t);
}

static void the_number_of_fetches_is_limited(void **state)
{
    (void)state;
    struct trial t = {0};
    server_begin(&t.server);
    answer(&t.server, "HTTP/1.1 200 OK\r\n\r\n");
    t.options.fetches_max = 1;
    begin(&t, GRANTED);
    assert_true(fetch(&t, "/"));
    assert_false(fetch(&t, "/"));
    assert_int_equal(t.e.code, ERR_LIMIT);
    end(&t);
}

static void a_server_that_says_nothing_is_not_waited_for(void **state)
{
    (void)state;
    struct trial t = {.server.silent = true};
    server_begin(&t.server);
    answer(&t.server, "");
    t.options.fetch_ms = 100;
    begin(&t, GRANTED);
    assert_false(fetch(&t, "/"));
    assert_int_equal(t.e.code, ERR_TIMEOUT);
    end(&t);
}

static void a_fetch_can_be_called_off(void **state)
{
    (void)state;
    struct trial t = {.server.silent = true};
    struct cancel cancel;
    cancel_init(&cancel);
    server_begin(&t.server);
    answer(&t.server, "");
    answer(&t.server, "");
    t.options.cancel = &cancel;
    begin(&t, GRANTED);
    egress_abort(t.session, 7);
    assert_false(fetch_with(&t, (struct egress_request){.id = 7}, "/"));
    assert_int_equal(t.e.code, ERR_CANCELLED);
    cancel_fire(&cancel);
    assert_false(fetch_with(&t, (struct egress_request){.id = 8}, "/"));
    assert_int_equal(t.e.code, ERR_CANCELLED);
    end(&t);
}

/* ---- without a thread -------------------------------------------------------- */

#define MANY 12u /* connections that the server accepts, one after the other */

static void fetches_that_wait_have_one_thread_together(void **state)
{
    (void)state;
    if (!loop)
        return;
    struct trial t = {.server.silent = true};
    struct egress_trip *trips[MANY];
    struct egress_response out[MANY];
    struct bell b = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    char url[100];
    server_begin(&t.server);
    answer(&t.server, "");
    begin(&t, GRANTED);
    unsigned before = threads();
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/", t.server.port);
    for (unsigned i = 0; i < MANY; i++) {
        struct egress_request q = {.method = STR("GET"), .url = str_of(url), .id = i + 1};
        egress_response_init(&out[i]);
        trips[i] = egress_begin(t.session, &q, &out[i], ring, &b, &t.e);
        assert_non_null(trips[i]);
        assert_false(egress_look(trips[i]));
    }
    assert_true(threads() <= before + 1);
    egress_abort(t.session, 1); /* it rings, and is over */
    while (!egress_look(trips[0]))
        listen_for(&b);
    for (unsigned i = 0; i < MANY; i++) {
        t.e = (struct err){0};
        assert_false(egress_end(trips[i], &t.e));
        assert_int_equal(t.e.code, ERR_CANCELLED);
        egress_response_done(&out[i]);
    }
    end(&t);
}

int main(void)
{
    /* A proxy that does not exist: it must not be used. */
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_comes_with_status_headers_and_body),
        cmocka_unit_test(a_body_and_headers_are_sent),
        cmocka_unit_test(what_would_break_the_request_up_is_refused),
        cmocka_unit_test(a_name_that_leads_inside_is_refused_on_the_socket),
        cmocka_unit_test(a_name_may_lead_to_a_granted_address),
        cmocka_unit_test(our_own_port_is_never_reached),
        cmocka_unit_test(redirects_are_followed_and_checked_again),
        cmocka_unit_test(a_redirect_can_be_left_alone_or_refused),
        cmocka_unit_test(redirects_end),
        cmocka_unit_test(a_post_becomes_a_get_as_browsers_do),
        cmocka_unit_test(what_is_another_origins_does_not_go_along),
        cmocka_unit_test(a_secret_is_put_in_and_taken_out_again),
        cmocka_unit_test(a_secret_goes_where_it_may_only),
        cmocka_unit_test(a_secret_with_a_header_goes_by_itself),
        cmocka_unit_test(a_secret_comes_from_a_file_or_a_variable),
        cmocka_unit_test(answers_that_are_too_large_are_cut_off),
        cmocka_unit_test(requests_that_are_too_large_are_refused),
        cmocka_unit_test(the_number_of_fetches_is_limited),
        cmocka_unit_test(a_server_that_says_nothing_is_not_waited_for),
        cmocka_unit_test(a_fetch_can_be_called_off),
        cmocka_unit_test(fetches_that_wait_have_one_thread_together),
    };
    int failed = cmocka_run_group_tests_name("alone", tests, NULL, NULL);
    loop = egress_loop_new();
    failed += cmocka_run_group_tests_name("by the loop", tests, NULL, NULL);
    egress_loop_free(loop);
    return failed;
}
