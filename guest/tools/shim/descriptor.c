/* Descriptors, as far as WASI lets them be doubled. It has only fd_renumber, which moves one:
 * dup2() does that, and the close() of the old number that follows everywhere goes well. A
 * folder is doubled by opening it again. Special files do not exist. */
#define SHIM_PLAIN
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wasi/api.h>

int shim_close(int fd);
int shim_fcntl(int fd, int command, ...);
int __wasilibc_fd_renumber(int fd, int to);

static int refuse(int why)
{
    errno = why;
    return -1;
}

/* Which descriptor dup2() moved last; the number is free until something is opened. */
static int moved = -1;

int shim_close(int fd)
{
    bool gone = fd >= 0 && fd == moved;
    if (gone)
        moved = -1;
    __wasi_fdstat_t s;
    if (gone && __wasi_fd_fdstat_get((__wasi_fd_t)fd, &s) == __WASI_ERRNO_BADF)
        return 0;
    return close(fd);
}

int dup(int fd)
{
    __wasi_fdstat_t s;
    __wasi_errno_t wrong = __wasi_fd_fdstat_get((__wasi_fd_t)fd, &s);
    if (wrong)
        return refuse(wrong);
    if (s.fs_filetype != __WASI_FILETYPE_DIRECTORY)
        return refuse(ENOTSUP);
    return openat(fd, ".", O_RDONLY | O_DIRECTORY);
}

int dup2(int fd, int to)
{
    if (fd == to)
        return fcntl(fd, F_GETFD) < 0 ? -1 : to;
    if (__wasilibc_fd_renumber(fd, to) != 0)
        return -1;
    moved = fd;
    return to;
}

int dup3(int fd, int to, int flags)
{
    (void)flags;
    return fd == to ? refuse(EINVAL) : dup2(fd, to);
}

int shim_fcntl(int fd, int command, ...)
{
    va_list more;
    va_start(more, command);
    int value = va_arg(more, int);
    va_end(more);
    switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
        return dup(fd);
    default:
        return fcntl(fd, command, value);
    }
}

int fchdir(int fd)
{
    (void)fd;
    return refuse(ENOSYS);
}

int mkfifoat(int fd, const char *path, mode_t mode)
{
    (void)fd, (void)path, (void)mode;
    return refuse(ENOTSUP);
}

int mkfifo(const char *path, mode_t mode)
{
    return mkfifoat(AT_FDCWD, path, mode);
}

int mknodat(int fd, const char *path, mode_t mode, dev_t device)
{
    (void)device;
    return mkfifoat(fd, path, mode);
}

int mknod(const char *path, mode_t mode, dev_t device)
{
    return mknodat(AT_FDCWD, path, mode, device);
}

void sync(void)
{
}

int syncfs(int fd)
{
    return fsync(fd);
}

int getdtablesize(void)
{
    return 1024;
}

int eaccess(const char *path, int mode)
{
    return access(path, mode);
}

int euidaccess(const char *path, int mode)
{
    return access(path, mode);
}

char *get_current_dir_name(void)
{
    return getcwd(NULL, 0);
}

/* Nobody else holds one. */
int lockf(int fd, int command, off_t length)
{
    (void)fd, (void)command, (void)length;
    return 0;
}
