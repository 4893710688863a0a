/* A request is all that a connection says until it is half closed, and so is an answer. Sockets are
 * named by /proc/self/fd, since their own paths may be longer than an address has room for. */
#include "nearby/nearby.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/os.h"

#define FOLDER "nearby"
#define NAME_SIZE 80u
#define WAIT_S 10
#define STACK ((size_t)512 << 10)

struct nearby {
    int folder, fd, end[2]; /* a byte in `end` ends its thread */
    char name[NAME_SIZE];
    nearby_answer_fn *answer;
    void *arg;
    pthread_t thread;
};

/* ---- both ends ------------------------------------------------------------------------ */

static bool address_of(int folder, const char *name, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(out->sun_path, sizeof out->sun_path, "/proc/self/fd/%d/%s", folder,
                     name);
    return n > 0 && (size_t)n < sizeof out->sun_path;
}

static bool is_own_account(int fd)
{
    struct ucred who;
    socklen_t size = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           who.uid == geteuid();
}

static void wait_at_most(int fd, int seconds)
{
    struct timeval most = {.tv_sec = seconds};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
}

/* All until its end. false: it is too much, or nothing comes any more. */
static bool read_all(int fd, struct buf *to)
{
    char part[4096];
    for (;;) {
        ssize_t n = recv(fd, part, sizeof part, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        if (!buf_str(to, (struct str){part, (size_t)n}))
            return false;
    }
}

static bool send_all(int fd, struct str bytes)
{
    while (bytes.n) {
        ssize_t n = send(fd, bytes.at, bytes.n, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes = (struct str){bytes.at + n, bytes.n - (size_t)n};
    }
    return shutdown(fd, SHUT_WR) == 0;
}

/* ---- listening -------------------------------------------------------------------------- */

static void serve(struct nearby *n, int fd)
{
    scoped_buf struct buf request, answer;
    buf_init(&request, NEARBY_REQUEST_MAX);
    buf_init(&answer, NEARBY_ANSWER_MAX);
    wait_at_most(fd, WAIT_S);
    if (!is_own_account(fd) || !read_all(fd, &request))
        return;
    n->answer(n->arg, buf_view(&request), &answer);
    if (!answer.failed)
        (void)send_all(fd, buf_view(&answer));
}

static void *run(void *arg)
{
    struct nearby *n = arg;
    struct pollfd f[] = {{.fd = n->fd, .events = POLLIN},
                         {.fd = n->end[0], .events = POLLIN}};
    for (;;) {
        if (poll(f, LENGTH(f), -1) < 0 && errno != EINTR)
            return NULL;
        if (f[1].revents)
            return NULL;
        scoped_fd int fd = accept4(n->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            serve(n, fd);
    }
}

static bool listen_at(struct nearby *n, const char *topic, struct err *e)
{
    static _Atomic unsigned made;
    struct sockaddr_un sa;
    (void)snprintf(n->name, sizeof n->name, "%.30s-%d-%u", topic, (int)getpid(),
                   atomic_fetch_add(&made, 1));
    n->folder = os_state_folder(FOLDER, e);
    if (n->folder < 0)
        return false;
    n->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (n->fd < 0 || pipe2(n->end, O_CLOEXEC) < 0 || !address_of(n->folder, n->name, &sa))
        return err_set(e, ERR_BUSY, "there is no socket for other processes: %m");
    (void)unlinkat(n->folder, n->name, 0); /* of a process that had this number */
    if (bind(n->fd, (struct sockaddr *)&sa, sizeof sa) < 0 ||
        fchmodat(n->folder, n->name, 0600, 0) < 0 || listen(n->fd, 16) < 0)
        return err_set(e, ERR_IO, "no other process can ask this one: %m");
    return true;
}

struct nearby *nearby_listen(const char *topic, nearby_answer_fn *answer, void *arg,
                             struct err *e)
{
    struct nearby *n = mem_new(sizeof *n);
    *n = (struct nearby){
        .folder = -1, .fd = -1, .end = {-1, -1}, .answer = answer, .arg = arg};
    bool ok = listen_at(n, topic, e);
    if (ok && os_thread_start(&n->thread, "nearby", STACK, run, n))
        return n;
    if (ok)
        err_set(e, ERR_BUSY, "the system has no thread left");
    n->answer = NULL;
    nearby_close(n);
    return NULL;
}

void nearby_close(struct nearby *n)
{
    if (!n)
        return;
    if (n->answer) {
        ssize_t told = write(n->end[1], "", 1);
        (void)told;
        (void)pthread_join(n->thread, NULL);
    }
    const int fds[] = {n->fd, n->end[0], n->end[1]};
    for (size_t i = 0; i < LENGTH(fds); i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    if (n->folder >= 0) {
        (void)unlinkat(n->folder, n->name, 0);
        (void)close(n->folder);
    }
    free(n);
}

/* ---- asking ------------------------------------------------------------------------------ */

struct asking {
    int folder;
    const char *topic;
    struct str request;
    nearby_each_fn *each;
    void *arg;
};

/* A socket at which nobody listens is what a killed process left. */
static int connect_to(int folder, const char *name)
{
    struct sockaddr_un sa;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && address_of(folder, name, &sa) &&
        connect(fd, (struct sockaddr *)&sa, sizeof sa) == 0)
        return fd;
    if (fd >= 0 && errno == ECONNREFUSED)
        (void)unlinkat(folder, name, 0);
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

/* false: no others are to be asked. */
static bool ask_one(const struct asking *a, const char *name)
{
    size_t n = strlen(a->topic);
    if (strncmp(name, a->topic, n) != 0 || name[n] != '-')
        return true;
    scoped_fd int fd = connect_to(a->folder, name);
    if (fd < 0 || !is_own_account(fd))
        return true;
    scoped_buf struct buf answer;
    buf_init(&answer, NEARBY_ANSWER_MAX);
    wait_at_most(fd, WAIT_S);
    if (!send_all(fd, a->request) || !read_all(fd, &answer) || !answer.n)
        return true;
    return a->each(a->arg, buf_view(&answer));
}

bool nearby_ask(const char *topic, struct str request, nearby_each_fn *each, void *arg,
                struct err *e)
{
    if (request.n > NEARBY_REQUEST_MAX)
        return err_set(e, ERR_LIMIT,
                       "the request has %zu bytes; at most %zu are accepted", request.n,
                       NEARBY_REQUEST_MAX);
    scoped_fd int folder = os_state_folder(FOLDER, e);
    struct asking a = {folder, topic, request, each, arg};
    int listed = folder < 0 ? -1 : fcntl(folder, F_DUPFD_CLOEXEC, 0);
    DIR *dir = listed < 0 ? NULL : fdopendir(listed);
    if (!dir) {
        if (listed >= 0)
            (void)close(listed);
        return err_set(e, ERR_IO, "the folder of other processes' sockets: %m");
    }
    rewinddir(dir);
    for (const struct dirent *d; (d = readdir(dir)) && ask_one(&a, d->d_name);) {
    }
    (void)closedir(dir);
    return true;
}
