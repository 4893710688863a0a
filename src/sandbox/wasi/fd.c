/* File descriptors: the table of them, and what is done through one. */
#include "wasi/internal.h"

/* ---- the table ---------------------------------------------------------- */

struct fd *fd_at(struct wasi *s, uint32_t n)
{
    return n < s->fd_count && s->fds[n].kind != FD_FREE ? &s->fds[n] : NULL;
}

int fd_folder(struct wasi *s, uint32_t n, struct vfs_file **out)
{
    struct fd *f = fd_at(s, n);
    if (!f)
        return EBADF;
    if (f->kind != FD_OPEN || vfs_type_of(f->file) != VFS_FOLDER)
        return ENOTDIR;
    *out = f->file;
    return 0;
}

int fd_add(struct wasi *s, struct vfs_file *file, const struct fd *like, uint32_t *number)
{
    size_t n = 0;
    while (n < s->fd_count && s->fds[n].kind != FD_FREE)
        n++;
    if (n == s->fd_count) {
        size_t count = 2 * n < WASI_FDS_MAX ? 2 * n + 4 : WASI_FDS_MAX;
        struct fd *grown = n < count ? reallocarray(s->fds, count, sizeof *grown) : NULL;
        if (!grown) {
            vfs_close(file);
            return EMFILE;
        }
        memset(grown + n, 0, (count - n) * sizeof *grown);
        s->fds = grown;
        s->fd_count = count;
    }
    s->fds[n] = *like;
    s->fds[n].kind = FD_OPEN;
    s->fds[n].file = file;
    *number = (uint32_t)n;
    return 0;
}

static void fd_drop(struct fd *f)
{
    if (f->kind == FD_OPEN)
        vfs_close(f->file);
    *f = (struct fd){.kind = FD_FREE};
}

int fd_close(const struct call *c)
{
    struct fd *f = fd_at(c->wasi, arg32(c, 0));
    if (!f)
        return EBADF;
    fd_drop(f);
    return 0;
}

int fd_renumber(const struct call *c)
{
    struct fd *from = fd_at(c->wasi, arg32(c, 0));
    struct fd *to = fd_at(c->wasi, arg32(c, 1));
    if (!from || !to)
        return EBADF;
    if (from == to)
        return 0;
    fd_drop(to);
    *to = *from;
    *from = (struct fd){.kind = FD_FREE};
    return 0;
}

/* A file of the tree, not a stream: 0, EBADF or what `stream` says of those. */
static int opened(const struct call *c, int stream, struct fd **out)
{
    *out = fd_at(c->wasi, arg32(c, 0));
    return !*out ? EBADF : (*out)->kind == FD_STREAM ? stream : 0;
}

/* ---- moving bytes ------------------------------------------------------- */

struct piece {
    char *at;
    size_t n;
};

struct pieces {
    struct piece row[WASI_IOVECS_MAX];
    size_t count;
};

/* The guest's iovecs, all checked, and together no longer than one call may move. */
static int get_pieces(const struct call *c, uint32_t at, uint32_t count,
                      struct pieces *out)
{
    const char *row = slice(c, at, (uint64_t)count * 8);
    if (!row)
        return EFAULT;
    if (count > WASI_IOVECS_MAX)
        return EINVAL;
    size_t left = WASI_MOVE_MAX;
    out->count = count;
    for (size_t i = 0; i < count; i++) {
        uint32_t v[2];
        memcpy(v, row + 8 * i, sizeof v);
        char *bytes = slice(c, v[0], v[1]);
        if (!bytes)
            return EFAULT;
        out->row[i] = (struct piece){bytes, v[1] < left ? v[1] : left};
        left -= out->row[i].n;
    }
    return 0;
}

static int read_stream(struct wasi *s, const struct fd *f, void *to, size_t n,
                       size_t *done)
{
    const struct wasi_options *o = &s->options;
    if (f->stream != 0)
        return EBADF;
    size_t there;
    if (f->flags & FDFLAG_NONBLOCK && o->read && o->ready &&
        o->ready(o->stream_arg, 0, &there) == EAGAIN)
        return EAGAIN;
    if (o->read)
        return o->read(o->stream_arg, to, n, done);
    size_t left = o->input.n - s->input_at;
    *done = n < left ? n : left;
    if (*done)
        memcpy(to, o->input.at + s->input_at, *done);
    s->input_at += *done;
    return 0;
}

static int write_stream(struct wasi *s, const struct fd *f, const void *from, size_t n,
                        size_t *done)
{
    const struct wasi_options *o = &s->options;
    if (f->stream == 0)
        return EBADF;
    wasi_write_fn *write = f->stream == 1 ? o->write : o->write_error;
    struct buf *to = f->stream == 1 ? o->output : o->errors;
    if (write)
        return write(o->stream_arg, from, n, done);
    *done = n;
    if (!to)
        return 0;
    size_t room = to->ceiling - to->n, fits = n < room ? n : room;
    buf_put(to, from, fits);
    s->lost += n - fits;
    return 0;
}

/* Where a call begins to read or write, and whether the file's own place moves. */
struct spot {
    uint64_t offset;
    bool given;
};

typedef int move_fn(struct wasi *s, struct fd *f, uint64_t offset, struct piece p,
                    size_t *done);

static int read_piece(struct wasi *s, struct fd *f, uint64_t offset, struct piece p,
                      size_t *done)
{
    return f->kind == FD_STREAM ? read_stream(s, f, p.at, p.n, done)
                                : vfs_read(f->file, offset, p.at, p.n, done);
}

static int write_piece(struct wasi *s, struct fd *f, uint64_t offset, struct piece p,
                       size_t *done)
{
    return f->kind == FD_STREAM ? write_stream(s, f, p.at, p.n, done)
                                : vfs_write(f->file, offset, p.at, p.n, done);
}

/* All pieces in turn, until one is not done whole. An error after some bytes is told
 * by the next call, as everywhere. */
static int move(const struct call *c, struct fd *f, struct spot spot, move_fn *one,
                uint32_t done_at)
{
    struct pieces all;
    int failed = get_pieces(c, arg32(c, 1), arg32(c, 2), &all);
    if (failed || !slice(c, done_at, 4))
        return failed ? failed : EFAULT;
    bool append = one == write_piece && f->flags & FDFLAG_APPEND && !spot.given;
    uint64_t at = spot.given ? spot.offset : f->offset;
    uint32_t total = 0;
    for (size_t i = 0; i < all.count; i++) {
        size_t done = 0;
        failed = one(c->wasi, f, append ? VFS_AT_END : at, all.row[i], &done);
        total += (uint32_t)done;
        at += done;
        if (failed || done < all.row[i].n)
            break;
    }
    if (failed && total == 0)
        return failed;
    struct vfs_stat st;
    if (append && f->kind == FD_OPEN && vfs_stat_of(f->file, &st) == 0)
        at = st.size;
    if (!spot.given)
        f->offset = at;
    bool lasting = one == write_piece && f->kind == FD_OPEN &&
                   f->flags & (FDFLAG_SYNC | FDFLAG_DSYNC);
    failed = lasting ? vfs_sync(f->file) : 0;
    return failed ? failed : put_u32(c, done_at, total);
}

int fd_read(const struct call *c)
{
    struct fd *f = fd_at(c->wasi, arg32(c, 0));
    return f ? move(c, f, (struct spot){0}, read_piece, arg32(c, 3)) : EBADF;
}

int fd_write(const struct call *c)
{
    struct fd *f = fd_at(c->wasi, arg32(c, 0));
    return f ? move(c, f, (struct spot){0}, write_piece, arg32(c, 3)) : EBADF;
}

int fd_pread(const struct call *c)
{
    struct fd *f;
    int failed = opened(c, ESPIPE, &f);
    return failed ? failed
                  : move(c, f, (struct spot){c->cells[3], true}, read_piece, arg32(c, 4));
}

int fd_pwrite(const struct call *c)
{
    struct fd *f;
    int failed = opened(c, ESPIPE, &f);
    /* The number that means the end to a vfs is no place to a guest. */
    if (!failed && c->cells[3] > INT64_MAX)
        failed = EINVAL;
    return failed
               ? failed
               : move(c, f, (struct spot){c->cells[3], true}, write_piece, arg32(c, 4));
}

/* ---- where it stands ---------------------------------------------------- */

enum { FROM_START, FROM_HERE, FROM_END };

int fd_seek(const struct call *c)
{
    struct fd *f;
    struct vfs_stat st;
    int64_t by = (int64_t)c->cells[1], base = 0, to;
    uint32_t from = arg32(c, 2);
    int failed = opened(c, ESPIPE, &f);
    if (!failed && vfs_type_of(f->file) == VFS_FOLDER)
        failed = EBADF;
    if (!failed && from > FROM_END)
        failed = EINVAL;
    if (!failed && from == FROM_END && !(failed = vfs_stat_of(f->file, &st)))
        base = (int64_t)st.size;
    if (failed)
        return failed;
    if (from == FROM_HERE)
        base = (int64_t)f->offset;
    if (__builtin_add_overflow(base, by, &to) || to < 0)
        return EINVAL;
    failed = put_u64(c, arg32(c, 3), (uint64_t)to);
    if (!failed)
        f->offset = (uint64_t)to;
    return failed;
}

int fd_tell(const struct call *c)
{
    struct fd *f;
    int failed = opened(c, ESPIPE, &f);
    if (!failed && vfs_type_of(f->file) == VFS_FOLDER)
        failed = EBADF;
    return failed ? failed : put_u64(c, arg32(c, 1), f->offset);
}

/* ---- kind and status ---------------------------------------------------- */

static const uint8_t filetypes[] = {[VFS_FOLDER] = 3, [VFS_FILE] = 4, [VFS_LINK] = 7};
#define FILETYPE_UNKNOWN 0 /* there is none for pipes */
#define FILETYPE_CHARACTERS 2

static char type_of_stream(const struct wasi *s, const struct fd *f)
{
    return s->options.streams[f->stream] == WASI_PIPE ? FILETYPE_UNKNOWN
                                                      : FILETYPE_CHARACTERS;
}

int put_filestat(const struct call *c, uint32_t at, const struct vfs_stat *st)
{
    const uint64_t words[FILESTAT_SIZE / 8] = {st->device,
                                               st->inode,
                                               filetypes[st->type],
                                               st->links,
                                               st->size,
                                               (uint64_t)st->accessed_ns,
                                               (uint64_t)st->modified_ns,
                                               (uint64_t)st->changed_ns};
    void *to = slice(c, at, sizeof words);
    if (!to)
        return EFAULT;
    memcpy(to, words, sizeof words);
    return 0;
}

int fd_filestat_get(const struct call *c)
{
    struct fd *f = fd_at(c->wasi, arg32(c, 0));
    struct vfs_stat st = {0};
    if (!f)
        return EBADF;
    int failed = f->kind == FD_OPEN ? vfs_stat_of(f->file, &st) : 0;
    if (!failed)
        failed = put_filestat(c, arg32(c, 1), &st);
    char *to = failed ? NULL : slice(c, arg32(c, 1), FILESTAT_SIZE);
    if (to && f->kind == FD_STREAM)
        to[16] = type_of_stream(c->wasi, f);
    return failed;
}

/* All that was not given away, also where fewer were asked for: the C library hands on
 * to what it opens beneath a folder only what it finds here. */
static uint64_t inheriting(const struct fd *f)
{
    bool folder = f->kind == FD_OPEN && vfs_type_of(f->file) == VFS_FOLDER;
    return folder ? RIGHTS_ALL & ~f->lost_inheriting : 0;
}

static uint64_t meaningless(const struct fd *f)
{
    return f->kind == FD_STREAM                 ? 0
           : vfs_type_of(f->file) == VFS_FOLDER ? RIGHTS_NOT_FOLDER
                                                : RIGHTS_NOT_FILE;
}

int fd_fdstat_get(const struct call *c)
{
    struct fd *f = fd_at(c->wasi, arg32(c, 0));
    char *to = slice(c, arg32(c, 1), 24);
    if (!f || !to)
        return !f ? EBADF : EFAULT;
    memset(to, 0, 24);
    to[0] = f->kind == FD_STREAM ? type_of_stream(c->wasi, f)
                                 : (char)filetypes[vfs_type_of(f->file)];
    memcpy(to + 2, &f->flags, sizeof f->flags);
    uint64_t rights[2] = {f->rights & ~f->lost & ~meaningless(f), inheriting(f)};
    memcpy(to + 8, rights, sizeof rights);
    return 0;
}

int fd_fdstat_set_flags(const struct call *c)
{
    struct fd *f = fd_at(c->wasi, arg32(c, 0));
    if (!f)
        return EBADF;
    if (arg32(c, 1) & ~FDFLAGS)
        return EINVAL;
    f->flags = (uint16_t)arg32(c, 1);
    return 0;
}

/* Rights only ever become fewer. */
int fd_fdstat_set_rights(const struct call *c)
{
    struct fd *f = fd_at(c->wasi, arg32(c, 0));
    if (!f)
        return EBADF;
    if (c->cells[1] & ~(f->rights & ~f->lost) || c->cells[2] & ~inheriting(f))
        return ENOTCAPABLE;
    f->lost |= RIGHTS_ALL & ~c->cells[1];
    f->lost_inheriting |= RIGHTS_ALL & ~c->cells[2];
    return 0;
}

int fd_filestat_set_size(const struct call *c)
{
    struct fd *f;
    int failed = opened(c, EINVAL, &f);
    if (!failed && vfs_type_of(f->file) == VFS_FOLDER)
        failed = EISDIR;
    if (failed)
        return failed;
    /* ftruncate() of a file that is open for reading alone is EINVAL. */
    failed = vfs_resize(f->file, c->cells[1]);
    return failed == EBADF ? EINVAL : failed;
}

int fd_allocate(const struct call *c)
{
    struct fd *f;
    struct vfs_stat st;
    uint64_t offset = c->cells[1], n = c->cells[2];
    int failed = opened(c, ESPIPE, &f);
    if (!failed && vfs_type_of(f->file) == VFS_FOLDER)
        failed = EBADF;
    if (!failed && (n == 0 || offset > INT64_MAX || n > INT64_MAX - offset))
        failed = n == 0 ? EINVAL : EFBIG;
    if (!failed)
        failed = vfs_stat_of(f->file, &st);
    if (failed)
        return failed;
    return offset + n > st.size ? vfs_resize(f->file, offset + n) : 0;
}

#define SET_ATIM 1u
#define SET_ATIM_NOW 2u
#define SET_MTIM 4u
#define SET_MTIM_NOW 8u

static int wanted_time(struct wasi *s, uint64_t ns, bool set, bool now, int64_t *out)
{
    if ((set && now) || (set && ns > INT64_MAX))
        return EINVAL;
    *out = set ? (int64_t)ns : now ? (int64_t)clock_ns(s, 0) : VFS_TIME_KEEP;
    return 0;
}

int wanted_times(struct wasi *s, uint64_t accessed, uint64_t modified, uint32_t flags,
                 int64_t *accessed_ns, int64_t *modified_ns)
{
    int failed =
        wanted_time(s, accessed, flags & SET_ATIM, flags & SET_ATIM_NOW, accessed_ns);
    return failed ? failed
                  : wanted_time(s, modified, flags & SET_MTIM, flags & SET_MTIM_NOW,
                                modified_ns);
}

int fd_filestat_set_times(const struct call *c)
{
    struct fd *f;
    int64_t accessed_ns, modified_ns;
    int failed = opened(c, EINVAL, &f);
    if (!failed)
        failed = wanted_times(c->wasi, c->cells[1], c->cells[2], arg32(c, 3),
                              &accessed_ns, &modified_ns);
    return failed ? failed : vfs_set_times_of(f->file, accessed_ns, modified_ns);
}

int fd_advise(const struct call *c)
{
    struct fd *f;
    int failed = opened(c, ESPIPE, &f);
    return failed ? failed : arg32(c, 3) > 5 ? EINVAL : 0;
}

int fd_sync(const struct call *c)
{
    struct fd *f;
    int failed = opened(c, EINVAL, &f);
    return failed ? failed : vfs_sync(f->file);
}

int fd_datasync(const struct call *c)
{
    return fd_sync(c);
}

/* ---- folders ------------------------------------------------------------ */

int fd_prestat_get(const struct call *c)
{
    struct fd *f = fd_at(c->wasi, arg32(c, 0));
    if (!f || !f->folder)
        return EBADF;
    return put_u64(c, arg32(c, 1), (uint64_t)strlen(f->folder) << 32);
}

int fd_prestat_dir_name(const struct call *c)
{
    struct fd *f = fd_at(c->wasi, arg32(c, 0));
    if (!f || !f->folder)
        return EBADF;
    size_t n = strlen(f->folder);
    char *to = slice(c, arg32(c, 1), arg32(c, 2));
    if (!to)
        return EFAULT;
    if (arg32(c, 2) < n)
        return ENAMETOOLONG;
    memcpy(to, f->folder, n);
    return 0;
}

/* Appends as much as there is room for: an entry that is cut short says "more". */
static size_t dirent_put_some(char *to, size_t size, size_t at, const void *from,
                              size_t n)
{
    size_t fits = n < size - at ? n : size - at;
    memcpy(to + at, from, fits);
    return at + fits;
}

#define DIRENT_SIZE 24
#define DOTS 2 /* "." and "..", before what the folder holds */

/* The entry of that cookie. Both dots have the folder's own number: what is above may
 * be no business of the guest's, and 0 makes the C library look for it. */
static int entry_at(struct vfs_file *folder, uint64_t cookie, struct vfs_entry *out)
{
    const struct vfs_entry *x;
    if (cookie < DOTS) {
        *out =
            (struct vfs_entry){{"..", cookie + 1}, VFS_FOLDER, vfs_folder_inode(folder)};
        return 0;
    }
    int failed = vfs_entry(folder, cookie - DOTS, &x);
    if (!failed)
        *out = *x;
    return failed;
}

static size_t dirent_put(char *to, size_t size, size_t at, const struct vfs_entry *x,
                         uint64_t next)
{
    char head[DIRENT_SIZE] = {0};
    uint32_t name_n = (uint32_t)x->name.n;
    memcpy(head, &next, 8);
    memcpy(head + 8, &x->inode, 8);
    memcpy(head + 16, &name_n, 4);
    head[20] = (char)filetypes[x->type];
    at = dirent_put_some(to, size, at, head, sizeof head);
    return dirent_put_some(to, size, at, x->name.at, x->name.n);
}

/* A cookie is a place in the folder as it was when its first entry was asked for, so
 * that what is removed while it is read makes no other entry be passed over. */
int fd_readdir(const struct call *c)
{
    struct vfs_file *folder;
    struct vfs_entry x;
    uint32_t size = arg32(c, 2);
    char *to = slice(c, arg32(c, 1), size);
    int failed = fd_folder(c->wasi, arg32(c, 0), &folder);
    if (failed || !to || !slice(c, arg32(c, 4), 4))
        return failed ? failed : EFAULT;
    size_t at = 0;
    for (uint64_t i = c->cells[3]; at < size; i++) {
        failed = entry_at(folder, i, &x);
        if (failed)
            break;
        at = dirent_put(to, size, at, &x, i + 1);
    }
    if (failed && failed != ENOENT)
        return failed;
    return put_u32(c, arg32(c, 4), (uint32_t)at);
}
