/* The parts of a request: methods, headers, and which of them go on to the next host. */
#include <stdio.h>
#include <strings.h>

#include "egress/internal.h"

#define METHOD_MAX 32u

bool is_token(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] <= ' ' || s.at[i] > '~' || strchr("\"(),/:;<=>?@[\\]{}", s.at[i]))
            return false;
    return s.n > 0;
}

static bool is_any(struct str name, const char *const *names)
{
    for (; *names; names++)
        if (str_same(name, str_of(*names)))
            return true;
    return false;
}

bool check_method(struct str method, struct err *e)
{
    static const char *const refused[] = {"CONNECT", "TRACE", "TRACK", NULL};
    if (!is_token(method) || method.n > METHOD_MAX || is_any(method, refused))
        return err_set(e, ERR_INVALID,
                       "the method '%.*s' cannot be used; such as GET, POST, PUT, PATCH, "
                       "DELETE, HEAD or OPTIONS is accepted",
                       is_token(method) ? (int)str_cut(method, METHOD_MAX).n : 0,
                       method.at);
    return true;
}

/* Bytes that could end the line, or be read as its end. */
static bool is_value(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (((unsigned char)s.at[i] < ' ' && s.at[i] != '\t') || s.at[i] == 0x7f)
            return false;
    return true;
}

bool check_headers(const struct egress_request *q, size_t max, struct err *e)
{
    size_t total = 0;
    if (q->header_count > EGRESS_HEADERS_MAX)
        return err_set(e, ERR_LIMIT, "%zu headers; at most %u are accepted",
                       q->header_count, EGRESS_HEADERS_MAX);
    for (size_t i = 0; i < q->header_count; i++) {
        const struct egress_header *h = &q->headers[i];
        if (!is_token(h->name))
            return err_set(
                e, ERR_INVALID,
                "header %zu has no valid name; letters, digits and - are accepted",
                i + 1);
        if (!is_value(h->value))
            return err_set(e, ERR_INVALID,
                           "the value of the header '%.*s' holds a line end or another "
                           "control character",
                           STR_ARGS(str_cut(h->name, 60)));
        total += h->name.n + h->value.n + 4;
    }
    return total <= max ||
           err_set(e, ERR_LIMIT, "the headers have %zu bytes; at most %zu are accepted",
                   total, max);
}

/* Headers set by the connection and us; the Fetch standard ignores them too. */
static bool request_is_ours(struct str name)
{
    static const char *const ours[] = {"Accept-Encoding",
                                       "Connection",
                                       "Content-Length",
                                       "Expect",
                                       "Host",
                                       "Keep-Alive",
                                       "TE",
                                       "Trailer",
                                       "Transfer-Encoding",
                                       "Upgrade",
                                       "Via",
                                       NULL};
    return is_any(name, ours) || (name.n > 6 && !strncasecmp(name.at, "Proxy-", 6));
}

static bool is_left_out(struct str name, bool crossed, bool with_body)
{
    static const char *const own[] = {"Authorization", "Cookie", NULL};
    return request_is_ours(name) || (crossed && is_any(name, own)) ||
           (!with_body && name.n > 8 && !strncasecmp(name.at, "Content-", 8));
}

bool has_header(const struct buf *lines, const char *name)
{
    size_t n = strlen(name);
    for (size_t at = 0; at < lines->n;) {
        const char *line = lines->at + at;
        const char *end = memchr(line, '\n', lines->n - at);
        size_t length = end ? (size_t)(end - line) : lines->n - at;
        if (length > n && line[n] == ':' && !strncasecmp(line, name, n))
            return true;
        at += length + 1;
    }
    return false;
}

static bool write_one(const struct egress_header *h, const struct keys *k,
                      const struct target *to, bool crossed, struct buf *lines,
                      struct err *e)
{
    char name[128];
    bool secret = false;
    if (h->name.n >= sizeof name)
        return err_set(e, ERR_INVALID, "a header's name has %zu bytes; %zu are accepted",
                       h->name.n, sizeof name - 1);
    /* A header that carries a secret does not go on to another origin: whether the secret
     * was meant for that one, too, only its own rule may say. */
    if (crossed && memmem(h->value.at, h->value.n, "{{secret:", 9))
        return true;
    (void)snprintf(name, sizeof name, "%.*s", STR_ARGS(h->name));
    buf_printf(lines, "%s: ", name);
    if (!keys_fill(k, to, name, str_trim(h->value), lines, &secret, e))
        return false;
    buf_char(lines, '\n');
    return buf_check(lines, "the headers", e);
}

bool write_headers(const struct egress_request *q, const struct keys *k,
                   const struct target *to, bool crossed, bool with_body,
                   struct buf *lines, struct err *e)
{
    for (size_t i = 0; i < q->header_count; i++)
        if (!is_left_out(q->headers[i].name, crossed, with_body) &&
            !write_one(&q->headers[i], k, to, crossed, lines, e))
            return false;
    if (!keys_add(k, to, lines, e))
        return false;
    if (!has_header(lines, "User-Agent"))
        buf_cstr(lines, "User-Agent: cloche/" CLOCHE_VERSION "\n");
    /* Says that this came from inside: a Cloche that is asked without a token refuses
     * what was forwarded, so that a guest does not reach one as if it were a person. */
    buf_cstr(lines, "Via: 1.1 cloche\n");
    return buf_check(lines, "the headers", e);
}
