/* The tables of use: opened, written, kept within their bounds. */
#include <fcntl.h>
#include <stdio.h>

#include "os/os.h"
#include "usage/inner.h"

#define OWN_DIR ".cloche"
#define NAME "functions-usage.db"
#define FILE_NAME "custom-functions.json"

static const char *const migrations[] = {
    "CREATE TABLE usage("
    " id TEXT NOT NULL,"
    " version INTEGER NOT NULL," /* 0: older ones together */
    " calls INTEGER NOT NULL,"
    " failed INTEGER NOT NULL,"
    " evaluations INTEGER NOT NULL,"
    " ms REAL NOT NULL,"
    " loads INTEGER NOT NULL,"
    " load_ms REAL NOT NULL,"
    " lines INTEGER NOT NULL," /* of its code */
    " in_a_row INTEGER NOT NULL,"
    " first_ms INTEGER NOT NULL,"
    " last_ms INTEGER NOT NULL,"
    " PRIMARY KEY(id, version)) WITHOUT ROWID;"
    "CREATE TABLE times("
    " id TEXT NOT NULL,"
    " version INTEGER NOT NULL,"
    " bucket INTEGER NOT NULL,"
    " count INTEGER NOT NULL,"
    " PRIMARY KEY(id, version, bucket)) WITHOUT ROWID;"
    "CREATE TABLE kinds("
    " id TEXT NOT NULL,"
    " version INTEGER NOT NULL,"
    " kind TEXT NOT NULL,"
    " count INTEGER NOT NULL,"
    " last_ms INTEGER NOT NULL,"
    " PRIMARY KEY(id, version, kind)) WITHOUT ROWID;"
    "CREATE TABLE runs("
    " key INTEGER PRIMARY KEY,"
    " id TEXT NOT NULL,"
    " version INTEGER NOT NULL,"
    " at_ms INTEGER NOT NULL,"
    " ms REAL NOT NULL,"
    " calls INTEGER NOT NULL,"
    " failed INTEGER NOT NULL,"
    " kind TEXT NOT NULL,"
    " caller TEXT NOT NULL);"
    "CREATE INDEX runs_by_id ON runs(id, key);"
    "CREATE TABLE days("
    " day INTEGER NOT NULL,"
    " id TEXT NOT NULL,"
    " calls INTEGER NOT NULL,"
    " failed INTEGER NOT NULL,"
    " PRIMARY KEY(day, id)) WITHOUT ROWID;"
    "CREATE INDEX days_by_id ON days(id, day);"
    "CREATE TABLE sessions("
    " key INTEGER PRIMARY KEY,"
    " first_ms INTEGER NOT NULL,"
    " last_ms INTEGER NOT NULL,"
    " reused INTEGER NOT NULL," /* called what was there before it began */
    " lines INTEGER NOT NULL);" /* of functions that it called, once an evaluation */
    "CREATE INDEX sessions_by_last ON sessions(last_ms);"
    "CREATE TABLE trials("
    " day INTEGER NOT NULL,"
    " outcome INTEGER NOT NULL,"
    " count INTEGER NOT NULL,"
    " ms REAL NOT NULL,"
    " PRIMARY KEY(day, outcome)) WITHOUT ROWID;",
    "ALTER TABLE runs ADD COLUMN trial INTEGER NOT NULL DEFAULT 0;"};

/* ---- opening ------------------------------------------------------------ */

static int own_dir(int vault, struct err *e)
{
    return os_open_beneath(vault, OWN_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, e);
}

static struct db_options options_of(int dir)
{
    return (struct db_options){.migrations = migrations,
                               .migration_count = LENGTH(migrations),
                               .fleeting = true,
                               .remote = !os_is_local(dir),
                               .wait_ms = USAGE_WAIT_MS};
}

struct db *usage_open_writer(int vault, struct err *e)
{
    scoped_fd int dir = own_dir(vault, e);
    if (dir < 0)
        return NULL;
    struct db_options o = options_of(dir);
    bool damaged;
    struct db *d = db_open(dir, NAME, &o, &damaged, e);
    if (d || !damaged)
        return d;
    /* Nothing in it is worth more than going on. */
    *e = (struct err){0};
    return db_remove(dir, NAME, e) ? db_open(dir, NAME, &o, NULL, e) : NULL;
}

bool usage_discard(int vault)
{
    struct err none = {0};
    scoped_fd int dir = own_dir(vault, &none);
    return dir >= 0 && db_remove(dir, NAME, &none);
}

struct db *usage_open_reader(int vault, bool *frozen, struct err *e)
{
    scoped_fd int dir = own_dir(vault, e);
    struct err why = {0};
    struct os_stat st;
    *frozen = false;
    if (dir < 0 || !os_stat_beneath(dir, NAME, &st, e))
        return NULL;
    struct db *d = db_open_reader(dir, NAME, &why);
    /* Also fails of tables that no writer has brought up to date yet. */
    struct query *q = d ? db_query(d, "SELECT max(trial) FROM runs", &why) : NULL;
    bool ok = q && query_next(q, &why);
    query_end(q);
    if (ok)
        return d;
    db_close(d);
    /* Where nothing can be written, there can be no reader of a log either. */
    struct db_options o = options_of(dir);
    *frozen = true;
    return db_open_frozen(dir, NAME, &o, e);
}

static struct os_stamp stamp_of(int vault, const char *name)
{
    struct err none = {0};
    scoped_fd int dir = own_dir(vault, &none);
    return dir < 0 ? (struct os_stamp){0} : os_stamp(dir, name);
}

uint64_t usage_inode(int vault)
{
    return stamp_of(vault, NAME).inode;
}

void usage_weigh(int vault, struct usage_file *out)
{
    struct err none = {0};
    scoped_buf struct buf text = buf_of(BUF_ANSWER);
    scoped(arena_free) struct arena *arena = arena_new(ARENA_VAULT);
    scoped_fd int dir = own_dir(vault, &none);
    uint64_t begun = os_mono_ns();
    if (dir < 0 || !os_read_file(dir, FILE_NAME, &text, NULL, &none))
        return;
    (void)json_read(buf_view(&text), arena, &none);
    out->ms = (double)(os_mono_ns() - begun) / 1e6;
    out->bytes = text.n;
}

/* ---- writing -------------------------------------------------------------- */

static bool write_figures(struct db *d, const struct deed *x, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(d,
                 "INSERT INTO usage VALUES(?1,?2,?3,?4,1,?5,?6,?7,?8,?9,?10,?10)"
                 " ON CONFLICT(id, version) DO UPDATE SET calls = calls + ?3,"
                 " failed = failed + ?4, evaluations = evaluations + 1, ms = ms + ?5,"
                 " loads = loads + ?6, load_ms = load_ms + ?7, lines = ?8,"
                 " in_a_row = max(in_a_row, ?9),"
                 " last_ms = max(last_ms, ?10)",
                 e);
    if (!q)
        return false;
    query_bind_str(q, 1, str_of(x->id));
    query_bind_int(q, 2, x->version);
    query_bind_int(q, 3, x->calls);
    query_bind_int(q, 4, x->failed);
    query_bind_number(q, 5, x->ms);
    query_bind_int(q, 6, x->load_ms > 0);
    query_bind_number(q, 7, x->load_ms);
    query_bind_int(q, 8, x->lines);
    query_bind_int(q, 9, x->in_a_row);
    query_bind_int(q, 10, x->at_ms);
    return query_run(q, e);
}

static bool write_times(struct db *d, const struct deed *x, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(d,
                 "INSERT INTO times VALUES(?,?,?,?)"
                 " ON CONFLICT DO UPDATE SET count = count + excluded.count",
                 e);
    for (uint32_t i = 0; q && i < USAGE_BUCKETS; i++) {
        if (!x->times[i])
            continue;
        query_again(q);
        query_bind_str(q, 1, str_of(x->id));
        query_bind_int(q, 2, x->version);
        query_bind_int(q, 3, i);
        query_bind_int(q, 4, x->times[i]);
        if (!query_run(q, e))
            return false;
    }
    return q;
}

/* A kind that is not there yet counts as "other" where there are too many. */
static bool write_kinds(struct db *d, const struct deed *x, struct err *e)
{
    scoped(query_end) struct query *q = db_query(
        d,
        "INSERT INTO kinds SELECT ?1, ?2,"
        " CASE WHEN EXISTS(SELECT 1 FROM kinds WHERE id = ?1 AND version = ?2"
        " AND kind = ?3) OR (SELECT count(*) FROM kinds WHERE id = ?1"
        " AND version = ?2) < ?6 THEN ?3 ELSE '" USAGE_OTHER "' END, ?4, ?5 WHERE true"
        " ON CONFLICT DO UPDATE SET count = count + excluded.count,"
        " last_ms = max(last_ms, excluded.last_ms)",
        e);
    for (size_t i = 0; q && i < USAGE_KINDS_AT_ONCE; i++) {
        if (!x->kinds[i].count)
            continue;
        query_again(q);
        query_bind_str(q, 1, str_of(x->id));
        query_bind_int(q, 2, x->version);
        query_bind_cstr(q, 3, x->kinds[i].kind);
        query_bind_int(q, 4, x->kinds[i].count);
        query_bind_int(q, 5, x->at_ms);
        query_bind_int(q, 6, USAGE_KINDS);
        if (!query_run(q, e))
            return false;
    }
    return q;
}

static bool write_run(struct db *d, const struct deed *x, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(d,
                 "INSERT INTO runs(id, version, at_ms, ms, calls, failed, kind, caller,"
                 " trial) VALUES(?,?,?,?,?,?,?,?,?)",
                 e);
    scoped(query_end) struct query *old =
        db_query(d,
                 "DELETE FROM runs WHERE id = ?1 AND trial = ?3 AND key <= (SELECT key"
                 " FROM runs WHERE id = ?1 AND trial = ?3 ORDER BY key DESC LIMIT 1"
                 " OFFSET ?2)",
                 e);
    if (!q || !old)
        return false;
    query_bind_str(q, 1, str_of(x->id));
    query_bind_int(q, 2, x->version);
    query_bind_int(q, 3, x->at_ms);
    query_bind_number(q, 4, x->ms);
    query_bind_int(q, 5, x->calls);
    query_bind_int(q, 6, x->failed);
    query_bind_cstr(q, 7, x->kinds[0].kind);
    query_bind_cstr(q, 8, x->caller);
    query_bind_int(q, 9, x->what == DEED_RUN);
    query_bind_str(old, 1, str_of(x->id));
    query_bind_int(old, 2, USAGE_RUNS);
    query_bind_int(old, 3, x->what == DEED_RUN);
    return query_run(q, e) && query_run(old, e);
}

static bool write_day(struct db *d, const struct deed *x, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(d,
                 "INSERT INTO days VALUES(?,?,?,?) ON CONFLICT DO UPDATE SET"
                 " calls = calls + excluded.calls, failed = failed + excluded.failed",
                 e);
    if (!q)
        return false;
    query_bind_int(q, 1, x->at_ms / USAGE_DAY_MS);
    query_bind_str(q, 2, str_of(x->id));
    query_bind_int(q, 3, x->calls);
    query_bind_int(q, 4, x->failed);
    return query_run(q, e);
}

/* Reused is what was registered before the session's first evaluation. */
static bool write_session(struct db *d, const struct deed *x, struct err *e)
{
    scoped(query_end) struct query *q = db_query(
        d,
        "INSERT INTO sessions VALUES(?1, ?2, ?2, ?3 AND ?4 < ?2, ?5)"
        " ON CONFLICT DO UPDATE SET last_ms = max(last_ms, ?2), lines = lines + ?5,"
        " reused = reused OR (?3 AND ?4 < first_ms)",
        e);
    if (!q)
        return false;
    bool uses = x->what == DEED_USE;
    query_bind_int(q, 1, x->session);
    query_bind_int(q, 2, x->at_ms);
    query_bind_int(q, 3, uses);
    query_bind_int(q, 4, x->made_ms);
    /* The call itself is a line, too. */
    query_bind_int(q, 5, uses && x->lines ? x->lines - 1 : 0);
    return query_run(q, e);
}

static bool write_trial(struct db *d, const struct deed *x, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(d,
                 "INSERT INTO trials VALUES(?,?,1,?) ON CONFLICT DO UPDATE SET"
                 " count = count + 1, ms = ms + excluded.ms",
                 e);
    if (!q)
        return false;
    query_bind_int(q, 1, x->at_ms / USAGE_DAY_MS);
    query_bind_int(q, 2, x->trial);
    query_bind_number(q, 3, x->ms);
    return query_run(q, e);
}

static bool write_deed(struct db *d, const struct deed *x, struct err *e)
{
    if (x->what == DEED_TRIAL)
        return write_trial(d, x, e);
    if (x->what == DEED_RUN)
        return write_run(d, x, e);
    if (!write_session(d, x, e))
        return false;
    return x->what == DEED_SESSION ||
           (write_figures(d, x, e) && write_times(d, x, e) && write_kinds(d, x, e) &&
            write_run(d, x, e) && write_day(d, x, e));
}

bool usage_write(struct db *d, const struct deed *first, struct err *e)
{
    scoped_transaction struct transaction t = {0};
    if (!db_begin(&t, d, e))
        return false;
    for (; first; first = first->next)
        if (!write_deed(d, first, e))
            return false;
    return db_commit(&t, e);
}

/* ---- bounds --------------------------------------------------------------- */

static bool run_with(struct db *d, const char *sql, int64_t value, struct err *e)
{
    scoped(query_end) struct query *q = db_query(d, sql, e);
    if (!q)
        return false;
    query_bind_int(q, 1, value);
    return query_run(q, e);
}

/* The versions beyond the newest become one row, number 0. */
#define OLD_VERSIONS                                                     \
    "version <> 0 AND version <= (SELECT version FROM usage newer WHERE" \
    " newer.id = old.id ORDER BY version DESC LIMIT 1 OFFSET ?1)"

static bool fold_versions(struct db *d, struct err *e)
{
    static const char *const steps[] = {
        "INSERT INTO times SELECT id, 0, bucket, sum(count) FROM times old WHERE " OLD_VERSIONS
        " GROUP BY id, bucket"
        " ON CONFLICT DO UPDATE SET count = count + excluded.count",
        "DELETE FROM times AS old WHERE " OLD_VERSIONS,
        "INSERT INTO kinds SELECT id, 0, kind, sum(count), max(last_ms) FROM kinds old"
        " WHERE " OLD_VERSIONS " GROUP BY id, kind"
        " ON CONFLICT DO UPDATE SET count = count + excluded.count,"
        " last_ms = max(last_ms, excluded.last_ms)",
        "DELETE FROM kinds AS old WHERE " OLD_VERSIONS,
        /* The last step that needs these rows to know what is old. */
        "INSERT INTO usage SELECT id, 0, sum(calls), sum(failed), sum(evaluations),"
        " sum(ms), sum(loads), sum(load_ms), max(lines), max(in_a_row),"
        " min(first_ms), max(last_ms) FROM usage old WHERE " OLD_VERSIONS
        " GROUP BY id ON CONFLICT DO UPDATE SET calls = calls + excluded.calls,"
        " failed = failed + excluded.failed,"
        " evaluations = evaluations + excluded.evaluations, ms = ms + excluded.ms,"
        " loads = loads + excluded.loads, load_ms = load_ms + excluded.load_ms,"
        " in_a_row = max(in_a_row, excluded.in_a_row),"
        " first_ms = min(first_ms, excluded.first_ms),"
        " last_ms = max(last_ms, excluded.last_ms)",
        "DELETE FROM usage AS old WHERE " OLD_VERSIONS};
    for (size_t i = 0; i < LENGTH(steps); i++)
        if (!run_with(d, steps[i], USAGE_VERSIONS - 1, e))
            return false;
    return run_with(d,
                    "DELETE FROM kinds AS old WHERE version = 0 AND (SELECT count(*)"
                    " FROM kinds more WHERE more.id = old.id AND more.version = 0 AND"
                    " (more.count, more.kind) > (old.count, old.kind)) >= ?",
                    USAGE_KINDS, e);
}

bool usage_prune(struct db *d, int64_t now_ms, struct err *e)
{
    int64_t day = now_ms / USAGE_DAY_MS - USAGE_DAYS;
    scoped_transaction struct transaction t = {0};
    if (!db_begin(&t, d, e) || !run_with(d, "DELETE FROM days WHERE day < ?", day, e) ||
        !run_with(d, "DELETE FROM sessions WHERE last_ms < ?", day * USAGE_DAY_MS, e) ||
        !run_with(d,
                  "DELETE FROM sessions WHERE last_ms < (SELECT last_ms FROM sessions"
                  " ORDER BY last_ms DESC LIMIT 1 OFFSET ?)",
                  USAGE_SESSIONS - 1, e) ||
        !run_with(d,
                  "DELETE FROM usage WHERE id IN (SELECT id FROM usage GROUP BY id"
                  " ORDER BY max(last_ms) DESC LIMIT -1 OFFSET ?)",
                  USAGE_FUNCTIONS, e))
        return false;
    if (!run_with(d,
                  "DELETE FROM runs WHERE trial = 1 AND key <= (SELECT key FROM runs"
                  " WHERE trial = 1 ORDER BY key DESC LIMIT 1 OFFSET ?)",
                  USAGE_FUNCTIONS, e) ||
        !db_exec(d,
                 "DELETE FROM runs WHERE trial = 0 AND id NOT IN (SELECT id FROM usage)",
                 e))
        return false;
    static const char *const orphans[] = {"times", "kinds", "days"};
    for (size_t i = 0; i < LENGTH(orphans); i++) {
        char sql[120];
        (void)snprintf(sql, sizeof sql,
                       "DELETE FROM %s WHERE id NOT IN (SELECT id FROM usage)",
                       orphans[i]);
        if (!db_exec(d, sql, e))
            return false;
    }
    return fold_versions(d, e) && db_commit(&t, e);
}
