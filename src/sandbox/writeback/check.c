/* Whether the host's folder is still as the guest saw it. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writeback/internal.h"

bool path_is_sound(struct str path)
{
    if (!path.n || path.n >= VFS_PATH_MAX || memchr(path.at, 0, path.n))
        return false;
    for (size_t at = 0; at <= path.n;) {
        const char *slash = at < path.n ? memchr(path.at + at, '/', path.n - at) : NULL;
        size_t end = slash ? (size_t)(slash - path.at) : path.n;
        struct str name = {path.at + at, end - at};
        if (!name.n || name.n > VFS_NAME_MAX || str_is(name, ".") || str_is(name, "..") ||
            str_is(name, ".cloche"))
            return false;
        at = end + 1;
    }
    return true;
}

/* Paths of changes of one kind, in order. */
struct paths {
    struct str *at;
    size_t count;
};

struct check {
    const struct writeback *of;
    struct paths gone, folders; /* removed; folders that are made */
    void (*each)(void *arg, struct str path);
    void *arg;
    size_t found; /* in the way */
    char first[160];
};

static int by_path(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static bool has(const struct paths *p, struct str path)
{
    return p->count && bsearch(&path, p->at, p->count, sizeof path, by_path);
}

static struct paths paths_of(const struct writeback *w, bool gone)
{
    struct paths p = {.at = mem_new((w->count + 1) * sizeof(struct str))};
    for (size_t i = 0; i < w->count; i++) {
        const struct vfs_change *c = &w->changes[i];
        if (gone ? c->what == VFS_REMOVED : c->what == VFS_MADE && c->type == VFS_FOLDER)
            p.at[p.count++] = c->path;
    }
    qsort(p.at, p.count, sizeof *p.at, by_path);
    return p;
}

static void in_the_way(struct check *k, struct str path)
{
    if (!k->found++)
        (void)snprintf(k->first, sizeof k->first, "%.*s", STR_ARGS(str_cut(path, 120)));
    if (k->each)
        k->each(k->arg, path);
}

static int64_t ns_of(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool is_as_seen(const struct check *k, const struct vfs_change *c,
                       const struct stat *st)
{
    const struct vfs_stat *was = &c->before;
    mode_t kind = c->type == VFS_FOLDER ? S_IFDIR
                  : c->type == VFS_LINK ? S_IFLNK
                                        : S_IFREG;
    if ((st->st_mode & S_IFMT) != kind || st->st_ino != was->inode)
        return false;
    if (c->type == VFS_FOLDER)
        return true;
    return (c->type == VFS_LINK || (uint64_t)st->st_size == was->size) &&
           ns_of(st->st_mtim) == was->modified_ns &&
           ns_of(st->st_ctim) == was->changed_ns &&
           (!c->unseen || was->changed_ns < k->of->since_ns);
}

/* ---- folders that go ----------------------------------------------------------- */

static bool is_hidden(const struct writeback *w, const struct dirent *d)
{
    bool shown = d->d_type == DT_REG || d->d_type == DT_DIR || d->d_type == DT_LNK ||
                 d->d_type == DT_UNKNOWN;
    return !shown || !strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") ||
           !strcmp(d->d_name, ".cloche") || (!w->dots && d->d_name[0] == '.');
}

/* An entry that nobody removed was made meanwhile. Those that are not shown stay. */
static void look_at_entry(struct check *k, const char *folder, const struct dirent *d)
{
    char path[VFS_PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", folder, d->d_name);
    struct str name = {path, (size_t)n};
    if (is_hidden(k->of, d))
        return;
    if (n >= (int)sizeof path || !has(&k->gone, name))
        in_the_way(k, n < (int)sizeof path ? name : str_of(folder));
}

static void check_leaving(struct check *k, const char *path)
{
    struct err none = {0};
    int fd =
        os_open_beneath(k->of->dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &none);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (!folder) {
        os_close(fd);
        in_the_way(k, str_of(path));
        return;
    }
    for (const struct dirent *d; (d = readdir(folder));)
        look_at_entry(k, path, d);
    closedir(folder);
}

/* ---- one change ----------------------------------------------------------------- */

static struct str parent_of(struct str path)
{
    const char *slash = memrchr(path.at, '/', path.n);
    return (struct str){path.at, slash ? (size_t)(slash - path.at) : 0};
}

static void check_one(struct check *k, const struct vfs_change *c)
{
    char path[VFS_PATH_MAX];
    const char *name;
    struct err none = {0};
    struct stat st;
    memcpy(path, c->path.at, c->path.n);
    path[c->path.n] = '\0';
    if (has(&k->folders, parent_of(c->path)))
        return; /* in a folder that is not there yet */
    scoped_fd int folder =
        open_parent(k->of->dir, path, &name, &none); /* or it is none any more */
    bool there = folder >= 0 && fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    bool fine = folder >= 0;
    if (c->what == VFS_MADE)
        fine = fine && (!there || has(&k->gone, c->path));
    else if (c->what == VFS_CHANGED || there)
        fine = there && is_as_seen(k, c, &st);
    else
        fine = true; /* removed by both */
    if (!fine)
        in_the_way(k, c->path);
    else if (there && c->what == VFS_REMOVED && c->type == VFS_FOLDER)
        check_leaving(k, path);
}

static bool may_be(const struct writeback *w, const struct vfs_change *c, struct err *e)
{
    if (!path_is_sound(c->path))
        return err_set(e, ERR_DENIED, "'%.*s' is no path beneath the folder",
                       STR_ARGS(str_cut(c->path, 120)));
    if (c->type == VFS_LINK && c->what != VFS_REMOVED && !w->links)
        return err_set(e, ERR_DENIED,
                       "'%.*s' is a symbolic link, and this mount makes none; nothing "
                       "was written",
                       STR_ARGS(str_cut(c->path, 120)));
    return true;
}

bool writeback_check(const struct writeback *w, void (*each)(void *arg, struct str path),
                     void *arg, struct err *e)
{
    struct check k = {.of = w, .each = each, .arg = arg};
    for (size_t i = 0; i < w->count; i++)
        if (!may_be(w, &w->changes[i], e))
            return false;
    k.gone = paths_of(w, true);
    k.folders = paths_of(w, false);
    for (size_t i = 0; i < w->count; i++)
        check_one(&k, &w->changes[i]);
    free(k.gone.at);
    free(k.folders.at);
    if (!k.found)
        return true;
    scoped_buf struct buf shown = buf_of(BUF_LINE);
    str_spell(str_of(k.first), &shown);
    if (k.found > 1)
        return err_set(e, ERR_CONFLICT,
                       "%s and %zu more were changed on the host since the command saw "
                       "them; nothing was written",
                       buf_cz(&shown), k.found - 1);
    return err_set(e, ERR_CONFLICT,
                   "%s was changed on the host since the command saw it; nothing was "
                   "written",
                   buf_cz(&shown));
}
