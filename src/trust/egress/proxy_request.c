/* The requests of HTTP/1 that the proxy takes. What two readers could read differently is refused. */
#include <stdio.h>
#include <strings.h>

#include "egress/proxy_request.h"

#define CHUNK_LINE_MAX ((size_t)1024) /* of a chunk's size, or a trailer */
#define TRAILERS_MAX 64u

void proxy_request_init(struct proxy_request *x)
{
    *x = (struct proxy_request){.length = -1};
    buf_init(&x->head, PROXY_HEAD_MAX);
    buf_init(&x->body, PROXY_BODY_MAX);
}

void proxy_request_done(struct proxy_request *x)
{
    buf_done(&x->head);
    buf_done(&x->body);
}

static bool refuse(struct proxy_request *x, const char *status, enum err_code code,
                   const char *why, struct err *e)
{
    x->status = status;
    x->keep = false;
    return err_set(e, code, "%s", why);
}

static bool wrong(struct proxy_request *x, const char *why, struct err *e)
{
    return refuse(x, NULL, ERR_INVALID, why, e);
}

/* ---- bytes --------------------------------------------------------------------------- */

bool proxy_input_begins(struct proxy_input *in)
{
    if (in->at < in->n)
        return true;
    ssize_t n = in->read(in->arg, in->bytes, sizeof in->bytes);
    in->at = 0;
    in->n = n > 0 ? (size_t)n : 0;
    return in->n > 0;
}

/* Appends a line with its end, up to `to`'s ceiling. */
static bool read_line(struct proxy_input *in, struct buf *to)
{
    for (;;) {
        if (!proxy_input_begins(in))
            return false;
        const char *from = in->bytes + in->at;
        const char *end = memchr(from, '\n', in->n - in->at);
        size_t n = end ? (size_t)(end - from) + 1 : in->n - in->at;
        in->at += n;
        if (!buf_str(to, (struct str){from, n}))
            return false;
        if (end)
            return true;
    }
}

/* ---- the head -------------------------------------------------------------------------- */

static bool is_empty_line(const struct buf *b, size_t from)
{
    return b->n - from == 2 && b->at[from] == '\r';
}

static bool read_lines(struct proxy_request *x, struct proxy_input *in, struct err *e)
{
    for (size_t from = 0;; from = x->head.n) {
        if (!read_line(in, &x->head))
            return x->head.failed
                       ? refuse(x, "431 Request Header Fields Too Large", ERR_LIMIT,
                                "the request's head is too large; 64 KiB are accepted", e)
                       : wrong(x, "no whole request came", e);
        size_t n = x->head.n;
        if (n - from < 2 || x->head.at[n - 2] != '\r' ||
            memchr(x->head.at + from, '\r', n - from - 2))
            return wrong(x, "a line of the request does not end with CR LF", e);
        if (!is_empty_line(&x->head, from))
            continue;
        x->head.n = from;
        bool text = !memchr(x->head.at, '\0', from) && str_is_utf8(buf_view(&x->head));
        return text || wrong(x, "the request's head is no text", e);
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
static bool read_first(struct proxy_request *x, struct str line, struct err *e)
{
    const char *one = line.n ? memchr(line.at, ' ', line.n) : NULL;
    const char *two = one ? memrchr(line.at, ' ', line.n) : NULL;
    if (!one || one == two)
        return wrong(x, "the request has no valid first line", e);
    x->q.method = (struct str){line.at, (size_t)(one - line.at)};
    x->q.url = (struct str){one + 1, (size_t)(two - one) - 1};
    struct str version = {two + 1, (size_t)(line.at + line.n - two) - 1};
    x->http10 = str_is(version, "HTTP/1.0");
    x->keep = !x->http10;
    if (!x->http10 && !str_is(version, "HTTP/1.1"))
        return refuse(x, "505 HTTP Version Not Supported", ERR_INVALID,
                      "HTTP/1.1 and HTTP/1.0 are spoken here", e);
    if (str_is(x->q.method, "CONNECT"))
        return refuse(
            x, "405 Method Not Allowed", ERR_INVALID,
            "this proxy opens no tunnels (CONNECT): it takes URLs that begin "
            "with http://, and speaks https with their servers itself; without a "
            "proxy, https reaches what the policy allows",
            e);
    if (x->q.url.n > 7 && !strncasecmp(x->q.url.at, "http://", 7))
        return true;
    return wrong(x,
                 "this proxy takes URLs that begin with http://, and speaks https with "
                 "their servers itself; it passes on neither paths nor https://",
                 e);
}

bool proxy_read_length(struct str value, int64_t *length)
{
    int64_t n = 0;
    for (size_t i = 0; i < value.n; i++) {
        if (value.at[i] < '0' || value.at[i] > '9' || n > INT64_MAX / 100)
            return false;
        n = 10 * n + (value.at[i] - '0');
    }
    bool fits = value.n && (*length < 0 || *length == n);
    *length = n;
    return fits;
}

static bool has_word(struct str list, const char *word)
{
    while (list.n) {
        const char *comma = memchr(list.at, ',', list.n);
        size_t n = comma ? (size_t)(comma - list.at) : list.n;
        if (str_same(str_trim((struct str){list.at, n}), str_of(word)))
            return true;
        n += comma != NULL;
        list = (struct str){list.at + n, list.n - n};
    }
    return false;
}

static void read_connection(struct proxy_request *x, struct str value)
{
    if (has_word(value, "close"))
        x->keep = false;
    else if (x->http10 && has_word(value, "keep-alive"))
        x->keep = true;
}

static bool read_header(struct proxy_request *x, struct str line, struct err *e)
{
    const char *colon = line.n ? memchr(line.at, ':', line.n) : NULL;
    if (x->q.header_count == EGRESS_HEADERS_MAX)
        return refuse(x, "431 Request Header Fields Too Large", ERR_LIMIT,
                      "the request has too many headers; 100 are accepted", e);
    if (!colon || !is_token((struct str){line.at, (size_t)(colon - line.at)}))
        return wrong(x, "a line of the request's head is no header", e);
    struct egress_header *h = &x->headers[x->q.header_count++];
    h->name = (struct str){line.at, (size_t)(colon - line.at)};
    h->value = str_trim((struct str){colon + 1, line.n - h->name.n - 1});
    if (str_same(h->name, STR("Connection")) ||
        str_same(h->name, STR("Proxy-Connection")))
        read_connection(x, h->value);
    x->expects |= str_same(h->name, STR("Expect"));
    if (str_same(h->name, STR("Transfer-Encoding"))) {
        bool fine = !x->chunked && !x->http10 && str_same(h->value, STR("chunked"));
        x->chunked = true;
        return fine || refuse(x, "501 Not Implemented", ERR_INVALID,
                              "of transfer codings, 'chunked' is accepted", e);
    }
    return !str_same(h->name, STR("Content-Length")) ||
           proxy_read_length(h->value, &x->length) ||
           wrong(x, "the Content-Length is none", e);
}

/* Headers that Connection names are of the way to the proxy alone. */
static void drop_nominated(struct proxy_request *x)
{
    size_t kept = 0;
    for (size_t i = 0; i < x->q.header_count; i++) {
        char name[128];
        bool named = false;
        (void)snprintf(name, sizeof name, "%.*s", STR_ARGS(x->headers[i].name));
        for (size_t k = 0; k < x->q.header_count; k++)
            named |= str_same(x->headers[k].name, STR("Connection")) &&
                     has_word(x->headers[k].value, name);
        x->headers[kept] = x->headers[i];
        kept += !named || str_same(x->headers[i].name, STR("Connection"));
    }
    x->q.header_count = kept;
}

bool proxy_read_head(struct proxy_request *x, struct proxy_input *in, struct err *e)
{
    if (!read_lines(x, in, e))
        return false;
    struct str left = buf_view(&x->head);
    bool ok = read_first(x, next_line(&left), e);
    while (ok && left.n)
        ok = read_header(x, next_line(&left), e);
    x->q.headers = x->headers;
    if (ok && x->chunked && x->length >= 0)
        ok = wrong(x, "the request has a Content-Length and is chunked", e);
    if (ok)
        drop_nominated(x);
    return ok;
}

/* ---- the body ---------------------------------------------------------------------------- */

static bool too_large(struct proxy_request *x, struct err *e)
{
    return refuse(x, NULL, ERR_LIMIT,
                  "the request's body is too large; 4194304 bytes are accepted", e);
}

static bool read_bytes(struct proxy_request *x, struct proxy_input *in, uint64_t n,
                       struct err *e)
{
    if (n > PROXY_BODY_MAX - x->body.n)
        return too_large(x, e);
    while (n) {
        if (!proxy_input_begins(in))
            return wrong(x, "the request's body is not whole", e);
        size_t some = in->n - in->at < n ? in->n - in->at : (size_t)n;
        if (!buf_str(&x->body, (struct str){in->bytes + in->at, some}))
            return too_large(x, e);
        in->at += some;
        n -= some;
    }
    return true;
}

/* A line without its end. */
static bool body_line(struct proxy_request *x, struct proxy_input *in, struct buf *line,
                      struct err *e)
{
    line->n = 0;
    if (!read_line(in, line) || line->n < 2 || line->at[line->n - 2] != '\r')
        return wrong(x, "the request's body is not chunked as it says", e);
    line->n -= 2;
    return true;
}

/* HEX [;...] */
static bool chunk_size(struct str line, uint64_t *out)
{
    uint64_t n = 0;
    size_t i = 0;
    for (; i < line.n && line.at[i] != ';'; i++) {
        char c = char_lower(line.at[i]);
        bool digit = c >= '0' && c <= '9';
        if ((!digit && (c < 'a' || c > 'f')) || n > UINT32_MAX)
            return false;
        n = 16 * n + (uint64_t)(digit ? c - '0' : c - 'a' + 10);
    }
    *out = n;
    return i > 0;
}

static bool read_chunks(struct proxy_request *x, struct proxy_input *in, struct err *e)
{
    scoped_buf struct buf line;
    buf_init(&line, CHUNK_LINE_MAX);
    for (uint64_t n = 1; n;) {
        if (!body_line(x, in, &line, e))
            return false;
        if (!chunk_size(buf_view(&line), &n))
            return wrong(x, "the request's body is not chunked as it says", e);
        if (n && (!read_bytes(x, in, n, e) || !body_line(x, in, &line, e)))
            return false;
        if (n && line.n)
            return wrong(x, "the request's body is not chunked as it says", e);
    }
    for (unsigned i = 0; i <= TRAILERS_MAX; i++) {
        if (!body_line(x, in, &line, e))
            return false;
        if (!line.n)
            return true;
    }
    return wrong(x, "the request has too many trailers", e);
}

bool proxy_read_body(struct proxy_request *x, struct proxy_input *in, struct err *e)
{
    x->q.has_body = x->chunked || x->length >= 0;
    if (x->chunked ? !read_chunks(x, in, e)
                   : x->length > 0 && !read_bytes(x, in, (uint64_t)x->length, e))
        return false;
    x->q.body = buf_view(&x->body);
    return true;
}
