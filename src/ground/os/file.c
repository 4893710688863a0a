/* Opening, looking at and reading files beneath a directory handle.
 *
 * The kernel resolves names (openat2), so that no check of ours can be raced. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/beneath.h"

void os_close(int fd)
{
    int saved = errno;
    if (fd >= 0)
        (void)close(fd);
    errno = saved;
}

bool beneath_failed(struct err *e, const char *doing, const char *name)
{
    switch (errno) {
    case ENOENT:
    case ENOTDIR:
        return err_set(e, ERR_NOT_FOUND, "cannot %s \"%.200s\": not there", doing, name);
    case EXDEV:
    case ELOOP:
        return err_set(e, ERR_DENIED,
                       "cannot %s \"%.200s\": symbolic links out of "
                       "the folder are not followed",
                       doing, name);
    case EACCES:
    case EPERM:
    case EROFS:
        return err_set(e, ERR_DENIED, "cannot %s \"%.200s\": %m", doing, name);
    case EEXIST:
    case ENOTEMPTY:
        return err_set(e, ERR_CONFLICT, "cannot %s \"%.200s\": it exists already", doing,
                       name);
    case ENAMETOOLONG:
    case EISDIR:
    case EINVAL:
        return err_set(e, ERR_INVALID, "cannot %s \"%.200s\": %m", doing, name);
    default:
        return err_set(e, ERR_IO, "cannot %s \"%.200s\": %m", doing, name);
    }
}

bool beneath_check(const char *name, struct err *e)
{
    if (!*name)
        return err_set(e, ERR_INVALID, "a file name is empty");
    if (strlen(name) >= PATH_MAX)
        return err_set(e, ERR_INVALID, "a file name is longer than %d bytes",
                       PATH_MAX - 1);
    if (*name == '/')
        return err_set(e, ERR_DENIED,
                       "\"%.200s\" is an absolute name; it must be "
                       "relative",
                       name);
    for (const char *c = name; c; c = strchr(c, '/')) {
        c += *c == '/';
        if (c[0] == '.' && c[1] == '.' && (c[2] == '/' || c[2] == '\0'))
            return err_set(e, ERR_DENIED, "\"%.200s\" leads out with \"..\"", name);
    }
    return true;
}

/* ---- opening ------------------------------------------------------------ */

/* O_PATH with O_NOFOLLOW opens a link itself instead of failing at it. */
static int refuse_link(int fd)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISLNK(st.st_mode))
        return fd;
    os_close(fd);
    errno = ELOOP;
    return -1;
}

int beneath_open_slow(int dir, const char *name, int flags, unsigned mode)
{
    char part[NAME_MAX + 1];
    int at = dir;
    for (;;) {
        const char *end = strchrnul(name, '/');
        const char *next = end + strspn(end, "/");
        size_t n = (size_t)(end - name);
        bool last = !*next;
        int fd = -1;
        if (n > NAME_MAX) {
            errno = ENAMETOOLONG;
        } else {
            memcpy(part, name, n);
            part[n] = '\0';
            fd = last ? openat(at, part, flags | O_NOFOLLOW | O_CLOEXEC, mode)
                      : openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            /* O_DIRECTORY on a link says "no directory"; O_PATH opens the link. */
            struct stat st;
            if (fd < 0 && errno == ENOTDIR &&
                fstatat(at, part, &st, AT_SYMLINK_NOFOLLOW) == 0)
                errno = S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR;
            if (last && flags & O_PATH)
                fd = refuse_link(fd);
        }
        if (at != dir)
            os_close(at);
        if (last || fd < 0)
            return fd;
        at = fd;
        name = next;
    }
}

static int open_name(int dir, const char *name, int flags, unsigned mode)
{
    static atomic_bool missing; /* this kernel has no openat2 */
    if (atomic_load_explicit(&missing, memory_order_relaxed))
        return beneath_open_slow(dir, name, flags, mode);

    struct open_how how = {
        .flags = (unsigned)(flags | O_CLOEXEC),
        .mode = flags & (O_CREAT | __O_TMPFILE) ? mode : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
                   (flags & O_NOFOLLOW ? RESOLVE_NO_SYMLINKS : 0),
    };
    for (int tries = 0;; tries++) {
        int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof how);
        /* The kernel asks for another try when a rename was under way. */
        if (fd < 0 && (errno == EAGAIN || errno == EINTR) && tries < 100)
            continue;
        if (fd < 0 && (errno == ENOSYS || (errno == EPERM && tries == 0))) {
            /* EPERM is also how some sandboxes refuse unknown calls. */
            bool unknown = errno == ENOSYS;
            fd = beneath_open_slow(dir, name, flags, mode);
            if (unknown)
                atomic_store_explicit(&missing, true, memory_order_relaxed);
        }
        return flags & O_PATH && flags & O_NOFOLLOW ? refuse_link(fd) : fd;
    }
}

int os_open_beneath(int dir, const char *name, int flags, unsigned mode, struct err *e)
{
    if (!beneath_check(name, e))
        return -1;
    int fd = open_name(dir, name, flags, mode);
    /* A link where a folder was wanted reads as "no folder". Walking again by
     * hand tells which it was; only the message depends on it. */
    if (fd < 0 && errno == ENOTDIR && flags & O_NOFOLLOW) {
        os_close(beneath_open_slow(dir, name, O_PATH, 0));
        errno = errno == ELOOP ? ELOOP : ENOTDIR;
    }
    if (fd < 0)
        beneath_failed(e, flags & O_CREAT ? "make" : "open", name);
    return fd;
}

int beneath_parent(int dir, const char *name, const char **base, struct err *e)
{
    if (!beneath_check(name, e))
        return -1;
    const char *slash = strrchr(name, '/');
    *base = slash ? slash + 1 : name;
    if (!**base || !strcmp(*base, ".")) {
        err_set(e, ERR_INVALID, "\"%.200s\" names no file", name);
        return -1;
    }
    char folder[PATH_MAX] = ".";
    if (slash) {
        size_t n = (size_t)(slash - name);
        memcpy(folder, name, n);
        folder[n] = '\0';
    }
    return os_open_beneath(dir, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, e);
}

/* ---- directories by path ------------------------------------------------ */

int os_dir_open(const char *path, struct err *e)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        return fd;
    struct stat st;
    if (errno == ENOTDIR && stat(path, &st) == 0)
        err_set(e, ERR_INVALID, "\"%.200s\" is not a folder", path);
    else
        beneath_failed(e, "open the folder", path);
    return -1;
}

int os_dir_make(const char *path, unsigned mode, struct err *e)
{
    size_t n = strlen(path);
    if (n == 0 || n >= PATH_MAX) {
        err_set(e, ERR_INVALID, "a folder's path is %s", n ? "too long" : "empty");
        return -1;
    }
    char part[PATH_MAX];
    memcpy(part, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (part[i] != '/' && part[i] != '\0')
            continue;
        part[i] = '\0';
        /* Whatever is in the way shows when the whole is opened. */
        if (mkdir(part, mode) < 0 && errno != EEXIST && i == n) {
            beneath_failed(e, "make the folder", path);
            return -1;
        }
        part[i] = i < n ? '/' : '\0';
    }
    return os_dir_open(path, e);
}

/* ---- looking and reading ------------------------------------------------ */

static int64_t time_ns(struct statx_timestamp t)
{
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

void beneath_stat(const struct statx *from, struct os_stat *to)
{
    *to = (struct os_stat){
        .size = from->stx_size,
        .on_disk = from->stx_blocks * 512,
        .mtime_ns = time_ns(from->stx_mtime),
        .birth_ns = from->stx_mask & STATX_BTIME ? time_ns(from->stx_btime) : 0,
        .inode = from->stx_ino,
        .is_dir = S_ISDIR(from->stx_mode),
        .is_file = S_ISREG(from->stx_mode),
        .is_deleted = from->stx_nlink == 0,
    };
}

bool os_stat_fd(int fd, struct os_stat *out, struct err *e)
{
    struct statx st;
    if (statx(fd, "", AT_EMPTY_PATH, BENEATH_STATX, &st) < 0)
        return err_set(e, ERR_IO, "cannot look at an open file: %m");
    beneath_stat(&st, out);
    int64_t kept = out->is_file ? beneath_kept_birth(fd) : 0;
    if (kept)
        out->birth_ns = kept;
    return true;
}

bool os_stat_beneath(int dir, const char *name, struct os_stat *out, struct err *e)
{
    scoped_fd int fd = os_open_beneath(dir, name, O_PATH | O_NOFOLLOW, 0, e);
    return fd >= 0 && os_stat_fd(fd, out, e);
}

void os_keep_private(int dir, const char *name)
{
    struct err none = {0};
    struct stat st;
    scoped_fd int fd = os_open_beneath(dir, name, O_PATH | O_NOFOLLOW, 0, &none);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & 077))
        return;
    char path[40];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    (void)chmod(path, st.st_mode & 0700);
}

struct os_stamp os_stamp(int dir, const char *name)
{
    struct stat st;
    if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return (struct os_stamp){0};
    return (struct os_stamp){.inode = st.st_ino,
                             .size = (uint64_t)st.st_size,
                             .changed_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 +
                                           st.st_ctim.tv_nsec};
}

bool os_read_fd(int fd, struct buf *out, struct err *e)
{
    size_t want = 64 * 1024;
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        want = (size_t)st.st_size + 1; /* one more, to meet the end at once */
    for (;;) {
        size_t left = out->ceiling - out->n;
        char over;
        char *room = left ? buf_room(out, want < left ? want : left) : &over;
        if (!room)
            return buf_check(out, "a file", e);
        ssize_t got = read(fd, room, left ? (want < left ? want : left) : 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set(e, errno == EISDIR ? ERR_INVALID : ERR_IO,
                           "cannot be read: %m");
        if (got == 0)
            return true;
        if (!left) {
            out->failed = true;
            return err_set(e, ERR_LIMIT, "larger than the %zu bytes that are accepted",
                           out->ceiling);
        }
        out->n += (size_t)got;
        want = 64 * 1024;
    }
}

bool os_read_file(int dir, const char *name, struct buf *out, struct os_stat *st,
                  struct err *e)
{
    /* Without O_NONBLOCK a pipe of this name would hold us for ever. */
    scoped_fd int fd = os_open_beneath(dir, name, O_RDONLY | O_NONBLOCK, 0, e);
    struct os_stat own = {0};
    if (!st)
        st = &own;
    if (fd < 0 || !os_stat_fd(fd, st, e))
        return false;
    if (!st->is_file)
        return err_set(e, ERR_INVALID, "\"%.200s\" is not a regular file", name);
    return os_read_fd(fd, out, e) || err_wrap(e, "%.100s", name);
}
