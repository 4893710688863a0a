/* Names in a filter that no note has: a type, a tag, a key of metadata, a value under one.
 *
 * Asked for after an answer was empty, so that it is a slip of the pen in the filter, and not
 * an empty vault, that is told of. */
#include "notes/find.h"
#include "notes/types.h"

#define KNOWN_MAX 12u /* names that are told, the commonest first */
#define NEAR_MAX 200u /* names that are compared */
#define NAMES_MAX 16u /* of one kind in a filter */

struct kind {
    const char *key, *what;
    const char *all; /* one row each: name, commonest first */
};
static const struct kind kinds[] = {
    {"types", "type",
     "SELECT type FROM notes GROUP BY type ORDER BY count(*) DESC, type"},
    {"tags", "tag", "SELECT tag FROM tags GROUP BY tag ORDER BY count(*) DESC, tag"},
    {"keys", "metadata key",
     "SELECT j.key FROM notes n, json_each(n.metadata) j GROUP BY j.key"
     " ORDER BY count(*) DESC, j.key"},
};

struct unknown {
    struct vault *vault;
    const struct json *filter;
    struct json_writer *out;
    struct buf *rows;
    struct json_writer w;
};

static bool is_alike(struct str a, struct str b)
{
    size_t least = a.n < 6 ? 1 : a.n < 10 ? 2 : 3;
    size_t apart = a.n < b.n ? b.n - a.n : a.n - b.n;
    return apart <= least && str_distance(a, b) <= least;
}

/* Is it there? Else what is: `known`, and the nearest one in `near`. */
static bool look_for(struct db *db, const struct kind *k, struct str name, bool *there,
                     struct json_writer *known, struct buf *near, struct err *e)
{
    size_t n = 0;
    scoped(query_end) struct query *q = db_query(db, k->all, e);
    *there = false;
    json_open_array(known);
    while (q && !*there && query_next(q, e)) {
        struct str one = query_str(q, 0);
        *there = str_eq(one, name);
        if (n < KNOWN_MAX)
            json_put_str(known, str_cut(one, 60));
        if (!near->n && n < NEAR_MAX && is_alike(name, one))
            buf_str(near, str_cut(one, 60));
        n++;
    }
    json_close(known);
    return !e->code;
}

static bool unknown_put_name(struct unknown *u, struct db *db, const struct kind *k,
                             struct str name, struct err *e)
{
    scoped_buf struct buf known;
    scoped_buf struct buf near;
    buf_init(&known, BUF_TEXT);
    buf_init(&near, BUF_NAME);
    struct json_writer w = json_writer(&known);
    bool there;
    if (!look_for(db, k, name, &there, &w, &near, e))
        return false;
    if (there)
        return true;
    json_open_object(&u->w);
    json_pair_cstr(&u->w, "what", k->what);
    json_pair_str(&u->w, "name", str_cut(name, 60));
    if (near.n)
        json_pair_str(&u->w, "nearest", buf_view(&near));
    json_pair_raw(&u->w, "known", buf_view(&known));
    json_close(&u->w);
    return true;
}

/* ---- values ---------------------------------------------------------------- */

/* A row for each value under a key, also in lists, commonest first. */
static const char values_query[] =
    "WITH v AS (SELECT j.value AS value, j.type AS type FROM notes n, json_each(n.metadata) j"
    " WHERE j.key = ?1 AND j.type IN ('text', 'integer', 'real') UNION ALL"
    " SELECT e.value, e.type FROM notes n, json_each(n.metadata) j, json_each(j.value) e"
    " WHERE j.key = ?1 AND j.type = 'array')"
    " SELECT CAST(value AS TEXT), type = 'text' FROM v"
    " WHERE type IN ('text', 'integer', 'real') GROUP BY 1, 2 ORDER BY count(*) DESC, 1";

/* The values under a key, beside the one that a filter asks for. */
struct values {
    size_t texts, numbers;
    bool there;
    struct buf known; /* a JSON array of the first, as texts */
    struct json_writer w;
    struct buf near;
};

static bool read_values(struct db *db, struct str key, struct str wanted,
                        struct values *v, struct err *e)
{
    scoped(query_end) struct query *q = db_query(db, values_query, e);
    if (!q)
        return false;
    query_bind_str(q, 1, key);
    json_open_array(&v->w);
    while (query_next(q, e)) {
        struct str one = query_str(q, 0);
        bool text = query_int(q, 1) != 0;
        size_t before = v->texts + v->numbers;
        *(text ? &v->texts : &v->numbers) += 1;
        v->there |= text && str_eq(one, wanted);
        if (before < KNOWN_MAX)
            json_put_str(&v->w, str_cut(one, 60));
        if (text && !v->near.n && before < NEAR_MAX && is_alike(wanted, one))
            buf_str(&v->near, str_cut(one, 60));
    }
    json_close(&v->w);
    return !e->code;
}

static void put_values(struct unknown *u, const struct json *one, const struct values *v)
{
    bool text = json_is(json_get(one, "value"), JSON_STRING);
    struct str key = json_str(json_get(one, "key"));
    bool mismatch = text ? v->numbers && !v->texts : v->texts && !v->numbers;
    if (!mismatch &&
        (!text || v->there || !v->texts || !json_bool(json_get(one, "equal"), false)))
        return;
    json_open_object(&u->w);
    json_pair_str(&u->w, "what", str_cut(key, 60));
    json_key(&u->w, "name");
    json_put(&u->w, json_get(one, "value"));
    if (mismatch)
        json_pair_cstr(&u->w, "holds", text ? "numbers" : "texts");
    if (!mismatch && v->near.n)
        json_pair_str(&u->w, "nearest", buf_view(&v->near));
    json_pair_raw(&u->w, "known", buf_view(&v->known));
    json_close(&u->w);
}

static bool tell_value(struct unknown *u, struct db *db, const struct json *one,
                       struct err *e)
{
    const struct json *value = json_get(one, "value");
    struct values v = {0};
    buf_init(&v.known, BUF_PAGE);
    buf_init(&v.near, BUF_NAME);
    v.w = json_writer(&v.known);
    bool ok = read_values(db, json_str(json_get(one, "key")), json_str(value), &v, e);
    if (ok && json_str(value).n <= 200)
        put_values(u, one, &v);
    buf_done(&v.known);
    buf_done(&v.near);
    return ok;
}

/* ---- all of it --------------------------------------------------------------- */

static bool unknown_read(struct db *db, void *arg, struct err *e)
{
    struct unknown *u = arg;
    buf_clear(u->rows);
    u->w = json_writer(u->rows);
    json_open_array(&u->w);
    for (size_t i = 0; i < LENGTH(kinds); i++) {
        struct json_iter it = json_iter(json_get(u->filter, kinds[i].key));
        for (size_t n = 0; n < NAMES_MAX && json_next(&it); n++) {
            struct str name = json_str(it.value);
            bool described = i == 0 && types_is_described(u->vault, name);
            if (name.n && !described && !unknown_put_name(u, db, &kinds[i], name, e))
                return false;
        }
    }
    struct json_iter it = json_iter(json_get(u->filter, "values"));
    for (size_t n = 0; n < NAMES_MAX && json_next(&it); n++)
        if (!tell_value(u, db, it.value, e))
            return false;
    json_close(&u->w);
    return true;
}

bool notes_unknown(struct vault *v, const struct json *filter, struct json_writer *out,
                   struct err *e)
{
    scoped_buf struct buf rows = buf_of(BUF_LIST);
    struct unknown u = {.vault = v, .filter = filter, .rows = &rows};
    return find_use(v, unknown_read, &u, &rows, out, e);
}
