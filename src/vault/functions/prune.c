/* Pruning of versions. Kept are FUNCTION_VERSIONS of a function, FUNCTION_VERSIONS_BYTES of all,
 * and something of FUNCTIONS_REMOVED that are there no more. What one caller adds does not end
 * what another one kept last: of a function that is there the last version of each who changed
 * it stays, and the oldest of whoever has most go first.
 */
#include "functions/internal.h"

bool author_may_write(const struct function_author *who, size_t bytes, struct err *e)
{
    return !who || !who->admits || who->admits(who->arg, bytes, e);
}

static bool query_number_of(struct db *db, const char *sql, struct str arg, int64_t *out,
                            struct err *e)
{
    scoped(query_end) struct query *q = db_query(db, sql, e);
    *out = 0;
    if (!q)
        return false;
    if (arg.at)
        query_bind_str(q, 1, arg);
    if (query_next(q, e))
        *out = query_int(q, 0);
    return !e->code;
}

bool versions_prune(struct db *db, struct str id, struct err *e)
{
    int64_t count;
    if (!query_number_of(db, "SELECT count(*) FROM versions WHERE function = ?", id,
                         &count, e))
        return false;
    if (count <= FUNCTION_VERSIONS)
        return true;
    scoped(query_end) struct query *q =
        db_query(db,
                 "DELETE FROM versions WHERE key IN (SELECT key FROM (SELECT key, number,"
                 " count(*) OVER (PARTITION BY by) AS had,"
                 " row_number() OVER (PARTITION BY by ORDER BY number DESC) AS from_last"
                 " FROM versions WHERE function = ?1) WHERE from_last > 1"
                 " ORDER BY had DESC, number LIMIT ?2)",
                 e);
    if (!q)
        return false;
    query_bind_str(q, 1, id);
    query_bind_int(q, 2, count - FUNCTION_VERSIONS);
    return query_run(q, e);
}

/* Drops the oldest of the author that has most, and has any that may go. */
static const char drop_oldest[] =
    "DELETE FROM versions WHERE key IN (SELECT v.key FROM versions v JOIN (SELECT by,"
    " sum(size) AS bytes FROM versions GROUP BY by) AS a ON a.by = v.by"
    " WHERE EXISTS (SELECT 1 FROM versions n WHERE n.function = v.function"
    " AND n.number > v.number AND n.by = v.by) ORDER BY a.bytes DESC, v.key LIMIT ?)";
/* Then of functions that are there no more. */
static const char drop_gone[] =
    "DELETE FROM versions WHERE key IN (SELECT v.key FROM versions v JOIN functions f"
    " ON f.id = v.function WHERE f.gone ORDER BY f.gone, v.key LIMIT ?)";

/* At most so many; *count: how many. */
static bool versions_drop(struct db *db, const char *sql, int64_t most, int64_t *count,
                          struct err *e)
{
    int64_t before, after;
    static const char all[] = "SELECT count(*) FROM versions";
    scoped(query_end) struct query *q = db_query(db, sql, e);
    if (!q)
        return false;
    query_bind_int(q, 1, most);
    if (!query_number_of(db, all, (struct str){0}, &before, e) || !query_run(q, e) ||
        !query_number_of(db, all, (struct str){0}, &after, e))
        return false;
    *count = before - after;
    return true;
}

static bool prune_bytes(struct db *db, struct err *e)
{
    for (int64_t bytes, dropped = 1; dropped;) {
        if (!query_number_of(db, "SELECT sum(size) FROM versions", (struct str){0},
                             &bytes, e))
            return false;
        if (bytes <= FUNCTION_VERSIONS_BYTES)
            return true;
        /* One at a time, but for histories that grew before there was a bound. */
        int64_t most = bytes > 2 * FUNCTION_VERSIONS_BYTES ? 200 : 1;
        if (!versions_drop(db, drop_oldest, most, &dropped, e) ||
            (!dropped && !versions_drop(db, drop_gone, most, &dropped, e)))
            return false;
    }
    return true; /* the functions that are there are as large as that */
}

static bool prune_removed(struct db *db, struct err *e)
{
    int64_t gone;
    static const char *const both[] = {
        "DELETE FROM versions WHERE function IN (SELECT id FROM functions WHERE gone"
        " ORDER BY gone LIMIT ?)",
        "DELETE FROM functions WHERE id IN (SELECT id FROM functions WHERE gone"
        " ORDER BY gone LIMIT ?)"};
    if (!query_number_of(db, "SELECT count(*) FROM functions WHERE gone", (struct str){0},
                         &gone, e))
        return false;
    for (size_t i = 0; gone > FUNCTIONS_REMOVED && i < LENGTH(both); i++) {
        scoped(query_end) struct query *q = db_query(db, both[i], e);
        if (!q)
            return false;
        query_bind_int(q, 1, gone - FUNCTIONS_REMOVED);
        if (!query_run(q, e))
            return false;
    }
    return true;
}

bool versions_prune_all(struct db *db, struct err *e)
{
    return prune_removed(db, e) && prune_bytes(db, e);
}
