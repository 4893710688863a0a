/* The routes of classes: what is described of note types, and what their notes have besides. */
#include "notes_api/note_routes.h"

/* The answer of a call with one argument. */
static const struct json *ask_about(struct route_call *c, const char *call,
                                    struct str name, struct err *e)
{
    scoped_buf struct buf args = buf_of(BUF_TEXT);
    struct json_writer w = json_writer(&args);
    json_put_str(&w, name);
    return buf_check(&args, "the arguments", e) ? route_ask(c, call, buf_view(&args), e)
                                                : NULL;
}

static bool is_required(const struct json *schema, struct str name)
{
    struct json_iter it = json_iter(json_get(schema, "required"));
    while (json_next(&it))
        if (str_eq(json_str(it.value), name))
            return true;
    return false;
}

static void class_put_field(struct json_writer *out, struct str name,
                            const struct json *type, bool required)
{
    json_open_object(out);
    json_pair_str(out, "name", name);
    json_key(out, "type");
    if (type)
        json_put(out, type);
    else
        json_put_cstr(out, "any");
    json_pair_bool(out, "required", required);
    json_close(out);
}

/* Puts a schema's properties, in either of its forms: see docs/types.md. */
static void put_declared(const struct json *schema, struct json_writer *out)
{
    struct json_iter it = json_iter(json_get(schema, "fields"));
    while (json_next(&it))
        class_put_field(out, json_str(json_get(it.value, "name")),
                        json_get(it.value, "type"),
                        json_bool(json_get(it.value, "required"), false));
    it = json_iter(json_get(schema, "properties"));
    while (json_next(&it))
        class_put_field(out, it.key, json_get(it.value, "type"),
                        is_required(schema, it.key));
}

static bool is_declared(const struct json *schema, struct str name)
{
    if (json_get_str(json_get(schema, "properties"), name))
        return true;
    struct json_iter it = json_iter(json_get(schema, "fields"));
    while (json_next(&it))
        if (str_eq(json_str(json_get(it.value, "name")), name))
            return true;
    return false;
}

/* Puts properties that notes have and no schema declares. */
static void put_inferred(const struct json *row, const struct json *schema,
                         struct json_writer *out)
{
    struct json_iter it = json_iter(json_get(row, "fields"));
    while (json_next(&it)) {
        if (is_declared(schema, json_str(json_get(it.value, "name"))))
            continue;
        json_open_object(out);
        json_pair(out, "name", json_get(it.value, "name"));
        json_pair(out, "type", json_get(it.value, "type"));
        json_pair_bool(out, "required", false);
        json_pair_bool(out, "inferred", true);
        json_pair(out, "notes", json_get(it.value, "notes"));
        json_close(out);
    }
}

static bool put_class(struct route_call *c, const struct json *row,
                      struct json_writer *out, struct err *e)
{
    struct str name = json_str(json_get(row, "name"));
    const struct json *type = NULL;
    struct err gone = {0};
    /* A folder alone describes nothing; a description may go meanwhile. */
    if (!json_is(json_get(row, "filename"), JSON_NULL)) {
        type = ask_about(c, "noteTypes.get", name, &gone);
        if (!type && gone.code != ERR_NOT_FOUND)
            return err_set(e, gone.code, "%s", gone.msg);
    }
    const struct json *schema = json_get(type, "metadata_schema");
    json_open_object(out);
    json_pair_str(out, "name", name);
    json_pair(out, "description", json_get(row, "description"));
    json_key(out, "fields");
    json_open_array(out);
    put_declared(schema, out);
    put_inferred(row, schema, out);
    json_close(out);
    if (json_get(row, "fields_omitted"))
        json_pair(out, "fields_omitted", json_get(row, "fields_omitted"));
    json_close(out);
    return true;
}

/* In an arena of its own, so that many classes need no more memory than their text. */
static bool put_class_apart(struct route_call *c, const struct json *row,
                            struct json_writer *out, struct err *e)
{
    struct arena *outer = c->arena;
    scoped(arena_free) struct arena *inner = arena_new(ROUTE_ARENA);
    c->arena = inner;
    bool ok = put_class(c, row, out, e);
    c->arena = outer;
    return ok;
}

/* Puts that of this name, or all (empty). */
static bool put_classes(struct route_call *c, struct str name, struct json_writer *out,
                        struct err *e)
{
    const struct json *rows = route_ask(c, "noteTypes.list", STR("{\"fields\":true}"), e);
    struct json_iter it = json_iter(rows);
    while (json_next(&it))
        if (!name.n || str_eq(json_str(json_get(it.value, "name")), name))
            if (!put_class_apart(c, it.value, out, e))
                return false;
    return rows && buf_check(out->out, "the classes", e);
}

bool route_classes(struct route_call *c, struct err *e)
{
    struct json_writer w = route_writer(c);
    json_open_array(&w);
    bool ok = put_classes(c, STR(""), &w, e);
    json_close(&w);
    return ok;
}

bool route_class(struct route_call *c, struct err *e)
{
    struct json_writer w = route_writer(c);
    return put_classes(c, c->values[1], &w, e) &&
           (c->out->body.n > 0 ||
            err_set(e, ERR_NOT_FOUND, "there is no class \"%.*s\"; /classes lists them",
                    STR_ARGS(str_cut(c->values[1], 60))));
}
