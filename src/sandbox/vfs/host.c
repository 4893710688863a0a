/* Folders of the host: what of them is shown, and opening what lies beneath one.
 *
 * The kernel resolves a path in one step and refuses every link in it (openat2), so
 * that nobody can exchange a folder for a link between a look and the opening. Where
 * it has no such call the names are opened one by one, each relative to the folder
 * before it, which comes to the same. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/os.h"
#include "vfs/internal.h"

#define ENTRIES_BYTES ((size_t)32 << 10) /* asked for at once */
#define TRIES 100 /* the kernel asks for another when a rename was under way */

bool mount_shows(const struct mounted *m, struct str name)
{
    if (name.n == 0 || name.at[0] != '.')
        return true;
    /* Some file systems take no notice of case. */
    return m->dots && !(name.n == 7 && strncasecmp(name.at, ".cloche", 7) == 0);
}

bool host_stat(const struct mounted *m, const struct stat *st, struct vfs_stat *out)
{
    *out = (struct vfs_stat){
        .type = S_ISDIR(st->st_mode)   ? VFS_FOLDER
                : S_ISLNK(st->st_mode) ? VFS_LINK
                                       : VFS_FILE,
        .device = m->number,
        .links = (uint32_t)st->st_nlink,
        .mode = st->st_mode & 0777,
        .system = st->st_dev,
        .blocks = (uint64_t)st->st_blocks,
        .inode = st->st_ino,
        .size = (uint64_t)st->st_size,
        .accessed_ns = (int64_t)st->st_atim.tv_sec * 1000000000 + st->st_atim.tv_nsec,
        .modified_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
        .changed_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec};
    return S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) || S_ISLNK(st->st_mode);
}

static int open_by_names(int dir, const char *path, int flags)
{
    int at = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    while (at >= 0 && *path) {
        char name[VFS_NAME_MAX + 1];
        size_t n = strcspn(path, "/");
        must(n < sizeof name);
        memcpy(name, path, n);
        name[n] = '\0';
        path += n + (path[n] == '/');
        int next = openat(at, name, *path ? O_PATH | O_DIRECTORY | HOST_OPEN : flags);
        os_close(at);
        at = next;
    }
    return at;
}

int host_open(const struct mounted *m, const char *path, int flags)
{
    static atomic_bool missing; /* this kernel has no openat2 */
    flags |= HOST_OPEN;
    if (!*path)
        return openat(m->dir, ".", flags);
    if (atomic_load_explicit(&missing, memory_order_relaxed))
        return open_by_names(m->dir, path, flags);
    struct open_how how = {.flags = (unsigned)flags,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
                                      RESOLVE_NO_SYMLINKS};
    int fd = -1;
    for (int i = 0; i < TRIES; i++) {
        fd = (int)syscall(SYS_openat2, m->dir, path, &how, sizeof how);
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    /* EPERM is also how some sandboxes refuse unknown calls. */
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
        return fd;
    if (errno == ENOSYS)
        atomic_store_explicit(&missing, true, memory_order_relaxed);
    return open_by_names(m->dir, path, flags);
}

int host_folder(const struct mounted *m, const char *path)
{
    return host_open(m, path, O_PATH | O_DIRECTORY);
}

int host_file(const struct mounted *m, const char *path)
{
    struct stat st;
    struct vfs_stat seen;
    int fd = host_open(m, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 ||
        (fstat(fd, &st) == 0 && host_stat(m, &st, &seen) && seen.type == VFS_FILE))
        return fd;
    os_close(fd);
    errno = EACCES;
    return -1;
}

static enum vfs_type type_of_entry(unsigned char type)
{
    return type == DT_DIR ? VFS_FOLDER : type == DT_LNK ? VFS_LINK : VFS_FILE;
}

int host_listed(const struct mounted *m, const char *path)
{
    return host_open(m, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
}

/* As getdents64(2) gives them. */
struct entry {
    uint64_t inode;
    int64_t next;
    uint16_t size;
    uint8_t type;
    char name[];
};

/* Most file systems tell the type of an entry with its name. */
static int host_visit(int fd, const struct mounted *m, const struct entry *x,
                      host_entry_fn *each, void *arg)
{
    struct str name = str_of(x->name);
    if (str_is(name, ".") || str_is(name, ".."))
        return 0;
    struct vfs_stat seen = {.inode = x->inode, .type = type_of_entry(x->type)};
    struct stat st;
    bool shown = x->type == DT_REG || x->type == DT_DIR || x->type == DT_LNK;
    if (x->type == DT_UNKNOWN)
        shown = fstatat(fd, x->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                host_stat(m, &st, &seen);
    return each(arg, name, &seen, shown && mount_shows(m, name));
}

static int visit_some(int fd, const struct mounted *m, const char *some, long n,
                      host_entry_fn *each, void *arg)
{
    int failed = 0;
    for (long at = 0; !failed && at < n;) {
        const struct entry *x = (const void *)(some + at);
        failed = host_visit(fd, m, x, each, arg);
        at += x->size;
    }
    return failed;
}

/* By the kernel's own call: a DIR would cost a descriptor and five calls a folder. */
int host_list(int folder, const struct mounted *m, host_entry_fn *each, void *arg)
{
    char *some = malloc(ENTRIES_BYTES);
    int failed = !some ? ENOMEM : lseek(folder, 0, SEEK_SET) < 0 ? errno : 0;
    for (long n = 1; !failed && n > 0;) {
        n = syscall(SYS_getdents64, folder, some, ENTRIES_BYTES);
        failed = n < 0 ? errno : visit_some(folder, m, some, n, each, arg);
    }
    free(some);
    return failed;
}
