#include "notes/apply.h"

#include <stdio.h>

#include "notes/name.h"
#include "notes/trash.h"

#define FILE_MODE 0666     /* less the umask */
#define ONE_BY_ONE 4       /* more steps than these are synced together */
#define STEPS_MAX 1000000u /* of a journal */

struct applying {
    struct vault *v;
    struct db *db;
    bool together; /* drafts, and one sync for all */
    uint64_t id;   /* in the names of our drafts */
    struct buf bytes;
};

/* ---- looking ------------------------------------------------------------- */

static void stat_id(const struct os_stat *st, char id[static HASH_SIZE])
{
    (void)snprintf(id, HASH_SIZE, "stat:%llx-%llx-%llx", (unsigned long long)st->inode,
                   (unsigned long long)st->size, (unsigned long long)st->mtime_ns);
}

bool apply_look(struct vault *v, const char *path, char id[static HASH_SIZE],
                struct os_stat *st, struct err *e)
{
    id[0] = '\0';
    *st = (struct os_stat){0};
    scoped_buf struct buf bytes = buf_of(NOTE_SIZE_MAX + 4096);
    bool found;
    struct err why = {0};
    if (vault_read(v, path, &bytes, st, &found, &why)) {
        if (found)
            note_hash(buf_view(&bytes), id);
        return true;
    }
    if (why.code != ERR_LIMIT && why.code != ERR_DENIED)
        return err_pass(e, &why);
    if (!os_stat_beneath(v->dir, path, st, e))
        return false;
    stat_id(st, id);
    return true;
}

struct look {
    char id[HASH_SIZE];
    struct os_stat st;
};

static bool apply_look_at(struct applying *a, const char *path, struct look *l,
                          struct err *e)
{
    *l = (struct look){0};
    return !*path || apply_look(a->v, path, l->id, &l->st, e);
}

/* ---- one step ------------------------------------------------------------ */

static bool content_of(struct applying *a, const struct step *s, struct str *out,
                       struct err *e)
{
    if (s->fresh) {
        *out = *s->fresh;
        return true;
    }
    bool found;
    buf_clear(&a->bytes);
    if (!history_bytes(a->db, str_of(s->new_hash), &a->bytes, &found, e))
        return false;
    *out = buf_view(&a->bytes);
    char hash[HASH_SIZE]; /* a store may come from a stranger, or have rotted */
    note_hash(*out, hash);
    return (found && !strcmp(hash, s->new_hash)) ||
           err_set(e, ERR_IO, "the history does not hold what \"%.200s\" should become",
                   s->to);
}

bool apply_make_folder(const struct vault *v, const char *path, struct err *e)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash)
        return true;
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    return os_make_dirs(v->dir, folder, e);
}

static void draft_name(const struct applying *a, size_t i, char out[static 64])
{
    (void)snprintf(out, 64, APPLY_STAGE "/%016llx-%zu", (unsigned long long)a->id, i);
}

/* Does the step write a content? */
static bool has_content(const struct step *s)
{
    return *s->to && strcmp(s->old_hash, s->new_hash) != 0;
}

static bool write_draft(struct applying *a, const struct step *s, size_t i, struct err *e)
{
    char name[64];
    struct str bytes;
    /* All drafts together come before any move. */
    const char *like = a->together ? s->from : s->to;
    draft_name(a, i, name);
    return content_of(a, s, &bytes, e) &&
           os_draft(a->v->dir, name, bytes, *s->from ? like : NULL, FILE_MODE,
                    !a->together, e);
}

/* Drafts lie in a folder of ours, where a crash may leave them. Where that is on another
 * file system, the file is written where it goes. */
static bool replace_content(struct applying *a, const struct step *s, size_t i,
                            const struct os_stat *expect, struct err *e)
{
    char draft[64];
    struct err why = {0}, ignored = {0};
    draft_name(a, i, draft);
    if (!a->together &&
        (!os_make_dirs(a->v->dir, APPLY_STAGE, e) || !write_draft(a, s, i, e)))
        return false;
    bool placed = os_place(a->v->dir, draft, s->to, expect, !a->together, &why);
    if (!a->together)
        (void)os_drop(a->v->dir, draft, &ignored);
    if (placed || why.code != ERR_INVALID)
        return placed || err_pass(e, &why);
    struct str bytes;
    return content_of(a, s, &bytes, e) &&
           os_replace_file(a->v->dir, s->to, bytes, expect, NULL, e);
}

static bool create_content(struct applying *a, const struct step *s, size_t i,
                           struct err *e)
{
    char draft[64];
    struct err why = {0};
    draft_name(a, i, draft);
    if (!apply_make_folder(a->v, s->to, e))
        return false;
    if (a->together && os_place(a->v->dir, draft, s->to, NULL, false, &why))
        return true;
    if (a->together && why.code != ERR_INVALID)
        return err_pass(e, &why);
    struct str bytes;
    return content_of(a, s, &bytes, e) &&
           os_write_file(a->v->dir, s->to, bytes, OS_CREATE, FILE_MODE, NULL, e);
}

/* The trash may lie on another file system: then the bytes are copied. */
static bool move_file(struct applying *a, const struct step *s, struct err *e)
{
    struct err why = {0};
    if (!apply_make_folder(a->v, s->to, e))
        return false;
    if (a->together ? os_place(a->v->dir, s->from, s->to, NULL, false, &why)
                    : os_move(a->v->dir, s->from, s->to, &why))
        return true;
    if (why.code != ERR_INVALID)
        return err_pass(e, &why);
    buf_clear(&a->bytes);
    return os_read_file(a->v->dir, s->from, &a->bytes, NULL, e) &&
           os_write_file(a->v->dir, s->to, buf_view(&a->bytes), OS_CREATE, FILE_MODE,
                         NULL, e) &&
           os_remove_file(a->v->dir, s->from, e);
}

static bool same(const char *a, const char *b)
{
    return !strcmp(a, b);
}

/* *foreign: what stands there is neither what was nor what is to be. */
static bool do_step(struct applying *a, const struct step *s, size_t i, bool *foreign,
                    struct err *e)
{
    struct look from, to;
    *foreign = false;
    if (!apply_look_at(a, s->from, &from, e) || !apply_look_at(a, s->to, &to, e))
        return false;
    bool moves = *s->from && *s->to && !same(s->from, s->to);
    /* On a file system without case both names of a move are one file. */
    bool respelt = moves && from.st.inode && from.st.inode == to.st.inode;
    if (*s->from && same(from.id, s->old_hash) && !*s->to)
        return a->together ? os_drop(a->v->dir, s->from, e)
                           : os_remove_file(a->v->dir, s->from, e);
    if (!*s->from && !*to.id)
        return create_content(a, s, i, e);
    /* Half of a step that is undone may have been done: moved, and the content not. */
    bool movable = same(from.id, s->old_hash) || same(from.id, s->new_hash);
    if (moves && *from.id && movable && (!*to.id || respelt)) {
        if (!move_file(a, s, e) || !apply_look_at(a, s->to, &to, e))
            return false;
        from.id[0] = '\0';
    }
    if (*s->from && same(to.id, s->old_hash) && !same(s->old_hash, s->new_hash) &&
        (!moves || !*from.id))
        return replace_content(a, s, i, &to.st, e);
    *foreign = !same(to.id, s->new_hash);
    return true;
}

/* ---- drafts -------------------------------------------------------------- */

/* Drafts that many replaced files, or a crash, leave in the stage are removed by the
 * changes that come, a few files each: to free a thousand may take seconds. */
#define SWEPT_AT_ONCE 4

struct sweep {
    struct applying *a;
    size_t left;
};

static bool sweep_draft(void *arg, const char *name, const struct os_stat *st,
                        struct err *e)
{
    struct sweep *s = arg;
    (void)e;
    struct err ignored = {0};
    if (st->is_file && os_drop(s->a->v->dir, name, &ignored))
        s->left--;
    return s->left > 0;
}

static void sweep_stage(struct applying *a)
{
    struct sweep s = {a, SWEPT_AT_ONCE};
    struct err ignored = {0};
    (void)os_walk_from(a->v->dir, APPLY_STAGE, sweep_draft, &s, &ignored);
}

static bool write_drafts(struct applying *a, const struct step *steps, size_t count,
                         struct err *e)
{
    if (!os_make_dirs(a->v->dir, APPLY_STAGE, e))
        return false;
    for (size_t i = 0; i < count; i++)
        if (has_content(&steps[i]) && !write_draft(a, &steps[i], i, e))
            return false;
    return os_sync(a->v->dir, e);
}

/* ---- all steps ----------------------------------------------------------- */

static void applying_done(struct applying *a)
{
    buf_done(&a->bytes);
}
#define scoped_applying __attribute__((cleanup(applying_done)))

static struct applying applying(struct vault *v, struct db *db, size_t count)
{
    struct applying a = {.v = v, .db = db, .together = count > ONE_BY_ONE};
    buf_init(&a.bytes, NOTE_SIZE_MAX + 4096);
    os_random(&a.id, sizeof a.id);
    return a;
}

static struct step inverse(const struct step *s)
{
    struct step back = {.from = s->to, .to = s->from};
    memcpy(back.old_hash, s->new_hash, HASH_SIZE);
    memcpy(back.new_hash, s->old_hash, HASH_SIZE);
    return back;
}

/* A file that stands in the way is another program's, and stays. */
static void steps_undo(struct vault *v, struct db *db, const struct step *steps,
                       size_t count)
{
    scoped_applying struct applying a = applying(v, db, 1);
    for (size_t i = count; i-- > 0;) {
        struct step back = inverse(&steps[i]);
        bool foreign;
        struct err ignored = {0};
        (void)do_step(&a, &back, 0, &foreign, &ignored);
    }
}

static bool in_the_way(const struct step *s, struct err *e)
{
    return err_set(e, ERR_CONFLICT,
                   "\"%.200s\" was changed by another program just now; nothing was "
                   "changed, read it again and start from there",
                   *s->to ? s->to : s->from);
}

bool apply_all(struct vault *v, struct db *db, const struct step *steps, size_t count,
               struct err *e)
{
    scoped_applying struct applying a = applying(v, db, count);
    sweep_stage(&a);
    if (a.together && !write_drafts(&a, steps, count, e))
        return false;
    for (size_t i = 0; i < count; i++) {
        bool foreign = false;
        if (do_step(&a, &steps[i], i, &foreign, e) &&
            (!foreign || in_the_way(&steps[i], e)))
            continue;
        steps_undo(v, db, steps, i + 1);
        return false;
    }
    if (!a.together || os_sync(v->dir, e))
        return true;
    steps_undo(v, db, steps, count);
    return false;
}

/* ---- what a crash left --------------------------------------------------- */

static bool is_ours(struct str path)
{
    struct str original;
    return path.n == 0 || name_is_path(path) || trash_is_path(path, &original);
}

static bool copy_hash(struct str hash, char out[static HASH_SIZE])
{
    if (hash.n >= HASH_SIZE || memchr(hash.at, '\0', hash.n))
        return false;
    memcpy(out, hash.at, hash.n);
    out[hash.n] = '\0';
    return true;
}

/* An attachment goes to another path as it is; a canvas stays, with other links. */
static bool is_of_file(struct str from, struct str to, const struct step *s)
{
    if (!name_is_file(from) || !name_is_file(to) || name_is_path(from) ||
        name_is_path(to))
        return false;
    return name_is_canvas(from) ? str_eq(from, to) : !strcmp(s->old_hash, s->new_hash);
}

/* The journal may be a stranger's: what it writes and removes are notes alone. */
static bool read_step(struct query *q, struct arena *a, struct step *s, struct err *e)
{
    struct str from = query_str(q, 0), to = query_str(q, 1);
    if (!copy_hash(query_str(q, 2), s->old_hash) ||
        !copy_hash(query_str(q, 3), s->new_hash) ||
        !((is_ours(from) && is_ours(to)) || is_of_file(from, to, s)))
        return err_set(e, ERR_INVALID, "a journal with paths that are not notes");
    s->from = arena_copy(a, from.at, from.n, e);
    s->to = arena_copy(a, to.at, to.n, e);
    return s->from && s->to;
}

static bool finish_step(struct applying *a, const struct step *s, size_t i, struct err *e)
{
    bool foreign;
    struct err why = {0};
    /* A step that cannot be done any more is left as it is: its content is in the history.
     * A failure that may pass (a full disk) stops everything until it does. */
    return do_step(a, s, i, &foreign, &why) || why.code != ERR_IO ||
           err_set(e, ERR_IO, "a change that was cut off cannot be ended: %s", why.msg);
}

static bool forget_step(struct db *db, const struct step *s, struct err *e)
{
    struct str from = str_of(s->from), to = str_of(s->to), original;
    bool removed = trash_is_path(to, &original);
    int64_t key;
    if (!history_of_path(db, removed ? from : to, removed, &key, e))
        return false;
    bool was_gone = !from.n || trash_is_path(from, &original);
    if (was_gone && from.n)
        to = original;
    return !key || history_moved(db, key, was_gone ? to : from, was_gone, e);
}

bool apply_forget(struct db *db, const struct step *steps, size_t count, int64_t before,
                  struct err *e)
{
    scoped_transaction struct transaction t = {0};
    if (!db_begin(&t, db, e) || !db_exec(db, "DELETE FROM pending", e))
        return false;
    for (size_t i = count; i-- > 0;)
        if (!forget_step(db, &steps[i], e))
            return false;
    return history_forget(db, before, e) && db_commit(&t, e);
}

static bool count_pending(struct db *db, size_t *count, int64_t *before, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db, "SELECT count(*), max(before) FROM pending", e);
    if (!q || !query_next(q, e))
        return false;
    *count = (size_t)query_int(q, 0);
    *before = query_int(q, 1);
    return *count <= STEPS_MAX || err_set(e, ERR_LIMIT, "a journal of too many steps");
}

static bool read_steps(struct db *db, struct arena *arena, struct step *steps,
                       size_t *count, struct err *e)
{
    scoped(query_end) struct query *q = db_query(
        db, "SELECT from_path, to_path, old_hash, new_hash FROM pending ORDER BY step",
        e);
    if (!q)
        return false;
    size_t n = 0;
    while (n < *count && query_next(q, e)) {
        struct err bad = {0};
        if (read_step(q, arena, &steps[n], &bad))
            n++;
        else if (bad.code != ERR_INVALID)
            return err_pass(e, &bad);
    }
    *count = n;
    return e->code == ERR_NONE;
}

bool apply_done(struct history *h, struct db *db, struct err *e)
{
    /* Were this lost, all steps would be found done. */
    bool ok = db_relax(db, true, e) && db_exec(db, "DELETE FROM pending", e);
    struct err ignored = {0};
    (void)db_relax(db, false, &ignored);
    return ok && history_mark(h, HISTORY_IDLE, e);
}

bool apply_pending(struct vault *v, struct history *h, struct db *db, struct err *e)
{
    size_t count;
    int64_t before;
    if (!count_pending(db, &count, &before, e))
        return false;
    if (!count)
        return history_mark(h, HISTORY_IDLE, e);
    scoped(arena_free) struct arena *arena = arena_new(ARENA_VAULT);
    struct step *steps = arena_get(arena, count * sizeof *steps, e);
    if (!steps || !read_steps(db, arena, steps, &count, e))
        return false;
    if (history_is_abandoned(h)) {
        steps_undo(v, db, steps, count);
        return apply_forget(db, steps, count, before, e) &&
               history_mark(h, HISTORY_IDLE, e);
    }
    scoped_applying struct applying a = applying(v, db, 1);
    for (size_t i = 0; i < count; i++)
        if (!finish_step(&a, &steps[i], i, e))
            return false;
    return apply_done(h, db, e);
}
