/* Open files and folders, and files taken as a whole. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/os.h"
#include "vfs/internal.h"

#define ENTRIES_MAX 65536u
#define PIECE ((size_t)64 << 10)

/* ---- opening ------------------------------------------------------------ */

static struct vfs_file *file_new(struct vfs *v, unsigned how)
{
    struct vfs_file *f = mem_new(sizeof *f);
    f->vfs = v;
    f->how = how;
    f->fd = -1;
    v->used.open++;
    return f;
}

void vfs_close(struct vfs_file *f)
{
    if (!f)
        return;
    f->vfs->used.open--;
    node_drop(f->vfs, f->node);
    os_close(f->fd);
    free(f->path);
    free(f->entries);
    free(f->names);
    free(f);
}

enum vfs_type vfs_type_of(const struct vfs_file *f)
{
    return f->type;
}

uint64_t vfs_folder_inode(const struct vfs_file *f)
{
    return f->node ? f->node->inode : f->inode;
}

/* Where only writing is allowed: a file that is there, unless it is emptied first, or all
 * in it is the guest's own. */
static bool may_read(const struct place *p, unsigned how)
{
    const struct mounted *home = p->node ? p->node->home : p->in.mount;
    if (!home || !home->write_only || !(how & VFS_READ) || how & VFS_TRUNCATE)
        return true;
    return p->node && !p->node->lower && !p->node->secret;
}

/* The checks that need no open file. */
static int may_open(const struct vfs *v, const struct place *p, unsigned how)
{
    unsigned changes = how & (VFS_WRITE | VFS_TRUNCATE);
    if (v->used.open >= v->quota.open)
        return EMFILE;
    if (!p->exists) {
        if (!(how & VFS_CREATE))
            return ENOENT;
        if (p->wants_folder || how & VFS_DIRECTORY)
            return how & VFS_DIRECTORY ? ENOENT : EISDIR;
        int failed = place_writable(v, p);
        return failed || v->used.files < v->quota.files ? failed : ENOSPC;
    }
    if (how & VFS_CREATE && how & VFS_EXCLUSIVE)
        return EEXIST;
    if (p->stat.type == VFS_LINK)
        return ELOOP;
    if (p->stat.type == VFS_FOLDER)
        return changes || (how & (VFS_CREATE | VFS_DIRECTORY)) == VFS_CREATE ? EISDIR : 0;
    if (how & VFS_DIRECTORY)
        return ENOTDIR;
    int failed = may_read(p, how) ? 0 : EACCES;
    if (failed || !changes)
        return failed;
    failed = p->in.mount ? place_writable(v, p) : node_writable(p->node);
    return !failed && !p->in.mount && !(how & VFS_WRITE) ? EINVAL : failed;
}

static int open_node(struct vfs *v, const struct place *p, struct vfs_file *f)
{
    struct node *n = p->node;
    if (!n) {
        n = node_new(v, VFS_FILE);
        int failed = n ? node_add(p->in.node, place_name(p), n) : ENOSPC;
        if (failed) {
            node_drop(v, n);
            return failed;
        }
        if (mode_wanted(f->how))
            n->mode = mode_wanted(f->how) & 0777;
        f->node = n; /* the reference that it was made with */
        f->type = VFS_FILE;
        return 0;
    }
    f->node = node_ref(n);
    f->type = n->type;
    if (f->how & VFS_TRUNCATE)
        return node_resize(v, n, 0);
    if (n->type == VFS_FILE && n->lower && f->how & VFS_READ &&
        (f->fd = host_file(n->lower->of, n->lower->path)) < 0)
        return errno;
    return 0;
}

static int host_flags(const struct place *p, unsigned how)
{
    int flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    if (p->exists && p->stat.type == VFS_FOLDER)
        return flags | O_RDONLY | O_DIRECTORY;
    flags |= !(how & VFS_WRITE) ? O_RDONLY : how & VFS_READ ? O_RDWR : O_WRONLY;
    /* A file that must not be read must be ours. */
    if (!p->exists)
        flags |= O_CREAT | (how & VFS_EXCLUSIVE || p->in.mount->write_only ? O_EXCL : 0);
    return flags;
}

/* Between our look and the opening it may have become something else: it is looked at
 * once more, and cut only then. */
static int open_host(struct vfs *v, const struct place *p, struct vfs_file *f)
{
    struct stat st;
    struct vfs_stat seen;
    f->mount = p->in.mount;
    /* An open folder once more: it is listed from its start and in one go, so that both may
     * have one place in it. */
    f->fd = p->in.lender && !p->name_n
                ? fcntl(p->in.fd, F_DUPFD_CLOEXEC, 0)
                : openat(p->in.fd, p->name_n ? p->name : ".", host_flags(p, f->how),
                         f->mount->owner_only ? 0600 : 0666);
    uint32_t mode = p->exists ? 0 : mode_wanted(f->how);
    if (f->fd < 0)
        return errno;
    if (p->exists && p->stat.type == VFS_FOLDER)
        seen = p->stat; /* O_DIRECTORY saw to it */
    else if (fstat(f->fd, &st) != 0)
        return errno;
    else if (!host_stat(f->mount, &st, &seen) || seen.type == VFS_LINK)
        return EACCES;
    else if (mode && seen.mode != (mode & (f->mount->owner_only ? 0700 : 0777)) &&
             fchmod(f->fd, mode & (f->mount->owner_only ? 0700 : 0777)) != 0)
        return errno;
    v->used.files += !p->exists;
    f->type = seen.type;
    if (f->type == VFS_FOLDER) {
        bool gap = p->in.path_n && p->name_n;
        if (p->in.path_n + gap + p->name_n >= VFS_PATH_MAX)
            return ENAMETOOLONG;
        f->inode = seen.inode;
        f->path = mem_new(p->in.path_n + gap + p->name_n + 1);
        memcpy(f->path, p->in.path, p->in.path_n);
        if (gap)
            f->path[p->in.path_n] = '/';
        memcpy(f->path + p->in.path_n + gap, p->name, p->name_n);
        return 0;
    }
    return f->how & VFS_TRUNCATE && ftruncate(f->fd, 0) != 0 ? errno : 0;
}

int vfs_open(struct vfs *v, struct vfs_file *base, struct str path, unsigned how,
             struct vfs_file **out)
{
    struct place p;
    bool fresh = how & VFS_CREATE && how & VFS_EXCLUSIVE;
    bool follow = !(how & VFS_NOFOLLOW) && !fresh;
    int failed = walk(v, base, path, WALK_OPEN | (follow ? WALK_FOLLOW : 0), &p);
    if (!failed)
        failed = may_open(v, &p, how);
    if (!failed) {
        scoped(vfs_close) struct vfs_file *f = file_new(v, how);
        failed = p.in.mount ? open_host(v, &p, f) : open_node(v, &p, f);
        if (!failed)
            *out = take(f);
    }
    place_done(&p);
    return failed;
}

/* ---- bytes -------------------------------------------------------------- */

int vfs_read(struct vfs_file *f, uint64_t offset, void *to, size_t n, size_t *got)
{
    *got = 0;
    if (f->type == VFS_FOLDER)
        return EISDIR;
    if (!(f->how & VFS_READ))
        return EBADF;
    if (f->node && !f->node->lower) {
        if (offset >= f->node->size)
            return 0;
        size_t left = f->node->size - (size_t)offset;
        *got = n < left ? n : left;
        memcpy(to, f->node->bytes + offset, *got);
        return 0;
    }
    if (offset > INT64_MAX)
        return EINVAL;
    ssize_t r = pread(f->fd, to, n, (off_t)offset);
    *got = r < 0 ? 0 : (size_t)r;
    return r < 0 ? errno : 0;
}

static int writable(const struct vfs_file *f)
{
    return f->how & VFS_WRITE ? 0 : EBADF;
}

static int write_node(struct vfs_file *f, uint64_t offset, const void *from, size_t n)
{
    struct node *file = f->node;
    int failed = lower_load(f->vfs, file, true);
    if (failed)
        return failed;
    if (offset == VFS_AT_END)
        offset = file->size;
    if (n > UINT64_MAX - offset)
        return EFBIG;
    failed = offset + n > file->size ? node_resize(f->vfs, file, offset + n) : 0;
    if (failed)
        return failed;
    memcpy(file->bytes + offset, from, n);
    node_touch(file);
    return 0;
}

/* The whole growth of the file counts: a gap is not free. */
static int spend_for(struct vfs_file *f, uint64_t offset, uint64_t n)
{
    struct stat st;
    if (fstat(f->fd, &st) != 0)
        return errno;
    uint64_t size = (uint64_t)st.st_size;
    if (offset == VFS_AT_END)
        offset = size;
    if (offset > INT64_MAX || n > INT64_MAX - offset)
        return EFBIG;
    uint64_t growth = offset + n > size ? offset + n - size : 0;
    return vfs_spend(f->vfs, n > growth ? n : growth);
}

int vfs_write(struct vfs_file *f, uint64_t offset, const void *from, size_t n,
              size_t *done)
{
    *done = 0;
    int failed = writable(f);
    if (failed || n == 0)
        return failed;
    if (f->node) {
        failed = write_node(f, offset, from, n);
        *done = failed ? 0 : n;
        return failed;
    }
    if ((failed = spend_for(f, offset, n)))
        return failed;
    struct iovec v = {(void *)(uintptr_t)from, n};
    ssize_t r = offset == VFS_AT_END ? pwritev2(f->fd, &v, 1, 0, RWF_APPEND)
                                     : pwrite(f->fd, from, n, (off_t)offset);
    *done = r < 0 ? 0 : (size_t)r;
    return r < 0 ? errno : 0;
}

int vfs_resize(struct vfs_file *f, uint64_t size)
{
    int failed = writable(f);
    if (failed || f->node)
        return failed ? failed : node_resize(f->vfs, f->node, size);
    if (size > INT64_MAX)
        return EFBIG;
    if ((failed = spend_for(f, size, 0)))
        return failed;
    return ftruncate(f->fd, (off_t)size) == 0 ? 0 : errno;
}

int vfs_sync(struct vfs_file *f)
{
    return f->node || fsync(f->fd) == 0 ? 0 : errno;
}

int vfs_stat_of(struct vfs_file *f, struct vfs_stat *out)
{
    struct stat st;
    bool through = f->node && f->node->lower && !f->node->kept && f->fd >= 0;
    if (f->node && !through) {
        node_stat(f->node, out);
        return 0;
    }
    if (fstat(f->fd, &st) != 0)
        return errno;
    (void)host_stat(through ? f->node->home : f->mount, &st, out);
    if (through) /* as node_stat() has it */
        out->system = 0;
    return 0;
}

/* ---- entries ------------------------------------------------------------ */

static int order_names(const void *a, const void *b)
{
    return str_cmp(((const struct vfs_entry *)a)->name,
                   ((const struct vfs_entry *)b)->name);
}

/* Names are kept as offsets until all are there: the buf moves while it grows. */
static int file_put_entry(struct vfs_file *f, struct buf *names, struct str name,
                          const struct vfs_stat *st)
{
    if (f->entry_count == ENTRIES_MAX)
        return EOVERFLOW;
    if (f->entry_count % 64 == 0) {
        struct vfs_entry *grown =
            reallocarray(f->entries, f->entry_count + 64, sizeof *grown);
        if (!grown)
            return ENOMEM;
        f->entries = grown;
    }
    f->entries[f->entry_count++] = (struct vfs_entry){
        .name = {(char *)names->n, name.n}, .type = st->type, .inode = st->inode};
    return buf_str(names, name) ? 0 : ENOMEM;
}

struct filling {
    struct vfs_file *folder;
    struct buf *names;
};

static int fill_in(void *arg, struct str name, const struct vfs_stat *st, bool shown)
{
    struct filling *f = arg;
    return shown ? file_put_entry(f->folder, f->names, name, st) : 0;
}

static int list_node(struct vfs_file *f, struct buf *names)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < f->node->count; i++) {
        struct vfs_stat st;
        node_stat(f->node->children[i].node, &st);
        failed = file_put_entry(f, names, str_of(f->node->children[i].name), &st);
    }
    return failed ? failed : lower_list(f->node, fill_in, &(struct filling){f, names});
}

static int list_host(struct vfs_file *f, struct buf *names)
{
    return host_list(f->fd, f->mount, fill_in, &(struct filling){f, names});
}

static int file_read_names(struct vfs_file *f)
{
    scoped_buf struct buf names = buf_of((size_t)ENTRIES_MAX * (VFS_NAME_MAX + 1));
    f->entry_count = 0;
    f->listed = false;
    free(take(f->names));
    int failed = f->node ? list_node(f, &names) : list_host(f, &names);
    if (failed)
        return failed;
    f->names = take(names.at);
    names.capacity = 0;
    for (size_t i = 0; i < f->entry_count; i++)
        f->entries[i].name.at = f->names + (uintptr_t)f->entries[i].name.at;
    if (f->entry_count && (f->mount || f->node->lower))
        qsort(f->entries, f->entry_count, sizeof *f->entries, order_names);
    f->listed = true;
    return 0;
}

int vfs_entry(struct vfs_file *folder, uint64_t index, const struct vfs_entry **out)
{
    if (folder->type != VFS_FOLDER)
        return ENOTDIR;
    const struct mounted *hidden = folder->mount         ? folder->mount
                                   : folder->node->lower ? folder->node->home
                                                         : NULL;
    if (hidden && hidden->write_only)
        return EACCES;
    int failed = index == 0 || !folder->listed ? file_read_names(folder) : 0;
    if (failed)
        return failed;
    if (index >= folder->entry_count)
        return ENOENT;
    *out = &folder->entries[index];
    return 0;
}

/* ---- whole files -------------------------------------------------------- */

static int put_memory(struct vfs *v, struct vfs_file *f, struct str bytes)
{
    uint64_t left = v->quota.bytes - v->used.bytes;
    if (bytes.n > f->node->size && bytes.n - f->node->size > left)
        return ENOSPC;
    int failed = node_resize(v, f->node, bytes.n);
    if (!failed && bytes.n)
        memcpy(f->node->bytes, bytes.at, bytes.n);
    return failed;
}

static int put_host(struct vfs_file *f, struct str bytes)
{
    int failed = vfs_resize(f, 0);
    for (size_t at = 0, n; !failed && at < bytes.n; at += n)
        failed = vfs_write(f, at, bytes.at + at, bytes.n - at, &n);
    return failed;
}

int vfs_put(struct vfs *v, struct str path, struct str bytes)
{
    struct vfs_stat before;
    bool is_new = vfs_stat(v, NULL, path, true, &before) != 0;
    struct vfs_file *f = NULL;
    int failed = vfs_open(v, NULL, path, VFS_WRITE | VFS_CREATE, &f);
    if (failed)
        return failed;
    bool memory = f->node != NULL;
    failed = memory ? put_memory(v, f, bytes) : put_host(f, bytes);
    vfs_close(f);
    if (failed && is_new && memory)
        (void)vfs_unlink(v, NULL, path);
    return failed;
}

/* Appends what follows the offset `*at`, at most so much as has room. */
static int get_piece(struct vfs_file *f, uint64_t *at, struct buf *out, size_t *got)
{
    size_t left = out->ceiling - out->n;
    size_t n = left < PIECE ? left : PIECE;
    char probe;
    if (n == 0) {
        int failed = vfs_read(f, *at, &probe, 1, got);
        return !failed && *got ? EFBIG : failed;
    }
    char *room = buf_room(out, n);
    if (!room)
        return ENOMEM;
    int failed = vfs_read(f, *at, room, n, got);
    out->n += *got;
    *at += *got;
    return failed;
}

int vfs_get(struct vfs *v, struct str path, struct buf *out)
{
    scoped(vfs_close) struct vfs_file *f = NULL;
    struct vfs_stat st;
    int failed = vfs_open(v, NULL, path, VFS_READ, &f);
    if (!failed)
        failed = vfs_stat_of(f, &st);
    if (failed)
        return failed;
    if (st.size > out->ceiling - out->n)
        return EFBIG;
    uint64_t at = 0;
    for (size_t got = 1; !failed && got > 0;)
        failed = get_piece(f, &at, out, &got);
    return failed;
}
