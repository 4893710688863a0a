/* notes.searchSQL: one SELECT over views of the index.
 *
 * The views are what docs/searching.md promises; the tables behind them may change. */
#include <stdio.h>

#include "notes/find.h"
#include "notes/index.h"
#include "notes/notes.api.h"
#include "sql/sql.h"

#define ANSWER_MAX (8u << 20) /* bytes of rows; more are left out */
#define TIMEOUT_USUAL_MS 3000
#define TIMEOUT_MAX_MS 10000

/* ---- the views ---------------------------------------------------------------- */

/* In these texts "@" stands for the schema that holds the tables. */

#define ID_OF(n)                                                                    \
    "CASE WHEN instr(" n ".path, '/') = 0 AND EXISTS(SELECT 1 FROM @.notes f WHERE" \
    " f.path = 'note/' || " n ".path) THEN " n ".path ELSE " n ".id END"
#define TIME_OF(column) "strftime('%Y-%m-%dT%H:%M:%fZ', " column " / 1000.0, 'unixepoch')"

static const struct sql_view views[] = {
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
    {"aliases", "SELECT " ID_OF(
                    "n") " AS note_id, a.text AS alias FROM @.aliases a JOIN @.notes n ON"
                         " n.key = a.note"},
    {"metadata",
     "SELECT " ID_OF(
         "n") " AS note_id, j.key AS key, j.value AS value, j.type AS type FROM"
              " @.notes n, json_each(n.metadata) j"},
    {"links",
     "SELECT CASE WHEN l.source < 0 THEN v.path ELSE " ID_OF("s") " END AS source_note_id, CASE WHEN t.key IS NULL THEN NULL ELSE " ID_OF(
         "t") " END AS target_note_id, coalesce(l.target, m.text) AS target,"
              " coalesce(l.label, l.target, m.text) AS link_text,"
              " CASE l.kind WHEN 0 THEN 'wiki' WHEN 1 THEN 'markdown' ELSE 'external' END AS link_type,"
              " l.line AS line, coalesce(m.outcome = 2, 0) AS ambiguous FROM @.links l LEFT JOIN @.notes s ON s.key = l.source"
              " LEFT JOIN @.canvases v ON v.key = -l.source"
              " LEFT JOIN @.names m ON m.key = l.name LEFT JOIN @.notes t ON t.key = m.note"},
    {"hierarchy",
     "SELECT " ID_OF("p") " AS parent_id, " ID_OF(
         "c") " AS child_id, s.position AS position"
              " FROM @.subnotes s JOIN @.names m ON m.key = s.name"
              " JOIN @.notes c ON c.key = m.note JOIN @.notes p ON p.key = s.parent"
              " WHERE s.state = 1"},
    {"tasks",
     "SELECT " ID_OF(
         "n") " AS note_id, t.line AS line, CASE t.status WHEN 1 THEN 'done' WHEN"
              " 2 THEN 'cancelled' ELSE 'open' END AS status, t.mark AS mark,"
              " t.text AS text, t.tags AS tags, t.due AS due, t.scheduled AS"
              " scheduled, t.start AS start, t.finished AS finished, t.priority AS"
              " priority FROM @.tasks t JOIN @.notes n ON n.key = t.note"},
    {"types", "SELECT n.type AS name, count(*) AS note_count, " TIME_OF(
                  "max(n.updated)") " AS updated FROM @.notes n GROUP BY n.type"},
};

/* A virtual table is opened by its first use, and does things of its own then. */
#define INNER "SELECT 1 FROM main.texts, json_each('[]'), json_tree('[]') LIMIT 0"

/* ---- the question ------------------------------------------------------------------ */

struct asking {
    struct vault *v;
    struct str sql;
    const struct json *params;
    int64_t limit, timeout_ms;
    const struct sql_caller *by;
    struct sql_source source;
    struct buf rows;
    uint64_t began_ns;
};

static bool read_asking(const struct json *o, struct asking *a, struct err *e)
{
    a->sql = json_str(o);
    a->limit = NOTES_SEARCH_SQL_LIMIT_USUAL;
    a->timeout_ms = TIMEOUT_USUAL_MS;
    if (!json_is(o, JSON_STRING) &&
        (!options_check(o, "notes.searchSQL", NOTES_SEARCH_SQL_KEYS, e) ||
         !options_str(o, "query", NULL, &a->sql, e) ||
         !options_int(o, "limit", NOTES_SEARCH_SQL_LIMIT, &a->limit, e)))
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
                   "metadata, links, hierarchy, tasks and types");
}

static bool query_ask(struct asking *s, struct err *e)
{
    struct sql_query q = {
        .sql = s->sql,
        .params = s->params,
        .limit = s->limit,
        .answer_bytes = ANSWER_MAX,
        .until_ns = os_in_ms((uint64_t)s->timeout_ms),
    };
    return sql_ask(s->by, &s->source, &q, &s->rows, e) ||
           (e->code == ERR_DENIED && err_because(e, CAUSE_QUERY));
}

/* A database in memory is one connection, which others wait for: they get it back before
 * the query runs. */
static bool ask_file(struct db *db, void *arg, struct err *e)
{
    struct asking *s = arg;
    buf_clear(&s->rows);
    os_close(s->source.copy);
    return index_source(s->v->index, db, &s->source, e) &&
           (s->source.copy >= 0 || query_ask(s, e));
}

static bool put_answer(const struct asking *s, struct json_writer *out, struct err *e)
{
    struct str rows = buf_view(&s->rows);
    scoped_buf struct buf all = buf_of(FIND_ANSWER_MAX);
    buf_put(&all, rows.at, rows.n - 1); /* but for its brace */
    buf_printf(&all, ",\"query_time_ms\":%.3f}",
               (double)(os_mono_ns() - s->began_ns) / 1e6);
    if (buf_check(&all, "the answer", e))
        json_put_raw(out, buf_view(&all));
    return e->code == ERR_NONE && buf_check(out->out, "the answer", e);
}

bool notes_search_sql(struct vault *v, const struct json *options,
                      const struct sql_caller *by, struct json_writer *out, struct err *e)
{
    struct asking s = {
        .v = v,
        .by = by,
        .source = {.copy = -1,
                   .views = views,
                   .view_count = LENGTH(views),
                   .inner = INNER},
        .began_ns = os_mono_ns(),
    };
    if (!read_asking(options, &s, e))
        return false;
    buf_init(&s.rows, FIND_ANSWER_MAX);
    bool ok = index_use(v, ask_file, &s, e) && (s.source.copy < 0 || query_ask(&s, e)) &&
              put_answer(&s, out, e);
    os_close(s.source.copy);
    buf_done(&s.rows);
    return ok;
}
