#include "db/db.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "db/inner.h"
#include "os/os.h"

#define WAIT_MS 30000
#define LENGTH_MAX (64 * 1024 * 1024) /* bytes of one value or row */
#define STEPS_BETWEEN_LOOKS 2000      /* of SQLite's machine, for the deadline */

/* ---- errors ------------------------------------------------------------- */

enum err_code db_code(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ERR_BUSY;
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return ERR_DENIED;
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
        return ERR_LIMIT;
    case SQLITE_INTERRUPT:
        return ERR_TIMEOUT;
    case SQLITE_CONSTRAINT:
        return ERR_CONFLICT;
    default:
        return ERR_IO;
    }
}

bool db_is_cancelled(const struct db *d)
{
    return cancel_fired(d->cancel[0]) || cancel_fired(d->cancel[1]);
}

bool db_failed(struct db *d, int rc, const char *doing, struct err *e)
{
    if (d->outside && (rc & 0xff) == SQLITE_NOMEM)
        d->stopped = ERR_LIMIT;
    if (d->outside && db_was_stopped(d, e))
        return false;
    if (d->outside && ((rc & 0xff) == SQLITE_ERROR || db_code(rc) == ERR_LIMIT))
        return err_set(e, db_code(rc) == ERR_LIMIT ? ERR_LIMIT : ERR_INVALID,
                       "the query fails: %.200s", sqlite3_errmsg(d->raw));
    if ((rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB)
        d->damaged = true;
    if (db_is_cancelled(d) && (db_code(rc) == ERR_TIMEOUT || db_code(rc) == ERR_BUSY))
        return err_set(e, ERR_CANCELLED, "the call was cancelled");
    if (db_code(rc) == ERR_TIMEOUT)
        return err_set(e, ERR_TIMEOUT, "a database query took too long and was stopped");
    return err_set(e, db_code(rc), "cannot %s the database: %.200s", doing,
                   d->raw ? sqlite3_errmsg(d->raw) : sqlite3_errstr(rc));
}

bool db_is_damaged(const struct db *d)
{
    return d->damaged;
}

/* ---- opening ------------------------------------------------------------ */

static int db_progress(void *arg)
{
    const struct db *d = arg;
    return db_is_cancelled(d) || (d->until_ns && os_mono_ns() > d->until_ns);
}

void db_watch(struct db *d)
{
    bool any = d->until_ns || d->cancel[0] || d->cancel[1];
    sqlite3_progress_handler(d->raw, any ? STEPS_BETWEEN_LOOKS : 0,
                             any ? db_progress : NULL, d);
}

void db_set_deadline(struct db *d, uint64_t until_ns)
{
    d->until_ns = until_ns;
    db_watch(d);
}

void db_set_cancels(struct db *d, const struct cancel *one, const struct cancel *other)
{
    d->cancel[0] = one;
    d->cancel[1] = other;
    db_watch(d);
}

/* Busy handler: nonzero tries again while another connection has the file. */
static int wait_busy(void *arg, int tries)
{
    struct db *d = arg;
    uint64_t now = os_mono_ns();
    if (tries == 0)
        d->busy_since_ns = now;
    if (db_is_cancelled(d) || now - d->busy_since_ns > (uint64_t)d->wait_ms * 1000000)
        return 0;
    long ms = tries < 5 ? 1 + tries : 10;
    (void)nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
    return 1;
}

/* Nobody asks how much memory SQLite has taken, and counting it takes a lock that all its
 * connections share, twice for each piece of memory. Refused where a program that we are a
 * part of uses SQLite already: then it counts. */
static void count_no_memory(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

int db_open_raw(const char *path, int flags, sqlite3 **out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, count_no_memory);
    return sqlite3_open_v2(path, out, flags, NULL);
}

/* The file may be a stranger's: its schema must not be able to do anything. */
void db_harden(struct db *d)
{
    static const int off[] = {
        SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER,
        SQLITE_DBCONFIG_ENABLE_VIEW,    SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION,
        SQLITE_DBCONFIG_DQS_DDL,        SQLITE_DBCONFIG_DQS_DML};
    for (size_t i = 0; i < LENGTH(off); i++)
        (void)sqlite3_db_config(d->raw, off[i], 0, (int *)NULL);
    (void)sqlite3_db_config(d->raw, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
    (void)sqlite3_db_config(d->raw, SQLITE_DBCONFIG_ENABLE_FKEY, 1, (int *)NULL);
    (void)sqlite3_limit(d->raw, SQLITE_LIMIT_ATTACHED, 0);
    (void)sqlite3_limit(d->raw, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
    (void)sqlite3_limit(d->raw, SQLITE_LIMIT_WORKER_THREADS, 0);
    (void)sqlite3_extended_result_codes(d->raw, 1);
    d->wait_ms = WAIT_MS;
    (void)sqlite3_busy_handler(d->raw, wait_busy, d);
}

static bool user_version(struct db *d, int64_t *out, struct err *e)
{
    scoped(query_end) struct query *q = db_query(d, "PRAGMA user_version", e);
    if (!q || !query_next(q, e))
        return false;
    *out = query_int(q, 0);
    return true;
}

static bool set_version(struct db *d, unsigned version, struct err *e)
{
    char sql[64];
    (void)snprintf(sql, sizeof sql, "PRAGMA user_version = %u", version);
    return db_exec(d, sql, e);
}

static bool is_empty(struct db *d, struct err *e)
{
    scoped(query_end) struct query *q = db_query(d, "SELECT 1 FROM sqlite_schema", e);
    return q && !query_next(q, e) && !e->code;
}

/* `*stale`: what is there is to be made again. */
static bool make_schema(struct db *d, const struct db_options *o, bool *stale,
                        struct err *e)
{
    int64_t have;
    scoped_transaction struct transaction t = {0};
    if (!user_version(d, &have, e))
        return false;
    if (have == o->version)
        return true;
    if (!db_begin(&t, d, e))
        return false;
    *stale = have != 0 || !is_empty(d, e);
    if (*stale)
        return err_set(e, ERR_CONFLICT, "the database has version %lld, not %u",
                       (long long)have, o->version);
    return db_exec(d, o->schema, e) && set_version(d, o->version, e) && db_commit(&t, e);
}

static bool migrate(struct db *d, const struct db_options *o, struct err *e)
{
    int64_t have;
    if (!user_version(d, &have, e))
        return false;
    if (have == o->migration_count)
        return true;

    scoped_transaction struct transaction t = {0};
    /* Asked again inside: another process may have been faster. */
    if (!db_begin(&t, d, e) || !user_version(d, &have, e))
        return false;
    if (have < 0 || have > o->migration_count)
        return err_set(e, ERR_CONFLICT,
                       "the database was made by a newer version of "
                       "this program (its version is %lld, known are up to %u)",
                       (long long)have, o->migration_count);
    for (unsigned i = (unsigned)have; i < o->migration_count; i++)
        if (!db_exec(d, o->migrations[i], e))
            return false;
    return set_version(d, o->migration_count, e) && db_commit(&t, e);
}

static struct db *open_path(const char *path, const struct db_options *o, bool *damaged,
                            bool *stale, struct err *e)
{
    scoped(db_close) struct db *d = mem_new(sizeof *d);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                SQLITE_OPEN_NOFOLLOW;
    int rc = db_open_raw(path, flags, &d->raw);
    if (rc != SQLITE_OK) {
        db_failed(d, rc, "open", e);
        return NULL;
    }
    db_harden(d);
    if (o->wait_ms)
        d->wait_ms = o->wait_ms;
    const char *mode =
        o->remote ? "PRAGMA journal_mode = DELETE" : "PRAGMA journal_mode = WAL";
    const char *sync = o->durable    ? "PRAGMA synchronous = EXTRA"
                       : o->fleeting ? "PRAGMA synchronous = OFF"
                                     : "PRAGMA synchronous = NORMAL";
    bool ok = (!o->large_pages || db_exec(d, "PRAGMA page_size = 8192", e)) &&
              db_exec(d, mode, e) && db_exec(d, sync, e) &&
              db_exec(d, "PRAGMA temp_store = MEMORY", e) &&
              (o->schema ? make_schema(d, o, stale, e) : migrate(d, o, e));
    *damaged = d->damaged;
    return ok ? take(d) : NULL;
}

/* SQLite wants a path and refuses symbolic links on it. */
bool db_path_of(int dir, const char *name, char path[static PATH_MAX], struct err *e)
{
    scoped(free) char *folder = os_dir_path(dir, e);
    if (!folder)
        return err_wrap(e, "the database \"%.100s\"", name);
    int n = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return (n > 0 && n < PATH_MAX) ||
           err_set(e, ERR_IO, "the path of the database \"%.100s\" is too long", name);
}

/* Held while a file is opened or removed: two that turn one new file to WAL at
 * once would fail, not wait. */
static int lock_of(int dir, const char *name, unsigned wait_ms, struct err *e)
{
    char lock_name[NAME_MAX + 1];
    (void)snprintf(lock_name, sizeof lock_name, "%.200s.lock", name);
    return os_lock(dir, lock_name, 0, wait_ms, e);
}

static const char *const tails[] = {"-wal", "-shm", "-journal", ""};

/* `count` of the companions; with all four also the file itself, last. */
static bool remove_files(int dir, const char *name, size_t count, struct err *e)
{
    for (size_t i = 0; i < count; i++) {
        char full[NAME_MAX + 1];
        (void)snprintf(full, sizeof full, "%.200s%s", name, tails[i]);
        struct err why = {0};
        if (!os_remove_file(dir, full, &why) && why.code != ERR_NOT_FOUND) {
            *e = e->code ? *e : why;
            return false;
        }
    }
    return true;
}

/* Only for a file that no other process has ever opened: SQLite makes the companions with the mode of the file,
 * which it takes from the umask. */
static void make_private(int dir, const char *name)
{
    struct err none = {0};
    os_close(
        os_open_beneath(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, &none));
}

static void keep_private(int dir, const char *name)
{
    for (size_t i = 0; i < LENGTH(tails); i++) {
        char full[NAME_MAX + 1];
        (void)snprintf(full, sizeof full, "%.200s%s", name, tails[i]);
        os_keep_private(dir, full);
    }
}

struct db *db_open(int dir, const char *name, const struct db_options *o, bool *damaged,
                   struct err *e)
{
    bool unused, stale = false;
    damaged = damaged ? damaged : &unused;
    *damaged = false;
    char path[PATH_MAX];
    if (!db_path_of(dir, name, path, e))
        return NULL;
    scoped_fd int lock = lock_of(dir, name, o->wait_ms ? o->wait_ms : WAIT_MS, e);
    if (lock < 0)
        return NULL;
    struct os_stat st;
    struct err why = {0};
    if (os_stat_beneath(dir, name, &st, &why)) {
        if (!st.is_file) {
            err_set(e, ERR_DENIED, "the database \"%.100s\" is not a regular file", name);
            return NULL;
        }
        keep_private(dir, name);
    } else if (why.code != ERR_NOT_FOUND) {
        *e = e->code ? *e : why;
        return NULL;
    } else if (!remove_files(dir, name, 3, e)) {
        return NULL; /* companions of a file that was deleted would spoil a new one */
    } else {
        make_private(dir, name);
    }
    why = (struct err){0};
    struct db *d = open_path(path, o, damaged, &stale, &why);
    if (!d && (stale || (*damaged && o->schema))) {
        why = (struct err){0};
        if (remove_files(dir, name, LENGTH(tails), &why)) {
            make_private(dir, name);
            d = open_path(path, o, damaged, &stale, &why);
        }
    }
    if (!d)
        *e = e->code ? *e : why;
    return d;
}

bool db_is_file(int dir, const char *name, struct err *e)
{
    struct os_stat st;
    if (!os_stat_beneath(dir, name, &st, e))
        return false;
    return st.is_file ||
           err_set(e, ERR_DENIED, "the database \"%.100s\" is not a regular file", name);
}

static bool has_companion(int dir, const char *name)
{
    static const char *const kinds[] = {"-wal", "-journal"};
    for (size_t i = 0; i < LENGTH(kinds); i++) {
        char full[NAME_MAX + 1];
        struct os_stat st;
        struct err none = {0};
        (void)snprintf(full, sizeof full, "%.200s%s", name, kinds[i]);
        if (os_stat_beneath(dir, full, &st, &none) && st.size > 0)
            return true;
    }
    return false;
}

bool db_put_uri(const char *path, const char *parameter, struct buf *out)
{
    buf_cstr(out, "file:");
    for (; *path; path++)
        if (strchr("%?#", *path))
            buf_printf(out, "%%%02x", (unsigned char)*path);
        else
            buf_char(out, *path);
    return buf_printf(out, "?%s", parameter);
}

struct db *db_open_frozen(int dir, const char *name, const struct db_options *o,
                          struct err *e)
{
    char path[PATH_MAX];
    if (!db_is_file(dir, name, e))
        return NULL;
    if (has_companion(dir, name)) {
        err_set(
            e, ERR_DENIED,
            "the database \"%.100s\" is being written, or a write was cut off; it can "
            "be read when its folder may be written",
            name);
        return NULL;
    }
    if (!db_path_of(dir, name, path, e))
        return NULL;
    scoped_buf struct buf uri = buf_of(3 * PATH_MAX);
    scoped(db_close) struct db *d = mem_new(sizeof *d);
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW |
                SQLITE_OPEN_URI;
    int rc = db_put_uri(path, "immutable=1", &uri)
                 ? db_open_raw(buf_cz(&uri), flags, &d->raw)
                 : SQLITE_NOMEM;
    if (rc != SQLITE_OK) {
        db_failed(d, rc, "open", e);
        return NULL;
    }
    db_harden(d);
    int64_t version;
    if (!user_version(d, &version, e))
        return NULL;
    if (version != o->migration_count) {
        err_set(e, ERR_CONFLICT,
                "the database \"%.100s\" was made by another version of this program "
                "(its version is %lld, this one's %u) and cannot be changed",
                name, (long long)version, o->migration_count);
        return NULL;
    }
    return take(d);
}

struct db *db_open_memory(const struct db_options *o, struct err *e)
{
    bool damaged, stale;
    return open_path(":memory:", o, &damaged, &stale, e);
}

void db_close(struct db *d)
{
    if (!d)
        return;
    for (struct query *q = d->queries, *next; q; q = next) {
        next = q->next;
        (void)sqlite3_finalize(q->stmt);
        free(q);
    }
    (void)sqlite3_close_v2(d->raw);
    db_shadow_close(d);
    buf_done(&d->tables);
    free(d);
}

bool db_remove(int dir, const char *name, struct err *e)
{
    scoped_fd int lock = lock_of(dir, name, WAIT_MS, e);
    return lock >= 0 && remove_files(dir, name, 4, e);
}
