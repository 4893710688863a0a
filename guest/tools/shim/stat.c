/* What a file is said to be, where WASI does not tell: modes, owner and blocks.
 */
#define SHIM_PLAIN
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wasi/api.h>

#define USER  1000 /* as owner.c says */
#define BLOCK 4096 /* what most file systems give out */

int shim_stat(const char *path, struct stat *out);
int shim_lstat(const char *path, struct stat *out);
int shim_fstat(int fd, struct stat *out);
int shim_fstatat(int fd, const char *path, struct stat *out, int flags);
int shim_chmod(const char *path, mode_t mode);
int shim_fchmod(int fd, mode_t mode);
int shim_fchmodat(int fd, const char *path, mode_t mode, int flags);

/* The same on a mount that this tool may only read: what it may do hangs on its manifest, and
 * says nothing about the file, which an archive takes with its mode to where it is unpacked. */
static mode_t usual_mode(mode_t type)
{
    switch (type & S_IFMT) {
    case S_IFDIR:
        return 0755;
    case S_IFREG:
        return 0644;
    case S_IFLNK:
        return 0777;
    case S_IFCHR:
        return 0620;
    default:
        return 0600;
    }
}

static int complete(int outcome, struct stat *s)
{
    if (outcome != 0)
        return outcome;
    if ((s->st_mode & S_IFMT) == 0) /* standard streams that are nobody's file */
        s->st_mode |= S_IFIFO;
    s->st_mode |= usual_mode(s->st_mode);
    s->st_uid = s->st_gid = USER;
    s->st_blksize = BLOCK;
    if (S_ISDIR(s->st_mode))
        s->st_size = BLOCK;
    /* Short links are kept within the inode, everywhere. */
    if (!S_ISLNK(s->st_mode))
        s->st_blocks = (s->st_size + BLOCK - 1) / BLOCK * (BLOCK / 512);
    return 0;
}

int shim_stat(const char *path, struct stat *out)
{
    return complete(stat(path, out), out);
}

int shim_lstat(const char *path, struct stat *out)
{
    return complete(lstat(path, out), out);
}

int shim_fstat(int fd, struct stat *out)
{
    return complete(fstat(fd, out), out);
}

#define EMPTY_PATH 0x1000 /* AT_EMPTY_PATH, which the C library does not know */

int shim_fstatat(int fd, const char *path, struct stat *out, int flags)
{
    if (flags & EMPTY_PATH && path[0] == '\0')
        return shim_fstat(fd, out);
    return complete(fstatat(fd, path, out, flags & AT_SYMLINK_NOFOLLOW), out);
}

/* Modes cannot be changed: whoever tries is told that it went well, for a mode that is not
 * kept does no harm here. Only a file that is not there is an error. */
static int accept_mode(int outcome)
{
    return outcome == 0 ? 0 : -1;
}

int shim_chmod(const char *path, mode_t mode)
{
    (void)mode;
    struct stat s;
    return accept_mode(stat(path, &s));
}

int lchmod(const char *path, mode_t mode)
{
    (void)mode;
    struct stat s;
    return accept_mode(lstat(path, &s));
}

int shim_fchmod(int fd, mode_t mode)
{
    (void)mode;
    struct stat s;
    return accept_mode(fstat(fd, &s));
}

int shim_fchmodat(int fd, const char *path, mode_t mode, int flags)
{
    (void)mode;
    struct stat s;
    return accept_mode(shim_fstatat(fd, path, &s, flags));
}

mode_t umask(mode_t mask)
{
    static mode_t now = 022;
    mode_t before = now;
    now = mask & 0777;
    return before;
}
