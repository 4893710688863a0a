/* Nothing is believed that two readers could read differently: a second Host, a target with a server
 * in it, CONNECT, folded lines, two lengths of a body are refused. Behind Upgrade another protocol
 * may come, if the server says so: of a connection's first request alone, whose answer is what comes
 * first. HTTP/2 and others that ask for servers of their own are refused. */
#include "vm/follow.h"

#include <strings.h>

#define LENGTH_MAX ((uint64_t)1 << 60)

struct head {
    bool http10, named, sized, chunked, asks;
    bool used; /* another was before it */
    uint64_t length;
    const char *why; /* it is refused */
};

/* ---- a line ------------------------------------------------------------------------ */

/* The next line without its end. PEEK_NOTHING: it ends otherwise than by CR LF, or has one of both
 * inside. */
static enum peek next_line(struct str *left, struct str *line)
{
    const char *end = left->n ? memchr(left->at, '\n', left->n) : NULL;
    if (!end)
        return PEEK_MORE;
    size_t n = (size_t)(end - left->at);
    *line = (struct str){left->at, n ? n - 1 : 0};
    bool fine = n && left->at[n - 1] == '\r' && !memchr(line->at, '\r', line->n) &&
                !memchr(line->at, 0, line->n);
    *left = (struct str){end + 1, left->n - n - 1};
    return fine ? PEEK_FOUND : PEEK_NOTHING;
}

/* A header's name, and what is behind its colon. */
static bool split(struct str line, struct str *name, struct str *value)
{
    static const char token[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *colon = memchr(line.at, ':', line.n);
    size_t n = colon ? (size_t)(colon - line.at) : 0;
    for (size_t i = 0; i < n; i++)
        if (!strchr(token, line.at[i]))
            return false;
    *name = (struct str){line.at, n};
    *value = str_trim((struct str){line.at + n + 1, n ? line.n - n - 1 : 0});
    return n > 0;
}

/* METHOD SP /target SP HTTP/1.x */
static bool is_plain_request(struct str line, bool *http10)
{
    const char *space = memchr(line.at, ' ', line.n);
    size_t n = space ? (size_t)(space - line.at) : 0;
    for (size_t i = 0; i < n; i++)
        if (line.at[i] < 'A' || line.at[i] > 'Z')
            return false;
    struct str rest = {line.at + n + 1, n ? line.n - n - 1 : 0};
    const char *end = n && rest.n ? memchr(rest.at, ' ', rest.n) : NULL;
    if (!end || (rest.at[0] != '/' && !str_starts(rest, "* ")) ||
        str_is((struct str){line.at, n}, "CONNECT"))
        return false;
    struct str version = {end + 1, rest.n - (size_t)(end - rest.at) - 1};
    *http10 = str_is(version, "HTTP/1.0");
    return *http10 || str_is(version, "HTTP/1.1");
}

/* ---- a head ------------------------------------------------------------------------ */

static const char *take_host(struct head *h, struct str value,
                             char name[static PEEK_NAME])
{
    const char *colon = value.n ? memrchr(value.at, ':', value.n) : NULL;
    bool v6 = value.n && value.at[0] == '[';
    if (colon && !(v6 && memchr(colon, ']', (size_t)(value.at + value.n - colon))))
        value.n = (size_t)(colon - value.at);
    if (h->named || peek_take(value.at, value.n, name) != PEEK_FOUND)
        return "it has two Hosts, or one that is none";
    h->named = true;
    return NULL;
}

static const char *take_length(struct head *h, struct str value)
{
    bool fine = value.n && !h->sized;
    for (size_t i = 0; fine && i < value.n; i++) {
        fine = value.at[i] >= '0' && value.at[i] <= '9' && h->length < LENGTH_MAX / 10;
        h->length = 10 * h->length + (uint64_t)(value.at[i] - '0');
    }
    h->sized = true;
    return fine ? NULL : "it has two Content-Lengths, or one that is none";
}

/* Does a list of protocols have one whose requests name servers? */
static bool names_servers(struct str list)
{
    static const char *const names[] = {"h2c", "h2", "http", "tls", NULL};
    while (list.n) {
        const char *comma = memchr(list.at, ',', list.n);
        size_t n = comma ? (size_t)(comma - list.at) : list.n;
        struct str one = str_trim((struct str){list.at, n});
        const char *slash = one.n ? memchr(one.at, '/', one.n) : NULL;
        if (slash)
            one.n = (size_t)(slash - one.at);
        for (size_t i = 0; names[i]; i++)
            if (str_same(str_trim(one), str_of(names[i])))
                return true;
        n += comma != NULL;
        list = (struct str){list.at + n, list.n - n};
    }
    return false;
}

static const char *take_upgrade(struct head *h, struct str value)
{
    h->asks = true;
    return names_servers(value)
               ? "it asks for a protocol whose requests name servers (Upgrade)"
               : NULL;
}

static const char *take_header(struct head *h, struct str line,
                               char host[static PEEK_NAME])
{
    struct str name, value;
    if (!split(line, &name, &value))
        return "one of its lines is no header";
    if (str_same(name, STR("Host")))
        return take_host(h, value, host);
    if (str_same(name, STR("Content-Length")))
        return take_length(h, value);
    if (str_same(name, STR("Upgrade")))
        return take_upgrade(h, value);
    if (!str_same(name, STR("Transfer-Encoding")))
        return NULL;
    bool twice = h->chunked;
    h->chunked = true;
    return twice || h->http10 || !str_same(value, STR("chunked"))
               ? "its Transfer-Encoding is not 'chunked'"
               : NULL;
}

static enum peek read_head(struct str *left, struct head *h, char host[static PEEK_NAME])
{
    struct str line;
    enum peek got = next_line(left, &line);
    if (got == PEEK_FOUND && !is_plain_request(line, &h->http10))
        h->why = "it is no request of HTTP/1 with a path";
    while (!h->why && (got = next_line(left, &line)) == PEEK_FOUND && line.n)
        h->why = take_header(h, line, host);
    if (got == PEEK_NOTHING && !h->why)
        h->why = "a line ends otherwise than by CR LF";
    if (got == PEEK_FOUND && !h->why && !h->named)
        h->why = "it has no Host";
    if (got == PEEK_FOUND && !h->why && h->asks && h->used)
        h->why = "it asks for another protocol (Upgrade) behind other requests";
    if (got == PEEK_FOUND && !h->why && h->sized && h->chunked)
        h->why = "it has a Content-Length and is chunked";
    return h->why ? PEEK_NOTHING : got;
}

/* ---- parts ------------------------------------------------------------------------- */

static void head_done(struct follow *f, const struct head *h)
{
    f->left = h->length;
    f->used = true;
    f->asks = h->asks;
    f->state = h->chunked              ? FOLLOW_SIZE
               : h->sized && h->length ? FOLLOW_BODY
                                       : FOLLOW_HEAD;
}

/* HEX [;...] */
static bool read_size(struct follow *f, struct str line)
{
    uint64_t n = 0;
    size_t i = 0;
    for (; i < line.n && line.at[i] != ';'; i++) {
        char c = char_lower(line.at[i]);
        bool digit = c >= '0' && c <= '9';
        if ((!digit && (c < 'a' || c > 'f')) || n >= LENGTH_MAX / 16)
            return false;
        n = 16 * n + (uint64_t)(digit ? c - '0' : c - 'a' + 10);
    }
    f->left = n;
    f->state = n ? FOLLOW_CHUNK : FOLLOW_TRAILER;
    return i > 0;
}

/* What a server could take for one of the head's. */
static bool is_plain_trailer(struct str line)
{
    static const char *const heads[] = {"host", "content-length", "transfer-encoding",
                                        "upgrade", NULL};
    struct str name, value;
    if (!split(line, &name, &value))
        return false;
    for (size_t i = 0; heads[i]; i++)
        if (str_same(name, str_of(heads[i])))
            return false;
    return true;
}

static enum peek read_line_part(struct follow *f, struct str *left, const char **why)
{
    struct str line;
    enum peek got = next_line(left, &line);
    bool fine = got == PEEK_FOUND;
    if (got == PEEK_MORE)
        return got;
    if (fine && f->state == FOLLOW_SIZE)
        fine = read_size(f, line);
    else if (fine && f->state == FOLLOW_CHUNK_END) {
        fine = !line.n;
        f->state = FOLLOW_SIZE;
    } else if (fine && !line.n)
        f->state = FOLLOW_HEAD;
    else
        fine = fine && is_plain_trailer(line);
    *why = fine ? NULL : "its body is not chunked as it says";
    return fine ? PEEK_FOUND : PEEK_NOTHING;
}

enum peek follow_part(struct follow *f, struct str bytes, size_t *used,
                      char name[static PEEK_NAME], const char **why)
{
    struct str left = bytes;
    struct head h = {.used = f->used};
    name[0] = '\0';
    *why = NULL;
    enum peek got = f->state == FOLLOW_HEAD ? read_head(&left, &h, name)
                                            : read_line_part(f, &left, why);
    if (f->state == FOLLOW_HEAD && !*why)
        *why = h.why;
    *used = bytes.n - left.n;
    if (got == PEEK_FOUND && h.named)
        head_done(f, &h);
    if (got != PEEK_MORE || bytes.n < PEEK_MAX)
        return got;
    *why = "its head is too long";
    return PEEK_NOTHING;
}

uint64_t follow_body(const struct follow *f)
{
    return f->state == FOLLOW_BODY || f->state == FOLLOW_CHUNK ? f->left : 0;
}

void follow_passed(struct follow *f, uint64_t n)
{
    f->left -= n;
    if (!f->left)
        f->state = f->state == FOLLOW_BODY ? FOLLOW_HEAD : FOLLOW_CHUNK_END;
}

/* ---- answers ----------------------------------------------------------------------- */

/* Answers before the last one (1xx) have a head alone. */
enum peek follow_answer(struct follow *f, struct str bytes)
{
    static const char status[] = "HTTP/1.1 1", ends[] = "\r\n\r\n";
    enum { STATUS = sizeof f->answer.first };
    for (size_t i = 0; i < bytes.n; i++) {
        char c = bytes.at[i];
        if (f->answer.at < STATUS) {
            f->answer.first[f->answer.at++] = c;
            if (f->answer.at < STATUS)
                continue;
            bool digits = f->answer.first[10] >= '0' && f->answer.first[10] <= '9' &&
                          f->answer.first[11] >= '0' && f->answer.first[11] <= '9';
            bool first = !memcmp(f->answer.first, status, sizeof status - 1) && digits &&
                         (c == ' ' || c == '\r');
            bool changes = first && !memcmp(f->answer.first + 10, "01", 2);
            f->asks = first && !changes;
            if (!f->asks)
                return changes ? PEEK_FOUND : PEEK_NOTHING;
            f->answer.end = c == '\r';
            continue;
        }
        f->answer.end = c == ends[f->answer.end] ? f->answer.end + 1 : c == '\r';
        if (f->answer.end == sizeof ends - 1)
            f->answer.at = f->answer.end = 0;
    }
    return PEEK_MORE;
}
