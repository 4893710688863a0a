/* Calls that take a path, beneath an open folder. */
#include <stdio.h>

#include "wasi/internal.h"

/* The folder and the path of a call: its arguments `i`, `i + 1` and `i + 2`. */
struct target {
    struct vfs_file *folder;
    struct str path;
    char joined[VFS_PATH_MAX];
};

/* A folder that was open from the start is none to be kept in where the guest has the whole
 * tree: then the path is the tree's own. What is no relative path stays a mistake. */
static int leave_folder(const struct call *c, const struct fd *f, struct target *t)
{
    const char *at = f->folder[0] == '/' ? f->folder : c->wasi->options.here;
    if (!t->path.n || t->path.at[0] == '/')
        return 0;
    int n = snprintf(t->joined, sizeof t->joined, "%s/", at);
    if (n < 0 || (size_t)n + t->path.n >= sizeof t->joined)
        return ENAMETOOLONG;
    memcpy(t->joined + n, t->path.at, t->path.n);
    t->path = (struct str){t->joined, (size_t)n + t->path.n};
    t->folder = NULL;
    return 0;
}

static int get_target(const struct call *c, size_t fd, size_t path, struct target *out)
{
    int failed = fd_folder(c->wasi, arg32(c, fd), &out->folder);
    if (!failed)
        failed = get_path(c, arg32(c, path), arg32(c, path + 1), &out->path);
    const struct fd *f = failed ? NULL : fd_at(c->wasi, arg32(c, fd));
    return f && f->folder && c->wasi->options.whole ? leave_folder(c, f, out) : failed;
}

typedef int plain_fn(struct vfs *v, struct vfs_file *base, struct str path);

static int plain(const struct call *c, plain_fn *act)
{
    struct target t;
    int failed = get_target(c, 0, 1, &t);
    return failed ? failed : act(c->wasi->options.vfs, t.folder, t.path);
}

int path_create_directory(const struct call *c)
{
    return plain(c, vfs_mkdir);
}

int path_remove_directory(const struct call *c)
{
    return plain(c, vfs_rmdir);
}

int path_unlink_file(const struct call *c)
{
    return plain(c, vfs_unlink);
}

#define LOOKUP_FOLLOW 1u

int path_filestat_get(const struct call *c)
{
    struct target t;
    struct vfs_stat st;
    int failed = get_target(c, 0, 2, &t);
    if (!failed)
        failed = vfs_stat(c->wasi->options.vfs, t.folder, t.path,
                          arg32(c, 1) & LOOKUP_FOLLOW, &st);
    return failed ? failed : put_filestat(c, arg32(c, 4), &st);
}

int path_filestat_set_times(const struct call *c)
{
    struct target t;
    int64_t accessed_ns, modified_ns;
    int failed = get_target(c, 0, 2, &t);
    if (!failed)
        failed = wanted_times(c->wasi, c->cells[4], c->cells[5], arg32(c, 6),
                              &accessed_ns, &modified_ns);
    return failed ? failed
                  : vfs_set_times(c->wasi->options.vfs, t.folder, t.path,
                                  arg32(c, 1) & LOOKUP_FOLLOW, accessed_ns, modified_ns);
}

int path_link(const struct call *c)
{
    struct target from, to;
    int failed = get_target(c, 0, 2, &from);
    if (!failed)
        failed = get_target(c, 4, 5, &to);
    if (!failed)
        failed = fd_allows(fd_at(c->wasi, arg32(c, 4)), RIGHT_LINK_TO);
    /* A link of a link's target: no such thing here, as on most systems. */
    if (!failed && arg32(c, 1) & LOOKUP_FOLLOW)
        failed = EINVAL;
    return failed ? failed
                  : vfs_link(c->wasi->options.vfs, from.folder, from.path, to.folder,
                             to.path);
}

int path_rename(const struct call *c)
{
    struct target from, to;
    int failed = get_target(c, 0, 1, &from);
    if (!failed)
        failed = get_target(c, 3, 4, &to);
    if (!failed)
        failed = fd_allows(fd_at(c->wasi, arg32(c, 3)), RIGHT_RENAME_TO);
    return failed ? failed
                  : vfs_rename(c->wasi->options.vfs, from.folder, from.path, to.folder,
                               to.path);
}

int path_symlink(const struct call *c)
{
    struct target t;
    struct str leads_to;
    int failed = get_path(c, arg32(c, 0), arg32(c, 1), &leads_to);
    if (!failed)
        failed = get_target(c, 2, 3, &t);
    if (!failed)
        failed = fd_allows(fd_at(c->wasi, arg32(c, 2)), RIGHT_SYMLINK);
    return failed ? failed
                  : vfs_symlink(c->wasi->options.vfs, leads_to, t.folder, t.path);
}

int path_readlink(const struct call *c)
{
    struct target t;
    size_t n = 0;
    uint32_t size = arg32(c, 4);
    char *to = slice(c, arg32(c, 3), size);
    int failed = get_target(c, 0, 1, &t);
    if (failed || !to || !slice(c, arg32(c, 5), 4))
        return failed ? failed : EFAULT;
    failed = vfs_readlink(c->wasi->options.vfs, t.folder, t.path, to, size, &n);
    return failed ? failed : put_u32(c, arg32(c, 5), (uint32_t)n);
}

#define O_CREATE 1u
#define O_FOLDER 2u
#define O_EXCLUSIVE 4u
#define O_CUT 8u

/* The way a file must be opened for the rights that are asked for. */
static unsigned how_to_open(const struct call *c)
{
    uint32_t oflags = arg32(c, 4);
    uint64_t rights = c->cells[5];
    unsigned how = 0;
    how |= rights & (BIT(RIGHT_READ) | BIT(RIGHT_READDIR)) ? VFS_READ : 0;
    /* Go asks for the right to set its size of any file, also where it only reads. */
    how |= rights & BIT(RIGHT_WRITE) ? VFS_WRITE : 0;
    how |= oflags & O_CREATE ? VFS_CREATE : 0;
    how |= oflags & O_FOLDER ? VFS_DIRECTORY : 0;
    how |= oflags & O_EXCLUSIVE ? VFS_EXCLUSIVE : 0;
    how |= oflags & O_CUT ? VFS_TRUNCATE | VFS_WRITE : 0;
    how |= arg32(c, 1) & LOOKUP_FOLLOW ? 0 : VFS_NOFOLLOW;
    return how;
}

static int may_open(const struct fd *folder, unsigned how)
{
    int failed = how & VFS_CREATE ? fd_allows(folder, RIGHT_CREATE_FILE) : 0;
    if (!failed && how & VFS_TRUNCATE)
        failed = fd_allows(folder, RIGHT_PATH_SET_SIZE);
    if (!failed && how & VFS_CREATE && how & VFS_DIRECTORY)
        failed = EINVAL;
    return failed;
}

/* Go asks for the right to set the size of what it only reads: where nothing may be
 * written, and the right to write was not asked for, the file is opened without. */
static int open_target(const struct call *c, const struct target *t, unsigned how,
                       struct vfs_file **file)
{
    struct vfs *v = c->wasi->options.vfs;
    int failed = vfs_open(v, t->folder, t->path, how, file);
    bool meant = how & VFS_TRUNCATE || c->cells[5] & BIT(RIGHT_WRITE);
    if ((failed == EROFS || failed == EACCES) && how & VFS_WRITE && !meant)
        failed = vfs_open(v, t->folder, t->path, how & ~(unsigned)VFS_WRITE, file);
    return failed;
}

int path_open(const struct call *c)
{
    struct target t;
    struct vfs_file *file = NULL;
    uint32_t number;
    int failed = get_target(c, 0, 2, &t);
    if (failed || !slice(c, arg32(c, 8), 4))
        return failed ? failed : EFAULT;
    if (arg32(c, 7) & ~FDFLAGS)
        return EINVAL;
    const struct fd *folder = fd_at(c->wasi, arg32(c, 0));
    unsigned how = how_to_open(c);
    struct fd like = {.rights = c->cells[5],
                      .lost = folder->lost_inheriting,
                      .lost_inheriting = folder->lost_inheriting,
                      .flags = (uint16_t)arg32(c, 7)};
    failed = may_open(folder, how);
    if (!failed)
        failed = open_target(c, &t, how, &file);
    if (!failed)
        failed = fd_add(c->wasi, file, &like, &number);
    return failed ? failed : put_u32(c, arg32(c, 8), number);
}
