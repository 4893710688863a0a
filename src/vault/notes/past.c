/* The history of notes: their revisions, the trash, and restoring. */
#include <stdio.h>

#include "notes/find.h"
#include "notes/history.h"
#include "notes/name.h"
#include "notes/notes.api.h"
#include "notes/trash.h"
#include "notes/write.h"

#define TRASH_MAX 100000u /* files that are looked at */

/* ---- which note ---------------------------------------------------------- */

/* The note that has this name, or the one that had it last: for one that is gone. */
static bool last_path(struct db *db, struct str identifier, int64_t *key, struct err *e)
{
    static const char sql[] =
        "SELECT key FROM notes WHERE path IN (?1, ?1 || '.md') OR uid = ?1"
        " OR (substr(?1, 1, 5) = 'note/' AND path = substr(?1, 6) || '.md')"
        " ORDER BY gone, " NOTE_CHANGED " DESC LIMIT 1";
    *key = 0;
    scoped(query_end) struct query *q = db_query(db, sql, e);
    if (!q)
        return false;
    query_bind_str(q, 1, identifier);
    if (query_next(q, e))
        *key = query_int(q, 0);
    return e->code == ERR_NONE;
}

static bool uid_of(struct vault *v, const char *path, struct arena *a, struct str *uid,
                   struct err *e)
{
    scoped_buf struct buf bytes = buf_of(NOTE_SIZE_MAX + 4096);
    struct os_stat st;
    struct note n;
    bool found;
    struct err why = {0};
    *uid = STR("");
    if (!vault_read(v, path, &bytes, &st, &found, &why) || !found)
        return true; /* too large, or not readable: known by its path */
    char *copy = arena_copy(a, bytes.at, bytes.n, e);
    if (!copy || !note_parse(v, str_of(path), (struct str){copy, bytes.n}, &st, a, &n, e))
        return false;
    *uid = n.uid;
    return true;
}

/* The store's key of a note that is there or gone; 0: it knows none. */
static bool note_key(struct vault *v, struct db *db, struct str identifier, bool there,
                     const char *path, int64_t *key, struct err *e)
{
    if (!there)
        return last_path(db, identifier, key, e);
    scoped(arena_free) struct arena *a = arena_new(2u * NOTE_SIZE_MAX + WRITE_PARSE_MAX);
    struct str uid;
    return uid_of(v, path, a, &uid, e) && history_find(db, v, str_of(path), uid, key, e);
}

/* ---- revisions ----------------------------------------------------------- */

#define REVISION_COLUMNS \
    "r.number, r.time, r.author, r.action, r.summary, r.path, r.hash, r.size, r.backup"

static void put_revision(struct query *q, struct json_writer *w)
{
    json_pair_int(w, "revision", query_int(q, 0));
    json_pair_time(w, "updated_at", query_int(q, 1));
    json_pair_str(w, "author", query_str(q, 2));
    json_pair_str(w, "content_hash", query_str(q, 6));
    json_pair_str(w, "summary", query_str(q, 4));
    json_pair_int(w, "size", query_int(q, 7));
    json_pair_str(w, "action", query_str(q, 3));
    json_pair_str(w, "path", query_str(q, 5));
    if (!query_is_null(q, 8))
        json_pair_str(w, "backup_path", query_str(q, 8));
}

struct asked {
    struct str identifier;
    int64_t limit, before; /* 0: from the newest on */
};

static bool history_options_read(const struct json *o, struct asked *a, struct err *e)
{
    *a = (struct asked){.limit = NOTES_HISTORY_LIMIT_USUAL};
    if (json_is(o, JSON_OBJECT) &&
        (!options_check(o, "notes.history", NOTES_HISTORY_KEYS, e) ||
         !options_int(o, "limit", NOTES_HISTORY_LIMIT, &a->limit, e)))
        return false;
    const struct json *cursor = json_is(o, JSON_OBJECT) ? json_get(o, "cursor") : NULL;
    a->before = json_int(cursor, 0);
    if (cursor && !json_is(cursor, JSON_NULL) && a->before < 1)
        return err_set(e, ERR_INVALID,
                       "cursor must be the revision (a number) of the last row of the "
                       "page before");
    return options_identifier(o, &a->identifier, e);
}

static bool put_revisions(struct db *db, int64_t key, const struct asked *a,
                          struct json_writer *w, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db,
                 "SELECT " REVISION_COLUMNS " FROM revisions r WHERE note = ?1"
                 " AND (?2 = 0 OR number < ?2) ORDER BY number DESC LIMIT ?3",
                 e);
    if (!q)
        return false;
    query_bind_int(q, 1, key);
    query_bind_int(q, 2, a->before);
    query_bind_int(q, 3, a->limit);
    while (query_next(q, e)) {
        json_open_object(w);
        put_revision(q, w);
        json_close(w);
    }
    return e->code == ERR_NONE;
}

/* Opens the store for reading and finds the note in it. *none: it has no history. */
static struct db *open_past(struct vault *v, struct str identifier, int64_t *key,
                            bool *none, struct err *e)
{
    char path[PATH_MAX];
    bool there;
    history_settle(v->history);
    /* A title that two notes have is a conflict; none is the past's to know, where a note may
     * be whose name differs only in case from one that is there. */
    if (!vault_find(v, NULL, identifier, false, path, &there, e))
        return NULL;
    struct db *db = history_read(v->history, none, e);
    *none = *none && there;
    if (!db) {
        if (!e->code && !there)
            vault_no_such_note(identifier, e);
        return NULL;
    }
    bool ok = note_key(v, db, identifier, there, path, key, e);
    if (ok && (*key || there))
        return db;
    history_read_end(v->history);
    if (ok)
        vault_no_such_note(identifier, e);
    return NULL;
}

bool notes_history(struct vault *v, const struct json *options, struct json_writer *out,
                   struct err *e)
{
    struct asked a;
    int64_t key = 0;
    bool none = false;
    if (!history_options_read(options, &a, e))
        return false;
    scoped_buf struct buf text = buf_of(BUF_FILE);
    struct json_writer w = json_writer(&text);
    json_open_array(&w);
    struct db *db = open_past(v, a.identifier, &key, &none, e);
    bool ok = db ? put_revisions(db, key, &a, &w, e) : none && !e->code;
    if (db)
        history_read_end(v->history);
    json_close(&w);
    if (!ok || !buf_check(&text, "the history", e))
        return false;
    json_put_raw(out, buf_view(&text));
    return true;
}

/* ---- one revision -------------------------------------------------------- */

static bool options_revision(const struct json *o, int64_t *out, struct err *e)
{
    const struct json *v = json_get(o, "revision");
    *out = json_int(v, 0);
    return *out >= 1 || err_set(e, ERR_INVALID,
                                "revision must be a number that notes.history() gives");
}

static bool no_such_revision(int64_t number, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND,
                   "the note has no revision %lld any more or its bytes were not kept; "
                   "notes.history() lists those that there are",
                   (long long)number);
}

/* Appends the bytes of the revision, which must be there. `w`: tells of it, too. */
static bool read_revision_bytes(struct db *db, int64_t key, int64_t number,
                                struct json_writer *w, struct buf *out, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db,
                 "SELECT " REVISION_COLUMNS
                 ", c.bytes FROM revisions r JOIN contents c ON c.id = r.content"
                 " WHERE note = ?1 AND number = ?2",
                 e);
    if (!q)
        return false;
    query_bind_int(q, 1, key);
    query_bind_int(q, 2, number);
    if (!query_next(q, e))
        return e->code ? false : no_such_revision(number, e);
    buf_str(out, query_bytes(q, 9));
    if (w)
        put_revision(q, w);
    return buf_check(out, "the revision", e);
}

static bool put_old_note(struct str bytes, struct json_writer *w, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(WRITE_PARSE_MAX);
    struct note n;
    struct os_stat st = {0};
    if (!note_parse(NULL, STR("note.md"), bytes, &st, a, &n, e))
        return false;
    json_pair_str(w, "content", n.front.body);
    json_key(w, "metadata");
    note_put_metadata(&n, w);
    json_pair_str(w, "text", bytes);
    return true;
}

bool notes_get_revision(struct vault *v, const struct json *options,
                        struct json_writer *out, struct err *e)
{
    struct str identifier;
    int64_t number, key = 0;
    bool none;
    if (!options_check(options, "notes.getRevision", NOTES_GET_REVISION_KEYS, e) ||
        !options_identifier(options, &identifier, e) ||
        !options_revision(options, &number, e))
        return false;
    scoped_buf struct buf bytes, text;
    buf_init(&bytes, NOTE_SIZE_MAX + 4096);
    buf_init(&text, FIND_ANSWER_MAX * 4);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    struct db *db = open_past(v, identifier, &key, &none, e);
    bool ok = db ? read_revision_bytes(db, key, number, &w, &bytes, e)
                 : !e->code && no_such_revision(number, e);
    if (db)
        history_read_end(v->history);
    if (!ok || !put_old_note(buf_view(&bytes), &w, e))
        return false;
    json_close(&w);
    if (!buf_check(&text, "the revision", e))
        return false;
    json_put_raw(out, buf_view(&text));
    return true;
}

/* ---- back ---------------------------------------------------------------- */

struct restoring {
    struct str identifier, backup;
    int64_t revision;
    struct write_guard guard;
};

static bool read_restoring(const struct json *o, void *state, struct err *e)
{
    struct restoring *r = state;
    struct str original;
    if (!options_check(o, "notes.restore", NOTES_RESTORE_KEYS, e) ||
        !options_str(o, "backup_path", NULL, &r->backup, e) ||
        !write_read_guard(o, &r->guard, e))
        return false;
    bool has_backup = r->backup.n > 0;
    if (has_backup && (json_get(o, "identifier") || json_get(o, "revision")))
        return err_set(e, ERR_INVALID,
                       "notes.restore takes either backup_path or identifier and "
                       "revision, not both");
    if (has_backup)
        return trash_is_path(r->backup, &original) ||
               err_set(e, ERR_INVALID,
                       "backup_path must be one that notes.delete or notes.listTrash "
                       "gave, such as \"" TRASH_DIR "/20261121T051600Z-0123abcd/"
                       "project/Plan.md\"");
    return options_identifier(o, &r->identifier, e) &&
           options_revision(o, &r->revision, e);
}

static bool put_restored(struct change *c, struct vault *v, const struct restoring *r,
                         const char *path, struct json_writer *out)
{
    char hash[HASH_SIZE];
    change_hash(c, path, hash);
    json_open_object(out);
    write_pair_id(v, out, "id", str_of(path));
    json_pair_bool(out, "restored", true);
    json_pair_cstr(out, "path", path);
    if (r->revision)
        json_pair_int(out, "revision", r->revision);
    else
        json_pair_str(out, "backup_path", r->backup);
    json_pair_time(out, "timestamp", os_real_ms());
    json_pair_cstr(out, "content_hash", hash);
    json_close(out);
    return true;
}

static bool restore_from_trash(struct change *c, struct vault *v,
                               const struct restoring *r, struct json_writer *out,
                               struct err *e)
{
    struct str original;
    char backup[PATH_MAX], path[PATH_MAX];
    must(trash_is_path(r->backup, &original));
    (void)snprintf(backup, sizeof backup, "%.*s", STR_ARGS(r->backup));
    (void)snprintf(path, sizeof path, "%.*s", STR_ARGS(original));
    if (!change_take_back(c, backup, path, e))
        return false;
    change_say(c, path, NULL, "taken out of the trash");
    return put_restored(c, v, r, path, out);
}

/* The last path of a note that is gone. */
static bool path_of_key(struct db *db, int64_t key, char path[static PATH_MAX],
                        struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db, "SELECT path FROM notes WHERE key = ?", e);
    if (!q)
        return false;
    query_bind_int(q, 1, key);
    struct str s = query_next(q, e) ? query_str(q, 0) : STR("");
    if (!name_is_path(s))
        return e->code ? false : err_set(e, ERR_NOT_FOUND, "the note has no path");
    (void)snprintf(path, PATH_MAX, "%.*s", STR_ARGS(s));
    return true;
}

/* The store, within a change or a dry run of one. */
static struct db *store_of(struct change *c, struct vault *v, bool *read, bool *none,
                           struct err *e)
{
    struct db *db = change_db(c);
    *read = *none = false;
    if (!db && (db = history_read(v->history, none, e)))
        *read = true;
    return db;
}

static bool old_bytes(struct change *c, struct vault *v, const struct restoring *r,
                      bool there, char path[static PATH_MAX], struct buf *bytes,
                      struct err *e)
{
    bool read, none;
    int64_t key = 0;
    struct db *db = store_of(c, v, &read, &none, e);
    if (!db)
        return none ? no_such_revision(r->revision, e) : false;
    bool ok = note_key(v, db, r->identifier, there, path, &key, e) &&
              (key || (there ? no_such_revision(r->revision, e)
                             : vault_no_such_note(r->identifier, e))) &&
              read_revision_bytes(db, key, r->revision, NULL, bytes, e) &&
              (there || path_of_key(db, key, path, e));
    if (read)
        history_read_end(v->history);
    return ok;
}

static bool run_restoring(struct change *c, struct vault *v, void *state,
                          struct json_writer *out, struct err *e)
{
    struct restoring *r = state;
    if (r->backup.n)
        return restore_from_trash(c, v, r, out, e);
    char path[PATH_MAX], summary[60];
    bool there;
    struct note now;
    scoped_buf struct buf bytes = buf_of(NOTE_SIZE_MAX + 4096);
    if (!vault_find(v, c, r->identifier, false, path, &there, e) ||
        !old_bytes(c, v, r, there, path, &bytes, e) ||
        (there && (!change_read(c, path, &now, &there, e) ||
                   !write_check_guard(&r->guard, &now, e))) ||
        !(there ? change_replace(c, path, buf_view(&bytes), e)
                : change_create(c, path, buf_view(&bytes), e)))
        return false;
    (void)snprintf(summary, sizeof summary, "back to revision %lld",
                   (long long)r->revision);
    change_say(c, path, "restore", summary);
    return put_restored(c, v, r, path, out);
}

const struct operation restore_operation = {
    "notes.restore", "restore", sizeof(struct restoring), read_restoring, run_restoring};

bool notes_restore(struct vault *v, const struct json *options, struct json_writer *out,
                   struct err *e)
{
    return write_perform(v, &restore_operation, options, out, e);
}

/* ---- the trash ----------------------------------------------------------- */

struct trashed {
    const char *path;
    uint64_t size;
};

struct trash {
    struct arena *arena;
    struct trashed *all;
    size_t count;
};

static bool add_trashed(void *arg, const char *name, const struct os_stat *st,
                        struct err *e)
{
    struct trash *t = arg;
    struct str original;
    if (!st->is_file || !trash_is_path(str_of(name), &original))
        return true;
    if (t->count == TRASH_MAX)
        return false; /* enough: what is older than the first page hardly matters */
    const char *copy = arena_copy(t->arena, name, strlen(name), e);
    if (!copy)
        return false;
    t->all[t->count++] = (struct trashed){copy, st->size};
    return true;
}

/* The one deleted last first, then by path. */
static int by_time(const void *a, const void *b)
{
    const struct trashed *x = a, *y = b;
    int order = trash_compare(y->path, x->path);
    return order ? order : strcmp(x->path, y->path);
}

static void put_trashed(const struct trashed *t, struct json_writer *w)
{
    struct str original;
    must(trash_is_path(str_of(t->path), &original));
    scoped_buf struct buf id = buf_of(PATH_MAX + 8);
    name_put_id(original, &id);
    json_open_object(w);
    json_pair_cstr(w, "backup_path", t->path);
    json_pair_str(w, "id", buf_view(&id));
    json_pair_str(w, "path", original);
    json_pair_str(w, "type", name_type(original));
    int64_t time_ms = trash_time(str_of(t->path));
    if (time_ms)
        json_pair_time(w, "deleted_at", time_ms);
    json_pair_int(w, "size", (int64_t)t->size);
    json_close(w);
}

bool notes_list_trash(struct vault *v, const struct json *options,
                      struct json_writer *out, struct err *e)
{
    int64_t limit = NOTES_LIST_TRASH_LIMIT_USUAL;
    struct str cursor = STR("");
    bool given = options && !json_is(options, JSON_NULL);
    if (given && (!options_check(options, "notes.listTrash", NOTES_LIST_TRASH_KEYS, e) ||
                  !options_int(options, "limit", NOTES_LIST_TRASH_LIMIT, &limit, e) ||
                  !options_str(options, "cursor", NULL, &cursor, e)))
        return false;
    scoped(arena_free) struct arena *a = arena_new((size_t)256 << 20);
    struct trash t = {.arena = a, .all = arena_get(a, TRASH_MAX * sizeof *t.all, e)};
    struct err why = {0};
    if (!t.all)
        return false;
    if (!os_walk_from(v->dir, TRASH_DIR, add_trashed, &t, &why) && why.code &&
        why.code != ERR_NOT_FOUND)
        return err_pass(e, &why);
    if (t.count)
        qsort(t.all, t.count, sizeof *t.all, by_time);
    size_t i = 0;
    while (cursor.n && i < t.count && !str_is(cursor, t.all[i].path))
        i++;
    i += cursor.n > 0;
    json_open_array(out);
    for (int64_t n = 0; n < limit && i < t.count; n++, i++)
        put_trashed(&t.all[i], out);
    json_close(out);
    return buf_check(out->out, "the answer", e);
}
