/* Comparing the vault's files with the index and reading again what differs.
 *
 * Whether a file is there and what it holds is asked inside of the transaction
 * that writes the answer down: of several processes that see one change, the last
 * to write has looked last. */
#include <stdio.h>

#include "notes/ahead.h"
#include "notes/canvasindex.h"
#include "notes/index.h"
#include "notes/linkindex.h"
#include "notes/name.h"
#include "notes/stamps.h"
#include "notes/taskindex.h"

#define RACY_NS 2000000000 /* a file changed twice within this may look the same */
#define BATCH_FILES 10000  /* of one transaction */
#define BATCH_BYTES (32u << 20)
#define BULK_FILES 1000 /* see choose_bulk() */
#define RELINK_PART 8

struct sync {
    struct vault *v;
    struct db *db;
    struct index_counts *counts;
    bool changed;      /* in this transaction */
    struct err cut;    /* why it ends early: nobody waits for it any more */
    bool bulk, relink; /* see choose_bulk() */
    struct linker linker;
};

static void sync_init(struct sync *s, struct vault *v, struct db *db,
                      struct index_counts *counts)
{
    *s = (struct sync){.v = v, .db = db, .counts = counts};
    linker_init(&s->linker, db);
}

static void sync_done(struct sync *s)
{
    linker_done(&s->linker);
    struct err ignored = {0};
    if (s->bulk)
        (void)db_exec(s->db, "PRAGMA cache_size = -2000; PRAGMA shrink_memory", &ignored);
}

/* ---- what the index knows of a note ------------------------------------- */

struct row {
    int64_t key; /* 0: it knows none */
    struct os_stat st;
    bool racy;
    int state;
    char hash[HASH_SIZE];
};

#define ROW_COLUMNS "key, size, mtime_ns, inode, racy, state, hash"

static void sync_read_row(struct query *q, struct row *r)
{
    *r = (struct row){
        .key = query_int(q, 0),
        .st = {.size = (uint64_t)query_int(q, 1),
               .mtime_ns = query_int(q, 2),
               .inode = (uint64_t)query_int(q, 3)},
        .racy = query_int(q, 4) != 0,
        .state = (int)query_int(q, 5),
    };
    struct str hash = query_str(q, 6);
    if (hash.n < sizeof r->hash)
        memcpy(r->hash, hash.at, hash.n);
}

static bool sync_find_row(struct sync *s, const char *path, struct row *r, struct err *e)
{
    *r = (struct row){0};
    scoped(query_end) struct query *q =
        db_query(s->db, "SELECT " ROW_COLUMNS " FROM notes WHERE path = ?", e);
    if (!q)
        return false;
    query_bind_cstr(q, 1, path);
    if (query_next(q, e))
        sync_read_row(q, r);
    return e->code == ERR_NONE;
}

static bool is_current(const struct row *r, const struct os_stat *st)
{
    return r->key && !r->racy && r->state != INDEX_UNREADABLE && r->st.size == st->size &&
           r->st.mtime_ns == st->mtime_ns && r->st.inode == st->inode;
}

static bool is_racy(const struct os_stat *st)
{
    return os_real_ms() * 1000000 - st->mtime_ns < RACY_NS;
}

/* A file to look at. Without a path: a row to drop, which no file can have. */
struct file {
    const char *path;
    int64_t key;
    struct os_stat st;
};

/* ---- writing it down ---------------------------------------------------- */

bool index_run_with_key(struct db *db, const char *sql, int64_t key, struct err *e)
{
    scoped(query_end) struct query *q = db_query(db, sql, e);
    if (!q)
        return false;
    query_bind_int(q, 1, key);
    return query_run(q, e);
}

/* The names by which the index knows the note may mean another one from now on, and it
 * may have other tags. */
static bool touch_known(struct sync *s, int64_t key, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(s->db, "SELECT path, uid, title FROM notes WHERE key = ?", e);
    if (!q)
        return false;
    query_bind_int(q, 1, key);
    if (!query_next(q, e))
        return e->code == ERR_NONE;
    return linker_drop_tags(&s->linker, key, e) &&
           linker_touch(&s->linker, query_str(q, 0), query_str(q, 1), query_str(q, 2), e);
}

static bool drop_row(struct sync *s, int64_t key, struct err *e)
{
    s->counts->removed++;
    s->changed = true;
    return touch_known(s, key, e) && linker_drop(&s->linker, key, e) &&
           index_run_with_key(s->db, "DELETE FROM texts WHERE rowid = ?", key, e) &&
           index_run_with_key(s->db, "DELETE FROM tasks WHERE note = ?", key, e) &&
           index_run_with_key(s->db, "DELETE FROM notes WHERE key = ?", key, e);
}

void note_keys(struct str id, struct str title, struct buf *text, struct note_keys *out)
{
    fold_put(id, text);
    size_t end = text->n;
    fold_put(title, text);
    out->id = (struct str){text->at, end};
    out->stem = name_file(out->id);
    out->title = (struct str){text->at + end, text->n - end};
}

void index_bind_note(struct query *q, const struct note *n, struct str id,
                     const struct note_keys *keys)
{
    query_bind_str(q, 1, n->path);
    query_bind_str(q, 2, id);
    if (n->uid.n)
        query_bind_str(q, 3, n->uid);
    query_bind_str(q, 4, name_type(n->path));
    query_bind_str(q, 5, name_stem(n->path));
    query_bind_str(q, 6, n->title);
    query_bind_int(q, 7, n->created_ms);
    query_bind_int(q, 8, n->updated_ms);
    query_bind_str(q, 9, keys->id);
    query_bind_str(q, 10, keys->stem);
    query_bind_str(q, 11, keys->title);
}

static bool write_note(struct sync *s, const struct reading *reading, int state,
                       struct row *r, struct err *e)
{
    const struct note *n = &reading->note;
    struct note_keys keys;
    scoped_buf struct buf id = buf_of(PATH_MAX + 8), text = buf_of(NOTE_KEYS_MAX);
    name_put_id(n->path, &id);
    note_keys(buf_view(&id), n->title, &text, &keys);
    scoped(query_end) struct query *q = db_query(
        s->db,
        "INSERT INTO notes(path, id, uid, type, stem, title, created, updated, id_key,"
        " stem_key, title_key, size, mtime_ns, inode, racy, state, hash, tags, metadata,"
        " properties, cut)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,"
        " ?17, ?18, ?19, ?20, ?21)"
        " ON CONFLICT(path) DO UPDATE SET uid = ?3, title = ?6, created = ?7,"
        " updated = ?8, title_key = ?11, size = ?12, mtime_ns = ?13, inode = ?14,"
        " racy = ?15, state = ?16, hash = ?17, tags = ?18, metadata = ?19,"
        " properties = ?20, cut = ?21",
        e);
    if (!q)
        return false;
    index_bind_note(q, n, buf_view(&id), &keys);
    query_bind_int(q, 12, (int64_t)n->st.size);
    query_bind_int(q, 13, n->st.mtime_ns);
    query_bind_int(q, 14, (int64_t)n->st.inode);
    query_bind_int(q, 15, is_racy(&n->st));
    query_bind_int(q, 16, state);
    query_bind_cstr(q, 17, n->hash);
    query_bind_str(q, 18, buf_view(&reading->tags));
    query_bind_str(q, 19, buf_view(&reading->metadata));
    query_bind_str(q, 20, buf_view(&reading->properties));
    query_bind_str(q, 21, buf_view(&reading->cut));
    if (!query_run(q, e))
        return false;
    if (!r->key)
        r->key = db_last_id(s->db);
    return true;
}

static bool write_text(struct sync *s, const struct reading *reading, const struct row *r,
                       bool is_new, struct err *e)
{
    const struct note *n = &reading->note;
    if (!is_new &&
        (!index_run_with_key(s->db, "DELETE FROM texts WHERE rowid = ?", r->key, e) ||
         !linker_forget(&s->linker, r->key, e)))
        return false;
    scoped(query_end) struct query *q = db_query(
        s->db, "INSERT INTO texts(rowid, title, body, tags) VALUES(?, ?, ?, ?)", e);
    if (!q)
        return false;
    query_bind_int(q, 1, r->key);
    query_bind_str(q, 2, n->title);
    query_bind_str(q, 3, n->front.body);
    query_bind_str(q, 4, buf_view(&reading->tag_words));
    return query_run(q, e) && taskindex_write(s->db, r->key, n, !is_new, e) &&
           linker_write(&s->linker, r->key, n, &reading->links, buf_view(&reading->tags),
                        e);
}

/* ---- one note ----------------------------------------------------------- */

/* A note that cannot be read is known by its name. */
static void sync_stand_in(struct reading *r)
{
    struct str path = str_of(r->path);
    r->note = (struct note){.path = path, .st = r->st, .title = name_stem(path)};
    r->note.created_ms = r->note.updated_ms = r->st.mtime_ns / 1000000;
}

static bool write_down(struct sync *s, const struct reading *reading, int state,
                       struct row *r, struct err *e)
{
    const struct note *n = &reading->note;
    bool is_new = !r->key;
    bool same_text =
        !is_new && n->hash[0] && !strcmp(r->hash, n->hash) && r->state == state;
    s->counts->read++;
    s->changed = s->changed || !same_text || r->st.mtime_ns != n->st.mtime_ns;
    return (is_new || same_text || touch_known(s, r->key, e)) &&
           write_note(s, reading, state, r, e) &&
           (same_text || (linker_touch(&s->linker, n->path, n->uid, n->title, e) &&
                          write_text(s, reading, r, is_new, e)));
}

/* Writes the row of a file that is there but cannot be read. */
static bool write_unread(struct sync *s, const struct reading *reading, struct row *r,
                         struct err *e)
{
    struct reading known = *reading;
    struct err ignored = {0};
    int state = reading->why.code == ERR_LIMIT ? INDEX_TOO_LARGE : INDEX_UNREADABLE;
    if (!known.st.is_file &&
        !os_stat_beneath(s->v->dir, reading->path, &known.st, &ignored))
        return true; /* gone in between: its removal will be told of */
    sync_stand_in(&known);
    return write_down(s, &known, state, r, e);
}

/* Makes the index say what the file says; of a file that is gone, too. */
static bool write_reading(struct sync *s, const struct reading *reading, struct err *e)
{
    struct row r;
    if (!sync_find_row(s, reading->path, &r, e))
        return false;
    if (!reading->found && !reading->ok)
        return err_pass(e, &reading->why);
    if (!reading->found)
        return !r.key || drop_row(s, r.key, e);
    if (is_current(&r, &reading->st))
        return true;
    if (!reading->ok)
        return write_unread(s, reading, &r, e);
    bool broken = reading->note.front.state == FRONTMATTER_BROKEN;
    return write_down(s, reading, broken ? INDEX_BROKEN : INDEX_GOOD, &r, e);
}

/* ---- everything --------------------------------------------------------- */

struct files {
    const struct vault *v;
    struct arena *arena;
    struct file *all;
    size_t count, capacity;
    struct canvases canvases;
    struct stamps *stamps; /* of the files, or NULL */
};

static bool files_push(struct files *f, struct file file, struct err *e)
{
    if (!array_fit(f->all, f->capacity, f->count, e))
        return false;
    f->all[f->count++] = file;
    return true;
}

static bool sync_add_file(void *arg, const char *name, const struct os_stat *st,
                          struct err *e)
{
    struct files *f = arg;
    if (!vault_goes_on(f->v, e))
        return false;
    if (st->is_file && conventions_ignore(&f->v->settings.own, str_of(name)))
        return true;
    if (st->is_file && name_is_canvas(str_of(name)))
        return canvases_add(&f->canvases, str_of(name), e);
    if (!st->is_file || !name_is_path(str_of(name)))
        return true;
    struct str path = str_of(name);
    if (f->stamps)
        stamps_add(f->stamps, path, st);
    const char *copy = arena_copy(f->arena, path.at, path.n, e);
    return copy && files_push(f, (struct file){.path = copy, .st = *st}, e);
}

/* A path that the index has. It may be a stranger's index: what is no path of a
 * note is dropped without a look at any file. */
static bool add_row(struct files *f, int64_t key, struct str path, struct err *e)
{
    if (!name_is_path(path) || conventions_ignore(&f->v->settings.own, path))
        return files_push(f, (struct file){.key = key}, e);
    const char *copy = arena_copy(f->arena, path.at, path.n, e);
    return copy && files_push(f, (struct file){.path = copy}, e);
}

/* Takes out what the index knows as it is. */
static bool keep_changed(struct sync *s, struct files *f, struct err *e)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++) {
        struct row r = {0};
        if (f->all[i].path && !sync_find_row(s, f->all[i].path, &r, e))
            return false;
        if (!is_current(&r, &f->all[i].st))
            f->all[kept++] = f->all[i];
    }
    f->count = kept;
    return true;
}

static void files_done(struct files *f)
{
    arena_free(f->arena);
    free(f->all);
    canvases_done(&f->canvases);
}
#define scoped_files __attribute__((cleanup(files_done)))

static struct files files_new(const struct vault *v)
{
    return (struct files){.v = v, .arena = arena_new(ARENA_VAULT)};
}

static int files_by_path(const void *a, const void *b)
{
    return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

/* Walks files and rows side by side, both in the order of their paths, and gathers
 * the paths where they differ. */
static bool files_compare(struct sync *s, const struct files *files, struct files *differ,
                          struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(s->db, "SELECT " ROW_COLUMNS ", path FROM notes ORDER BY path", e);
    if (!q)
        return false;
    size_t i = 0;
    bool more = query_next(q, e), ok = true;
    while (ok && e->code == ERR_NONE && (more || i < files->count)) {
        int order = !more ? -1
                    : i == files->count
                        ? 1
                        : str_cmp(str_of(files->all[i].path), query_str(q, 7));
        struct row r = {0};
        if (order >= 0)
            sync_read_row(q, &r);
        if (order > 0)
            ok = add_row(differ, r.key, query_str(q, 7), e);
        else if (order < 0 || !is_current(&r, &files->all[i].st))
            ok = files_push(differ, files->all[i], e);
        i += order <= 0;
        if (order >= 0)
            more = query_next(q, e);
    }
    return ok && e->code == ERR_NONE;
}

/* ---- in batches --------------------------------------------------------- */

/* The number of files in one transaction. */
static size_t batch_of(const struct file *files, size_t count)
{
    size_t n = 0, bytes = 0;
    while (n < count && n < BATCH_FILES && bytes < BATCH_BYTES)
        bytes += files[n++].st.size;
    return n;
}

/* Words of many notes are gathered in memory (4 MiB at a time: a larger table misses the
 * processor's caches) and not merged with what is there until later. Part of the
 * transaction: a crash leaves no trace of it. */
static bool begin_bulk(struct sync *s, struct err *e)
{
    return db_exec(s->db,
                   "INSERT INTO texts(texts, rank) VALUES('hashsize', 4194304);"
                   "INSERT INTO texts(texts, rank) VALUES('automerge', 0)",
                   e);
}

static bool end_bulk(struct sync *s, struct err *e)
{
    return db_exec(s->db,
                   "INSERT INTO texts(texts, rank) VALUES('hashsize', 1048576);"
                   "INSERT INTO texts(texts, rank) VALUES('automerge', 4)",
                   e);
}

static bool commit(struct sync *s, struct transaction *t, struct err *e)
{
    bool changed = s->changed;
    s->changed = false;
    return (!changed ||
            index_run_with_key(
                s->db, "UPDATE state SET version = version + 1, relink = max(relink, ?1)",
                s->linker.bulk, e)) &&
           db_commit(t, e);
}

/* Resolves the names that are open; needs a transaction. */
static bool sync_settle(struct sync *s, struct err *e)
{
    bool settled;
    if (!linker_is_settled(&s->linker, &settled, e) || settled)
        return e->code == ERR_NONE;
    s->changed = true;
    s->linker.bulk = false;
    return linker_settle(&s->linker, e);
}

/* A cancelled call's rows are kept: the next call goes on from there. */
static bool write_batch(struct sync *s, const struct file *files, size_t count,
                        struct ahead *ahead, struct err *e)
{
    for (size_t i = 0; i < count && vault_goes_on(s->v, &s->cut); i++) {
        if (!files[i].path && !drop_row(s, files[i].key, e))
            return false;
        if (files[i].path && !write_reading(s, ahead_next(ahead), e))
            return err_wrap(e, "%.100s", files[i].path);
    }
    return true;
}

/* An index without notes begins anew, whoever has emptied it. Asked within the
 * transaction: another process may have filled it just now. */
static bool clear_if_empty(struct sync *s, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(s->db, "SELECT EXISTS(SELECT 1 FROM notes)", e);
    if (!q || !query_next(q, e))
        return false;
    bool empty = !query_int(q, 0);
    query_again(q);
    s->linker.bulk = s->relink || empty;
    return !empty || linker_clear(&s->linker, e);
}

static bool refresh_batch(struct sync *s, const struct file *files, size_t count,
                          const char **paths, struct err *e)
{
    size_t named = 0;
    for (size_t i = 0; i < count; i++)
        if (files[i].path)
            paths[named++] = files[i].path;
    scoped_transaction struct transaction t = {0};
    /* First the transaction, then the look at the files: see above. */
    if (!db_begin(&t, s->db, e) || (s->bulk && !begin_bulk(s, e)) ||
        !clear_if_empty(s, e))
        return false;
    scoped(ahead_stop) struct ahead *ahead = ahead_start(s->v, paths, named);
    return write_batch(s, files, count, ahead, e) && (!s->bulk || end_bulk(s, e)) &&
           stamps_forget(s->db, e) && (s->linker.bulk || sync_settle(s, e)) &&
           commit(s, &t, e) &&
           (!s->cut.code || err_set(e, s->cut.code, "%s", s->cut.msg));
}

/* When many notes change, words are merged at the end; and when these are no small part
 * of the vault, all names are settled then instead of some after each note. */
static bool choose_bulk(struct sync *s, size_t count, struct err *e)
{
    s->bulk = count >= BULK_FILES;
    if (!s->bulk)
        return true;
    scoped(query_end) struct query *q = db_query(s->db, "SELECT count(*) FROM notes", e);
    if (!q || !query_next(q, e))
        return false;
    s->relink = count >= (size_t)query_int(q, 0) / RELINK_PART;
    query_again(q);
    /* A transaction that outgrows the cache writes its pages again and again. */
    return db_exec(s->db, "PRAGMA cache_size = -65536", e);
}

/* At the end what links mean is settled, whoever left that open. */
static bool refresh_all(struct sync *s, const struct files *files, struct err *e)
{
    if (files->count && !choose_bulk(s, files->count, e))
        return false;
    const char **paths = mem_new((BATCH_FILES + 1) * sizeof *paths);
    bool ok = true, settled = false;
    for (size_t i = 0; ok && i < files->count;) {
        size_t n = batch_of(files->all + i, files->count - i);
        ok = refresh_batch(s, files->all + i, n, paths, e);
        i += n;
    }
    free(paths);
    if (!ok || !linker_is_settled(&s->linker, &settled, e) || settled)
        return ok && e->code == ERR_NONE;
    scoped_transaction struct transaction t = {0};
    return db_begin(&t, s->db, e) && sync_settle(s, e) && commit(s, &t, e);
}

/* Reads again what differs from its row. */
static bool sync_files(struct vault *v, struct db *db, const struct files *files,
                       struct index_counts *counts, struct err *e)
{
    scoped_files struct files differ = files_new(v);
    if (files->count)
        qsort(files->all, files->count, sizeof *files->all, files_by_path);
    struct sync s;
    sync_init(&s, v, db, counts);
    bool ok = files_compare(&s, files, &differ, e) && refresh_all(&s, &differ, e);
    sync_done(&s);
    if (ok && !differ.count)
        stamps_keep(files->stamps, db);
    return ok;
}

bool sync_all(struct vault *v, struct db *db, struct index_counts *counts, struct err *e)
{
    scoped_files struct files files = files_new(v);
    struct stamps stamps;
    files.stamps = &stamps;
    if (!stamps_begin(&stamps, db, e) || !os_walk(v->dir, sync_add_file, &files, e))
        return false;
    counts->notes = files.count;
    return (stamps_are_known(&stamps) || sync_files(v, db, &files, counts, e)) &&
           canvases_add_known(&files.canvases, db, NULL, e) &&
           canvases_refresh(&files.canvases, v, db, e);
}

/* ---- single names ------------------------------------------------------- */

/* Rows of the note `name` and of all notes in the folder `name`. */
static bool add_known(struct sync *s, const char *name, struct files *out, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(s->db,
                 "SELECT key, path FROM notes WHERE path = ?1"
                 " OR (path > ?1 || '/' AND path < ?1 || '0')",
                 e);
    if (!q)
        return false;
    query_bind_cstr(q, 1, name);
    while (query_next(q, e))
        if (!add_row(out, query_int(q, 0), query_str(q, 1), e))
            return false;
    return e->code == ERR_NONE;
}

/* The notes that a changed name may concern. */
static bool add_changed(struct sync *s, const char *name, struct files *out,
                        struct err *e)
{
    struct os_stat st;
    struct err none = {0};
    bool there = os_stat_beneath(s->v->dir, name, &st, &none);
    if (there && st.is_file)
        return sync_add_file(out, name, &st, e);
    if (there && st.is_dir) {
        struct err walk = {0};
        if (!os_walk_from(s->v->dir, name, sync_add_file, out, &walk) &&
            walk.code != ERR_NOT_FOUND && walk.code != ERR_DENIED)
            return err_pass(e, &walk);
    }
    return canvases_add_known(&out->canvases, s->db, name, e) &&
           add_known(s, name, out, e);
}

bool sync_names(struct vault *v, struct db *db, const char *const *names, size_t count,
                struct index_counts *counts, struct err *e)
{
    scoped_files struct files changed = files_new(v);
    struct sync s;
    sync_init(&s, v, db, counts);
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++)
        ok = add_changed(&s, names[i], &changed, e);
    ok = ok && keep_changed(&s, &changed, e) && refresh_all(&s, &changed, e);
    sync_done(&s);
    return ok && canvases_refresh(&changed.canvases, v, db, e);
}
