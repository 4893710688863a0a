/* The proxy: what a program says to it, and what a server then hears. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>

#include "egress/egress.h"

/* A server of one connection that keeps what it hears, up to the empty line and `body` bytes. */
struct server {
    int fd;
    unsigned port;
    size_t body;
    bool hasty; /* answers at the first byte */
    const char *answer;
    size_t more; /* bytes that follow it */
    bool waits;  /* behind that until the other end is closed, */
    sem_t *turn; /* or until it is its turn to say `rest` */
    const char *rest;
    sem_t *asked; /* told when a request is there */
    size_t said;
    char heard[70000];
    pthread_t thread;
};

static bool server_say(struct server *s, int fd, const char *bytes, size_t n)
{
    ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
    s->said += sent > 0 ? (size_t)sent : 0;
    return sent == (ssize_t)n;
}

static void *server_run(void *arg)
{
    struct server *s = arg;
    size_t n = 0;
    int fd = accept(s->fd, NULL, NULL);
    for (ssize_t got = 1; fd >= 0 && got > 0 && n + 1 < sizeof s->heard;) {
        const char *end = strstr(s->heard, "\r\n\r\n");
        if (s->hasty ? n > 0 : end && n >= (size_t)(end - s->heard) + 4 + s->body)
            break;
        got = recv(fd, s->heard + n, sizeof s->heard - 1 - n, 0);
        n += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0) {
        char byte;
        if (s->asked)
            sem_post(s->asked);
        bool there = server_say(s, fd, s->answer, strlen(s->answer));
        memset(s->heard + n + 1, 'm', sizeof s->heard - n - 1);
        for (size_t left = s->more, some; there && left; left -= some) {
            some = left < 4096 ? left : 4096;
            there = server_say(s, fd, s->heard + sizeof s->heard - 4096, some);
        }
        if (s->turn)
            sem_wait(s->turn);
        if (s->rest)
            (void)server_say(s, fd, s->rest, strlen(s->rest));
        if (s->waits)
            (void)!recv(fd, &byte, 1, 0);
        close(fd);
    }
    return NULL;
}

static void server_begin(struct server *s, size_t body, bool hasty, const char *answer)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    s->body = body;
    s->hasty = hasty;
    s->answer = answer;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(s->fd, 4), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &size), 0);
    s->port = ntohs(a.sin_port);
    assert_int_equal(pthread_create(&s->thread, NULL, server_run, s), 0);
}

static void server_end(struct server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
}

/* ---- a program ---------------------------------------------------------------------- */

static struct asked {
    char network[600];
    bool reads_only;
    char scheme[8], host[64];
    int status;
    unsigned hops;
    uint64_t received;
    enum err_code outcome;
    char why[200];
    _Atomic bool withdrawn;
} asked;

static struct egress_rules *rules(void *arg, bool *reads_only, struct err *why)
{
    (void)arg;
    scoped(arena_free) struct arena *a = arena_new((size_t)1 << 20);
    *reads_only = asked.reads_only;
    if (asked.withdrawn)
        (void)snprintf(asked.network, sizeof asked.network, "{}");
    const struct json *v = json_read(str_of(asked.network), a, why);
    return v ? egress_rules_read(v, why) : NULL;
}

static void told(void *arg, const struct egress_hop *hop)
{
    (void)arg;
    asked.hops++;
    asked.status = hop->status;
    asked.received = hop->received_bytes;
    asked.outcome = hop->outcome;
    (void)snprintf(asked.why, sizeof asked.why, "%s", hop->why ? hop->why : "");
    (void)snprintf(asked.scheme, sizeof asked.scheme, "%s", hop->scheme);
    (void)snprintf(asked.host, sizeof asked.host, "%s", hop->host);
}

static char answer[70000];

/* What the proxy answers to these bytes. */
static const char *say(const void *bytes, size_t n)
{
    int ends[2];
    size_t got = 0;
    static const struct egress_proxy_client c = {.rules = rules, .tell = told};
    struct egress_proxy *p = egress_proxy_new();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_true(egress_proxy_take(p, ends[1], &c));
    (void)send(ends[0], bytes, n, MSG_NOSIGNAL);
    (void)shutdown(ends[0], SHUT_WR);
    for (ssize_t more = 1; more > 0; got += more > 0 ? (size_t)more : 0)
        more = recv(ends[0], answer + got, sizeof answer - 1 - got, 0);
    answer[got] = '\0';
    close(ends[0]);
    egress_proxy_free(p);
    return answer;
}

/* The chunks of the answer's body, and "." behind the last one. */
static const char *chunks(void)
{
    static char out[sizeof answer];
    const char *at = strstr(answer, "\r\n\r\n");
    size_t n = 0, more = 1;
    assert_non_null(strstr(answer, "Transfer-Encoding: chunked\r\n"));
    for (at += 4; more && *at; at += more + 2) {
        char *end;
        more = strtoul(at, &end, 16);
        assert_memory_equal(end, "\r\n", 2);
        at = end + 2;
        n += (size_t)snprintf(out + n, sizeof out - n, "%.*s", (int)more, at);
    }
    (void)snprintf(out + n, sizeof out - n, "%s", more ? "" : ".");
    return out;
}

static void allow(unsigned port)
{
    memset(&asked, 0, sizeof asked);
    (void)snprintf(asked.network, sizeof asked.network,
                   "{\"allowPrivate\":[\"127.0.0.1:%u\"],\"secrets\":{\"KEY\":{\"value\":"
                   "\"hidden-value\",\"hosts\":[\"http://127.0.0.1:%u\"]}}}",
                   port, port);
}

static void a_secret_goes_to_its_server_alone(void **state)
{
    (void)state;
    struct server s = {0};
    char request[400];
    server_begin(&s, 4, false,
                 "HTTP/1.1 201 Made\r\nX-Echo: hidden-value\r\nTransfer-Encoding: "
                 "chunked\r\n\r\n4\r\nmade\r\n0\r\n\r\n");
    allow(s.port);
    (void)snprintf(request, sizeof request,
                   "POST http://127.0.0.1:%u/a?b HTTP/1.1\r\nHost: x\r\nAuthorization: "
                   "Bearer {{secret:KEY}}\r\nProxy-Connection: keep-alive\r\n"
                   "Content-Length: 4\r\n\r\nbody",
                   s.port);
    say(request, strlen(request));
    server_end(&s);
    assert_memory_equal(answer, "HTTP/1.1 201 Made\r\n", 19);
    assert_null(strstr(answer, "hidden-value"));
    assert_string_equal(chunks(), "made.");
    assert_memory_equal(s.heard, "POST /a?b HTTP/1.1\r\n", 20);
    assert_non_null(strstr(s.heard, "Authorization: Bearer hidden-value\r\n"));
    assert_null(strcasestr(s.heard, "proxy-connection"));
    assert_string_equal(strstr(s.heard, "\r\n\r\n"), "\r\n\r\nbody");
    assert_int_equal(asked.hops, 1);
    assert_string_equal(asked.scheme, "http");
    assert_int_equal(asked.status, 201);
}

static void a_name_of_the_rules_is_asked_over_tls(void **state)
{
    (void)state;
    struct server s = {0};
    char request[200];
    server_begin(&s, 0, true, "no TLS\r\n\r\n");
    memset(&asked, 0, sizeof asked);
    (void)snprintf(asked.network, sizeof asked.network,
                   "{\"hosts\":[\"localhost:%u\"],\"allowPrivate\":[\"127.0.0.1:%u\"]}",
                   s.port, s.port);
    (void)snprintf(request, sizeof request, "GET http://localhost:%u/ HTTP/1.1\r\n\r\n",
                   s.port);
    say(request, strlen(request));
    server_end(&s);
    assert_memory_equal(answer, "HTTP/1.1 502 ", 13);
    assert_string_equal(asked.scheme, "https");
    assert_string_equal(asked.host, "localhost");
}

#define CHUNKED "POST http://a.test/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n"

static unsigned count_of(const char *what)
{
    unsigned n = 0;
    for (const char *at = answer; (at = strstr(at, what)); at++)
        n++;
    return n;
}

static void a_connection_has_several_requests(void **state)
{
    (void)state;
    struct server s = {0};
    char all[2000];
    server_begin(&s, 9, false, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes");
    allow(s.port);
    (void)snprintf(
        all, sizeof all,
        "GET http://a.test/ HTTP/1.1\r\n\r\n"
        "POST http://127.0.0.1:%u/up HTTP/1.1\r\nX-Way: 1\r\nConnection: X-Way\r\n"
        "Transfer-Encoding: chunked\r\n\r\n4;a=b\r\nsome\r\n05\r\n more\r\n0\r\n"
        "Trailer: x\r\n\r\n"
        "POST http://a.test/ HTTP/1.1\r\nContent-Length: 3\r\n\r\nGET"
        "HEAD http://a.test/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
        "GET http://a.test/ HTTP/1.1\r\nConnection: foo, Close\r\n\r\n"
        "GET http://a.test/ HTTP/1.1\r\n\r\n",
        s.port);
    say(all, strlen(all));
    server_end(&s);
    assert_int_equal(count_of("HTTP/1.1 403 "), 4);
    assert_int_equal(count_of("HTTP/1.1 200 OK\r\n"), 1);
    assert_int_equal(count_of("Connection: close"), 1);
    assert_int_equal(count_of("Connection: keep-alive"), 1);
    assert_int_equal(count_of("cloche: "), 3); /* a HEAD has no body */
    assert_string_equal(strstr(s.heard, "\r\n\r\n"), "\r\n\r\nsome more");
    assert_null(strcasestr(s.heard, "x-way"));
    assert_null(strcasestr(s.heard, "chunked"));
    assert_non_null(strstr(s.heard, "Content-Length: 9\r\n"));
}

/* Though the program has not sent all of it yet, it hears why. */
static void who_sends_too_much_hears_so(void **state)
{
    (void)state;
    static char bytes[6 << 20];
    static const char head[] =
        "POST http://a.test/ HTTP/1.1\r\nContent-Length: 6000000\r\n\r\n";
    memset(bytes, 'x', sizeof bytes);
    memcpy(bytes, head, strlen(head));
    allow(9);
    assert_memory_equal(say(bytes, strlen(head) + 6000000), "HTTP/1.1 413 ", 13);
}

static void who_waits_makes_place_for_others(void **state)
{
    (void)state;
    enum { MANY = 40 };
    int ends[MANY][2];
    char byte[16];
    static const struct egress_proxy_client c = {.rules = rules, .tell = told};
    static const char get[] = "GET http://a.test/ HTTP/1.1\r\n\r\n";
    struct egress_proxy *p = egress_proxy_new();
    allow(9);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends[i]), 0);
        assert_true(egress_proxy_take(p, ends[i][1], &c));
        (void)send(ends[i][0], get, strlen(get), MSG_NOSIGNAL);
        assert_true(recv(ends[i][0], byte, 13, MSG_WAITALL) == 13); /* it is answered */
    }
    egress_proxy_free(p);
    for (int i = 0; i < MANY; i++)
        close(ends[i][0]);
}

static void what_is_no_request_for_it_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *request, *status;
    } rows[] = {
        {"CONNECT a.test:443 HTTP/1.1\r\n\r\n", "405"},
        {"GET https://a.test/ HTTP/1.1\r\n\r\n", "400"},
        {"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", "400"},
        {"GET http://a.test/ HTTP/2\r\n\r\n", "505"},
        {"GET http://a.test/ HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", "400"},
        {"GET http://a.test/ HTTP/1.1\r\nA : b\r\n\r\n", "400"},
        {"GET http://a.test/ HTTP/1.1\r\nA: b\rc\r\n\r\n", "400"},
        {"GET\r\n\r\n", "400"},
        {"\r\n\r\n", "400"},
        {"GET http://a.test/ HTTP/1.1\r\n", "400"},
        {"GET http://a.test/ HTTP/1.1\nX: y\n\n", "400"},
        {"GET http://a.test/ HTTP/1.1\r\nno header\r\n\r\n", "400"},
        {"GET http://a.test/\xff HTTP/1.1\r\n\r\n", "400"},
        {"POST http://a.test/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
         "501"},
        {"POST http://a.test/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "501"},
        {CHUNKED "Content-Length: 3\r\n\r\n0\r\n\r\n", "400"},
        {CHUNKED "\r\n1\r\nab\r\n0\r\n\r\n", "400"},
        {CHUNKED "\r\n-1\r\n", "400"},
        {CHUNKED "\r\n1\na\r\n", "400"},
        {CHUNKED "\r\n5\r\nabc", "400"},
        {CHUNKED "\r\n0\r\nno end\r\n", "400"},
        {CHUNKED "\r\n400001\r\n", "413"},
        {CHUNKED "\r\nfffffffff\r\n", "413"},
        {"POST http://a.test/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
         "400"},
        {"POST http://a.test/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400"},
        {"POST http://a.test/ HTTP/1.1\r\nContent-Length: 9\r\n\r\nshort", "400"},
        {"POST http://a.test/ HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", "413"},
        {"POST http://a.test/ HTTP/1.1\r\nContent-Length: 4194305\r\n\r\n", "413"},
        {"TRACE http://a.test/ HTTP/1.1\r\n\r\n", "400"},
        {"GET http://a.test/ HTTP/1.1\r\n\r\n", "403"},
        {"GET http://169.254.169.254/ HTTP/1.1\r\n\r\n", "403"},
    };
    allow(9);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        say(rows[i].request, strlen(rows[i].request));
        if (strncmp(answer, "HTTP/1.1 ", 9) != 0 ||
            strncmp(answer + 9, rows[i].status, 3) != 0)
            fail_msg("%s: %s", rows[i].request, answer);
        assert_non_null(strstr(answer, "\r\n\r\ncloche: "));
        assert_int_equal(asked.status, 0);
    }
    static char large[70000];
    memset(large, 'x', sizeof large);
    assert_non_null(strstr(say(large, sizeof large), "cloche: "));
    assert_non_null(strstr(say("GET http://a.test/\0 HTTP/1.1\r\n\r\n", 31), " 400 "));
    asked.reads_only = true;
    static const char put[] =
        "PUT http://127.0.0.1:9/ HTTP/1.1\r\nContent-Length: 0\r\n\r\n";
    assert_non_null(strstr(say(put, strlen(put)), " 403 "));
}

/* ---- answers that stream ---------------------------------------------------------------- */

/* A connection to the proxy, and what has come on it. */
static struct egress_proxy *proxy;
static int connection;
static size_t came;

static void ask_for(unsigned port, const char *version)
{
    int ends[2];
    char request[200];
    static const struct egress_proxy_client c = {.rules = rules, .tell = told};
    proxy = egress_proxy_new();
    came = 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_true(egress_proxy_take(proxy, ends[1], &c));
    connection = ends[0];
    int n = snprintf(request, sizeof request,
                     "GET http://127.0.0.1:%u/ HTTP/%s\r\nConnection: close\r\n\r\n",
                     port, version);
    assert_int_equal(send(connection, request, (size_t)n, MSG_NOSIGNAL), n);
}

/* Until it has this at its end; NULL: until its end. */
static void hear(const char *end)
{
    for (ssize_t more = 1; more > 0;) {
        answer[came] = '\0';
        if (end && came >= strlen(end) && !strcmp(answer + came - strlen(end), end))
            return;
        assert_in_range(came, 0, sizeof answer - 2);
        more = recv(connection, answer + came, sizeof answer - 1 - came, 0);
        came += more > 0 ? (size_t)more : 0;
    }
    assert_null(end);
}

static void hang_up(struct server *s)
{
    close(connection);
    server_end(s);
    egress_proxy_free(proxy);
}

static void an_answer_comes_while_it_is_made(void **state)
{
    (void)state;
    sem_t turn;
    sem_init(&turn, 0, 0);
    struct server s = {.turn = &turn, .rest = "10\r\ndata: value-two\n\r\n0\r\n\r\n"};
    server_begin(&s, 0, false,
                 "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                 "Transfer-Encoding: chunked\r\n\r\nb\r\ndata: one\n\n\r\n");
    allow(s.port);
    ask_for(s.port, "1.1");
    hear("\r\n\r\nb\r\ndata: one\n\n\r\n"); /* before the server says more */
    sem_post(&turn);
    hear(NULL);
    hang_up(&s);
    assert_string_equal(chunks(), "data: one\n\ndata: value-two\n.");
    assert_int_equal(asked.outcome, ERR_NONE);
    assert_in_range(asked.received, 100, 300);
    sem_destroy(&turn);
}

/* The head comes before there is a body. */
static void a_secret_in_two_pieces_is_taken_out(void **state)
{
    (void)state;
    sem_t turn;
    sem_init(&turn, 0, 0);
    struct server s = {.turn = &turn, .rest = "-value; more"};
    server_begin(&s, 0, false, "HTTP/1.1 200 OK\r\n\r\nyour key: hidden");
    allow(s.port);
    ask_for(s.port, "1.1");
    hear("your key: \r\n");
    sem_post(&turn);
    hear(NULL);
    hang_up(&s);
    assert_null(strstr(answer, "hidden"));
    assert_string_equal(chunks(), "your key: [secret:KEY]; more.");
    sem_destroy(&turn);
}

static void what_breaks_off_is_seen_to(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *end;
        bool secret;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf of it\r\n9\r\nand",
         "\r\n", true},
        {"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\nhalf of it.", "half of it.\r\n",
         true},
        {"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\nhalf of it.",
         "Content-Length: 90\r\nConnection: close\r\n\r\nhalf of it.", false},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct server s = {0};
        server_begin(&s, 0, false, rows[i].answer);
        allow(s.port);
        if (!rows[i].secret)
            (void)snprintf(asked.network, sizeof asked.network,
                           "{\"allowPrivate\":[\"127.0.0.1:%u\"]}", s.port);
        ask_for(s.port, "1.1");
        hear(NULL);
        hang_up(&s);
        if (strncmp(answer, "HTTP/1.1 200 ", 13) != 0 || strstr(answer, "0\r\n\r\n") ||
            strcmp(answer + came - strlen(rows[i].end), rows[i].end) != 0)
            fail_msg("%zu: %s", i, answer);
        assert_int_equal(asked.outcome, ERR_IO);
        assert_true(asked.why[0]);
    }
}

static void an_answer_of_a_known_length_has_it(void **state)
{
    (void)state;
    enum { MANY = 40000000 };
    char head[200];
    struct server s = {.more = MANY};
    (void)snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n",
                   MANY);
    server_begin(&s, 0, false, head);
    allow(s.port);
    (void)snprintf(asked.network, sizeof asked.network,
                   "{\"allowPrivate\":[\"127.0.0.1:%u\"]}", s.port);
    ask_for(s.port, "1.1");
    size_t all = 0;
    for (ssize_t more = 1; more > 0; all += (size_t)more)
        more = recv(connection, answer, sizeof answer, 0);
    hang_up(&s);
    char *body = memmem(answer, sizeof answer, "mmmm", 4);
    assert_non_null(body);
    assert_in_range(all, MANY + 50, MANY + 100);
    assert_in_range(asked.received, MANY + 30, MANY + 100);
}

/* Of an answer without end the server says no more than what fits between the two. */
static void who_takes_nothing_is_sent_nothing(void **state)
{
    (void)state;
    struct server s = {.more = (size_t)1 << 40};
    server_begin(&s, 0, false, "HTTP/1.1 200 OK\r\n\r\n");
    allow(s.port);
    ask_for(s.port, "1.1");
    assert_int_equal(recv(connection, answer, 13, MSG_WAITALL), 13);
    hang_up(&s);
    assert_in_range(s.said, 0, (size_t)256 << 20);
    assert_int_equal(asked.outcome, ERR_CANCELLED);
}

static void who_hangs_up_ends_what_it_asked_for(void **state)
{
    (void)state;
    for (int began = 0; began < 2; began++) {
        sem_t heard;
        sem_init(&heard, 0, 0);
        struct server s = {.waits = true, .asked = &heard};
        server_begin(&s, 0, false, began ? "HTTP/1.1 200 OK\r\n\r\n" : "");
        allow(s.port);
        ask_for(s.port, "1.1");
        sem_wait(&heard);
        if (began)
            hear("\r\n\r\n");
        close(connection);
        pthread_join(s.thread, NULL); /* it sees the end */
        close(s.fd);
        egress_proxy_free(proxy);
        assert_int_equal(asked.outcome, ERR_CANCELLED);
    }
}

static void what_a_policy_forbids_ends_under_way(void **state)
{
    (void)state;
    struct server s = {.waits = true};
    server_begin(&s, 0, false, "HTTP/1.1 200 OK\r\n\r\n");
    allow(s.port);
    ask_for(s.port, "1.1");
    hear("\r\n\r\n");
    asked.withdrawn = true;
    hear(NULL);
    hang_up(&s);
    assert_null(strstr(answer, "0\r\n\r\n"));
    assert_int_equal(asked.outcome, ERR_DENIED);
}

static void http_1_0_gets_an_answer_that_is_whole(void **state)
{
    (void)state;
    struct server s = {0};
    server_begin(&s, 0, false,
                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "4\r\nsome\r\n5\r\n more\r\n0\r\n\r\n");
    allow(s.port);
    ask_for(s.port, "1.0");
    hear("Content-Length: 9\r\nConnection: close\r\n\r\nsome more");
    hear(NULL);
    hang_up(&s);
}

static sem_t rules_asked;

static struct egress_rules *rules_telling(void *arg, bool *reads_only, struct err *why)
{
    (void)arg;
    sem_post(&rules_asked);
    return rules(NULL, reads_only, why);
}

static void one_machine_does_not_take_all_places(void **state)
{
    (void)state;
    enum { MANY = 33 };
    int ends[MANY][2], one, two;
    struct server s = {.waits = true};
    char request[200];
    server_begin(&s, 0, false, "");
    (void)listen(s.fd, MANY); /* the others wait there */
    allow(s.port);
    struct egress_proxy_client c = {.rules = rules_telling, .tell = told, .arg = &one};
    sem_init(&rules_asked, 0, 0);
    int n = snprintf(request, sizeof request, "GET http://127.0.0.1:%u/ HTTP/1.1\r\n\r\n",
                     s.port);
    struct egress_proxy *p = egress_proxy_new();
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends[i]), 0);
        (void)send(ends[i][0], request, (size_t)n, MSG_NOSIGNAL);
        assert_int_equal(egress_proxy_take(p, ends[i][1], &c), i < 32);
        if (i < 32)
            sem_wait(&rules_asked);
    }
    c.arg = &two;
    assert_true(egress_proxy_take(p, ends[MANY - 1][1], &c));
    egress_proxy_free(p);
    for (int i = 0; i < MANY; i++)
        close(ends[i][0]);
    server_end(&s);
}

static void a_proxy_that_ends_lets_go_of_all(void **state)
{
    (void)state;
    int ends[2];
    static const struct egress_proxy_client c = {.rules = rules, .tell = told};
    struct egress_proxy *p = egress_proxy_new();
    for (int i = 0; i < 5; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        assert_true(egress_proxy_take(p, ends[1], &c));
    }
    egress_proxy_free(p); /* they have said nothing yet, and never will */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_goes_to_its_server_alone),
        cmocka_unit_test(a_name_of_the_rules_is_asked_over_tls),
        cmocka_unit_test(a_connection_has_several_requests),
        cmocka_unit_test(who_sends_too_much_hears_so),
        cmocka_unit_test(who_waits_makes_place_for_others),
        cmocka_unit_test(what_is_no_request_for_it_is_refused),
        cmocka_unit_test(an_answer_comes_while_it_is_made),
        cmocka_unit_test(a_secret_in_two_pieces_is_taken_out),
        cmocka_unit_test(what_breaks_off_is_seen_to),
        cmocka_unit_test(an_answer_of_a_known_length_has_it),
        cmocka_unit_test(who_takes_nothing_is_sent_nothing),
        cmocka_unit_test(who_hangs_up_ends_what_it_asked_for),
        cmocka_unit_test(what_a_policy_forbids_ends_under_way),
        cmocka_unit_test(http_1_0_gets_an_answer_that_is_whole),
        cmocka_unit_test(one_machine_does_not_take_all_places),
        cmocka_unit_test(a_proxy_that_ends_lets_go_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
