#include "notes/attached.h"

#include "notes/fold.h"
#include "notes/name.h"

struct listing {
    struct attached *a;
    const struct vault *v;
};

static bool list_file(void *arg, const char *name, const struct os_stat *st,
                      struct err *e)
{
    struct listing *l = arg;
    struct attached *a = l->a;
    struct str path = str_of(name);
    if (!vault_goes_on(l->v, e))
        return false;
    if (!st->is_file || !name_is_file(path) || name_is_path(path))
        return true;
    const char *copy = arena_copy(a->arena, path.at, path.n, e);
    if (!copy || !array_fit(a->all, a->capacity, a->count, e))
        return false;
    a->all[a->count++] =
        (struct attached_file){.path = {copy, path.n}, .st = *st, .next = ATTACHED_NONE};
    return true;
}

static int files_by_path(const void *a, const void *b)
{
    const struct attached_file *x = a, *y = b;
    return strcmp(x->path.at, y->path.at);
}

/* Files of one name, by their folded name. From the last one on, so that they stay sorted. */
static bool list_names(struct attached *a, struct err *e)
{
    scoped_buf struct buf key = buf_of(FOLD_KEY_MAX);
    a->first = arena_get(a->arena, (a->count + 1) * sizeof *a->first, e);
    if (!a->first)
        return false;
    for (size_t i = a->count; i-- > 0;) {
        struct str name = fold_key(name_file(a->all[i].path), &key);
        size_t number = map_find(&a->names, name);
        if (number == MAP_NONE) {
            const char *copy = arena_copy(a->arena, name.at, name.n, e);
            number = copy ? map_add(&a->names, (struct str){copy, name.n}, e) : MAP_NONE;
            if (number == MAP_NONE)
                return false;
            a->first[number] = ATTACHED_NONE;
        }
        a->all[i].next = a->first[number];
        a->first[number] = i;
    }
    return true;
}

static bool sort_files(struct attached *a, struct err *e)
{
    if (a->count)
        qsort(a->all, a->count, sizeof *a->all, files_by_path);
    return list_names(a, e);
}

bool attached_read(struct attached *a, struct vault *v, struct err *e)
{
    attached_done(a);
    a->arena = arena_new(ARENA_VAULT);
    struct listing l = {a, v};
    if (!os_walk(v->dir, list_file, &l, e) || e->code)
        return false;
    return sort_files(a, e);
}

bool attached_renamed(const struct attached *a, struct str from, struct str to,
                      struct attached *out, struct err *e)
{
    out->arena = arena_new(ARENA_VAULT);
    for (size_t i = 0; i < a->count; i++) {
        struct str path = str_eq(a->all[i].path, from) ? to : a->all[i].path;
        const char *copy = arena_copy(out->arena, path.at, path.n, e);
        if (!copy || !array_fit(out->all, out->capacity, out->count, e))
            return false;
        out->all[out->count++] = (struct attached_file){
            .path = {copy, path.n}, .st = a->all[i].st, .next = ATTACHED_NONE};
    }
    return sort_files(out, e);
}

void attached_done(struct attached *a)
{
    map_done(&a->names);
    free(a->all);
    arena_free(a->arena);
    *a = (struct attached){0};
}

/* ---- finding --------------------------------------------------------------- */

static bool ends_path(struct str path, struct str tail)
{
    if (path.n <= tail.n)
        return str_eq(path, tail);
    struct str end = {path.at + path.n - tail.n, tail.n};
    return str_eq(end, tail) && end.at[-1] == '/';
}

static size_t find_one(const struct attached *a, struct str name)
{
    scoped_buf struct buf wanted = buf_of(FOLD_KEY_MAX), path = buf_of(FOLD_KEY_MAX);
    struct str tail = fold_key(name, &wanted);
    size_t number = map_find(&a->names, name_file(tail)), best = ATTACHED_NONE;
    size_t i = number == MAP_NONE ? ATTACHED_NONE : a->first[number];
    for (; i != ATTACHED_NONE; i = a->all[i].next) {
        struct str now = a->all[i].path;
        if (str_eq(now, name))
            return i;
        if (!ends_path(fold_key(now, &path), tail))
            continue;
        bool nearer = best == ATTACHED_NONE || now.n < a->all[best].path.n ||
                      (now.n == tail.n && a->all[best].path.n != tail.n);
        best = nearer ? i : best;
    }
    return best;
}

/* The path itself, to the byte? */
static size_t find_exact(const struct attached *a, struct str name)
{
    size_t i = find_one(a, name);
    return i != ATTACHED_NONE && str_eq(a->all[i].path, name) ? i : ATTACHED_NONE;
}

size_t attached_find(const struct attached *a, struct str text, struct str other)
{
    const struct str names[] = {text, other};
    size_t found = ATTACHED_NONE;
    for (size_t i = 0; i < LENGTH(names) && found == ATTACHED_NONE; i++)
        found = names[i].n ? find_exact(a, names[i]) : ATTACHED_NONE;
    for (size_t i = 0; i < LENGTH(names) && found == ATTACHED_NONE; i++)
        found = names[i].n ? find_one(a, names[i]) : ATTACHED_NONE;
    return found;
}

bool attached_is_alone(const struct attached *a, size_t file)
{
    scoped_buf struct buf key = buf_of(FOLD_KEY_MAX);
    size_t number = map_find(&a->names, fold_key(name_file(a->all[file].path), &key));
    size_t first = number == MAP_NONE ? ATTACHED_NONE : a->first[number];
    return first == file && a->all[file].next == ATTACHED_NONE;
}
