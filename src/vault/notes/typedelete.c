/* Deleting a type of notes: with its notes moved to another, or to the trash. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "notes/index.h"
#include "notes/name.h"
#include "notes/notes.api.h"
#include "notes/session.h"
#include "notes/sight.h"
#include "notes/typefile.h"
#include "notes/types.h"
#include "notes/verdicts.h"
#include "notes/write.h"

#define DELETED_DIR TYPES_DIR "/deleted"

struct removal {
    struct vault *vault;
    struct str type, target; /* empty: to the trash */
    struct change *change;
    struct arena *arena;
    const char **paths;
    size_t count;
};

/* The type's notes by their paths. */
static bool gather_notes(struct db *db, void *arg, struct err *e)
{
    struct removal *r = arg;
    r->count = 0;
    scoped(query_end) struct query *q =
        db_query(db, "SELECT path FROM notes WHERE type = ? ORDER BY path LIMIT ?", e);
    r->paths = arena_get(r->arena, (CHANGE_NOTES_MAX + 1) * sizeof *r->paths, e);
    if (!q || !r->paths)
        return false;
    query_bind_str(q, 1, r->type);
    query_bind_int(q, 2, CHANGE_NOTES_MAX + 1);
    while (query_next(q, e)) {
        struct str path = query_str(q, 0);
        const char *copy = arena_copy(r->arena, path.at, path.n, e);
        if (!copy)
            return false;
        r->paths[r->count++] = copy;
    }
    return e->code == ERR_NONE;
}

static bool refuse_notes(const struct removal *r, struct err *e)
{
    return err_set(
        e, ERR_CONFLICT,
        "the type \"%.*s\" has %zu note%s and was not deleted; action 'migrate' with "
        "target_type moves them, 'delete' with confirm: true moves them to the "
        "trash",
        STR_ARGS(str_cut(r->type, 60)), r->count, str_plural((int64_t)r->count));
}

/* Every note that is still there: to another type, or to the trash. */
static bool remove_each(void *arg, struct err *e)
{
    struct removal *r = arg;
    for (size_t i = 0; i < r->count; i++) {
        const char *path = r->paths[i];
        if (!vault_goes_on(r->vault, e))
            return false;
        if (!change_has(r->change, path))
            continue; /* gone since the index was asked */
        bool ok = r->target.n ? move_to_type(r->change, r->vault, path, r->target, e)
                              : change_remove(r->change, path, NULL, e);
        if (!ok)
            return err_wrap(e, "\"%.100s\"", path);
    }
    return true;
}

static bool remove_notes(struct removal *r, struct err *e)
{
    return r->target.n ? session_run(r->vault, r->change, remove_each, r, e)
                       : remove_each(r, e);
}

struct folders {
    struct arena *arena;
    const char *all[1000];
    size_t count;
};

static bool take_inner(void *arg, const char *name, const struct os_stat *st,
                       struct err *e)
{
    (void)st;
    struct folders *f = arg;
    if (f->count < LENGTH(f->all) &&
        (f->all[f->count] = arena_copy(f->arena, name, strlen(name), e)))
        f->count++;
    return e->code == ERR_NONE;
}

/* Takes away folders that are empty, the inner ones first; all others stay. */
static void remove_folders(struct vault *v, struct str type, struct arena *a)
{
    struct folders *f = mem_new(sizeof *f);
    struct err none = {0};
    char name[PATH_MAX];
    (void)snprintf(name, sizeof name, "%.*s", STR_ARGS(type));
    f->arena = a;
    if (take_inner(f, name, NULL, &none) &&
        os_walk_folders(v->dir, name, take_inner, f, &none))
        while (f->count > 0)
            (void)os_remove_folder(v->dir, f->all[--f->count], &none);
    free(f);
}

/* The description goes where a person finds it again. */
static bool put_aside(struct vault *v, struct str type, struct err *e)
{
    char path[PATH_MAX], aside[PATH_MAX], now[25];
    types_path(type, path);
    date_format(os_real_ms(), now);
    (void)snprintf(aside, sizeof aside, DELETED_DIR "/%.*s %s.md",
                   STR_ARGS(str_cut(type, 200)), now);
    for (char *c = aside; *c; c++)
        *c = *c == ':' ? '.' : *c;
    struct err why = {0};
    if (!os_make_dirs(v->dir, DELETED_DIR, e))
        return false;
    return os_move(v->dir, path, aside, &why) || why.code == ERR_NOT_FOUND ||
           err_pass(e, &why);
}

/* ---- what was deleted before --------------------------------------------- */

struct aside {
    char name[300];
    uint64_t bytes;
};
struct asides {
    struct aside *all;
    size_t count, room;
};

/* When it was deleted: the last of its name. "": none of ours. */
static const char *time_in(const char *name)
{
    static const char like[] = " 2026-01-01T00.00.00.000Z.md";
    size_t n = strlen(name);
    const char *at = n > sizeof like - 1 ? name + n - (sizeof like - 1) : "";
    for (size_t i = 0; at[i]; i++)
        if (like[i] >= '0' && like[i] <= '9' ? at[i] < '0' || at[i] > '9'
                                             : at[i] != like[i])
            return "";
    return at;
}

static bool take_aside(void *arg, const char *path, const struct os_stat *st,
                       struct err *e)
{
    struct asides *s = arg;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    (void)e;
    if (!st->is_file || !*time_in(name) || strlen(name) >= sizeof s->all->name)
        return true;
    if (s->count == s->room) {
        size_t room = s->room ? 2 * s->room : 256;
        struct aside *more = mem_new(room * sizeof *more);
        if (s->count)
            memcpy(more, s->all, s->count * sizeof *more);
        free(s->all);
        s->all = more;
        s->room = room;
    }
    (void)snprintf(s->all[s->count].name, sizeof s->all->name, "%s", name);
    s->all[s->count++].bytes = st->size;
    return true;
}

static int newest_first(const void *a, const void *b)
{
    const struct aside *x = a, *y = b;
    return strcmp(time_in(y->name), time_in(x->name));
}

/* Keeps the last ones; what cannot be taken away now is met the next time. */
static void drop_asides(struct vault *v)
{
    struct asides s = {0};
    struct err none = {0};
    uint64_t bytes = 0;
    scoped_fd int dir = os_open_beneath(v->dir, DELETED_DIR,
                                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &none);
    if (dir >= 0)
        (void)os_walk(dir, take_aside, &s, &none);
    if (s.count)
        qsort(s.all, s.count, sizeof *s.all, newest_first);
    for (size_t i = 0; i < s.count; i++) {
        bytes += s.all[i].bytes;
        if (i >= TYPES_DELETED_MOST || (i > 0 && bytes > TYPES_DELETED_BYTES))
            (void)unlinkat(dir, s.all[i].name, 0);
    }
    free(s.all);
}

struct deletion {
    struct str type, action, target;
    bool confirm;
};

static bool type_deletion_read(const struct json *o, struct deletion *d, struct err *e)
{
    if (!options_check(o, "noteTypes.delete", NOTE_TYPES_DELETE_KEYS, e) ||
        !options_str(o, "type_name", NULL, &d->type, e) ||
        !types_check_name(d->type, e) || !options_str(o, "action", NULL, &d->action, e) ||
        !options_str(o, "target_type", NULL, &d->target, e) ||
        !options_bool(o, "confirm", &d->confirm, e))
        return false;
    if (!d->action.n)
        d->action = STR("error");
    bool migrate = str_is(d->action, "migrate"), remove = str_is(d->action, "delete");
    if (!migrate && !remove && !str_is(d->action, "error"))
        return err_set(e, ERR_INVALID,
                       "action is \"%.*s\"; 'error', 'migrate' and 'delete' are accepted",
                       STR_ARGS(str_cut(d->action, 40)));
    if (migrate && (!name_is_type(d->target) || str_eq(d->target, d->type)))
        return err_set(e, ERR_INVALID,
                       "action 'migrate' needs target_type, the name of another type");
    if (!migrate && d->target.n)
        return err_set(e, ERR_INVALID, "target_type belongs to action 'migrate'");
    return !remove || d->confirm ||
           err_set(e, ERR_INVALID,
                   "action 'delete' moves all notes of the type to the trash and needs "
                   "confirm: true; nothing was deleted");
}

static bool review(struct vault *v, struct change *c, struct str type, struct arena *a,
                   struct err *e)
{
    char path[PATH_MAX];
    types_path(type, path);
    scoped_buf struct buf old = buf_of(TYPEFILE_MAX);
    struct change_file file = {.path = path};
    struct err why = {0};
    if (!v->view.review)
        return true;
    file.there = os_read_file(v->dir, path, &old, NULL, &why);
    file.old = (struct str){arena_copy(a, old.at, old.n, e), old.n};
    return file.old.at && change_review(c, &file, e);
}

struct deleting {
    struct vault *vault;
    const struct deletion *what;
    size_t notes; /* that it had */
    bool looked;  /* into them */
};

static bool delete_once(void *arg, struct verdicts *verdicts, struct err *e)
{
    struct deleting *all = arg;
    struct vault *v = all->vault;
    const struct deletion d = *all->what;
    scoped(arena_free) struct arena *a = arena_new((size_t)128 << 20);
    const struct change_options how = {.action = d.target.n ? "move" : "delete",
                                       .verdicts = verdicts};
    scoped(change_end) struct change *c = change_begin(v, &how, e);
    struct removal r = {
        .vault = v, .type = d.type, .target = d.target, .change = c, .arena = a};
    if (!c || !types_need(v, d.type, e) || !index_use(v, gather_notes, &r, e))
        return false;
    if (r.count > CHANGE_NOTES_MAX)
        return err_set(e, ERR_LIMIT,
                       "the type has more than %u notes, too many for one call",
                       CHANGE_NOTES_MAX);
    if (r.count && str_is(d.action, "error"))
        return refuse_notes(&r, e);
    if (r.count && !vault_permits(v, d.target.n ? "notes.move" : "notes.delete", e))
        return err_wrap(e, "nothing was deleted");
    all->notes = r.count;
    all->looked = true;
    if (!remove_notes(&r, e))
        return false;
    if (verdicts_wait(verdicts))
        return true;
    if (!review(v, c, d.type, a, e))
        return false;
    if ((r.count && !change_commit(c, e)) || !put_aside(v, d.type, e))
        return false;
    remove_folders(v, d.type, a);
    drop_asides(v);
    types_tell(v, d.type, EFFECT_REMOVED, NULL, NULL);
    return true;
}

bool note_types_delete(struct vault *v, const struct json *options,
                       struct json_writer *out, struct err *e)
{
    struct deletion d = {0};
    struct deleting all = {.vault = v, .what = &d};
    if (!type_deletion_read(options, &d, e))
        return false;
    if (!verdicts_settle(v, delete_once, &all, e))
        return all.looked && sight_refuse(v, SIGHT_NOTES, "noteTypes.delete", e);
    json_open_object(out);
    json_pair_bool(out, "success", true);
    json_pair_int(out, "notesAffected", (int64_t)all.notes);
    json_close(out);
    return true;
}
