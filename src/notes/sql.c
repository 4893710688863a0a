/* notes.searchSQL: one SELECT over views of the index.
 *
 * The views are what docs/searching.md promises; the tables behind them may change. */
#include <stdio.h>

#include "notes/find.h"
#include "notes/index.h"

#define ROWS_USUAL 1000
#define ROWS_MAX 10000
#define ANSWER_MAX (8u << 20) /* bytes of rows; more are left out */
#define TIMEOUT_USUAL_MS 3000
#define TIMEOUT_MAX_MS 10000
#define EXACT_MAX ((int64_t)1 << 53) /* of whole numbers in JavaScript */

/* ---- the views ---------------------------------------------------------------- */

/* In these texts "@" stands for the schema that holds the tables. */

#define ID_OF(n)                                                                    \
    "CASE WHEN instr(" n ".path, '/') = 0 AND EXISTS(SELECT 1 FROM @.notes f WHERE" \
    " f.path = 'note/' || " n ".path) THEN " n ".path ELSE " n ".id END"
#define TIME_OF(column) "strftime('%Y-%m-%dT%H:%M:%fZ', " column " / 1000.0, 'unixepoch')"

static const struct view {
    const char *name, *select;
} views[] = {
    {"notes",
     "SELECT " ID_OF(
         "n") " AS id, n.uid AS uid, n.title AS title, n.type AS type, n.path AS"
              " path, n.stem || '.md' AS filename, " TIME_OF("n.created") " AS created, " TIME_OF(
                  "n.updated") " AS updated, n.size AS size, n.hash AS content_hash, n.tags AS"
                               " tags, n.metadata AS metadata, n.properties AS properties, n.cut AS properties_cut, (SELECT t.body FROM @.texts t WHERE t.rowid = n.key)"
                               " AS content FROM @.notes n"},
    {"tags",
     "SELECT " ID_OF("n") " AS note_id, g.tag AS tag FROM @.tags g JOIN @.notes n ON"
                          " n.key = g.note"},
    {"metadata",
     "SELECT " ID_OF(
         "n") " AS note_id, j.key AS key, j.value AS value, j.type AS type FROM"
              " @.notes n, json_each(n.metadata) j"},
    {"links",
     "SELECT " ID_OF("s") " AS source_note_id, CASE WHEN t.key IS NULL THEN NULL ELSE " ID_OF(
         "t") " END AS target_note_id, coalesce(l.target, m.text) AS target,"
              " coalesce(l.label, l.target, m.text) AS link_text,"
              " CASE l.kind WHEN 0 THEN 'wiki' WHEN 1 THEN 'markdown' ELSE 'external' END AS link_type,"
              " l.line AS line FROM @.links l JOIN @.notes s ON s.key = l.source"
              " LEFT JOIN @.names m ON m.key = l.name LEFT JOIN @.notes t ON t.key = m.note"},
    {"hierarchy",
     "SELECT " ID_OF("p") " AS parent_id, " ID_OF(
         "c") " AS child_id, s.position AS position"
              " FROM @.subnotes s JOIN @.names m ON m.key = s.name"
              " JOIN @.notes c ON c.key = m.note JOIN @.notes p ON p.key = s.parent"
              " WHERE s.state = 1"},
    {"types", "SELECT n.type AS name, count(*) AS note_count, " TIME_OF(
                  "max(n.updated)") " AS updated FROM @.notes n GROUP BY n.type"},
};

static const char *const view_names[] = {"notes",     "tags",  "metadata", "links",
                                         "hierarchy", "types", NULL};
_Static_assert(LENGTH(view_names) == LENGTH(views) + 1, "a name for each");

/* Public views read others, whose names nobody can know: see db_ask(). */
static bool make_views(struct db *db, const char *inner, struct err *e)
{
    scoped_buf struct buf sql;
    buf_init(&sql, 64 * 1024);
    for (size_t i = 0; i < LENGTH(views); i++) {
        buf_printf(&sql, "CREATE TEMP VIEW %s%s AS ", inner, views[i].name);
        for (const char *c = views[i].select; *c; c++)
            buf_cstr(&sql, *c == '@' ? inner : ((char[2]){*c, 0}));
        buf_printf(&sql, ";CREATE TEMP VIEW %s AS SELECT * FROM %s%s;", views[i].name,
                   inner, views[i].name);
    }
    /* A virtual table is opened by its first use, and does things of its own then. */
    buf_cstr(&sql, "SELECT 1 FROM main.texts, json_each('[]'), json_tree('[]') LIMIT 0");
    return buf_check(&sql, "the views", e) && db_exec(db, buf_cz(&sql), e);
}

/* ---- the question ------------------------------------------------------------------ */

struct asking {
    struct vault *v;
    struct str sql;
    const struct json *params;
    int64_t limit, timeout_ms;
    const struct cancel *cancel;
    struct buf rows;
    uint64_t began_ns;
};

static bool read_asking(const struct json *o, struct asking *a, struct err *e)
{
    static const char *const keys[] = {"query", "params", "limit", "timeout", NULL};
    a->sql = json_str(o);
    a->limit = ROWS_USUAL;
    a->timeout_ms = TIMEOUT_USUAL_MS;
    if (!json_is(o, JSON_STRING) &&
        (!options_check(o, "notes.searchSQL", keys, e) ||
         !options_str(o, "query", NULL, &a->sql, e) ||
         !options_limit(o, ROWS_USUAL, ROWS_MAX, &a->limit, e)))
        return false;
    const struct json *timeout = json_get(o, "timeout");
    if (timeout && !json_is(timeout, JSON_NULL))
        a->timeout_ms = json_int(timeout, 0);
    if (a->timeout_ms < 1 || a->timeout_ms > TIMEOUT_MAX_MS)
        return err_set(e, ERR_INVALID,
                       "timeout must be a whole number of ms from 1 to %d",
                       TIMEOUT_MAX_MS);
    a->params = json_get(o, "params");
    if (json_is(a->params, JSON_NULL))
        a->params = NULL;
    if (a->params && !json_is(a->params, JSON_ARRAY) && !json_is(a->params, JSON_OBJECT))
        return err_set(
            e, ERR_INVALID,
            "params must be an array for ?, or an object for :name, not a value "
            "of type %s",
            json_type_name(json_type(a->params)));
    return str_trim(a->sql).n > 0 ||
           err_set(e, ERR_INVALID,
                   "query must be a SELECT over the views notes, tags, "
                   "metadata, links, hierarchy and types");
}

static bool bind_value(struct query *q, int i, const struct json *v, struct err *e)
{
    switch (json_type(v)) {
    case JSON_NULL:
        query_bind_null(q, i);
        return true;
    case JSON_BOOL:
        query_bind_int(q, i, json_bool(v, false));
        return true;
    case JSON_NUMBER:
        if (json_is_int(v))
            query_bind_int(q, i, json_int(v, 0));
        else
            query_bind_number(q, i, json_number(v, 0));
        return true;
    case JSON_STRING:
        query_bind_str(q, i, json_str(v));
        return true;
    default:
        return err_set(
            e, ERR_INVALID,
            "params: a value is a string, number, boolean or null, not of type %s",
            json_type_name(json_type(v)));
    }
}

static bool bind_params(struct query *q, const struct json *params, struct err *e)
{
    int wanted = query_parameters(q), i = 0;
    bool list = json_is(params, JSON_ARRAY);
    struct json_iter it = json_iter(params);
    while (json_next(&it)) {
        i = list ? i + 1 : query_parameter(q, it.key);
        if (i == 0 || i > wanted)
            return list ? err_set(e, ERR_INVALID,
                                  "params has %zu values, but the query wants %d",
                                  json_length(params), wanted)
                        : err_set(e, ERR_INVALID,
                                  "params: the query has no parameter :%.*s",
                                  STR_ARGS(str_cut(it.key, 60)));
        if (!bind_value(q, i, it.value, e))
            return false;
    }
    return (int64_t)json_length(params) >= wanted ||
           err_set(e, ERR_INVALID, "the query wants %d params and is given %zu", wanted,
                   json_length(params));
}

/* ---- the answer ---------------------------------------------------------------------- */

static void put_bytes(struct json_writer *w, struct str bytes)
{
    scoped_buf struct buf hex;
    buf_init(&hex, ANSWER_MAX);
    for (size_t i = 0; i < bytes.n && !hex.failed; i++)
        buf_printf(&hex, "%02x", (unsigned char)bytes.at[i]);
    w->out->failed |= hex.failed;
    json_put_str(w, buf_view(&hex));
}

static void put_value(struct json_writer *w, struct query *q, int i)
{
    int64_t n = query_int(q, i);
    char text[24];
    switch (query_type(q, i)) {
    case DB_INT:
        (void)snprintf(text, sizeof text, "%lld", (long long)n);
        if (n > -EXACT_MAX && n < EXACT_MAX)
            json_put_int(w, n);
        else
            json_put_cstr(w, text); /* JavaScript would change it */
        break;
    case DB_NUMBER:
        json_put_number(w, query_number(q, i));
        break;
    case DB_TEXT:
        json_put_str(w, query_str(q, i));
        break;
    case DB_BYTES:
        put_bytes(w, query_bytes(q, i));
        break;
    case DB_NULL:
        json_put_null(w);
    }
}

/* Two columns of one name would be one key: the second is called "name_2". */
static bool name_columns(struct query *q, struct str *names, struct arena *a,
                         struct err *e)
{
    int count = query_columns(q);
    for (int i = 0; i < count; i++) {
        struct str name = query_name(q, i);
        const char *copy = arena_copy(a, name.at, name.n, e);
        names[i] = (struct str){copy, name.n};
        for (int k = 0, same = 1; copy && k < i; k++) {
            if (!str_eq(names[k], names[i]))
                continue;
            copy = arena_printf(a, e, "%.*s_%d", STR_ARGS(name), ++same);
            names[i] = str_of(copy);
            k = -1; /* that one may be taken, too */
        }
        if (!copy)
            return false;
    }
    return true;
}

static bool put_rows(struct asking *s, struct query *q, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new((size_t)4 << 20);
    int columns = query_columns(q);
    struct str *names = arena_get(a, (size_t)columns * sizeof *names, e);
    if (!names || !name_columns(q, names, a, e))
        return false;
    struct json_writer w = json_writer(&s->rows);
    json_open_object(&w);
    json_key(&w, "columns");
    json_open_array(&w);
    for (int i = 0; i < columns; i++)
        json_put_str(&w, names[i]);
    json_close(&w);
    json_key(&w, "rows");
    json_open_array(&w);
    int64_t count = 0;
    bool more = false;
    while (query_next(q, e)) {
        more = count == s->limit || s->rows.n > ANSWER_MAX;
        if (more)
            break;
        json_open_object(&w);
        for (int i = 0; i < columns; i++) {
            json_key_str(&w, names[i]);
            put_value(&w, q, i);
        }
        json_close(&w);
        count++;
    }
    json_close(&w);
    json_pair_int(&w, "row_count", count);
    json_pair_bool(&w, "truncated", more);
    json_pair_number(&w, "query_time_ms", (double)(os_mono_ns() - s->began_ns) / 1e6);
    json_close(&w);
    return e->code == ERR_NONE && buf_check(&s->rows, "the answer", e);
}

static bool ask(struct asking *s, struct db *db, struct err *e)
{
    unsigned char random[8];
    char inner[24] = "v";
    os_random(random, sizeof random);
    for (size_t i = 0; i < sizeof random; i++)
        (void)snprintf(inner + 1 + 2 * i, 4, "%02x_", random[i]);
    struct db_outside o = {
        .names = view_names,
        .inner = inner,
        .until_ns = os_mono_ns() + (uint64_t)s->timeout_ms * 1000000u,
        .cancel = s->cancel,
    };
    db_hide(db, inner);
    if (!make_views(db, inner, e))
        return false;
    scoped(query_end) struct query *q = db_ask(db, s->sql, &o, e);
    return q && bind_params(q, s->params, e) && put_rows(s, q, e);
}

static bool ask_work(struct db *db, void *arg, struct err *e)
{
    struct asking *s = arg;
    buf_clear(&s->rows);
    scoped(db_close) struct db *reader = index_reader(s->v->index, db, e);
    return reader && ask(s, reader, e);
}

bool notes_search_sql(struct vault *v, const struct json *options,
                      const struct cancel *cancel, struct json_writer *out, struct err *e)
{
    struct asking s = {.v = v, .cancel = cancel, .began_ns = os_mono_ns()};
    if (!read_asking(options, &s, e))
        return false;
    buf_init(&s.rows, FIND_ANSWER_MAX);
    bool ok = find_use(v, ask_work, &s, &s.rows, out, e);
    buf_done(&s.rows);
    return ok;
}
