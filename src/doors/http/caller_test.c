#include "http/client_test.h"

#include "base/skip_test.h"

#include <poll.h>
#include <sys/wait.h>

/* ---- a route that says who came, and one who admits by a header ---------- */

static unsigned admitted_n, released_n;

static bool tell(void *arg, struct http_request *rq, struct http_response *rs,
                 void **work)
{
    (void)arg;
    (void)work;
    const char *name = http_admitted(rq);
    buf_printf(&rs->body, "peer=%s local=%d who=%s parts=%zu", http_peer(rq),
               http_is_local(rq), name ? name : "-", http_parts(rq));
    for (size_t i = 0; i < http_parts(rq); i++)
        buf_printf(&rs->body, " [%.*s]", STR_ARGS(http_part(rq, i)));
    return true;
}

static bool admit(void *arg, struct http_request *rq, struct http_response *rs,
                  void **left)
{
    assert_ptr_equal(arg, &meet);
    assert_int_equal(http_body(rq).n, 0); /* before any of it was read */
    if (str_is(http_header(rq, "X-Key"), "wrong")) {
        http_refuse(rq, rs, 401, "this key opens nothing");
        http_set_header(rs, "WWW-Authenticate", "Bearer");
        return false;
    }
    if (http_header(rq, "X-Key").at) {
        *left = mem_strdup("bearer");
        note(&admitted_n);
    }
    return true;
}

static void release(void *arg, void *left)
{
    (void)arg;
    free(left);
    note(&released_n);
}

static const struct http_route routes[] = {
    {.path = "/who", .begin = tell, .head = true},
    {.path = "/tree/", .begin = tell},
    {.path = "/tree/deep/", .begin = tell, .slashes = true},
};

static struct http_server *server;
static const char *const hosts[] = {"notes.example", NULL};
static const char *const origins[] = {"https://app.example", NULL};

static void open_with(struct http_options o)
{
    struct err e = {0};
    o.listen = "127.0.0.1:0";
    o.routes = routes;
    o.n_routes = LENGTH(routes);
    o.workers = 1;
    server = http_open(&o, &e);
    if (!server)
        fail_msg("%s", e.msg);
    port = (uint16_t)atoi(strrchr(http_url(server), ':') + 1);
    admitted_n = released_n = 0;
}

static int closed(void **state)
{
    (void)state;
    http_close(server, 0);
    server = NULL;
    return 0;
}

/* ---- tests --------------------------------------------------------------- */

static void who_is_admitted_is_known_until_the_request_is_over(void **state)
{
    (void)state;
    open_with(
        (struct http_options){.admit = admit, .release = release, .admit_arg = &meet});
    assert_says(get("/who", "X-Key: right\r\n"), "local=1 who=bearer");
    assert_says(get("/who", ""), "who=-");
    await(&released_n, 1);
    assert_int_equal(admitted_n, 1);
    assert_status(get("/nowhere", "X-Key: right\r\n"), 404); /* and released, too */
    await(&released_n, 2);
}

static void who_is_not_admitted_is_told_before_the_body(void **state)
{
    (void)state;
    open_with(
        (struct http_options){.admit = admit, .release = release, .admit_arg = &meet});
    int fd = call();
    ask(fd, "POST", "/who");
    say(fd, "X-Key: wrong\r\nExpect: 100-continue\r\nContent-Length: 100\r\n"
            "Content-Type: application/json\r\n\r\n");
    const char *heard = hear(fd);
    assert_status(heard, 401);
    assert_says(heard, "WWW-Authenticate: Bearer\r\n");
    assert_says(heard, "Content-Type: application/problem+json\r\n");
    assert_says(heard, "\"detail\":\"this key opens nothing\"");
    assert_int_equal(released_n, 0);
}

static bool stays(void *arg, const void *left)
{
    (void)arg;
    return !left || !strcmp(left, "who stays");
}

static void who_is_out_before_his_body_is_whole_does_nothing(void **state)
{
    (void)state;
    open_with((struct http_options){
        .admit = admit, .release = release, .stays = stays, .admit_arg = &meet});
    assert_says(get("/who", ""), "who=-");
    int fd = call();
    ask(fd, "POST", "/who");
    say(fd,
        "Connection: close\r\nX-Key: right\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nbo");
    await(&admitted_n, 1);
    say(fd, "dy");
    const char *heard = hear(fd);
    assert_status(heard, 401);
    assert_says(heard, "nothing was done");
    await(&released_n, 1);
}

static void what_a_proxy_forwards_is_for_who_admits_to_judge(void **state)
{
    (void)state;
    open_with(
        (struct http_options){.admit = admit, .release = release, .admit_arg = &meet});
    const char *heard = get("/who", "X-Forwarded-For: 10.0.0.1\r\n");
    assert_status(heard, 200);
    assert_says(heard, "peer=127.0.0.1 local=0");
}

static void behind_a_proxy_the_last_address_is_the_peer(void **state)
{
    (void)state;
    open_with((struct http_options){
        .admit = admit, .release = release, .admit_arg = &meet, .behind_proxy = true});
    static const struct {
        const char *fields, *peer;
    } cases[] = {
        {"", "peer=127.0.0.1 local=0"},
        {"X-Forwarded-For: 1.1.1.1, 2.2.2.2\r\n", "peer=2.2.2.2 "},
        {"X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 3.3.3.3\r\n", "peer=3.3.3.3 "},
        {"X-Forwarded-For: 4.4.4.4:55\r\n", "peer=4.4.4.4 "},
        {"X-Forwarded-For: 2001:db8::1\r\n", "peer=2001:db8::1 "},
        {"Forwarded: for=5.5.5.5, for=\"[2001:db8::2]:7\";proto=https\r\n",
         "peer=2001:db8::2 "},
        {"Forwarded: proto=https;for=6.6.6.6\r\n", "peer=6.6.6.6 "},
        {"X-Forwarded-For: nonsense\r\n", "peer=127.0.0.1 "},
        {"X-Forwarded-For: [::1\r\n", "peer=127.0.0.1 "},
        {"Forwarded: for=\"\"\r\n", "peer=127.0.0.1 "},
    };
    for (size_t i = 0; i < LENGTH(cases); i++)
        assert_says(get("/who", cases[i].fields), cases[i].peer);
}

static const char *get_as(const char *host, const char *origin)
{
    int fd = call();
    say(fd, "GET /who HTTP/1.1\r\nHost: %s\r\n%s%s%sConnection: close\r\n\r\n", host,
        origin ? "Origin: " : "", origin ? origin : "", origin ? "\r\n" : "");
    return hear(fd);
}

static void hosts_and_origins_that_were_told_of_come_in(void **state)
{
    (void)state;
    open_with((struct http_options){.allowed_hosts = hosts, .allowed_origins = origins});
    assert_says(get_as("notes.example", NULL), "local=0");
    assert_status(get_as("notes.example:8443", "https://app.example"), 200);
    assert_status(get_as("other.example", NULL), 403);
    assert_status(get_as("notes.example", "https://other.example"), 403);
    assert_says(get_as("localhost", NULL), "local=1");
}

static void a_page_of_another_site_is_refused_unless_it_was_told_of(void **state)
{
    (void)state;
    open_with((struct http_options){.allowed_hosts = hosts, .allowed_origins = origins});
    assert_status(get("/who", "Sec-Fetch-Site: same-origin\r\n"), 200);
    assert_status(get("/who", "Sec-Fetch-Site: none\r\n"), 200);
    static const char *const foreign[] = {"cross-site", "same-site", "", "Same-Origin",
                                          "none, cross-site"};
    for (size_t i = 0; i < LENGTH(foreign); i++) {
        char field[160];
        (void)snprintf(field, sizeof field, "Sec-Fetch-Site: %s\r\n", foreign[i]);
        assert_status(get("/who", field), 403);
        (void)snprintf(field, sizeof field,
                       "Sec-Fetch-Site: %s\r\nOrigin: http://localhost:%u\r\n",
                       foreign[i], port);
        assert_status(get("/who", field), 403);
    }
    assert_status(get("/who", "Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n"),
                  400);
    assert_status(
        get("/who", "Sec-Fetch-Site: cross-site\r\nOrigin: https://app.example\r\n"),
        200);
}

static const char *post(const char *headers, const char *body)
{
    int fd = call();
    ask(fd, "POST", "/who");
    say(fd, "%sConnection: close\r\n\r\n%s", headers, body);
    return hear(fd);
}

static void a_body_says_what_it_is(void **state)
{
    (void)state;
    open_with((struct http_options){0});
    assert_status(post("Content-Length: 4\r\n", "body"), 415);
    assert_status(post("Content-Length: 4\r\nContent-Type:\r\n", "body"), 415);
    assert_status(post("Transfer-Encoding: chunked\r\n", "1\r\nx\r\n0\r\n\r\n"), 415);
    assert_status(post("Content-Length: 4\r\nContent-Type: text/plain\r\n", "body"), 200);
    assert_status(post("Content-Length: 0\r\n", ""), 200);
    assert_status(post("", ""), 200);
}

static void a_whole_address_has_to_name_the_same_host(void **state)
{
    (void)state;
    open_with((struct http_options){0});
    int fd = call();
    say(fd, "GET http://localhost/who HTTP/1.1\r\nHost: localhost\r\n"
            "Connection: close\r\n\r\n");
    assert_status(hear(fd), 200);
    fd = call();
    say(fd, "GET http://evil.example/who HTTP/1.1\r\nHost: localhost\r\n"
            "Connection: close\r\n\r\n");
    assert_status(hear(fd), 400);
}

static void a_route_may_own_what_is_below_it(void **state)
{
    (void)state;
    open_with((struct http_options){0});
    assert_says(get("/tree", ""), "parts=1 [tree]");
    assert_says(get("/tree/", ""), "parts=1 [tree]");
    assert_says(get("/tree/a%20b/c", ""), "parts=3 [tree] [a b] [c]");
    assert_says(get("/tree/deep/a%2Fb", ""), "[a/b]"); /* the longer prefix wins */
    assert_status(get("/tree/a%2Fb", ""), 400);
    assert_status(get("/trees", ""), 404);
    assert_status(get("/tree//a", ""), 404);
    assert_status(get("/tree/../who", ""), 400);
    assert_status(get("/who/more", ""), 404);
}

static void head_is_answered_like_get(void **state)
{
    (void)state;
    open_with((struct http_options){0});
    int fd = call();
    ask(fd, "HEAD", "/who");
    say(fd, "Connection: close\r\n\r\n");
    const char *heard = hear(fd);
    assert_status(heard, 200);
    assert_string_equal(strstr(heard, "\r\n\r\n"), "\r\n\r\n");
    assert_null(strstr(heard, "Content-Length: 0"));
}

static void other_machines_need_admission_and_a_secret_way(void **state)
{
    (void)state;
    struct err e = {0};
    struct http_options o = {.listen = "0.0.0.0:0", .routes = routes, .n_routes = 1};
    assert_null(http_open(&o, &e));
    assert_int_equal(e.code, ERR_DENIED);
    o.behind_proxy = true;
    e = (struct err){0};
    assert_null(http_open(&o, &e));
    assert_int_equal(e.code, ERR_DENIED);
    o.behind_proxy = false;
    o.admit = admit;
    o.release = release;
    e = (struct err){0};
    assert_null(http_open(&o, &e));
    assert_int_equal(e.code, ERR_DENIED);
    assert_says(e.msg, "certificate");
    o.behind_proxy = true;
    o.admit_arg = &meet;
    e = (struct err){0};
    server = http_open(&o, &e);
    assert_non_null(server);
}

static void a_new_connection_gets_the_place_of_the_most_silent(void **state)
{
    (void)state;
    open_with((struct http_options){.connections_max = 4});
    int silent[8];
    for (unsigned i = 0; i < LENGTH(silent); i++) {
        silent[i] = call();
        /* It was served, so it is connected; then it is silent. */
        ask(silent[i], "GET", "/who");
        say(silent[i], "\r\n");
        char answer[4096];
        assert_true(recv(silent[i], answer, sizeof answer, 0) > 0);
    }
    assert_says(get("/who", ""), "local=1");
    /* The first were closed, the last is still open. */
    assert_string_equal(hear(silent[0]), "");
    ask(silent[7], "GET", "/who");
    say(silent[7], "Connection: close\r\n\r\n");
    assert_says(hear(silent[7]), "local=1");
    for (unsigned i = 1; i < 7; i++)
        close(silent[i]);
}

/* ---- another account of this computer ---------------------------------------- */

#define NOBODY 65534

/* A process of another account does `work`; its exit status is the result. */
static pid_t as_nobody(bool (*work)(int gate), int gate)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return child;
    (void)alarm(60); /* it ends even if a test fails */
    /* The server's ends of connections would stay open with it. */
    for (int fd = STDERR_FILENO + 1; fd < 1024; fd++)
        if (fd != gate)
            close(fd);
    _exit(setuid(NOBODY) == 0 && work(gate) ? 0 : 1);
}

static void assert_done(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void need_root(void)
{
    if (geteuid() == 0)
        return;
    skip_system("only root can become another account");
}

static bool is_refused(int gate)
{
    (void)gate;
    const char *heard = get("/who", "");
    return strncmp(heard, "HTTP/1.1 403 ", 13) == 0 && strstr(heard, "of this account");
}

static void where_nobody_admits_another_account_is_refused(void **state)
{
    (void)state;
    need_root();
    open_with((struct http_options){0});
    assert_done(as_nobody(is_refused, -1));
    assert_says(get("/who", ""), "local=1");
}

#define CONNECTIONS 16u

/* Opens more connections than are allowed, and keeps them until the gate opens. */
static bool takes_all(int gate)
{
    struct pollfd fds[2 * CONNECTIONS];
    unsigned ended = 0;
    for (unsigned i = 0; i < LENGTH(fds); i++)
        fds[i] = (struct pollfd){.fd = call(), .events = POLLIN};
    while (ended < LENGTH(fds) - CONNECTIONS && poll(fds, LENGTH(fds), 20000) > 0)
        for (unsigned i = 0; i < LENGTH(fds); i++)
            if (fds[i].fd >= 0 && fds[i].revents) {
                close(fds[i].fd);
                fds[i].fd = -1;
                ended++;
            }
    char byte = 'x';
    return write(gate, &byte, 1) == 1 && read(gate, &byte, 1) == 1 &&
           ended >= LENGTH(fds) - CONNECTIONS;
}

static void another_account_does_not_take_our_connections(void **state)
{
    (void)state;
    need_root();
    open_with((struct http_options){.connections_max = CONNECTIONS});
    int own = call(), gate[2];
    char byte, answer[4096];
    ask(own, "GET", "/who");
    say(own, "\r\n");
    assert_true(recv(own, answer, sizeof answer, 0) > 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, gate), 0);
    pid_t child = as_nobody(takes_all, gate[1]);
    assert_int_equal(read(gate[0], &byte, 1), 1);
    ask(own, "GET", "/who");
    say(own, "Connection: close\r\n\r\n");
    assert_says(hear(own), "local=1");
    assert_int_equal(write(gate[0], &byte, 1), 1);
    assert_done(child);
    close(gate[0]);
    close(gate[1]);
}

#define test(f) cmocka_unit_test_teardown(f, closed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(who_is_admitted_is_known_until_the_request_is_over),
        test(who_is_not_admitted_is_told_before_the_body),
        test(who_is_out_before_his_body_is_whole_does_nothing),
        test(what_a_proxy_forwards_is_for_who_admits_to_judge),
        test(behind_a_proxy_the_last_address_is_the_peer),
        test(hosts_and_origins_that_were_told_of_come_in),
        test(a_page_of_another_site_is_refused_unless_it_was_told_of),
        test(a_body_says_what_it_is),
        test(a_whole_address_has_to_name_the_same_host),
        test(a_route_may_own_what_is_below_it),
        test(head_is_answered_like_get),
        test(other_machines_need_admission_and_a_secret_way),
        test(a_new_connection_gets_the_place_of_the_most_silent),
        test(where_nobody_admits_another_account_is_refused),
        test(another_account_does_not_take_our_connections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
