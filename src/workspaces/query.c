/* Filters and orders, as SQL over the view of notes.
 *
 * A property is what a section or the frontmatter says: text that looks like a number is
 * one when it is compared with a number, text that begins like a date is one when it is
 * compared with a date. A list is equal to what one of its items is equal to. */
#include "workspaces/query.h"

#include <stdio.h>

enum kind { KIND_TEXT, KIND_DATE, KIND_NUMBER, KIND_LIST, KIND_PROPERTY };

static const struct field {
    const char *name, *column;
    enum kind kind;
} fields[] = {
    {"id", "id", KIND_TEXT},
    {"title", "title", KIND_TEXT},
    {"class", "type", KIND_TEXT},
    {"type", "type", KIND_TEXT},
    {"path", "path", KIND_TEXT},
    {"uid", "uid", KIND_TEXT},
    {"content_hash", "content_hash", KIND_TEXT},
    {"created_at", "created", KIND_DATE},
    {"updated_at", "updated", KIND_DATE},
    {"size", "size", KIND_NUMBER},
    {"tags", "tags", KIND_LIST},
};
#define PREFIX "properties."

/* What is compared: its value and its JSON type, as SQL. */
struct operand {
    enum kind kind;
    char value[16], type[16];
};

/* One object or array of the filter that is not at its end yet. */
struct frame {
    struct json_iter it;
    const char *join, *end;
    bool any;      /* a member was written */
    bool of_field; /* its members are operators of this one: */
    struct operand operand;
    struct str place; /* its name in messages */
};

struct writer {
    struct buf where, order, *params;
    size_t param_count, conditions, depth, property_count, key_count;
    struct str properties[QUERY_PROPERTIES]; /* p1 is the first's value, t1 its type */
    size_t property_params[QUERY_PROPERTIES];
    struct frame frames[QUERY_DEPTH];
};

/* ---- names and parameters ----------------------------------------------------- */

static bool add_param(struct writer *w, const struct json *value, struct err *e)
{
    struct json_writer out = json_writer(w->params);
    if (w->param_count++)
        buf_char(w->params, ',');
    json_put(&out, value);
    return buf_check(w->params, "the query's values", e);
}

static bool add_text_param(struct writer *w, struct str text, struct err *e)
{
    struct json_writer out = json_writer(w->params);
    if (w->param_count++)
        buf_char(w->params, ',');
    json_put_str(&out, text);
    return buf_check(w->params, "the query's values", e);
}

/* What a path of SQLite's cannot hold between its quotes. */
static bool is_odd_key(struct str key)
{
    for (size_t i = 0; i < key.n; i++)
        if (key.at[i] == '"' || key.at[i] == '\\' || (unsigned char)key.at[i] < 0x20)
            return true;
    return false;
}

static bool find_property(struct writer *w, struct str key, size_t *number, struct err *e)
{
    for (*number = 0; *number < w->property_count; ++*number)
        if (str_eq(w->properties[*number], key))
            return true;
    if (w->property_count == QUERY_PROPERTIES)
        return err_set(e, ERR_LIMIT, "body names more than %u different properties",
                       QUERY_PROPERTIES);
    scoped_buf struct buf path;
    buf_init(&path, key.n + 8);
    if (is_odd_key(key))
        buf_str(&path, key);
    else
        buf_printf(&path, "$.\"%.*s\"", STR_ARGS(key));
    w->properties[w->property_count] = key;
    w->property_params[w->property_count++] = w->param_count + 1;
    return buf_check(&path, "a property's name", e) &&
           add_text_param(w, buf_view(&path), e);
}

static bool no_such_field(struct str place, struct str name, struct err *e)
{
    scoped_buf struct buf names;
    buf_init(&names, 400);
    for (size_t i = 0; i < LENGTH(fields); i++)
        buf_printf(&names, "%s, ", fields[i].name);
    return err_set(
        e, ERR_INVALID,
        "%.*s: there is no field \"%.*s\"; there are %sand properties.NAME, such "
        "as \"properties.Status\"",
        STR_ARGS(place), STR_ARGS(str_cut(name, 60)), buf_cz(&names));
}

static bool read_operand(struct writer *w, struct str name, struct str place,
                         struct operand *out, struct err *e)
{
    *out = (struct operand){0};
    for (size_t i = 0; i < LENGTH(fields); i++)
        if (str_is(name, fields[i].name)) {
            out->kind = fields[i].kind;
            (void)snprintf(out->value, sizeof out->value, "%s", fields[i].column);
            return true;
        }
    size_t number;
    struct str key = {name.at + sizeof PREFIX - 1, name.n - (sizeof PREFIX - 1)};
    if (!str_starts(name, PREFIX) || !key.n)
        return no_such_field(place, name, e);
    if (!find_property(w, key, &number, e))
        return false;
    out->kind = KIND_PROPERTY;
    (void)snprintf(out->value, sizeof out->value, "p%zu", number + 1);
    (void)snprintf(out->type, sizeof out->type, "t%zu", number + 1);
    return true;
}

/* ---- values --------------------------------------------------------------------- */

#define NUMBERS "('integer','real')"
#define DATES "'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'"

static bool is_digits(struct str s, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++)
        if (s.at[i] < '0' || s.at[i] > '9')
            return false;
    return true;
}

static bool is_date(const struct json *value)
{
    struct str s = json_str(value);
    return s.n >= 10 && is_digits(s, 0, 4) && s.at[4] == '-' && is_digits(s, 5, 2) &&
           s.at[7] == '-' && is_digits(s, 8, 2);
}

/* The value as a number, NULL where it is none. A boolean is none. */
static void put_number(struct buf *out, const struct operand *o)
{
    if (o->kind == KIND_NUMBER)
        buf_cstr(out, o->value);
    else if (o->kind == KIND_PROPERTY)
        buf_printf(out, "x%s", o->value + 1);
    else
        buf_cstr(out, "NULL");
}

/* Is it one of a list's items? */
static void put_item(struct buf *out, const struct operand *o, size_t param)
{
    if (o->kind == KIND_LIST)
        buf_printf(out, "EXISTS(SELECT 1 FROM json_each(%s) i WHERE i.value=?%zu)",
                   o->value, param);
    else
        buf_printf(out, "EXISTS(SELECT 1 FROM json_each(a%s) i WHERE i.value=?%zu)",
                   o->value + 1, param);
}

static bool has_items(const struct operand *o)
{
    return o->kind == KIND_LIST || o->kind == KIND_PROPERTY;
}

/* A number stands in `param`, a date or other text in it as well. */
static void put_compared(struct buf *out, const struct operand *o, const char *sign,
                         const struct json *value, size_t param)
{
    if (json_is(value, JSON_NUMBER)) {
        buf_char(out, '(');
        put_number(out, o);
        buf_printf(out, ")%s?%zu", sign, param);
    } else if (is_date(value)) {
        buf_printf(out,
                   "CASE WHEN %s GLOB " DATES " THEN julianday(%s)%sjulianday(?%zu) END",
                   o->value, o->value, sign, param);
    } else {
        buf_printf(out, "(typeof(%s)='text' AND %s%s?%zu)", o->value, o->value, sign,
                   param);
    }
}

static void put_truth(struct buf *out, const struct operand *o, bool value)
{
    const char *word = value ? "true" : "false";
    if (o->kind == KIND_PROPERTY)
        buf_printf(out, "(%s='%s' OR (%s='text' AND lower(%s)='%s'))", o->type, word,
                   o->type, o->value, word);
    else
        buf_cstr(out, "0");
}

/* ---- operators -------------------------------------------------------------------- */

struct asked {
    struct writer *w;
    const struct operand *operand;
    const struct json *value;
    struct str place;
};

static bool is_scalar(const struct json *v)
{
    return !json_is(v, JSON_OBJECT) && !json_is(v, JSON_ARRAY);
}

static bool wrong_value(const struct asked *q, const char *accepted, struct err *e)
{
    return err_set(e, ERR_INVALID, "%.*s is a value of type %s; accepted is %s",
                   STR_ARGS(q->place), json_type_name(json_type(q->value)), accepted);
}

static bool count_condition(struct writer *w, struct err *e)
{
    return ++w->conditions <= QUERY_CONDITIONS ||
           err_set(e, ERR_LIMIT, "body.filter has more than %u conditions",
                   QUERY_CONDITIONS);
}

static bool put_equal(const struct asked *q, struct err *e)
{
    struct buf *out = &q->w->where;
    const struct operand *o = q->operand;
    if (!is_scalar(q->value))
        return wrong_value(q, "a string, a number, a boolean or null", e);
    if (!count_condition(q->w, e))
        return false;
    if (json_is(q->value, JSON_NULL)) {
        buf_printf(out, "%s IS NULL", o->value);
        return true;
    }
    if (json_is(q->value, JSON_BOOL)) {
        put_truth(out, o, json_bool(q->value, false));
        return true;
    }
    if (!add_param(q->w, q->value, e))
        return false;
    size_t param = q->w->param_count;
    buf_char(out, '(');
    if (json_is(q->value, JSON_STRING) && o->kind != KIND_LIST)
        buf_printf(out, "%s=?%zu", o->value, param);
    else
        buf_char(out, '0');
    if (json_is(q->value, JSON_NUMBER) || (is_date(q->value) && o->kind != KIND_LIST)) {
        buf_cstr(out, " OR ");
        put_compared(out, o, "=", q->value, param);
    }
    if (has_items(o)) {
        buf_cstr(out, " OR ");
        put_item(out, o, param);
    }
    buf_char(out, ')');
    return true;
}

static bool put_ordered(const struct asked *q, const char *sign, struct err *e)
{
    if (!json_is(q->value, JSON_NUMBER) && !json_is(q->value, JSON_STRING))
        return wrong_value(q, "a number, a date such as \"2025-11-29\", or a text", e);
    if (!count_condition(q->w, e) || !add_param(q->w, q->value, e))
        return false;
    put_compared(&q->w->where, q->operand, sign, q->value, q->w->param_count);
    return true;
}

static bool put_greater(const struct asked *q, struct err *e)
{
    return put_ordered(q, ">", e);
}

static bool put_at_least(const struct asked *q, struct err *e)
{
    return put_ordered(q, ">=", e);
}

static bool put_less(const struct asked *q, struct err *e)
{
    return put_ordered(q, "<", e);
}

static bool put_at_most(const struct asked *q, struct err *e)
{
    return put_ordered(q, "<=", e);
}

static bool put_unequal(const struct asked *q, struct err *e)
{
    buf_cstr(&q->w->where, "NOT coalesce(");
    bool ok = put_equal(q, e);
    buf_cstr(&q->w->where, ",0)");
    return ok;
}

static bool put_one_of(const struct asked *q, struct err *e)
{
    if (!json_is(q->value, JSON_ARRAY))
        return wrong_value(q, "an array of strings, numbers, booleans or null", e);
    struct json_iter it = json_iter(q->value);
    buf_cstr(&q->w->where, "(0");
    while (json_next(&it)) {
        struct asked one = *q;
        one.value = it.value;
        buf_cstr(&q->w->where, " OR ");
        if (!put_equal(&one, e))
            return false;
    }
    buf_char(&q->w->where, ')');
    return true;
}

static bool put_none_of(const struct asked *q, struct err *e)
{
    buf_cstr(&q->w->where, "NOT coalesce(");
    bool ok = put_one_of(q, e);
    buf_cstr(&q->w->where, ",0)");
    return ok;
}

static bool put_exists(const struct asked *q, struct err *e)
{
    if (!json_is(q->value, JSON_BOOL))
        return wrong_value(q, "true or false", e);
    buf_printf(&q->w->where, "%s IS %sNULL", q->operand->value,
               json_bool(q->value, false) ? "NOT " : "");
    return count_condition(q->w, e);
}

static bool put_contains(const struct asked *q, struct err *e)
{
    const struct operand *o = q->operand;
    struct buf *out = &q->w->where;
    if (!json_is(q->value, JSON_STRING))
        return wrong_value(q, "a string", e);
    if (!count_condition(q->w, e) || !add_param(q->w, q->value, e))
        return false;
    size_t param = q->w->param_count;
    if (o->kind == KIND_PROPERTY) {
        buf_printf(out, "CASE WHEN %s='array' THEN ", o->type);
        put_item(out, o, param);
        buf_printf(out, " ELSE instr(lower(%s),lower(?%zu))>0 END", o->value, param);
    } else if (o->kind == KIND_LIST) {
        put_item(out, o, param);
    } else {
        buf_printf(out, "instr(lower(%s),lower(?%zu))>0", o->value, param);
    }
    return true;
}

static const struct operator {
    const char *name;
    bool (*put)(const struct asked *q, struct err *e);
} operators[] = {
    {"eq", put_equal},          {"ne", put_unequal},  {"gt", put_greater},
    {"gte", put_at_least},      {"lt", put_less},     {"lte", put_at_most},
    {"in", put_one_of},         {"nin", put_none_of}, {"exists", put_exists},
    {"contains", put_contains},
};

/* "$and" and "and" are the same. */
static struct str bare(struct str name)
{
    return str_starts(name, "$") ? (struct str){name.at + 1, name.n - 1} : name;
}

static bool no_such_operator(struct str place, struct str name, struct err *e)
{
    return err_set(e, ERR_INVALID,
                   "%.*s: there is no operator \"%.*s\"; there are $eq, $ne, $gt, $gte, "
                   "$lt, $lte, $in, $nin, $exists, $contains and $not",
                   STR_ARGS(place), STR_ARGS(str_cut(name, 40)));
}

/* ---- walking the filter --------------------------------------------------------------- */

static bool push(struct writer *w, const struct json *value, struct frame frame,
                 struct err *e)
{
    if (w->depth == QUERY_DEPTH)
        return err_set(e, ERR_LIMIT, "body.filter is nested more than %u deep",
                       QUERY_DEPTH);
    frame.it = json_iter(value);
    buf_char(&w->where, '(');
    w->frames[w->depth++] = frame;
    return true;
}

static struct str place_of(struct str outer, struct str key, char room[static 120])
{
    int n = snprintf(room, 120, "%.*s.%.*s", STR_ARGS(str_cut(outer, 60)),
                     STR_ARGS(str_cut(key, 50)));
    return (struct str){room, n > 0 ? (size_t)n : 0};
}

static bool put_operator(struct writer *w, struct frame *f, struct str place,
                         struct err *e)
{
    struct str name = bare(f->it.key);
    struct asked q = {w, &f->operand, f->it.value, place};
    if (str_is(name, "not")) {
        if (!json_is(f->it.value, JSON_OBJECT))
            return wrong_value(&q, "an object with operators", e);
        buf_cstr(&w->where, "NOT coalesce(");
        return push(w, f->it.value,
                    (struct frame){.join = " AND ",
                                   .end = ",0)",
                                   .of_field = true,
                                   .operand = f->operand,
                                   .place = f->place},
                    e);
    }
    for (size_t i = 0; i < LENGTH(operators); i++)
        if (str_is(name, operators[i].name))
            return operators[i].put(&q, e);
    return no_such_operator(f->place, f->it.key, e);
}

static bool put_field(struct writer *w, struct frame *f, struct str place, struct err *e)
{
    struct operand o;
    if (!read_operand(w, f->it.key, f->place, &o, e))
        return false;
    struct asked q = {w, &o, f->it.value, place};
    if (!json_is(f->it.value, JSON_OBJECT))
        return put_equal(&q, e);
    if (!json_length(f->it.value))
        return no_such_operator(place, STR(""), e);
    return push(w, f->it.value,
                (struct frame){.join = " AND ",
                               .end = "",
                               .of_field = true,
                               .operand = o,
                               .place = f->it.key},
                e);
}

static bool put_joined(struct writer *w, const struct frame *f, const char *join,
                       struct str place, struct err *e)
{
    const struct json *list = f->it.value;
    if (!json_is(list, JSON_ARRAY) || !json_length(list))
        return err_set(e, ERR_INVALID, "%.*s must be an array of at least one filter",
                       STR_ARGS(place));
    return push(w, list, (struct frame){.join = join, .end = "", .place = f->it.key}, e);
}

/* A member of an object of the filter. */
static bool put_member(struct writer *w, struct frame *f, struct err *e)
{
    char room[120];
    struct str place = place_of(f->place, f->it.key, room), name = bare(f->it.key);
    if (f->of_field)
        return put_operator(w, f, place, e);
    if (str_is(name, "and"))
        return put_joined(w, f, " AND ", place, e);
    if (str_is(name, "or"))
        return put_joined(w, f, " OR ", place, e);
    if (!str_is(name, "not"))
        return put_field(w, f, place, e);
    if (!json_is(f->it.value, JSON_OBJECT))
        return err_set(e, ERR_INVALID, "%.*s must be a filter, an object",
                       STR_ARGS(place));
    buf_cstr(&w->where, "NOT coalesce(");
    return push(w, f->it.value,
                (struct frame){.join = " AND ", .end = ",0)", .place = f->it.key}, e);
}

static bool put_element(struct writer *w, struct frame *f, struct err *e)
{
    if (json_is(f->it.value, JSON_OBJECT))
        return push(w, f->it.value,
                    (struct frame){.join = " AND ", .end = "", .place = f->place}, e);
    return err_set(e, ERR_INVALID,
                   "%.*s: each of its elements must be a filter, an object",
                   STR_ARGS(f->place));
}

static bool put_filter(struct writer *w, const struct json *filter, struct err *e)
{
    if (!filter || json_is(filter, JSON_NULL))
        filter = NULL;
    else if (!json_is(filter, JSON_OBJECT))
        return err_set(e, ERR_INVALID, "body.filter must be an object, not %s",
                       json_type_name(json_type(filter)));
    if (!push(w, filter,
              (struct frame){.join = " AND ", .end = "", .place = STR("body.filter")}, e))
        return false;
    while (w->depth) {
        struct frame *f = &w->frames[w->depth - 1];
        if (!json_next(&f->it)) {
            buf_printf(&w->where, "%s)%s", f->any ? "" : "1", f->end);
            w->depth--;
            continue;
        }
        if (f->any)
            buf_cstr(&w->where, f->join);
        f->any = true;
        bool is_object = json_is(f->it.container, JSON_OBJECT);
        if (!(is_object ? put_member(w, f, e) : put_element(w, f, e)))
            return false;
    }
    return buf_check(&w->where, "the filter", e);
}

/* ---- the order -------------------------------------------------------------------------- */

/* Two columns a key: is there none (those come last), and the value. */
static bool put_key(struct writer *w, struct str name, bool down, struct buf *columns,
                    struct buf *after, struct err *e)
{
    struct operand o;
    if (w->key_count == QUERY_KEYS)
        return err_set(e, ERR_LIMIT, "body.sort has more than %u keys", QUERY_KEYS);
    if (!read_operand(w, name, STR("body.sort"), &o, e))
        return false;
    size_t n = ++w->key_count;
    buf_printf(columns, ",%s IS NULL AS n%zu,", o.value, n);
    if (o.kind == KIND_PROPERTY) {
        buf_cstr(columns, "coalesce(");
        put_number(columns, &o);
        buf_printf(columns, ",%s)", o.value);
    } else {
        buf_cstr(columns, o.value);
    }
    buf_printf(columns, " AS k%zu", n);
    buf_printf(&w->order, "%sn%zu,k%zu%s", n > 1 ? "," : "", n, n, down ? " DESC" : "");
    /* Behind the mark: later in this key, or the same and later in those that follow. */
    buf_printf(after,
               "(n%zu>mn%zu OR (n%zu=mn%zu AND (k%zu%cmk%zu OR (k%zu IS mk%zu AND ", n, n,
               n, n, n, down ? '<' : '>', n, n, n);
    return true;
}

static bool put_named_key(struct writer *w, struct str name, struct buf *columns,
                          struct buf *after, struct err *e)
{
    bool down = str_starts(name, "-");
    if (down)
        name.at++, name.n--;
    return put_key(w, name, down, columns, after, e);
}

/* {"properties.Due": "asc"} */
static bool put_worded_keys(struct writer *w, const struct json *object,
                            struct buf *columns, struct buf *after, struct err *e)
{
    struct json_iter it = json_iter(object);
    while (json_next(&it)) {
        struct str word = json_str(it.value);
        bool down = str_is(word, "desc") || json_int(it.value, 0) == -1;
        if (!down && !str_is(word, "asc") && json_int(it.value, 0) != 1)
            return err_set(e, ERR_INVALID, "body.sort.%.*s must be \"asc\" or \"desc\"",
                           STR_ARGS(str_cut(it.key, 60)));
        if (!put_key(w, it.key, down, columns, after, e))
            return false;
    }
    return true;
}

static bool put_keys(struct writer *w, const struct json *sort, struct buf *columns,
                     struct buf *after, struct err *e)
{
    if (json_is(sort, JSON_STRING))
        return put_named_key(w, json_str(sort), columns, after, e);
    if (json_is(sort, JSON_OBJECT))
        return put_worded_keys(w, sort, columns, after, e);
    if (sort && !json_is(sort, JSON_NULL) && !json_is(sort, JSON_ARRAY))
        return err_set(e, ERR_INVALID,
                       "body.sort must be a field such as \"-updated_at\", an array of "
                       "them, or an object such as {\"title\": \"asc\"}");
    struct json_iter it = json_iter(sort);
    while (json_next(&it)) {
        bool ok =
            json_is(it.value, JSON_OBJECT)
                ? put_worded_keys(w, it.value, columns, after, e)
            : json_is(it.value, JSON_STRING)
                ? put_named_key(w, json_str(it.value), columns, after, e)
                : err_set(e, ERR_INVALID,
                          "body.sort: each key is a field, such as \"-updated_at\"");
        if (!ok)
            return false;
    }
    return true;
}

/* ---- all of it ---------------------------------------------------------------------------- */

#define ROWS                                                                    \
    "id,title,type,properties,updated,created,tags,content_hash,path,uid,size," \
    "properties_cut"

/* The property as it stands, and its JSON type. */
static void put_property(const struct writer *w, size_t i, struct buf *sql)
{
    size_t n = i + 1, p = w->property_params[i];
    if (is_odd_key(w->properties[i]))
        buf_printf(
            sql,
            ",(SELECT j.value FROM json_each(properties) j WHERE j.key=?%zu) AS p%zu"
            ",(SELECT j.type FROM json_each(properties) j WHERE j.key=?%zu) AS t%zu",
            p, n, p, n);
    else
        buf_printf(sql,
                   ",json_extract(properties,?%zu) AS p%zu"
                   ",json_type(properties,?%zu) AS t%zu",
                   p, n, p, n);
}

/* As a list, or NULL; and as a number. SQLite looks at both sides of AND, in any order: so
 * what is no JSON stands behind CASE. */
static void put_readings(size_t n, struct buf *sql)
{
    buf_printf(sql,
               ",CASE WHEN t%zu='array' THEN p%zu END AS a%zu"
               ",CASE WHEN t%zu IN" NUMBERS " THEN p%zu WHEN CASE WHEN t%zu='text' THEN "
               "CASE WHEN json_valid(p%zu) THEN json_type(p%zu) END END IN" NUMBERS
               " THEN CAST(p%zu AS REAL) END AS x%zu",
               n, n, n, n, n, n, n, n, n, n);
}

/* The notes, with what is compared; each column is worked out where it is used. */
static void put_source(const struct writer *w, const struct buf *columns, struct buf *sql)
{
    buf_cstr(sql, "SELECT *");
    buf_str(sql, buf_view(columns));
    buf_cstr(sql, " FROM (SELECT *");
    for (size_t i = 0; i < w->property_count; i++)
        put_readings(i + 1, sql);
    buf_cstr(sql, " FROM (SELECT " ROWS);
    for (size_t i = 0; i < w->property_count; i++)
        put_property(w, i, sql);
    buf_cstr(sql, " FROM notes))");
}

/* The note that the page before ended with: its place in the order. */
static bool put_mark(struct writer *w, struct str after, struct buf *sql, struct err *e)
{
    if (!add_text_param(w, after, e))
        return false;
    buf_cstr(sql, ",m AS (SELECT path AS mpath");
    for (size_t n = 1; n <= w->key_count; n++)
        buf_printf(sql, ",n%zu AS mn%zu,k%zu AS mk%zu", n, n, n, n);
    buf_printf(sql, " FROM q WHERE id=?%zu LIMIT 1)", w->param_count);
    return true;
}

static bool put_question(struct writer *w, const struct buf *columns, struct buf *later,
                         struct str after, int64_t limit, struct buf *sql, struct err *e)
{
    /* Used twice, it would be written down as a whole first. */
    buf_cstr(sql, "WITH q AS NOT MATERIALIZED(");
    put_source(w, columns, sql);
    buf_char(sql, ')');
    if (after.n && !put_mark(w, after, sql, e))
        return false;
    /* What is sorted is narrow: the rows are looked up when it is known which. */
    buf_cstr(sql, " SELECT " ROWS " FROM (SELECT path AS found");
    for (size_t n = 1; n <= w->key_count; n++)
        buf_printf(sql, ",n%zu,k%zu", n, n);
    buf_printf(sql, " FROM q%s WHERE ", after.n ? ",m" : "");
    buf_str(sql, buf_view(&w->where));
    if (after.n) {
        buf_cstr(later, "path>mpath");
        for (size_t i = 0; i < w->key_count; i++)
            buf_cstr(later, "))))");
        buf_printf(sql, " AND %s", buf_cz(later));
    }
    buf_printf(sql,
               " ORDER BY %s,path LIMIT %lld) CROSS JOIN notes ON path=found ORDER BY "
               "%s,path",
               buf_cz(&w->order), (long long)limit, buf_cz(&w->order));
    return buf_check(later, "the order", e) && buf_check(sql, "the query", e);
}

bool query_write(const struct json *filter, const struct json *sort, struct str after,
                 int64_t limit, struct query_text *out, struct err *e)
{
    struct writer w = {.params = &out->params};
    scoped_buf struct buf columns, later;
    buf_init(&columns, 8192);
    buf_init(&later, 8192);
    buf_init(&w.where, 32768);
    buf_init(&w.order, 1024);
    buf_char(&out->params, '[');
    bool ok = put_filter(&w, filter, e) && put_keys(&w, sort, &columns, &later, e);
    if (ok && !w.key_count)
        ok = put_key(&w, STR("updated_at"), true, &columns, &later, e);
    ok = ok && put_question(&w, &columns, &later, after, limit, &out->sql, e);
    buf_char(&out->params, ']');
    buf_done(&w.where);
    buf_done(&w.order);
    return ok && buf_check(&out->params, "the query's values", e);
}
