/* wasi/internal.h - what the files of this room share. */
#pragma once
#include <errno.h>

#include "wasi/wasi.h"

/* A row of strings as the guest gets it: NUL-terminated, one behind the other. */
struct strings {
    char *bytes;
    size_t n, count;
};

enum fd_kind { FD_FREE, FD_STREAM, FD_OPEN };

struct fd {
    enum fd_kind kind;
    unsigned stream;       /* FD_STREAM: 0 in, 1 out, 2 errors */
    struct vfs_file *file; /* FD_OPEN */
    const char *folder;    /* one that was open from the start: its name */
    uint64_t offset;
    uint64_t rights; /* as they were asked for, as far as they apply */
    /* Taken away by the guest itself: from this file, and from what is opened by it. */
    uint64_t lost, lost_inheriting;
    uint16_t flags; /* FDFLAG_ */
};

struct wasi {
    struct wasi_options options;
    struct strings args, env;
    struct fd *fds;
    size_t fd_count;
    size_t input_at;
    uint64_t lost, ticks, cpu_start_ns, random;
    bool exited;
    uint32_t exit_code;
};

/* A call of the guest: its arguments, and the world whose memory they point to. */
struct call {
    struct wasi *wasi;
    struct world *world;
    const uint64_t *cells;
};
/* Each function answers 0 or an errno of <errno.h>. */
typedef int wasi_fn(const struct call *c);

static inline uint32_t arg32(const struct call *c, size_t i)
{
    return (uint32_t)c->cells[i];
}
/* The guest's memory; NULL: answer EFAULT. */
static inline void *slice(const struct call *c, uint32_t at, uint64_t n)
{
    return world_slice(c->world, at, n);
}
/* 0 or EFAULT. */
int put_u32(const struct call *c, uint32_t at, uint32_t v);
int put_u64(const struct call *c, uint32_t at, uint64_t v);
/* A path in the guest's memory: UTF-8, not too long. */
int get_path(const struct call *c, uint32_t at, uint32_t n, struct str *out);

#define FDFLAG_APPEND 1u
#define FDFLAG_DSYNC 2u
#define FDFLAG_NONBLOCK 4u
#define FDFLAG_RSYNC 8u
#define FDFLAG_SYNC 16u
#define FDFLAGS 31u

/* Rights, by their bits. They are kept and told, because programs look at them; what
 * a file is open for is decided when it is opened. Only what a guest has given away by
 * fd_fdstat_set_rights is refused for it (ENOTCAPABLE). */
enum right {
    RIGHT_DATASYNC,
    RIGHT_READ,
    RIGHT_SEEK,
    RIGHT_SET_FLAGS,
    RIGHT_SYNC,
    RIGHT_TELL,
    RIGHT_WRITE,
    RIGHT_ADVISE,
    RIGHT_ALLOCATE,
    RIGHT_CREATE_FOLDER,
    RIGHT_CREATE_FILE,
    RIGHT_LINK_FROM,
    RIGHT_LINK_TO,
    RIGHT_OPEN,
    RIGHT_READDIR,
    RIGHT_READLINK,
    RIGHT_RENAME_FROM,
    RIGHT_RENAME_TO,
    RIGHT_PATH_STAT,
    RIGHT_PATH_SET_SIZE,
    RIGHT_PATH_SET_TIMES,
    RIGHT_STAT,
    RIGHT_SET_SIZE,
    RIGHT_SET_TIMES,
    RIGHT_SYMLINK,
    RIGHT_REMOVE_FOLDER,
    RIGHT_UNLINK,
    RIGHT_POLL,
    RIGHT_SHUTDOWN,
    RIGHT_ACCEPT,
    RIGHTS,
};
#define BIT(right) ((uint64_t)1 << (right))
#define RIGHTS_ALL (BIT(RIGHTS) - 1)
/* Rights of all standard streams; the first may also be read, the others written. */
#define RIGHTS_STREAM (BIT(RIGHT_SET_FLAGS) | BIT(RIGHT_STAT) | BIT(RIGHT_POLL))
/* The C library takes a device of characters that cannot seek for a terminal. */
#define RIGHTS_DEVICE (RIGHTS_STREAM | BIT(RIGHT_SEEK) | BIT(RIGHT_TELL))
/* Rights that only files have, and rights that only folders have. */
#define RIGHTS_NOT_FOLDER                                                     \
    (BIT(RIGHT_READ) | BIT(RIGHT_SEEK) | BIT(RIGHT_TELL) | BIT(RIGHT_WRITE) | \
     BIT(RIGHT_ALLOCATE) | BIT(RIGHT_SET_SIZE) | BIT(RIGHT_SHUTDOWN) |        \
     BIT(RIGHT_ACCEPT))
#define RIGHTS_NOT_FILE                                                                \
    (BIT(RIGHT_CREATE_FOLDER) | BIT(RIGHT_CREATE_FILE) | BIT(RIGHT_LINK_FROM) |        \
     BIT(RIGHT_LINK_TO) | BIT(RIGHT_OPEN) | BIT(RIGHT_READDIR) | BIT(RIGHT_READLINK) | \
     BIT(RIGHT_RENAME_FROM) | BIT(RIGHT_RENAME_TO) | BIT(RIGHT_PATH_STAT) |            \
     BIT(RIGHT_PATH_SET_SIZE) | BIT(RIGHT_PATH_SET_TIMES) | BIT(RIGHT_SYMLINK) |       \
     BIT(RIGHT_REMOVE_FOLDER) | BIT(RIGHT_UNLINK) | BIT(RIGHT_SHUTDOWN) |              \
     BIT(RIGHT_ACCEPT))

/* An errno of WASI that no other system has. */
#define ENOTCAPABLE 1000
/* 0 or ENOTCAPABLE: has the guest given this right away? */
static inline int fd_allows(const struct fd *f, enum right right)
{
    return f->lost & BIT(right) ? ENOTCAPABLE : 0;
}

/* NULL: EBADF. Borrowed until the next file is opened. */
struct fd *fd_at(struct wasi *s, uint32_t n);
/* A folder; 0, EBADF or ENOTDIR. */
int fd_folder(struct wasi *s, uint32_t n, struct vfs_file **out);
/* The lowest free number; takes over the file, even on failure (EMFILE). */
int fd_add(struct wasi *s, struct vfs_file *file, const struct fd *like,
           uint32_t *number);

#define FILESTAT_SIZE 64
int put_filestat(const struct call *c, uint32_t at, const struct vfs_stat *st);
/* The times that the fstflags of a set_times call ask for. */
int wanted_times(struct wasi *s, uint64_t accessed, uint64_t modified, uint32_t flags,
                 int64_t *accessed_ns, int64_t *modified_ns);
enum { CLOCK_REAL, CLOCK_MONO, CLOCK_PROCESS, CLOCK_THREAD, CLOCKS };
uint64_t clock_ns(struct wasi *s, uint32_t id);

extern wasi_fn fd_advise, fd_allocate, fd_close, fd_datasync, fd_fdstat_get,
    fd_fdstat_set_flags, fd_fdstat_set_rights, fd_filestat_get, fd_filestat_set_size,
    fd_filestat_set_times, fd_pread, fd_prestat_dir_name, fd_prestat_get, fd_pwrite,
    fd_read, fd_readdir, fd_renumber, fd_seek, fd_sync, fd_tell, fd_write;
extern wasi_fn path_create_directory, path_filestat_get, path_filestat_set_times,
    path_link, path_open, path_readlink, path_remove_directory, path_rename, path_symlink,
    path_unlink_file;
extern wasi_fn poll_oneoff;

/* Bytes that standard output and standard error had no room for. */
uint64_t wasi_lost(const struct wasi *s);

/* Did the guest end itself (proc_exit)? Its world_call() has failed then. */
bool wasi_exited(const struct wasi *s, uint32_t *code);

/* The errno of the specification for one of <errno.h>; EIO's for what it has not. */
uint16_t wasi_errno(int posix);
