/* Notes as a graph: what a note is joined to. */
#include <stdio.h>

#include "notes/linked.h"
#include "notes/notes.api.h"

/* ---- a question about one note ------------------------------------------ */

static bool question_work(struct db *db, void *arg, struct err *e)
{
    struct question *q = arg;
    buf_clear(&q->rows);
    struct json_writer w = json_writer(&q->rows);
    scoped_transaction struct transaction t = {0};
    return db_begin_read(&t, db, e) && find_key(db, q->path, &q->note, e) &&
           q->answer(db, q, &w, e);
}

bool question_ask(struct vault *v, struct str identifier, question_fn *answer, void *arg,
                  struct json_writer *out, struct err *e)
{
    struct question q = {.answer = answer, .arg = arg};
    if (!vault_need(v, NULL, identifier, q.path, e))
        return false;
    buf_init(&q.rows, FIND_ANSWER_MAX);
    bool ok = find_use(v, question_work, &q, &q.rows, out, e);
    buf_done(&q.rows);
    return ok;
}

bool question_about(struct vault *v, const struct json *identifier, const char *call,
                    question_fn *answer, struct json_writer *out, struct err *e)
{
    struct str wanted = json_str(identifier);
    if (json_is(identifier, JSON_OBJECT) &&
        (!options_check(identifier, call, IDENTIFIER_KEYS, e) ||
         !options_str(identifier, "identifier", "note_id", &wanted, e)))
        return false;
    if (!wanted.n)
        return err_set(e, ERR_INVALID,
                       "%s needs a string that is not empty: a note's id "
                       "(\"type/name\"), uid, path or title",
                       call) ||
               err_because(e, CAUSE_SHAPE);
    return question_ask(v, wanted, answer, NULL, out, e);
}

/* ---- neighbours --------------------------------------------------------- */

const char *relation_name(enum relation r)
{
    static const char *const names[] = {"link", "backlink", "child", "parent"};
    return names[r];
}

void neighbours_done(struct neighbours *n)
{
    free(n->all);
    *n = (struct neighbours){0};
}

void graph_done(struct graph *g)
{
    query_end(g->around);
    query_end(g->path);
    *g = (struct graph){0};
}

static bool neighbours_add(struct neighbours *n, struct neighbour one, struct err *e)
{
    if (!array_fit(n->all, n->capacity, n->count, e))
        return false;
    n->all[n->count++] = one;
    return true;
}

bool graph_around(struct graph *g, int64_t note, struct neighbours *out, struct err *e)
{
    static const char sql[] =
        "SELECT 0, m.note FROM links l JOIN names m ON m.key = l.name"
        " WHERE l.source = ?1 AND m.note IS NOT NULL"
        " UNION ALL SELECT 1, l.source FROM names m JOIN links l ON l.name = m.key"
        " WHERE m.note = ?1 AND l.source > 0"
        " UNION ALL SELECT 2, m.note FROM subnotes s JOIN names m ON m.key = s.name"
        " WHERE s.parent = ?1 AND s.state = 1 AND m.note IS NOT NULL"
        " UNION ALL SELECT 3, s.parent FROM names m JOIN subnotes s ON s.name = m.key"
        " WHERE m.note = ?1 AND s.state = 1";
    out->count = 0;
    if (!g->around && !(g->around = db_query(g->db, sql, e)))
        return false;
    query_bind_int(g->around, 1, note);
    while (query_next(g->around, e)) {
        struct neighbour one = {query_int(g->around, 1),
                                (enum relation)query_int(g->around, 0)};
        if (one.note != note && !neighbours_add(out, one, e))
            break;
    }
    query_again(g->around);
    return e->code == ERR_NONE;
}

static bool graph_look_up(struct graph *g, int64_t note, struct err *e)
{
    if (!g->path &&
        !(g->path = db_query(
              g->db, "SELECT n.path, " FIND_ID " FROM notes n WHERE n.key = ?", e)))
        return false;
    query_again(g->path);
    query_bind_int(g->path, 1, note);
    return query_next(g->path, e);
}

const char *graph_path(struct graph *g, int64_t note, struct arena *a, struct err *e)
{
    struct str path = graph_look_up(g, note, e) ? query_str(g->path, 0) : STR("");
    return e->code ? NULL : arena_copy(a, path.at, path.n, e);
}

bool graph_put_id(struct graph *g, int64_t note, struct json_writer *w, struct err *e)
{
    json_put_str(w, graph_look_up(g, note, e) ? query_str(g->path, 1) : STR(""));
    return e->code == ERR_NONE;
}
