/* Writing, moving and removing beneath a directory handle: atomic and durable. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "os/beneath.h"

static bool fd_write_all(int fd, struct str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = write(fd, bytes.at, bytes.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        bytes.at += n;
        bytes.n -= (size_t)n;
    }
    return true;
}

/* Some file systems cannot sync a folder and say EINVAL: nothing to be done. */
static bool sync_folder(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
}

/* Where the file system knows no case: a new spelling of one file's own name. */
static bool is_same_file(int from_dir, const char *from, int to_dir, const char *to)
{
    struct stat a, b;
    return fstatat(from_dir, from, &a, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstatat(to_dir, to, &b, AT_SYMLINK_NOFOLLOW) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino && a.st_nlink == 1 && S_ISREG(a.st_mode);
}

/* Renames without replacing, also where the file system has no such flag: a hard
 * link never replaces, and where there are none either, an empty file made by us
 * alone holds the place. errno EEXIST when the name is taken. */
static bool rename_new(int from_dir, const char *from, int to_dir, const char *to)
{
    if (renameat2(from_dir, from, to_dir, to, RENAME_NOREPLACE) == 0)
        return true;
    if (errno == EEXIST) {
        if (is_same_file(from_dir, from, to_dir, to))
            return renameat(from_dir, from, to_dir, to) == 0;
        errno = EEXIST;
    }
    if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)
        return false;
    if (linkat(from_dir, from, to_dir, to, 0) == 0)
        return unlinkat(from_dir, from, 0) == 0;
    if (errno == EEXIST || errno == EXDEV || errno == ENOENT)
        return false;
    int place = openat(to_dir, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (place < 0)
        return false;
    os_close(place);
    return renameat(from_dir, from, to_dir, to) == 0;
}

/* ---- a file under way --------------------------------------------------- */

/* New bytes on their way to a name. Where the file system can, they have none
 * until they are whole and on disk, so that a crash leaves no rubbish behind. */
struct draft {
    int folder;
    int fd;
    char name[40]; /* "" as long as it has none */
};

static void draft_name(struct draft *d)
{
    uint64_t unique;
    os_random(&unique, sizeof unique);
    (void)snprintf(d->name, sizeof d->name, ".cloche-%016" PRIx64 ".tmp", unique);
}

/* `named`: the short way was tried and did not lead to the end. The kernel takes the
 * umask off `mode`. */
static bool draft_open(struct draft *d, int folder, unsigned mode, bool named)
{
    *d = (struct draft){.folder = folder, .fd = -1};
    if (!named)
        d->fd = openat(folder, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
    if (d->fd >= 0)
        return true;
    draft_name(d);
    d->fd = openat(folder, d->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (d->fd < 0)
        d->name[0] = '\0';
    return d->fd >= 0;
}

static void draft_end(struct draft *d)
{
    int saved = errno;
    if (d->name[0])
        (void)unlinkat(d->folder, d->name, 0);
    os_close(d->fd);
    errno = saved;
}

static bool draft_fill(struct draft *d, struct str bytes, bool lasting,
                       struct os_stat *st, struct err *e)
{
    return fd_write_all(d->fd, bytes) && (!lasting || fsync(d->fd) == 0) &&
           (!st || os_stat_fd(d->fd, st, e));
}

/* Links a nameless draft to `to`. false and errno. */
static bool draft_link(const struct draft *d, const char *to)
{
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", d->fd);
    return linkat(AT_FDCWD, link, d->folder, to, AT_SYMLINK_FOLLOW) == 0;
}

/* Gives the draft a name of its own beside the target. */
static bool draft_beside(struct draft *d)
{
    if (d->name[0])
        return true;
    draft_name(d);
    if (draft_link(d, d->name))
        return true;
    d->name[0] = '\0';
    return false;
}

static bool draft_create(struct draft *d, const char *base)
{
    if (!d->name[0])
        return draft_link(d, base);
    if (!rename_new(d->folder, d->name, d->folder, base))
        return false;
    d->name[0] = '\0';
    return true;
}

static bool draft_replace(struct draft *d, const char *base)
{
    if (!draft_beside(d) || renameat(d->folder, d->name, d->folder, base) < 0)
        return false;
    d->name[0] = '\0';
    return true;
}

static bool is_expected(int folder, const char *name, const struct os_stat *expect)
{
    struct statx stx;
    struct os_stat st;
    if (statx(folder, name, AT_SYMLINK_NOFOLLOW, BENEATH_STATX, &stx) < 0)
        return false;
    beneath_stat(&stx, &st);
    return st.is_file && st.inode == expect->inode && st.size == expect->size &&
           st.mtime_ns == expect->mtime_ns;
}

enum swap { SWAP_DONE, SWAP_FAILED, SWAP_IMPOSSIBLE, SWAP_STUCK };

/* Swaps first and looks then at what came out: between a look and a rename another
 * program's save could be lost. SWAP_FAILED: errno, ESTALE when it is not what we
 * knew; SWAP_STUCK: what another wrote now has our file's name. */
static enum swap swap_expected(int from_dir, const char *from, int to_dir, const char *to,
                               const struct os_stat *expect)
{
    if (!is_expected(to_dir, to, expect)) {
        errno = ESTALE;
        return SWAP_FAILED;
    }
    if (renameat2(from_dir, from, to_dir, to, RENAME_EXCHANGE) < 0)
        return errno == EINVAL || errno == ENOSYS || errno == ENOTSUP ? SWAP_IMPOSSIBLE
                                                                      : SWAP_FAILED;
    if (is_expected(from_dir, from, expect))
        return SWAP_DONE;
    if (renameat2(from_dir, from, to_dir, to, RENAME_EXCHANGE) < 0)
        return SWAP_STUCK;
    errno = ESTALE;
    return SWAP_FAILED;
}

static bool draft_replace_expected(struct draft *d, const char *base,
                                   const struct os_stat *expect)
{
    if (!draft_beside(d))
        return false;
    switch (swap_expected(d->folder, d->name, d->folder, base, expect)) {
    case SWAP_DONE:
        return true; /* draft_end() removes the old file */
    case SWAP_IMPOSSIBLE:
        return draft_replace(d, base);
    case SWAP_STUCK:
        d->name[0] = '\0'; /* keep what another wrote, under whatever name */
        return false;
    case SWAP_FAILED:
        break;
    }
    return false;
}

/* ---- writing ------------------------------------------------------------ */

struct job {
    const char *name; /* as the caller gave it */
    int folder;
    const char *base;
    struct str bytes;
    enum os_write how;
    unsigned mode;
    const struct os_stat *expect; /* NULL: whatever is there */
    struct os_stat *st;
};

static bool put_in_place(struct draft *d, const struct job *j)
{
    if (j->expect)
        return draft_replace_expected(d, j->base, j->expect);
    return j->how == OS_CREATE ? draft_create(d, j->base) : draft_replace(d, j->base);
}

static bool changed_meanwhile(const char *name, struct err *e)
{
    return err_set(e, ERR_CONFLICT, "\"%.200s\" was changed by another program", name);
}

static bool run_job(const struct job *j, bool named, struct err *e)
{
    struct draft d;
    if (!draft_open(&d, j->folder, j->mode, named))
        return beneath_failed(e, "write", j->name);
    if (j->how == OS_REPLACE)
        beneath_keep(j->folder, j->base, d.fd);
    bool lasting = j->how != OS_SOON;
    bool filled = draft_fill(&d, j->bytes, lasting, j->st, e);
    bool nameless = !d.name[0];
    bool ok = filled && put_in_place(&d, j);
    /* No /proc: nameless files cannot get a name. */
    bool again = filled && !ok && nameless && !d.name[0] && errno == ENOENT;
    draft_end(&d);
    if (again)
        return run_job(j, true, e);
    if (!ok)
        return errno == ESTALE ? changed_meanwhile(j->name, e)
                               : beneath_failed(e, "write", j->name);
    /* In place but perhaps not lasting: the caller must not take it as done. */
    return !lasting || sync_folder(j->folder) || beneath_failed(e, "sync", j->name);
}

static bool start_job(struct job *j, int dir, struct err *e)
{
    j->folder = beneath_parent(dir, j->name, &j->base, e);
    if (j->folder < 0)
        return false;
    return strlen(j->base) <= NAME_MAX
               ? run_job(j, false, e)
               : err_set(e, ERR_INVALID,
                         "the file name \"%.60s...\" is longer than "
                         "%d bytes",
                         j->base, NAME_MAX);
}

bool os_write_file(int dir, const char *name, struct str bytes, enum os_write how,
                   unsigned mode, struct os_stat *st, struct err *e)
{
    struct job j = {.name = name, .bytes = bytes, .how = how, .mode = mode, .st = st};
    bool ok = start_job(&j, dir, e);
    os_close(j.folder);
    return ok;
}

bool os_replace_file(int dir, const char *name, struct str bytes,
                     const struct os_stat *expect, struct os_stat *st, struct err *e)
{
    struct job j = {.name = name,
                    .bytes = bytes,
                    .how = OS_REPLACE,
                    .mode = 0600,
                    .expect = expect,
                    .st = st};
    bool ok = start_job(&j, dir, e);
    os_close(j.folder);
    return ok;
}

/* ---- folders, moving, removing ------------------------------------------ */

bool os_make_dirs(int dir, const char *name, struct err *e)
{
    if (!beneath_check(name, e))
        return false;
    char part[PATH_MAX];
    size_t n = strlen(name);
    memcpy(part, name, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (part[i] != '/' && part[i] != '\0')
            continue;
        if (part[i - 1] == '/')
            continue;
        part[i] = '\0';
        const char *base;
        scoped_fd int folder = beneath_parent(dir, part, &base, e);
        if (folder < 0)
            return false;
        if (mkdirat(folder, base, 0777) == 0)
            (void)sync_folder(folder);
        else if (errno != EEXIST)
            return beneath_failed(e, "make the folder", part);
        struct stat st;
        if (fstatat(folder, base, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return beneath_failed(e, "make the folder", part);
        if (S_ISLNK(st.st_mode))
            return err_set(e, ERR_DENIED,
                           "\"%.200s\" is a symbolic link; they are "
                           "not followed",
                           part);
        if (!S_ISDIR(st.st_mode))
            return err_set(e, ERR_CONFLICT, "\"%.200s\" exists and is not a folder",
                           part);
        part[i] = i < n ? '/' : '\0';
    }
    return true;
}

static bool move_failed(const char *from, const char *to, struct err *e)
{
    if (errno == EXDEV)
        return err_set(e, ERR_INVALID,
                       "\"%.100s\" and \"%.100s\" are on two file "
                       "systems",
                       from, to);
    return beneath_failed(e, "move", errno == EEXIST ? to : from);
}

bool os_move(int dir, const char *from, const char *to, struct err *e)
{
    const char *from_base, *to_base;
    scoped_fd int from_dir = beneath_parent(dir, from, &from_base, e);
    scoped_fd int to_dir = from_dir < 0 ? -1 : beneath_parent(dir, to, &to_base, e);
    if (from_dir < 0 || to_dir < 0)
        return false;
    if (!rename_new(from_dir, from_base, to_dir, to_base))
        return move_failed(from, to, e);
    return (sync_folder(to_dir) && sync_folder(from_dir)) ||
           beneath_failed(e, "sync", to);
}

bool os_remove_file(int dir, const char *name, struct err *e)
{
    const char *base;
    scoped_fd int folder = beneath_parent(dir, name, &base, e);
    if (folder < 0)
        return false;
    if (unlinkat(folder, base, 0) < 0)
        return beneath_failed(e, "remove", name);
    return sync_folder(folder) || beneath_failed(e, "sync", name);
}

bool os_remove_folder(int dir, const char *name, struct err *e)
{
    const char *base;
    scoped_fd int folder = beneath_parent(dir, name, &base, e);
    if (folder < 0)
        return false;
    if (unlinkat(folder, base, AT_REMOVEDIR) < 0)
        return errno == ENOTEMPTY
                   ? err_set(e, ERR_CONFLICT, "the folder \"%.200s\" is not empty", name)
                   : beneath_failed(e, "remove", name);
    return sync_folder(folder) || beneath_failed(e, "sync", name);
}

/* ---- many files ---------------------------------------------------------- */

bool os_draft(int dir, const char *name, struct str bytes, const char *like,
              unsigned mode, bool lasting, struct err *e)
{
    scoped_fd int fd =
        os_open_beneath(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode, e);
    if (fd < 0)
        return false;
    if (like) {
        const char *base;
        scoped_fd int folder = beneath_parent(dir, like, &base, e);
        if (folder < 0)
            return false;
        beneath_keep(folder, base, fd);
    }
    return (fd_write_all(fd, bytes) && (!lasting || fsync(fd) == 0)) ||
           beneath_failed(e, "write", name);
}

static bool place(int from_dir, const char *from, int to_dir, const char *to,
                  const struct os_stat *expect)
{
    if (!expect)
        return rename_new(from_dir, from, to_dir, to);
    enum swap done = swap_expected(from_dir, from, to_dir, to, expect);
    return done == SWAP_DONE ||
           (done == SWAP_IMPOSSIBLE && renameat(from_dir, from, to_dir, to) == 0);
}

bool os_place(int dir, const char *from, const char *to, const struct os_stat *expect,
              bool lasting, struct err *e)
{
    const char *from_base, *to_base;
    scoped_fd int from_dir = beneath_parent(dir, from, &from_base, e);
    scoped_fd int to_dir = from_dir < 0 ? -1 : beneath_parent(dir, to, &to_base, e);
    if (from_dir < 0 || to_dir < 0)
        return false;
    if (!place(from_dir, from_base, to_dir, to_base, expect))
        return errno == ESTALE ? changed_meanwhile(to, e) : move_failed(from, to, e);
    return !lasting || sync_folder(to_dir) || beneath_failed(e, "sync", to);
}

bool os_drop(int dir, const char *name, struct err *e)
{
    const char *base;
    scoped_fd int folder = beneath_parent(dir, name, &base, e);
    return folder >= 0 &&
           (unlinkat(folder, base, 0) == 0 || beneath_failed(e, "remove", name));
}

uint64_t os_free_bytes(int dir)
{
    struct statvfs st;
    return fstatvfs(dir, &st) == 0 && st.f_blocks ? (uint64_t)st.f_bavail * st.f_frsize
                                                  : UINT64_MAX;
}

uint64_t os_disk_bytes(int dir)
{
    struct statvfs st;
    return fstatvfs(dir, &st) == 0 ? (uint64_t)st.f_blocks * st.f_frsize : 0;
}

bool os_sync(int dir, struct err *e)
{
    return syncfs(dir) == 0 || err_set(e, ERR_IO, "cannot sync to disk: %m");
}
