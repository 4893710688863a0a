/* The index's place, its connections, and when it is brought up to date.
 *
 * Lives in the vault; where that cannot be written, in the user's cache; where that
 * cannot be written either, in memory. Deleted or damaged, it is made anew. */
#include "notes/index.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#include "crypto/crypto.h"
#include "notes/history.h"
#include "notes/own.h"

/* Names of links: see linkindex.h; sections as properties: see outline.h. */
static const char schema[] =
    "CREATE TABLE notes("
    " key INTEGER PRIMARY KEY,"
    " path TEXT NOT NULL UNIQUE,"
    " id TEXT NOT NULL,"
    " uid TEXT,"
    " type TEXT NOT NULL,"
    " stem TEXT NOT NULL,"
    " title TEXT NOT NULL,"
    " id_key TEXT NOT NULL," /* these fold_put() to it */
    " stem_key TEXT NOT NULL,"
    " title_key TEXT NOT NULL,"
    " created INTEGER NOT NULL," /* ms */
    " updated INTEGER NOT NULL," /* ms */
    " size INTEGER NOT NULL,"
    " mtime_ns INTEGER NOT NULL,"
    " inode INTEGER NOT NULL,"
    " racy INTEGER NOT NULL," /* changed so shortly before that a change may hide */
    " state INTEGER NOT NULL,"
    " hash TEXT NOT NULL,"
    " tags TEXT NOT NULL,"                    /* JSON */
    " metadata TEXT NOT NULL,"                /* JSON */
    " properties TEXT NOT NULL DEFAULT '{}'," /* JSON */
    " cut TEXT NOT NULL DEFAULT '[]');"       /* JSON */
    "CREATE INDEX notes_by_id ON notes(id_key);"
    "CREATE INDEX notes_by_uid ON notes(uid) WHERE uid IS NOT NULL;"
    "CREATE INDEX notes_by_title ON notes(title_key);"
    "CREATE INDEX notes_by_stem ON notes(stem_key);"
    "CREATE INDEX notes_by_date ON notes(updated DESC, id);"
    "CREATE INDEX notes_by_type ON notes(type, updated DESC, id);"
    "CREATE INDEX notes_by_type_and_path ON notes(type, path);"
    "CREATE VIRTUAL TABLE texts USING fts5(title, body, tags,"
    " tokenize = 'unicode61 remove_diacritics 2');"
    "CREATE TABLE state("
    " epoch TEXT NOT NULL," /* of this file; random */
    " version INTEGER NOT NULL,"
    " relink INTEGER NOT NULL,"     /* all names must be settled anew */
    " by_file INTEGER NOT NULL,"    /* titles are the names of files: see settings.h */
    " written INTEGER NOT NULL,"    /* counts transactions that wrote rows of notes */
    " walked BLOB NOT NULL,"        /* the sum of a walk: see stamps.h */
    " walked_at INTEGER NOT NULL);" /* `written` when rows agreed with that walk */
    "INSERT INTO state VALUES(lower(hex(randomblob(16))), 0, 1, 0, 0, x'', -1);"
    "CREATE TABLE names("
    " key INTEGER PRIMARY KEY,"
    " text TEXT NOT NULL,"
    " other TEXT NOT NULL,"    /* tried second; or empty */
    " text_key TEXT NOT NULL," /* these fold_put() to it */
    " other_key TEXT NOT NULL,"
    " note INTEGER,"
    " outcome INTEGER NOT NULL);"
    "CREATE INDEX names_by_text ON names(text_key);"
    "CREATE INDEX names_by_other ON names(other_key) WHERE other_key <> '';"
    "CREATE INDEX names_by_note ON names(note) WHERE note IS NOT NULL;"
    "CREATE TABLE unsettled(name INTEGER PRIMARY KEY);"
    "CREATE TABLE broken(name INTEGER PRIMARY KEY);" /* names without a note */
    "CREATE TABLE links("
    " source INTEGER NOT NULL,"
    " number INTEGER NOT NULL," /* in the order of the text */
    " line INTEGER NOT NULL,"
    " kind INTEGER NOT NULL,"
    " file INTEGER NOT NULL," /* names a file that is no note, unless a note is found */
    " name INTEGER,"          /* null: external */
    " target TEXT,"           /* null: as the name's text */
    " label TEXT,"            /* null: as the target */
    " domain TEXT,"
    " fragment TEXT," /* the heading or ^block of the note; null: none */
    " PRIMARY KEY(source, number)) WITHOUT ROWID;"
    "CREATE INDEX links_by_name ON links(name) WHERE name IS NOT NULL;"
    "CREATE INDEX links_by_domain ON links(domain) WHERE domain IS NOT NULL;"
    "CREATE INDEX links_by_fragment ON links(source) WHERE fragment IS NOT NULL;"
    /* Their links have the sources -key. */
    "CREATE TABLE canvases("
    " key INTEGER PRIMARY KEY,"
    " path TEXT NOT NULL UNIQUE,"
    " size INTEGER NOT NULL,"
    " mtime_ns INTEGER NOT NULL,"
    " inode INTEGER NOT NULL,"
    " racy INTEGER NOT NULL,"
    " hash TEXT NOT NULL);" /* "": it could not be read */
    "CREATE TABLE subnotes("
    " parent INTEGER NOT NULL,"
    " position INTEGER NOT NULL," /* of all entries of the list */
    " name INTEGER NOT NULL,"
    " state INTEGER NOT NULL,"
    " PRIMARY KEY(parent, position)) WITHOUT ROWID;"
    "CREATE INDEX subnotes_by_name ON subnotes(name);"
    "CREATE INDEX subnotes_odd ON subnotes(state) WHERE state <> 1;"
    "CREATE TABLE tags("
    " tag TEXT NOT NULL COLLATE NOCASE,"
    " note INTEGER NOT NULL,"
    " PRIMARY KEY(tag, note)) WITHOUT ROWID;"
    "CREATE TABLE aliases("
    " note INTEGER NOT NULL,"
    " position INTEGER NOT NULL,"
    " text TEXT NOT NULL,"
    " text_key TEXT NOT NULL," /* fold_put() of it */
    " PRIMARY KEY(note, position)) WITHOUT ROWID;"
    "CREATE INDEX aliases_by_text ON aliases(text_key);"
    "CREATE TABLE tasks("
    " note INTEGER NOT NULL,"
    " number INTEGER NOT NULL," /* in the order of the text */
    " line INTEGER NOT NULL,"
    " status INTEGER NOT NULL," /* enum task_status */
    " mark TEXT NOT NULL,"
    " text TEXT NOT NULL,"
    " tags TEXT NOT NULL," /* JSON */
    " due TEXT,"
    " scheduled TEXT,"
    " start TEXT,"
    " finished TEXT,"
    " priority INTEGER NOT NULL,"
    " PRIMARY KEY(note, number)) WITHOUT ROWID;";
static const struct db_options options = {
    .schema = schema, .version = 9, .large_pages = true};

enum place { PLACE_VAULT, PLACE_CACHE, PLACE_MEMORY };

struct connection {
    struct db *db;
    unsigned generation;
    bool in_memory; /* one for all, and `memory` is held */
    struct connection *next;
};

#define IDLE_MAX 8 /* connections kept open; more are closed when given back */

struct index {
    struct vault *vault;
    pthread_mutex_t sync; /* bringing up to date: one at a time. Before `pool`. */
    struct os_watch *watch;
    bool watch_tried;
    bool brief;  /* until it has been used once */
    bool walked; /* everything was looked at since the watch began */

    pthread_mutex_t pool; /* the rest */
    enum place place;
    int folder; /* -1 before the first connection */
    char name[CRYPTO_HASH_HEX + 8];
    uint64_t inode; /* of the file: another one has taken its place if it differs */
    unsigned generation;
    struct connection *idle;
    unsigned idle_count;
    bool damaged;
    pthread_mutex_t memory; /* the one connection of PLACE_MEMORY */
    struct db *memory_db;
};

struct index *index_new(struct vault *v)
{
    struct index *x = mem_new(sizeof *x);
    x->vault = v;
    x->folder = -1;
    x->place = v->settings.index_in_cache ? PLACE_CACHE : PLACE_VAULT;
    must(pthread_mutex_init(&x->sync, NULL) == 0);
    must(pthread_mutex_init(&x->pool, NULL) == 0);
    must(pthread_mutex_init(&x->memory, NULL) == 0);
    return x;
}

void index_be_brief(struct index *x)
{
    x->brief = true;
}

static void close_connection(struct connection *c)
{
    db_close(c->db);
    free(c);
}

static void close_idle(struct index *x)
{
    for (struct connection *c = x->idle, *next; c; c = next) {
        next = c->next;
        close_connection(c);
    }
    x->idle = NULL;
    x->idle_count = 0;
}

void index_free(struct index *x)
{
    if (!x)
        return;
    os_watch_close(x->watch);
    close_idle(x);
    db_close(x->memory_db);
    os_close(x->folder);
    (void)pthread_mutex_destroy(&x->sync);
    (void)pthread_mutex_destroy(&x->pool);
    (void)pthread_mutex_destroy(&x->memory);
    free(x);
}

const char *index_place(struct index *x)
{
    static const char *const names[] = {"vault", "cache", "memory"};
    pthread_mutex_lock(&x->pool);
    const char *name = names[x->place];
    pthread_mutex_unlock(&x->pool);
    return name;
}

/* ---- the place ---------------------------------------------------------- */

/* Opens the folder that holds the index. */
static int open_place(struct index *x, struct err *e)
{
    if (x->place == PLACE_VAULT) {
        (void)snprintf(x->name, sizeof x->name, INDEX_NAME);
        /* Another machine may have the vault open, and WAL needs shared memory. */
        if (!os_is_local(x->vault->dir)) {
            err_set(e, ERR_DENIED, "the vault lies on another machine's disk");
            return -1;
        }
        return own_make(x->vault->dir, e)
                   ? os_open_beneath(x->vault->dir, OWN_DIR,
                                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, e)
                   : -1;
    }
    /* The name is of the folder that is a vault, wherever it is mounted. */
    struct os_stat st;
    scoped_fd int cache = os_cache_dir(NULL, e);
    if (cache < 0 || !os_make_dirs(cache, "index", e) ||
        !os_stat_fd(x->vault->dir, &st, e))
        return -1;
    char text[PATH_MAX + 32], hash[CRYPTO_HASH_HEX];
    int n = snprintf(text, sizeof text, "%llu %s", (unsigned long long)st.inode,
                     x->vault->path);
    crypto_hash_hex((struct str){text, n > 0 ? strlen(text) : 0}, hash);
    (void)snprintf(x->name, sizeof x->name, "%.32s.db", hash);
    return os_open_beneath(cache, "index", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, e);
}

static uint64_t index_inode(const struct index *x)
{
    struct os_stat st;
    struct err none = {0};
    return x->folder >= 0 && os_stat_beneath(x->folder, x->name, &st, &none) ? st.inode
                                                                             : 0;
}

bool index_is_gone(struct index *x)
{
    pthread_mutex_lock(&x->pool);
    bool gone = x->folder >= 0 && index_inode(x) == 0;
    pthread_mutex_unlock(&x->pool);
    return gone;
}

static struct db *open_db(struct index *x, struct err *e)
{
    struct err why = {0};
    struct db *db = db_open(x->folder, x->name, &options, NULL, &why);
    if (db && db_add_rank(db, &why))
        return db;
    db_close(db);
    err_pass(e, &why);
    return NULL;
}

/* The first connection decides on the place: the first that works. */
static struct db *open_anywhere(struct index *x, struct err *e)
{
    while (x->place != PLACE_MEMORY) {
        struct err why = {0};
        if (x->folder < 0)
            x->folder = open_place(x, &why);
        struct db *db = x->folder >= 0 ? open_db(x, &why) : NULL;
        if (db) {
            x->inode = index_inode(x);
            return db;
        }
        if (why.code == ERR_BUSY) {
            err_pass(e, &why);
            return NULL;
        }
        os_close(x->folder);
        x->folder = -1;
        x->place++;
    }
    if (!x->memory_db)
        x->memory_db = db_open_memory(&options, e);
    return x->memory_db && db_add_rank(x->memory_db, e) ? x->memory_db : NULL;
}

/* ---- connections -------------------------------------------------------- */

static struct connection *take_connection(struct index *x, struct vault *v, struct err *e)
{
    pthread_mutex_lock(&x->pool);
    struct connection *c = x->idle;
    if (c) {
        x->idle = c->next;
        x->idle_count--;
        pthread_mutex_unlock(&x->pool);
        return c;
    }
    struct db *db = open_anywhere(x, e);
    if (db) {
        c = mem_new(sizeof *c);
        c->db = db;
        c->generation = x->generation;
        c->in_memory = db == x->memory_db;
    }
    pthread_mutex_unlock(&x->pool);
    if (c && c->in_memory && !vault_wait(v, &x->memory, UINT_MAX, e)) {
        free(c);
        return NULL;
    }
    return c;
}

static void index_give_back(struct index *x, struct connection *c)
{
    if (c->in_memory) {
        pthread_mutex_unlock(&x->memory);
        free(c);
        return;
    }
    pthread_mutex_lock(&x->pool);
    bool stale = c->generation != x->generation || db_is_damaged(c->db);
    if (db_is_damaged(c->db) && c->generation == x->generation)
        x->damaged = true;
    if (!stale && x->idle_count < IDLE_MAX) {
        c->next = x->idle;
        x->idle = c;
        x->idle_count++;
        c = NULL;
    }
    pthread_mutex_unlock(&x->pool);
    if (c)
        close_connection(c);
}

/* Another file stands in the index's place, or none, or it is damaged: start
 * anew. With `remove` even if all is well. */
static void index_check_file(struct index *x, bool remove)
{
    pthread_mutex_lock(&x->pool);
    bool same = x->folder < 0 || index_inode(x) == x->inode;
    if (!same || x->damaged || remove) {
        struct err ignored = {0};
        close_idle(x);
        if (same && x->folder >= 0)
            (void)db_remove(x->folder, x->name, &ignored);
        os_close(x->folder);
        x->folder = -1;
        x->generation++;
        x->damaged = false;
        x->walked = false;
        if (x->place != PLACE_MEMORY)
            x->place = x->vault->settings.index_in_cache ? PLACE_CACHE : PLACE_VAULT;
    }
    pthread_mutex_unlock(&x->pool);
}

/* ---- bringing up to date ------------------------------------------------ */

#define NAMES_MAX 4096 /* changed names; more, and everything is looked at */

struct changes {
    struct buf names; /* each with its NUL */
    size_t count;
};

static void index_gather(void *arg, const char *name)
{
    struct changes *c = arg;
    /* A save gives several notices in a row: one is enough. */
    size_t n = strlen(name) + 1;
    if (c->names.n >= n && !memcmp(c->names.at + c->names.n - n, name, n) &&
        (c->names.n == n || c->names.at[c->names.n - n - 1] == '\0'))
        return;
    buf_put(&c->names, name, n);
    c->count++;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool sync_changes(struct vault *v, struct db *db, const struct changes *c,
                         struct index_counts *counts, struct err *e)
{
    const char **names = mem_new((c->count + 1) * sizeof *names);
    size_t n = 0;
    for (const char *at = c->names.at; n < c->count; at += strlen(at) + 1)
        names[n++] = at;
    qsort(names, n, sizeof *names, by_bytes);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || strcmp(names[kept - 1], names[i]) != 0)
            names[kept++] = names[i];
    bool ok = sync_names(v, db, names, kept, counts, e);
    free(names);
    return ok;
}

/* Begins to watch before everything is looked at, so that nothing falls between. */
static void start_watch(struct index *x)
{
    bool later = x->brief;
    x->brief = false;
    if (x->watch_tried || later)
        return;
    x->watch_tried = true;
    x->walked = false;
    struct err ignored = {0}; /* without notices every call looks at everything */
    x->watch = os_watch_open(x->vault->dir, x->vault->path, &ignored);
}

static bool forget_all(struct db *db, struct err *e)
{
    return db_exec(db,
                   "DELETE FROM texts; DELETE FROM notes; DELETE FROM tasks;"
                   "UPDATE state SET version = version + 1, written = written + 1",
                   e);
}

/* Titles are read anew where the vault has them elsewhere now. */
static bool follow_settings(struct vault *v, struct db *db, struct err *e)
{
    int64_t by_file = v->settings.titles_by_file;
    scoped_transaction struct transaction t = {0};
    scoped(query_end) struct query *q = db_query(db, "SELECT by_file FROM state", e);
    if (!q)
        return false;
    bool same = !query_next(q, e) || query_int(q, 0) == by_file;
    query_again(q);
    if (same)
        return e->code == ERR_NONE;
    return db_begin(&t, db, e) && forget_all(db, e) &&
           index_run_with_key(db, "UPDATE state SET by_file = ?", by_file, e) &&
           db_commit(&t, e);
}

static bool up_to_date(struct index *x, struct vault *v, struct db *db,
                       struct index_counts *counts, struct err *e)
{
    if (vault_is_gone(x->vault))
        return err_set(e, ERR_NOT_FOUND, "the vault's folder %.250s was deleted",
                       x->vault->path);
    start_watch(x);
    struct changes c = {0};
    buf_init(&c.names, BUF_FILE);
    bool told = x->watch && os_watch_drain(x->watch, index_gather, &c);
    bool enough = told && x->walked && !c.names.failed && c.count <= NAMES_MAX;
    bool ok = true;
    if (!enough) {
        /* Until it has worked, what was drained counts as unseen. */
        x->walked = false;
        ok = follow_settings(x->vault, db, e) && sync_all(v, db, counts, e);
        x->walked = ok;
    } else if (c.count) {
        ok = sync_changes(v, db, &c, counts, e);
        x->walked = ok;
    }
    buf_done(&c.names);
    return ok;
}

static bool index_is_damaged(struct index *x)
{
    pthread_mutex_lock(&x->pool);
    bool damaged = x->damaged;
    pthread_mutex_unlock(&x->pool);
    return damaged;
}

/* Work is done on the connection that was brought up to date: were it another, the
 * file might have been deleted in between. */
static bool use_once(struct vault *v, index_work *work, void *arg, struct err *e)
{
    struct index *x = v->index;
    struct index_counts counts = {0};
    if (!vault_wait(v, &x->sync, UINT_MAX, e))
        return false;
    index_check_file(x, false);
    struct connection *c = take_connection(x, v, e);
    bool ok = c && up_to_date(x, v, c->db, &counts, e);
    pthread_mutex_unlock(&x->sync);
    if (ok) {
        db_set_cancels(c->db, v->view.cancel[0], v->view.cancel[1]);
        ok = vault_goes_on(v, e) && (!work || work(c->db, arg, e));
        db_set_cancels(c->db, NULL, NULL);
    }
    if (c)
        index_give_back(x, c);
    return ok;
}

bool index_edit(int folder, index_work *work, void *arg, struct err *e)
{
    scoped(db_close) struct db *db = db_open(folder, INDEX_NAME, &options, NULL, e);
    return db && work(db, arg, e);
}

bool index_use(struct vault *v, index_work *work, void *arg, struct err *e)
{
    struct index *x = v->index;
    struct err why = {0};
    history_settle(x->vault->history);
    bool ok = use_once(v, work, arg, &why);
    if (!ok && index_is_damaged(x)) {
        why = (struct err){0};
        ok = use_once(v, work, arg, &why);
    }
    return ok || err_pass(e, &why);
}

bool index_is_shared(struct index *x, const struct db *db)
{
    pthread_mutex_lock(&x->pool);
    bool shared = db == x->memory_db;
    pthread_mutex_unlock(&x->pool);
    return shared;
}

static bool copy_memory(struct db *db, struct sql_source *out, struct err *e)
{
    out->copy = memfd_create("cloche-index", MFD_CLOEXEC);
    return out->copy < 0 ? err_set(e, ERR_IO, "cannot copy the index: %m")
                         : db_write_to(db, out->copy, e);
}

bool index_source(struct index *x, struct db *db, struct sql_source *out, struct err *e)
{
    out->copy = -1;
    out->path[0] = '\0';
    if (db == x->memory_db)
        return copy_memory(db, out, e);
    pthread_mutex_lock(&x->pool);
    scoped(free) char *folder = x->folder >= 0 ? os_dir_path(x->folder, e) : NULL;
    int n = folder ? snprintf(out->path, sizeof out->path, "%s/%s", folder, x->name) : -1;
    out->inode = x->inode;
    pthread_mutex_unlock(&x->pool);
    return (n > 0 && (size_t)n < sizeof out->path) ||
           err_set(e, ERR_BUSY, "the index is being rebuilt; try again");
}

bool index_version(struct db *db, struct buf *out, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db, "SELECT epoch || '-' || version FROM state", e);
    if (!q)
        return false;
    if (!query_next(q, e)) /* a stranger's index */
        return err_set(e, ERR_IO,
                       "the index has lost its version; delete .cloche/index.db");
    return buf_str(out, query_str(q, 0)) || buf_check(out, "the version", e);
}

static bool rebuild_once(struct vault *v, bool from_scratch, struct index_counts *counts,
                         struct err *e)
{
    struct index *x = v->index;
    if (!vault_wait(v, &x->sync, UINT_MAX, e))
        return false;
    index_check_file(x, from_scratch);
    x->walked = false;
    struct connection *c = take_connection(x, v, e);
    bool ok = c && (!from_scratch || forget_all(c->db, e)) &&
              up_to_date(x, v, c->db, counts, e);
    if (c)
        index_give_back(x, c);
    pthread_mutex_unlock(&x->sync);
    return ok;
}

bool index_rebuild(struct vault *v, bool from_scratch, struct index_counts *counts,
                   struct err *e)
{
    struct index *x = v->index;
    struct err why = {0};
    history_settle(x->vault->history);
    bool ok = rebuild_once(v, from_scratch, counts, &why);
    if (!ok && index_is_damaged(x)) {
        why = (struct err){0};
        ok = rebuild_once(v, from_scratch, counts, &why);
    }
    return ok || err_pass(e, &why);
}
