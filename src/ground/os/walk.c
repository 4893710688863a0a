/* Walking a tree, folder by folder, each opened from its parent's handle. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "os/beneath.h"

#define DEPTH_MAX 64

struct walk {
    os_walk_fn *each;
    void *arg;
    bool only_folders, only_names;
    char name[PATH_MAX];
};

static bool walk_folder(struct walk *w, int fd, size_t length, int depth, struct err *e);

static void closedir_at(DIR **d)
{
    if (*d)
        (void)closedir(*d);
}

static bool walk_entry(struct walk *w, int folder, const struct dirent *d, size_t length,
                       int depth, struct err *e)
{
    bool maybe = d->d_type == DT_REG || d->d_type == DT_DIR || d->d_type == DT_UNKNOWN;
    size_t n = strlen(d->d_name);
    size_t start = length ? length + 1 : 0;
    if (d->d_name[0] == '.' || !maybe || start + n >= sizeof w->name)
        return true;
    struct statx stx;
    struct os_stat st = {.is_dir = d->d_type == DT_DIR, .is_file = d->d_type == DT_REG};
    if (w->only_folders && d->d_type == DT_REG)
        return true;
    bool known =
        (w->only_folders && st.is_dir) || (w->only_names && d->d_type != DT_UNKNOWN);
    if (!known && statx(folder, d->d_name, AT_SYMLINK_NOFOLLOW, BENEATH_STATX, &stx) < 0)
        return true; /* gone already, or not ours to see */
    if (!known)
        beneath_stat(&stx, &st);
    if (!st.is_dir && (!st.is_file || w->only_folders))
        return true;

    if (length)
        w->name[length] = '/';
    memcpy(w->name + start, d->d_name, n + 1);
    bool ok = w->each(w->arg, w->name, &st, e);
    if (ok && st.is_dir && depth < DEPTH_MAX && !w->only_names) {
        int fd =
            openat(folder, d->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0)
            ok = walk_folder(w, fd, start + n, depth + 1, e);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
            ok = beneath_failed(e, "open the folder", w->name);
    }
    w->name[length] = '\0';
    return ok;
}

/* Takes over `fd`. `length` is that of the folder's own name in w->name. */
static bool walk_folder(struct walk *w, int fd, size_t length, int depth, struct err *e)
{
    __attribute__((cleanup(closedir_at))) DIR *dir = fdopendir(fd);
    if (!dir) {
        os_close(fd);
        return beneath_failed(e, "read the folder", w->name);
    }
    for (;;) {
        errno = 0;
        const struct dirent *d = readdir(dir);
        if (!d)
            return errno == 0 || beneath_failed(e, "read the folder", w->name);
        if (!walk_entry(w, fd, d, length, depth, e))
            return false;
    }
}

static bool walk_from(int dir, const char *name, const struct walk *how, struct err *e)
{
    int fd = os_open_beneath(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, e);
    if (fd < 0)
        return false;
    struct walk *w = mem_new(sizeof *w);
    *w = *how;
    size_t length = 0;
    int depth = 0;
    if (strcmp(name, ".") != 0) {
        length = strlen(name);
        memcpy(w->name, name, length + 1);
        for (const char *c = name; *c; c++)
            depth += *c == '/';
        depth++;
    }
    bool ok =
        depth > DEPTH_MAX ? (os_close(fd), true) : walk_folder(w, fd, length, depth, e);
    free(w);
    return ok;
}

bool os_walk_from(int dir, const char *name, os_walk_fn *each, void *arg, struct err *e)
{
    return walk_from(dir, name, &(struct walk){.each = each, .arg = arg}, e);
}

bool os_walk_folders(int dir, const char *name, os_walk_fn *each, void *arg,
                     struct err *e)
{
    struct walk how = {.each = each, .arg = arg, .only_folders = true};
    return walk_from(dir, name, &how, e);
}

bool os_list(int dir, const char *name, os_walk_fn *each, void *arg, struct err *e)
{
    struct walk how = {.each = each, .arg = arg, .only_names = true};
    return walk_from(dir, name, &how, e);
}

bool os_walk(int dir, os_walk_fn *each, void *arg, struct err *e)
{
    return os_walk_from(dir, ".", each, arg, e);
}
