/* Writes down what a program does to the files beneath one folder, so that test_power.py
 * can build the disk as a power failure at any moment could have left it.
 *
 * Loaded before the C library (LD_PRELOAD), it does each call as it stands and appends a
 * record to $POWER_LOG: what was created, written, moved, removed, and what was synced.
 * Only beneath $POWER_ROOT, an absolute path. A record is a struct record, then two paths (relative to
 * the folder) and the bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CREATE = 1, WRITE, TRUNCATE, SYNC, SYNC_ALL, RENAME, EXCHANGE, LINK, UNLINK, MKDIR };

struct record {
    uint32_t what;
    uint32_t path_size, other_size, data_size;
    uint64_t inode, offset;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;
static char root[PATH_MAX];
static size_t root_size;

#define REAL(name)                              \
    static __typeof__(&name) real;              \
    if (!real)                                  \
    real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static long raw(long n, long a, long b, long c)
{
    static long (*real)(long, ...);
    if (!real)
        real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return real(n, a, b, c);
}

__attribute__((constructor)) static void start(void)
{
    const char *name = getenv("POWER_LOG"), *folder = getenv("POWER_ROOT");
    if (!name || !folder)
        return;
    root_size = (size_t)snprintf(root, sizeof root, "%s/", folder);
    log_fd = (int)raw(SYS_open, (long)name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* ---- names and records --------------------------------------------------- */

/* The path of a descriptor, or of a name beneath one; relative to the folder. NULL: it
 * lies elsewhere. */
static const char *inside(int dir, const char *name, char out[PATH_MAX])
{
    char path[2 * PATH_MAX] = "";
    if (!name || name[0] != '/') {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        ssize_t n = dir == AT_FDCWD ? (getcwd(path, PATH_MAX) ? (ssize_t)strlen(path) : -1)
                                    : readlink(link, path, PATH_MAX - 1);
        if (n < 0)
            return NULL;
        path[n] = '\0';
        if (name && strcmp(name, ".") != 0) {
            strcat(path, "/");
            strncat(path, name, PATH_MAX - 1);
        }
    } else {
        snprintf(path, sizeof path, "%s", name);
    }
    if (strncmp(path, root, root_size - 1) != 0 || log_fd < 0 ||
        (path[root_size - 1] != '/' && path[root_size - 1]))
        return NULL;
    snprintf(out, PATH_MAX, "%s", path[root_size - 1] ? path + root_size : "");
    return out;
}

static uint64_t inode_of(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

/* A record is one write: test_power.py appends to the log, too. */
static void note(uint32_t what, const char *path, const char *other, uint64_t inode,
                 uint64_t offset, const void *data, size_t size)
{
    int saved = errno;
    struct record r = {what,
                       path ? (uint32_t)strlen(path) : 0,
                       other ? (uint32_t)strlen(other) : 0,
                       (uint32_t)size,
                       inode,
                       offset};
    struct iovec parts[] = {{&r, sizeof r},
                            {(void *)path, r.path_size},
                            {(void *)other, r.other_size},
                            {(void *)data, size}};
    long whole = (long)(sizeof r + r.path_size + r.other_size + size);
    if (raw(SYS_writev, log_fd, (long)parts, 4) != whole)
        abort();
    errno = saved;
}

/* ---- opening ------------------------------------------------------------- */

/* Was there such a file before it is opened? */
static int is_there(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void opened(int fd, int dir, const char *name, int flags, int existed)
{
    char path[PATH_MAX];
    if (fd < 0 || log_fd < 0)
        return;
    int nameless = (flags & O_TMPFILE) == O_TMPFILE;
    if (!nameless && !(flags & (O_CREAT | O_TRUNC)))
        return;
    if (!inside(dir, name, path))
        return;
    if (nameless)
        note(CREATE, "", NULL, inode_of(fd), 0, NULL, 0);
    else if (flags & O_CREAT && !existed)
        note(CREATE, path, NULL, inode_of(fd), 0, NULL, 0);
    else if (flags & O_TRUNC)
        note(TRUNCATE, path, NULL, inode_of(fd), 0, NULL, 0);
}

static int open_at(int (*real)(int, const char *, int, ...), int dir, const char *name,
                   int flags, unsigned mode)
{
    pthread_mutex_lock(&lock);
    int existed = is_there(dir, name);
    int fd = real(dir, name, flags, mode);
    opened(fd, dir, name, flags, existed);
    pthread_mutex_unlock(&lock);
    return fd;
}

#define MODE_OF(flags)                                   \
    unsigned mode = 0;                                   \
    if ((flags) & (O_CREAT | __O_TMPFILE)) {             \
        va_list ap;                                      \
        va_start(ap, flags);                             \
        mode = va_arg(ap, unsigned);                     \
        va_end(ap);                                      \
    }

int openat(int dir, const char *name, int flags, ...)
{
    REAL(openat);
    MODE_OF(flags)
    return open_at(real, dir, name, flags, mode);
}

int openat64(int dir, const char *name, int flags, ...)
{
    REAL(openat64);
    MODE_OF(flags)
    return open_at(real, dir, name, flags, mode);
}

int open(const char *name, int flags, ...)
{
    MODE_OF(flags)
    return openat(AT_FDCWD, name, flags, mode);
}

int open64(const char *name, int flags, ...)
{
    MODE_OF(flags)
    return openat(AT_FDCWD, name, flags, mode);
}

int __openat_2(int dir, const char *name, int flags);
int __openat_2(int dir, const char *name, int flags)
{
    return openat(dir, name, flags, 0);
}

int __open64_2(const char *name, int flags);
int __open64_2(const char *name, int flags)
{
    return openat(AT_FDCWD, name, flags, 0);
}

/* openat2 has no function in the C library. */
long syscall(long n, ...)
{
    static long (*real)(long, ...);
    if (!real)
        real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    va_list ap;
    va_start(ap, n);
    long a[6];
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    if (n != SYS_openat2)
        return real(n, a[0], a[1], a[2], a[3], a[4], a[5]);
    const struct open_how *how = (const struct open_how *)a[2];
    pthread_mutex_lock(&lock);
    int existed = is_there((int)a[0], (const char *)a[1]);
    long fd = real(n, a[0], a[1], a[2], a[3]);
    opened((int)fd, (int)a[0], (const char *)a[1], (int)how->flags, existed);
    pthread_mutex_unlock(&lock);
    return fd;
}

/* ---- writing ------------------------------------------------------------- */

static void wrote(int fd, const void *at, ssize_t n, off_t offset)
{
    char path[PATH_MAX];
    if (n > 0 && inside(fd, NULL, path))
        note(WRITE, path, NULL, inode_of(fd), (uint64_t)offset, at, (size_t)n);
}

ssize_t write(int fd, const void *at, size_t size)
{
    REAL(write);
    if (log_fd < 0)
        return real(fd, at, size);
    pthread_mutex_lock(&lock);
    off_t offset = lseek(fd, 0, SEEK_CUR);
    ssize_t n = real(fd, at, size);
    wrote(fd, at, n, offset);
    pthread_mutex_unlock(&lock);
    return n;
}

ssize_t pwrite64(int fd, const void *at, size_t size, off64_t offset)
{
    REAL(pwrite64);
    pthread_mutex_lock(&lock);
    ssize_t n = real(fd, at, size, offset);
    wrote(fd, at, n, offset);
    pthread_mutex_unlock(&lock);
    return n;
}

ssize_t pwrite(int fd, const void *at, size_t size, off_t offset)
{
    return pwrite64(fd, at, size, offset);
}

int ftruncate64(int fd, off64_t size)
{
    REAL(ftruncate64);
    char path[PATH_MAX];
    pthread_mutex_lock(&lock);
    int rc = real(fd, size);
    if (rc == 0 && inside(fd, NULL, path))
        note(TRUNCATE, path, NULL, inode_of(fd), (uint64_t)size, NULL, 0);
    pthread_mutex_unlock(&lock);
    return rc;
}

int ftruncate(int fd, off_t size)
{
    return ftruncate64(fd, size);
}

/* ---- syncing ------------------------------------------------------------- */

static int synced(int rc, uint32_t what, int fd)
{
    char path[PATH_MAX];
    if (rc == 0 && inside(fd, NULL, path))
        note(what, path, NULL, inode_of(fd), 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return rc;
}

int fsync(int fd)
{
    REAL(fsync);
    pthread_mutex_lock(&lock);
    return synced(real(fd), SYNC, fd);
}

int fdatasync(int fd)
{
    REAL(fdatasync);
    pthread_mutex_lock(&lock);
    return synced(real(fd), SYNC, fd);
}

int syncfs(int fd)
{
    REAL(syncfs);
    pthread_mutex_lock(&lock);
    return synced(real(fd), SYNC_ALL, fd);
}

/* ---- names --------------------------------------------------------------- */

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    REAL(renameat2);
    char a[PATH_MAX], b[PATH_MAX];
    pthread_mutex_lock(&lock);
    int rc = real(from_dir, from, to_dir, to, flags);
    if (rc == 0 && inside(from_dir, from, a) && inside(to_dir, to, b))
        note(flags & RENAME_EXCHANGE ? EXCHANGE : RENAME, a, b, 0, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return rc;
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return renameat2(from_dir, from, to_dir, to, 0);
}

int rename(const char *from, const char *to)
{
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    REAL(linkat);
    char path[PATH_MAX];
    pthread_mutex_lock(&lock);
    int rc = real(from_dir, from, to_dir, to, flags);
    struct stat st;
    if (rc == 0 && inside(to_dir, to, path) && fstatat(to_dir, to, &st, 0) == 0)
        note(LINK, path, NULL, st.st_ino, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return rc;
}

int unlinkat(int dir, const char *name, int flags)
{
    REAL(unlinkat);
    char path[PATH_MAX];
    pthread_mutex_lock(&lock);
    const char *known = inside(dir, name, path);
    int rc = real(dir, name, flags);
    if (rc == 0 && known)
        note(UNLINK, path, NULL, 0, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return rc;
}

int unlink(const char *name)
{
    return unlinkat(AT_FDCWD, name, 0);
}

int mkdirat(int dir, const char *name, mode_t mode)
{
    REAL(mkdirat);
    char path[PATH_MAX];
    pthread_mutex_lock(&lock);
    int rc = real(dir, name, mode);
    if (rc == 0 && inside(dir, name, path))
        note(MKDIR, path, NULL, 0, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return rc;
}

int mkdir(const char *name, mode_t mode)
{
    return mkdirat(AT_FDCWD, name, mode);
}
