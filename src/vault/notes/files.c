/* The changes that a program made to a copy of the vault's files, in the vault: all or
 * nothing.
 *
 * Notes go through one change set, as every write does. Other files have no journal: their
 * new contents are drafted first, then swapped in, and swapped out again where a later
 * step fails; what they held before ends in the trash. A crash between two swaps leaves
 * those that were done, each file whole.
 */
#include <stdio.h>

#include "notes/apply.h"
#include "notes/change.h"
#include "notes/name.h"
#include "notes/trash.h"

#define FILE_MODE 0666 /* less the umask */

/* A file that is no note, on its way. */
struct swap {
    const struct notes_file *file;
    char *path, *aside; /* where its draft lies, and then what it replaced */
    struct os_stat was;
    bool done;
};

struct putting {
    struct vault *v;
    struct change *change;
    struct arena *arena;
    struct swap *swaps;
    size_t count;
    uint64_t id;
    int64_t now_ms;
};

/* ---- is it still what the program found? --------------------------------------- */

static bool conflict(const char *path, const char *what, struct err *e)
{
    return err_set(e, ERR_CONFLICT,
                   "\"%.200s\" %s while the program ran; nothing was changed, run it "
                   "again",
                   path, what);
}

static bool check_base(const struct putting *p, const struct notes_file *f,
                       const char *path, int64_t since_ns, struct os_stat *st,
                       struct err *e)
{
    struct err why = {0};
    bool there = os_stat_beneath(p->v->dir, path, st, &why);
    if (!there && why.code != ERR_NOT_FOUND)
        return err_pass(e, &why);
    if (f->change == NOTES_MADE)
        return !there || (f->folder && st->is_dir) || conflict(path, "was made", e);
    if (!there)
        return (f->folder && f->change == NOTES_REMOVED) ||
               conflict(path, "was removed", e);
    if (f->folder)
        return st->is_dir || conflict(path, "was replaced", e);
    bool same = st->is_file && st->inode == f->inode && st->size == f->size &&
                st->mtime_ns == f->modified_ns && f->changed_ns <= since_ns;
    return same || conflict(path, "was changed", e);
}

/* ---- notes --------------------------------------------------------------------- */

static bool files_put_note(struct putting *p, const struct notes_file *f,
                           const char *path, struct err *e)
{
    switch (f->change) {
    case NOTES_MADE:
        return change_create(p->change, path, f->bytes, e);
    case NOTES_CHANGED:
        return change_replace(p->change, path, f->bytes, e);
    case NOTES_REMOVED:
        return change_remove(p->change, path, NULL, e);
    }
    return false;
}

/* ---- other files ------------------------------------------------------------------ */

static bool add_swap(struct putting *p, const struct notes_file *f, char *path,
                     const struct os_stat *was, struct err *e)
{
    char trash[PATH_MAX];
    struct swap *s = &p->swaps[p->count];
    *s = (struct swap){.file = f, .path = path, .was = *was};
    if (f->change == NOTES_REMOVED) {
        if (!trash_name(path, p->now_ms, trash, e))
            return false;
        s->aside = arena_copy(p->arena, trash, strlen(trash), e);
    } else {
        s->aside = arena_printf(p->arena, e, APPLY_STAGE "/%016llx-%zu",
                                (unsigned long long)p->id, p->count);
    }
    p->count += s->aside != NULL;
    return s->aside != NULL;
}

static bool draft(struct putting *p, struct err *e)
{
    if (p->count && !os_make_dirs(p->v->dir, APPLY_STAGE, e))
        return false;
    for (size_t i = 0; i < p->count; i++) {
        const struct swap *s = &p->swaps[i];
        const char *like = s->file->change == NOTES_CHANGED ? s->path : NULL;
        if (s->file->change != NOTES_REMOVED &&
            !os_draft(p->v->dir, s->aside, s->file->bytes, like,
                      s->file->owner_only ? 0600 : FILE_MODE, false, e))
            return false;
    }
    return true;
}

static bool swap_in(struct putting *p, struct err *e)
{
    for (size_t i = 0; i < p->count; i++) {
        struct swap *s = &p->swaps[i];
        bool changed = s->file->change == NOTES_CHANGED;
        bool removed = s->file->change == NOTES_REMOVED;
        const char *to = removed ? s->aside : s->path;
        if (!apply_make_folder(p->v, to, e))
            return false;
        s->done = os_place(p->v->dir, removed ? s->path : s->aside, to,
                           changed ? &s->was : NULL, false, e);
        if (!s->done)
            return err_wrap(e, "\"%.200s\"; nothing was changed", s->path);
    }
    return true;
}

static void swap_out(struct putting *p)
{
    for (size_t i = p->count; i-- > 0;) {
        struct swap *s = &p->swaps[i];
        struct err ignored = {0};
        struct os_stat now;
        if (!s->done)
            continue;
        if (s->file->change == NOTES_MADE)
            (void)os_drop(p->v->dir, s->path, &ignored);
        else if (s->file->change == NOTES_REMOVED)
            (void)os_place(p->v->dir, s->aside, s->path, NULL, false, &ignored);
        else if (os_stat_beneath(p->v->dir, s->path, &now, &ignored))
            (void)os_place(p->v->dir, s->aside, s->path, &now, false, &ignored);
    }
}

/* Moves replaced files to the trash; removes drafts that were not placed. */
static void putting_tidy(struct putting *p, bool kept)
{
    char trash[PATH_MAX];
    for (size_t i = 0; i < p->count; i++) {
        struct swap *s = &p->swaps[i];
        struct err why = {0};
        bool moved = kept && s->file->change == NOTES_CHANGED &&
                     trash_name(s->path, p->now_ms, trash, &why) &&
                     apply_make_folder(p->v, trash, &why) &&
                     os_place(p->v->dir, s->aside, trash, NULL, false, &why);
        if (!moved && s->file->change != NOTES_REMOVED)
            (void)os_drop(p->v->dir, s->aside, &(struct err){0});
    }
}

/* Names that no program is shown may be left in one. */
static void put_folders(struct putting *p, const struct notes_file *files, size_t count,
                        bool removed)
{
    for (size_t i = 0; i < count; i++) {
        struct err ignored = {0};
        char *path = files[i].folder ? str_cz(files[i].path, p->arena, &ignored) : NULL;
        if (path && removed && files[i].change == NOTES_REMOVED)
            (void)os_remove_folder(p->v->dir, path, &ignored);
        else if (path && !removed && files[i].change == NOTES_MADE)
            (void)os_make_dirs(p->v->dir, path, &ignored);
    }
}

/* ---- all of it --------------------------------------------------------------------- */

/* A name of ours, or one that could not stand in an answer. */
static bool check_path(struct str path, struct err *e)
{
    bool hidden = path.n == 0 || path.at[0] == '.' || path.at[0] == '/' ||
                  memmem(path.at, path.n, "/.", 2);
    return (!hidden && str_is_utf8(path) && path.n < PATH_MAX) ||
           err_set(e, ERR_INVALID,
                   "a file's name is not UTF-8, or begins with a dot: '%.*s'; nothing "
                   "was changed",
                   str_is_utf8(path) ? (int)str_cut(path, 120).n : 0, path.at);
}

/* Checks a new file's name: what moves a cursor would do so where a person lists it. */
static bool check_made(const struct notes_file *f, struct err *e)
{
    for (size_t i = 0; f->change == NOTES_MADE && i < f->path.n; i++) {
        unsigned char c = (unsigned char)f->path.at[i];
        if (c < ' ' || c == 0x7f)
            return err_set(e, ERR_INVALID,
                           "a file's name contains a control character (\\x%02x, "
                           "after '%.*s'); nothing was changed",
                           c, STR_ARGS(str_cut((struct str){f->path.at, i}, 120)));
    }
    return true;
}

static bool files_add_change(struct putting *p, const struct notes_file *f,
                             int64_t since_ns, struct err *e)
{
    struct os_stat st = {0};
    char *path =
        check_path(f->path, e) && check_made(f, e) ? str_cz(f->path, p->arena, e) : NULL;
    if (!path || !check_base(p, f, path, since_ns, &st, e))
        return false;
    if (f->folder)
        return true;
    return name_is_path(f->path) ? files_put_note(p, f, path, e)
                                 : add_swap(p, f, path, &st, e);
}

static void putting_tell(const struct putting *p)
{
    static const enum effect_deed deeds[] = {EFFECT_MADE, EFFECT_CHANGED, EFFECT_REMOVED};
    for (size_t i = 0; i < p->count; i++) {
        const struct notes_file *f = p->swaps[i].file;
        outcome_add(p->v->view.outcome, &(struct effect){"file", deeds[f->change],
                                                         .id = f->path, .path = f->path});
    }
}

static bool files_put_all(struct putting *p, const struct notes_file *files, size_t count,
                          int64_t since_ns, struct err *e)
{
    for (size_t i = 0; i < count; i++)
        if (!files_add_change(p, &files[i], since_ns, e))
            return false;
    put_folders(p, files, count, false);
    bool ok = draft(p, e) && swap_in(p, e) && change_commit(p->change, e);
    if (!ok)
        swap_out(p);
    putting_tidy(p, ok);
    if (ok) {
        put_folders(p, files, count, true);
        putting_tell(p);
    }
    return ok && (!p->count || os_sync(p->v->dir, e));
}

bool notes_put_files(struct vault *v, const struct notes_file *files, size_t count,
                     int64_t since_ns, struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new((size_t)256 << 20);
    scoped(change_end) struct change *change =
        change_begin(v, &(struct change_options){.action = "tool"}, e);
    struct putting p = {.v = v, .change = change, .arena = arena, .now_ms = os_real_ms()};
    os_random(&p.id, sizeof p.id);
    p.swaps = change ? arena_get(arena, (count + 1) * sizeof *p.swaps, e) : NULL;
    return p.swaps && files_put_all(&p, files, count, since_ns, e);
}
