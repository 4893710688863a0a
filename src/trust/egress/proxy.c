/* An HTTP/1.1 proxy whose requests are fetches. What cannot be passed on by a fetch is refused with
 * words, so that a program's user sees what the proxy takes. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "egress/proxy_request.h"
#include "os/os.h"
#include "json/json.h"

#define CLIENTS_MAX 128u /* each may have a whole request in memory */
#define CLIENT_MAX 32u   /* of one machine */
#define ANSWER_MAX ((size_t)10 << 20)
#define READ_S 60 /* for what belongs to a request */
#define SILENCE_MS \
    ((uint64_t)86400000) /* whoever has the other end may be less patient */
#define KEEP_S 15        /* for another request */
#define LINGER_S 5
#define LINGER_MAX ((size_t)64 << 20)
#define MAKE_ROOM_NS ((uint64_t)200000000)
#define STACK ((size_t)512 << 10)

struct egress_proxy {
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t ended;
    struct proxied *first; /* the newest */
    unsigned count;
    struct cancel cancel; /* of all */
};

struct proxied {
    struct proxied *next;
    struct egress_proxy *in;
    struct egress_proxy_client client;
    int fd;
    bool idle;    /* between two requests; with the lock */
    bool asked;   /* the server was */
    bool begun;   /* an answer is under way: what goes wrong then ends the connection */
    bool chunked; /* it is sent so */
    struct proxy_input input;
    struct proxy_request r;
};

/* ---- the connection ------------------------------------------------------------------- */

static ssize_t read_socket(void *arg, void *to, size_t n)
{
    const struct proxied *x = arg;
    return recv(x->fd, to, n, 0);
}

static bool send_all(int fd, struct str bytes)
{
    while (bytes.n) {
        ssize_t n = send(fd, bytes.at, bytes.n, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        bytes = (struct str){bytes.at + n, bytes.n - (size_t)n};
    }
    return true;
}

static void wait_at_most(int fd, int seconds)
{
    struct timeval most = {.tv_sec = seconds};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
}

/* Who is still sending hears the answer all the same: an end with bytes unread would be a reset. */
static void linger(const struct proxied *x)
{
    char part[8192];
    uint64_t until = os_mono_ns() + (uint64_t)LINGER_S * 1000000000;
    (void)shutdown(x->fd, SHUT_WR);
    wait_at_most(x->fd, LINGER_S);
    for (size_t n = 0; n < LINGER_MAX && os_mono_ns() < until;) {
        ssize_t got = recv(x->fd, part, sizeof part, 0);
        if (got <= 0)
            return;
        n += (size_t)got;
    }
}

/* Is there another request? */
static bool next_request(struct proxied *x)
{
    if (x->input.at < x->input.n)
        return true;
    pthread_mutex_lock(&x->in->lock);
    x->idle = true;
    pthread_mutex_unlock(&x->in->lock);
    bool begins = proxy_input_begins(&x->input);
    pthread_mutex_lock(&x->in->lock);
    x->idle = false;
    pthread_mutex_unlock(&x->in->lock);
    return begins;
}

static bool read_request(struct proxied *x, struct err *e)
{
    if (!proxy_read_head(&x->r, &x->input, e))
        return false;
    bool too_large = x->r.length > (int64_t)PROXY_BODY_MAX;
    if (x->r.expects && !x->r.http10 && !too_large && x->input.at == x->input.n)
        (void)send_all(x->fd, STR("HTTP/1.1 100 Continue\r\n\r\n"));
    return proxy_read_body(&x->r, &x->input, e);
}

/* ---- the fetch ---------------------------------------------------------------------- */

/* Does the URL say port 80 itself? */
static bool says_80(struct str url)
{
    size_t n = 7;
    while (n < url.n && !strchr("/?#", url.at[n]))
        n++;
    return n > 10 && !memcmp(url.at + n - 3, ":80", 3);
}

/* https where a rule names the server so. */
static bool choose_scheme(struct proxied *x, const struct egress_rules *rules,
                          struct buf *url, struct err *e)
{
    struct target t;
    struct err none = {0};
    if (!target_read(&t, NULL, x->r.q.url, e))
        return false;
    uint16_t port = t.port == 80 ? 443 : t.port;
    bool tls = !says_80(x->r.q.url) &&
               egress_may_speak(rules, t.host, port, EGRESS_SPEAKS_TLS, &none);
    target_done(&t);
    buf_cstr(url, tls ? "https" : "http");
    buf_str(url, (struct str){x->r.q.url.at + 4, x->r.q.url.n - 4});
    x->r.q.url = buf_view(url);
    return buf_check(url, "the URL", e);
}

static bool is_reading(struct str method)
{
    return str_is(method, "GET") || str_is(method, "HEAD") || str_is(method, "OPTIONS");
}

static struct egress_rules *proxy_rules_now(void *arg, struct err *why)
{
    const struct proxied *x = arg;
    bool reads_only = false;
    return x->client.rules(x->client.arg, &reads_only, why);
}

static void stream_head(void *arg, const struct egress_response *r, struct buf *out);
static void stream_body(void *arg, struct str bytes, struct buf *out);

/* HTTP/1.0 has no way to say that an answer broke off, unless its length is known before. */
static bool proxy_ask(struct proxied *x, struct egress *g, struct egress_response *r,
                      struct err *e)
{
    const struct egress_sink sink = {.fd = x->fd,
                                     .head = stream_head,
                                     .body = stream_body,
                                     .rules = proxy_rules_now,
                                     .arg = x};
    return x->r.http10 ? egress_fetch(g, &x->r.q, r, e)
                       : egress_stream(g, &x->r.q, &sink, r, &x->begun, e);
}

static bool proxy_fetch(struct proxied *x, struct egress_response *r, struct err *e)
{
    bool reads_only = false;
    scoped(egress_rules_free) struct egress_rules *rules =
        x->client.rules(x->client.arg, &reads_only, e);
    scoped_buf struct buf url;
    buf_init(&url, EGRESS_URL_MAX);
    if (!rules || !curl_load(e) || !choose_scheme(x, rules, &url, e))
        return false;
    if (reads_only && !is_reading(x->r.q.method))
        return err_set(e, ERR_DENIED,
                       "the policy is readOnly; GET, HEAD and OPTIONS are accepted");
    scoped(egress_close) struct egress *g =
        egress_open(&(struct egress_options){.rules = rules,
                                             .own_port = x->client.own_port,
                                             .cancel = &x->in->cancel,
                                             .silence_ms = SILENCE_MS,
                                             .tell = x->client.tell,
                                             .tell_arg = x->client.arg});
    struct err why = {0};
    if (!check_headers(&x->r.q, (size_t)64 << 10, &why)) {
        *e = why;
        return false;
    }
    x->asked = true;
    return proxy_ask(x, g, r, e);
}

/* ---- answering ------------------------------------------------------------------------ */

/* Headers of the connection to the server, and of the body as it was packed. */
static bool is_dropped(struct str name, bool head)
{
    static const char *const names[] = {"connection",
                                        "keep-alive",
                                        "te",
                                        "transfer-encoding",
                                        "trailer",
                                        "upgrade",
                                        "content-encoding",
                                        "proxy-authenticate",
                                        NULL};
    return str_is_one_of(name, names) || (!head && str_is(name, "content-length"));
}

/* *length: what one Content-Length says; -1: none says it, or several do. */
static void put_headers(const struct egress_response *r, bool head, struct buf *out,
                        int64_t *length)
{
    struct err none = {0};
    scoped(arena_free) struct arena *a = arena_new((size_t)1 << 20);
    struct json_iter it = json_iter(json_read(buf_view(&r->headers), a, &none));
    bool several = false;
    while (json_next(&it)) {
        struct str name = json_str(json_at(it.value, 0));
        if (str_is(name, "content-length") &&
            !proxy_read_length(json_str(json_at(it.value, 1)), length))
            several = true;
        if (is_dropped(name, head))
            continue;
        buf_str(out, name);
        buf_cstr(out, ": ");
        buf_str(out, json_str(json_at(it.value, 1)));
        buf_cstr(out, "\r\n");
    }
    if (several)
        *length = -1;
}

/* The end of a head. */
static void put_end(const struct proxied *x, struct buf *out)
{
    buf_cstr(out, !x->r.keep    ? "Connection: close\r\n\r\n"
                  : x->r.http10 ? "Connection: keep-alive\r\n\r\n"
                                : "\r\n");
}

/* Up to what is said of its length. Has it a body? */
static bool put_first(const struct proxied *x, const struct egress_response *r,
                      struct buf *out, int64_t *length)
{
    bool head = str_is(x->r.q.method, "HEAD");
    *length = -1;
    buf_printf(out, "HTTP/1.1 %d ", r->status);
    buf_str(out, buf_view(&r->status_text));
    buf_cstr(out, "\r\n");
    put_headers(r, head, out, length);
    return !head && r->status != 204 && r->status != 304;
}

/* One that was collected. */
static void put_answer(const struct proxied *x, const struct egress_response *r,
                       struct buf *out)
{
    int64_t length;
    bool body = put_first(x, r, out, &length);
    if (body)
        buf_printf(out, "Content-Length: %zu\r\n", r->body.n);
    put_end(x, out);
    if (body)
        buf_str(out, buf_view(&r->body));
}

static void stream_head(void *arg, const struct egress_response *r, struct buf *out)
{
    struct proxied *x = arg;
    int64_t length;
    bool body = put_first(x, r, out, &length);
    x->chunked = body && (!r->as_it_came || length < 0);
    if (x->chunked)
        buf_cstr(out, "Transfer-Encoding: chunked\r\n");
    else if (body)
        buf_printf(out, "Content-Length: %" PRId64 "\r\n", length);
    put_end(x, out);
}

static void stream_body(void *arg, struct str bytes, struct buf *out)
{
    const struct proxied *x = arg;
    if (x->chunked)
        buf_printf(out, "%zx\r\n", bytes.n);
    buf_str(out, bytes);
    if (x->chunked)
        buf_cstr(out, "\r\n");
}

static const char *refusal_line(const struct proxied *x, const struct err *why)
{
    static const struct {
        enum err_code code;
        const char *line;
    } rows[] = {{ERR_DENIED, "403 Forbidden"},
                {ERR_INVALID, "400 Bad Request"},
                {ERR_NOT_FOUND, "400 Bad Request"},
                {ERR_TIMEOUT, "504 Gateway Timeout"}};
    if (x->r.status)
        return x->r.status;
    if (why->code == ERR_LIMIT) /* the server's answer, or what was asked */
        return x->asked ? "502 Bad Gateway" : "413 Content Too Large";
    for (size_t i = 0; i < LENGTH(rows); i++)
        if (rows[i].code == why->code)
            return rows[i].line;
    return "502 Bad Gateway";
}

static void put_refusal(const struct proxied *x, const struct err *why, struct buf *out)
{
    const char *line = refusal_line(x, why);
    bool body = !str_is(x->r.q.method, "HEAD");
    buf_printf(out, "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\n", line);
    if (str_starts(str_of(line), "405"))
        buf_cstr(out, "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n");
    buf_printf(out, "Content-Length: %zu\r\n", strlen(why->msg) + 9);
    put_end(x, out);
    if (body)
        buf_printf(out, "cloche: %s\n", why->msg);
}

/* One request. false: it was the last. */
static bool serve_one(struct proxied *x)
{
    struct err why = {0};
    struct egress_response r;
    scoped_buf struct buf out;
    buf_init(&out, ANSWER_MAX);
    egress_response_init(&r);
    x->asked = x->begun = x->chunked = false;
    bool whole = read_request(x, &why);
    bool answered = whole && proxy_fetch(x, &r, &why);
    if (answered && x->begun)
        buf_cstr(&out, x->chunked ? "0\r\n\r\n" : "");
    else if (answered)
        put_answer(x, &r, &out);
    else if (!x->begun)
        put_refusal(x, &why, &out);
    egress_response_done(&r);
    bool sent = !out.failed && send_all(x->fd, buf_view(&out)) && (answered || !x->begun);
    if (sent && !whole)
        linger(x);
    return sent && x->r.keep && !cancel_fired(&x->in->cancel);
}

static void serve(struct proxied *x)
{
    for (bool more = true; more && next_request(x);) {
        wait_at_most(x->fd, READ_S);
        proxy_request_init(&x->r);
        more = serve_one(x);
        proxy_request_done(&x->r);
        wait_at_most(x->fd, KEEP_S);
    }
}

/* ---- connections ------------------------------------------------------------------------ */

static void *proxied_run(void *arg)
{
    struct proxied *x = arg;
    struct egress_proxy *p = x->in;
    serve(x);
    if (x->client.done)
        x->client.done(x->client.arg);
    pthread_mutex_lock(&p->lock);
    struct proxied **at = &p->first;
    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    (void)close(x->fd);
    free(x);
    p->count--;
    pthread_cond_broadcast(&p->ended);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

struct egress_proxy *egress_proxy_new(void)
{
    struct egress_proxy *p = mem_new(sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->ended, NULL);
    cancel_init(&p->cancel);
    return p;
}

/* Are there too many connections for another of this client? With the lock. */
static bool proxy_is_full(const struct egress_proxy *p, const void *client, bool *its_own)
{
    unsigned own = 0;
    for (const struct proxied *x = p->first; x; x = x->next)
        own += x->client.arg == client;
    *its_own = own >= CLIENT_MAX;
    return *its_own || p->count >= CLIENTS_MAX;
}

/* Those that only wait for another request make place. With the lock. false: none does. */
static bool make_room(struct egress_proxy *p, const void *client)
{
    uint64_t until = os_mono_ns() + MAKE_ROOM_NS;
    struct proxied *oldest = NULL;
    bool own, full = proxy_is_full(p, client, &own);
    for (struct proxied *x = full ? p->first : NULL; x; x = x->next)
        oldest = x->idle && (!own || x->client.arg == client) ? x : oldest;
    if (oldest)
        (void)shutdown(oldest->fd, SHUT_RDWR);
    while (oldest && proxy_is_full(p, client, &own) &&
           os_cond_wait(&p->ended, &p->lock, until)) {
    }
    return !proxy_is_full(p, client, &own);
}

bool egress_proxy_take(struct egress_proxy *p, int fd,
                       const struct egress_proxy_client *c)
{
    pthread_t thread;
    struct timeval most = {.tv_sec = READ_S};
    struct proxied *x = mem_new(sizeof *x);
    *x = (struct proxied){.in = p, .client = *c, .fd = fd};
    x->input.read = read_socket;
    x->input.arg = x;
    wait_at_most(fd, READ_S);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    pthread_mutex_lock(&p->lock);
    bool ok = make_room(p, c->arg) && !cancel_fired(&p->cancel) &&
              os_thread_start(&thread, "proxy", STACK, proxied_run, x);
    if (ok) {
        x->next = p->first;
        p->first = x;
        p->count++;
    }
    pthread_mutex_unlock(&p->lock);
    if (ok)
        (void)pthread_detach(thread);
    else
        free(x);
    return ok;
}

void egress_proxy_free(struct egress_proxy *p)
{
    if (!p)
        return;
    cancel_fire(&p->cancel);
    pthread_mutex_lock(&p->lock);
    for (struct proxied *x = p->first; x; x = x->next)
        (void)shutdown(x->fd, SHUT_RDWR);
    while (p->count)
        (void)os_cond_wait(&p->ended, &p->lock, UINT64_MAX);
    pthread_mutex_unlock(&p->lock);
    pthread_cond_destroy(&p->ended);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
