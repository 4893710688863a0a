#include "notes/where.h"
#include "notes/notes.api.h"

#define FILTERS_MAX 20u

static int bind(struct where *w, struct bind b)
{
    if (w->bound < WHERE_BINDS_MAX)
        w->binds[w->bound] = b;
    return ++w->bound;
}

int where_str(struct where *w, struct str v)
{
    return bind(w, (struct bind){.kind = BIND_STR, .str = v});
}

int where_int(struct where *w, int64_t v)
{
    return bind(w, (struct bind){.kind = BIND_INT, .n = v});
}

void where_bind(const struct where *w, struct query *q)
{
    for (int i = 0; i < w->bound && i < query_parameters(q); i++) {
        const struct bind *b = &w->binds[i];
        if (b->kind == BIND_STR)
            query_bind_str(q, i + 1, b->str);
        else if (b->kind == BIND_INT)
            query_bind_int(q, i + 1, b->n);
        else
            query_bind_number(q, i + 1, b->number);
    }
}

bool where_path(struct where *w, struct str key, struct buf *out, struct err *e)
{
    if (!key.n || key.n > 200 || memchr(key.at, '"', key.n) ||
        memchr(key.at, '\\', key.n))
        return err_set(e, ERR_INVALID,
                       "a metadata key must have 1 to 200 bytes and no quotes or "
                       "backslashes");
    const char *whole = arena_printf(w->arena, e, "$.\"%.*s\"", STR_ARGS(key));
    if (!whole)
        return false;
    int first = where_str(w, str_of(whole));
    if (!memchr(key.at, '.', key.n)) {
        buf_printf(out, "?%d", first);
        return true;
    }
    scoped_buf struct buf inner = buf_of(BUF_LINE);
    buf_cstr(&inner, "$.\"");
    for (size_t i = 0; i < key.n; i++)
        buf_cstr(&inner, key.at[i] == '.' ? "\".\"" : ((char[2]){key.at[i], 0}));
    buf_char(&inner, '"');
    const char *copy = arena_copy(w->arena, inner.at, inner.n, e);
    buf_printf(out, "iif(json_type(n.metadata, ?%d) IS NULL, ?%d, ?%d)", first,
               where_str(w, str_of(copy)), first);
    return copy != NULL;
}

/* ---- conditions on metadata ---------------------------------------------  */

#define NUMBER "j.type IN ('integer', 'real')"

static bool put_order(struct where *w, const char *sign, const struct json *v,
                      struct buf *out, struct err *e)
{
    if (json_is(v, JSON_NUMBER)) {
        int n = bind(w, (struct bind){.kind = BIND_NUMBER, .number = json_number(v, 0)});
        buf_printf(out, NUMBER " AND j.value %s ?%d", sign, n);
        return true;
    }
    if (json_is(v, JSON_STRING)) {
        buf_printf(out, "j.type = 'text' AND j.value %s ?%d", sign,
                   where_str(w, json_str(v)));
        return true;
    }
    return err_set(e, ERR_INVALID,
                   "metadata_filters: the operator %s compares numbers or texts (such as "
                   "dates), not a value of type %s",
                   sign, json_type_name(json_type(v)));
}

/* The value itself, in its own type: 3 is not "3". */
static bool put_equal(struct where *w, const struct json *v, struct buf *out,
                      struct err *e)
{
    switch (json_type(v)) {
    case JSON_NUMBER:
    case JSON_STRING:
        return put_order(w, "=", v, out, e);
    case JSON_BOOL:
        buf_printf(out, "j.type = '%s'", json_bool(v, false) ? "true" : "false");
        return true;
    case JSON_NULL:
        buf_cstr(out, "j.type = 'null'");
        return true;
    default:
        return err_set(e, ERR_INVALID,
                       "metadata_filters: a value to compare with is a text, number, "
                       "boolean or null, not of type %s; 'in' takes a list",
                       json_type_name(json_type(v)));
    }
}

static bool put_in(struct where *w, const struct json *v, struct buf *out, struct err *e)
{
    if (!json_is(v, JSON_ARRAY) || json_length(v) == 0 || json_length(v) > WHERE_LIST_MAX)
        return err_set(e, ERR_INVALID,
                       "metadata_filters: 'in' takes a list of 1 to %u values",
                       WHERE_LIST_MAX);
    struct json_iter it = json_iter(v);
    buf_char(out, '(');
    for (bool first = true; json_next(&it); first = false) {
        buf_cstr(out, first ? "(" : " OR (");
        if (!put_equal(w, it.value, out, e))
            return false;
        buf_char(out, ')');
    }
    buf_char(out, ')');
    return true;
}

static bool put_contains(struct where *w, const struct json *v, struct buf *out,
                         struct err *e)
{
    if (!json_is(v, JSON_STRING))
        return put_equal(w, v, out, e);
    buf_printf(out, "j.type = 'text' AND instr(lower(j.value), lower(?%d)) > 0",
               where_str(w, json_str(v)));
    return true;
}

static bool put_exists(struct where *w, struct str key, const struct json *v,
                       struct err *e)
{
    if (v && !json_is(v, JSON_BOOL) && !json_is(v, JSON_NULL))
        return err_set(e, ERR_INVALID,
                       "metadata_filters: the value of 'exists' is true or "
                       "false");
    buf_cstr(&w->sql, " AND json_type(n.metadata, ");
    bool ok = where_path(w, key, &w->sql, e);
    buf_cstr(&w->sql, json_bool(v, true) ? ") IS NOT NULL" : ") IS NULL");
    return ok;
}

static bool put_condition(struct where *w, struct str op, const struct json *v,
                          struct err *e)
{
    static const char *const orders[] = {">", ">=", "<", "<="};
    struct buf *out = &w->sql;
    if (str_is(op, "=") || str_is(op, "==") || str_is(op, "!="))
        return put_equal(w, v, out, e);
    for (size_t i = 0; i < LENGTH(orders); i++)
        if (str_is(op, orders[i]))
            return put_order(w, orders[i], v, out, e);
    if (str_is(op, "in"))
        return put_in(w, v, out, e);
    if (str_is(op, "contains"))
        return put_contains(w, v, out, e);
    return err_set(
        e, ERR_INVALID,
        "metadata_filters: there is no operator \"%.*s\"; the operators are =, !=, >, "
        ">=, <, <=, in, contains and exists",
        STR_ARGS(str_cut(op, 40)));
}

static bool where_put_filter(struct where *w, struct str key, struct str op,
                             const struct json *v, struct err *e)
{
    if (json_str(v).n > WHERE_TEXT_MAX)
        return err_set(e, ERR_INVALID,
                       "metadata_filters: a value has %zu bytes; at most %u "
                       "are accepted",
                       json_str(v).n, WHERE_TEXT_MAX);
    if (str_is(op, "exists"))
        return put_exists(w, key, v, e);
    if (!v)
        return err_set(e, ERR_INVALID, "metadata_filters: \"%.*s\" has no value",
                       STR_ARGS(str_cut(key, 60)));
    /* A list is taken element by element; what is not there meets "!=" alone. */
    buf_printf(&w->sql, " AND %sEXISTS(SELECT 1 FROM json_each(n.metadata, ",
               str_is(op, "!=") ? "NOT " : "");
    if (!where_path(w, key, &w->sql, e))
        return false;
    buf_cstr(&w->sql, ") j WHERE ");
    bool ok = put_condition(w, op, v, e);
    buf_char(&w->sql, ')');
    return ok;
}

bool where_filters(struct where *w, const struct json *list, struct err *e)
{
    if (!list || json_is(list, JSON_NULL))
        return true;
    if (!json_is(list, JSON_ARRAY) || json_length(list) > FILTERS_MAX)
        return err_set(e, ERR_INVALID,
                       "metadata_filters must be an array of at most %u objects {key, "
                       "value, operator}",
                       FILTERS_MAX);
    struct json_iter it = json_iter(list);
    while (json_next(&it)) {
        struct str key, op;
        if (!options_check(it.value, "metadata_filters", METADATA_FILTER_KEYS, e) ||
            !options_str(it.value, "key", NULL, &key, e) ||
            !options_str(it.value, "operator", NULL, &op, e) ||
            !where_put_filter(w, key, op.n ? op : STR("="), json_get(it.value, "value"),
                              e))
            return false;
    }
    return true;
}

bool where_metadata(struct where *w, const struct json *o, struct err *e)
{
    if (!o || json_is(o, JSON_NULL))
        return true;
    if (!json_is(o, JSON_OBJECT) || json_length(o) > FILTERS_MAX)
        return err_set(
            e, ERR_INVALID,
            "metadata must be an object of at most %u keys with the values that "
            "they must have",
            FILTERS_MAX);
    struct json_iter it = json_iter(o);
    while (json_next(&it))
        if (!where_put_filter(w, it.key,
                              json_is(it.value, JSON_ARRAY) ? STR("in") : STR("="),
                              it.value, e))
            return false;
    return true;
}
