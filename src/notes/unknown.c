/* What a filter names and no note has: a type, a tag, a key of metadata.
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

static bool tell(struct unknown *u, struct db *db, const struct kind *k, struct str name,
                 struct err *e)
{
    scoped_buf struct buf known;
    scoped_buf struct buf near;
    buf_init(&known, (size_t)64 << 10);
    buf_init(&near, 256);
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

static bool look(struct db *db, void *arg, struct err *e)
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
            if (name.n && !described && !tell(u, db, &kinds[i], name, e))
                return false;
        }
    }
    json_close(&u->w);
    return true;
}

bool notes_unknown(struct vault *v, const struct json *filter, struct json_writer *out,
                   struct err *e)
{
    scoped_buf struct buf rows;
    buf_init(&rows, (size_t)1 << 20);
    struct unknown u = {.vault = v, .filter = filter, .rows = &rows};
    return find_use(v, look, &u, &rows, out, e);
}
