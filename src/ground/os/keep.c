/* Attributes that a file passes on to its replacement. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "os/beneath.h"

#define BIRTH "user.cloche.birth" /* ns since 1970, decimal */
#define NAMES_MAX 16384           /* bytes of all names; more are not handed on */
#define VALUE_MAX 65536           /* bytes; the kernel has no larger ones */

/* The user's own, and access control lists; others are the system's to give. */
static bool is_handed_on(const char *name)
{
    return !strncmp(name, "user.", 5) || !strcmp(name, "system.posix_acl_access");
}

static void keep_attributes(int old, int fd)
{
    char names[NAMES_MAX];
    ssize_t n = flistxattr(old, names, sizeof names);
    if (n <= 0)
        return;
    void *value = malloc(VALUE_MAX);
    for (char *name = names; value && name < names + n; name += strlen(name) + 1) {
        ssize_t size = is_handed_on(name) ? fgetxattr(old, name, value, VALUE_MAX) : -1;
        if (size >= 0)
            (void)fsetxattr(fd, name, value, (size_t)size, 0);
    }
    free(value);
}

int64_t beneath_kept_birth(int fd)
{
    char text[32];
    ssize_t n = fgetxattr(fd, BIRTH, text, sizeof text - 1);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    char *end;
    errno = 0;
    int64_t ns = strtoll(text, &end, 10);
    return *end || errno ? 0 : ns;
}

/* A new file is born anew: only an attribute can tell when the old one was. */
static void keep_birth(int old, int fd)
{
    struct os_stat st;
    struct err none = {0};
    if (!os_stat_fd(old, &st, &none) || !st.birth_ns)
        return;
    char text[32];
    int n = snprintf(text, sizeof text, "%" PRId64, st.birth_ns);
    (void)fsetxattr(fd, BIRTH, text, (size_t)n, 0);
}

void beneath_keep(int folder, const char *name, int fd)
{
    scoped_fd int old =
        openat(folder, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
    struct stat st, now;
    if (old < 0 || fstat(old, &st) < 0 || !S_ISREG(st.st_mode) || fstat(fd, &now) < 0)
        return;
    keep_attributes(old, fd);
    keep_birth(old, fd);
    /* Each by itself: a member of the group may keep that but not the owner. */
    if (st.st_uid != now.st_uid)
        (void)!fchown(fd, st.st_uid, (gid_t)-1);
    if (st.st_gid != now.st_gid)
        (void)!fchown(fd, (uid_t)-1, st.st_gid);
    (void)fchmod(fd, st.st_mode & 0777);
}
