#include "http/client_test.h"

#include "base/skip_test.h"

/* ---- routes ------------------------------------------------------------- */

static void echo(void *arg, struct http_request *rq, void *work, struct http_response *rs)
{
    (void)arg;
    (void)work;
    rs->type = "text/plain";
    struct str name = http_query(rq, "name");
    buf_printf(&rs->body, "%.*s %.*s %s ", STR_ARGS(http_method(rq)),
               STR_ARGS(http_path(rq)), http_peer(rq));
    if (name.at)
        buf_printf(&rs->body, "name=%.*s ", STR_ARGS(name));
    struct str seen = http_header(rq, "x-seen");
    buf_printf(&rs->body, "seen=%.*s ", STR_ARGS(seen));
    buf_str(&rs->body, http_body(rq));
    http_set_header(rs, "X-Made", "here");
}

/* Waits at the gate. */
static void gate(void *arg, struct http_request *rq, void *work, struct http_response *rs)
{
    (void)arg;
    (void)rq;
    (void)work;
    note(&meet.started);
    pthread_mutex_lock(&meet.lock);
    while (!meet.open)
        pthread_cond_wait(&meet.changed, &meet.lock);
    pthread_mutex_unlock(&meet.lock);
    http_say(rs, 200, "through");
}

/* The same, parked: in pairs that overlap. */
static void parked(void *arg, struct http_request *rq, void *work,
                   struct http_response *rs)
{
    struct err e = {0};
    if (!http_park(rq, &e) || !http_park(rq, &e)) {
        note(&meet.dropped);
        http_say(rs, 503, "%s", e.msg);
        return;
    }
    http_unpark(rq);
    gate(arg, rq, work, rs);
    http_unpark(rq);
}

static void stop(void *arg)
{
    pthread_mutex_lock(&meet.lock);
    *(bool *)arg = true;
    pthread_cond_broadcast(&meet.changed);
    pthread_mutex_unlock(&meet.lock);
}

/* Waits for its own cancel. */
static void endless(void *arg, struct http_request *rq, void *work,
                    struct http_response *rs)
{
    (void)arg;
    (void)work;
    bool stopped = false;
    struct cancel_stop place;
    if (!cancel_on(http_cancel(rq), &place, stop, &stopped))
        stopped = true;
    note(&meet.started);
    pthread_mutex_lock(&meet.lock);
    while (!stopped)
        pthread_cond_wait(&meet.changed, &meet.lock);
    pthread_mutex_unlock(&meet.lock);
    cancel_off(http_cancel(rq), &place);
    note(&meet.stopped);
    http_say(rs, 200, "stopped");
}

/* Answers requests without a body at once. */
static bool begin(void *arg, struct http_request *rq, struct http_response *rs,
                  void **work)
{
    if (http_body(rq).n == 0) {
        http_say(rs, 200, "at once");
        return true;
    }
    *work = arg;
    return false;
}

static void after_begin(void *arg, struct http_request *rq, void *work,
                        struct http_response *rs)
{
    if (work != arg)
        http_say(rs, 500, "lost what begin() left");
    else
        gate(arg, rq, work, rs);
}

static void drop(void *arg, void *work)
{
    assert_ptr_equal(arg, work);
    note(&meet.dropped);
}

static void large(void *arg, struct http_request *rq, void *work,
                  struct http_response *rs)
{
    (void)arg;
    (void)rq;
    (void)work;
    for (unsigned i = 0; i < 300000; i++)
        buf_cstr(&rs->body, "0123456789");
}

/* A larger body of who has a key. */
static bool takes(void *arg, struct http_request *rq)
{
    (void)arg;
    return str_is(http_header(rq, "X-Key"), "good");
}

static const struct http_route routes[] = {
    {.path = "/echo", .work = echo},
    {.path = "/gate", .work = gate},
    {.path = "/parked", .work = parked},
    {.path = "/endless", .work = endless},
    {.path = "/both", .arg = &meet, .begin = begin, .work = after_begin, .drop = drop},
    {.path = "/large", .work = large},
    {.path = "/upload", .body_max = 2000, .takes = takes, .work = echo},
};

/* ---- a client ----------------------------------------------------------- */

static struct http_server *server;

static struct http_server *open_with(struct http_options o)
{
    struct err e = {0};
    o.listen = o.listen ? o.listen : "127.0.0.1:0";
    o.routes = routes;
    o.n_routes = LENGTH(routes);
    struct http_server *s = http_open(&o, &e);
    if (!s)
        fail_msg("%s", e.msg);
    const char *colon = strrchr(http_url(s), ':');
    port = (uint16_t)atoi(colon + 1);
    meet.started = meet.stopped = meet.dropped = 0;
    meet.open = false;
    return s;
}

static int opened(void **state)
{
    (void)state;
    server = open_with((struct http_options){.workers = 2, .body_max = 1000});
    return 0;
}

static int closed(void **state)
{
    (void)state;
    open_gate(true);
    http_close(server, 0);
    server = NULL;
    return 0;
}

/* ---- answers ------------------------------------------------------------ */

static void a_request_reaches_its_route_whole(void **state)
{
    (void)state;
    int fd = call();
    ask(fd, "POST", "/echo?name=a%20b");
    say(fd,
        "X-Seen:   twice over \t\r\nContent-Type: text/plain\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhe");
    say(fd, "llo");
    const char *heard = hear(fd);
    assert_status(heard, 200);
    assert_says(heard, "X-Made: here\r\n");
    assert_says(heard, "\r\n\r\nPOST /echo 127.0.0.1 name=a b seen=twice over hello");
}

static void chunks_are_put_together(void **state)
{
    (void)state;
    int fd = call();
    ask(fd, "POST", "/echo/");
    say(fd,
        "Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    assert_says(hear(fd), " abcde");
}

static void one_connection_serves_request_after_request(void **state)
{
    (void)state;
    int fd = call();
    for (int i = 0; i < 3; i++) {
        ask(fd, "POST", "/echo");
        say(fd, "Content-Type: text/plain\r\nContent-Length: 1\r\n%s\r\n%d",
            i == 2 ? "Connection: close\r\n" : "", i);
    }
    const char *heard = hear(fd);
    assert_says(heard, "seen= 0");
    assert_says(heard, "seen= 1");
    assert_says(heard, "seen= 2");
}

static void a_large_answer_arrives_whole(void **state)
{
    (void)state;
    const char *body = strstr(get("/large", ""), "\r\n\r\n");
    assert_non_null(body);
    assert_int_equal(strlen(body + 4), 3000000);
}

static void head_gets_no_body(void **state)
{
    (void)state;
    int fd = call();
    ask(fd, "HEAD", "/echo");
    say(fd, "Connection: close\r\n\r\n");
    const char *heard = hear(fd);
    assert_status(heard, 200);
    assert_string_equal(strstr(heard, "\r\n\r\n"), "\r\n\r\n");
}

static void an_address_of_the_newer_kind_serves_too(void **state)
{
    (void)state;
    struct err e = {0};
    struct http_options o = {.listen = "[::1]:0", .routes = routes, .n_routes = 1};
    struct http_server *s = http_open(&o, &e);
    if (!s && e.code == ERR_IO)
        skip_system("no IPv6");
    assert_non_null(s);
    assert_memory_equal(http_url(s), "http://[::1]:", 13);
    http_close(s, 0);
}

static void a_port_in_use_is_a_conflict(void **state)
{
    (void)state;
    struct err e = {0};
    struct http_options o = {.listen = http_url(server) + strlen("http://")};
    assert_null(http_open(&o, &e));
    assert_int_equal(e.code, ERR_CONFLICT);
}

/* ---- refusals ----------------------------------------------------------- */

static void a_foreign_host_or_origin_is_refused(void **state)
{
    (void)state;
    int fd = call();
    say(fd, "GET /echo HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert_status(hear(fd), 403);
    assert_status(get("/echo", "Origin: http://evil.example\r\n"), 403);
    assert_status(get("/echo", "Origin: null\r\n"), 403);
    assert_status(get("/nowhere", "Origin: http://evil.example\r\n"), 403);
    assert_status(get("/echo", "Origin: http://localhost:1\r\n"), 403);
    char own[80];
    (void)snprintf(own, sizeof own, "Origin: http://localhost:%u\r\n", port);
    assert_status(get("/echo", own), 200);
    (void)snprintf(own, sizeof own, "Origin: http://127.0.0.1:%u\r\n", port);
    assert_status(get("/echo", own), 403); /* Host says localhost */
    assert_status(get("/echo", "Origin: http://localhost\r\n"
                               "Origin: http://evil.example\r\n"),
                  400);
}

static void one_host_has_to_be_named(void **state)
{
    (void)state;
    int fd = call();
    say(fd, "GET /echo HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert_status(hear(fd), 400);
    assert_status(get("/echo", "Host: localhost\r\n"), 400);
}

static void what_a_proxy_forwards_is_refused(void **state)
{
    (void)state;
    assert_status(get("/echo", "X-Forwarded-For: 10.0.0.1\r\n"), 403);
    assert_status(get("/echo", "x-forwarded-host: a\r\n"), 403);
    assert_status(get("/echo", "Forwarded: for=10.0.0.1\r\n"), 403);
    assert_status(get("/echo", "Via: 1.1 proxy\r\n"), 403);
    assert_status(get("/echo", "X-Forward: no\r\n"), 200);
}

static void an_unknown_path_is_not_found(void **state)
{
    (void)state;
    assert_status(get("/", ""), 404);
    assert_status(get("/echoes", ""), 404);
    assert_status(get("/echo//", ""), 404);
    assert_status(get("/echo%00/x", ""), 400);
}

static void a_body_over_the_ceiling_is_refused(void **state)
{
    (void)state;
    int fd = call();
    ask(fd, "POST", "/echo");
    say(fd, "Content-Type: text/plain\r\nContent-Length: 1001\r\n\r\n");
    assert_status(hear(fd), 413); /* before any of it arrived */

    char chunk[700];
    memset(chunk, 'x', sizeof chunk);
    fd = call();
    ask(fd, "POST", "/echo");
    say(fd,
        "Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
    for (int i = 0; i < 2; i++)
        say(fd, "%zx\r\n%.*s\r\n", sizeof chunk, (int)sizeof chunk, chunk);
    say(fd, "0\r\n\r\n");
    assert_status(hear(fd), 413);
}

static int upload(const char *fields, unsigned length)
{
    int fd = call();
    ask(fd, "POST", "/upload");
    say(fd,
        "%sContent-Type: text/plain\r\nContent-Length: %u\r\nConnection: close\r\n\r\n",
        fields, length);
    return fd;
}

static void a_route_takes_larger_bodies_of_whom_it_accepts(void **state)
{
    (void)state;
    char body[2001];
    memset(body, 'x', sizeof body);
    assert_status(hear(upload("", 1001)), 413);
    assert_status(hear(upload("X-Key: bad\r\n", 1001)), 413);
    assert_status(hear(upload("X-Key: good\r\n", 2001)), 413);
    int fd = upload("X-Key: good\r\n", 2000);
    say(fd, "%.*s", 2000, body);
    assert_status(hear(fd), 200);
}

static void a_body_of_unclear_length_is_refused(void **state)
{
    (void)state;
    assert_status(get("/echo", "Content-Length: 0\r\nContent-Length: 0\r\n"), 400);
}

static void too_many_headers_are_refused(void **state)
{
    (void)state;
    char many[2048] = "";
    for (int i = 0; i < 100; i++)
        strcat(many, "A: b\r\n");
    assert_status(get("/echo", many), 431);
}

static void a_refused_request_leaves_its_connection_usable(void **state)
{
    (void)state;
    int fd = call();
    say(fd,
        "POST /echo HTTP/1.1\r\nHost: evil.example\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nbody");
    ask(fd, "GET", "/echo");
    say(fd, "Connection: close\r\n\r\n");
    const char *heard = hear(fd);
    assert_status(heard, 403);
    assert_says(heard, "HTTP/1.1 200 OK");
}

/* ---- workers ------------------------------------------------------------ */

static void a_full_queue_says_so(void **state)
{
    (void)state;
    http_close(server, 0);
    server = open_with((struct http_options){.workers = 1, .queue_max = 1});
    int running = call(), waiting = call();
    ask(running, "GET", "/gate");
    say(running, "Connection: close\r\n\r\n");
    await(&meet.started, 1);
    /* The second waits; of the next two one is too many. */
    ask(waiting, "POST", "/both");
    say(waiting,
        "Connection: close\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\nx");
    int third = call();
    ask(third, "POST", "/both");
    say(third,
        "Connection: close\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\nx");
    await(&meet.dropped, 1);
    open_gate(true);
    assert_status(hear(running), 200);
    bool second_served = strstr(hear(waiting), "HTTP/1.1 200") != NULL;
    const char *heard = hear(third);
    if (second_served) {
        assert_status(heard, 503);
        assert_says(heard, "Retry-After: 1\r\n");
    } else {
        assert_status(heard, 200);
    }
}

static void what_needs_no_worker_is_answered_while_all_are_busy(void **state)
{
    (void)state;
    int a = call(), b = call();
    ask(a, "GET", "/gate");
    say(a, "Connection: close\r\n\r\n");
    ask(b, "GET", "/gate");
    say(b, "Connection: close\r\n\r\n");
    await(&meet.started, 2);
    assert_says(get("/both", ""), "at once");
    open_gate(true);
    assert_status(hear(a), 200);
    assert_status(hear(b), 200);
}

/* One more than there are workers, and one more than allowed. */
static void who_waits_for_a_person_holds_no_worker(void **state)
{
    (void)state;
    int calls[HTTP_PARKED_MAX / 4]; /* all of one caller */
    for (unsigned i = 0; i < LENGTH(calls); i++) {
        calls[i] = call();
        ask(calls[i], "GET", "/parked");
        say(calls[i], "Connection: close\r\n\r\n");
        await(&meet.started, i + 1);
    }
    assert_status(get("/echo", ""), 200);
    assert_status(get("/parked", ""), 503);
    open_gate(true);
    for (unsigned i = 0; i < LENGTH(calls); i++)
        assert_status(hear(calls[i]), 200);
    assert_status(get("/parked", ""), 200);
}

static void hanging_up_stops_the_work(void **state)
{
    (void)state;
    int fd = call();
    ask(fd, "GET", "/endless");
    say(fd, "\r\n");
    await(&meet.started, 1);
    close(fd);
    await(&meet.stopped, 1); /* or the test never ends */
    assert_status(get("/echo", ""), 200);
}

static void who_hangs_up_while_waiting_is_not_served(void **state)
{
    (void)state;
    http_close(server, 0);
    server = open_with((struct http_options){.workers = 1});
    int running = call(), waiting = call();
    ask(running, "GET", "/endless");
    say(running, "\r\n");
    await(&meet.started, 1);
    ask(waiting, "POST", "/both");
    say(waiting, "Content-Type: text/plain\r\nContent-Length: 1\r\n\r\nx");
    assert_says(get("/both", ""), "at once"); /* it has been read by now */
    close(waiting);
    /* Both hang-ups are seen, in order or together. */
    close(running);
    await(&meet.stopped, 1);
    open_gate(true);
    http_close(server, 5000);
    server = NULL;
    assert_int_equal(meet.dropped + meet.started, 2);
}

static void large_bodies_share_a_ceiling(void **state)
{
    (void)state;
    http_close(server, 0);
    server = open_with((struct http_options){.workers = 1, .bodies_max = 20000});
    char body[3000];
    memset(body, 'x', sizeof body);
    int first = call();
    ask(first, "POST", "/both");
    say(first,
        "Connection: close\r\nContent-Type: text/plain\r\nContent-Length: 12000\r\n\r\n");
    for (int i = 0; i < 4; i++)
        say(first, "%.*s", (int)sizeof body, body);
    await(&meet.started, 1);
    int second = call();
    ask(second, "POST", "/echo");
    say(second,
        "Connection: close\r\nContent-Type: text/plain\r\nContent-Length: 12000\r\n\r\n");
    for (int i = 0; i < 4; i++)
        say(second, "%.*s", (int)sizeof body, body);
    assert_status(hear(second), 503);
    open_gate(true);
    assert_status(hear(first), 200);
}

/* ---- the end ------------------------------------------------------------ */

static void closing_waits_for_what_runs(void **state)
{
    (void)state;
    int fd = call();
    ask(fd, "GET", "/gate");
    say(fd, "\r\n");
    await(&meet.started, 1);
    open_gate(true);
    http_close(server, 60000);
    server = NULL;
    assert_says(hear(fd), "through");
}

static void closing_stops_what_runs_on(void **state)
{
    (void)state;
    int fd = call();
    ask(fd, "GET", "/endless");
    say(fd, "\r\n");
    await(&meet.started, 1);
    http_close(server, 0);
    server = NULL;
    assert_int_equal(meet.stopped, 1);
    const char *heard = hear(fd);
    assert_says(heard, "stopped");
    assert_says(heard, "Connection: close");
}

static void closing_does_not_wait_for_who_says_nothing(void **state)
{
    (void)state;
    int silent = call(), half = call();
    say(half, "GET /echo HT");
    http_close(server, 60000);
    server = NULL;
    assert_string_equal(hear(silent), "");
    close(half);
}

#define test(f) cmocka_unit_test_setup_teardown(f, opened, closed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_request_reaches_its_route_whole),
        test(chunks_are_put_together),
        test(one_connection_serves_request_after_request),
        test(a_large_answer_arrives_whole),
        test(head_gets_no_body),
        test(an_address_of_the_newer_kind_serves_too),
        test(a_port_in_use_is_a_conflict),
        test(a_foreign_host_or_origin_is_refused),
        test(one_host_has_to_be_named),
        test(what_a_proxy_forwards_is_refused),
        test(an_unknown_path_is_not_found),
        test(a_body_over_the_ceiling_is_refused),
        test(a_route_takes_larger_bodies_of_whom_it_accepts),
        test(a_body_of_unclear_length_is_refused),
        test(too_many_headers_are_refused),
        test(a_refused_request_leaves_its_connection_usable),
        test(a_full_queue_says_so),
        test(what_needs_no_worker_is_answered_while_all_are_busy),
        test(who_waits_for_a_person_holds_no_worker),
        test(hanging_up_stops_the_work),
        test(who_hangs_up_while_waiting_is_not_served),
        test(large_bodies_share_a_ceiling),
        test(closing_waits_for_what_runs),
        test(closing_stops_what_runs_on),
        test(closing_does_not_wait_for_who_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
