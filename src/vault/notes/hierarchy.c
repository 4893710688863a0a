/* The hierarchy as it is: children, parents, the way up, everything beneath. */
#include <stdio.h>

#include "notes/linked.h"
#include "notes/notes.api.h"

#define ROWS_MAX 100000u /* of one answer */

/* Children that count, in their order. */
#define CHILDREN                                                                     \
    " FROM subnotes s JOIN names m ON m.key = s.name JOIN notes c ON c.key = m.note" \
    " WHERE s.parent = ?1 AND s.state = 1 ORDER BY s.position"

static void family_put_row(struct json_writer *w, struct str parent, struct str child,
                           int64_t depth, int64_t position)
{
    json_open_object(w);
    json_pair_str(w, "parent_id", parent);
    json_pair_str(w, "child_id", child);
    json_pair_int(w, "depth", depth);
    json_pair_int(w, "position", position);
    json_close(w);
}

/* The public id of a note, borrowed from `space`. */
static struct str id_of(struct db *db, int64_t note, struct buf *space, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db, "SELECT " FIND_ID " FROM notes n WHERE n.key = ?", e);
    buf_clear(space);
    if (!q)
        return STR("");
    query_bind_int(q, 1, note);
    if (query_next(q, e))
        buf_str(space, query_str(q, 0));
    return buf_view(space);
}

bool put_children(struct db *db, int64_t note, struct json_writer *w, struct err *e)
{
    scoped_buf struct buf space = buf_of(PATH_MAX + 8);
    struct str id = id_of(db, note, &space, e);
    scoped(query_end) struct query *q =
        db_query(db, "SELECT " FIND_ID_OF("c") CHILDREN, e);
    if (!q)
        return false;
    query_bind_int(q, 1, note);
    json_open_array(w);
    for (int64_t n = 0; query_next(q, e); n++)
        family_put_row(w, id, query_str(q, 0), 1, n);
    json_close(w);
    return e->code == ERR_NONE;
}

bool put_parents(struct db *db, int64_t note, struct json_writer *w, struct err *e)
{
    scoped_buf struct buf space = buf_of(PATH_MAX + 8);
    struct str id = id_of(db, note, &space, e);
    scoped(query_end) struct query *q = db_query(
        db,
        "SELECT " FIND_ID_OF("p") ", (SELECT count(*) FROM subnotes b JOIN names d ON"
                                  " d.key = b.name WHERE b.parent = s.parent AND"
                                  " b.position < s.position AND b.state = 1 AND"
                                  " d.note IS NOT NULL)"
                                  " FROM names m JOIN subnotes s ON s.name = m.key"
                                  " JOIN notes p ON p.key = s.parent"
                                  " WHERE m.note = ?1 AND s.state = 1 ORDER BY p.path",
        e);
    if (!q)
        return false;
    query_bind_int(q, 1, note);
    json_open_array(w);
    while (query_next(q, e))
        family_put_row(w, query_str(q, 0), id, 1, query_int(q, 1));
    json_close(w);
    return e->code == ERR_NONE;
}

static bool answer_children(struct db *db, struct question *q, struct json_writer *w,
                            struct err *e)
{
    return put_children(db, q->note, w, e);
}

static bool answer_parents(struct db *db, struct question *q, struct json_writer *w,
                           struct err *e)
{
    return put_parents(db, q->note, w, e);
}

bool hierarchy_get_children(struct vault *v, const struct json *note,
                            struct json_writer *out, struct err *e)
{
    return question_about(v, note, "hierarchy.getChildren", answer_children, out, e);
}

bool hierarchy_get_parents(struct vault *v, const struct json *note,
                           struct json_writer *out, struct err *e)
{
    return question_about(v, note, "hierarchy.getParents", answer_parents, out, e);
}

/* ---- the way up --------------------------------------------------------- */

/* The parent whose path comes first; 0: there is none. */
static int64_t first_parent(struct query *q, int64_t note, struct err *e)
{
    query_bind_int(q, 1, note);
    int64_t parent = query_next(q, e) ? query_int(q, 0) : 0;
    query_again(q);
    return parent;
}

static bool answer_path(struct db *db, struct question *question, struct json_writer *w,
                        struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db,
                 "SELECT s.parent FROM names m JOIN subnotes s ON s.name = m.key"
                 " JOIN notes p ON p.key = s.parent"
                 " WHERE m.note = ?1 AND s.state = 1 ORDER BY p.path LIMIT 1",
                 e);
    if (!q)
        return false;
    /* It may be a stranger's index, which knows a circle after all. */
    scoped_map struct map way = {0};
    int64_t at = question->note;
    while (at && map_find_int(&way, at) == MAP_NONE) {
        if (map_add_int(&way, at, e) == MAP_NONE)
            return false;
        at = first_parent(q, at, e);
    }
    scoped_graph struct graph g = {.db = db};
    json_open_array(w);
    for (size_t i = way.count; i-- > 0 && !e->code;)
        (void)graph_put_id(&g, way.ints[i], w, e);
    json_close(w);
    return e->code == ERR_NONE;
}

bool hierarchy_get_path(struct vault *v, const struct json *note, struct json_writer *out,
                        struct err *e)
{
    return question_about(v, note, "hierarchy.getPath", answer_path, out, e);
}

/* ---- everything beneath ------------------------------------------------- */

struct descent {
    int64_t max_depth;
    struct map met;
    size_t rows;
};

/* The rows of one list; children that are met for the first time are added. */
static bool family_put_list(struct query *q, struct descent *d, int64_t parent,
                            struct str id, int64_t depth, struct json_writer *w,
                            struct err *e)
{
    query_bind_int(q, 1, parent);
    for (int64_t n = 0; query_next(q, e); n++) {
        if (d->rows++ == ROWS_MAX)
            return err_set(e, ERR_LIMIT,
                           "more than %u notes are beneath it; give a smaller max_depth, "
                           "or ask for those beneath its children",
                           ROWS_MAX);
        family_put_row(w, id, query_str(q, 1), depth, n);
        if (map_add_int(&d->met, query_int(q, 0), e) == MAP_NONE)
            return false;
    }
    query_again(q);
    return e->code == ERR_NONE;
}

/* Level by level; a note with several parents is gone into once, where it is least
 * deep. */
static bool answer_descendants(struct db *db, struct question *question,
                               struct json_writer *w, struct err *e)
{
    struct descent *d = question->arg;
    map_done(&d->met);
    d->rows = 0;
    scoped_buf struct buf space = buf_of(PATH_MAX + 8);
    scoped(query_end) struct query *q =
        db_query(db, "SELECT c.key, " FIND_ID_OF("c") CHILDREN, e);
    if (!q || map_add_int(&d->met, question->note, e) == MAP_NONE)
        return false;
    json_open_array(w);
    size_t at = 0;
    for (int64_t depth = 1; depth <= d->max_depth && at < d->met.count; depth++)
        for (size_t end = d->met.count; at < end; at++) {
            struct str id = id_of(db, d->met.ints[at], &space, e);
            if (e->code || !family_put_list(q, d, d->met.ints[at], id, depth, w, e))
                return false;
        }
    json_close(w);
    return true;
}

bool hierarchy_get_descendants(struct vault *v, const struct json *options,
                               struct json_writer *out, struct err *e)
{
    struct descent d = {.max_depth = HIERARCHY_GET_DESCENDANTS_MAX_DEPTH_USUAL};
    struct str wanted = json_str(options);
    if (!json_is(options, JSON_STRING) &&
        (!options_check(options, "hierarchy.getDescendants",
                        HIERARCHY_GET_DESCENDANTS_KEYS, e) ||
         !options_str(options, "note_id", "identifier", &wanted, e) ||
         !options_int(options, "max_depth", HIERARCHY_GET_DESCENDANTS_MAX_DEPTH,
                      &d.max_depth, e)))
        return false;
    if (!wanted.n)
        return err_set(e, ERR_INVALID,
                       "hierarchy.getDescendants needs note_id, a note's id "
                       "(\"type/name\"), uid, path or title");
    bool ok = question_ask(v, wanted, answer_descendants, &d, out, e);
    map_done(&d.met);
    return ok;
}
