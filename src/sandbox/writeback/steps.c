/* The steps of a writing: each looks first at what is there, by inode, so that it can be done
 * again by whoever completes it, and be taken back. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writeback/internal.h"

void stage_name(const char *id, char out[static SLOT_MAX])
{
    (void)snprintf(out, SLOT_MAX, STAGE "/changes-%s", id);
}

void step_slot(const struct steps *s, size_t i, char out[static SLOT_MAX])
{
    (void)snprintf(out, SLOT_MAX, STAGE "/changes-%s/%zu", s->id, i);
}

int open_parent(int dir, const char *path, const char **name, struct err *e)
{
    char folder[VFS_PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    if (slash) {
        memcpy(folder, path, (size_t)(slash - path));
        folder[slash - path] = '\0';
    }
    *name = slash ? slash + 1 : path;
    return os_open_beneath(dir, folder, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, e);
}

/* The entry of the name, of whatever kind; false: there is none, or its folder is none. */
static bool look(int dir, const char *path, struct stat *st)
{
    struct err none = {0};
    const char *name;
    scoped_fd int in = open_parent(dir, path, &name, &none);
    return in >= 0 && fstatat(in, name, st, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_inode(int dir, const char *path, uint64_t inode)
{
    struct stat st;
    return inode && look(dir, path, &st) && st.st_ino == inode;
}

static bool differs(const char *path, struct err *e)
{
    return err_set(e, ERR_CONFLICT,
                   "%.200s was changed on the host meanwhile; nothing was written", path);
}

/* ---- forward --------------------------------------------------------------------- */

static bool put(const struct steps *s, size_t i, struct err *e)
{
    const struct vfs_change *c = &s->changes[i];
    const struct os_stat seen = {.inode = c->before.inode,
                                 .size = c->before.size,
                                 .mtime_ns = c->before.modified_ns};
    char slot[SLOT_MAX];
    step_slot(s, i, slot);
    return is_inode(s->dir, c->path.at, s->staged[i]) ||
           os_place(s->dir, slot, c->path.at, c->what == VFS_CHANGED ? &seen : NULL,
                    false, e);
}

static bool take_file(const struct steps *s, size_t i, struct err *e)
{
    const struct vfs_change *c = &s->changes[i];
    struct stat st;
    char slot[SLOT_MAX];
    step_slot(s, i, slot);
    if (is_inode(s->dir, slot, c->before.inode) || !look(s->dir, c->path.at, &st))
        return true; /* done: what is there now may be new */
    if (st.st_ino != c->before.inode || S_ISDIR(st.st_mode))
        return differs(c->path.at, e);
    return os_place(s->dir, c->path.at, slot, NULL, false, e);
}

/* One in which something is left that was not shown stays. */
static bool take_folder(const struct steps *s, const struct vfs_change *c, struct err *e)
{
    struct err why = {0};
    return os_remove_folder(s->dir, c->path.at, &why) || why.code == ERR_NOT_FOUND ||
           why.code == ERR_CONFLICT || err_pass(e, &why);
}

/* Its own mode comes at the end: until then names are made in it. */
static bool make_folder(const struct steps *s, const char *path, struct err *e)
{
    struct stat st;
    const char *name;
    scoped_fd int in = open_parent(s->dir, path, &name, e);
    if (in < 0)
        return false;
    if (mkdirat(in, name, 0700) == 0)
        return true;
    if (errno != EEXIST)
        return err_set(e, ERR_IO, "cannot make %.200s: %m", path);
    return (fstatat(in, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)) ||
           differs(path, e);
}

bool step_make(const struct steps *s, size_t i, struct err *e)
{
    const struct vfs_change *c = &s->changes[i];
    if (c->what == VFS_REMOVED)
        return c->type == VFS_FOLDER ? take_folder(s, c, e) : take_file(s, i, e);
    return c->type == VFS_FOLDER ? make_folder(s, c->path.at, e) : put(s, i, e);
}

/* ---- back --------------------------------------------------------------------------- */

static bool put_back(const struct steps *s, size_t i, struct err *e)
{
    const struct vfs_change *c = &s->changes[i];
    struct os_stat ours;
    char slot[SLOT_MAX];
    step_slot(s, i, slot);
    if (!is_inode(s->dir, c->path.at, s->staged[i]))
        return true; /* not done, or another's by now */
    if (c->what == VFS_MADE)
        return os_place(s->dir, c->path.at, slot, NULL, false, e);
    return !is_inode(s->dir, slot, c->before.inode) ||
           (os_stat_beneath(s->dir, c->path.at, &ours, e) &&
            os_place(s->dir, slot, c->path.at, &ours, false, e));
}

bool step_undo(const struct steps *s, size_t i, struct err *e)
{
    const struct vfs_change *c = &s->changes[i];
    struct err none = {0};
    char slot[SLOT_MAX];
    step_slot(s, i, slot);
    if (c->what == VFS_REMOVED && c->type == VFS_FOLDER)
        return make_folder(s, c->path.at, e);
    if (c->what == VFS_REMOVED)
        return !is_inode(s->dir, slot, c->before.inode) ||
               os_place(s->dir, slot, c->path.at, NULL, false, e);
    if (c->type != VFS_FOLDER)
        return put_back(s, i, e);
    (void)os_remove_folder(s->dir, c->path.at, &none);
    return true;
}

/* ---- folders ------------------------------------------------------------------------ */

static void finish_folder(int dir, const char *path, uint32_t mode, int64_t modified_ns)
{
    struct err none = {0};
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT}, {modified_ns / 1000000000, modified_ns % 1000000000}};
    scoped_fd int fd =
        os_open_beneath(dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &none);
    if (fd >= 0 && fchmod(fd, mode & 0777) == 0)
        (void)futimens(fd, times);
}

void steps_finish(const struct steps *s, bool forward)
{
    for (size_t i = s->count; i-- > 0;) {
        const struct vfs_change *c = &s->changes[i];
        if (c->type != VFS_FOLDER || (c->what == VFS_MADE) != forward)
            continue;
        if (forward)
            finish_folder(s->dir, c->path.at, s->owner_only ? c->mode & 0700 : c->mode,
                          c->modified_ns);
        else
            finish_folder(s->dir, c->path.at, c->before.mode, c->before.modified_ns);
    }
}
