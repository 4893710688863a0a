/* The path and the query of a request, taken apart. */
#include "routes/locator.h"

#include "uri/uri.h"

/* Decodes into the arena. */
static bool locator_decode(struct str s, bool form, struct str *out, struct arena *a,
                           struct err *e)
{
    scoped_buf struct buf text = buf_of(LOCATOR_MAX);
    if (!uri_decode(s, form, &text))
        return err_set(
            e, ERR_INVALID,
            "a part of the path cannot be decoded: a percent sign is followed by two "
            "hexadecimal digits (%%25 is the sign itself), and the result is UTF-8 "
            "without NUL");
    const char *copy = arena_copy(a, text.at, text.n, e);
    *out = (struct str){copy, text.n};
    return copy != NULL;
}

/* ---- taking apart ---------------------------------------------------------- */

struct str locator_next(struct str *rest, char end)
{
    const char *stop = rest->n ? memchr(rest->at, end, rest->n) : NULL;
    struct str part = {rest->at, stop ? (size_t)(stop - rest->at) : rest->n};
    size_t n = part.n + (stop != NULL);
    rest->at += n;
    rest->n -= n;
    return part;
}

static bool read_path(struct str path, struct locator *t, struct arena *a, struct err *e)
{
    if (!str_starts(path, "/"))
        return err_set(e, ERR_INVALID,
                       "a path begins with a slash, such as \"/workspaces\"");
    path.at++, path.n--;
    while (path.n) {
        struct str s;
        if (!locator_decode(locator_next(&path, '/'), false, &s, a, e))
            return false;
        if (!s.n || str_is(s, ".") || str_is(s, ".."))
            return err_set(e, ERR_INVALID,
                           "a segment of the path is empty, \".\" or \"..\"");
        if (t->count == LOCATOR_SEGMENTS)
            return err_set(e, ERR_INVALID, "the path has more than %u segments",
                           LOCATOR_SEGMENTS);
        t->segments[t->count++] = s;
    }
    return true;
}

static bool read_query(struct str query, struct locator *t, struct arena *a,
                       struct err *e)
{
    while (query.n) {
        struct str value = locator_next(&query, '&');
        struct str name = locator_next(&value, '=');
        struct locator_parameter p;
        if (!name.n)
            continue;
        if (!locator_decode(name, true, &p.name, a, e) ||
            !locator_decode(value, true, &p.value, a, e))
            return false;
        for (size_t i = 0; i < t->parameter_count; i++)
            if (str_eq(t->parameters[i].name, p.name))
                return err_set(e, ERR_INVALID, "the parameter \"%.*s\" is given twice",
                               STR_ARGS(str_cut(p.name, 60)));
        if (t->parameter_count == LOCATOR_PARAMETERS)
            return err_set(e, ERR_INVALID, "more than %u parameters", LOCATOR_PARAMETERS);
        t->parameters[t->parameter_count++] = p;
    }
    return true;
}

bool locator_read(struct str text, struct locator *t, struct arena *a, struct err *e)
{
    *t = (struct locator){0};
    if (text.n > LOCATOR_MAX)
        return err_set(e, ERR_INVALID, "the address is %zu bytes; at most %u are read",
                       text.n, LOCATOR_MAX);
    struct str path = locator_next(&text, '?');
    return read_path(path, t, a, e) && read_query(text, t, a, e);
}

const struct str *locator_parameter(const struct locator *t, const char *name)
{
    for (size_t i = 0; i < t->parameter_count; i++)
        if (str_is(t->parameters[i].name, name))
            return &t->parameters[i].value;
    return NULL;
}

/* ---- patterns -------------------------------------------------------------- */

static size_t count_segments(struct str pattern)
{
    size_t n = 0;
    for (; pattern.n; n++)
        (void)locator_next(&pattern, '/');
    return n;
}

static bool path_join(const struct str *parts, size_t n, struct str *out, struct arena *a,
                      struct err *e)
{
    scoped_buf struct buf text = buf_of(LOCATOR_MAX);
    for (size_t i = 0; i < n; i++)
        if ((i && !buf_char(&text, '/')) || !buf_str(&text, parts[i]))
            break;
    const char *copy =
        buf_check(&text, "a name", e) ? arena_copy(a, text.at, text.n, e) : NULL;
    *out = (struct str){copy, text.n};
    return copy != NULL;
}

/* "{note_id}" is. */
static bool is_variable(struct str part, const char *name)
{
    return name && part.n == strlen(name) + 2 && !memcmp(part.at + 1, name, part.n - 2);
}

bool locator_fits(const struct locator *t, const char *pattern, const char *several,
                  struct str *values, size_t max, struct arena *a, struct err *e)
{
    struct str rest = str_of(pattern + 1);
    size_t at = 0, count = 0;
    while (rest.n) {
        struct str part = locator_next(&rest, '/');
        size_t left = count_segments(rest), n = 1;
        if (at >= t->count)
            return false;
        if (part.at[0] == '{' && is_variable(part, several)) {
            if (t->count - at <= left)
                return false;
            n = t->count - at - left;
        }
        if (part.at[0] != '{' && !str_eq(part, t->segments[at]))
            return false;
        if (part.at[0] == '{') {
            must(count < max);
            if (!path_join(t->segments + at, n, &values[count++], a, e))
                return false;
        }
        at += n;
    }
    return at == t->count;
}
