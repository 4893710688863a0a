/* What calls have changed, the last one first, with what each change was. */
#include "notes/find.h"
#include "notes/name.h"
#include "notes/notes.api.h"
#include "notes/sight.h"
#include "notes/undo.h"
#include "notes/write.h"

#define CHANGES_MAX 200      /* that are told of one call */
#define DIFFS_MAX (8u << 20) /* bytes of one answer, beyond which diffs are left out */
#define ANSWER_MAX ((size_t)64 << 20)

struct asked {
    struct undo_filter filter;
    int64_t limit, before; /* the id of a revision; 0: from the newest on */
    bool diff;
};

struct entry_of_log {
    int64_t first, last, count, time;
    struct str call, author;
};

static bool log_options_read(const struct json *o, struct asked *a, struct err *e)
{
    *a = (struct asked){.limit = NOTES_LOG_LIMIT_USUAL};
    if (!o || json_is(o, JSON_NULL))
        return true;
    const struct json *cursor = json_get(o, "cursor");
    a->before = json_int(cursor, 0);
    if (!options_check(o, "notes.log", NOTES_LOG_KEYS, e) ||
        !undo_read_filter(o, os_real_ms(), &a->filter, e) ||
        !options_int(o, "limit", NOTES_LOG_LIMIT, &a->limit, e) ||
        !options_bool(o, "diff", &a->diff, e))
        return false;
    return !cursor || json_is(cursor, JSON_NULL) || a->before >= 1 ||
           err_set(e, ERR_INVALID,
                   "cursor must be the `cursor` of the last row of the "
                   "page before, a number");
}

/* ---- one change ------------------------------------------------------------ */

#define CHANGE_COLUMNS                                                              \
    "SELECT r.path, r.number, r.action, r.summary, r.backup IS NOT NULL, p.path,"   \
    " p.backup IS NOT NULL, p.content, r.content, p.note IS NULL, r.hash <> p.hash" \
    " FROM revisions r LEFT JOIN revisions p ON p.note = r.note AND"                \
    " p.number = r.number - 1"

static bool put_bytes(struct db *db, int64_t content, struct buf *out, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db, "SELECT bytes FROM contents WHERE id = ?", e);
    if (!q)
        return false;
    query_bind_int(q, 1, content);
    if (content && query_next(q, e))
        buf_str(out, query_bytes(q, 0));
    return e->code == ERR_NONE && buf_check(out, "a note's old content", e);
}

/* From what the note held before (nothing, where it was deleted or not made yet). */
static bool put_diff(struct db *db, struct query *q, struct json_writer *w, struct err *e)
{
    scoped_buf struct buf from = buf_of(NOTE_SIZE_MAX + 4096);
    scoped_buf struct buf to = buf_of(NOTE_SIZE_MAX + 4096);
    scoped_buf struct buf diff = buf_of(CHANGE_DIFF_MAX + 4096);
    bool was = !query_is_null(q, 7) && !query_int(q, 6);
    if (!put_bytes(db, was ? query_int(q, 7) : 0, &from, e) ||
        !put_bytes(db, query_int(q, 4) ? 0 : query_int(q, 8), &to, e))
        return false;
    bool whole = diff_put(buf_view(&from), buf_view(&to), CHANGE_DIFF_MAX, &diff);
    json_pair_str(w, "diff", buf_view(&diff));
    if (!whole)
        json_pair_bool(w, "diff_truncated", true);
    return true;
}

static bool put_change(struct vault *v, struct db *db, struct query *q, bool diff,
                       struct json_writer *w, struct err *e)
{
    struct str path = query_str(q, 0);
    bool ok = true, moved = !query_is_null(q, 5) && !str_eq(query_str(q, 5), path);
    scoped_buf struct buf id = buf_of(PATH_MAX + 8);
    name_put_id(path, &id);
    json_open_object(w);
    json_pair_str(w, "id", buf_view(&id));
    json_pair_str(w, "path", path);
    json_pair_str(w, "action", query_str(q, 2));
    json_pair_int(w, "revision", query_int(q, 1));
    json_pair_str(w, "summary", query_str(q, 3));
    if (moved)
        json_pair_str(w, "old_path", query_str(q, 5));
    if (diff && !sight_hides(v, SIGHT_NOTES))
        ok = put_diff(db, q, w, e);
    json_close(w);
    return ok;
}

/* ---- one call -------------------------------------------------------------- */

static bool put_changes(struct vault *v, struct db *db, const struct entry_of_log *c,
                        bool diff, struct json_writer *w, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db,
                 CHANGE_COLUMNS " WHERE r.id BETWEEN ?1 AND ?2 AND r.author <> 'external'"
                                " AND ifnull(r.call, '') = ?3 ORDER BY r.id LIMIT ?4",
                 e);
    if (!q)
        return false;
    query_bind_int(q, 1, c->first);
    query_bind_int(q, 2, c->last);
    query_bind_str(q, 3, c->call);
    query_bind_int(q, 4, CHANGES_MAX);
    json_key(w, "changes");
    json_open_array(w);
    while (query_next(q, e))
        if (!put_change(v, db, q, diff && w->out->n < DIFFS_MAX, w, e))
            return false;
    json_close(w);
    if (c->count > CHANGES_MAX)
        json_pair_int(w, "more", c->count - CHANGES_MAX);
    return e->code == ERR_NONE;
}

static bool put_call(struct vault *v, struct db *db, struct query *q, bool diff,
                     struct json_writer *w, struct err *e)
{
    const struct entry_of_log c = {query_int(q, 0), query_int(q, 1), query_int(q, 2),
                                   query_int(q, 3), query_str(q, 4), query_str(q, 5)};
    json_open_object(w);
    if (c.call.n)
        json_pair_str(w, "call", c.call);
    json_pair_str(w, "author", c.author);
    json_pair_time(w, "time", c.time);
    json_pair_int(w, "notes", query_int(q, 6));
    json_pair_int(w, "cursor", c.last);
    bool ok = put_changes(v, db, &c, diff, w, e);
    json_close(w);
    return ok;
}

/* A revision that names no call stands for itself. */
static bool put_calls(struct vault *v, struct db *db, const struct asked *a,
                      struct json_writer *w, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db,
                 "SELECT min(id), max(id), count(*), max(time), ifnull(call, ''), author,"
                 " count(DISTINCT note) FROM revisions r WHERE" UNDO_WHERE
                 " GROUP BY ifnull(call, -id) HAVING ?4 = 0 OR max(id) < ?4"
                 " ORDER BY max(id) DESC LIMIT ?5",
                 e);
    if (!q)
        return false;
    undo_bind(q, &a->filter);
    query_bind_int(q, 4, a->before);
    query_bind_int(q, 5, a->limit);
    while (query_next(q, e))
        if (!vault_goes_on(v, e) || !put_call(v, db, q, a->diff, w, e))
            return false;
    return e->code == ERR_NONE;
}

bool notes_log(struct vault *v, const struct json *options, struct json_writer *out,
               struct err *e)
{
    struct asked a;
    bool none = false;
    if (!log_options_read(options, &a, e))
        return false;
    scoped_buf struct buf text = buf_of(ANSWER_MAX);
    struct json_writer w = json_writer(&text);
    history_settle(v->history);
    struct db *db = history_read(v->history, &none, e);
    if (!db && !none)
        return false;
    json_open_array(&w);
    bool ok = !db || put_calls(v, db, &a, &w, e);
    json_close(&w);
    if (db)
        history_read_end(v->history);
    if (!ok || !buf_check(&text, "the log", e))
        return false;
    json_put_raw(out, buf_view(&text));
    return true;
}
