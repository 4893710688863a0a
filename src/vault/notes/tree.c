/* The subnotes that count: a person, or two programs at once, can write any list, but the
 * hierarchy that is shown has no cycle.
 *
 * The rule, which depends on nothing but the notes' frontmatter: walk down from the notes
 * that nobody has as a subnote, then from the others, each in the order of their paths,
 * subnotes in the order of their list; an entry that leads back to a note on the way to
 * it is ignored. Where nothing is ignored, new entries that lead to none of their own
 * ancestors change nothing, and the walk is saved.
 *
 * Loops, not recursion: chains may be as long as the vault. */
#include "notes/linkindex.h"

/* ---- single lists ------------------------------------------------------- */

static bool set_state(struct query *set, int64_t parent, int64_t position,
                      enum subnote_state state, struct err *e)
{
    query_bind_int(set, 1, parent);
    query_bind_int(set, 2, position);
    query_bind_int(set, 3, state);
    bool ok = query_run(set, e);
    query_again(set);
    return ok;
}

#define SET_STATE "UPDATE subnotes SET state = ?3 WHERE parent = ?1 AND position = ?2"

struct entry {
    int64_t parent, position, child;
    enum subnote_state was, state;
};

struct entries {
    struct entry *all;
    size_t count, capacity;
};

static bool add_entry(struct entries *list, struct entry entry, struct err *e)
{
    if (!array_fit(list->all, list->capacity, list->count, e))
        return false;
    list->all[list->count++] = entry;
    return true;
}

static void entries_done(struct entries *list)
{
    free(list->all);
}
#define scoped_entries __attribute__((cleanup(entries_done)))

static bool read_entries(struct db *db, const char *sql, struct entries *out,
                         struct err *e)
{
    scoped(query_end) struct query *q = db_query(db, sql, e);
    if (!q)
        return false;
    query_bind_int(q, 1, SUBNOTES_TOTAL_MAX);
    while (query_next(q, e)) {
        struct entry entry = {query_int(q, 0), query_int(q, 1), query_int(q, 2),
                              (enum subnote_state)query_int(q, 3), SUBNOTE_GOOD};
        if (!add_entry(out, entry, e))
            return false;
    }
    return e->code == ERR_NONE;
}

static bool write_entries(struct db *db, const struct entries *list, struct err *e)
{
    scoped(query_end) struct query *set = db_query(db, SET_STATE, e);
    if (!set)
        return false;
    for (size_t i = 0; i < list->count; i++) {
        const struct entry *it = &list->all[i];
        if (it->was != it->state &&
            !set_state(set, it->parent, it->position, it->state, e))
            return false;
    }
    return true;
}

/* Entries of one list follow each other: says which of them name the note itself, or
 * one that the list has already. */
static bool mark_twice(struct entries *list, struct err *e)
{
    scoped_map struct map seen = {0};
    for (size_t i = 0; i < list->count; i++) {
        struct entry *it = &list->all[i];
        if (i && it->parent != it[-1].parent)
            map_done(&seen);
        size_t before = seen.count;
        if (!it->child)
            continue;
        if (map_add_int(&seen, it->child, e) == MAP_NONE)
            return false;
        if (it->child == it->parent || seen.count == before)
            it->state = SUBNOTE_TWICE;
    }
    return true;
}

/* ---- the quick answer --------------------------------------------------- */

#define FEW_ENTRIES 64
#define FEW_ANCESTORS "2000"

/* Is the entry's note among the ancestors of the list that it stands in? Also where
 * there are too many ancestors to tell. */
static bool may_close(struct query *up, const struct entry *it, struct err *e)
{
    query_bind_int(up, 1, it->parent);
    query_bind_int(up, 2, it->child);
    bool may = query_next(up, e) && query_int(up, 0);
    query_again(up);
    return may;
}

static bool all_stay_good(struct db *db, const struct entries *list, bool *good,
                          struct err *e)
{
    *good = false;
    if (list->count > FEW_ENTRIES)
        return true;
    scoped(query_end) struct query *odd =
        db_query(db, "SELECT 1 FROM subnotes WHERE state <> 1 AND state = 2 LIMIT 1", e);
    if (!odd || query_next(odd, e) || e->code)
        return e->code == ERR_NONE;
    scoped(query_end) struct query *up =
        db_query(db,
                 "WITH RECURSIVE above(note) AS (SELECT ?1 UNION"
                 " SELECT s.parent FROM above a JOIN names n ON n.note = a.note"
                 "  JOIN subnotes s ON s.name = n.key WHERE s.state <> 3"
                 " LIMIT " FEW_ANCESTORS ")"
                 " SELECT max(note = ?2) OR count(*) >= " FEW_ANCESTORS " FROM above",
                 e);
    if (!up)
        return false;
    for (size_t i = 0; i < list->count; i++) {
        const struct entry *it = &list->all[i];
        if (it->child && it->state == SUBNOTE_GOOD && may_close(up, it, e))
            return true;
        if (e->code)
            return false;
    }
    *good = true;
    return true;
}

/* ---- the walk ----------------------------------------------------------- */

struct node {
    size_t next;  /* of its entries */
    size_t above; /* on the way down to it */
    bool has_parent, on_way, done;
};

struct walk {
    struct entries *list; /* by the parent's path, then position */
    struct map map;
    struct node *nodes;
};

static bool leads_down(const struct entry *it)
{
    return it->child && it->state != SUBNOTE_TWICE;
}

/* Parents get the first numbers, in the order of their paths. */
static bool make_nodes(struct walk *w, struct err *e)
{
    struct entries *list = w->list;
    for (size_t i = 0; i < list->count; i++)
        if (map_add_int(&w->map, list->all[i].parent, e) == MAP_NONE)
            return false;
    for (size_t i = 0; i < list->count; i++)
        if (leads_down(&list->all[i]) &&
            map_add_int(&w->map, list->all[i].child, e) == MAP_NONE)
            return false;
    w->nodes = calloc(w->map.count + 1, sizeof *w->nodes);
    if (!w->nodes)
        return err_set(e, ERR_LIMIT, "no memory for a hierarchy of %zu notes",
                       w->map.count);
    for (size_t i = 0; i < w->map.count; i++)
        w->nodes[i].next = list->count;
    for (size_t i = list->count; i-- > 0;) {
        const struct entry *it = &list->all[i];
        w->nodes[map_find_int(&w->map, it->parent)].next = i;
        if (leads_down(it))
            w->nodes[map_find_int(&w->map, it->child)].has_parent = true;
    }
    return true;
}

static void walk_down(struct walk *w, size_t from)
{
    size_t at = from;
    w->nodes[from].above = MAP_NONE;
    w->nodes[from].on_way = true;
    while (at != MAP_NONE) {
        struct node *n = &w->nodes[at];
        struct entry *it = n->next < w->list->count ? &w->list->all[n->next] : NULL;
        if (!it || it->parent != w->map.ints[at]) {
            n->on_way = false;
            n->done = true;
            at = n->above;
            continue;
        }
        n->next++;
        if (!leads_down(it))
            continue;
        size_t to = map_find_int(&w->map, it->child);
        struct node *child = &w->nodes[to];
        it->state = child->on_way ? SUBNOTE_CLOSING : SUBNOTE_GOOD;
        if (child->on_way || child->done)
            continue;
        child->above = at;
        child->on_way = true;
        at = to;
    }
}

static void walk_all(struct walk *w)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < w->map.count; i++)
            if (!w->nodes[i].done && (pass || !w->nodes[i].has_parent))
                walk_down(w, i);
}

static bool settle_all(struct db *db, struct err *e)
{
    scoped_entries struct entries list = {0};
    if (!read_entries(db,
                      "SELECT s.parent, s.position, n.note, s.state FROM subnotes s"
                      " JOIN names n ON n.key = s.name JOIN notes p ON p.key = s.parent"
                      " ORDER BY p.path, s.position LIMIT ?1",
                      &list, e) ||
        !mark_twice(&list, e))
        return false;
    bool cut = list.count == SUBNOTES_TOTAL_MAX;
    if (cut && !db_exec(db, "UPDATE subnotes SET state = 2", e))
        return false;
    for (size_t i = 0; cut && i < list.count; i++)
        list.all[i].was = SUBNOTE_CLOSING;

    struct walk w = {.list = &list};
    bool ok = make_nodes(&w, e);
    if (ok)
        walk_all(&w);
    map_done(&w.map);
    free(w.nodes);
    return ok && write_entries(db, &list, e);
}

bool tree_settle(struct db *db, bool all, struct err *e)
{
    if (all)
        return settle_all(db, e);
    scoped_entries struct entries fresh = {0};
    if (!read_entries(db,
                      "SELECT s.parent, s.position, n.note, s.state FROM subnotes s"
                      " JOIN names n ON n.key = s.name WHERE s.state <> 1 AND s.state = 0"
                      " ORDER BY s.parent, s.position LIMIT ?1",
                      &fresh, e))
        return false;
    bool good = true;
    return fresh.count == 0 ||
           (mark_twice(&fresh, e) && all_stay_good(db, &fresh, &good, e) &&
            (good ? write_entries(db, &fresh, e) : settle_all(db, e)));
}
