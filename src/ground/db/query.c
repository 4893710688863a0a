/* Queries and transactions of a connection. */
#include "db/db.h"
#include "db/inner.h"

#define CACHED_QUERIES 64

bool db_exec(struct db *d, const char *sql, struct err *e)
{
    int rc = sqlite3_exec(d->raw, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK || db_failed(d, rc, "use", e);
}

int64_t db_last_id(const struct db *d)
{
    return sqlite3_last_insert_rowid(d->raw);
}

static struct query *db_compile(struct db *d, const char *sql, bool keep, struct err *e)
{
    struct query *q = mem_new(sizeof *q);
    q->db = d;
    q->busy = true;
    q->kept = keep && d->query_count < CACHED_QUERIES;
    int rc = sqlite3_prepare_v3(d->raw, sql, -1, q->kept ? SQLITE_PREPARE_PERSISTENT : 0,
                                &q->stmt, NULL);
    if (rc != SQLITE_OK || !q->stmt) {
        /* Our own text is right: the tables are not what the migrations made. */
        if ((rc & 0xff) == SQLITE_ERROR)
            d->damaged = true;
        db_failed(d, rc ? rc : SQLITE_ERROR, "prepare a query of", e);
        free(q);
        return NULL;
    }
    if (q->kept) {
        q->next = d->queries;
        d->queries = q;
        d->query_count++;
    }
    return q;
}

struct query *db_query(struct db *d, const char *sql, struct err *e)
{
    for (struct query *q = d->queries; q; q = q->next) {
        if (!q->busy && !strcmp(sqlite3_sql(q->stmt), sql)) {
            q->busy = true;
            return q;
        }
    }
    return db_compile(d, sql, true, e);
}

struct query *db_query_once(struct db *d, const char *sql, struct err *e)
{
    return db_compile(d, sql, false, e);
}

void query_again(struct query *q)
{
    (void)sqlite3_reset(q->stmt);
    (void)sqlite3_clear_bindings(q->stmt);
    q->bind_failed = 0;
}

void query_end(struct query *q)
{
    if (!q)
        return;
    query_again(q);
    q->busy = false;
    if (!q->kept) {
        (void)sqlite3_finalize(q->stmt);
        free(q);
    }
}

static void bound(struct query *q, int rc)
{
    if (!q->bind_failed)
        q->bind_failed = rc;
}

void query_bind_int(struct query *q, int i, int64_t v)
{
    bound(q, sqlite3_bind_int64(q->stmt, i, v));
}

void query_bind_number(struct query *q, int i, double v)
{
    bound(q, sqlite3_bind_double(q->stmt, i, v));
}

void query_bind_str(struct query *q, int i, struct str v)
{
    bound(q, sqlite3_bind_text64(q->stmt, i, v.n ? v.at : "", v.n, SQLITE_STATIC,
                                 SQLITE_UTF8));
}

void query_bind_bytes(struct query *q, int i, struct str v)
{
    bound(q, v.n ? sqlite3_bind_blob64(q->stmt, i, v.at, v.n, SQLITE_STATIC)
                 : sqlite3_bind_zeroblob(q->stmt, i, 0));
}

void query_bind_cstr(struct query *q, int i, const char *v)
{
    if (v)
        query_bind_str(q, i, str_of(v));
    else
        query_bind_null(q, i);
}

void query_bind_null(struct query *q, int i)
{
    bound(q, sqlite3_bind_null(q->stmt, i));
}

bool query_next(struct query *q, struct err *e)
{
    int rc = q->bind_failed           ? q->bind_failed
             : db_is_cancelled(q->db) ? SQLITE_INTERRUPT
                                      : sqlite3_step(q->stmt);
    if (rc == SQLITE_ROW)
        return true;
    if (rc != SQLITE_DONE)
        db_failed(q->db, rc, "read", e);
    return false;
}

bool query_run(struct query *q, struct err *e)
{
    int rc = q->bind_failed           ? q->bind_failed
             : db_is_cancelled(q->db) ? SQLITE_INTERRUPT
                                      : 0;
    while (!rc || rc == SQLITE_ROW)
        rc = sqlite3_step(q->stmt);
    return rc == SQLITE_DONE || db_failed(q->db, rc, "write", e);
}

int64_t query_int(struct query *q, int i)
{
    return sqlite3_column_int64(q->stmt, i);
}

double query_number(struct query *q, int i)
{
    return sqlite3_column_double(q->stmt, i);
}

struct str query_str(struct query *q, int i)
{
    const void *at = sqlite3_column_text(q->stmt, i);
    return at ? (struct str){at, (size_t)sqlite3_column_bytes(q->stmt, i)} : STR("");
}

struct str query_bytes(struct query *q, int i)
{
    const void *at = sqlite3_column_blob(q->stmt, i);
    return at ? (struct str){at, (size_t)sqlite3_column_bytes(q->stmt, i)} : STR("");
}

bool query_is_null(struct query *q, int i)
{
    return sqlite3_column_type(q->stmt, i) == SQLITE_NULL;
}

/* ---- transactions ------------------------------------------------------- */

static bool transaction_start(struct transaction *t, struct db *d, const char *sql,
                              struct err *e)
{
    must(!t->db);
    scoped(query_end) struct query *q = db_query(d, sql, e);
    if (!q || !query_run(q, e))
        return false;
    t->db = d;
    return true;
}

bool db_begin(struct transaction *t, struct db *d, struct err *e)
{
    return transaction_start(t, d, "BEGIN IMMEDIATE", e);
}

bool db_begin_read(struct transaction *t, struct db *d, struct err *e)
{
    return transaction_start(t, d, "BEGIN", e);
}

bool db_commit(struct transaction *t, struct err *e)
{
    scoped(query_end) struct query *q = db_query(t->db, "COMMIT", e);
    if (!q || !query_run(q, e))
        return false;
    t->db = NULL;
    return true;
}

bool db_relax(struct db *d, bool relaxed, struct err *e)
{
    return db_exec(
        d, relaxed ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = EXTRA", e);
}

void db_rollback(struct transaction *t)
{
    if (!t->db)
        return;
    /* The deadline that stopped the work must not stop its undoing. */
    sqlite3_progress_handler(t->db->raw, 0, NULL, NULL);
    (void)sqlite3_exec(t->db->raw, "ROLLBACK", NULL, NULL, NULL);
    db_watch(t->db);
    t->db = NULL;
}
