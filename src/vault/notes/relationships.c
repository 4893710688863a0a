/* Relations between notes: all that joins one to others, the nearest notes, and how
 * closely its neighbours are joined among themselves. */
#include <math.h>

#include "notes/linked.h"
#include "notes/notes.api.h"

/* ---- everything --------------------------------------------------------- */

static bool answer_all(struct db *db, struct question *q, struct json_writer *w,
                       struct err *e)
{
    json_open_object(w);
    json_key(w, "content_links");
    json_open_object(w);
    json_key(w, "outgoing");
    bool ok = put_outgoing(db, q->note, false, w, e);
    json_key(w, "incoming");
    ok = ok && put_incoming(db, q->note, w, e);
    json_close(w);
    json_key(w, "hierarchy_links");
    json_open_object(w);
    json_key(w, "parents");
    ok = ok && put_parents(db, q->note, w, e);
    json_key(w, "children");
    ok = ok && put_children(db, q->note, w, e);
    json_close(w);
    json_key(w, "external_links");
    ok = ok && put_outgoing(db, q->note, true, w, e);
    json_close(w);
    return ok;
}

bool relationships_get(struct vault *v, const struct json *note, struct json_writer *out,
                       struct err *e)
{
    return question_about(v, note, "relationships.get", answer_all, out, e);
}

/* ---- the nearest -------------------------------------------------------- */

/* Reasons for which a note is related, in the order of an answer. The first four
 * are enum relation. */
enum reason {
    REASON_SIBLING = RELATION_PARENT + 1,
    REASON_SHARED_LINK,
    REASON_SHARED_TAG,
    REASON_COUNT,
};

/* Each occurrence leaves this much of the distance to 1. */
static const struct {
    const char *name;
    double left;
} reasons[REASON_COUNT] = {
    [RELATION_LINK] = {"link", 0.5},
    [RELATION_BACKLINK] = {"backlink", 0.6},
    [RELATION_CHILD] = {"child", 0.5},
    [RELATION_PARENT] = {"parent", 0.5},
    [REASON_SIBLING] = {"sibling", 0.7},
    [REASON_SHARED_LINK] = {"shared_link", 0.85},
    [REASON_SHARED_TAG] = {"shared_tag", 0.8},
};

#define TIMES_MAX 20     /* of one reason; more say no more */
#define COMMON_MAX 1000  /* notes; what more than these have in common says nothing */
#define SHARED_MAX "500" /* of a note's links, and of its tags: the first ones count */

struct related {
    int64_t note;
    const char *path;
    double strength;
    uint8_t times[REASON_COUNT];
};

struct relating {
    struct db *db;
    int64_t note;
    struct map met;
    struct related *all;
    size_t capacity;
};

static bool relate(struct relating *r, int64_t note, unsigned reason, struct err *e)
{
    if (note == r->note)
        return true;
    size_t count = r->met.count, at = map_add_int(&r->met, note, e);
    if (at == MAP_NONE)
        return false;
    if (!array_fit(r->all, r->capacity, at, e))
        return false;
    if (at == count)
        r->all[at] = (struct related){.note = note};
    uint8_t *times = &r->all[at].times[reason];
    *times = (uint8_t)(*times < TIMES_MAX ? *times + 1 : *times);
    return true;
}

/* The query answers with rows (what is shared, a note that shares it), by the former. */
static bool relate_all(struct relating *r, const char *sql, unsigned reason,
                       struct err *e)
{
    scoped(query_end) struct query *q = db_query(r->db, sql, e);
    if (!q)
        return false;
    query_bind_int(q, 1, r->note);
    query_bind_int(q, 2, COMMON_MAX);
    while (query_next(q, e))
        if (!relate(r, query_int(q, 0), reason, e))
            return false;
    return e->code == ERR_NONE;
}

static bool related_gather(struct relating *r, struct err *e)
{
    scoped_graph struct graph g = {.db = r->db};
    scoped_neighbours struct neighbours around = {0};
    if (!graph_around(&g, r->note, &around, e))
        return false;
    for (size_t i = 0; i < around.count; i++)
        if (!relate(r, around.all[i].note, around.all[i].relation, e))
            return false;
    return relate_all(r,
                      "SELECT c.note FROM names m JOIN subnotes s ON s.name = m.key"
                      " JOIN subnotes t ON t.parent = s.parent"
                      " JOIN names c ON c.key = t.name WHERE m.note = ?1 AND s.state = 1"
                      " AND t.state = 1 AND c.note IS NOT NULL AND ?2",
                      REASON_SIBLING, e) &&
           relate_all(r,
                      "WITH shared(note) AS (SELECT DISTINCT m.note FROM links l"
                      "  JOIN names m ON m.key = l.name WHERE l.source = ?1"
                      "  AND l.number < " SHARED_MAX " AND m.note IS NOT NULL),"
                      " few(note) AS (SELECT note FROM shared s WHERE"
                      "  (SELECT count(*) FROM (SELECT 1 FROM names m JOIN links l"
                      "   ON l.name = m.key WHERE m.note = s.note LIMIT ?2 + 1)) <= ?2)"
                      " SELECT l.source FROM few CROSS JOIN names m ON m.note = few.note"
                      " CROSS JOIN links l ON l.name = m.key WHERE l.source > 0"
                      " GROUP BY few.note, l.source",
                      REASON_SHARED_LINK, e) &&
           relate_all(
               r,
               "WITH mine(tag) AS (SELECT DISTINCT t.tag FROM notes n,"
               "  json_each(CASE WHEN json_valid(n.tags) THEN n.tags ELSE '[]' END)"
               "  j JOIN tags t ON t.tag = j.value AND t.note = n.key"
               "  WHERE n.key = ?1 AND j.key < " SHARED_MAX "),"
               " few(tag) AS (SELECT tag FROM mine m WHERE (SELECT count(*) FROM"
               "  (SELECT 1 FROM tags t WHERE t.tag = m.tag LIMIT ?2 + 1)) <= ?2)"
               " SELECT t.note FROM few CROSS JOIN tags t ON t.tag = few.tag",
               REASON_SHARED_TAG, e);
}

static int by_strength(const void *a, const void *b)
{
    const struct related *x = a, *y = b;
    if (x->strength != y->strength)
        return x->strength < y->strength ? 1 : -1;
    return x->path && y->path ? strcmp(x->path, y->path) : 0;
}

/* Strengths first; of those that stand equal where the answer ends, paths decide. */
static bool related_rank(struct relating *r, size_t wanted, size_t *count,
                         struct arena *a, struct err *e)
{
    size_t n = r->met.count;
    for (size_t i = 0; i < n; i++) {
        double left = 1;
        for (size_t k = 0; k < REASON_COUNT; k++)
            left *= pow(reasons[k].left, r->all[i].times[k]);
        r->all[i].strength = round((1 - left) * 10000) / 10000;
    }
    if (n)
        qsort(r->all, n, sizeof *r->all, by_strength);
    *count = n < wanted ? n : wanted;
    size_t equal = *count;
    while (equal && equal < n && r->all[equal].strength == r->all[*count - 1].strength)
        equal++;
    scoped_graph struct graph g = {.db = r->db};
    for (size_t i = 0; i < equal; i++)
        if (!(r->all[i].path = graph_path(&g, r->all[i].note, a, e)))
            return false;
    if (equal)
        qsort(r->all, equal, sizeof *r->all, by_strength);
    return true;
}

static bool put_related(struct relating *r, size_t count, struct json_writer *w,
                        struct err *e)
{
    scoped_graph struct graph g = {.db = r->db};
    json_open_array(w);
    for (size_t i = 0; i < count && !e->code; i++) {
        json_open_object(w);
        json_key(w, "noteId");
        (void)graph_put_id(&g, r->all[i].note, w, e);
        json_pair_number(w, "strength", r->all[i].strength);
        json_key(w, "relationship_types");
        json_open_array(w);
        for (size_t k = 0; k < REASON_COUNT; k++)
            if (r->all[i].times[k])
                json_put_cstr(w, reasons[k].name);
        json_close(w);
        json_close(w);
    }
    json_close(w);
    return e->code == ERR_NONE;
}

static bool answer_related(struct db *db, struct question *q, struct json_writer *w,
                           struct err *e)
{
    struct relating r = {.db = db, .note = q->note};
    scoped(arena_free) struct arena *a = arena_new(ARENA_VAULT);
    size_t count;
    bool ok = related_gather(&r, e) &&
              related_rank(&r, (size_t)*(int64_t *)q->arg, &count, a, e) &&
              put_related(&r, count, w, e);
    map_done(&r.met);
    free(r.all);
    return ok;
}

bool relationships_get_related(struct vault *v, const struct json *options,
                               struct json_writer *out, struct err *e)
{
    struct str wanted = json_str(options);
    int64_t max = RELATIONSHIPS_GET_RELATED_MAX_RESULTS_USUAL;
    if (!json_is(options, JSON_STRING) &&
        (!options_check(options, "relationships.getRelated",
                        RELATIONSHIPS_GET_RELATED_KEYS, e) ||
         !options_str(options, "note_id", "identifier", &wanted, e) ||
         !options_int(options, "max_results", RELATIONSHIPS_GET_RELATED_MAX_RESULTS, &max,
                      e)))
        return false;
    if (!wanted.n)
        return err_set(e, ERR_INVALID,
                       "relationships.getRelated needs note_id, a note's id "
                       "(\"type/name\"), uid, path or title");
    return question_ask(v, wanted, answer_related, &max, out, e);
}

/* ---- clustering --------------------------------------------------------- */

/* The clustering coefficient: the share of its neighbours' pairs that are joined. */
static bool answer_clustering(struct db *db, struct question *q, struct json_writer *w,
                              struct err *e)
{
    scoped_graph struct graph g = {.db = db};
    scoped_neighbours struct neighbours around = {0};
    scoped_map struct map near = {0};
    if (!graph_around(&g, q->note, &around, e))
        return false;
    for (size_t i = 0; i < around.count; i++)
        if (map_add_int(&near, around.all[i].note, e) == MAP_NONE)
            return false;
    size_t n = near.count, joined = 0;
    scoped(free) size_t *seen = calloc(n + 1, sizeof *seen); /* last from which, + 1 */
    if (!seen)
        return err_set(e, ERR_LIMIT, "no memory for %zu neighbours of a note", n);
    for (size_t i = 0; i < n; i++) {
        if (!graph_around(&g, near.ints[i], &around, e))
            return false;
        for (size_t k = 0; k < around.count; k++) {
            size_t other = map_find_int(&near, around.all[k].note);
            if (other == MAP_NONE || seen[other] == i + 1)
                continue;
            seen[other] = i + 1;
            joined++; /* each pair from both sides */
        }
    }
    json_put_number(w, n < 2 ? 0 : (double)joined / ((double)n * (double)(n - 1)));
    return true;
}

bool relationships_get_clustering(struct vault *v, const struct json *note,
                                  struct json_writer *out, struct err *e)
{
    return question_about(v, note, "relationships.getClusteringCoefficient",
                          answer_clustering, out, e);
}
