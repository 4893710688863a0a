/* A load on an MCP server over HTTP, the same for every server that is compared.
 *
 *   load [-m] [-r RATE] ADDRESS PORT CONNECTIONS SECONDS METHOD PARAMS EXPECTED
 *
 * Each connection is a client with a session of its own: it says initialize, then sends
 * the request again and again, the next when the last is answered. With -m it speaks
 * 2026-07-28, which has no sessions. With -r all of them together send RATE requests a
 * second, and the time of each counts from when it was due, so that a server which falls
 * behind cannot hide it. An answer that does not hold EXPECTED is a mistake. One thread
 * and epoll: it must cost little beside the servers that it measures, which `blank` shows.
 * Prints {"requests", "seconds", "mistakes", "p50_us", "p99_us"}. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "os/os.h"

#define CONNECTIONS_MAX 1024
#define ANSWER_MAX ((size_t)16 << 20)
#define PATIENCE_NS 10000000000u /* without any answer: the server hangs */

struct client {
    int fd;
    struct buf call;   /* the request that it repeats */
    struct buf answer; /* what has come of the present one */
    uint64_t sent_ns;
};

static struct {
    struct sockaddr_in to;
    bool modern;
    double rate; /* requests a second; 0: as many as there may be */
    const char *method, *params, *expected;
    uint64_t requests, mistakes;
    struct buf ns; /* each call's time, uint64_t */
} load;

_Noreturn static void give_up(const char *what, struct str why)
{
    fprintf(stderr, "load: %s: %.*s\n", what, STR_ARGS(str_cut(why, 500)));
    exit(1);
}

/* ---- HTTP --------------------------------------------------------------- */

/* The value of a header within `head`, or an empty string. */
static struct str header(struct str head, const char *name)
{
    size_t n = strlen(name);
    for (size_t at = 0; at + n < head.n; at++) {
        if (head.at[at] != '\n' || strncasecmp(head.at + at + 1, name, n) != 0)
            continue;
        const char *from = head.at + at + 1 + n;
        const char *end = memchr(from, '\r', (size_t)(head.at + head.n - from));
        return end ? str_trim((struct str){from, (size_t)(end - from)}) : STR("");
    }
    return STR("");
}

/* Where the chunks that begin at `at` end, or 0 while they are not all there. */
static size_t chunks_end(struct str s, size_t at)
{
    for (;;) {
        const char *line = s.at + at;
        const char *end = at < s.n ? memmem(line, s.n - at, "\r\n", 2) : NULL;
        if (!end)
            return 0;
        size_t size = strtoul(line, NULL, 16);
        at = (size_t)(end - s.at) + 2;
        if (size > s.n - at || s.n - at - size < 2)
            return 0;
        at += size + 2;
        if (size == 0)
            return at;
    }
}

/* Where the answer ends, or 0 while it is not all there. Numbers are followed by more
 * text always, so that reading them stays within the buf. */
static size_t answer_end(const struct buf *b)
{
    struct str s = buf_view(b);
    const char *blank = memmem(s.at, s.n, "\r\n\r\n", 4);
    if (!blank)
        return 0;
    size_t body = (size_t)(blank - s.at) + 4;
    struct str head = {s.at, body};
    if (str_is(header(head, "transfer-encoding:"), "chunked"))
        return chunks_end(s, body);
    struct str length = header(head, "content-length:");
    size_t size = length.n ? strtoul(length.at, NULL, 10) : 0;
    return s.n - body >= size ? body + size : 0;
}

#define MODERN "2026-07-28"

/* What the newer revision wants besides in every request. */
static void put_modern_headers(struct buf *out)
{
    buf_printf(out, "MCP-Protocol-Version: " MODERN "\r\nMcp-Method: %s\r\n",
               load.method);
    const char *name = strstr(load.params, "\"name\":\"");
    if (!name || !str_is(str_of(load.method), "tools/call"))
        return;
    name += strlen("\"name\":\"");
    buf_printf(out, "Mcp-Name: %.*s\r\n", (int)strcspn(name, "\""), name);
}

static void put_request(struct buf *out, struct str session, struct str body)
{
    buf_printf(out,
               "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
               "Content-Type: application/json\r\n"
               "Accept: application/json, text/event-stream\r\n",
               ntohs(load.to.sin_port));
    if (session.n)
        buf_printf(out, "Mcp-Session-Id: %.*s\r\nMCP-Protocol-Version: 2025-06-18\r\n",
                   STR_ARGS(session));
    if (load.modern)
        put_modern_headers(out);
    buf_printf(out, "Content-Length: %zu\r\n\r\n", body.n);
    buf_str(out, body);
}

/* ---- clients ------------------------------------------------------------ */

static void send_all(int fd, struct str s)
{
    while (s.n > 0) {
        ssize_t sent = send(fd, s.at, s.n, MSG_NOSIGNAL);
        if (sent <= 0)
            give_up("cannot send", str_of(strerror(errno)));
        s.at += sent;
        s.n -= (size_t)sent;
    }
}

/* Reads what is there. true: the answer is whole. */
static bool receive(struct client *c)
{
    char *room = buf_room(&c->answer, (size_t)64 << 10);
    if (!room)
        give_up("an answer is too long", STR(""));
    ssize_t got = recv(c->fd, room, (size_t)64 << 10, 0);
    if (got <= 0)
        give_up("the server closed a connection", buf_view(&c->answer));
    c->answer.n += (size_t)got;
    return answer_end(&c->answer) != 0;
}

/* One request and its answer, in peace. */
static void exchange(struct client *c, struct str session, struct str body)
{
    scoped_buf struct buf request;
    buf_init(&request, ANSWER_MAX);
    put_request(&request, session, body);
    buf_clear(&c->answer);
    send_all(c->fd, buf_view(&request));
    while (!receive(c))
        ;
    if (!str_starts(buf_view(&c->answer), "HTTP/1.1 20"))
        give_up("refused", buf_view(&c->answer));
}

/* Says hello; the session's id goes to `session`. */
static void greet(struct client *c, char session[static 200])
{
    exchange(c, STR(""),
             STR("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"
                 "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
                 "\"clientInfo\":{\"name\":\"load\",\"version\":\"1\"}}}"));
    struct str given = header(buf_view(&c->answer), "mcp-session-id:");
    if (given.n >= 200)
        give_up("a session id is too long", given);
    memcpy(session, given.at, given.n);
    session[given.n] = '\0';
    exchange(c, str_of(session),
             STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"));
}

static void client_open(struct client *c)
{
    int yes = 1;
    buf_init(&c->call, ANSWER_MAX);
    buf_init(&c->answer, ANSWER_MAX);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&load.to, sizeof load.to) != 0)
        give_up("cannot connect", str_of(strerror(errno)));
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);

    char session[200] = "";
    if (!load.modern)
        greet(c, session);
    scoped_buf struct buf body;
    buf_init(&body, ANSWER_MAX);
    size_t inside = strlen(load.params) - 1; /* up to the last brace */
    buf_printf(&body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%.*s",
               load.method, (int)inside, load.params);
    if (load.modern)
        buf_printf(&body,
                   "%s\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" MODERN
                   "\",\"io.modelcontextprotocol/clientCapabilities\":{}}",
                   inside > 1 ? "," : "");
    buf_cstr(&body, "}}");
    put_request(&c->call, str_of(session), buf_view(&body));
}

static void client_close(struct client *c)
{
    close(c->fd);
    buf_done(&c->call);
    buf_done(&c->answer);
}

static void call(struct client *c, uint64_t due_ns)
{
    buf_clear(&c->answer);
    c->sent_ns = due_ns;
    send_all(c->fd, buf_view(&c->call));
}

static void answered(struct client *c)
{
    struct str s = buf_view(&c->answer);
    uint64_t ns = os_mono_ns() - c->sent_ns;
    load.requests++;
    load.mistakes += !memmem(s.at, s.n, load.expected, strlen(load.expected));
    buf_put(&load.ns, &ns, sizeof ns);
}

/* ---- the load ----------------------------------------------------------- */

/* Who has nothing to do, and when the next request is due. */
struct pace {
    struct client **idle;
    size_t count;
    uint64_t next_ns, end_ns, interval_ns; /* interval 0: whenever somebody is idle */
};

/* Sends what is due, as far as there is somebody to send it. */
static void send_due(struct pace *p)
{
    for (uint64_t now = os_mono_ns(); p->count > 0 && now < p->end_ns;) {
        uint64_t due = p->interval_ns ? p->next_ns : now;
        if (due > now || due >= p->end_ns)
            return;
        call(p->idle[--p->count], due);
        p->next_ns += p->interval_ns;
        now = os_mono_ns();
    }
}

static int wait_for(int epoll, const struct pace *p, struct epoll_event *ready, int max)
{
    uint64_t now = os_mono_ns(), wait = 1000000000u;
    if (p->interval_ns && p->count > 0) {
        uint64_t next = p->next_ns < p->end_ns ? p->next_ns : p->end_ns;
        wait = next > now ? next - now : 0;
    }
    struct timespec timeout = {(time_t)(wait / 1000000000u), (long)(wait % 1000000000u)};
    return epoll_pwait2(epoll, ready, max, &timeout, NULL);
}

/* Answers in how many seconds it was all done. */
static double run(struct client *clients, size_t n, double seconds)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    must(epoll >= 0 && prctl(PR_SET_TIMERSLACK, 1) == 0);
    struct pace pace = {.idle = mem_new(n * sizeof(struct client *))};
    for (; pace.count < n; pace.count++) {
        struct client *c = pace.idle[pace.count] = &clients[pace.count];
        struct epoll_event want = {.events = EPOLLIN, .data.ptr = c};
        must(epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &want) == 0);
    }
    uint64_t start = os_mono_ns(), last = start;
    pace.next_ns = start;
    pace.end_ns = start + (uint64_t)(seconds * 1e9);
    pace.interval_ns = load.rate > 0 ? (uint64_t)(1e9 / load.rate) : 0;
    for (;;) {
        send_due(&pace);
        uint64_t now = os_mono_ns();
        if (pace.count == n && now >= pace.end_ns)
            break;
        if (pace.count == n)
            last = now; /* nothing is asked */
        if (now - last > PATIENCE_NS)
            give_up("the server does not answer any more", STR(""));
        struct epoll_event ready[64];
        int got = wait_for(epoll, &pace, ready, LENGTH(ready));
        for (int i = 0; i < got; i++) {
            struct client *c = ready[i].data.ptr;
            if (!receive(c))
                continue;
            answered(c);
            last = os_mono_ns();
            pace.idle[pace.count++] = c;
        }
    }
    close(epoll);
    free(pace.idle);
    return (double)(os_mono_ns() - start) / 1e9;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static void print_result(double seconds)
{
    size_t n = load.ns.n / sizeof(uint64_t);
    const uint64_t *ns = (const uint64_t *)(const void *)load.ns.at;
    qsort(load.ns.at, n, sizeof *ns, by_size);
    printf("{\"requests\": %" PRIu64 ", \"seconds\": %.3f, \"mistakes\": %" PRIu64
           ", \"p50_us\": %.1f, \"p99_us\": %.1f}\n",
           load.requests, seconds, load.mistakes, (double)ns[n / 2] / 1e3,
           (double)ns[n * 99 / 100] / 1e3);
}

int main(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "mr:")) != -1;) {
        load.modern |= option == 'm';
        if (option == 'r')
            load.rate = strtod(optarg, NULL);
        else if (option != 'm')
            return 2;
    }
    argv += optind;
    if (argc - optind != 7)
        give_up("usage",
                STR("load [-m] [-r RATE] ADDRESS PORT CONNECTIONS SECONDS METHOD "
                    "PARAMS EXPECTED"));
    size_t n = strtoul(argv[2], NULL, 10);
    double seconds = strtod(argv[3], NULL);
    load.to = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(argv[1], NULL, 10))};
    if (inet_pton(AF_INET, argv[0], &load.to.sin_addr) != 1 || n == 0 ||
        n > CONNECTIONS_MAX)
        give_up("usage", STR("an IPv4 address, and 1 to 1024 connections"));
    load.method = argv[4];
    load.params = argv[5];
    load.expected = argv[6];
    buf_init(&load.ns, (size_t)1 << 30);

    struct client *clients = mem_new(n * sizeof *clients);
    for (size_t i = 0; i < n; i++)
        client_open(&clients[i]);
    double took = run(clients, n, seconds);
    for (size_t i = 0; i < n; i++)
        client_close(&clients[i]);
    free(clients);
    if (load.requests == 0)
        give_up("no request was made", STR(""));
    print_result(took);
    buf_done(&load.ns);
    return 0;
}
