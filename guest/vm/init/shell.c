/* vm/init/shell.c - see shell.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "vm/init/log.h"
#include "vm/init/shell.h"

/* Including those of execs without a session. */
enum { SESSIONS = VM_SESSIONS_MAX + VM_EXECS_MAX, TRIES = 3 };

static struct session sessions[SESSIONS];
static struct {
    int socket; /* -1: there is no first shell */
    pid_t pid;
} first = {.socket = -1};
static const struct shell_events *on;
static const char *library_at;

/* ---- sessions ---------------------------------------------------------------------------- */

struct session *session_of(uint32_t number)
{
    struct session *unused = NULL;
    unsigned lasting = 0;
    for (int i = 0; i < SESSIONS; i++) {
        struct session *s = &sessions[i];
        bool lasts = s->used && !s->closed && s->number != 0;
        if (lasts && s->number == number)
            return s;
        if (!s->used && unused == NULL)
            unused = s;
        lasting += lasts;
    }
    if (unused == NULL || (number != 0 && lasting >= VM_SESSIONS_MAX))
        return NULL;
    *unused = (struct session){.socket.fd = -1, .used = true, .number = number};
    return unused;
}

void session_close(uint32_t number)
{
    for (int i = 0; i < SESSIONS; i++)
        if (number == 0 || sessions[i].number == number)
            sessions[i].closed = true;
}

void session_free(struct session *s)
{
    source_close(&s->socket);
    s->used = false;
}

static uint64_t random_number(void)
{
    uint64_t n = 0;
    while (getrandom(&n, sizeof n, 0) != sizeof n)
        ;
    return n;
}

/* ---- messages ---------------------------------------------------------------------------- */

static bool send_order(int socket, const struct order *o, const char *rest,
                       const char *text, const int *fds, size_t count)
{
    struct iovec parts[] = {
        {.iov_base = (void *)o, .iov_len = sizeof *o},
        {.iov_base = (void *)rest, .iov_len = o->cwd_length + o->env_length},
        {.iov_base = (void *)text, .iov_len = o->flags & ORDER_FILE ? 0 : o->text_length},
    };
    union {
        char bytes[CMSG_SPACE(4 * sizeof(int))];
        struct cmsghdr head;
    } control = {.head = {
                     .cmsg_len = CMSG_LEN(count * sizeof(int)),
                     .cmsg_level = SOL_SOCKET,
                     .cmsg_type = SCM_RIGHTS,
                 }};
    memcpy(CMSG_DATA(&control.head), fds, count * sizeof(int));
    struct msghdr m = {
        .msg_iov = parts,
        .msg_iovlen = 3,
        .msg_control = &control,
        .msg_controllen = CMSG_SPACE(count * sizeof(int)),
    };
    return sendmsg(socket, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

bool shell_order(struct session *s, struct order *o, const char *rest, const char *text,
                 const int *fds, size_t count)
{
    o->nonce = s->nonce = random_number();
    return send_order(s->socket.fd, o, rest, text, fds, count);
}

static void again_or_failed(struct session *s, const char *why);

static void say_hello(struct session *s, const struct reply *r)
{
    s->state = SHELL_READY;
    s->pid = (pid_t)r->status;
    s->cpu_ns = r->cpu_ns;
    s->nonce = 0;
    s->leaf = leaf_enter(NULL, s->pid, s->number == 0 ? UINT32_MAX : s->number);
    if (s->leaf == NULL) { /* which shell_reaped() then reports */
        kill(s->pid, SIGKILL);
        return;
    }
    s->tries = 0;
    on->ready(s);
}

/* Untrusted: any process in a shell may write to its socket. */
static void readable(struct source *source, uint32_t events)
{
    (void)events;
    struct session *s = source_of(struct session, socket, source);
    struct reply r = {0};
    ssize_t n = recv(source->fd, &r, sizeof r, MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        source_close(source); /* the end of a ready shell is reported by its process */
        if (s->state == SHELL_ASKED)
            again_or_failed(s, "no process could be made for it");
        return;
    }
    if (n != sizeof r || s->nonce == 0 || r.nonce != s->nonce)
        return;
    if (s->state == SHELL_ASKED && r.kind == REPLY_HELLO) {
        say_hello(s, &r);
    } else if (s->state == SHELL_READY && r.kind != REPLY_HELLO) {
        s->nonce = 0;
        on->replied(s, &r);
    }
}

/* ---- the first shell --------------------------------------------------------------------- */

static void become_bash(int socket)
{
    char load[160];
    snprintf(load, sizeof load, "enable -f %s cloche && cloche", library_at);
    char *const arguments[] = {"bash", "--norc", "--noprofile", "-O", "expand_aliases",
                               "-c",   load,     "bash",        NULL};
    char *const variables[] = {
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME=/root",
        "USER=root",
        "LOGNAME=root",
        "SHELL=/bin/bash",
        "LANG=C.UTF-8",
        /* requests of Python has its own list otherwise */
        "REQUESTS_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt",
        NULL,
    };
    setsid();
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1); /* bash's error messages go to the console, 2 */
    if (null > 2)
        close(null);
    if (chdir("/root") < 0 && chdir("/") < 0)
        _exit(1);
    if (socket == ORDER_PORT)
        fcntl(socket, F_SETFD, 0);
    else
        dup2(socket, ORDER_PORT);
    execve("/bin/bash", arguments, variables);
    log_line("/bin/bash: %m");
    _exit(127);
}

static bool start_first(void)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    pid_t pid = fork();
    if (pid == 0)
        become_bash(pair[1]);
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return false;
    }
    first.socket = pair[0];
    first.pid = pid;
    return true;
}

void shells_open(const char *library, const struct shell_events *events)
{
    library_at = library;
    on = events;
    if (!start_first())
        log_line("the first shell cannot be started: %m");
}

/* ---- requests for a shell ---------------------------------------------------------------- */

static bool ask(struct session *s)
{
    if (first.socket < 0 && !start_first())
        return false;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    struct order o = {
        .nonce = random_number(), .kind = ORDER_FORK, .seed = (uint32_t)random_number()};
    s->nonce = o.nonce;
    bool sent = send_order(first.socket, &o, "", "", &pair[1], 1);
    close(pair[1]);
    if (!sent) {
        close(pair[0]);
        return false;
    }
    return source_open(&s->socket, pair[0], EPOLLIN, readable);
}

static void again_or_failed(struct session *s, const char *why)
{
    source_close(&s->socket);
    while (s->tries++ < TRIES)
        if (ask(s))
            return;
    s->tries = 0;
    s->state = SHELL_NONE;
    on->failed(s, why);
}

void shell_ask(struct session *s)
{
    s->state = SHELL_ASKED;
    s->leaf = NULL;
    again_or_failed(s, "no shell could be started");
}

/* The end of the first shell closes the sockets it was to pass on, so that all waiting
 * sessions ask again. */
bool shell_reaped(pid_t pid, int status, uint64_t cpu_ns)
{
    if (pid == first.pid) {
        log_line("the first shell has ended, wait status %#x", (unsigned)status);
        close(first.socket);
        first.socket = -1;
        first.pid = 0;
        return true;
    }
    for (int i = 0; i < SESSIONS; i++) {
        struct session *s = &sessions[i];
        if (!s->used || s->state != SHELL_READY || s->pid != pid)
            continue;
        source_close(&s->socket);
        if (s->leaf != NULL)
            leaf_left(s->leaf);
        s->state = SHELL_NONE;
        s->pid = 0;
        on->ended(s, status, cpu_ns);
        return true;
    }
    return false;
}
