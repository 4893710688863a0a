/* cloche-fuse-here HOST PLACE [ro|overlay|links]...: mounts the folder HOST at PLACE of this very
 * computer, by way of its /dev/fuse, as a machine would see it: for tests, which so need no
 * machine. Ends when it is unmounted. Never shipped; needs the right to mount. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

#include "fuse/fuse.h"
#include "os/os.h"
#include "vfs/vfs.h"

#define AT "/mount"

static const struct vfs_quota quota = {.bytes = (uint64_t)1 << 30,
                                       .files = UINT32_MAX,
                                       .open = 8192,
                                       .written = UINT64_MAX / 2};

static bool has(char **words, const char *word)
{
    for (; *words; words++)
        if (!strcmp(*words, word))
            return true;
    return false;
}

static struct vfs *tree_of(const char *host, char **words, struct err *e)
{
    scoped_fd int dir = os_dir_open(host, e);
    struct vfs_mount m = {.at = AT,
                          .dir = dir,
                          .writable = !has(words, "ro"),
                          .overlay = has(words, "overlay"),
                          .links = has(words, "links"),
                          .dots = true};
    if (dir < 0)
        return NULL;
    scoped(vfs_free) struct vfs *tree = vfs_new(&quota);
    return vfs_mount(tree, &m, e) ? take(tree) : NULL;
}

/* Requests of the kernel; false: it was unmounted. */
static bool serve_one(int fd, struct fuse *f)
{
    static _Alignas(16) char request[FUSE_REQUEST_MAX + 4096], reply[FUSE_REQUEST_MAX];
    ssize_t got = read(fd, request, sizeof request);
    if (got < 0)
        return errno == EINTR || errno == EAGAIN || errno == ENOENT;
    size_t n = fuse_request(f, (struct str){request, (size_t)got}, reply, sizeof reply);
    if (n && write(fd, reply, n) < 0 && errno != ENOENT)
        fprintf(stderr, "cloche-fuse-here: a reply was refused: %m\n");
    return true;
}

int main(int n, char **words)
{
    struct err e = {0};
    char options[200], inner[40];
    uint32_t number;
    if (n < 3)
        return 64;
    struct vfs *tree = tree_of(words[1], words + 3, &e);
    struct fuse *f = fuse_new();
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    (void)snprintf(
        options, sizeof options,
        "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions", fd);
    if (!tree || fd < 0 || !fuse_add(f, tree, AT, false, &number, &e)) {
        fprintf(stderr, "cloche-fuse-here: %s\n", e.code ? e.msg : strerror(errno));
        return 1;
    }
    if (mount("cloche", words[2], "fuse", MS_NOSUID | MS_NODEV, options) != 0) {
        fprintf(stderr, "cloche-fuse-here: %m\n");
        return 1;
    }
    (void)snprintf(inner, sizeof inner, "%u\n", number);
    (void)!write(STDOUT_FILENO, inner, strlen(inner));
    while (serve_one(fd, f)) {
    }
    fuse_free(f);
    return 0;
}
