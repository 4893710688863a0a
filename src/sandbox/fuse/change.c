/* Requests that change something. What may be changed is vfs' to say. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "fuse/internal.h"

static struct vfs *tree_of(const struct inode *n)
{
    return n->mount->tree;
}

/* ---- attributes ------------------------------------------------------------------- */

/* An open file of the node that may be written; NULL: there is none. */
static struct vfs_file *any_open(const struct inode *n, struct handle *asked)
{
    return asked ? asked->file : n->handles ? n->handles->file : NULL;
}

static int set_size(struct request *r, struct handle *asked, uint64_t size)
{
    struct vfs_file *folder;
    struct str name;
    struct vfs_stat st;
    if (r->node->type != VFS_FILE)
        return r->node->type == VFS_FOLDER ? EISDIR : EINVAL;
    for (struct handle *h = asked ? asked : r->node->handles; h;
         h = asked ? NULL : h->next) {
        int failed = vfs_resize(h->file, size);
        if (failed != EBADF)
            return failed;
    }
    scoped(vfs_close) struct vfs_file *file = NULL;
    int failed = node_name(r->f, r->node, &folder, &name);
    if (!failed)
        failed =
            vfs_open(tree_of(r->node), folder, name, VFS_WRITE | VFS_NOFOLLOW, &file);
    if (!failed)
        failed = vfs_stat_of(file, &st);
    if (!failed && st.inode != r->node->number)
        failed = ESTALE;
    return failed ? failed : vfs_resize(file, size);
}

static int set_mode(struct request *r, struct handle *asked, uint32_t mode)
{
    struct vfs_file *folder, *open = any_open(r->node, asked);
    struct str name;
    if (open)
        return vfs_set_mode_of(open, mode);
    if (r->node->mount->root == r->node) {
        int failed = folder_open(r->f, r->node, &folder);
        return failed ? failed : vfs_set_mode(tree_of(r->node), folder, STR("."), mode);
    }
    int failed = node_name(r->f, r->node, &folder, &name);
    return failed ? failed : vfs_set_mode(tree_of(r->node), folder, name, mode);
}

static int64_t time_from(uint32_t valid, uint32_t given, uint32_t now, uint64_t seconds,
                         uint32_t ns)
{
    struct timespec t;
    if (valid & now) {
        clock_gettime(CLOCK_REALTIME, &t);
        return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    }
    int64_t at, whole;
    bool fits = !__builtin_mul_overflow((int64_t)seconds, (int64_t)1000000000, &whole) &&
                !__builtin_add_overflow(whole, (int64_t)ns, &at);
    return valid & given && fits ? at : VFS_TIME_KEEP;
}

static int set_times(struct request *r, struct handle *asked, int64_t accessed,
                     int64_t modified)
{
    struct vfs_file *folder, *open = any_open(r->node, asked);
    struct str name;
    if (accessed == VFS_TIME_KEEP && modified == VFS_TIME_KEEP)
        return 0;
    if (open)
        return vfs_set_times_of(open, accessed, modified);
    if (r->node->mount->root == r->node) {
        int failed = folder_open(r->f, r->node, &folder);
        return failed ? failed
                      : vfs_set_times(tree_of(r->node), folder, STR("."), false, accessed,
                                      modified);
    }
    int failed = node_name(r->f, r->node, &folder, &name);
    return failed
               ? failed
               : vfs_set_times(tree_of(r->node), folder, name, false, accessed, modified);
}

/* Owners are not kept: to set them changes nothing. */
static int set_all(struct request *r, const struct fuse_setattr_in *in, struct handle *h)
{
    int failed = in->valid & FATTR_MODE ? set_mode(r, h, in->mode & 07777) : 0;
    if (!failed && in->valid & FATTR_SIZE)
        failed = set_size(r, h, in->size);
    if (failed)
        return failed;
    return set_times(
        r, h,
        time_from(in->valid, FATTR_ATIME, FATTR_ATIME_NOW, in->atime, in->atimensec),
        time_from(in->valid, FATTR_MTIME, FATTR_MTIME_NOW, in->mtime, in->mtimensec));
}

int on_setattr(struct request *r)
{
    const struct fuse_setattr_in *in = request_part(r, sizeof *in);
    struct fuse_attr_out *out = request_reply(r, sizeof *out);
    struct handle *h = NULL;
    struct vfs_stat st;
    if (!in || !out)
        return EINVAL;
    if (!r->node->mount)
        return EPERM;
    int failed = in->valid & FATTR_FH ? request_handle(r, in->fh, &h) : 0;
    /* A node is what it was looked up as before it is changed by its name. */
    if (!failed)
        failed = node_stat_now(r->f, r->node, &st);
    if (!failed)
        failed = set_all(r, in, h);
    if (!failed)
        failed = node_stat_now(r->f, r->node, &st);
    if (failed)
        return failed;
    set_valid(r->node, &out->attr_valid, &out->attr_valid_nsec);
    attributes(r, r->node, &st, &out->attr);
    return 0;
}

/* ---- making --------------------------------------------------------------------------- */

/* The folder of a request, and the name that follows. */
static int folder_and_name(struct request *r, struct vfs_file **folder, struct str *name)
{
    int failed = request_name(r, name);
    if (!failed && !r->node->mount)
        failed = EPERM;
    return failed ? failed : folder_open(r->f, r->node, folder);
}

int on_mkdir(struct request *r)
{
    const struct fuse_mkdir_in *in = request_part(r, sizeof *in);
    struct vfs_file *folder;
    struct str name;
    if (!in)
        return EINVAL;
    int failed = folder_and_name(r, &folder, &name);
    if (!failed)
        failed = vfs_mkdir(tree_of(r->node), folder, name);
    if (!failed && (in->mode & 0777) != 0755)
        (void)vfs_set_mode(tree_of(r->node), folder, name, in->mode & 0777);
    return failed ? failed : reply_entry(r, r->node, name);
}

static int make_file(struct request *r, struct vfs_file *folder, struct str name,
                     unsigned how, uint32_t mode, struct vfs_file **out)
{
    return vfs_open(tree_of(r->node), folder, name,
                    how | VFS_CREATE | VFS_NOFOLLOW | VFS_MODE(mode), out);
}

int on_mknod(struct request *r)
{
    const struct fuse_mknod_in *in = request_part(r, sizeof *in);
    struct vfs_file *folder;
    struct str name;
    scoped(vfs_close) struct vfs_file *file = NULL;
    if (!in)
        return EINVAL;
    if ((in->mode & S_IFMT) != S_IFREG && in->mode & S_IFMT)
        return EPERM;
    int failed = folder_and_name(r, &folder, &name);
    if (!failed)
        failed = make_file(r, folder, name, VFS_WRITE | VFS_EXCLUSIVE, in->mode, &file);
    return failed ? failed : reply_entry(r, r->node, name);
}

int on_symlink(struct request *r)
{
    struct vfs_file *folder;
    struct str name;
    int failed = folder_and_name(r, &folder, &name);
    const char *end = r->body.n ? memchr(r->body.at, 0, r->body.n) : NULL;
    if (!failed && !end)
        failed = EINVAL;
    if (!failed)
        failed = vfs_symlink(tree_of(r->node),
                             (struct str){r->body.at, (size_t)(end - r->body.at)}, folder,
                             name);
    return failed ? failed : reply_entry(r, r->node, name);
}

int on_link(struct request *r)
{
    const struct fuse_link_in *in = request_part(r, sizeof *in);
    struct inode *old = in ? inode_of(r->f, in->oldnodeid) : NULL;
    struct vfs_file *folder, *from;
    struct str name, old_name;
    struct vfs_stat st;
    if (!old)
        return in ? ESTALE : EINVAL;
    int failed = folder_and_name(r, &folder, &name);
    if (!failed && old->mount != r->node->mount)
        failed = EXDEV;
    if (!failed)
        failed = node_name(r->f, old, &from, &old_name);
    if (!failed)
        failed = vfs_stat(tree_of(old), from, old_name, false, &st);
    if (!failed &&
        (st.inode != old->number || st.system != old->system || st.type != old->type))
        failed = ESTALE;
    if (!failed)
        failed = vfs_link(tree_of(old), from, old_name, folder, name);
    return failed ? failed : reply_entry(r, r->node, name);
}

int on_create(struct request *r)
{
    const struct fuse_create_in *in = request_part(r, sizeof *in);
    struct vfs_file *folder;
    struct str name;
    scoped(vfs_close) struct vfs_file *file = NULL;
    if (!in)
        return EINVAL;
    /* Read as well: what is written in part is read from the same file. */
    unsigned how = (in->flags & O_ACCMODE) == O_RDONLY   ? VFS_READ
                   : (in->flags & O_ACCMODE) == O_WRONLY ? VFS_WRITE
                                                         : VFS_READ | VFS_WRITE;
    how |= (in->flags & O_EXCL ? VFS_EXCLUSIVE : 0) |
           (in->flags & O_TRUNC ? VFS_TRUNCATE | VFS_WRITE : 0);
    int failed = folder_and_name(r, &folder, &name);
    if (!failed)
        failed = make_file(r, folder, name, how, in->mode, &file);
    if (!failed && vfs_type_of(file) != VFS_FILE)
        failed = EISDIR;
    if (!failed)
        failed = reply_entry(r, r->node, name);
    if (failed)
        return failed;
    const struct fuse_entry_out *entry = (const void *)r->out;
    struct inode *n = inode_of(r->f, entry->nodeid);
    struct fuse_open_out *out = request_reply(r, sizeof *out);
    struct vfs_stat st;
    if (!out || !n || n->type != VFS_FILE || vfs_stat_of(file, &st) ||
        st.inode != n->number)
        failed = ESTALE;
    struct handle *h = failed ? NULL : handle_new(r->f, n, file);
    if (!h) {
        if (n)
            inode_forget(r->f, n, 1); /* the reply that tells of it is not sent */
        return failed ? failed : EMFILE;
    }
    (void)take(file);
    out->fh = h->id;
    return 0;
}

/* ---- removing, moving ------------------------------------------------------------------- */

static int remove_name(struct request *r, bool folders)
{
    struct vfs_file *folder;
    struct str name;
    int failed = folder_and_name(r, &folder, &name);
    if (failed)
        return failed;
    struct inode *gone = inode_at(r->f, r->node, name);
    failed = folders ? vfs_rmdir(tree_of(r->node), folder, name)
                     : vfs_unlink(tree_of(r->node), folder, name);
    if (!failed && gone)
        (void)inode_place(r->f, gone, NULL, STR(""));
    return failed;
}

int on_unlink(struct request *r)
{
    return remove_name(r, false);
}

int on_rmdir(struct request *r)
{
    return remove_name(r, true);
}

/* Nodes know where they are now: those of the names that were moved, if they are known. */
static void follow_move(struct request *r, struct inode *moved, struct inode *to,
                        struct str name, struct inode *replaced, bool exchanged,
                        struct str old_name)
{
    if (replaced && replaced != moved && exchanged)
        (void)inode_place(r->f, replaced, r->node, old_name);
    else if (replaced && replaced != moved)
        (void)inode_place(r->f, replaced, NULL, STR(""));
    /* Without memory for a name it is nowhere, until it is looked up anew. */
    if (moved && !inode_place(r->f, moved, to, name))
        (void)inode_place(r->f, moved, NULL, STR(""));
}

static int move(struct request *r, uint64_t newdir, uint32_t flags)
{
    struct inode *to = inode_of(r->f, newdir);
    struct vfs_file *from_folder, *to_folder;
    struct str name, new_name;
    if (flags & ~3u || flags == 3)
        return EINVAL;
    int failed = folder_and_name(r, &from_folder, &name);
    if (!failed)
        failed = request_name(r, &new_name);
    if (!failed && !to)
        failed = ESTALE;
    if (!failed && to->mount != r->node->mount)
        failed = EXDEV;
    if (!failed)
        failed = folder_open(r->f, to, &to_folder);
    if (failed)
        return failed;
    struct inode *moved = inode_at(r->f, r->node, name);
    struct inode *replaced = inode_at(r->f, to, new_name);
    struct vfs *tree = tree_of(to);
    failed = flags ? vfs_rename_apart(tree, from_folder, name, to_folder, new_name,
                                      flags & RENAME_EXCHANGE)
                   : vfs_rename(tree, from_folder, name, to_folder, new_name);
    if (!failed)
        follow_move(r, moved, to, new_name, replaced, flags & RENAME_EXCHANGE, name);
    return failed;
}

int on_rename(struct request *r)
{
    const struct fuse_rename_in *in = request_part(r, sizeof *in);
    return in ? move(r, in->newdir, 0) : EINVAL;
}

int on_rename2(struct request *r)
{
    const struct fuse_rename2_in *in = request_part(r, sizeof *in);
    return in ? move(r, in->newdir, in->flags) : EINVAL;
}

/* ---- contents --------------------------------------------------------------------------- */

int on_write(struct request *r)
{
    const struct fuse_write_in *in = request_part(r, sizeof *in);
    struct fuse_write_out *out = request_reply(r, sizeof *out);
    struct handle *h;
    size_t all = 0, done = 1;
    if (!in || !out || in->size != r->body.n || in->size > FUSE_DATA_MAX)
        return EINVAL;
    int failed = request_handle(r, in->fh, &h);
    bool at_end = in->flags & O_APPEND && !(in->write_flags & FUSE_WRITE_CACHE);
    if (!failed && in->offset > INT64_MAX)
        failed = EFBIG;
    while (!failed && done && all < in->size) {
        uint64_t at = at_end ? VFS_AT_END : in->offset + all;
        failed = vfs_write(h->file, at, r->body.at + all, in->size - all, &done);
        all += done;
    }
    out->size = (uint32_t)all;
    return all ? 0 : failed;
}

int on_fsync(struct request *r)
{
    const struct fuse_fsync_in *in = request_part(r, sizeof *in);
    struct handle *h;
    if (!in)
        return EINVAL;
    int failed = request_handle(r, in->fh, &h);
    return failed ? failed : vfs_sync(h->file);
}

int on_syncfs(struct request *r)
{
    int failed = 0;
    for (struct mount *m = r->f->mounts; m; m = m->next) {
        struct vfs_file *folder;
        int one = m->tree && !m->alone ? folder_open(r->f, m->root, &folder) : ENODEV;
        if (one != ENODEV)
            failed = one || (one = vfs_sync_all(folder)) ? one : failed;
    }
    return failed;
}

int on_fallocate(struct request *r)
{
    const struct fuse_fallocate_in *in = request_part(r, sizeof *in);
    struct handle *h;
    if (!in)
        return EINVAL;
    /* The bits of fallocate(2) that a file system may know. */
    if (in->mode &
        ~(uint32_t)(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
        return EOPNOTSUPP;
    unsigned how = (in->mode & FALLOC_FL_KEEP_SIZE ? VFS_ALLOCATE_KEEP : 0) |
                   (in->mode & FALLOC_FL_PUNCH_HOLE ? VFS_ALLOCATE_PUNCH : 0) |
                   (in->mode & FALLOC_FL_ZERO_RANGE ? VFS_ALLOCATE_ZERO : 0);
    int failed = request_handle(r, in->fh, &h);
    return failed ? failed : vfs_allocate(h->file, how, in->offset, in->length);
}
