/* The changes of calls in the history, for reconciliation with the audit. */
#include "notes/find.h"
#include "notes/history.h"
#include "notes/name.h"
#include "notes/write.h"

#define ROWS_MAX 10000

static bool bycalls_put_totals(struct db *db, struct json_writer *w, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db,
                 "SELECT ifnull(max(id), 0), count(*),"
                 " (SELECT dropped FROM totals LIMIT 1) FROM revisions",
                 e);
    if (!q || !query_next(q, e))
        return false;
    int64_t last = query_int(q, 0), gone = last - query_int(q, 1) - query_int(q, 2);
    json_pair_int(w, "last", last);
    json_pair_int(w, "missing", gone > 0 ? gone : 0);
    return true;
}

static void bycalls_put_row(struct query *q, struct json_writer *w)
{
    scoped_buf struct buf id = buf_of(PATH_MAX + 8);
    name_put_id(query_str(q, 2), &id);
    json_open_object(w);
    json_pair_str(w, "call", query_str(q, 1));
    json_pair_str(w, "id", buf_view(&id));
    json_pair_int(w, "revision", query_int(q, 3));
    json_pair_time(w, "time", query_int(q, 4));
    json_close(w);
}

static bool bycalls_put_rows(struct db *db, struct str call, int64_t after,
                             struct json_writer *w, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db,
                 "SELECT id, call, path, number, time FROM revisions WHERE id > ?1 AND"
                 " call IS NOT NULL AND (?2 = '' OR call = ?2) ORDER BY id LIMIT ?3",
                 e);
    if (!q)
        return false;
    int64_t last = 0, rows = 0;
    query_bind_int(q, 1, after);
    query_bind_str(q, 2, call);
    query_bind_int(q, 3, ROWS_MAX);
    json_key(w, "changes");
    json_open_array(w);
    for (; query_next(q, e); rows++) {
        bycalls_put_row(q, w);
        last = query_int(q, 0);
    }
    json_close(w);
    if (rows == ROWS_MAX)
        json_pair_int(w, "next", last);
    return e->code == ERR_NONE;
}

bool notes_by_calls(struct vault *v, const struct json *options, struct json_writer *out,
                    struct err *e)
{
    bool none = false;
    struct str call = json_str(json_get(options, "call"));
    int64_t after = json_int(json_get(options, "after"), 0);
    struct db *db = history_read(v->history, &none, e);
    if (!db && !none)
        return false;
    json_open_object(out);
    bool ok = !db || (bycalls_put_totals(db, out, e) &&
                      bycalls_put_rows(db, call, after, out, e));
    json_close(out);
    if (db)
        history_read_end(v->history);
    return ok;
}
