/* What a program of a machine says to the proxy. The input: a byte, of how many bytes come at once,
 * then they. Whatever comes, a request that is taken has a method, a URL of http:// and headers that
 * end no line, and what it is does not depend on how its bytes came. */
#include "driver.h"
#include "egress/proxy_request.h"

struct source {
    struct str left;
    size_t step;
};

static ssize_t next_bytes(void *arg, void *to, size_t n)
{
    struct source *s = arg;
    n = n < s->step ? n : s->step;
    n = n < s->left.n ? n : s->left.n;
    if (n)
        memcpy(to, s->left.at, n);
    s->left = (struct str){s->left.at + n, s->left.n - n};
    return (ssize_t)n;
}

static bool ends_lines(struct str s)
{
    return s.n && (memchr(s.at, '\n', s.n) || memchr(s.at, '\r', s.n) ||
                   memchr(s.at, '\0', s.n));
}

static void holds_request(const struct proxy_request *x)
{
    struct err none = {0};
    const struct egress_request *q = &x->q;
    holds(str_same((struct str){q->url.at, 7}, STR("http://")));
    holds(!ends_lines(q->method) && !ends_lines(q->url));
    holds(q->header_count <= EGRESS_HEADERS_MAX && q->body.n <= PROXY_BODY_MAX);
    for (size_t i = 0; i < q->header_count; i++)
        holds(is_token(q->headers[i].name) && !ends_lines(q->headers[i].value));
    if (!check_headers(q, 65536, &none))
        holds_error(&none);
}

static void put_request(const struct proxy_request *x, struct buf *out)
{
    buf_str(out, x->q.method);
    buf_str(out, x->q.url);
    for (size_t i = 0; i < x->q.header_count; i++) {
        buf_str(out, x->q.headers[i].name);
        buf_str(out, x->q.headers[i].value);
    }
    buf_printf(out, "%d %d %zu ", x->keep, x->q.has_body, x->q.body.n);
    buf_str(out, x->q.body);
}

/* All requests, as a text. */
static void read_all(struct str bytes, size_t step, struct buf *out)
{
    struct source s = {bytes, step};
    struct proxy_input *in = mem_new(sizeof *in);
    in->read = next_bytes;
    in->arg = &s;
    for (bool more = true; more && proxy_input_begins(in);) {
        struct proxy_request x;
        struct err e = {0};
        proxy_request_init(&x);
        more = proxy_read_head(&x, in, &e) && proxy_read_body(&x, in, &e);
        if (more) {
            holds_request(&x);
            put_request(&x, out);
        } else {
            holds_error(&e);
            holds(e.code == ERR_INVALID || e.code == ERR_LIMIT);
            holds(!x.keep);
            buf_printf(out, "!%s", e.msg);
        }
        more = more && x.keep;
        proxy_request_done(&x);
    }
    free(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    struct str bytes = {(const char *)data + 1, size - 1};
    scoped_buf struct buf one, other;
    buf_init(&one, (size_t)16 << 20);
    buf_init(&other, (size_t)16 << 20);
    read_all(bytes, SIZE_MAX, &one);
    read_all(bytes, 1u + data[0] % 16, &other);
    holds(str_eq(buf_view(&one), buf_view(&other)));
    return 0;
}
