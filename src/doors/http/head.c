/* A request's head: its fields, and whether everybody reads it alike. What a proxy in front
 * understands differently is how requests are smuggled, so nothing unusual is passed over
 * (RFC 9112, 2.2, 5.1 and 5.2; RFC 9110, 5.3 and 5.5).
 *
 * libmicrohttpd refuses most of it by itself from 1.0 on. What came before ends a head at a
 * line without a name, cuts a value at a NUL, takes a blank before a colon for a part of the
 * name, and joins folded lines wrongly; but it parses in place, so that its buffer still holds
 * every byte of the head, with NULs for the colons and line ends that it understood.
 */

#include "http/server.h"

/* Fields of which one alone can be meant; of others the routes say so. */
static const char *const single[] = {
    "Host",      "Origin",         "Content-Type",      "Content-Length", "Authorization",
    "X-API-Key", "Sec-Fetch-Site", "Transfer-Encoding", "Mcp-Session-Id"};

struct str http_header(const struct http_request *rq, const char *name)
{
    for (unsigned i = 0; i < rq->n_fields; i++)
        if (str_same(rq->fields[i].name, str_of(name)))
            return rq->fields[i].value;
    return (struct str){0};
}

size_t http_header_count(const struct http_request *rq, const char *name)
{
    size_t count = 0;
    for (unsigned i = 0; i < rq->n_fields; i++)
        count += str_same(rq->fields[i].name, str_of(name));
    return count;
}

bool head_is_token(struct str text)
{
    static const char more[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < text.n; i++) {
        char c = text.at[i];
        if (!char_is_digit(c) && !char_is_letter(c) && (!c || !strchr(more, c)))
            return false;
    }
    return text.n > 0;
}

bool head_is_value(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (((unsigned char)text.at[i] < 0x20 && text.at[i] != '\t') ||
            text.at[i] == 0x7f)
            return false;
    return true;
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

/* Behind a line's CRLF; NULL: none is there. */
static const char *skip_line_end(const char *at, const char *end)
{
    return end - at >= 2 && !at[0] && !at[1] ? at + 2 : NULL;
}

/* Behind the field that stands at `at`; NULL: another one stands there. */
static const char *skip_field(const char *at, const char *end, const struct field *f)
{
    if (f->name.at != at || (size_t)(end - at) <= f->name.n || at[f->name.n])
        return NULL;
    at = skip_blanks(at + f->name.n + 1, end);
    if (f->value.n && f->value.at != at)
        return NULL;
    if ((size_t)(end - at) < f->value.n)
        return NULL;
    return skip_line_end(skip_blanks(at + f->value.n, end), end);
}

/* Each byte of the head belongs to a field that we were told of, or to what must stand
 * around it. */
static bool is_whole(const struct http_request *rq)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(rq->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    if (MHD_VERSION >= 0x01000000)
        return true;
    if (!info)
        return false;
    const char *end = rq->method + info->header_size;
    const char *at = skip_line_end(rq->version + strlen(rq->version), end);
    for (unsigned i = 0; at && i < rq->n_fields; i++)
        at = skip_field(at, end, &rq->fields[i]);
    return at && skip_line_end(at, end) == end;
}

const char *head_fault(const struct http_request *rq)
{
    if (rq->bad_field)
        return "a header's name consists of letters, digits and -, and its value has "
               "no control characters";
    for (size_t i = 0; i < LENGTH(single); i++)
        if (http_header_count(rq, single[i]) > 1)
            return "Host, Origin, Content-Type, Content-Length, Transfer-Encoding, "
                   "Authorization, X-API-Key, Sec-Fetch-Site and Mcp-Session-Id may "
                   "each occur once";
    if (!is_whole(rq))
        return "a header is a line NAME: VALUE that ends with CR and LF";
    return NULL;
}

bool head_is_last(const struct http_request *rq)
{
    /* Its trailers are read as its head is, and nothing tells where they ended. */
    return MHD_VERSION < 0x01000000 && http_header(rq, "Transfer-Encoding").at;
}
