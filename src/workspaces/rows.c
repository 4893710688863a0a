/* Rows of notes, as lists and queries answer them. */
#include "workspaces/route.h"

/* What notes.list and the view of notes call each; the first five are the usual. */
static const struct {
    const char *name, *source;
} fields[ROW_FIELDS] = {
    {"id", "id"},
    {"title", "title"},
    {"class", "type"},
    {"properties", "properties"},
    {"updated_at", "updated"},
    {"created_at", "created"},
    {"tags", "tags"},
    {"content_hash", "content_hash"},
    {"path", "path"},
    {"uid", "uid"},
    {"size", "size"},
};
#define FIELDS_USUAL 5u

/* ---- which ------------------------------------------------------------------ */

static bool want(struct str name, struct row_fields *out, struct err *e)
{
    for (size_t i = 0; i < ROW_FIELDS; i++)
        if (str_is(name, fields[i].name)) {
            out->wanted[i] = true;
            return true;
        }
    scoped_buf struct buf names;
    buf_init(&names, 400);
    for (size_t i = 0; i < ROW_FIELDS; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", fields[i].name);
    return err_set(e, ERR_INVALID, "there is no field \"%.*s\"; rows have %s",
                   STR_ARGS(str_cut(name, 40)), buf_cz(&names));
}

static void want_usual(struct row_fields *out)
{
    *out = (struct row_fields){0};
    for (size_t i = 0; i < FIELDS_USUAL; i++)
        out->wanted[i] = true;
}

bool row_read_fields(struct str list, struct row_fields *out, struct err *e)
{
    want_usual(out);
    if (list.n)
        *out = (struct row_fields){0};
    while (list.n) {
        const char *comma = memchr(list.at, ',', list.n);
        struct str name = {list.at, comma ? (size_t)(comma - list.at) : list.n};
        if (!want(str_trim(name), out, e))
            return false;
        list.at += name.n + (comma != NULL);
        list.n -= name.n + (comma != NULL);
    }
    return true;
}

bool row_read_field_names(const struct json *names, struct row_fields *out, struct err *e)
{
    want_usual(out);
    if (json_length(names))
        *out = (struct row_fields){0};
    struct json_iter it = json_iter(names);
    while (json_next(&it))
        if (!want(json_str(it.value), out, e))
            return false;
    return true;
}

void row_put_sources(const struct row_fields *f, struct json_writer *w)
{
    for (size_t i = 1; i < ROW_FIELDS; i++)
        if (f->wanted[i])
            json_put_cstr(w, fields[i].source);
}

/* ---- writing ------------------------------------------------------------------ */

/* A question in SQL answers objects and lists as texts. */
static const struct json *value_of(struct route_call *c, const struct json *row, size_t i)
{
    static const char *const nested[] = {"properties", "tags"};
    const struct json *v = json_get(row, fields[i].source);
    struct err none = {0};
    for (size_t n = 0; n < LENGTH(nested); n++)
        if (json_is(v, JSON_STRING) && !strcmp(fields[i].name, nested[n]))
            return json_read(json_str(v), c->arena, &none);
    return v;
}

/* Which properties are told in part; none mostly. */
static const struct json *cut_of(struct route_call *c, const struct json *row)
{
    const struct json *cut = json_get(row, "properties_cut");
    struct err none = {0};
    if (json_is(cut, JSON_STRING))
        cut = json_read(json_str(cut), c->arena, &none);
    return json_length(cut) ? cut : NULL;
}

void row_put(struct route_call *c, const struct json *row, const struct row_fields *f,
             struct json_writer *w)
{
    json_open_object(w);
    for (size_t i = 0; i < ROW_FIELDS; i++) {
        if (!f->wanted[i])
            continue;
        json_pair(w, fields[i].name, value_of(c, row, i));
        const struct json *cut =
            !strcmp(fields[i].name, "properties") ? cut_of(c, row) : NULL;
        if (cut)
            json_pair(w, "properties_cut", cut);
    }
    json_close(w);
}

void row_put_members(const struct json *note, struct json_writer *w)
{
    for (size_t i = 0; i < ROW_FIELDS; i++)
        json_pair(w, fields[i].name, json_get(note, fields[i].source));
}
