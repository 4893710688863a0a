#include "http/local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 511

/* ---- the folder ------------------------------------------------------------- */

static bool local_open_folder(struct local *l, struct err *e)
{
    char folder[sizeof l->path];
    size_t n = (size_t)(l->name - l->path);
    (void)snprintf(folder, sizeof folder, "%.*s", n > 1 ? (int)n - 1 : 1, l->path);
    struct stat st;
    l->dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (l->dir < 0 || fstat(l->dir, &st) < 0)
        return err_set(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO,
                       "cannot listen in %s: %m", folder);
    if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return err_set(e, ERR_DENIED,
                       "cannot listen in %s: the folder must be yours, and not "
                       "writable by others",
                       folder);
    return true;
}

static bool socket_exists(const struct local *l, struct stat *st)
{
    return fstatat(l->dir, l->name, st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- an old socket ----------------------------------------------------------- */

static struct sockaddr_un socket_address(const struct local *l)
{
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    _Static_assert(sizeof sa.sun_path == sizeof l->path, "a path fits");
    memcpy(sa.sun_path, l->path, sizeof l->path);
    return sa;
}

static bool somebody_listens(const struct sockaddr_un *sa)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool refused = fd >= 0 && connect(fd, (const struct sockaddr *)sa, sizeof *sa) < 0 &&
                   errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return !refused;
}

/* The folder is locked: of two servers that begin at the same time, one looks after the
 * other. */
static bool make_way(const struct local *l, const struct sockaddr_un *sa, struct err *e)
{
    struct stat st;
    if (!socket_exists(l, &st))
        return true;
    if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
        return err_set(e, ERR_CONFLICT, "cannot listen on %s: it is there, and %s",
                       sa->sun_path, S_ISSOCK(st.st_mode) ? "not yours" : "no socket");
    if (somebody_listens(sa))
        return err_set(e, ERR_CONFLICT, "cannot listen on %s: another server does",
                       sa->sun_path);
    return unlinkat(l->dir, l->name, 0) == 0 ||
           err_set(e, ERR_IO, "cannot replace %s: %m", sa->sun_path);
}

/* The mode of a socket before it is bound is that of its file. */
static bool bind_here(struct local *l, int fd, const struct sockaddr_un *sa,
                      struct err *e)
{
    struct stat st;
    if (fchmod(fd, S_IRUSR | S_IWUSR) < 0 ||
        bind(fd, (const struct sockaddr *)sa, sizeof *sa) < 0 ||
        listen(fd, BACKLOG) < 0 || !socket_exists(l, &st))
        return err_set(e, errno == EADDRINUSE ? ERR_CONFLICT : ERR_IO,
                       "cannot listen on %s: %m", sa->sun_path);
    if (!S_ISSOCK(st.st_mode) || (st.st_mode & 0777 & ~0600u) || st.st_uid != geteuid())
        return err_set(e, ERR_IO, "cannot listen on %s: others could come in",
                       sa->sun_path);
    return l->bound = true;
}

bool local_bind(struct local *l, int fd, const char *path, struct err *e)
{
    size_t n = strlen(path);
    *l = (struct local){.dir = -1};
    if (path[0] != '/' || n >= sizeof l->path || path[n - 1] == '/')
        return err_set(e, ERR_INVALID,
                       "cannot listen on 'unix:%.120s': an absolute path of at most %zu "
                       "bytes is needed",
                       path, sizeof l->path - 1);
    memcpy(l->path, path, n + 1);
    l->name = strrchr(l->path, '/') + 1;
    if (!local_open_folder(l, e))
        return false;
    if (flock(l->dir, LOCK_EX) < 0)
        return err_set(e, ERR_IO, "cannot lock the folder of %s: %m", path);
    struct sockaddr_un sa = socket_address(l);
    bool ok = make_way(l, &sa, e) && bind_here(l, fd, &sa, e);
    (void)flock(l->dir, LOCK_UN);
    return ok;
}

void local_remove(struct local *l)
{
    if (l->dir < 0)
        return;
    struct sockaddr_un sa = socket_address(l);
    struct stat st;
    (void)flock(l->dir, LOCK_EX);
    if (l->bound && socket_exists(l, &st) && S_ISSOCK(st.st_mode) &&
        !somebody_listens(&sa))
        (void)unlinkat(l->dir, l->name, 0);
    close(l->dir);
    l->dir = -1;
}
