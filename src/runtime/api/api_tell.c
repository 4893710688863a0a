/* The answers of api.search and api.describe. */
#include <stdio.h>

#include "api/api.h"
#include "caller/caller.h"
#include "calls/calls.h"
#include "evaluation/evaluation.h"
#include "json/json.h"

/* ---- a call -------------------------------------------------------------- */

static void put_allowed(const struct evaluation *v, const struct host_call *c,
                        struct json_writer *out)
{
    struct err why = {0};
    if (v && !evaluation_allows(v, c, &why))
        json_pair_bool(out, "allowed", false);
}

/* "notes.get(identifier: string): Promise<FullNote | null>", one line an overload. */
static void call_put_signature(const struct host_call *c, struct json_writer *out)
{
    scoped_buf struct buf text;
    buf_init(&text, BUF_PAGE);
    struct str rest = str_of(c->signature), line;
    while (api_next_line(&rest, &line))
        buf_printf(&text, "%s%s%.*s", text.n ? "\n" : "", c->row.name, STR_ARGS(line));
    json_pair_str(out, "signature", buf_view(&text));
}

static void put_fields(struct str list, struct json_writer *out)
{
    struct api_field field;
    json_open_array(out);
    while (api_next_field(&list, &field)) {
        json_open_object(out);
        json_pair_str(out, "name", field.name);
        json_pair_str(out, "type", field.type);
        if (field.optional)
            json_pair_bool(out, "optional", true);
        json_close(out);
    }
    json_close(out);
}

/* The parameters of the usual overload, and the options where one is an object. */
static void call_put_parameters(struct str parameters, struct json_writer *out)
{
    struct str options = {0}, rest = parameters;
    struct api_field field;
    while (!options.n && api_next_field(&rest, &field))
        options = api_members(field.type);
    json_key(out, "parameters");
    put_fields(parameters, out);
    if (options.n) {
        json_key(out, "options");
        put_fields(options, out);
    }
}

/* ---- types --------------------------------------------------------------- */

static bool is_name_char(char c)
{
    return char_is_letter(c) || char_is_digit(c) || c == '_';
}

/* Whether the text names this type. */
static bool names_type(struct str text, const char *type)
{
    size_t n = strlen(type);
    for (size_t i = 0; i + n <= text.n; i++)
        if (!memcmp(text.at + i, type, n) && (i == 0 || !is_name_char(text.at[i - 1])) &&
            (i + n == text.n || !is_name_char(text.at[i + n])))
            return true;
    return false;
}

/* Marks the types that a text names, transitively. */
static void mark_types(struct str text, bool *marked)
{
    size_t count;
    const struct api_type *types = api_types(&count);
    for (size_t i = 0; i < count; i++)
        marked[i] |= names_type(text, types[i].name);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; marked[i] && k < count; k++)
                if (!marked[k] && names_type(str_of(types[i].definition), types[k].name))
                    marked[k] = more = true;
    }
}

static void call_put_types(struct str text, struct json_writer *out)
{
    bool marked[API_TYPES_MAX] = {false};
    bool open = false;
    size_t count;
    const struct api_type *types = api_types(&count);
    mark_types(text, marked);
    for (size_t i = 0; i < count; i++) {
        if (!marked[i])
            continue;
        if (!open) {
            json_key(out, "types");
            json_open_object(out);
            open = true;
        }
        json_pair_cstr(out, types[i].name, types[i].definition);
    }
    if (open)
        json_close(out);
}

/* ---- describe ------------------------------------------------------------ */

static void describe_put_text(struct json_writer *out, const char *key, const char *text)
{
    if (text)
        json_pair_cstr(out, key, text);
}

static void call_put_description(const struct evaluation *v, const struct host_call *c,
                                 struct json_writer *out)
{
    struct str rest = str_of(c->signature), usual = {0};
    (void)api_next_line(&rest, &usual);
    struct api_signature parts = api_signature_read(usual);
    json_open_object(out);
    json_pair_cstr(out, "name", c->row.name);
    call_put_signature(c, out);
    json_pair_cstr(out, "summary", c->summary);
    describe_put_text(out, "details", c->details);
    call_put_parameters(parts.parameters, out);
    json_pair_str(out, "returns", parts.returns);
    describe_put_text(out, "errors", c->errors);
    describe_put_text(out, "example", c->example);
    json_pair_cstr(out, "level", level_name(c->level));
    json_pair_bool(out, "writes", c->row.writes);
    put_allowed(v, c, out);
    call_put_types(str_of(c->signature), out);
    json_close(out);
}

void api_put_row(const struct evaluation *v, const struct host_call *c,
                 struct json_writer *out)
{
    json_open_object(out);
    json_pair_cstr(out, "name", c->row.name);
    call_put_signature(c, out);
    json_pair_cstr(out, "summary", c->summary);
    put_allowed(v, c, out);
    json_close(out);
}

/* false: no such namespace. */
static bool put_namespace(const struct evaluation *v, struct str name,
                          struct json_writer *out)
{
    size_t count, found = 0;
    const struct host_call *const *calls = host_calls_listed(&count);
    for (size_t i = 0; i < count; i++) {
        if (!str_eq(api_namespace(calls[i]), name))
            continue;
        if (found++ == 0) {
            json_open_object(out);
            json_pair_str(out, "namespace", name);
            json_key(out, "methods");
            json_open_array(out);
        }
        api_put_row(v, calls[i], out);
    }
    if (!found)
        return false;
    json_close(out);
    json_close(out);
    return true;
}

/* {namespaces: {notes: ["get", ...]}, types: ["Note", ...]} */
static void put_everything(struct json_writer *out)
{
    size_t count;
    const struct host_call *const *calls = host_calls_listed(&count);
    struct str open = {0};
    json_open_object(out);
    json_key(out, "namespaces");
    json_open_object(out);
    for (size_t i = 0; i < count; i++) {
        struct str space = api_namespace(calls[i]);
        if (!str_eq(space, open)) {
            if (open.n)
                json_close(out);
            json_key_str(out, space);
            json_open_array(out);
            open = space;
        }
        const char *method = calls[i]->row.name + space.n;
        json_put_cstr(out, *method == '.' ? method + 1 : calls[i]->row.name);
    }
    if (open.n)
        json_close(out);
    json_close(out);
    json_key(out, "types");
    json_open_array(out);
    const struct api_type *types = api_types(&count);
    for (size_t i = 0; i < count; i++)
        json_put_cstr(out, types[i].name);
    json_close(out);
    json_close(out);
}

static void type_describe(const struct api_type *t, struct json_writer *out)
{
    json_open_object(out);
    json_pair_cstr(out, "type", t->name);
    json_pair_cstr(out, "definition", t->definition);
    json_pair_cstr(out, "summary", t->about);
    call_put_types(str_of(t->definition), out);
    json_close(out);
}

static bool refuse(struct str name, struct err *e)
{
    char near[64];
    struct str shown = str_cut(name, 60);
    if (api_nearest(name, near))
        return err_set(e, ERR_NOT_FOUND, "there is no '%.*s'; did you mean '%s'?",
                       STR_ARGS(shown), near);
    return err_set(
        e, ERR_NOT_FOUND,
        "there is no '%.*s'; a method such as 'notes.get', a namespace such as "
        "'notes' or a type such as 'Note' is accepted",
        STR_ARGS(shown));
}

bool api_describe(const struct evaluation *v, struct str name, struct json_writer *out,
                  struct err *e)
{
    name = str_trim(name);
    if (str_ends(name, "()"))
        name.n -= 2;
    else if (str_ends(name, ".*"))
        name.n -= 2;
    const struct host_call *c = api_call_named(name);
    const struct api_type *t = api_type_named(name);
    if (c)
        call_put_description(v, c, out);
    else if (t)
        type_describe(t, out);
    else if (!name.n)
        put_everything(out);
    else if (!put_namespace(v, name, out))
        return refuse(name, e);
    return true;
}
