/* Schemas of metadata: read in both forms, and held against values. */
#include "notes/schema.h"

#include "notes/linkname.h"
#include "notes/name.h"
#include "notes/vault.h"

static bool is_own_key(struct str key)
{
    return note_is_own_key(key) || str_is(key, SUBNOTES_KEY);
}

static bool field_refuse(const char *field, struct err *e, const char *what)
{
    return err_set(e, ERR_INVALID, "metadata_schema: %.120s %s", field, what);
}

/* ---- the first form ------------------------------------------------------ */

static const char *const types[] = {"string", "number", "integer", "boolean",
                                    "array",  "object", "null",    NULL};
static const char *const formats[] = {"date", "date-time", NULL};
#define TYPES "string, number, integer, boolean, array, object or null"

/* Keywords that say nothing about what is accepted. */
static const char *const notes_of_people[] = {"title",    "description", "default",
                                              "examples", "$schema",     "$id",
                                              "$comment", "version",     NULL};

static bool check_schema(const struct json *s, const char *field, unsigned depth,
                         struct err *e);

static bool schema_check_type(const struct json *v, const char *field, struct err *e)
{
    bool ok = json_is(v, JSON_STRING) && str_is_one_of(json_str(v), types);
    struct json_iter it = json_iter(json_is(v, JSON_ARRAY) ? v : NULL);
    while (json_next(&it)) {
        ok = str_is_one_of(json_str(it.value), types);
        if (!ok)
            break;
    }
    return ok || field_refuse(field, e, "has a type that is not one of " TYPES);
}

static bool check_properties(const struct json *v, const char *field, unsigned depth,
                             struct err *e)
{
    if (!json_is(v, JSON_OBJECT))
        return field_refuse(field, e,
                            "has properties that are not an object of schemas by name");
    if (json_length(v) > SCHEMA_FIELDS_MAX)
        return err_set(e, ERR_LIMIT,
                       "metadata_schema has %zu fields; at most %u are accepted",
                       json_length(v), SCHEMA_FIELDS_MAX);
    struct json_iter it = json_iter(v);
    while (json_next(&it)) {
        char name[64];
        struct str cut = str_cut(it.key, sizeof name - 3);
        name[0] = '"';
        memcpy(name + 1, cut.at, cut.n);
        memcpy(name + 1 + cut.n, "\"", 2);
        if (!it.key.n)
            return field_refuse(field, e, "has a field without a name");
        if (!check_schema(it.value, name, depth + 1, e))
            return false;
    }
    return true;
}

static bool schema_check_list(const struct json *v, const char *field, const char *what,
                              bool of_strings, struct err *e)
{
    bool ok = json_is(v, JSON_ARRAY) && (of_strings || json_length(v) > 0);
    struct json_iter it = json_iter(ok ? v : NULL);
    while (json_next(&it))
        ok = ok && (!of_strings || json_is(it.value, JSON_STRING));
    return ok || field_refuse(field, e, what);
}

static bool check_any_of(const struct json *v, const char *field, unsigned depth,
                         struct err *e)
{
    if (!schema_check_list(v, field, "has an anyOf that is not a list of schemas", false,
                           e))
        return false;
    struct json_iter it = json_iter(v);
    while (json_next(&it))
        if (!check_schema(it.value, field, depth + 1, e))
            return false;
    return true;
}

static bool check_keyword(struct str key, const struct json *v, const char *field,
                          unsigned depth, struct err *e)
{
    static const char *const lengths[] = {"minLength", "maxLength", "minItems",
                                          "maxItems", NULL};
    if (str_is_one_of(key, notes_of_people) || str_is(key, "const"))
        return true;
    if (str_is(key, "type"))
        return schema_check_type(v, field, e);
    if (str_is(key, "properties"))
        return check_properties(v, field, depth, e);
    if (str_is(key, "required"))
        return schema_check_list(v, field, "has a required that is not a list of names",
                                 true, e);
    if (str_is(key, "enum"))
        return schema_check_list(v, field, "has an enum that is not a list of values",
                                 false, e);
    if (str_is(key, "anyOf"))
        return check_any_of(v, field, depth, e);
    if (str_is(key, "items") ||
        (str_is(key, "additionalProperties") && !json_is(v, JSON_BOOL)))
        return check_schema(v, field, depth + 1, e);
    if (str_is(key, "additionalProperties"))
        return true;
    if (str_is(key, "pattern"))
        return json_is(v, JSON_STRING) ||
               field_refuse(field, e, "has a pattern that is not a string");
    if (str_is(key, "format"))
        return str_is_one_of(json_str(v), formats) ||
               field_refuse(field, e, "has a format that is neither date nor date-time");
    if (str_is(key, "minimum") || str_is(key, "maximum"))
        return json_is(v, JSON_NUMBER) ||
               field_refuse(field, e, "has a minimum or maximum that is not a number");
    if (str_is_one_of(key, lengths))
        return (json_is_int(v) && json_int(v, -1) >= 0) ||
               field_refuse(field, e,
                            "has a length that is not an integer of at "
                            "least 0");
    return err_set(
        e, ERR_INVALID,
        "metadata_schema: %.100s has the keyword \"%.*s\", which cannot be checked; "
        "type, enum, const, properties, required, additionalProperties, items, "
        "anyOf, minimum, maximum, minLength, maxLength, minItems, maxItems, "
        "pattern and format are accepted",
        field, STR_ARGS(str_cut(key, 40)));
}

static bool schema_check_order(const struct json *s, const char *low, const char *high,
                               const char *field, struct err *e)
{
    const struct json *a = json_get(s, low), *b = json_get(s, high);
    return !a || !b || json_number(a, 0) <= json_number(b, 0) ||
           err_set(e, ERR_INVALID, "metadata_schema: %.120s has a %s above its %s", field,
                   low, high);
}

static bool check_schema(const struct json *s, const char *field, unsigned depth,
                         struct err *e)
{
    if (depth > SCHEMA_DEPTH_MAX)
        return err_set(e, ERR_LIMIT, "metadata_schema is deeper than %u levels",
                       SCHEMA_DEPTH_MAX);
    if (!json_is(s, JSON_OBJECT))
        return field_refuse(field, e,
                            "is not a schema; an object such as {\"type\": "
                            "\"string\"} is accepted");
    struct json_iter it = json_iter(s);
    while (json_next(&it))
        if (!check_keyword(it.key, it.value, field, depth, e))
            return false;
    return schema_check_order(s, "minimum", "maximum", field, e) &&
           schema_check_order(s, "minLength", "maxLength", field, e) &&
           schema_check_order(s, "minItems", "maxItems", field, e);
}

/* ---- the list of fields --------------------------------------------------- */

/* A constraint may stand in `constraints` or beside it, under several names. */
static const struct json *constraint(const struct json *f, const char *const *names)
{
    for (; *names; names++) {
        const struct json *v = json_get(json_get(f, "constraints"), *names);
        v = v ? v : json_get(f, *names);
        if (v && !json_is(v, JSON_NULL))
            return v;
    }
    return NULL;
}

static void pair_constraint(struct json_writer *w, const char *key, const struct json *f,
                            const char *const *names)
{
    const struct json *v = constraint(f, names);
    if (v)
        json_pair(w, key, v);
}
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void schema_put_type(struct json_writer *w, struct str type)
{
    bool date = str_is(type, "date"), time = str_is(type, "datetime");
    bool text = date || time || str_is(type, "select") || str_is(type, "text");
    if (!str_is(type, "any") && !str_is(type, "select"))
        json_pair_str(w, "type", text ? STR("string") : type);
    if (date || time)
        json_pair_cstr(w, "format", date ? "date" : "date-time");
}

static void put_limits(struct json_writer *w, const struct json *f, struct str type)
{
    bool number = str_is(type, "number") || str_is(type, "integer");
    bool list = str_is(type, "array");
    pair_constraint(w,
                    number ? "minimum"
                    : list ? "minItems"
                           : "minLength",
                    f, NAMES("min", "minimum", list ? "minItems" : "minLength"));
    pair_constraint(w,
                    number ? "maximum"
                    : list ? "maxItems"
                           : "maxLength",
                    f, NAMES("max", "maximum", list ? "maxItems" : "maxLength"));
    pair_constraint(w, "pattern", f, NAMES("pattern"));
    pair_constraint(w, "enum", f, NAMES("enum", "options", "values"));
    pair_constraint(w, "items", f, NAMES("items"));
    pair_constraint(w, "properties", f, NAMES("properties"));
    pair_constraint(w, "required", json_get(f, "constraints"), NAMES("required"));
}

static bool schema_put_field(struct json_writer *w, const struct json *f, struct err *e)
{
    static const char *const known[] = {
        "name",    "type",     "required",   "description", "constraints", "default",
        "min",     "max",      "minimum",    "maximum",     "minLength",   "maxLength",
        "pattern", "enum",     "options",    "values",      "items",       "minItems",
        "title",   "maxItems", "properties", NULL};
    static const char *const kinds[] = {"string",  "text",   "number",   "integer",
                                        "boolean", "array",  "object",   "date",
                                        "any",     "select", "datetime", NULL};
    struct str name = str_trim(json_str(json_get(f, "name")));
    const struct json *type = json_get(f, "type");
    struct str kind = type ? json_str(type) : STR("string");
    struct str cut = str_cut(name, 60);
    if (!json_is(f, JSON_OBJECT) || !name.n)
        return err_set(e, ERR_INVALID,
                       "metadata_schema: a field is an object with a name, such as "
                       "{\"name\": \"status\", \"type\": \"string\"}");
    if (!str_is_one_of(kind, kinds))
        return err_set(e, ERR_INVALID,
                       "metadata_schema: \"%.*s\" has the type \"%.*s\"; string, number, "
                       "integer, boolean, date, datetime, select, array, object and any "
                       "are accepted",
                       STR_ARGS(cut), STR_ARGS(str_cut(kind, 40)));
    const struct json *required = json_get(f, "required");
    if (required && !json_is(required, JSON_BOOL) && !json_is(required, JSON_NULL))
        return err_set(e, ERR_INVALID,
                       "metadata_schema: required of \"%.*s\" must be true or false",
                       STR_ARGS(cut));
    struct json_iter it = json_iter(f);
    while (json_next(&it))
        if (!str_is_one_of(it.key, known))
            return err_set(e, ERR_INVALID,
                           "metadata_schema: \"%.*s\" has the key \"%.*s\"; name, type, "
                           "required, description, default, min, max, pattern, options "
                           "and items are accepted",
                           STR_ARGS(cut), STR_ARGS(str_cut(it.key, 40)));
    if (str_is(kind, "select") && !constraint(f, NAMES("enum", "options", "values")))
        return err_set(e, ERR_INVALID,
                       "metadata_schema: \"%.*s\" is a select without options",
                       STR_ARGS(cut));
    json_key_str(w, name);
    json_open_object(w);
    schema_put_type(w, kind);
    put_limits(w, f, kind);
    json_close(w);
    return true;
}

static bool schema_put_fields(const struct json *given, struct json_writer *w,
                              struct err *e)
{
    const struct json *fields = json_get(given, "fields");
    const struct json *more = json_get(given, "additionalProperties");
    struct json_iter it = json_iter(fields);
    json_open_object(w);
    json_pair_cstr(w, "type", "object");
    json_key(w, "properties");
    json_open_object(w);
    while (json_next(&it))
        if (!schema_put_field(w, it.value, e))
            return false;
    json_close(w);
    json_key(w, "required");
    json_open_array(w);
    for (it = json_iter(fields); json_next(&it);)
        if (json_bool(json_get(it.value, "required"), false))
            json_put_str(w, str_trim(json_str(json_get(it.value, "name"))));
    json_close(w);
    if (more)
        json_pair(w, "additionalProperties", more);
    json_close(w);
    return true;
}

static const struct json *read_fields(const struct json *given, struct arena *a,
                                      struct err *e)
{
    static const char *const known[] = {"fields", "version", "additionalProperties",
                                        "description", NULL};
    struct json_iter it = json_iter(given);
    while (json_next(&it))
        if (!str_is_one_of(it.key, known)) {
            err_set(e, ERR_INVALID,
                    "metadata_schema has the key \"%.*s\" beside fields; fields, version "
                    "and additionalProperties are accepted",
                    STR_ARGS(str_cut(it.key, 40)));
            return NULL;
        }
    if (!json_is(json_get(given, "fields"), JSON_ARRAY)) {
        err_set(e, ERR_INVALID, "metadata_schema: fields must be a list of fields");
        return NULL;
    }
    scoped_buf struct buf text = buf_of(4 * SCHEMA_TEXT_MAX);
    struct json_writer w = json_writer(&text);
    if (!schema_put_fields(given, &w, e) || !buf_check(&text, "metadata_schema", e))
        return NULL;
    struct err why = {0};
    const struct json *read = json_read(buf_view(&text), a, &why);
    if (!read)
        err_set(e, ERR_INVALID, "metadata_schema names a field twice");
    return read;
}

const struct json *schema_read(const struct json *given, struct arena *a, struct err *e)
{
    const struct json *s = given;
    if (!json_is(s, JSON_OBJECT)) {
        err_set(e, ERR_INVALID,
                "metadata_schema must be an object, {type: \"object\", properties, "
                "required} or {fields: [...]}, not a value of type %s",
                json_type_name(json_type(s)));
        return NULL;
    }
    if (json_get(s, "fields") && !json_get(s, "properties") &&
        !(s = read_fields(given, a, e)))
        return NULL;
    const struct json *type = json_get(s, "type");
    if (type && !str_is(json_str(type), "object")) {
        err_set(e, ERR_INVALID, "metadata_schema: type must be \"object\" at its root");
        return NULL;
    }
    if (!json_get(s, "properties") && json_length(s) > 0 && !type) {
        err_set(e, ERR_INVALID,
                "metadata_schema has neither properties nor fields; {type: \"object\", "
                "properties: {status: {type: \"string\"}}} is accepted");
        return NULL;
    }
    return check_schema(s, "the whole", 0, e) ? s : NULL;
}

/* ---- its patterns ---------------------------------------------------------- */

static void put_field_name(struct str key, struct buf *out)
{
    buf_printf(out, "\"%.*s\"", STR_ARGS(str_cut(key, 60)));
}

static bool each_pattern(const struct json *s, const char *field, schema_pattern *each,
                         void *arg, struct err *e);

/* Visits schemas by name, or in a list. As deep as schemas go. */
static bool each_within(const struct json *v, bool named, const char *field,
                        schema_pattern *each, void *arg, struct err *e)
{
    struct json_iter it = json_iter(v);
    while (json_next(&it)) {
        scoped_buf struct buf name = buf_of(BUF_NAME);
        if (named)
            put_field_name(it.key, &name);
        if (!each_pattern(it.value, named ? buf_cz(&name) : field, each, arg, e))
            return false;
    }
    return true;
}

static bool each_pattern(const struct json *s, const char *field, schema_pattern *each,
                         void *arg, struct err *e)
{
    const struct json *pattern = json_get(s, "pattern");
    return (!pattern || each(arg, field, json_str(pattern), e)) &&
           each_within(json_get(s, "properties"), true, field, each, arg, e) &&
           each_within(json_get(s, "anyOf"), false, field, each, arg, e) &&
           (!json_get(s, "items") ||
            each_pattern(json_get(s, "items"), field, each, arg, e)) &&
           (!json_is(json_get(s, "additionalProperties"), JSON_OBJECT) ||
            each_pattern(json_get(s, "additionalProperties"), field, each, arg, e));
}

bool schema_each_pattern(const struct json *schema, schema_pattern *each, void *arg,
                         struct err *e)
{
    return each_pattern(schema, "the whole", each, arg, e);
}

/* ---- holding values against it -------------------------------------------- */

static bool schema_check_text(const struct json *s, struct str text, const char *place,
                              const struct schema_matching *m, struct err *e)
{
    const struct json *pattern = json_get(s, "pattern");
    struct str format = json_str(json_get(s, "format"));
    int64_t ms;
    bool dated = !format.n ||
                 (date_read(text, &ms) && (str_is(format, "date-time") || text.n == 10));
    if (!dated)
        return err_set(e, ERR_INVALID,
                       "%.100s is \"%.*s\"; a date such as \"%s\" is accepted", place,
                       STR_ARGS(str_cut(text, 60)),
                       str_is(format, "date") ? "2026-11-21" : "2026-11-21T05:16:00Z");
    bool matches = true;
    if (pattern && !m->matches(m->arg, place, json_str(pattern), text, &matches, e))
        return false;
    return matches ||
           err_set(e, ERR_INVALID,
                   "%.100s is \"%.*s\"; what matches the pattern %.*s is accepted", place,
                   STR_ARGS(str_cut(text, 60)), STR_ARGS(str_cut(json_str(pattern), 80)));
}

static bool check_texts(const struct json *s, const struct json *v, const char *place,
                        const struct schema_matching *m, struct err *e);

/* A schema that the value fits otherwise has to fit its texts as well. All are
 * looked at, so that all their patterns are asked for at once. */
static bool schema_check_any(const struct json *any, const struct json *v,
                             const char *place, const struct schema_matching *m,
                             struct err *e)
{
    bool fits = !any;
    struct err unfit = {0};
    struct json_iter it = json_iter(any);
    while (json_next(&it)) {
        struct err why = {0};
        if (!json_schema_check(it.value, v, place, &why))
            continue; /* that one of them fits is checked by the JSON room */
        if (check_texts(it.value, v, place, m, &why))
            fits = true;
        else if (why.code != ERR_INVALID)
            return err_pass(e, &why);
        else if (!unfit.code)
            unfit = why;
    }
    return fits || !unfit.code || err_pass(e, &unfit);
}

/* The schema of one member; NULL: it has none. */
static const struct json *schema_of(const struct json *s, const struct json *v,
                                    struct str key)
{
    if (json_is(v, JSON_ARRAY))
        return json_get(s, "items");
    const struct json *named = json_get_str(json_get(s, "properties"), key);
    const struct json *other = json_get(s, "additionalProperties");
    return named || !json_is(other, JSON_OBJECT) ? named : other;
}

/* Patterns and formats; all else the JSON room has checked. As deep as schemas go. */
static bool check_texts(const struct json *s, const struct json *v, const char *place,
                        const struct schema_matching *m, struct err *e)
{
    if (!s)
        return true;
    if (!schema_check_any(json_get(s, "anyOf"), v, place, m, e))
        return false;
    if (json_is(v, JSON_STRING))
        return schema_check_text(s, json_str(v), place, m, e);
    struct json_iter it = json_iter(v);
    while (json_next(&it)) {
        bool list = json_is(v, JSON_ARRAY);
        const struct json *sub = schema_of(s, v, it.key);
        if (!sub)
            continue;
        char inner[160];
        struct str key = str_cut(it.key, 40);
        scoped_buf struct buf name = buf_of(sizeof inner);
        buf_printf(&name, list ? "%.100s[]" : "%.100s.%.*s", place, STR_ARGS(key));
        if (!check_texts(sub, it.value, buf_cz(&name), m, e))
            return false;
    }
    return true;
}

static bool is_missed(struct str key, const struct json *metadata, bool whole)
{
    const struct json *v = json_get_str(metadata, key);
    return !is_own_key(key) && (json_is(v, JSON_NULL) || (whole && !v));
}

static bool schema_check_required(const struct json *schema, const struct json *metadata,
                                  bool whole, struct err *e)
{
    struct json_iter it = json_iter(json_get(schema, "required"));
    while (json_next(&it)) {
        struct str key = json_str(it.value);
        if (is_missed(key, metadata, whole))
            return err_set(e, ERR_INVALID,
                           "metadata needs the field \"%.*s\": a key of the frontmatter, "
                           "or a section \"## %.*s\" with text",
                           STR_ARGS(str_cut(key, 80)), STR_ARGS(str_cut(key, 80)));
    }
    return true;
}

/* Writes the metadata to be checked, and the schema without its required members. */
static bool write_both(const struct json *schema, const struct json *metadata,
                       struct json_writer *subject, struct json_writer *loose)
{
    json_open_object(subject);
    struct json_iter it = json_iter(metadata);
    while (json_next(&it)) {
        if (is_own_key(it.key) || json_is(it.value, JSON_NULL))
            continue;
        json_key_str(subject, it.key);
        json_put(subject, it.value);
    }
    json_close(subject);
    json_open_object(loose);
    json_put_pairs(loose, schema, (const char *const[]){"required", NULL});
    json_close(loose);
    return !subject->out->failed && !loose->out->failed;
}

bool schema_check(const struct json *schema, const struct json *metadata, bool whole,
                  const struct schema_matching *matching, struct err *e)
{
    if (!schema_check_required(schema, metadata, whole, e))
        return false;
    scoped_buf struct buf subject, loose;
    buf_init(&subject, BUF_ANSWER);
    buf_init(&loose, 8 * SCHEMA_TEXT_MAX);
    struct json_writer ws = json_writer(&subject), wl = json_writer(&loose);
    scoped(arena_free) struct arena *a = arena_new((size_t)256 << 20);
    if (!write_both(schema, metadata, &ws, &wl))
        return err_set(e, ERR_LIMIT, "the metadata is too large to be checked");
    const struct json *s = json_read(buf_view(&loose), a, e);
    const struct json *m = json_read(buf_view(&subject), a, e);
    return s && m && json_schema_check(s, m, "metadata", e) &&
           check_texts(s, m, "metadata", matching, e);
}
