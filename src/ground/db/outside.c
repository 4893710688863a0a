/* Questions that strangers ask, in SQL.
 *
 * A question's rights are decided where SQLite compiles it: the authorizer hears of
 * names and each thing it does. The tables themselves may be read by our views alone, and
 * SQLite tells by its name which view reads. As a question may call a subquery of its own
 * by any name, the views that read have names which it cannot know.
 *
 * That is for good messages. SQLite does not tell of all that is read: a column that two
 * tables are joined by (USING, NATURAL) comes without a word. So what a question reads is
 * looked at once more, in what SQLite compiles it to (shadow.c). */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "db/inner.h"
#include "os/os.h"

#define STEPS_BETWEEN_LOOKS 1000 /* of SQLite's machine */
#define BLOATED_BYTES (16 << 20)

/* ---- connections ---------------------------------------------------------- */

static struct db *outside_wrap(sqlite3 *raw, int rc, struct err *e)
{
    scoped(db_close) struct db *d = mem_new(sizeof *d);
    d->raw = raw;
    buf_init(&d->tables, BUF_LIST);
    if (rc != SQLITE_OK) {
        db_failed(d, rc, "open", e);
        return NULL;
    }
    db_harden(d);
    if (!db_exec(d, "PRAGMA temp_store = MEMORY", e))
        return NULL;
    return take(d);
}

/* ---- in a process that can open nothing ------------------------------------ */

/* The C library asks by a path, which is not allowed there. */
static int fstat_alone(int fd, struct stat *st)
{
    return (int)syscall(SYS_fstat, fd, st);
}

void db_prepare_apart(void)
{
    unsigned char seed; /* the first look opens the kernel's randomness */
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    sqlite3_randomness(1, &seed);
    if (vfs && vfs->xSetSystemCall)
        (void)vfs->xSetSystemCall(vfs, "fstat", (sqlite3_syscall_ptr)fstat_alone);
    (void)sqlite3_hard_heap_limit64(DB_OUTSIDE_MEMORY_MAX);
}

bool db_is_bloated(void)
{
    return sqlite3_memory_highwater(1) > BLOATED_BYTES;
}

struct db *db_open_apart(const char *path, struct err *e)
{
    sqlite3 *raw = NULL;
    scoped_buf struct buf uri = buf_of(3 * PATH_MAX);
    /* The log's index lies in memory that all processes share: this one only reads it. */
    if (!db_put_uri(path, "readonly_shm=1", &uri)) {
        err_set(e, ERR_IO, "the path of the database is too long");
        return NULL;
    }
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW |
                SQLITE_OPEN_URI;
    int rc = db_open_raw(buf_cz(&uri), flags, &raw);
    scoped(db_close) struct db *d = outside_wrap(raw, rc, e);
    /* Reading opens the files that go with it, which stay open. */
    return d && db_exec(d, "PRAGMA mmap_size = 0; SELECT 1 FROM sqlite_schema", e)
               ? take(d)
               : NULL;
}

bool db_write_to(struct db *d, int fd, struct err *e)
{
    sqlite3_int64 size = 0;
    unsigned char *all = sqlite3_serialize(d->raw, "main", &size, 0);
    if (!all)
        return err_set(e, ERR_LIMIT, "there is no memory for a copy of the database");
    bool ok = true;
    for (sqlite3_int64 at = 0; ok && at < size;) {
        ssize_t put = write(fd, all + at, (size_t)(size - at));
        ok = put > 0 || (put < 0 && errno == EINTR) ||
             err_set(e, ERR_IO, "cannot write a copy of the database: %m");
        at += put > 0 ? put : 0;
    }
    sqlite3_free(all);
    return ok;
}

struct db *db_open_bytes(int fd, struct err *e)
{
    struct stat st;
    sqlite3 *raw = NULL;
    void *at = MAP_FAILED;
    if (fstat(fd, &st) == 0 && st.st_size > 0)
        at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) {
        err_set(e, ERR_IO, "cannot read a copy of the database: %m");
        return NULL;
    }
    int rc = db_open_raw(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, &raw);
    scoped(db_close) struct db *d = outside_wrap(raw, rc, e);
    if (!d)
        return NULL;
    rc = sqlite3_deserialize(raw, "main", at, st.st_size, st.st_size,
                             SQLITE_DESERIALIZE_READONLY);
    if (rc == SQLITE_OK)
        return take(d);
    db_failed(d, rc, "open", e);
    return NULL;
}

struct db *db_open_reader(int dir, const char *name, struct err *e)
{
    char path[PATH_MAX];
    sqlite3 *raw = NULL;
    if (!db_is_file(dir, name, e) || !db_path_of(dir, name, path, e))
        return NULL;
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
    int rc = db_open_raw(path, flags, &raw);
    return outside_wrap(raw, rc, e);
}

static bool copy_all(struct db *from, struct db *to, struct err *e)
{
    sqlite3_backup *b = sqlite3_backup_init(to->raw, "main", from->raw, "main");
    int rc = b ? sqlite3_backup_step(b, -1) : SQLITE_NOMEM;
    if (b)
        (void)sqlite3_backup_finish(b);
    if (rc == SQLITE_DONE)
        return true;
    db_failed(to, rc, "copy", e);
    return false;
}

struct db *db_copy(struct db *from, struct err *e)
{
    sqlite3 *raw = NULL;
    int rc = db_open_raw(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, &raw);
    scoped(db_close) struct db *d = outside_wrap(raw, rc, e);
    return d && copy_all(from, d, e) ? take(d) : NULL;
}

bool db_copy_to(struct db *from, int dir, const char *name, struct err *e)
{
    char path[PATH_MAX];
    sqlite3 *raw = NULL;
    if (!db_path_of(dir, name, path, e))
        return false;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXCLUSIVE |
                SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
    int rc = db_open_raw(path, flags, &raw);
    scoped(db_close) struct db *d = outside_wrap(raw, rc, e);
    return d && db_exec(d, "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF", e) &&
           copy_all(from, d, e);
}

void db_hide(struct db *d, const char *name)
{
    (void)snprintf(d->schema, sizeof d->schema, "%s", name);
    (void)sqlite3_db_config(d->raw, SQLITE_DBCONFIG_MAINDBNAME, d->schema);
}

/* ---- what is allowed ------------------------------------------------------- */

static bool is_listed(const char *const *names, const char *name)
{
    while (*names && sqlite3_stricmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* Lists the tables themselves: each name between line ends. */
static bool list_tables(struct db *d, struct err *e)
{
    buf_clear(&d->tables);
    buf_char(&d->tables, '\n');
    scoped(query_end) struct query *q =
        db_query(d, "SELECT lower(name) FROM main.sqlite_schema", e);
    while (q && query_next(q, e)) {
        buf_str(&d->tables, query_str(q, 0));
        buf_char(&d->tables, '\n');
    }
    return e->code == ERR_NONE && buf_check(&d->tables, "the list of tables", e);
}

static bool is_table(struct db *d, const char *name)
{
    char line[200];
    int n = snprintf(line, sizeof line, "\n%s\n", name);
    for (char *c = line; *c; c++)
        *c = char_lower(*c);
    return n < 0 || (size_t)n >= sizeof line || strstr(buf_cz(&d->tables), line);
}

static bool may_read(struct db *d, const char *table, const char *column,
                     const char *schema, const char *reader)
{
    static const char *const functions[] = {"json_each", "json_tree", NULL};
    const struct db_outside *o = d->outside;
    if (is_listed(functions, table))
        return true;
    /* Rows that are only counted: SQLite tells the schema as it is written there, and
     * not who reads. Or a subquery of the question's own. */
    if (!schema)
        return is_listed(o->names, table) || !is_table(d, table);
    if (!*column && !strcmp(schema, o->inner))
        return true;
    if (!sqlite3_stricmp(schema, "temp"))
        return is_listed(o->names, table) || !strncmp(table, o->inner, strlen(o->inner));
    return reader && !strncmp(reader, o->inner, strlen(o->inner));
}

/* By name, those that reach beyond the question's own values. */
static bool may_call(const char *function)
{
    static const char *const not[] = {"load_extension",
                                      "readfile",
                                      "writefile",
                                      "edit",
                                      "fts3_tokenizer",
                                      "fts5",
                                      "fts5_source_id",
                                      "sqlite_log",
                                      "sqlite_compileoption_get",
                                      "sqlite_compileoption_used",
                                      "sqlite_source_id",
                                      "match",
                                      NULL};
    return !is_listed(not, function);
}

static int authorize(void *arg, int action, const char *one, const char *two,
                     const char *schema, const char *reader)
{
    struct db *d = arg;
    const char *what = "do that";
    switch (action) {
    case SQLITE_SELECT:
        return SQLITE_OK;
    case SQLITE_READ:
        if (may_read(d, one, two ? two : "", schema, reader))
            return SQLITE_OK;
        (void)snprintf(d->denied, sizeof d->denied, "read the table \"%.60s\"", one);
        return SQLITE_DENY;
    case SQLITE_FUNCTION:
        if (may_call(two))
            return SQLITE_OK;
        (void)snprintf(d->denied, sizeof d->denied, "call the function %.60s()", two);
        return SQLITE_DENY;
    case SQLITE_RECURSIVE:
        what = "use WITH RECURSIVE";
        break;
    case SQLITE_PRAGMA:
        what = "use PRAGMA";
        break;
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
        what = "ATTACH or DETACH";
        break;
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
        what = "change anything";
        break;
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
        what = "begin or end a transaction";
        break;
    default:
        what = "make or drop anything";
    }
    (void)snprintf(d->denied, sizeof d->denied, "%s", what);
    return SQLITE_DENY;
}

/* ---- limits ----------------------------------------------------------------- */

static int outside_progress(void *arg)
{
    struct db *d = arg;
    const struct db_outside *o = d->outside;
    if (o->until_ns && os_mono_ns() > o->until_ns)
        d->stopped = ERR_TIMEOUT;
    return d->stopped != ERR_NONE;
}

void db_bound_outside(sqlite3 *raw)
{
    static const int limits[][2] = {
        {SQLITE_LIMIT_SQL_LENGTH, DB_OUTSIDE_SQL_MAX + 1},
        {SQLITE_LIMIT_LENGTH, DB_OUTSIDE_VALUE_MAX},
        {SQLITE_LIMIT_COLUMN, 200},
        {SQLITE_LIMIT_EXPR_DEPTH, 100},
        {SQLITE_LIMIT_COMPOUND_SELECT, 20},
        {SQLITE_LIMIT_VDBE_OP, 50000},
        {SQLITE_LIMIT_FUNCTION_ARG, 32},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 500},
        {SQLITE_LIMIT_VARIABLE_NUMBER, 200},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };
    for (size_t i = 0; i < LENGTH(limits); i++)
        (void)sqlite3_limit(raw, limits[i][0], limits[i][1]);
}

bool db_was_stopped(const struct db *d, struct err *e)
{
    if (d->stopped)
        db_outside_stopped(d->stopped, e);
    return d->stopped != ERR_NONE;
}

bool db_outside_stopped(enum err_code why, struct err *e)
{
    switch (why) {
    case ERR_TIMEOUT:
        return err_set(e, ERR_TIMEOUT,
                       "the query took longer than it may and was stopped; "
                       "narrow it with WHERE, or join fewer rows");
    case ERR_CANCELLED:
        return err_set(e, ERR_CANCELLED, "the query was cancelled");
    default:
        return err_set(
            e, ERR_LIMIT,
            "the query needs more than %d MB of memory and was stopped; sort or group "
            "fewer rows",
            DB_OUTSIDE_MEMORY_MAX >> 20);
    }
}

/* ---- compiling ---------------------------------------------------------------- */

static bool outside_refused(struct db *d, int rc, struct err *e)
{
    if ((rc & 0xff) == SQLITE_NOMEM)
        d->stopped = ERR_LIMIT;
    if (db_was_stopped(d, e))
        return false;
    if (d->denied[0])
        return err_set(e, ERR_DENIED,
                       "a query may not %s; it may SELECT from the views that are "
                       "documented, and nothing was changed",
                       d->denied);
    enum err_code code = db_code(rc);
    return err_set(e, code == ERR_LIMIT ? ERR_LIMIT : ERR_INVALID,
                   "the query is not accepted: %.200s", sqlite3_errmsg(d->raw));
}

/* Is there more behind the first statement than space and comments? */
static bool has_more(struct db *d, const char *tail, const char *end)
{
    sqlite3_stmt *second = NULL;
    int rc = sqlite3_prepare_v3(d->raw, tail, (int)(end - tail), 0, &second, NULL);
    (void)sqlite3_finalize(second);
    return rc != SQLITE_OK || second;
}

static bool check_statement(struct db *d, sqlite3_stmt *stmt, const char *tail,
                            const char *end, struct err *e)
{
    if (!stmt)
        return err_set(e, ERR_INVALID, "the query is empty; one SELECT is accepted");
    if (sqlite3_stmt_isexplain(stmt))
        return err_set(e, ERR_DENIED, "a query may not EXPLAIN; one SELECT is accepted");
    if (!sqlite3_stmt_readonly(stmt) || sqlite3_column_count(stmt) == 0)
        return err_set(e, ERR_DENIED, "a query may only read: one SELECT is accepted");
    return !has_more(d, tail, end) ||
           err_set(e, ERR_INVALID, "one statement is accepted, not several");
}

struct query *db_ask(struct db *d, struct str sql, const struct db_outside *o,
                     struct err *e)
{
    if (sql.n > DB_OUTSIDE_SQL_MAX) {
        err_set(e, ERR_LIMIT, "the query has %zu bytes; at most %u are accepted", sql.n,
                DB_OUTSIDE_SQL_MAX);
        return NULL;
    }
    if (sql.n && memchr(sql.at, '\0', sql.n)) {
        err_set(e, ERR_INVALID, "the query holds a NUL character");
        return NULL;
    }
    if (!d->tables.n && !list_tables(d, e))
        return NULL;
    if (!d->shadow && !db_shadow_open(d, o, e))
        return NULL;
    d->outside = o;
    d->stopped = ERR_NONE;
    d->denied[0] = '\0';
    db_bound_outside(d->raw);
    sqlite3_progress_handler(d->raw, STEPS_BETWEEN_LOOKS, outside_progress, d);
    (void)sqlite3_set_authorizer(d->raw, authorize, d);
    sqlite3_stmt *stmt = NULL;
    const char *tail = "";
    int rc = sqlite3_prepare_v3(d->raw, sql.n ? sql.at : "", (int)sql.n, 0, &stmt, &tail);
    bool ok = rc == SQLITE_OK ? check_statement(d, stmt, tail, sql.at + sql.n, e)
                              : outside_refused(d, rc, e);
    ok = ok && (db_shadow_check(d, sql) || outside_refused(d, SQLITE_AUTH, e));
    /* It is compiled: what virtual tables do inside is theirs. */
    (void)sqlite3_set_authorizer(d->raw, NULL, NULL);
    if (!ok) {
        (void)sqlite3_finalize(stmt);
        return NULL;
    }
    struct query *q = mem_new(sizeof *q);
    *q = (struct query){.db = d, .stmt = stmt, .busy = true};
    return q;
}

/* ---- what it answers ------------------------------------------------------------ */

int query_columns(const struct query *q)
{
    return sqlite3_column_count(q->stmt);
}

struct str query_name(struct query *q, int i)
{
    return str_of(sqlite3_column_name(q->stmt, i));
}

enum db_type query_type(struct query *q, int i)
{
    switch (sqlite3_column_type(q->stmt, i)) {
    case SQLITE_INTEGER:
        return DB_INT;
    case SQLITE_FLOAT:
        return DB_NUMBER;
    case SQLITE_TEXT:
        return DB_TEXT;
    case SQLITE_BLOB:
        return DB_BYTES;
    default:
        return DB_NULL;
    }
}

int query_parameters(const struct query *q)
{
    return sqlite3_bind_parameter_count(q->stmt);
}

int query_parameter(const struct query *q, struct str name)
{
    char signed_name[130];
    if (name.n > sizeof signed_name - 2 || memchr(name.at, '\0', name.n))
        return 0;
    int found = 0;
    for (const char *sign = ":$@"; *sign && !found; sign++) {
        (void)snprintf(signed_name, sizeof signed_name, "%c%.*s", *sign, STR_ARGS(name));
        found = sqlite3_bind_parameter_index(q->stmt, signed_name);
    }
    return found;
}
