/* A fetch: its redirects, each of which is checked like the first request, and what is
 * kept for all fetches of one session. */
#include <pthread.h>
#include <stdio.h>

#include "egress/internal.h"
#include "os/os.h"

#define FETCHES 100u
#define REDIRECTS 10u
#define FETCH_MS 30000u
#define REQUEST_BYTES ((size_t)4 << 20)
#define RESPONSE_BYTES ((size_t)8 << 20)
#define HEADERS_BYTES ((size_t)64 << 10)
#define SILENCE_MS 3600000u

struct egress {
    struct egress_options options;
    pthread_mutex_t lock; /* guards what follows */
    struct line *idle;
    uint32_t fetches;
    bool has_keys;
    struct keys keys;  /* only read, once they are there */
    uint32_t *aborted; /* fetches_max ids */
    uint32_t aborted_count;
    struct egress_trip *trips; /* that are waited for without a thread */
};

struct egress_trip {
    struct egress_trip *next; /* of its session's */
    struct egress *g;
    struct egress_request q;
    struct egress_response *out;
    struct target to;
    char method[40];
    bool has_body, crossed;
    uint64_t until_ns;
    uint32_t redirects_left;
    struct buf lines, received;
    struct line *line;
    struct hop hop;
    void (*wake)(void *arg); /* NULL: its own thread waits */
    void *wake_arg;
    struct stream *stream; /* NULL: the answer is collected */
    bool over, ok;         /* `why` tells why not */
    struct err why;
};

struct egress *egress_open(const struct egress_options *o)
{
    struct egress *g = mem_new(sizeof *g);
    g->options = *o;
    struct egress_options *p = &g->options;
    p->fetches_max = p->fetches_max ? p->fetches_max : FETCHES;
    p->redirects_max = p->redirects_max ? p->redirects_max : REDIRECTS;
    p->fetch_ms = p->fetch_ms ? p->fetch_ms : FETCH_MS;
    p->request_max = p->request_max ? p->request_max : REQUEST_BYTES;
    p->response_max = p->response_max ? p->response_max : RESPONSE_BYTES;
    p->headers_max = p->headers_max ? p->headers_max : HEADERS_BYTES;
    p->silence_ms = p->silence_ms ? p->silence_ms : SILENCE_MS;
    pthread_mutex_init(&g->lock, NULL);
    g->aborted = mem_new(p->fetches_max * sizeof *g->aborted);
    return g;
}

void egress_close(struct egress *g)
{
    if (!g)
        return;
    for (struct line *l = g->idle, *next; l; l = next) {
        next = l->next;
        line_close(l);
    }
    keys_close(&g->keys);
    pthread_mutex_destroy(&g->lock);
    free(g->aborted);
    free(g);
}

void egress_response_init(struct egress_response *r)
{
    *r = (struct egress_response){0};
    /* The session's limits take the place of these. */
    struct buf *const all[] = {&r->status_text, &r->url, &r->headers, &r->body};
    for (size_t i = 0; i < LENGTH(all); i++)
        buf_init(all[i], SIZE_MAX / 4);
}

void egress_response_done(struct egress_response *r)
{
    struct buf *const all[] = {&r->status_text, &r->url, &r->headers, &r->body};
    for (size_t i = 0; i < LENGTH(all); i++)
        buf_done(all[i]);
}

/* ---- the session's state ------------------------------------------------ */

static bool begin_fetch(struct egress *g, struct err *e)
{
    pthread_mutex_lock(&g->lock);
    bool ok = g->fetches < g->options.fetches_max;
    g->fetches += ok;
    if (ok && !g->has_keys) {
        keys_open(&g->keys, g->options.rules);
        g->has_keys = true;
    }
    pthread_mutex_unlock(&g->lock);
    return ok || err_set(e, ERR_LIMIT, "more than %u fetches in one evaluation",
                         g->options.fetches_max);
}

static struct line *trip_take_line(struct egress *g, struct err *e)
{
    pthread_mutex_lock(&g->lock);
    struct line *l = g->idle;
    if (l)
        g->idle = l->next;
    pthread_mutex_unlock(&g->lock);
    return l ? l : line_open(e);
}

static void give_line(struct egress *g, struct line *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&g->lock);
    l->next = g->idle;
    g->idle = l;
    pthread_mutex_unlock(&g->lock);
}

void egress_abort(struct egress *g, uint32_t id)
{
    pthread_mutex_lock(&g->lock);
    if (g->aborted_count < g->options.fetches_max)
        g->aborted[g->aborted_count++] = id;
    for (struct egress_trip *t = g->trips; t; t = t->next)
        if (t->q.id == id)
            t->wake(t->wake_arg);
    pthread_mutex_unlock(&g->lock);
}

/* ---- a fetch ------------------------------------------------------------ */

static bool is_stopped(void *arg)
{
    const struct egress_trip *t = arg;
    struct egress *g = t->g;
    if (g->options.cancel && cancel_fired(g->options.cancel))
        return true;
    if (!t->q.id)
        return false;
    pthread_mutex_lock(&g->lock);
    bool aborted = false;
    for (uint32_t i = 0; i < g->aborted_count; i++)
        aborted |= g->aborted[i] == t->q.id;
    pthread_mutex_unlock(&g->lock);
    return aborted;
}

/* A query with a secret in it would be logged at every corner; code is told early. */
static bool check_no_secret(struct str url, struct err *e)
{
    if (memmem(url.at, url.n, "{{secret:", 9) ||
        memmem(url.at, url.n, "%7B%7Bsecret:", 13))
        return err_set(e, ERR_INVALID,
                       "a URL may not contain a secret; headers accept {{secret:NAME}}");
    return true;
}

static bool check_request(const struct egress *g, const struct egress_request *q,
                          struct err *e)
{
    if (!check_method(q->method, e) || !check_headers(q, g->options.headers_max, e) ||
        !check_no_secret(q->url, e))
        return false;
    if (q->has_body && q->body.n > g->options.request_max)
        return err_set(e, ERR_LIMIT, "the body has %zu bytes; at most %zu are accepted",
                       q->body.n, g->options.request_max);
    if (q->has_body && (str_is(q->method, "GET") || str_is(q->method, "HEAD")))
        return err_set(e, ERR_INVALID, "a %.*s request has no body", STR_ARGS(q->method));
    return true;
}

static void trip_report_hop(const struct egress_trip *t, const struct hop *h,
                            enum err_code outcome)
{
    const struct egress_options *o = &t->g->options;
    struct egress_hop told = {.method = t->method,
                              .scheme = t->to.https ? "https" : "http",
                              .host = t->to.host,
                              .port = t->to.port,
                              .status = outcome ? 0 : t->out->status,
                              .began_ns = h ? h->began_ns : os_mono_ns(),
                              .sent_bytes = h ? h->sent_bytes : 0,
                              .received_bytes = h ? h->received_bytes : 0,
                              .outcome = outcome};
    struct err why = t->why;
    if (outcome && h && h->streams) {
        keys_scrub_error(&t->g->keys, &why);
        told.why = why.msg;
    }
    if (o->tell)
        o->tell(o->tell_arg, &told);
}

/* The next request of it is on its way, or its answer is there. */
static bool send_hop(struct egress_trip *t, struct err *e)
{
    buf_clear(&t->lines);
    buf_clear(&t->received);
    buf_clear(&t->out->body);
    if (!rules_allow_name(t->g->options.rules, &t->to, e) ||
        !write_headers(&t->q, &t->g->keys, &t->to, t->crossed, t->has_body, &t->lines,
                       e)) {
        trip_report_hop(t, NULL, e->code);
        return false;
    }
    t->hop = (struct hop){.options = &t->g->options,
                          .to = &t->to,
                          .method = t->method,
                          .lines = &t->lines,
                          .body = t->q.body,
                          .has_body = t->has_body,
                          .until_ns = t->until_ns,
                          .stopped = is_stopped,
                          .stopped_arg = t,
                          .out = t->out,
                          .received = &t->received,
                          .taker = t->stream ? stream_taker(t->stream) : NULL,
                          .wake = t->wake,
                          .wake_arg = t->wake_arg};
    if (t->wake)
        return loop_submit(t->g->options.loop, &t->hop, t->line, e);
    (void)hop_run(&t->hop, t->line, &(struct err){0});
    t->hop.state = HOP_DONE;
    return true;
}

/* ---- the answer's headers ----------------------------------------------- */

/* The next line, without its end. */
static struct str head_next(struct str *rest)
{
    const char *end = memchr(rest->at, '\n', rest->n);
    size_t n = end ? (size_t)(end - rest->at) : rest->n;
    struct str line = str_trim((struct str){rest->at, n});
    rest->at += n + (end != NULL);
    rest->n -= n + (end != NULL);
    return line;
}

static bool split_line(struct str line, struct str *name, struct str *value)
{
    const char *colon = memchr(line.at, ':', line.n);
    if (!colon)
        return false;
    *name = (struct str){line.at, (size_t)(colon - line.at)};
    *value = str_trim((struct str){colon + 1, line.n - name->n - 1});
    return is_token(*name);
}

static struct str find_header(const struct buf *received, const char *wanted)
{
    struct str rest = buf_view(received), name, value;
    while (rest.n)
        if (split_line(head_next(&rest), &name, &value) && str_same(name, str_of(wanted)))
            return value;
    return (struct str){0};
}

static void put_name(struct json_writer *w, struct str name)
{
    char lower[256];
    size_t n = name.n < sizeof lower ? name.n : sizeof lower;
    for (size_t i = 0; i < n; i++)
        lower[i] = char_lower(name.at[i]);
    json_put_str(w, (struct str){lower, n});
}

/* "HTTP/1.1 404 Not Found" and the lines below it. */
static void write_head(struct egress_trip *t)
{
    struct str rest = buf_view(&t->received), name, value;
    struct str status = head_next(&rest);
    for (int words = 0; words < 2 && status.n; words++) {
        const char *space = memchr(status.at, ' ', status.n);
        size_t n = space ? (size_t)(space - status.at) + 1 : status.n;
        status = (struct str){status.at + n, status.n - n};
    }
    if (str_is_utf8(status))
        buf_str(&t->out->status_text, status);
    struct json_writer w = json_writer(&t->out->headers);
    json_open_array(&w);
    while (rest.n) {
        if (!split_line(head_next(&rest), &name, &value))
            continue;
        json_open_array(&w);
        put_name(&w, name);
        json_put_str(&w, value);
        json_close(&w);
    }
    json_close(&w);
}

/* ---- redirects ---------------------------------------------------------- */

static bool is_redirect(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 ||
           status == 308;
}

/* Fetch standard, HTTP-redirect fetch: what becomes of the method and the body. */
static void change_method(struct egress_trip *t)
{
    int status = t->out->status;
    bool post = !strcmp(t->method, "POST");
    bool plain = !strcmp(t->method, "GET") || !strcmp(t->method, "HEAD");
    if (((status == 301 || status == 302) && post) || (status == 303 && !plain)) {
        (void)snprintf(t->method, sizeof t->method, "GET");
        t->has_body = false;
    }
}

static bool trip_go_on(struct egress_trip *t, struct str location, struct err *e)
{
    struct target next;
    if (!target_read(&next, &t->to, location, e))
        return err_wrap(e, "the redirect of %s", t->to.host);
    /* Once it has left its origin it stays a stranger, also should it return. */
    t->crossed |= !target_same_origin(&t->to, &next);
    target_done(&t->to);
    t->to = next;
    change_method(t);
    t->out->redirected = true;
    return true;
}

static bool must_follow(const struct egress_trip *t, struct str location)
{
    return is_redirect(t->out->status) && location.n && t->q.redirect != EGRESS_MANUAL;
}

static bool trip_follow(struct egress_trip *t, struct str location, struct err *e)
{
    if (t->q.redirect == EGRESS_ERROR)
        return err_set(e, ERR_IO, "%s answers with a redirect, and redirect is 'error'",
                       t->to.host);
    if (t->redirects_left == 0)
        return err_set(e, ERR_LIMIT, "more than %u redirects",
                       t->g->options.redirects_max);
    t->redirects_left--;
    return trip_go_on(t, location, e) && send_hop(t, e);
}

/* ---- the whole ---------------------------------------------------------- */

static bool trip_finish(struct egress_trip *t, struct err *e)
{
    write_head(t);
    (void)target_write(&t->to, &t->out->url);
    struct buf *const all[] = {&t->out->status_text, &t->out->url, &t->out->headers,
                               &t->out->body};
    bool ok = true;
    for (size_t i = 0; i < LENGTH(all); i++)
        ok &= keys_scrub(&t->g->keys, all[i]) && !all[i]->failed;
    return ok || err_set(e, ERR_LIMIT, "the response exceeds the size limit");
}

/* The answer's beginning, for a stream. */
static bool trip_head(void *arg, bool *streams, struct err *e)
{
    struct egress_trip *t = arg;
    struct str location = find_header(&t->received, "Location");
    if (must_follow(t, location)) /* what is beside it is of no interest */
        return true;
    struct str coding = find_header(&t->received, "Content-Encoding");
    struct str transfer = find_header(&t->received, "Transfer-Encoding");
    t->out->as_it_came = !coding.n && !transfer.n && !keys_any(&t->g->keys);
    *streams = true;
    return trip_finish(t, e) && stream_begin(t->stream, &t->g->keys, t->out, e);
}

static bool trip_may_go_on(void *arg, const struct egress_rules *now, struct err *e)
{
    const struct egress_trip *t = arg;
    const char *why = t->hop.port ? rules_refuse_address(now, EGRESS_HTTPS,
                                                         &t->hop.address, t->hop.port)
                                  : NULL;
    return rules_allow_name(now, &t->to, e) &&
           (!why ||
            err_set(e, ERR_DENIED, "%s has an address that is %s", t->to.host, why));
}

static void end_trip(struct egress_trip *t, bool ok)
{
    t->over = true;
    t->ok = ok;
}

/* With the answer of a hop. */
static void take_answer(struct egress_trip *t)
{
    bool ok = hop_outcome(&t->hop, &t->why);
    if (ok && t->hop.streams)
        ok = stream_end(t->stream, &t->why);
    trip_report_hop(t, &t->hop, ok ? ERR_NONE : t->why.code);
    struct str location = ok ? find_header(&t->received, "Location") : (struct str){0};
    if (!ok || t->hop.streams)
        end_trip(t, ok);
    else if (!must_follow(t, location))
        end_trip(t, trip_finish(t, &t->why));
    else if (!trip_follow(t, location, &t->why))
        end_trip(t, false);
}

static void list_trip(struct egress_trip *t)
{
    pthread_mutex_lock(&t->g->lock);
    t->next = t->g->trips;
    t->g->trips = t;
    pthread_mutex_unlock(&t->g->lock);
}

static void unlist_trip(struct egress_trip *t)
{
    struct egress *g = t->g;
    pthread_mutex_lock(&g->lock);
    for (struct egress_trip **at = &g->trips; *at; at = &(*at)->next)
        if (*at == t) {
            *at = t->next;
            break;
        }
    pthread_mutex_unlock(&g->lock);
}

static struct egress_trip *trip_begin(struct egress *g, const struct egress_request *q,
                                      struct egress_response *out, struct stream *stream,
                                      void (*wake)(void *arg), void *arg, struct err *e)
{
    struct target to;
    if (!check_request(g, q, e) || !begin_fetch(g, e) ||
        !target_read(&to, NULL, q->url, e))
        return NULL;
    struct egress_trip *t = mem_new(sizeof *t);
    *t = (struct egress_trip){.g = g,
                              .q = *q,
                              .out = out,
                              .to = to,
                              .has_body = q->has_body,
                              .until_ns = os_in_ms(g->options.fetch_ms),
                              .redirects_left = g->options.redirects_max,
                              .wake = g->options.loop ? wake : NULL,
                              .wake_arg = arg,
                              .stream = stream};
    if (stream)
        stream_of(stream, trip_head, trip_may_go_on, t);
    (void)snprintf(t->method, sizeof t->method, "%.*s", STR_ARGS(q->method));
    buf_init(&t->lines, 4 * g->options.headers_max);
    buf_init(&t->received, g->options.headers_max);
    out->body.ceiling = g->options.response_max;
    if (t->wake)
        list_trip(t);
    t->line = trip_take_line(g, &t->why);
    if (!t->line || !send_hop(t, &t->why))
        end_trip(t, false);
    return t;
}

struct egress_trip *egress_begin(struct egress *g, const struct egress_request *q,
                                 struct egress_response *out, void (*wake)(void *arg),
                                 void *arg, struct err *e)
{
    return trip_begin(g, q, out, NULL, wake, arg, e);
}

bool egress_look(struct egress_trip *t)
{
    struct egress_loop *loop = t->wake ? t->g->options.loop : NULL;
    while (!t->over && (!loop || loop_is_done(loop, &t->hop)))
        take_answer(t);
    if (!t->over && is_stopped(t))
        loop_call_off(loop, &t->hop);
    return t->over;
}

bool egress_end(struct egress_trip *t, struct err *e)
{
    struct egress *g = t->g;
    if (t->wake)
        unlist_trip(t);
    if (!t->over) {
        loop_call_off(g->options.loop, &t->hop);
        loop_await(g->options.loop, &t->hop);
        while (!t->over && loop_is_done(g->options.loop, &t->hop)) {
            t->redirects_left = 0; /* it goes nowhere from here */
            take_answer(t);
        }
    }
    bool ok = t->ok;
    if (!ok) {
        *e = t->why;
        keys_scrub_error(&g->keys, e);
        buf_clear(&t->out->body);
    }
    give_line(g, t->line);
    if (t->lines.at)
        explicit_bzero(t->lines.at, t->lines.capacity);
    buf_done(&t->lines);
    buf_done(&t->received);
    target_done(&t->to);
    free(t);
    return ok;
}

bool egress_fetch(struct egress *g, const struct egress_request *q,
                  struct egress_response *out, struct err *e)
{
    struct egress_trip *t = egress_begin(g, q, out, NULL, NULL, e);
    if (!t)
        return false;
    (void)egress_look(t);
    return egress_end(t, e);
}

bool egress_stream(struct egress *g, const struct egress_request *q,
                   const struct egress_sink *sink, struct egress_response *out,
                   bool *begun, struct err *e)
{
    struct stream *s = stream_new(sink);
    struct egress_trip *t = trip_begin(g, q, out, s, NULL, NULL, e);
    if (t)
        (void)egress_look(t);
    *begun = stream_has_begun(s);
    bool ok = t && egress_end(t, e);
    stream_free(s);
    return ok;
}
