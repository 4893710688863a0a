#include "watching/news.h"

#include <limits.h>
#include <stdio.h>

#include "effect/effect.h"
#include "notes/notes.h"
#include "os/os.h"
#include "watching/watching.h"

#define TYPES_DIR ".cloche/types"
#define PAGE 10000
#define NAMES_MAX 64u /* looked at one by one; beyond that all notes are */

struct known {
    char *path, *id; /* one allocation */
    uint64_t hash;
};

/* All notes, ordered by path. */
struct notes_known {
    struct known *all;
    size_t count, capacity;
};

struct news {
    struct vault *vault;
    int dir;
    struct os_watch *watch; /* NULL: no notices */
    struct notes_known notes;
    bool too_many; /* notes: none is kept */
    uint64_t types;
    char version[100];

    struct buf names;             /* reported by the watch, each with its NUL */
    size_t name_count, last_name; /* offset of the last one */
    bool all;                     /* look at everything */
    bool unsure;                  /* a reported change may be in the snapshot already */
    bool blind;                   /* there was no index to compare with */

    struct str ids[NEWS_IDS_MAX]; /* of this look; stored in `space` */
    struct buf space;
    size_t offsets[NEWS_IDS_MAX], id_count;
    bool many, came_or_went;
};

/* ---- snapshots ---------------------------------------------------------------- */

static void known_free(struct notes_known *k)
{
    for (size_t i = 0; i < k->count; i++)
        free(k->all[i].path);
    free(k->all);
    *k = (struct notes_known){0};
}

static struct known known_of(const struct effect *row)
{
    struct known k = {.hash = hash_fnv(HASH_FNV, row->after)};
    must(asprintf(&k.path, "%.*s%c%.*s", STR_ARGS(row->path), '\0', STR_ARGS(row->id)) >=
         0);
    k.id = k.path + strlen(k.path) + 1;
    return k;
}

/* At the end, or before index `at`. */
static void known_insert(struct notes_known *k, size_t at, struct known one)
{
    if (k->count == k->capacity) {
        k->capacity = k->capacity ? 2 * k->capacity : 256;
        k->all = reallocarray(k->all, k->capacity, sizeof *k->all);
        must(k->all != NULL); /* at most NEWS_NOTES_MAX */
    }
    memmove(k->all + at + 1, k->all + at, (k->count - at) * sizeof *k->all);
    k->all[at] = one;
    k->count++;
}

static void known_remove(struct notes_known *k, size_t at)
{
    free(k->all[at].path);
    k->count--;
    memmove(k->all + at, k->all + at + 1, (k->count - at) * sizeof *k->all);
}

/* The index of the path, or where it belongs. */
static size_t known_place(const struct notes_known *k, const char *path)
{
    size_t low = 0, high = k->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(k->all[middle].path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool known_has(const struct notes_known *k, size_t at, const char *path)
{
    return at < k->count && !strcmp(k->all[at].path, path);
}

/* ---- reading the index ----------------------------------------------------------- */

/* Rows are ordered by path; a repeated path is known then. */
static void take_row(void *arg, const struct effect *row)
{
    struct notes_known *out = arg;
    struct known k = known_of(row);
    if (out->count && strcmp(out->all[out->count - 1].path, k.path) >= 0)
        free(k.path);
    else
        known_insert(out, out->count, k);
}

/* Appends one page to `out`; *more: there may be another. */
static bool read_page(struct news *n, struct notes_known *out, bool *more, struct err *e)
{
    size_t before = out->count;
    scoped(free) char *after = before ? mem_strdup(out->all[before - 1].path) : NULL;
    bool ok = notes_each(n->vault, str_of(after ? after : ""), PAGE, take_row, out, e);
    *more = out->count - before == PAGE;
    return ok;
}

static bool notes_read(struct news *n, struct notes_known *out, struct err *e)
{
    bool more = true;
    n->too_many = false;
    while (more && out->count <= NEWS_NOTES_MAX)
        if (!read_page(n, out, &more, e))
            return false;
    n->too_many = out->count > NEWS_NOTES_MAX;
    if (n->too_many)
        known_free(out);
    return true;
}

/* ---- reports ------------------------------------------------------------------------ */

static void note_report(struct news *n, const char *id)
{
    n->many = n->many || n->id_count == NEWS_IDS_MAX;
    if (n->many)
        return;
    n->offsets[n->id_count++] = n->space.n;
    buf_put(&n->space, id, strlen(id) + 1);
}

/* Reports a known note that changed or is gone. */
static void report_difference(struct news *n, const struct known *was,
                              const struct known *is)
{
    if (was && is && !strcmp(was->id, is->id)) {
        if (was->hash != is->hash)
            note_report(n, is->id);
        return;
    }
    n->came_or_went = true;
    if (was)
        note_report(n, was->id);
    if (is)
        note_report(n, is->id);
}

static void report_differences(struct news *n, const struct notes_known *was,
                               const struct notes_known *is)
{
    size_t i = 0, k = 0;
    while (i < was->count || k < is->count) {
        int order = i == was->count  ? 1
                    : k == is->count ? -1
                                     : strcmp(was->all[i].path, is->all[k].path);
        report_difference(n, order <= 0 ? &was->all[i] : NULL,
                          order >= 0 ? &is->all[k] : NULL);
        i += order <= 0;
        k += order >= 0;
    }
}

static bool look_at_all(struct news *n, struct err *e)
{
    struct notes_known now = {0};
    bool ok = notes_read(n, &now, e);
    if (ok && n->too_many)
        n->many = n->came_or_went = true;
    else if (ok)
        report_differences(n, &n->notes, &now);
    known_free(ok ? &n->notes : &now);
    if (ok)
        n->notes = now;
    return ok;
}

/* It looks the same, but may have changed before the snapshot. */
static void report_unsure(struct news *n, const struct known *is)
{
    n->came_or_went = true;
    if (is)
        note_report(n, is->id);
    else
        n->many = true; /* its old id is lost */
}

static bool note_look(struct news *n, const char *path, struct err *e)
{
    /* Seeks to the row after the greatest name before its own: its own, if it exists. */
    char before[PATH_MAX + 8];
    (void)snprintf(before, sizeof before, "%.*sc\xf4\x8f\xbf\xbf", (int)strlen(path) - 1,
                   path); /* path ends in ".md" */
    struct notes_known found = {0};
    if (!notes_each(n->vault, str_of(before), 1, take_row, &found, e)) {
        known_free(&found);
        return false;
    }
    bool there = found.count && !strcmp(found.all[0].path, path);
    size_t at = known_place(&n->notes, path);
    bool known = known_has(&n->notes, at, path);
    struct known now = there ? found.all[0] : (struct known){0};
    size_t told = n->id_count;
    report_difference(n, known ? &n->notes.all[at] : NULL, there ? &now : NULL);
    if (n->unsure && n->id_count == told)
        report_unsure(n, there ? &now : NULL);
    if (known)
        known_remove(&n->notes, at);
    if (there) {
        known_insert(&n->notes, at, now);
        found.count = 0; /* it was renamed */
    }
    known_free(&found);
    return true;
}

/* ---- notices of the system --------------------------------------------------------- */

static void gather(void *arg, const char *name)
{
    struct news *n = arg;
    size_t size = strlen(name);
    /* A folder means all notes in it; and a name at the root, or in the folder "note",
     * may change another note's id. */
    if (size < 4 || strcmp(name + size - 3, ".md") != 0 || !strchr(name, '/') ||
        !strncmp(name, "note/", 5) || n->name_count == NAMES_MAX) {
        n->all = true;
        return;
    }
    if (n->name_count && !strcmp(n->names.at + n->last_name, name))
        return; /* one save causes several notices in a row */
    n->last_name = n->names.n;
    buf_put(&n->names, name, size + 1);
    n->name_count++;
}

static bool fold_type(void *arg, const char *name, const struct os_stat *st,
                      struct err *e)
{
    (void)e;
    uint64_t *h = arg, one = hash_fnv(HASH_FNV, str_of(name));
    one = hash_fnv(one, (struct str){(const char *)&st->mtime_ns, sizeof st->mtime_ns});
    one = hash_fnv(one, (struct str){(const char *)&st->size, sizeof st->size});
    *h += one; /* independent of their order */
    return true;
}

static uint64_t types_now(const struct news *n)
{
    struct err ignored = {0};
    uint64_t h = 0;
    (void)os_walk_from(n->dir, TYPES_DIR, fold_type, &h, &ignored);
    return h;
}

static bool version_changed(struct news *n, bool *changed, struct err *e)
{
    scoped_buf struct buf now;
    buf_init(&now, sizeof n->version - 1);
    if (!notes_version(n->vault, &now, e))
        return false;
    *changed = strcmp(n->version, buf_cz(&now)) != 0;
    (void)snprintf(n->version, sizeof n->version, "%s", buf_cz(&now));
    return true;
}

/* Whether the index was deleted, perhaps because the vault is being deleted: comparing would
 * bring it back. Anything may have changed then, and after each notice. */
static bool look_without_index(struct news *n)
{
    bool was = n->blind;
    n->blind = n->watch && notes_index_is_gone(n->vault);
    if (n->blind)
        n->many = n->came_or_went = !was || n->all || n->name_count;
    else if (was)
        n->all = n->unsure = true;
    return n->blind;
}

static bool news_compare(struct news *n, struct err *e)
{
    bool changed = false;
    if (n->watch && !os_watch_drain(n->watch, gather, n))
        n->all = true;
    if (look_without_index(n))
        return true;
    if (!version_changed(n, &changed, e))
        return false;
    /* A reported name is always looked at: the version may have changed before the
     * notice. */
    bool silent = !n->watch && n->unsure; /* no notices since */
    if (!changed && !n->all && !n->name_count && !silent)
        return true;
    bool all = n->all || !n->watch || !n->name_count || n->too_many || n->names.failed;
    n->many = n->came_or_went = all && n->unsure;
    if (all)
        return look_at_all(n, e);
    const char *name = n->names.at;
    for (size_t i = 0; i < n->name_count; i++, name += strlen(name) + 1)
        if (!note_look(n, name, e))
            return false;
    return true;
}

bool news_look(struct news *n, struct vault_change *out, bool *any, struct err *e)
{
    n->id_count = 0;
    n->many = n->came_or_went = false;
    buf_clear(&n->space);
    if (vault_is_gone(n->vault))
        return err_set(e, ERR_NOT_FOUND, "the vault's folder was deleted");
    if (!news_compare(n, e))
        return false;
    n->all = n->unsure = false;
    n->name_count = 0;
    buf_clear(&n->names);
    uint64_t types = types_now(n);
    for (size_t i = 0; i < n->id_count; i++)
        n->ids[i] = str_of(n->space.at + n->offsets[i]);
    *out = (struct vault_change){.many = n->many,
                                 .came_or_went = n->came_or_went,
                                 .types = types != n->types,
                                 .notes = n->ids,
                                 .note_count = n->many ? 0 : n->id_count};
    n->types = types;
    *any = out->many || out->came_or_went || out->types || out->note_count;
    return true;
}

/* ---- opening -------------------------------------------------------------------------- */

int news_fd(const struct news *n)
{
    return n->watch ? os_watch_fd(n->watch) : -1;
}

struct news *news_open(const char *path, struct err *e)
{
    scoped(news_close) struct news *n = mem_new(sizeof *n);
    struct err silent = {0};
    buf_init(&n->names, (size_t)NAMES_MAX * PATH_MAX);
    buf_init(&n->space, (size_t)NEWS_IDS_MAX * (PATH_MAX + 8));
    n->dir = os_dir_open(path, e);
    if (n->dir < 0)
        return NULL;
    n->watch = os_watch_open(n->dir, path, &silent);
    n->types = types_now(n);
    return take(n);
}

bool news_begin(struct news *n, struct vault *v, struct err *e)
{
    bool changed;
    n->vault = v;
    n->unsure = true;
    return version_changed(n, &changed, e) && notes_read(n, &n->notes, e);
}

void news_close(struct news *n)
{
    if (!n)
        return;
    os_watch_close(n->watch);
    os_close(n->dir);
    known_free(&n->notes);
    buf_done(&n->names);
    buf_done(&n->space);
    free(n);
}
