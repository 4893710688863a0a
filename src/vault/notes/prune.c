/* Pruning of revisions.
 *
 * All of the last HISTORY_DAYS are kept and, of each author of each note, the last HISTORY_LEAST. Of a
 * note with more than HISTORY_MOST those go of which its author has most: the oldest, but for
 * the first and the last HISTORY_LAST of each author. When the contents of all notes together
 * are more than HISTORY_BYTES, the oldest of the author go who has most of all, those of other
 * programs last, down to the last HISTORY_LEAST_FULL of each note.
 *
 * The newest of each author of a note is never dropped: nobody's writing ends what another
 * one wrote last. Both rules for one note are looked after with each STEP-th revision of it.
 */
#include "notes/history.h"
#include "os/os.h"

#define DROPPED_AT_ONCE 200 /* revisions that one change drops */
#define STEP 20

/* ---- dropping ------------------------------------------------------------ */

static bool drop_content(struct db *db, int64_t content, struct err *e)
{
    int64_t used, size;
    if (!content ||
        !history_number(db, "SELECT EXISTS(SELECT 1 FROM revisions WHERE content = ?)",
                        content, &used, e) ||
        used ||
        !history_number(db, "SELECT length(bytes) FROM contents WHERE id = ?", content,
                        &size, e))
        return e->code == ERR_NONE;
    scoped(query_end) struct query *q =
        db_query(db, "DELETE FROM contents WHERE id = ?", e);
    if (!q)
        return false;
    query_bind_int(q, 1, content);
    return query_run(q, e) && history_count(db, -size, e);
}

static bool count_dropped(struct db *db, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db, "UPDATE totals SET dropped = dropped + 1", e);
    return q && query_run(q, e);
}

static bool drop_revision(struct db *db, int64_t id, int64_t content, struct err *e)
{
    scoped(query_end) struct query *share =
        db_query(db,
                 "UPDATE authors SET bytes = bytes - (SELECT size FROM revisions WHERE"
                 " id = ?1) WHERE author = (SELECT author FROM revisions WHERE id = ?1)",
                 e);
    scoped(query_end) struct query *q =
        db_query(db, "DELETE FROM revisions WHERE id = ?", e);
    if (!share || !q)
        return false;
    query_bind_int(share, 1, id);
    query_bind_int(q, 1, id);
    return query_run(share, e) && query_run(q, e) && count_dropped(db, e) &&
           drop_content(db, content, e);
}

/* Drops what the query names: (id, content) of at most DROPPED_AT_ONCE revisions. */
static bool drop_found(struct db *db, struct query *q, size_t *count, struct err *e)
{
    int64_t ids[DROPPED_AT_ONCE], contents[DROPPED_AT_ONCE];
    size_t n = 0;
    while (n < DROPPED_AT_ONCE && query_next(q, e)) {
        ids[n] = query_int(q, 0);
        contents[n++] = query_int(q, 1);
    }
    query_again(q);
    for (size_t i = 0; i < n && e->code == ERR_NONE; i++)
        (void)drop_revision(db, ids[i], contents[i], e);
    *count = n;
    return e->code == ERR_NONE;
}

bool history_forget(struct db *db, int64_t last, struct err *e)
{
    for (size_t count = 1; count;) {
        scoped(query_end) struct query *q = db_query(
            db,
            "SELECT id, content FROM revisions WHERE id > ? AND author <> 'external'"
            " LIMIT 200",
            e);
        if (!q)
            return false;
        query_bind_int(q, 1, last);
        if (!drop_found(db, q, &count, e))
            return false;
    }
    return true;
}

/* ---- of one note --------------------------------------------------------- */

/* A note's revisions, each with how many its author has, and its place among these. */
#define RANKED                                                                       \
    "(SELECT id, content, number, time, count(*) OVER (PARTITION BY author) AS had," \
    " row_number() OVER (PARTITION BY author ORDER BY number DESC) AS from_last,"    \
    " row_number() OVER (PARTITION BY author ORDER BY number) AS from_first"         \
    " FROM revisions WHERE note = ?1)"

static bool prune_old(struct db *db, int64_t note, int64_t number, struct err *e)
{
    int64_t before = os_real_ms() - HISTORY_DAYS * INT64_C(86400000), oldest;
    if (number <= HISTORY_LEAST)
        return true;
    if (!history_number(db,
                        "SELECT time FROM revisions WHERE note = ? ORDER BY number"
                        " LIMIT 1",
                        note, &oldest, e))
        return false;
    if (oldest >= before)
        return true;
    scoped(query_end) struct query *q =
        db_query(db,
                 "SELECT id, content FROM " RANKED
                 " WHERE from_last > ?2 AND time < ?3 ORDER BY number LIMIT 200",
                 e);
    if (!q)
        return false;
    query_bind_int(q, 1, note);
    query_bind_int(q, 2, HISTORY_LEAST);
    query_bind_int(q, 3, before);
    size_t count;
    return drop_found(db, q, &count, e);
}

static bool prune_many(struct db *db, int64_t note, int64_t number, struct err *e)
{
    int64_t kept;
    if (number <= HISTORY_MOST)
        return true;
    if (!history_number(db, "SELECT count(*) FROM revisions WHERE note = ?", note, &kept,
                        e))
        return false;
    if (kept <= HISTORY_MOST)
        return true;
    scoped(query_end) struct query *q =
        db_query(db,
                 "SELECT id, content FROM " RANKED " WHERE from_last > 1"
                 " ORDER BY from_last > ?2 AND from_first > 1 DESC, had DESC, number"
                 " LIMIT ?3",
                 e);
    if (!q)
        return false;
    query_bind_int(q, 1, note);
    query_bind_int(q, 2, HISTORY_LAST);
    query_bind_int(q, 3, kept - HISTORY_MOST);
    size_t count;
    return drop_found(db, q, &count, e);
}

/* ---- of all notes -------------------------------------------------------- */

static bool prune_author(struct db *db, struct str author, size_t *count, struct err *e)
{
    scoped(query_end) struct query *q = db_query(
        db,
        "SELECT id, content FROM revisions r WHERE author = ?1 AND number <="
        " (SELECT max(number) FROM revisions WHERE note = r.note) - ?2 AND EXISTS"
        " (SELECT 1 FROM revisions n WHERE n.note = r.note AND n.number > r.number"
        " AND n.author = r.author) ORDER BY id LIMIT 200",
        e);
    if (!q)
        return false;
    query_bind_str(q, 1, author);
    query_bind_int(q, 2, HISTORY_LEAST_FULL);
    return drop_found(db, q, count, e);
}

static bool prune_all(struct db *db, struct err *e)
{
    int64_t bytes;
    size_t count = 0;
    if (!history_number(db, "SELECT bytes FROM totals LIMIT ?", 1, &bytes, e))
        return false;
    if (bytes <= HISTORY_BYTES)
        return true;
    scoped(query_end) struct query *q = db_query(
        db, "SELECT author FROM authors ORDER BY author = 'external', bytes DESC", e);
    if (!q)
        return false;
    while (!count && query_next(q, e)) {
        scoped_buf struct buf author = buf_of(BUF_PAGE);
        buf_str(&author, query_str(q, 0));
        if (!prune_author(db, buf_view(&author), &count, e))
            return false;
    }
    return e->code == ERR_NONE;
}

bool history_prune(struct db *db, const struct revision_note *r, int64_t number,
                   struct err *e)
{
    return (number % STEP ||
            (prune_old(db, r->key, number, e) && prune_many(db, r->key, number, e))) &&
           prune_all(db, e);
}
