/* The store: its place, who may write, contents, notes and revisions. */
#include "notes/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "notes/apply.h"
#include "notes/own.h"

#define LOCK_NAME OWN_DIR "/notes.lock"
#define LOCK_WAIT_MS 15000u
#define LOCK_SLICE_MS 20u /* between looks whether the call goes on */

static const char *const migrations[] = {
    "CREATE TABLE contents("
    " id INTEGER PRIMARY KEY,"
    " hash TEXT NOT NULL UNIQUE,"
    " bytes BLOB NOT NULL);"
    "CREATE TABLE totals(bytes INTEGER NOT NULL);" /* of all contents */
    "INSERT INTO totals VALUES(0);"
    "CREATE TABLE notes("
    " key INTEGER PRIMARY KEY,"
    " uid TEXT,"
    " path TEXT NOT NULL," /* where it is, or was last */
    " gone INTEGER NOT NULL);"
    "CREATE UNIQUE INDEX notes_by_path ON notes(path) WHERE gone = 0;"
    "CREATE INDEX notes_by_last_path ON notes(path);"
    "CREATE INDEX notes_by_uid ON notes(uid) WHERE uid IS NOT NULL;"
    "CREATE TABLE revisions("
    " id INTEGER PRIMARY KEY,"
    " note INTEGER NOT NULL REFERENCES notes(key),"
    " number INTEGER NOT NULL," /* from 1, never given twice */
    " time INTEGER NOT NULL,"   /* ms */
    " author TEXT NOT NULL,"
    " action TEXT NOT NULL,"
    " summary TEXT NOT NULL,"
    " path TEXT NOT NULL,"
    " hash TEXT NOT NULL,"
    " content INTEGER REFERENCES contents(id),"
    " size INTEGER NOT NULL,"
    " backup TEXT);"
    "CREATE UNIQUE INDEX revisions_by_note ON revisions(note, number);"
    "CREATE INDEX revisions_by_content ON revisions(content);"
    /* The steps of the one change under way: '' is no file. */
    "CREATE TABLE pending("
    " step INTEGER PRIMARY KEY,"
    " from_path TEXT NOT NULL,"
    " to_path TEXT NOT NULL,"
    " old_hash TEXT NOT NULL,"
    " new_hash TEXT NOT NULL);",

    "ALTER TABLE pending ADD COLUMN before INTEGER NOT NULL DEFAULT 0;", /* revision */

    /* The call that made it, as the audit names it; NULL: none said. How many revisions were
     * ever dropped: what else is missing was taken by somebody. */
    "ALTER TABLE revisions ADD COLUMN call TEXT;"
    "ALTER TABLE totals ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;"
    "UPDATE totals SET dropped = (SELECT ifnull(max(id), 0) - count(*) FROM revisions);",

    /* Bytes of each author's revisions, also where two hold the same. */
    "CREATE TABLE authors(author TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;"
    "INSERT INTO authors SELECT author, sum(size) FROM revisions GROUP BY author;"
    "CREATE INDEX revisions_by_author ON revisions(author);",
};

struct history {
    struct vault *vault;
    pthread_mutex_t mutex; /* the rest; held between history_lock() and _unlock() */
    int folder;            /* -1 before the first use */
    struct db *db;
    uint64_t inode;
    bool frozen; /* the store cannot be written, and is as it was when it was opened */
    int lock;    /* -1: not held */
    atomic_bool looked;   /* for what a crash left, once */
    atomic_uint settling; /* how many look for it now */
};

struct history *history_new(struct vault *v)
{
    struct history *h = mem_new(sizeof *h);
    h->vault = v;
    h->folder = h->lock = -1;
    must(pthread_mutex_init(&h->mutex, NULL) == 0);
    return h;
}

static void close_store(struct history *h)
{
    db_close(h->db);
    h->db = NULL;
    os_close(h->folder);
    h->folder = -1;
}

void history_free(struct history *h)
{
    if (!h)
        return;
    close_store(h);
    (void)pthread_mutex_destroy(&h->mutex);
    free(h);
}

/* ---- the file ------------------------------------------------------------ */

static uint64_t history_inode(const struct history *h)
{
    struct os_stat st;
    struct err none = {0};
    return os_stat_beneath(h->vault->dir, HISTORY_DIR "/" HISTORY_NAME, &st, &none)
               ? st.inode
               : 0;
}

/* A damaged store is put aside: somebody may want to look into it. */
static bool history_put_aside(struct history *h, struct err *e)
{
    char aside[100];
    (void)snprintf(aside, sizeof aside, HISTORY_DIR "/damaged-%lld.db",
                   (long long)os_real_ms());
    return os_move(h->vault->dir, HISTORY_DIR "/" HISTORY_NAME, aside, e);
}

static bool open_store(struct history *h, struct err *e)
{
    if (h->db && !h->frozen && !db_is_damaged(h->db) && history_inode(h) == h->inode)
        return true;
    bool damaged = h->db && db_is_damaged(h->db);
    close_store(h);
    h->frozen = false;
    if (damaged && h->lock >= 0 && !history_put_aside(h, e))
        return false;
    if (!own_make(h->vault->dir, e) || !os_make_dirs(h->vault->dir, HISTORY_DIR, e))
        return false;
    h->folder = os_open_beneath(h->vault->dir, HISTORY_DIR,
                                O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, e);
    if (h->folder < 0)
        return false;
    const struct db_options options = {.migrations = migrations,
                                       .migration_count = LENGTH(migrations),
                                       .durable = true,
                                       .remote = !os_is_local(h->vault->dir)};
    struct err why = {0};
    h->db = db_open(h->folder, HISTORY_NAME, &options, &damaged, &why);
    if (!h->db && why.code == ERR_DENIED && h->lock < 0) {
        why = (struct err){0};
        h->db = db_open_frozen(h->folder, HISTORY_NAME, &options, &why);
        h->frozen = h->db;
    }
    if (!h->db && damaged && h->lock >= 0) {
        why = (struct err){0};
        if (history_put_aside(h, &why))
            h->db = db_open(h->folder, HISTORY_NAME, &options, NULL, &why);
    }
    h->inode = history_inode(h);
    return h->db || err_set(e, why.code, "the notes' history: %s", why.msg);
}

/* ---- the lock ------------------------------------------------------------ */

static bool waited(struct err *e)
{
    return err_set(e, ERR_BUSY,
                   "timed out after %u ms waiting for another write to this vault; "
                   "nothing was written; try again",
                   LOCK_WAIT_MS);
}

static bool take_mutex(struct history *h, const struct vault *v, struct err *e)
{
    struct err why = {0};
    return vault_wait(v, &h->mutex, LOCK_WAIT_MS, &why) ||
           (why.code == ERR_BUSY ? waited(e) : err_pass(e, &why));
}

static int take_lock(const struct vault *v, unsigned wait_ms, struct err *e)
{
    struct err why = {0};
    int fd = os_lock(v->dir, LOCK_NAME, 0, wait_ms, &why);
    if (fd < 0 && why.code == ERR_NOT_FOUND && os_make_dirs(v->dir, OWN_DIR, e))
        return os_lock(v->dir, LOCK_NAME, 0, wait_ms, e);
    if (fd < 0)
        err_set(e, why.code,
                why.code == ERR_DENIED ? "the vault may not be written: %s" : "%s",
                why.msg);
    return fd;
}

bool history_mark(struct history *h, enum history_mark mark, struct err *e)
{
    bool ok = ftruncate(h->lock, mark) == 0 &&
              (mark != HISTORY_ABANDONED || fsync(h->lock) == 0);
    return ok || err_set(e, ERR_IO, "cannot mark the vault as being written: %m");
}

bool history_is_abandoned(const struct history *h)
{
    struct os_stat st;
    struct err none = {0};
    return os_stat_fd(h->lock, &st, &none) && st.size == HISTORY_ABANDONED;
}

static bool is_marked(const struct history *h)
{
    struct os_stat st;
    struct err none = {0};
    return os_stat_beneath(h->vault->dir, LOCK_NAME, &st, &none) && st.size > 0;
}

/* Waits for the write lock, also of another process. */
static int history_wait_lock(const struct vault *v, struct err *e)
{
    uint64_t until = os_in_ms(LOCK_WAIT_MS);
    while (vault_goes_on(v, e)) {
        struct err why = {0};
        int fd = take_lock(v, LOCK_SLICE_MS, &why);
        if (fd >= 0)
            return fd;
        if (why.code == ERR_BUSY && os_mono_ns() < until)
            continue;
        if (why.code == ERR_BUSY)
            waited(e);
        else
            err_pass(e, &why);
        return -1;
    }
    return -1;
}

struct db *history_lock(struct history *h, const struct vault *v, struct err *e)
{
    if (!take_mutex(h, v, e))
        return NULL;
    h->lock = history_wait_lock(v, e);
    if (h->lock >= 0 && open_store(h, e) && apply_pending(h->vault, h, h->db, e))
        return h->db;
    history_unlock(h);
    return NULL;
}

void history_unlock(struct history *h)
{
    os_close(h->lock);
    h->lock = -1;
    pthread_mutex_unlock(&h->mutex);
}

static void settle_locked(struct history *h)
{
    struct err ignored = {0};
    h->lock = take_lock(h->vault, 0, &ignored);
    if (h->lock >= 0 && open_store(h, &ignored))
        (void)apply_pending(h->vault, h, h->db, &ignored);
    history_unlock(h);
}

void history_settle(struct history *h)
{
    bool first = !atomic_exchange(&h->looked, true);
    if ((!first && !is_marked(h)) || !history_inode(h))
        return;
    bool others = atomic_fetch_add(&h->settling, 1) > 0;
    if (pthread_mutex_trylock(&h->mutex) == 0) {
        settle_locked(h);
    } else if (others) {
        /* Another reader is at it: only when it is done what a dead process left has
         * ended. A writer's own change is not waited for. */
        pthread_mutex_lock(&h->mutex);
        pthread_mutex_unlock(&h->mutex);
    }
    atomic_fetch_sub(&h->settling, 1);
}

struct db *history_read(struct history *h, bool *none, struct err *e)
{
    *none = history_inode(h) == 0;
    if (*none || !take_mutex(h, h->vault, e))
        return NULL;
    if (open_store(h, e))
        return h->db;
    history_read_end(h);
    return NULL;
}

void history_read_end(struct history *h)
{
    pthread_mutex_unlock(&h->mutex);
}

/* ---- contents ------------------------------------------------------------ */

bool history_count(struct db *db, int64_t more, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db, "UPDATE totals SET bytes = bytes + ?", e);
    if (!q)
        return false;
    query_bind_int(q, 1, more);
    return query_run(q, e);
}

static bool find_content(struct db *db, struct str hash, int64_t *id, struct err *e)
{
    *id = 0;
    scoped(query_end) struct query *q =
        db_query(db, "SELECT id FROM contents WHERE hash = ?", e);
    if (!q)
        return false;
    query_bind_str(q, 1, hash);
    if (query_next(q, e))
        *id = query_int(q, 0);
    return e->code == ERR_NONE;
}

bool history_keep(struct db *db, struct str bytes, const char *hash, int64_t *id,
                  struct err *e)
{
    if (!find_content(db, str_of(hash), id, e) || *id)
        return e->code == ERR_NONE;
    scoped(query_end) struct query *q =
        db_query(db, "INSERT INTO contents(hash, bytes) VALUES(?, ?)", e);
    if (!q)
        return false;
    query_bind_cstr(q, 1, hash);
    query_bind_bytes(q, 2, bytes);
    if (!query_run(q, e) || !history_count(db, (int64_t)bytes.n, e))
        return false;
    *id = db_last_id(db);
    return true;
}

bool history_bytes(struct db *db, struct str hash, struct buf *out, bool *found,
                   struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db, "SELECT bytes FROM contents WHERE hash = ?", e);
    if (!q)
        return false;
    query_bind_str(q, 1, hash);
    *found = query_next(q, e);
    if (*found)
        buf_str(out, query_bytes(q, 0));
    return e->code == ERR_NONE && buf_check(out, "a note's old content", e);
}

/* ---- notes --------------------------------------------------------------- */

static bool find_by_path(struct db *db, struct str path, struct str uid, int64_t *key,
                         struct err *e)
{
    /* Another uid at this path: another note has taken the file's place. */
    scoped(query_end) struct query *q =
        db_query(db,
                 "SELECT key FROM notes WHERE path = ?1 AND gone = 0"
                 " AND (uid IS NULL OR ?2 = '' OR uid = ?2)",
                 e);
    if (!q)
        return false;
    query_bind_str(q, 1, path);
    query_bind_str(q, 2, uid);
    if (query_next(q, e))
        *key = query_int(q, 0);
    return e->code == ERR_NONE;
}

/* Finds a note whose file another program moved or removed. A copy with the same uid
 * beside the note itself is a note of its own. */
static bool find_by_uid(struct db *db, struct vault *v, struct str uid, int64_t *key,
                        struct err *e)
{
    scoped(query_end) struct query *q = db_query(
        db, "SELECT key, path, gone FROM notes WHERE uid = ? ORDER BY key DESC", e);
    if (!q)
        return false;
    query_bind_str(q, 1, uid);
    while (!*key && query_next(q, e))
        if (query_int(q, 2) || !vault_has(v, query_str(q, 1)))
            *key = query_int(q, 0);
    return e->code == ERR_NONE;
}

static bool find_gone(struct db *db, struct str path, int64_t *key, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db,
                 "SELECT key FROM notes WHERE path = ? AND gone = 1"
                 " ORDER BY " NOTE_CHANGED " DESC LIMIT 1",
                 e);
    if (!q)
        return false;
    query_bind_str(q, 1, path);
    if (query_next(q, e))
        *key = query_int(q, 0);
    return e->code == ERR_NONE;
}

bool history_of_path(struct db *db, struct str path, bool gone, int64_t *key,
                     struct err *e)
{
    *key = 0;
    return gone ? find_gone(db, path, key, e) : find_by_path(db, path, STR(""), key, e);
}

bool history_of_backup(struct db *db, struct str path, struct str backup, int64_t *key,
                       struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db,
                 "SELECT note FROM notes n JOIN revisions r ON r.note = n.key"
                 " WHERE n.path = ?1 AND n.gone = 1 AND r.backup = ?2",
                 e);
    *key = 0;
    if (!q)
        return false;
    query_bind_str(q, 1, path);
    query_bind_str(q, 2, backup);
    if (query_next(q, e))
        *key = query_int(q, 0);
    return e->code == ERR_NONE;
}

bool history_find(struct db *db, struct vault *v, struct str path, struct str uid,
                  int64_t *key, struct err *e)
{
    *key = 0;
    return find_by_path(db, path, uid, key, e) &&
           (*key || !uid.n || find_by_uid(db, v, uid, key, e)) &&
           (*key || uid.n || vault_has(v, path) || find_gone(db, path, key, e));
}

/* Another note's row stands for the path that this one has now: that one is gone. */
static bool free_path(struct db *db, struct str path, int64_t key, struct err *e)
{
    scoped(query_end) struct query *q = db_query(
        db, "UPDATE notes SET gone = 1 WHERE path = ? AND gone = 0 AND key <> ?", e);
    if (!q)
        return false;
    query_bind_str(q, 1, path);
    query_bind_int(q, 2, key);
    return query_run(q, e);
}

bool history_moved(struct db *db, int64_t key, struct str path, bool gone, struct err *e)
{
    if (!gone && !free_path(db, path, key, e))
        return false;
    scoped(query_end) struct query *q =
        db_query(db, "UPDATE notes SET path = ?, gone = ? WHERE key = ?", e);
    if (!q)
        return false;
    query_bind_str(q, 1, path);
    query_bind_int(q, 2, gone);
    query_bind_int(q, 3, key);
    return query_run(q, e);
}

static bool learn_uid(struct db *db, int64_t key, struct str uid, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db, "UPDATE notes SET uid = ? WHERE key = ? AND uid IS NULL", e);
    if (!q)
        return false;
    query_bind_str(q, 1, uid);
    query_bind_int(q, 2, key);
    return query_run(q, e);
}

bool history_key(struct db *db, struct vault *v, struct str path, struct str uid,
                 int64_t *key, struct err *e)
{
    *key = 0;
    if (!find_by_path(db, path, uid, key, e) ||
        (!*key && uid.n && !find_by_uid(db, v, uid, key, e)))
        return false;
    if (*key)
        return history_moved(db, *key, path, false, e) &&
               (!uid.n || learn_uid(db, *key, uid, e));
    scoped(query_end) struct query *q =
        db_query(db, "INSERT INTO notes(uid, path, gone) VALUES(?, ?, 0)", e);
    if (!q || !free_path(db, path, 0, e))
        return false;
    if (uid.n)
        query_bind_str(q, 1, uid);
    query_bind_str(q, 2, path);
    if (!query_run(q, e))
        return false;
    *key = db_last_id(db);
    return true;
}

/* ---- revisions ----------------------------------------------------------- */

bool history_number(struct db *db, const char *sql, int64_t arg, int64_t *out,
                    struct err *e)
{
    *out = 0;
    scoped(query_end) struct query *q = db_query(db, sql, e);
    if (!q)
        return false;
    query_bind_int(q, 1, arg);
    if (query_next(q, e))
        *out = query_int(q, 0);
    return e->code == ERR_NONE;
}

static bool count_share(struct db *db, const struct revision_note *r, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db,
                 "INSERT INTO authors VALUES(?, ?) ON CONFLICT(author) DO UPDATE"
                 " SET bytes = bytes + excluded.bytes",
                 e);
    if (!q)
        return false;
    query_bind_cstr(q, 1, r->author);
    query_bind_int(q, 2, (int64_t)r->size);
    return query_run(q, e);
}

bool history_add(struct db *db, const struct revision_note *r, struct err *e)
{
    int64_t last;
    if (!history_number(db, "SELECT max(number) FROM revisions WHERE note = ?", r->key,
                        &last, e))
        return false;
    scoped(query_end) struct query *q = db_query(
        db,
        "INSERT INTO revisions(note, number, time, author, action, summary, path,"
        " hash, content, size, backup, call)"
        " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        e);
    if (!q)
        return false;
    query_bind_int(q, 1, r->key);
    query_bind_int(q, 2, last + 1);
    query_bind_int(q, 3, r->time_ms);
    query_bind_cstr(q, 4, r->author);
    query_bind_cstr(q, 5, r->action);
    query_bind_cstr(q, 6, r->summary);
    query_bind_str(q, 7, r->path);
    query_bind_cstr(q, 8, r->hash);
    if (r->content)
        query_bind_int(q, 9, r->content);
    query_bind_int(q, 10, (int64_t)r->size);
    query_bind_cstr(q, 11, r->backup);
    if (r->call && *r->call)
        query_bind_cstr(q, 12, r->call);
    return query_run(q, e) && count_share(db, r, e) && history_prune(db, r, last + 1, e);
}

bool history_has_last(struct db *db, int64_t key, const char *hash, bool *has,
                      struct err *e)
{
    scoped(query_end) struct query *q = db_query(
        db, "SELECT hash FROM revisions WHERE note = ? ORDER BY number DESC LIMIT 1", e);
    if (!q)
        return false;
    query_bind_int(q, 1, key);
    *has = query_next(q, e) && str_is(query_str(q, 0), hash);
    return e->code == ERR_NONE;
}
