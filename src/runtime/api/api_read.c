/* Parses signatures: the part of TypeScript's grammar that our rows use. */
#include <ctype.h>

#include "api/api.h"
#include "calls/calls.h"

/* The index of the first of `stops` outside of all brackets and quotes, or s.n. The `>`
 * of an arrow is no bracket. */
static size_t find_outside(struct str s, const char *stops)
{
    int depth = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        if (depth == 0 && c && strchr(stops, c))
            return i;
        if (c == '\'' || c == '"') {
            const char *end = memchr(s.at + i + 1, c, s.n - i - 1);
            i = end ? (size_t)(end - s.at) : s.n;
        } else if (strchr("([{<", c)) {
            depth++;
        } else if (strchr(")]}", c) || (c == '>' && i && s.at[i - 1] != '=')) {
            depth--;
        }
    }
    return s.n;
}

static struct str rest_of(struct str s, size_t from)
{
    from = from < s.n ? from : s.n;
    return (struct str){s.at + from, s.n - from};
}

bool api_next_line(struct str *rest, struct str *line)
{
    if (!rest->n)
        return false;
    const char *end = memchr(rest->at, '\n', rest->n);
    size_t n = end ? (size_t)(end - rest->at) : rest->n;
    *line = (struct str){rest->at, n};
    *rest = rest_of(*rest, n + 1);
    return true;
}

struct api_signature api_signature_read(struct str overload)
{
    struct str inner = rest_of(overload, 1); /* after "(" */
    size_t n = find_outside(inner, ")");
    struct str behind = rest_of(inner, n + 1);
    size_t colon = find_outside(behind, ":");
    return (struct api_signature){.parameters = {inner.at, n},
                                  .returns = str_trim(rest_of(behind, colon + 1))};
}

bool api_next_field(struct str *list, struct api_field *out)
{
    while (list->n && strchr(" \n,;", list->at[0]))
        *list = rest_of(*list, 1);
    if (!list->n)
        return false;
    size_t n = find_outside(*list, ",;\n");
    struct str whole = {list->at, n};
    *list = rest_of(*list, n);
    size_t colon = find_outside(whole, ":");
    struct str name = str_trim((struct str){whole.at, colon});
    out->optional = str_ends(name, "?");
    name.n -= out->optional;
    if (str_starts(name, "..."))
        name = rest_of(name, 3);
    out->name = name;
    out->type = str_trim(rest_of(whole, colon + 1));
    return true;
}

/* The object type in a union: "string | {identifier: string}". */
struct str api_members(struct str type)
{
    while (type.n) {
        size_t n = find_outside(type, "|");
        struct str part = str_trim((struct str){type.at, n});
        const struct api_type *named = api_type_named(part);
        if (named)
            part = str_of(named->definition);
        if (part.n > 1 && part.at[0] == '{')
            return (struct str){part.at + 1, part.n - 2};
        type = rest_of(type, n + 1);
    }
    return type;
}

bool api_next_option(struct api_options *o, struct str *name)
{
    struct str overload;
    struct api_field field;
    while (!api_next_field(&o->members, &field)) {
        if (api_next_field(&o->parameters, &field))
            o->members = api_members(field.type);
        else if (api_next_line(&o->overloads, &overload))
            o->parameters = api_signature_read(overload).parameters;
        else
            return false;
    }
    *name = field.name;
    return true;
}

const struct host_call *api_call_named(struct str name)
{
    size_t count;
    const struct host_call *const *calls = host_calls_listed(&count);
    for (size_t i = 0; i < count; i++)
        if (str_is(name, calls[i]->row.name))
            return calls[i];
    return NULL;
}
