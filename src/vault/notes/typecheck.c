/* Checks the properties of a note against its type's schema.
 *
 * A property is a section of level 2, or a key of the frontmatter where no section has its
 * name (outline.h). A section is text: it is read as the kind of value that the schema wants
 * there. Sections that the schema does not name are nothing of its business, and one without
 * text is no value. */
#include "notes/types.h"

#include <strings.h>

#include "notes/outline.h"
#include "notes/schema.h"
#include "notes/typefile.h"
#include "notes/verdicts.h"

#define CHECK_ARENA ((size_t)256 << 20)

/* ---- patterns ----------------------------------------------------------------- */

struct known {
    struct verdicts *verdicts;
    struct str type;
};

static bool property_look_up(void *arg, const char *place, struct str pattern,
                             struct str text, bool *yes, struct err *e)
{
    const struct known *k = arg;
    return verdicts_find(k->verdicts, k->type, place, pattern, text, yes, e);
}

static bool type_check_known(struct change *c, struct str type, const struct json *schema,
                             const struct json *properties, bool whole, struct err *e)
{
    struct known k = {change_verdicts(c), type};
    const struct schema_matching m = {property_look_up, &k};
    bool ok = schema_check(schema, properties, whole, &m, e);
    verdicts_note_ends(k.verdicts);
    return ok || err_wrap(e, "type \"%.*s\"", STR_ARGS(str_cut(type, 60)));
}

/* ---- a section as a value ------------------------------------------------------ */

/* A number or a boolean; NULL: the text is neither. */
static const struct json *read_scalar(struct str text, struct arena *a)
{
    struct err none = {0};
    if (!text.n || text.n > 40)
        return NULL;
    if (text.n == 4 && !strncasecmp(text.at, "true", 4))
        return json_read(STR("true"), a, &none);
    if (text.n == 5 && !strncasecmp(text.at, "false", 5))
        return json_read(STR("false"), a, &none);
    const struct json *v = json_read(text, a, &none);
    return json_is(v, JSON_NUMBER) ? v : NULL;
}

/* "- a\n- b" as a list, of texts or of what they look like; NULL: it is none. */
static const struct json *property_read_items(struct str text, bool scalars,
                                              struct arena *a)
{
    scoped_buf struct buf out = buf_of(4 * text.n + 16);
    struct json_writer w = json_writer(&out);
    json_open_array(&w);
    while (text.n) {
        const char *end = memchr(text.at, '\n', text.n);
        struct str line = {text.at, end ? (size_t)(end - text.at) : text.n};
        text.at += line.n + (end != NULL);
        text.n -= line.n + (end != NULL);
        line = str_trim(line);
        if (line.n < 2 || !strchr("-*+", line.at[0]) || line.at[1] != ' ')
            return NULL;
        line = str_trim((struct str){line.at + 2, line.n - 2});
        const struct json *v = scalars ? read_scalar(line, a) : NULL;
        if (v)
            json_put(&w, v);
        else
            json_put_str(&w, line);
    }
    json_close(&w);
    struct err none = {0};
    return out.failed ? NULL : json_read(buf_view(&out), a, &none);
}

static bool is_of_type(struct str type, const struct json *v)
{
    switch (json_type(v)) {
    case JSON_NUMBER:
        return str_is(type, "number") || str_is(type, "integer");
    case JSON_BOOL:
        return str_is(type, "boolean");
    case JSON_ARRAY:
        return str_is(type, "array");
    default:
        return false;
    }
}

static bool is_wanted(const struct json *schema, const struct json *v)
{
    const struct json *type = json_get(schema, "type");
    struct json_iter it = json_iter(json_is(type, JSON_ARRAY) ? type : NULL);
    while (json_next(&it))
        if (is_of_type(json_str(it.value), v))
            return true;
    return is_of_type(json_str(type), v);
}

#define READINGS 4

/* The text as it stands, where the schema takes that; else what it can be read as and then
 * fits, or is at least of the type that is wanted, so that the refusal tells the rest. */
static const struct json *read_section(const struct json *schema, struct str text,
                                       struct arena *a)
{
    struct err none = {0};
    scoped_buf struct buf quoted = buf_of(6 * text.n + 16);
    struct json_writer w = json_writer(&quoted);
    json_put_str(&w, text);
    const struct json *plain = json_read(buf_view(&quoted), a, &none);
    if (!schema || !plain || json_schema_check(schema, plain, "", &none))
        return plain;
    const struct json *const readings[READINGS] = {
        read_scalar(text, a), property_read_items(text, false, a),
        property_read_items(text, true, a), plain};
    for (size_t i = 0; i < READINGS; i++) {
        struct err unfit = {0};
        if (readings[i] && json_schema_check(schema, readings[i], "", &unfit))
            return readings[i];
    }
    for (size_t i = READINGS; i-- > 0;)
        if (readings[i] && is_wanted(schema, readings[i]))
            return readings[i];
    return plain;
}

/* ---- the properties that a schema names ----------------------------------------- */

struct property {
    struct str name;
    const struct json *schema; /* NULL: it is only required */
    struct str was, is;        /* the section's text; empty: none */
};

struct properties {
    struct property *all; /* by name */
    size_t count;
};

static int properties_by_name(const void *a, const void *b)
{
    return str_cmp(((const struct property *)a)->name,
                   ((const struct property *)b)->name);
}

static struct property *property_find(const struct properties *p, struct str name)
{
    struct property key = {.name = name};
    return p->count ? bsearch(&key, p->all, p->count, sizeof key, properties_by_name)
                    : NULL;
}

static bool list_properties(const struct json *schema, struct arena *a,
                            struct properties *p, struct err *e)
{
    const struct json *named = json_get(schema, "properties"),
                      *required = json_get(schema, "required");
    *p = (struct properties){0};
    p->all = arena_get(
        a, (json_length(named) + json_length(required) + 1) * sizeof *p->all, e);
    if (!p->all)
        return false;
    struct json_iter it = json_iter(named);
    while (json_next(&it))
        p->all[p->count++] = (struct property){.name = it.key, .schema = it.value};
    it = json_iter(required);
    while (json_next(&it))
        if (!json_get_str(named, json_str(it.value)))
            p->all[p->count++] = (struct property){.name = json_str(it.value)};
    if (p->count)
        qsort(p->all, p->count, sizeof *p->all, properties_by_name);
    return true;
}

/* The texts of the sections that are properties; of several of one name the first. A body
 * whose headings cannot be told has none. */
static void read_sections(struct properties *p, struct str body, bool old,
                          struct arena *a)
{
    struct err none = {0};
    struct outline o = {0};
    if (!p->count || !outline_read(body, a, &o, &none))
        return;
    for (size_t i = o.count; i-- > 0;) {
        struct property *one = property_find(p, o.sections[i].heading->text);
        if (one)
            *(old ? &one->was : &one->is) = outline_text(&o, &o.sections[i]);
    }
}

/* ---- what is to be checked -------------------------------------------------------- */

static void check_put_value(struct json_writer *w, struct str name,
                            const struct json *value)
{
    if (!value)
        return;
    json_key_str(w, name);
    json_put(w, value);
}

/* All that the note has. */
static void put_whole(const struct properties *p, const struct types_note *n,
                      struct arena *a, struct json_writer *w)
{
    for (size_t i = 0; i < p->count; i++) {
        const struct property *one = &p->all[i];
        check_put_value(w, one->name,
                        one->is.n ? read_section(one->schema, one->is, a)
                                  : json_get_str(n->metadata, one->name));
    }
}

/* Writes the changed properties; null: removed. */
static void properties_put_changed(const struct properties *p, const struct types_note *n,
                                   struct arena *a, struct json_writer *w)
{
    struct err none = {0};
    const struct json *gone = json_read(STR("null"), a, &none);
    for (size_t i = 0; i < p->count; i++) {
        const struct property *one = &p->all[i];
        const struct json *given = json_get_str(n->changes, one->name);
        bool other = !str_eq(one->was, one->is), removed = json_is(given, JSON_NULL);
        if (one->is.n && other)
            check_put_value(w, one->name, read_section(one->schema, one->is, a));
        else if (given && !removed)
            check_put_value(w, one->name, given);
        else if (!one->is.n && (removed || other)) {
            const struct json *left =
                removed ? NULL : json_get_str(n->metadata, one->name);
            check_put_value(w, one->name, left ? left : gone);
        }
    }
}

static const struct json *put_subject(const struct properties *p,
                                      const struct types_note *n, struct arena *a,
                                      struct err *e)
{
    const struct json *front = n->whole ? n->metadata : n->changes;
    scoped_buf struct buf text = buf_of(BUF_ANSWER);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    (n->whole ? put_whole : properties_put_changed)(p, n, a, &w);
    struct json_iter it = json_iter(front);
    while (json_next(&it))
        if (!property_find(p, it.key))
            check_put_value(&w, it.key, it.value);
    json_close(&w);
    return buf_check(&text, "the metadata", e) ? json_read(buf_view(&text), a, e) : NULL;
}

static bool type_check(struct change *c, struct str type, const struct json *schema,
                       const struct types_note *n, struct arena *a, struct err *e)
{
    struct properties p;
    if (!list_properties(schema, a, &p, e))
        return false;
    read_sections(&p, n->body, false, a);
    if (!n->whole)
        read_sections(&p, n->old_body, true, a);
    const struct json *subject = put_subject(&p, n, a, e);
    return subject && type_check_known(c, type, schema, subject, n->whole, e);
}

/* ---- the door -------------------------------------------------------------------------- */

static bool type_is_damaged(struct str type, const char *why, struct err *e)
{
    return err_set(
        e, ERR_INVALID,
        "nothing was written: the metadata schema of the type \"%.*s\" (" TYPES_DIR
        "/%.*s.md) is damaged (%.160s); noteTypes.update can give it a new one",
        STR_ARGS(str_cut(type, 40)), STR_ARGS(str_cut(type, 40)), why);
}

bool types_check(struct change *c, struct vault *v, struct str type,
                 const struct types_note *n, struct err *e)
{
    scoped_buf struct buf text = buf_of(TYPEFILE_MAX);
    struct os_stat st;
    bool found;
    if (!types_read(v, type, &text, &found, &st, e))
        return false;
    if (!found)
        return true;
    scoped(arena_free) struct arena *a = arena_new(CHECK_ARENA);
    struct typefile t;
    if (!typefile_read(buf_view(&text), a, &t, e))
        return false;
    /* A body can be changed whatever a person made of the schema. */
    bool content_alone = !n->whole && !json_length(n->changes);
    if (t.damage[0])
        return content_alone || type_is_damaged(type, t.damage, e);
    return !t.checked || type_check(c, type, t.checked, n, a, e);
}
