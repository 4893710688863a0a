/* Names in a filter that no note has: a type, a tag, a key of metadata, a value under one. */
#include "notes/unknown.h"
#include "notes/find.h"
#include "notes/types.h"

#define NEAR_MAX 200u /* names that are compared */
#define VALUE_MAX 200u
#define SHOWN_MAX 60u /* bytes of a name in an answer */

struct kind {
    const char *all; /* one row each: name, commonest first */
    bool nests;      /* "a/b" is also "a" */
};
static const struct kind kinds[] = {
    [FILTER_TYPE] = {"SELECT type FROM notes GROUP BY type ORDER BY count(*) DESC, type",
                     false},
    [FILTER_TAG] = {"SELECT tag FROM tags GROUP BY tag ORDER BY count(*) DESC, tag",
                    true},
    [FILTER_KEY] = {"SELECT j.key FROM notes n, json_each(n.metadata) j GROUP BY j.key"
                    " ORDER BY count(*) DESC, j.key",
                    false},
};

struct unknown {
    struct vault *vault;
    struct filter_name *names;
    size_t count;
    struct arena *arena;
};

static bool is_alike(struct str a, struct str b)
{
    size_t least = a.n < 6 ? 1 : a.n < 10 ? 2 : 3;
    size_t apart = a.n < b.n ? b.n - a.n : a.n - b.n;
    return apart <= least && str_distance(a, b) <= least;
}

static bool is_beneath(struct str tag, struct str above)
{
    return tag.n > above.n && tag.at[above.n] == '/' &&
           !memcmp(tag.at, above.at, above.n);
}

static struct str keep_text(struct arena *a, struct str text, struct err *e)
{
    text = str_cut(text, SHOWN_MAX);
    const char *at = arena_copy(a, text.at, text.n, e);
    return at ? (struct str){at, text.n} : (struct str){0};
}

/* Row `n` of those that the notes have. */
static void compare_row(struct filter_name *f, struct str wanted, struct str one,
                        bool comparable, size_t n, struct arena *a, struct err *e)
{
    if (n < UNKNOWN_KNOWN_MAX)
        f->known[f->known_count++] = keep_text(a, one, e);
    if (comparable && !f->nearest.n && n < NEAR_MAX && is_alike(wanted, one))
        f->nearest = keep_text(a, one, e);
}

static bool look_for(struct db *db, struct filter_name *f, struct arena *a, struct err *e)
{
    const struct kind *k = &kinds[f->kind];
    bool there = false;
    scoped(query_end) struct query *q = db_query(db, k->all, e);
    for (size_t n = 0; q && !there && query_next(q, e); n++) {
        struct str one = query_str(q, 0);
        there = str_eq(one, f->name) || (k->nests && is_beneath(one, f->name));
        compare_row(f, f->name, one, true, n, a, e);
    }
    f->unknown = !there;
    return !e->code;
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

static bool look_for_value(struct db *db, struct filter_name *f, struct arena *a,
                           struct err *e)
{
    struct str wanted = json_str(f->value);
    size_t texts = 0, numbers = 0;
    bool there = false, is_text = json_is(f->value, JSON_STRING);
    scoped(query_end) struct query *q = db_query(db, values_query, e);
    if (!q)
        return false;
    query_bind_str(q, 1, f->name);
    while (query_next(q, e)) {
        struct str one = query_str(q, 0);
        bool text = query_int(q, 1) != 0;
        there |= text && str_eq(one, wanted);
        compare_row(f, wanted, one, text, texts + numbers, a, e);
        *(text ? &texts : &numbers) += 1;
    }
    if (is_text ? numbers && !texts : texts && !numbers) {
        f->holds = is_text ? "numbers" : "texts";
        f->nearest = (struct str){0};
    }
    f->unknown = f->holds || (is_text && !there && texts && f->kind == FILTER_EQUAL);
    return !e->code;
}

/* ---- all of it --------------------------------------------------------------- */

static bool unknown_look(struct unknown *u, struct db *db, struct filter_name *f,
                         struct err *e)
{
    /* It may be called twice. */
    *f = (struct filter_name){.kind = f->kind, .name = f->name, .value = f->value};
    if (f->value)
        return json_str(f->value).n > VALUE_MAX || look_for_value(db, f, u->arena, e);
    bool described = f->kind == FILTER_TYPE && types_is_described(u->vault, f->name);
    return !f->name.n || described || look_for(db, f, u->arena, e);
}

static bool unknown_read(struct db *db, void *arg, struct err *e)
{
    struct unknown *u = arg;
    for (size_t i = 0; i < u->count; i++)
        if (!unknown_look(u, db, &u->names[i], e))
            return false;
    return true;
}

bool notes_unknown(struct vault *v, struct filter_name *names, size_t count,
                   struct arena *a, struct err *e)
{
    struct unknown u = {.vault = v, .names = names, .count = count, .arena = a};
    return !count || index_use(v, unknown_read, &u, e);
}
