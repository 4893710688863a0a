/* Paths by what they fold to: those that folders list, and those of the change itself. */
#include "notes/twins.h"

#include "notes/entry.h"
#include "notes/fold.h"
#include "notes/name.h"

struct twin {
    const char *path;
    bool is_folder;
    size_t next; /* the one before it with the same fold, plus 1; 0: none */
};

void twins_done(struct twins *t)
{
    map_done(&t->folds);
    map_done(&t->listed);
    free(t->all);
    free(t->newest);
}

static const char *twins_fold(struct change *c, struct str path, struct err *e)
{
    scoped_buf struct buf text = buf_of(FOLD_KEY_MAX);
    fold_put(path, &text);
    return arena_copy(c->arena, buf_cz(&text), text.n, e);
}

/* `path` outlasts the change. */
static bool twins_add(struct change *c, const char *path, bool is_folder, struct err *e)
{
    struct twins *t = &c->twins;
    size_t known = t->folds.count;
    const char *fold = twins_fold(c, str_of(path), e);
    if (!fold || !array_fit(t->all, t->capacity, t->count, e) ||
        !array_fit(t->newest, t->fold_capacity, t->folds.count, e))
        return false;
    size_t number = map_add(&t->folds, str_of(fold), e);
    if (number == MAP_NONE)
        return false;
    if (number == known)
        t->newest[number] = 0;
    t->all[t->count] = (struct twin){path, is_folder, t->newest[number]};
    t->newest[number] = ++t->count;
    return true;
}

static size_t newest_of(const struct twins *t, const char *fold, size_t n)
{
    size_t number = map_find(&t->folds, (struct str){fold, n});
    return number == MAP_NONE ? 0 : t->newest[number];
}

/* ---- folders ------------------------------------------------------------- */

static bool add_listed(void *arg, const char *name, const struct os_stat *st,
                       struct err *e)
{
    struct change *c = arg;
    if (!st->is_dir && !name_is_path(str_of(name)))
        return true;
    const char *copy = arena_copy(c->arena, name, strlen(name), e);
    return copy && twins_add(c, copy, st->is_dir, e);
}

/* A folder that cannot be read has no names; a write there fails later. */
static bool twins_list(struct change *c, const char *folder, os_walk_fn *each, void *arg,
                       struct err *e)
{
    struct err why = {0};
    if (os_list(c->v->dir, folder, each, arg, &why) || why.code != ERR_LIMIT)
        return true;
    return err_pass(e, &why);
}

/* All folders that fold to the first `n` bytes of `fold`, of which the ones above are
 * listed already. */
static bool list_folders(struct change *c, const char *fold, size_t n, struct err *e)
{
    struct twins *t = &c->twins;
    size_t known = t->listed.count;
    if (map_add(&t->listed, (struct str){fold, n}, e) == MAP_NONE)
        return false;
    if (t->listed.count == known)
        return true;
    if (!n)
        return twins_list(c, ".", add_listed, c, e);
    for (size_t i = newest_of(t, fold, n); i; i = t->all[i - 1].next)
        if (t->all[i - 1].is_folder &&
            !twins_list(c, t->all[i - 1].path, add_listed, c, e))
            return false;
    return true;
}

static bool list_above(struct change *c, const char *fold, struct err *e)
{
    if (!list_folders(c, fold, 0, e))
        return false;
    for (const char *slash = strchr(fold, '/'); slash; slash = strchr(slash + 1, '/'))
        if (!list_folders(c, fold, (size_t)(slash - fold), e))
            return false;
    return true;
}

/* ---- looking through folders --------------------------------------------- */

#define LOOKS 4u /* before a table is made */

/* The paths so far that fold to the first components of what is looked for. */
struct look {
    struct change *c;
    struct str wanted;  /* the next component, folded */
    bool is_last;       /* it is a note */
    const char **found; /* of this component */
    size_t count, capacity;
};

static bool look_at(void *arg, const char *name, const struct os_stat *st, struct err *e)
{
    struct look *l = arg;
    if (l->is_last ? st->is_dir : !st->is_dir)
        return true;
    if (!fold_is(name_file(str_of(name)), l->wanted))
        return true;
    if (!array_fit(l->found, l->capacity, l->count, e))
        return false;
    const char *copy = arena_copy(l->c->arena, name, strlen(name), e);
    l->found[l->count++] = copy;
    return copy != NULL;
}

/* All notes whose paths fold to `fold`, into the table. */
static bool look_through(struct change *c, const char *fold, struct err *e)
{
    static const char *const top[] = {"."};
    const char **above = mem_new(sizeof top);
    memcpy(above, top, sizeof top);
    size_t folders = 1;
    bool ok = true;
    for (const char *at = fold; ok && at;) {
        const char *slash = strchr(at, '/');
        struct look l = {.c = c, .is_last = !slash};
        l.wanted = (struct str){at, slash ? (size_t)(slash - at) : strlen(at)};
        for (size_t i = 0; ok && i < folders; i++)
            ok = twins_list(c, above[i], look_at, &l, e);
        free(above);
        above = l.found;
        folders = l.count;
        at = slash ? slash + 1 : NULL;
    }
    for (size_t i = 0; ok && i < folders; i++)
        ok = !name_is_path(str_of(above[i])) || twins_add(c, above[i], false, e);
    free(above);
    return ok;
}

/* ---- what there is ------------------------------------------------------- */

/* Adds the places of notes by the change's own doing. */
static bool twins_add_own(struct change *c, struct err *e)
{
    for (; c->twins.own < c->paths.count; c->twins.own++) {
        struct str path = c->paths.texts[c->twins.own];
        if (name_is_path(path) && !twins_add(c, path.at, false, e))
            return false;
    }
    return true;
}

bool twins_find(struct change *c, const char *path, const char *except, const char **twin,
                struct err *e)
{
    struct twins *t = &c->twins;
    *twin = NULL;
    const char *fold = twins_fold(c, str_of(path), e);
    if (!fold || !twins_add_own(c, e) ||
        !(t->asked++ < LOOKS ? look_through(c, fold, e) : list_above(c, fold, e)))
        return false;
    for (size_t i = newest_of(t, fold, strlen(fold)); i; i = t->all[i - 1].next) {
        const struct twin *other = &t->all[i - 1];
        if (!other->is_folder && strcmp(other->path, path) != 0 &&
            (!except || strcmp(other->path, except) != 0) && change_has(c, other->path))
            *twin = other->path;
    }
    return true;
}
