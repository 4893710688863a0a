/* Rows of notes, as lists and queries answer them. */
#include "notes_api/note_routes.h"

/* Names in notes.list and in the view of notes; the first five are the default. A note has
 * all but the last, which is another word for its class. */
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
    {"type", "type"},
};
#define FIELDS_USUAL 5u
#define FIELDS_OF_NOTE (ROW_FIELDS - 1)
#define FIELD_PROPERTIES 3u
#define PREFIX "properties."

/* ---- which ------------------------------------------------------------------ */

static bool want_property(struct str key, struct row_fields *out, struct err *e)
{
    for (size_t i = 0; i < out->property_count; i++)
        if (str_eq(out->properties[i], key))
            return true;
    if (out->property_count == ROW_NAMED)
        return err_set(e, ERR_LIMIT, "fields names more than %u different properties",
                       ROW_NAMED);
    out->properties[out->property_count++] = key;
    return true;
}

static bool want(struct str name, struct row_fields *out, struct err *e)
{
    for (size_t i = 0; i < ROW_FIELDS; i++)
        if (str_is(name, fields[i].name)) {
            out->wanted[i] = true;
            return true;
        }
    if (str_starts(name, PREFIX) && name.n >= sizeof PREFIX)
        return want_property(
            (struct str){name.at + sizeof PREFIX - 1, name.n - (sizeof PREFIX - 1)}, out,
            e);
    scoped_buf struct buf names = buf_of(BUF_LINE);
    for (size_t i = 0; i < ROW_FIELDS; i++)
        buf_printf(&names, "%s, ", fields[i].name);
    return err_set(e, ERR_INVALID,
                   "there is no field \"%.*s\"; rows have %sand " PREFIX
                   "NAME, such as \"" PREFIX "Status\"",
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
            return err_wrap(e, "body.fields");
    return true;
}

static bool wants_any_property(const struct row_fields *f)
{
    return f->wanted[FIELD_PROPERTIES] || f->property_count;
}

void row_put_sources(const struct row_fields *f, struct json_writer *w)
{
    for (size_t i = 1; i < FIELDS_OF_NOTE; i++)
        if (i == FIELD_PROPERTIES ? wants_any_property(f)
                                  : f->wanted[i] || (f->wanted[FIELDS_OF_NOTE] &&
                                                     !strcmp(fields[i].source, "type")))
            json_put_cstr(w, fields[i].source);
}

/* ---- writing ------------------------------------------------------------------ */

/* A question in SQL answers objects and lists as texts. */
static const struct json *nested(struct route_call *c, const struct json *row,
                                 const char *source)
{
    const struct json *v = json_get(row, source);
    struct err none = {0};
    return json_is(v, JSON_STRING) ? json_read(json_str(v), c->arena, &none) : v;
}

static bool row_is_named(const struct row_fields *f, struct str key)
{
    for (size_t i = 0; i < f->property_count; i++)
        if (str_eq(f->properties[i], key))
            return true;
    return f->wanted[FIELD_PROPERTIES];
}

/* Puts the properties that are asked for, and the names of those that were cut. */
static void row_put_properties(struct route_call *c, const struct json *row,
                               const struct row_fields *f, struct json_writer *w)
{
    const struct json *cut = nested(c, row, "properties_cut");
    json_key(w, "properties");
    json_open_object(w);
    struct json_iter it = json_iter(nested(c, row, "properties"));
    while (json_next(&it))
        if (row_is_named(f, it.key)) {
            json_key_str(w, it.key);
            json_put(w, it.value);
        }
    json_close(w);
    bool any = false;
    it = json_iter(cut);
    while (json_next(&it)) {
        if (!row_is_named(f, json_str(it.value)))
            continue;
        if (!any) {
            json_key(w, "properties_cut");
            json_open_array(w);
        }
        any = true;
        json_put(w, it.value);
    }
    if (any)
        json_close(w);
}

void row_put(struct route_call *c, const struct json *row, const struct row_fields *f,
             struct json_writer *w)
{
    json_open_object(w);
    for (size_t i = 0; i < ROW_FIELDS; i++) {
        if (i == FIELD_PROPERTIES && wants_any_property(f))
            row_put_properties(c, row, f, w);
        else if (f->wanted[i] && !strcmp(fields[i].name, "tags"))
            json_pair(w, fields[i].name, nested(c, row, fields[i].source));
        else if (f->wanted[i])
            json_pair(w, fields[i].name, json_get(row, fields[i].source));
    }
    json_close(w);
}

void row_put_members(const struct json *note, struct json_writer *w)
{
    for (size_t i = 0; i < FIELDS_OF_NOTE; i++)
        json_pair(w, fields[i].name, json_get(note, fields[i].source));
}
