/* Queries, as SQL over the view of notes: what can be compared, the order, the page. */
#include "notes_api/query.h"

#include <stdio.h>

#include "notes_api/question.h"

static const struct field {
    const char *name, *column;
    enum operand_kind kind;
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

/* ---- names and parameters ----------------------------------------------------- */

bool question_add(struct question *q, const struct json *value, struct err *e)
{
    struct json_writer out = json_writer(q->params);
    if (q->param_count++)
        buf_char(q->params, ',');
    json_put(&out, value);
    return buf_check(q->params, "the query's values", e);
}

bool question_add_text(struct question *q, struct str text, struct err *e)
{
    struct json_writer out = json_writer(q->params);
    if (q->param_count++)
        buf_char(q->params, ',');
    json_put_str(&out, text);
    return buf_check(q->params, "the query's values", e);
}

/* Characters that a quoted path of SQLite's cannot hold. */
static bool is_odd_key(struct str key)
{
    for (size_t i = 0; i < key.n; i++)
        if (key.at[i] == '"' || key.at[i] == '\\' || (unsigned char)key.at[i] < 0x20)
            return true;
    return false;
}

static bool find_property(struct question *q, struct str key, size_t *number,
                          struct err *e)
{
    for (*number = 0; *number < q->property_count; ++*number)
        if (str_eq(q->properties[*number], key))
            return true;
    if (q->property_count == QUERY_PROPERTIES)
        return err_set(e, ERR_LIMIT, "body names more than %u different properties",
                       QUERY_PROPERTIES);
    scoped_buf struct buf path = buf_of(key.n + 8);
    if (is_odd_key(key))
        buf_str(&path, key);
    else
        buf_printf(&path, "$.\"%.*s\"", STR_ARGS(key));
    q->properties[q->property_count] = key;
    q->property_params[q->property_count++] = q->param_count + 1;
    return buf_check(&path, "a property's name", e) &&
           question_add_text(q, buf_view(&path), e);
}

static bool no_such_field(struct str place, struct str name, struct err *e)
{
    scoped_buf struct buf names = buf_of(BUF_LINE);
    for (size_t i = 0; i < LENGTH(fields); i++)
        buf_printf(&names, "%s, ", fields[i].name);
    return err_set(
        e, ERR_INVALID,
        "%.*s: there is no field \"%.*s\"; the fields are %sand properties.NAME, such "
        "as \"properties.Status\"",
        STR_ARGS(place), STR_ARGS(str_cut(name, 60)), buf_cz(&names));
}

bool question_operand(struct question *q, struct str name, struct str place,
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
    if (!find_property(q, key, &number, e))
        return false;
    out->kind = KIND_PROPERTY;
    (void)snprintf(out->value, sizeof out->value, "p%zu", number + 1);
    (void)snprintf(out->type, sizeof out->type, "t%zu", number + 1);
    return true;
}

void question_put_number(struct buf *out, const struct operand *o)
{
    if (o->kind == KIND_NUMBER)
        buf_cstr(out, o->value);
    else if (o->kind == KIND_PROPERTY)
        buf_printf(out, "x%s", o->value + 1);
    else
        buf_cstr(out, "NULL");
}

/* ---- the order -------------------------------------------------------------------------- */

/* Two columns a key: is there none (those come last), and the value. */
static bool query_put_key(struct question *q, struct str name, bool down,
                          struct buf *columns, struct buf *after, struct err *e)
{
    struct operand o;
    if (q->key_count == QUERY_KEYS)
        return err_set(e, ERR_LIMIT, "body.sort has more than %u keys", QUERY_KEYS);
    if (!question_operand(q, name, STR("body.sort"), &o, e))
        return false;
    size_t n = ++q->key_count;
    buf_printf(columns, ",%s IS NULL AS n%zu,", o.value, n);
    if (o.kind == KIND_PROPERTY) {
        buf_cstr(columns, "coalesce(");
        question_put_number(columns, &o);
        buf_printf(columns, ",%s)", o.value);
    } else {
        buf_cstr(columns, o.value);
    }
    buf_printf(columns, " AS k%zu", n);
    buf_printf(&q->order, "%sn%zu,k%zu%s", n > 1 ? "," : "", n, n, down ? " DESC" : "");
    /* Behind the mark: later in this key, or the same and later in those that follow. */
    buf_printf(after,
               "(n%zu>mn%zu OR (n%zu=mn%zu AND (k%zu%cmk%zu OR (k%zu IS mk%zu AND ", n, n,
               n, n, n, down ? '<' : '>', n, n, n);
    return true;
}

static bool put_named_key(struct question *q, struct str name, struct buf *columns,
                          struct buf *after, struct err *e)
{
    bool down = str_starts(name, "-");
    if (down)
        name.at++, name.n--;
    return query_put_key(q, name, down, columns, after, e);
}

/* {"properties.Due": "asc"} */
static bool put_worded_keys(struct question *q, const struct json *object,
                            struct buf *columns, struct buf *after, struct err *e)
{
    struct json_iter it = json_iter(object);
    while (json_next(&it)) {
        struct str word = json_str(it.value);
        bool down = str_is(word, "desc") || json_int(it.value, 0) == -1;
        if (!down && !str_is(word, "asc") && json_int(it.value, 0) != 1)
            return err_set(e, ERR_INVALID, "body.sort.%.*s must be \"asc\" or \"desc\"",
                           STR_ARGS(str_cut(it.key, 60)));
        if (!query_put_key(q, it.key, down, columns, after, e))
            return false;
    }
    return true;
}

static bool put_sort_keys(struct question *q, const struct json *sort,
                          struct buf *columns, struct buf *after, struct err *e)
{
    if (json_is(sort, JSON_STRING))
        return put_named_key(q, json_str(sort), columns, after, e);
    if (json_is(sort, JSON_OBJECT))
        return put_worded_keys(q, sort, columns, after, e);
    if (sort && !json_is(sort, JSON_NULL) && !json_is(sort, JSON_ARRAY))
        return err_set(e, ERR_INVALID,
                       "body.sort must be a field such as \"-updated_at\", an array of "
                       "them, or an object such as {\"title\": \"asc\"}");
    struct json_iter it = json_iter(sort);
    while (json_next(&it)) {
        bool ok =
            json_is(it.value, JSON_OBJECT)
                ? put_worded_keys(q, it.value, columns, after, e)
            : json_is(it.value, JSON_STRING)
                ? put_named_key(q, json_str(it.value), columns, after, e)
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
static void put_property(const struct question *q, size_t i, struct buf *sql)
{
    size_t n = i + 1, p = q->property_params[i];
    if (is_odd_key(q->properties[i]))
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
static void put_source(const struct question *q, const struct buf *columns,
                       struct buf *sql)
{
    buf_cstr(sql, "SELECT *");
    buf_str(sql, buf_view(columns));
    buf_cstr(sql, " FROM (SELECT *");
    for (size_t i = 0; i < q->property_count; i++)
        put_readings(i + 1, sql);
    buf_cstr(sql, " FROM (SELECT " ROWS);
    for (size_t i = 0; i < q->property_count; i++)
        put_property(q, i, sql);
    buf_cstr(sql, " FROM notes))");
}

/* The note that the page before ended with: its place in the order. */
static bool put_mark(struct question *q, struct str after, struct buf *sql, struct err *e)
{
    if (!question_add_text(q, after, e))
        return false;
    buf_cstr(sql, ",m AS (SELECT path AS mpath");
    for (size_t n = 1; n <= q->key_count; n++)
        buf_printf(sql, ",n%zu AS mn%zu,k%zu AS mk%zu", n, n, n, n);
    buf_printf(sql, " FROM q WHERE id=?%zu LIMIT 1)", q->param_count);
    return true;
}

static bool query_put_question(struct question *q, const struct buf *where,
                               const struct buf *columns, struct buf *later,
                               struct str after, int64_t limit, struct buf *sql,
                               struct err *e)
{
    /* Used twice, it would be written down as a whole first. */
    buf_cstr(sql, "WITH q AS NOT MATERIALIZED(");
    put_source(q, columns, sql);
    buf_char(sql, ')');
    if (after.n && !put_mark(q, after, sql, e))
        return false;
    /* Sorts narrow rows: the full ones are read once it is known which. */
    buf_cstr(sql, " SELECT " ROWS " FROM (SELECT path AS found");
    for (size_t n = 1; n <= q->key_count; n++)
        buf_printf(sql, ",n%zu,k%zu", n, n);
    buf_printf(sql, " FROM q%s WHERE ", after.n ? ",m" : "");
    buf_str(sql, buf_view(where));
    if (after.n) {
        buf_cstr(later, "path>mpath");
        for (size_t i = 0; i < q->key_count; i++)
            buf_cstr(later, "))))");
        buf_printf(sql, " AND %s", buf_cz(later));
    }
    buf_printf(sql,
               " ORDER BY %s,path LIMIT %lld) CROSS JOIN notes ON path=found ORDER BY "
               "%s,path",
               buf_cz(&q->order), (long long)limit, buf_cz(&q->order));
    return buf_check(later, "the order", e) && buf_check(sql, "the query", e);
}

bool query_write(const struct json *filter, const struct json *sort, struct str after,
                 int64_t limit, struct query_text *out, struct err *e)
{
    struct question q = {.params = &out->params};
    scoped_buf struct buf columns, later, where;
    buf_init(&columns, BUF_PAGE);
    buf_init(&later, BUF_PAGE);
    buf_init(&where, BUF_TEXT);
    buf_init(&q.order, BUF_LINE);
    buf_char(&out->params, '[');
    bool ok = filter_write(&q, filter, &where, e) &&
              put_sort_keys(&q, sort, &columns, &later, e);
    if (ok && !q.key_count)
        ok = query_put_key(&q, STR("updated_at"), true, &columns, &later, e);
    ok = ok &&
         query_put_question(&q, &where, &columns, &later, after, limit, &out->sql, e);
    buf_char(&out->params, ']');
    buf_done(&q.order);
    return ok && buf_check(&out->params, "the query's values", e);
}
