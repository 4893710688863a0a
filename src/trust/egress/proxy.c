/* An HTTP/1.1 proxy whose requests are fetches. What cannot be passed on by a fetch is refused with
 * words, so that a program's user sees what the proxy takes. */
#include <pthread.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "egress/internal.h"
#include "os/os.h"
#include "json/json.h"

#define CLIENTS_MAX 32u /* each may have a whole request and response in memory */
#define HEAD_MAX ((size_t)64 << 10)
#define BODY_MAX ((size_t)4 << 20)
#define ANSWER_MAX ((size_t)10 << 20)
#define READ_S 60
#define STACK ((size_t)512 << 10)

struct egress_proxy {
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t ended;
    struct proxied *first;
    unsigned count;
    struct cancel cancel; /* of all */
};

struct proxied {
    struct proxied *next;
    struct egress_proxy *in;
    struct egress_proxy_client client;
    int fd;
    struct buf head, body;
    struct egress_header headers[EGRESS_HEADERS_MAX];
    struct egress_request q;
};

/* ---- reading ---------------------------------------------------------------------- */

/* Appends what comes next. false: nothing comes any more, or it is too much. */
static bool read_some(struct proxied *x, struct buf *to)
{
    char part[4096];
    ssize_t n = recv(x->fd, part, sizeof part, 0);
    return n > 0 && buf_str(to, (struct str){part, (size_t)n});
}

/* The head with its empty line; what follows is the beginning of the body. */
static bool read_head(struct proxied *x, struct err *e)
{
    static const char end[] = "\r\n\r\n";
    for (;;) {
        const char *found = x->head.n ? memmem(x->head.at, x->head.n, end, 4) : NULL;
        if (found) {
            size_t n = (size_t)(found - x->head.at) + 2;
            struct str rest = {found + 4, x->head.n - n - 2};
            bool fits = buf_str(&x->body, rest);
            x->head.n = n;
            if (memchr(x->head.at, '\0', n) || !str_is_utf8(buf_view(&x->head)))
                return err_set(e, ERR_INVALID, "the request's head is no text");
            return fits || err_set(e, ERR_LIMIT, "the body is too large");
        }
        if (!read_some(x, &x->head))
            return err_set(e, ERR_INVALID, "no whole request came");
    }
}

/* The next line of the head, without its end; `left` goes on behind it. */
static struct str next_line(struct str *left)
{
    const char *end = memmem(left->at, left->n, "\r\n", 2);
    struct str line = {left->at, end ? (size_t)(end - left->at) : left->n};
    size_t used = line.n + (end ? 2 : 0);
    *left = (struct str){left->at + used, left->n - used};
    return line;
}

/* METHOD SP http://... SP HTTP/1.x */
static bool read_first(struct proxied *x, struct str line, struct err *e)
{
    const char *one = memchr(line.at, ' ', line.n);
    const char *two = one ? memrchr(line.at, ' ', line.n) : NULL;
    if (!one || one == two)
        return err_set(e, ERR_INVALID, "the request has no valid first line");
    x->q.method = (struct str){line.at, (size_t)(one - line.at)};
    x->q.url = (struct str){one + 1, (size_t)(two - one) - 1};
    struct str version = {two + 1, (size_t)(line.at + line.n - two) - 1};
    if (!str_starts(version, "HTTP/1."))
        return err_set(e, ERR_INVALID, "HTTP/1.1 is spoken here");
    if (x->q.url.n > 7 && !strncasecmp(x->q.url.at, "http://", 7))
        return true;
    return err_set(e, ERR_INVALID,
                   "this proxy takes URLs that begin with http://, and speaks https with "
                   "their servers itself; it passes on neither CONNECT nor https://");
}

/* false: it is no length, or another than before. */
static bool read_length(struct str value, int64_t *length)
{
    int64_t n = 0;
    for (size_t i = 0; i < value.n; i++) {
        if (value.at[i] < '0' || value.at[i] > '9' || n > INT32_MAX)
            return false;
        n = 10 * n + (value.at[i] - '0');
    }
    bool fits = value.n && (*length < 0 || *length == n);
    *length = n;
    return fits;
}

static bool read_header(struct proxied *x, struct str line, int64_t *length,
                        struct err *e)
{
    const char *colon = memchr(line.at, ':', line.n);
    if (!colon || x->q.header_count == EGRESS_HEADERS_MAX)
        return err_set(e, ERR_INVALID, "a header is none, or there are too many");
    struct egress_header *h = &x->headers[x->q.header_count++];
    h->name = (struct str){line.at, (size_t)(colon - line.at)};
    h->value = str_trim((struct str){colon + 1, line.n - h->name.n - 1});
    if (str_same(h->name, STR("Transfer-Encoding")))
        return err_set(
            e, ERR_INVALID,
            "a request's body has a Content-Length here, no Transfer-Encoding");
    return !str_same(h->name, STR("Content-Length")) || read_length(h->value, length) ||
           err_set(e, ERR_INVALID, "the Content-Length is none");
}

static bool expects(const struct proxied *x)
{
    for (size_t i = 0; i < x->q.header_count; i++)
        if (str_same(x->headers[i].name, STR("Expect")))
            return true;
    return false;
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

static bool read_body(struct proxied *x, int64_t length, struct err *e)
{
    if (length > (int64_t)BODY_MAX)
        return err_set(e, ERR_LIMIT, "the body has %lld bytes; at most %zu are accepted",
                       (long long)length, BODY_MAX);
    if (length > (int64_t)x->body.n && expects(x))
        (void)send_all(x->fd, STR("HTTP/1.1 100 Continue\r\n\r\n"));
    while (length > (int64_t)x->body.n)
        if (!read_some(x, &x->body))
            return err_set(e, ERR_INVALID, "the body is not whole");
    x->q.has_body = length >= 0;
    x->q.body = (struct str){x->body.at, length > 0 ? (size_t)length : 0};
    return true;
}

static bool read_request(struct proxied *x, struct err *e)
{
    int64_t length = -1;
    if (!read_head(x, e))
        return false;
    struct str left = buf_view(&x->head);
    bool ok = read_first(x, next_line(&left), e);
    while (ok && left.n)
        ok = read_header(x, next_line(&left), &length, e);
    x->q.headers = x->headers;
    return ok && read_body(x, length, e);
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
    if (!target_read(&t, NULL, x->q.url, e))
        return false;
    uint16_t port = t.port == 80 ? 443 : t.port;
    bool tls = !says_80(x->q.url) &&
               egress_may_speak(rules, t.host, port, EGRESS_SPEAKS_TLS, &none);
    target_done(&t);
    buf_cstr(url, tls ? "https" : "http");
    buf_str(url, (struct str){x->q.url.at + 4, x->q.url.n - 4});
    x->q.url = buf_view(url);
    return buf_check(url, "the URL", e);
}

static bool is_reading(struct str method)
{
    return str_is(method, "GET") || str_is(method, "HEAD") || str_is(method, "OPTIONS");
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
    if (reads_only && !is_reading(x->q.method))
        return err_set(e, ERR_DENIED,
                       "the policy is readOnly; GET, HEAD and OPTIONS are accepted");
    scoped(egress_close) struct egress *g =
        egress_open(&(struct egress_options){.rules = rules,
                                             .own_port = x->client.own_port,
                                             .cancel = &x->in->cancel,
                                             .tell = x->client.tell,
                                             .tell_arg = x->client.arg});
    return egress_fetch(g, &x->q, r, e);
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

static void put_headers(const struct egress_response *r, bool head, struct buf *out)
{
    struct err none = {0};
    scoped(arena_free) struct arena *a = arena_new((size_t)1 << 20);
    struct json_iter it = json_iter(json_read(buf_view(&r->headers), a, &none));
    while (json_next(&it)) {
        struct str name = json_str(json_at(it.value, 0));
        if (is_dropped(name, head))
            continue;
        buf_str(out, name);
        buf_cstr(out, ": ");
        buf_str(out, json_str(json_at(it.value, 1)));
        buf_cstr(out, "\r\n");
    }
}

static void put_answer(const struct proxied *x, const struct egress_response *r,
                       struct buf *out)
{
    bool head = str_is(x->q.method, "HEAD");
    bool bare = head || r->status == 204 || r->status == 304;
    buf_printf(out, "HTTP/1.1 %d ", r->status);
    buf_str(out, buf_view(&r->status_text));
    buf_cstr(out, "\r\n");
    put_headers(r, head, out);
    if (!bare)
        buf_printf(out, "Content-Length: %zu\r\n", r->body.n);
    buf_cstr(out, "Connection: close\r\n\r\n");
    if (!bare)
        buf_str(out, buf_view(&r->body));
}

static void put_refusal(const struct err *why, struct buf *out)
{
    static const struct {
        enum err_code code;
        const char *line;
    } rows[] = {{ERR_DENIED, "403 Forbidden"},
                {ERR_INVALID, "400 Bad Request"},
                {ERR_NOT_FOUND, "400 Bad Request"},
                {ERR_LIMIT, "413 Content Too Large"},
                {ERR_TIMEOUT, "504 Gateway Timeout"}};
    const char *line = "502 Bad Gateway";
    for (size_t i = 0; i < LENGTH(rows); i++)
        if (rows[i].code == why->code)
            line = rows[i].line;
    buf_printf(
        out,
        "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: "
        "%zu\r\nConnection: close\r\n\r\ncloche: %s\n",
        line, strlen(why->msg) + 9, why->msg);
}

static void serve(struct proxied *x)
{
    struct err why = {0};
    struct egress_response r;
    scoped_buf struct buf out;
    buf_init(&out, ANSWER_MAX);
    egress_response_init(&r);
    if (read_request(x, &why) && proxy_fetch(x, &r, &why))
        put_answer(x, &r, &out);
    else
        put_refusal(&why, &out);
    egress_response_done(&r);
    if (!out.failed)
        (void)send_all(x->fd, buf_view(&out));
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
    buf_done(&x->head);
    buf_done(&x->body);
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

bool egress_proxy_take(struct egress_proxy *p, int fd,
                       const struct egress_proxy_client *c)
{
    pthread_t thread;
    struct timeval most = {.tv_sec = READ_S};
    struct proxied *x = mem_new(sizeof *x);
    *x = (struct proxied){.in = p, .client = *c, .fd = fd};
    buf_init(&x->head, HEAD_MAX);
    buf_init(&x->body, BODY_MAX + HEAD_MAX);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    pthread_mutex_lock(&p->lock);
    bool ok = p->count < CLIENTS_MAX && !cancel_fired(&p->cancel) &&
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
