/* Reading targets. All text is decoded into the block that is the target, behind
 * its tables: decoded text is never longer than what was sent.
 */
#include "http/target.h"

#include <strings.h>

#include "uri/uri.h"

/* Decodes `in` to `*to`, and steps over what it wrote. false: a "%" that is no code. */
static bool target_decode(struct str in, bool plus, char **to, struct str *out)
{
    size_t n = uri_unescape(in, plus, *to);
    if (n == URI_WRONG)
        return false;
    *out = (struct str){*to, n};
    *to += n;
    return true;
}

static bool has_control(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.at[i] < 0x20 || s.at[i] == 0x7f)
            return true;
    return false;
}

static const char *bad_part(struct str part)
{
    if (str_is(part, ".") || str_is(part, ".."))
        return "the path holds '.' or '..' as a part";
    if (memchr(part.at, '\\', part.n))
        return "the path holds a backslash";
    if (has_control(part))
        return "the path holds a control character";
    return NULL;
}

/* The text before the next `end`; steps behind it. */
static struct str next(struct str *rest, char end)
{
    const char *stop = rest->n ? memchr(rest->at, end, rest->n) : NULL;
    struct str s = {rest->at, stop ? (size_t)(stop - rest->at) : rest->n};
    size_t over = s.n + (stop != NULL);
    rest->at += over;
    rest->n -= over;
    return s;
}

/* An empty part but the last one is kept: no route has such a path. */
static const char *read_path(struct target *t, struct str raw, char **to)
{
    struct str rest = {raw.at + 1, raw.n - 1};
    char *start = *to;
    while (rest.n) {
        struct str part;
        *(*to)++ = '/';
        if (t->n_parts == TARGET_PARTS_MAX)
            return "the path has too many parts";
        if (!target_decode(next(&rest, '/'), false, to, &part))
            return "the path holds a '%' that is not followed by two hexadecimal digits";
        const char *why = bad_part(part);
        if (why)
            return why;
        t->slashes = t->slashes || memchr(part.at, '/', part.n);
        t->parts[t->n_parts++] = part;
    }
    if (*to == start)
        *(*to)++ = '/';
    t->path = (struct str){start, (size_t)(*to - start)};
    return str_is_utf8(t->path) ? NULL : "the path is not UTF-8";
}

static const char *read_query(struct target *t, struct str rest, char **to)
{
    while (rest.n) {
        struct str value = next(&rest, '&');
        if (value.n == 0)
            continue;
        if (t->n_query == TARGET_QUERY_MAX)
            return "the query has too many parameters";
        struct pair *p = &t->query[t->n_query++];
        struct str name = next(&value, '=');
        if (!target_decode(name, true, to, &p->name) ||
            !target_decode(value, true, to, &p->value))
            return "the query holds a '%' that is not followed by two hexadecimal digits";
        if (!str_is_utf8(p->name) || !str_is_utf8(p->value))
            return "the query is not UTF-8";
        if (memchr(p->name.at, 0, p->name.n) || memchr(p->value.at, 0, p->value.n))
            return "the query holds a NUL byte";
    }
    return NULL;
}

/* "http://HOST/path" is what proxies are sent, and what every server has to take. */
static bool read_authority(struct target *t, struct str *rest)
{
    if (rest->n && rest->at[0] == '/')
        return true;
    size_t skip = rest->n > 7 && strncasecmp(rest->at, "http://", 7) == 0    ? 7
                  : rest->n > 8 && strncasecmp(rest->at, "https://", 8) == 0 ? 8
                                                                             : 0;
    if (!skip)
        return false;
    rest->at += skip;
    rest->n -= skip;
    size_t n = 0;
    while (n < rest->n && rest->at[n] != '/' && rest->at[n] != '?')
        n++;
    t->authority = (struct str){rest->at, n};
    rest->at += n;
    rest->n -= n;
    return n > 0 && rest->n > 0 && rest->at[0] == '/';
}

static const char *read_target(struct target *t, struct str text, char *to)
{
    /* A space would have ended it for another reader. */
    if (has_control(text) || memchr(text.at, ' ', text.n) || memchr(text.at, '#', text.n))
        return "the request's target holds a space, a '#' or a control character";
    if (str_is(text, "*")) {
        t->path = text;
        return NULL;
    }
    if (!read_authority(t, &text))
        return "the request's target must be a path, such as /mcp";
    t->sent = text;
    struct str path = next(&text, '?');
    const char *why = read_path(t, path, &to);
    return why ? why : read_query(t, text, &to);
}

static size_t count_char(const char *text, char c)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == c;
    return n;
}

struct target *target_parse(const char *text, const char **why)
{
    size_t n = strlen(text);
    size_t pairs = strchr(text, '?') ? count_char(text, '&') + 1 : 0;
    pairs = pairs < TARGET_QUERY_MAX ? pairs : TARGET_QUERY_MAX;
    /* The library bounds what it hands over: at most 16 KiB. */
    size_t tables = sizeof(struct target) + pairs * sizeof(struct pair);
    struct target *t = mem_new(tables + 2 * n + 2);
    t->query = (struct pair *)(t + 1);
    char *copy = (char *)t + tables;
    memcpy(copy, text, n);
    *why = read_target(t, (struct str){copy, n}, copy + n);
    if (!*why)
        return t;
    free(t);
    return NULL;
}
