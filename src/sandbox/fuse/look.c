/* Requests that change nothing. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "fuse/internal.h"

#define BLOCK 4096u

/* ---- attributes ------------------------------------------------------------------- */

static void put_time(int64_t ns, uint64_t *seconds, uint32_t *rest)
{
    int64_t part = ns % 1000000000, below = part < 0;
    *seconds = (uint64_t)(ns / 1000000000 - below);
    *rest = (uint32_t)(part + below * 1000000000);
}

void attributes(struct request *r, const struct inode *n, const struct vfs_stat *st,
                struct fuse_attr *out)
{
    static const uint32_t types[] = {
        [VFS_FILE] = S_IFREG, [VFS_FOLDER] = S_IFDIR, [VFS_LINK] = S_IFLNK};
    *out = (struct fuse_attr){.ino = n->mount ? inode_shown(r->f, st, n->mount) : 1,
                              .size = st->size,
                              .blocks = st->blocks,
                              .mode = types[n->type] | st->mode,
                              .nlink = st->links ? st->links : 1,
                              .blksize = BLOCK};
    put_time(st->accessed_ns, &out->atime, &out->atimensec);
    put_time(st->modified_ns, &out->mtime, &out->mtimensec);
    put_time(st->changed_ns, &out->ctime, &out->ctimensec);
}

void set_valid(const struct inode *n, uint64_t *seconds, uint32_t *ns)
{
    bool alone = n->mount && n->mount->alone;
    *seconds = alone ? 3600 : 0;
    *ns = alone ? 0 : FUSE_VALID_NS;
}

static const struct vfs_stat root_stat = {
    .type = VFS_FOLDER, .links = 2, .mode = 0700, .inode = 1};

int node_name(struct fuse *f, struct inode *n, struct vfs_file **folder, struct str *name)
{
    if (!n->parent)
        return !n->mount ? EPERM : n->mount->root == n ? EBUSY : ESTALE;
    *name = str_of(n->name);
    return folder_open(f, n->parent, folder);
}

static int stat_by_name(struct fuse *f, struct inode *n, struct vfs_stat *out)
{
    struct vfs_file *folder;
    struct str name;
    int failed = node_name(f, n, &folder, &name);
    if (failed)
        return failed;
    failed = vfs_stat(n->mount->tree, folder, name, false, out);
    bool same = !failed && out->inode == n->number && out->system == n->system &&
                out->type == n->type;
    return failed == ENOENT || (!failed && !same) ? ESTALE : failed;
}

int node_stat_now(struct fuse *f, struct inode *n, struct vfs_stat *out)
{
    *out = root_stat;
    if (!n->mount)
        return 0;
    if (n->handles)
        return vfs_stat_of(n->handles->file, out);
    struct vfs_file *open = n->folder;
    int failed = n->mount->root == n && !open ? folder_open(f, n, &open) : 0;
    if (failed || open)
        return failed ? failed : vfs_stat_of(open, out);
    return stat_by_name(f, n, out);
}

int on_getattr(struct request *r)
{
    struct vfs_stat st;
    struct fuse_attr_out *out = request_reply(r, sizeof *out);
    if (!out || !request_part(r, sizeof(struct fuse_getattr_in)))
        return EINVAL;
    int failed = node_stat_now(r->f, r->node, &st);
    if (failed)
        return failed;
    set_valid(r->node, &out->attr_valid, &out->attr_valid_nsec);
    attributes(r, r->node, &st, &out->attr);
    return 0;
}

/* ---- names ------------------------------------------------------------------------ */

static void put_entry(struct request *r, const struct inode *n, const struct vfs_stat *st,
                      struct fuse_entry_out *out)
{
    out->nodeid = n->id;
    set_valid(n, &out->entry_valid, &out->entry_valid_nsec);
    set_valid(n, &out->attr_valid, &out->attr_valid_nsec);
    attributes(r, n, st, &out->attr);
}

int reply_entry(struct request *r, struct inode *folder, struct str name)
{
    struct vfs_stat st;
    struct vfs_file *open;
    struct fuse_entry_out *out = request_reply(r, sizeof *out);
    if (!out)
        return EINVAL;
    int failed = folder_open(r->f, folder, &open);
    if (!failed)
        failed = vfs_stat(folder->mount->tree, open, name, false, &st);
    if (failed)
        return failed;
    struct inode *n = inode_found(r->f, folder, name, &st);
    if (!n)
        return ENOMEM;
    put_entry(r, n, &st, out);
    return 0;
}

/* The root's folders are the numbers of mounts. */
static int look_up_mount(struct request *r, struct str name)
{
    char text[16];
    struct vfs_stat st;
    struct mount *m = r->f->mounts;
    for (; m; m = m->next) {
        (void)snprintf(text, sizeof text, "%u", m->number);
        if (m->tree && str_is(name, text))
            break;
    }
    struct fuse_entry_out *out = m ? request_reply(r, sizeof *out) : NULL;
    if (!out)
        return m ? EINVAL : ENOENT;
    int failed = node_stat_now(r->f, m->root, &st);
    if (failed)
        return failed;
    m->root->lookups++;
    put_entry(r, m->root, &st, out);
    return 0;
}

int on_lookup(struct request *r)
{
    struct str name;
    int failed = request_name(r, &name);
    if (failed)
        return failed;
    if (!r->node->mount)
        return look_up_mount(r, name);
    failed = reply_entry(r, r->node, name);
    if (failed == ENOENT) { /* that nothing is there may be remembered, too */
        struct fuse_entry_out *out = (void *)r->out;
        set_valid(r->node, &out->entry_valid, &out->entry_valid_nsec);
        failed = 0;
    }
    return failed;
}

int on_readlink(struct request *r)
{
    struct vfs_file *folder;
    struct str name;
    size_t n = 0, room = r->room < VFS_PATH_MAX ? r->room : VFS_PATH_MAX;
    int failed = node_name(r->f, r->node, &folder, &name);
    if (!failed)
        failed = vfs_readlink(r->node->mount->tree, folder, name, r->out, room, &n);
    r->n = n;
    return failed == ENOENT ? ESTALE : failed;
}

/* ---- open files --------------------------------------------------------------------- */

/* Are the contents those that the kernel may still have? */
static bool is_unchanged(struct inode *n, const struct vfs_stat *st)
{
    bool same = n->was_open && n->modified_ns == st->modified_ns &&
                n->changed_ns == st->changed_ns && n->size == st->size;
    n->was_open = true;
    n->modified_ns = st->modified_ns;
    n->changed_ns = st->changed_ns;
    n->size = st->size;
    return same;
}

static int keep_open(struct request *r, struct vfs_file *file, const struct vfs_stat *st)
{
    struct fuse_open_out *out = request_reply(r, sizeof *out);
    if (!out)
        return EINVAL;
    struct handle *h = handle_new(r->f, r->node, file);
    if (!h)
        return EMFILE;
    out->fh = h->id;
    if (r->node->type == VFS_FILE && (is_unchanged(r->node, st) || r->node->mount->alone))
        out->open_flags = FOPEN_KEEP_CACHE;
    return 0;
}

static int open_node(struct request *r, unsigned how)
{
    struct vfs_file *folder;
    struct vfs_stat st;
    struct str name;
    scoped(vfs_close) struct vfs_file *file = NULL;
    int failed = node_name(r->f, r->node, &folder, &name);
    if (!failed)
        failed = vfs_open(r->node->mount->tree, folder, name, how | VFS_NOFOLLOW, &file);
    if (!failed)
        failed = vfs_stat_of(file, &st);
    if (failed)
        return failed == ENOENT || failed == ELOOP ? ESTALE : failed;
    if (st.inode != r->node->number || vfs_type_of(file) != r->node->type)
        return ESTALE;
    failed = keep_open(r, file, &st);
    if (!failed)
        (void)take(file);
    return failed;
}

int on_open(struct request *r)
{
    static const unsigned modes[] = {VFS_READ, VFS_WRITE, VFS_READ | VFS_WRITE};
    const struct fuse_open_in *in = request_part(r, sizeof *in);
    if (!in || (in->flags & O_ACCMODE) == O_ACCMODE)
        return EINVAL;
    if (r->node->type != VFS_FILE)
        return r->node->type == VFS_FOLDER ? EISDIR : ELOOP;
    unsigned how = modes[in->flags & O_ACCMODE];
    if (in->flags & O_TRUNC)
        how |= VFS_TRUNCATE | VFS_WRITE;
    /* Part of a page is written when the whole of it is known. */
    return open_node(r, how);
}

int on_read(struct request *r)
{
    const struct fuse_read_in *in = request_part(r, sizeof *in);
    struct handle *h;
    size_t got = 1;
    if (!in)
        return EINVAL;
    int failed = request_handle(r, in->fh, &h);
    size_t n = in->size < r->room ? in->size : r->room;
    n = n < FUSE_DATA_MAX ? n : FUSE_DATA_MAX;
    while (!failed && got && r->n < n) {
        failed = vfs_read(h->file, in->offset + r->n, r->out + r->n, n - r->n, &got);
        r->n += got;
    }
    return failed;
}

int on_lseek(struct request *r)
{
    const struct fuse_lseek_in *in = request_part(r, sizeof *in);
    struct fuse_lseek_out *out = request_reply(r, sizeof *out);
    struct handle *h;
    if (!in || !out || (in->whence != SEEK_DATA && in->whence != SEEK_HOLE))
        return EINVAL;
    int failed = request_handle(r, in->fh, &h);
    return failed ? failed
                  : vfs_seek(h->file, in->offset, in->whence == SEEK_HOLE, &out->offset);
}

int on_statfs(struct request *r)
{
    struct vfs_space s = {0};
    struct vfs_file *folder;
    struct fuse_statfs_out *out = request_reply(r, sizeof *out);
    if (!out)
        return EINVAL;
    int failed = 0;
    if (r->node->mount) {
        struct inode *n = r->node->type == VFS_FOLDER ? r->node : r->node->mount->root;
        failed = folder_open(r->f, n, &folder);
        if (!failed)
            failed = vfs_get_space(n->mount->tree, folder, &s);
    }
    out->st = (struct fuse_kstatfs){.blocks = s.bytes / BLOCK,
                                    .bfree = s.bytes_free / BLOCK,
                                    .bavail = s.bytes_free / BLOCK,
                                    .files = s.files,
                                    .ffree = s.files_free,
                                    .bsize = BLOCK,
                                    .namelen = VFS_NAME_MAX,
                                    .frsize = BLOCK};
    return failed;
}

/* ---- folders --------------------------------------------------------------------------- */

int on_opendir(struct request *r)
{
    if (!request_part(r, sizeof(struct fuse_open_in)))
        return EINVAL;
    if (r->node->type != VFS_FOLDER)
        return ENOTDIR;
    if (!r->node->mount)
        return EACCES;
    /* The folder itself, though somebody moves it meanwhile. */
    struct vfs_file *folder;
    scoped(vfs_close) struct vfs_file *own = NULL;
    int failed = folder_open(r->f, r->node, &folder);
    if (!failed)
        failed = vfs_open(r->node->mount->tree, folder, STR("."),
                          VFS_READ | VFS_DIRECTORY, &own);
    if (!failed)
        failed = keep_open(r, own, NULL);
    if (!failed)
        (void)take(own);
    return failed;
}

/* Entry `i` of a folder: "." and ".." come first. */
static int entry_at(struct handle *h, uint64_t i, struct vfs_entry *out)
{
    const struct vfs_entry *found;
    if (i < 2) {
        *out = (struct vfs_entry){i ? STR("..") : STR("."), VFS_FOLDER, 1};
        return 0;
    }
    int failed = vfs_entry(h->file, i - 2, &found);
    if (!failed)
        *out = *found;
    return failed;
}

static void put_dirent(struct request *r, const struct vfs_entry *entry, uint64_t next,
                       const struct vfs_stat *st, struct fuse_dirent *out)
{
    static const uint32_t types[] = {[VFS_FILE] = 8, [VFS_FOLDER] = 4, [VFS_LINK] = 10};
    struct vfs_stat seen = st ? *st : (struct vfs_stat){.inode = entry->inode};
    out->ino = inode_shown(r->f, &seen, r->node->mount);
    out->off = next;
    out->namelen = (uint32_t)entry->name.n;
    out->type = types[entry->type];
    memcpy(out->name, entry->name.at, entry->name.n);
}

/* A name that is not there any more is told without a node. */
static void put_plus(struct request *r, struct handle *h, const struct vfs_entry *entry,
                     struct fuse_entry_out *out, struct vfs_stat *st)
{
    *st = (struct vfs_stat){.inode = entry->inode};
    if (vfs_stat(r->node->mount->tree, h->file, entry->name, false, st))
        return;
    struct inode *n = inode_found(r->f, r->node, entry->name, st);
    if (n)
        put_entry(r, n, st, out);
}

static int read_folder(struct request *r, bool plus)
{
    const struct fuse_read_in *in = request_part(r, sizeof *in);
    struct handle *h;
    struct vfs_entry entry;
    if (!in)
        return EINVAL;
    int failed = request_handle(r, in->fh, &h);
    if (failed || vfs_type_of(h->file) != VFS_FOLDER)
        return failed ? failed : ENOTDIR;
    if (in->size < r->room)
        r->room = in->size;
    size_t before = plus ? sizeof(struct fuse_entry_out) : 0;
    for (uint64_t i = in->offset; !(failed = entry_at(h, i, &entry)); i++) {
        size_t n = before + FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + entry.name.n);
        char *at = request_reply(r, n);
        struct vfs_stat st;
        if (!at)
            break;
        bool known = plus && i >= 2;
        if (known)
            put_plus(r, h, &entry, (void *)at, &st);
        put_dirent(r, &entry, i + 1, known ? &st : NULL, (void *)(at + before));
    }
    return failed == ENOENT ? 0 : failed;
}

int on_readdir(struct request *r)
{
    return read_folder(r, false);
}

int on_readdirplus(struct request *r)
{
    return read_folder(r, true);
}
