/* What a whole system wants of its files besides: permissions, room, holes. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "vfs/internal.h"

/* ---- permissions ---------------------------------------------------------- */

/* Of what is for its owner alone, nobody else gets more than he has. */
static uint32_t mode_within(const struct mounted *m, uint32_t mode, uint32_t now)
{
    return m && m->owner_only ? mode & (0700 | now) : mode;
}

static int node_set_mode(struct vfs *v, struct node *n, uint32_t mode)
{
    int failed = node_writable(n);
    if (!failed)
        failed = lower_keep(v, n);
    if (!failed)
        n->mode = mode_within(n->home, mode, n->mode);
    return failed;
}

/* A link between two looks is not followed. */
static int place_set_mode(struct vfs *v, const struct place *p, uint32_t mode)
{
    if (!p->exists)
        return ENOENT;
    if (p->node)
        return node_set_mode(v, p->node, mode);
    int failed = place_writable(v, p);
    if (failed)
        return failed;
    if (p->stat.type == VFS_LINK)
        return EOPNOTSUPP;
    mode = mode_within(p->in.mount, mode, p->stat.mode);
    if (!p->name_n)
        return fchmodat(p->in.fd, ".", mode, 0) == 0 ? 0 : errno;
    return fchmodat(p->in.fd, p->name, mode, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
}

int vfs_set_mode(struct vfs *v, struct vfs_file *base, struct str path, uint32_t mode)
{
    struct place p;
    if (mode & ~0777u)
        return EPERM;
    int failed = walk(v, base, path, 0, &p);
    if (!failed)
        failed = place_set_mode(v, &p, mode);
    place_done(&p);
    return failed;
}

int vfs_set_mode_of(struct vfs_file *f, uint32_t mode)
{
    if (mode & ~0777u)
        return EPERM;
    if (f->node)
        return node_set_mode(f->vfs, f->node, mode);
    struct stat st;
    if (!f->mount->writable)
        return EROFS;
    if (fstat(f->fd, &st) != 0)
        return errno;
    mode = mode_within(f->mount, mode, st.st_mode & 0777);
    return fchmod(f->fd, mode) == 0 ? 0 : errno;
}

/* ---- room ------------------------------------------------------------------- */

static uint64_t less(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

int vfs_get_space(struct vfs *v, struct vfs_file *folder, struct vfs_space *out)
{
    struct statvfs s;
    uint64_t files_left = v->quota.files - v->used.files;
    if (folder->node) {
        *out = (struct vfs_space){v->quota.bytes, v->quota.bytes - v->used.bytes,
                                  v->quota.files, files_left};
        return 0;
    }
    if (fstatvfs(folder->fd, &s) != 0)
        return errno;
    *out = (struct vfs_space){
        (uint64_t)s.f_blocks * s.f_frsize,
        less((uint64_t)s.f_bavail * s.f_frsize, v->quota.written - v->used.written),
        s.f_files, less(s.f_favail, files_left)};
    return 0;
}

int vfs_sync_all(struct vfs_file *folder)
{
    return folder->node || syncfs(folder->fd) == 0 ? 0 : errno;
}

/* ---- holes ------------------------------------------------------------------ */

int vfs_seek(struct vfs_file *f, uint64_t offset, bool hole, uint64_t *out)
{
    if (f->type == VFS_FOLDER)
        return EINVAL;
    if (f->node && !f->node->lower) {
        if (offset >= f->node->size)
            return ENXIO;
        *out = hole ? f->node->size : offset;
        return 0;
    }
    if (offset > INT64_MAX)
        return EINVAL;
    off_t at = lseek(f->fd, (off_t)offset, hole ? SEEK_HOLE : SEEK_DATA);
    *out = at < 0 ? 0 : (uint64_t)at;
    return at < 0 ? errno : 0;
}

static int node_allocate(struct vfs_file *f, unsigned how, uint64_t offset, uint64_t n)
{
    struct node *file = f->node;
    bool clears = how & (VFS_ALLOCATE_PUNCH | VFS_ALLOCATE_ZERO);
    int failed = lower_load(f->vfs, file, true);
    uint64_t end = offset + n;
    if (!failed && !(how & VFS_ALLOCATE_KEEP) && end > file->size)
        failed = node_resize(f->vfs, file, end);
    if (failed)
        return failed;
    end = less(end, file->size);
    if (clears && offset < end) {
        memset(file->bytes + offset, 0, (size_t)(end - offset));
        node_touch(file);
    }
    return 0;
}

int vfs_allocate(struct vfs_file *f, unsigned how, uint64_t offset, uint64_t n)
{
    struct stat st;
    if (!(f->how & VFS_WRITE))
        return EBADF;
    if (how & VFS_ALLOCATE_PUNCH && how != (VFS_ALLOCATE_PUNCH | VFS_ALLOCATE_KEEP))
        return EOPNOTSUPP;
    if (!n || offset > INT64_MAX || n > INT64_MAX - offset)
        return n ? EFBIG : EINVAL;
    if (f->node)
        return node_allocate(f, how, offset, n);
    if (fstat(f->fd, &st) != 0)
        return errno;
    /* What is reserved counts as if it were written. */
    int failed = how & VFS_ALLOCATE_PUNCH ? 0 : vfs_spend(f->vfs, n);
    int mode = (how & VFS_ALLOCATE_KEEP ? FALLOC_FL_KEEP_SIZE : 0) |
               (how & VFS_ALLOCATE_PUNCH ? FALLOC_FL_PUNCH_HOLE : 0) |
               (how & VFS_ALLOCATE_ZERO ? FALLOC_FL_ZERO_RANGE : 0);
    if (failed)
        return failed;
    return fallocate(f->fd, mode, (off_t)offset, (off_t)n) == 0 ? 0 : errno;
}
