/* Begins programs apart, and ends them.
 *
 * A program learns of our end by a pipe of which we hold the only writing end (see
 * inside.c). PR_SET_PDEATHSIG would not do: it tells of the end of the thread that began
 * the program, and threads come and go. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apart/apart.h"
#include "apart/inside.h"
#include "os/os.h"

#define ABOVE_ALL 64 /* where no descriptor lies that the program is to have */

struct apart {
    pid_t pid;
    int handle; /* a pidfd: of this process and no later one of its number; or -1 */
    int leash;
    bool ended;
    int status;
};

char *apart_find(const char *guest_dir, const char *name, const char *elsewhere,
                 const char *purpose, struct err *e)
{
    const char *const places[] = {"/..", elsewhere};
    for (size_t i = 0; i < LENGTH(places) && places[i]; i++) {
        char *path = NULL;
        must(asprintf(&path, "%s%s/%s", guest_dir, places[i], name) > 0);
        if (access(path, X_OK) == 0)
            return path;
        free(path);
    }
    err_set(e, ERR_IO, "the program %s, which %s in a process apart, is not near %.200s",
            name, purpose, guest_dir);
    return NULL;
}

/* Descriptors are put in their places one after the other: none may lie where another
 * is to be. */
static int high(int fd, bool or_null)
{
    if (fd >= 0)
        return fcntl(fd, F_DUPFD_CLOEXEC, ABOVE_ALL);
    scoped_fd int null = or_null ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
    return null < 0 ? -1 : fcntl(null, F_DUPFD_CLOEXEC, ABOVE_ALL);
}

static int spawn(const struct apart_program *p, const int fds[APART_GIVEN + 1],
                 pid_t *child)
{
    enum { ARGS = 8 };
    const char *argv[ARGS + 2] = {p->path};
    for (size_t i = 0; p->args && p->args[i] && i < ARGS; i++)
        argv[i + 1] = p->args[i];
    char zone[200] = "TZ=", *environment[] = {zone, NULL};
    const char *tz = getenv("TZ");
    if (tz && strlen(tz) < sizeof zone - 4)
        (void)snprintf(zone, sizeof zone, "TZ=%s", tz);
    else
        environment[0] = NULL;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addchdir_np(&files, "/");
    for (int i = 0; i <= APART_GIVEN; i++)
        if (fds[i] >= 0)
            posix_spawn_file_actions_adddup2(&files, fds[i], i);
    posix_spawn_file_actions_addclosefrom_np(
        &files, fds[APART_GIVEN] >= 0 ? APART_GIVEN + 1 : APART_GIVEN);
    int failed = posix_spawn(child, p->path, &files, &how, (char **)argv, environment);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return failed;
}

/* It begins in another folder. */
static char *absolute(const char *path)
{
    scoped(free) char *here = *path == '/' ? NULL : getcwd(NULL, 0);
    char *all = NULL;
    if (!here)
        return mem_strdup(path);
    must(asprintf(&all, "%s/%s", here, path) > 0);
    return all;
}

struct apart *apart_begin(const struct apart_program *program, struct err *e)
{
    int ends[2] = {-1, -1};
    pid_t child = -1;
    scoped(free) char *path = absolute(program->path);
    struct apart_program copy = *program, *p = &copy;
    copy.path = path;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        err_set(e, ERR_IO, "cannot begin %s: %m", p->path);
        return NULL;
    }
    scoped_fd int leash = ends[1], held = ends[0];
    scoped_fd int in = high(p->in, true), out = high(p->out, true);
    scoped_fd int errors = high(-1, true), other = high(held, false);
    scoped_fd int given = high(p->given, false);
    const int fds[] = {in, out, errors, other, given};
    bool all =
        in >= 0 && out >= 0 && errors >= 0 && other >= 0 && (given >= 0 || p->given < 0);
    int failed = all ? spawn(p, fds, &child) : errno;
    if (failed) {
        errno = failed;
        err_set(e, ERR_IO, "cannot begin the program %s: %m", p->path);
        return NULL;
    }
    struct apart *a = mem_new(sizeof *a);
    *a = (struct apart){.pid = child,
                        .handle = (int)syscall(SYS_pidfd_open, child, 0),
                        .leash = leash,
                        .status = -1};
    leash = -1;
    return a;
}

static void reap(struct apart *a)
{
    while (!a->ended) {
        if (waitpid(a->pid, &a->status, 0) == a->pid)
            a->ended = true;
        else if (errno != EINTR) {
            a->status = -1; /* somebody else has waited for it */
            a->ended = true;
        }
    }
}

static void end_now(struct apart *a)
{
    if (a->ended)
        return;
    if (a->handle >= 0)
        (void)syscall(SYS_pidfd_send_signal, a->handle, SIGKILL, NULL, 0);
    else
        (void)kill(a->pid, SIGKILL);
}

bool apart_is_over(struct apart *a)
{
    siginfo_t info = {0};
    int rc =
        a->ended ? -1 : waitid(P_PID, (id_t)a->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    return a->ended || (rc == 0 ? info.si_pid != 0 : errno == ECHILD);
}

bool apart_ends_within(struct apart *a, int ms)
{
    struct pollfd p = {.fd = a->handle, .events = POLLIN};
    return a->handle < 0 || poll(&p, 1, ms) != 0;
}

int apart_wait(struct apart *a, int timeout_ms)
{
    struct pollfd p = {.fd = a->handle, .events = POLLIN};
    if (a->handle >= 0 && poll(&p, 1, timeout_ms) == 0)
        end_now(a);
    reap(a);
    return a->status;
}

void apart_end(struct apart *a)
{
    if (!a)
        return;
    end_now(a);
    reap(a);
    os_close(a->handle);
    os_close(a->leash);
    free(a);
}
