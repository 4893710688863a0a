/* Streams that own their socket, and again over TLS. */
#include "base/home_test.h"
#include "http/client_test.h"
#include "http/tls_test.h"

static bool over_tls;
static char folder[HOME_SIZE];

/* ---- streams as their owners see them ------------------------------------ */

static struct http_stream *held; /* the last one that was opened */
static unsigned opened_n, gone_n, released_n;

static void on_gone(void *arg)
{
    (void)arg;
    note(&gone_n);
}

/* Ends the stream from within its callback. */
static void end_on_gone(void *arg)
{
    struct http_stream **st = arg;
    http_stream_end(take(*st));
    note(&gone_n);
}

static struct http_stream *open_stream(struct http_request *rq, struct http_response *rs,
                                       void (*gone)(void *arg))
{
    rs->type = "text/event-stream";
    http_set_header(rs, "Cache-Control", "no-cache");
    buf_cstr(&rs->body, ": hello\n\n");
    struct http_stream *st = held = http_stream_open(rq, rs, gone, &held);
    if (st)
        note(&opened_n);
    return st;
}

static bool begin_stream(void *arg, struct http_request *rq, struct http_response *rs,
                         void **work)
{
    (void)arg;
    (void)work;
    open_stream(rq, rs, on_gone);
    return true;
}

static bool begin_fleeting(void *arg, struct http_request *rq, struct http_response *rs,
                           void **work)
{
    (void)arg;
    (void)work;
    open_stream(rq, rs, end_on_gone);
    return true;
}

/* Opened and ended by a worker, with a stop at the gate. */
static void work_stream(void *arg, struct http_request *rq, void *work,
                        struct http_response *rs)
{
    (void)arg;
    (void)work;
    struct http_stream *st = open_stream(rq, rs, on_gone);
    note(&meet.started);
    pthread_mutex_lock(&meet.lock);
    while (!meet.open && !cancel_fired(http_cancel(rq))) {
        pthread_mutex_unlock(&meet.lock);
        sched_yield();
        pthread_mutex_lock(&meet.lock);
    }
    pthread_mutex_unlock(&meet.lock);
    if (cancel_fired(http_cancel(rq)))
        note(&meet.stopped);
    scoped_buf struct buf text;
    buf_init(&text, 1000);
    buf_printf(&text, "data: %.*s\n\n", STR_ARGS(http_query(rq, "say")));
    http_stream_put(st, buf_view(&text));
    http_stream_end(st);
}

static void plain(void *arg, struct http_request *rq, void *work,
                  struct http_response *rs)
{
    (void)arg;
    (void)rq;
    (void)work;
    http_say(rs, 200, "plain");
}

static const struct http_route routes[] = {
    {.path = "/stream", .begin = begin_stream},
    {.path = "/fleeting", .begin = begin_fleeting},
    {.path = "/worked", .work = work_stream},
    {.path = "/plain", .work = plain},
};

static bool admit(void *arg, struct http_request *rq, struct http_response *rs,
                  void **left)
{
    (void)rq;
    (void)rs;
    *left = arg;
    return true;
}

static void release(void *arg, void *left)
{
    assert_ptr_equal(arg, left);
    note(&released_n);
}

/* ---- a server a test ----------------------------------------------------- */

static struct http_server *server;

static void open_server(unsigned streams_max)
{
    struct err e = {0};
    struct http_options o = {.listen = "127.0.0.1:0",
                             .routes = routes,
                             .n_routes = LENGTH(routes),
                             .workers = 1,
                             .admit = admit,
                             .admit_arg = &meet,
                             .release = release,
                             .streams_max = streams_max};
    char cert[64], key[64];
    (void)snprintf(cert, sizeof cert, "%s/one.crt", folder);
    (void)snprintf(key, sizeof key, "%s/one.key", folder);
    if (over_tls) {
        o.tls_cert = cert;
        o.tls_key = key;
    }
    server = http_open(&o, &e);
    if (!server)
        fail_msg("%s", e.msg);
    port = (uint16_t)atoi(strrchr(http_url(server), ':') + 1);
    meet.started = meet.stopped = opened_n = gone_n = released_n = 0;
    meet.open = false;
}

static int opened(void **state)
{
    (void)state;
    open_server(2);
    return 0;
}

static int closed(void **state)
{
    (void)state;
    open_gate(true);
    http_stream_end(take(held));
    http_close(server, 0);
    return 0;
}

static int call_here(void)
{
    return over_tls ? tunnel_open(call()) : call();
}

static const char *get_here(const char *target, const char *headers)
{
    int fd = call_here();
    ask(fd, "GET", target);
    say(fd, "%sConnection: close\r\n\r\n", headers);
    return hear(fd);
}

static int start(const char *target)
{
    int fd = call_here();
    ask(fd, "GET", target);
    say(fd, "Connection: close\r\n\r\n");
    return fd;
}

/* Reads until `what` arrives; the bytes are in the static buffer. */
static const char *hear_until(int fd, const char *what)
{
    static char heard[1 << 16];
    size_t n = 0;
    heard[0] = 0;
    while (!strstr(heard, what)) {
        ssize_t got = recv(fd, heard + n, sizeof heard - 1 - n, 0);
        if (got <= 0)
            fail_msg("'%s' never came, but '%s'", what, heard);
        n += (size_t)got;
        heard[n] = 0;
    }
    return heard;
}

/* The first bytes may arrive before http_stream_open() has returned. */
static int start_held(const char *target, struct http_stream **st)
{
    unsigned n = opened_n;
    int fd = start(target);
    hear_until(fd, "hello\n\n\r\n");
    await(&opened_n, n + 1);
    if (st != &held)
        *st = held;
    return fd;
}

/* ---- tests --------------------------------------------------------------- */

static void status_and_fields_leave_at_once(void **state)
{
    (void)state;
    int fd = start("/stream");
    const char *heard = hear_until(fd, ": hello\n\n");
    await(&opened_n, 1);
    assert_status(heard, 200);
    assert_says(heard, "Content-Type: text/event-stream\r\n");
    assert_says(heard, "Cache-Control: no-cache\r\n");
    assert_says(heard, "Transfer-Encoding: chunked\r\n");
    close(fd);
}

static void what_is_put_arrives_in_order_and_ends_whole(void **state)
{
    (void)state;
    int fd = start_held("/stream", &held);
    assert_true(http_stream_put(held, STR("one")));
    assert_string_equal(hear_until(fd, "one\r\n"), "3\r\none\r\n");
    assert_true(http_stream_put(held, STR("two")));
    http_stream_end(take(held));
    assert_string_equal(hear(fd), "3\r\ntwo\r\n0\r\n\r\n");
    assert_int_equal(gone_n, 0);
    await(&released_n, 1);
}

/* The socket may be closed before http_stream_end() returns: that is no hang-up. */
static void who_ends_a_stream_is_not_told_of_its_end(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= 300; i++) {
        int fd = start_held("/stream", &held);
        http_stream_end(take(held));
        hear(fd);
        await(&released_n, i);
    }
    assert_int_equal(gone_n, 0);
}

static void an_older_client_gets_no_chunks(void **state)
{
    (void)state;
    int fd = call_here();
    say(fd, "GET /stream HTTP/1.0\r\nHost: localhost\r\n\r\n");
    await(&opened_n, 1);
    assert_true(http_stream_put(held, STR("one")));
    http_stream_end(take(held));
    assert_string_equal(strstr(hear(fd), "\r\n\r\n"), "\r\n\r\n: hello\n\none");
}

static void a_silent_stream_holds_no_worker(void **state)
{
    (void)state;
    struct http_stream *first;
    int a = start_held("/stream", &first), b = start_held("/stream", &held);
    assert_says(get_here("/plain", ""), "plain"); /* there is one worker */
    http_stream_end(first);
    close(a);
    close(b);
}

static void the_owner_learns_of_a_hang_up(void **state)
{
    (void)state;
    int fd = start_held("/stream", &held);
    close(fd);
    await(&gone_n, 1); /* or the test never ends */
    assert_false(http_stream_put(held, STR("late")));
    assert_int_equal(released_n, 0); /* the handle is still in use */
    http_stream_end(take(held));
    await(&released_n, 1);
}

static void a_stream_may_be_ended_by_who_is_told(void **state)
{
    (void)state;
    int fd = start_held("/fleeting", &held);
    close(fd);
    await(&gone_n, 1);
    await(&released_n, 1);
    assert_null(held);
}

static void a_worker_goes_on_while_its_stream_runs(void **state)
{
    (void)state;
    int fd = start("/worked?say=a%20word");
    hear_until(fd, ": hello\n\n");
    open_gate(true);
    assert_says(hear(fd), "data: a word\n\n\r\n0\r\n\r\n");
    await(&released_n, 1); /* the worker is done with it */
    held = NULL;
    assert_int_equal(gone_n, 0);
}

static void a_hang_up_stops_the_worker_of_a_stream(void **state)
{
    (void)state;
    int fd = start("/worked?say=nothing");
    hear_until(fd, "hello");
    close(fd);
    await(&meet.stopped, 1);
    await(&released_n, 1);
    held = NULL;
    assert_says(get_here("/plain", ""), "plain");
}

static void one_who_does_not_read_is_given_up(void **state)
{
    (void)state;
    int fd = start_held("/stream", &held);
    static char much[64 * 1024];
    memset(much, 'x', sizeof much);
    size_t taken = 0;
    while (http_stream_put(held, (struct str){much, sizeof much}))
        taken += sizeof much;
    /* The system's buffers, and ours. */
    assert_true(taken >= HTTP_STREAM_WAITING && taken < 64 * HTTP_STREAM_WAITING);
    await(&gone_n, 1);
    close(fd);
}

static void one_who_reads_late_gets_all(void **state)
{
    (void)state;
    static char piece[100 * 1024];
    memset(piece, 'y', sizeof piece);
    int fd = start("/stream");
    await(&opened_n, 1);
    /* Each exceeds the queue by itself; they are sent while the client reads. */
    struct buf all;
    buf_init(&all, 64 << 20);
    for (int i = 0; i < 40; i++)
        buf_put(&all, piece, sizeof piece);
    assert_true(http_stream_put(held, buf_view(&all)));
    http_stream_end(take(held));
    const char *heard = strstr(hear(fd), "\r\n\r\n");
    size_t n = 0;
    for (; *heard; heard++)
        n += *heard == 'y';
    assert_int_equal(n, 40 * sizeof piece);
    buf_done(&all);
}

static void more_streams_than_allowed_are_refused(void **state)
{
    (void)state;
    struct http_stream *first, *second;
    int a = start_held("/stream", &first), b = start_held("/stream", &second);
    const char *heard = get_here("/stream", "Accept: application/json\r\n");
    assert_status(heard, 503);
    assert_says(heard, "Content-Type: application/problem+json");
    assert_says(heard, "\"status\":503");
    http_stream_end(first);
    assert_says(hear(a), "0\r\n\r\n");
    await(&released_n, 2); /* of the refused one, too */
    int c = start_held("/stream", &held);
    http_stream_end(second);
    close(b);
    close(c);
}

static void closing_tells_all_owners(void **state)
{
    (void)state;
    int fd = start_held("/fleeting", &held);
    http_close(server, 0);
    assert_int_equal(gone_n, 1);
    assert_int_equal(released_n, 1);
    assert_says(hear(fd), "0\r\n\r\n");
    open_server(2);
}

static int remove_folder(void **state)
{
    (void)state;
    return folder_remove(folder);
}

#define test(f) cmocka_unit_test_setup_teardown(f, opened, closed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(status_and_fields_leave_at_once),
        test(what_is_put_arrives_in_order_and_ends_whole),
        test(who_ends_a_stream_is_not_told_of_its_end),
        test(an_older_client_gets_no_chunks),
        test(a_silent_stream_holds_no_worker),
        test(the_owner_learns_of_a_hang_up),
        test(a_stream_may_be_ended_by_who_is_told),
        test(a_worker_goes_on_while_its_stream_runs),
        test(a_hang_up_stops_the_worker_of_a_stream),
        test(one_who_does_not_read_is_given_up),
        test(one_who_reads_late_gets_all),
        test(more_streams_than_allowed_are_refused),
        test(closing_tells_all_owners),
    };
    must(folder_make(folder));
    make_certificate(folder, "one", 1);
    int failed = cmocka_run_group_tests_name("plain", tests, NULL, NULL);
    over_tls = true;
    return failed + cmocka_run_group_tests_name("TLS", tests, NULL, remove_folder);
}
