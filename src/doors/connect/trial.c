/* The server, started as a client would: a process of its own, JSON lines both ways. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "connect/connect.h"
#include "os/os.h"
#include "json/json.h"

#define ANSWER_MAX ((size_t)4 << 20)
#define HELLO                                                                   \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"      \
    "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"                   \
    "\"clientInfo\":{\"name\":\"cloche connect\",\"version\":\"" CLOCHE_VERSION \
    "\"}}}\n"                                                                   \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"          \
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n"

struct trial {
    pid_t pid;
    int io;    /* a socket: its input and output */
    int wrong; /* its stderr */
    struct buf said, complaint;
    uint64_t until_ns;
    struct arena *arena;
};

static bool start(struct trial *t, const struct connect_server *s, struct err *e)
{
    int io[2], wrong[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, io) < 0)
        return err_set(e, ERR_IO, "there is no socket for the server: %m");
    if (pipe2(wrong, O_CLOEXEC) < 0) {
        os_close(io[0]), os_close(io[1]);
        return err_set(e, ERR_IO, "there is no pipe for the server: %m");
    }
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, io[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, io[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, wrong[1], STDERR_FILENO);
    extern char **environ;
    int failed =
        posix_spawn(&t->pid, s->words[0], &files, NULL, (char *const *)s->words, environ);
    posix_spawn_file_actions_destroy(&files);
    os_close(io[1]);
    os_close(wrong[1]);
    t->io = io[0];
    t->wrong = wrong[0];
    if (!failed)
        return true;
    t->pid = 0;
    errno = failed;
    return err_set(e, ERR_IO, "%s cannot be started: %m", s->words[0]);
}

/* What has come on one of them; false: its end. */
static bool hear(int fd, struct buf *b)
{
    char part[4096];
    ssize_t n = read(fd, part, sizeof part);
    if (n > 0)
        buf_put(b, part, (size_t)n);
    return n > 0 || (n < 0 && errno == EINTR);
}

static const struct json *answer_in(struct trial *t, int64_t id)
{
    struct str all = buf_view(&t->said);
    for (const char *end; (end = memchr(all.at, '\n', all.n));) {
        struct str line = {all.at, (size_t)(end - all.at)};
        struct err why = {0};
        const struct json *m = json_read(line, t->arena, &why);
        if (m && json_int(json_get(m, "id"), 0) == id)
            return m;
        all.n -= line.n + 1;
        all.at = end + 1;
    }
    return NULL;
}

static struct str last_line(struct str all)
{
    all = str_trim(all);
    for (size_t i = all.n; i > 0; i--)
        if (all.at[i - 1] == '\n')
            return (struct str){all.at + i, all.n - i};
    return all;
}

/* Waits for the answer to the second request. */
static const struct json *await(struct trial *t, struct err *e)
{
    for (;;) {
        uint64_t now = os_mono_ns();
        struct pollfd p[2] = {{.fd = t->io, .events = POLLIN},
                              {.fd = t->wrong, .events = POLLIN}};
        int ms = now < t->until_ns ? (int)((t->until_ns - now) / 1000000) + 1 : 0;
        if (!ms || poll(p, 2, ms) == 0) {
            err_set(e, ERR_TIMEOUT, "the server does not answer");
            return NULL;
        }
        if (p[1].revents && !hear(t->wrong, &t->complaint))
            os_close_at(&t->wrong);
        if (!p[0].revents)
            continue;
        bool more = hear(t->io, &t->said);
        const struct json *m = answer_in(t, 2);
        if (m)
            return m;
        if (more && !t->said.failed)
            continue;
        while (t->wrong >= 0 && hear(t->wrong, &t->complaint))
            ;
        struct str why = last_line(buf_view(&t->complaint));
        scoped_buf struct buf plain = buf_of(BUF_PAGE);
        str_spell(str_cut(why, 300), &plain);
        err_set(e, ERR_IO, "the server ended without an answer%s%s", why.n ? ": " : "",
                buf_cz(&plain));
        return NULL;
    }
}

/* It ends with its input; one that does not is killed. */
static void finish(struct trial *t)
{
    os_close_at(&t->io);
    for (unsigned i = 0; t->pid && waitpid(t->pid, NULL, WNOHANG) == 0; i++) {
        if (i == 500)
            (void)kill(t->pid, SIGKILL);
        (void)poll(NULL, 0, 10);
    }
    os_close_at(&t->wrong);
    buf_done(&t->said);
    buf_done(&t->complaint);
    arena_free(t->arena);
}

static void copy(char out[static 64], const struct json *v)
{
    scoped_buf struct buf plain = buf_of(BUF_LINE);
    str_spell(str_cut(json_str(v), 60), &plain);
    (void)snprintf(out, 64, "%.*s", STR_ARGS(str_cut(buf_view(&plain), 63)));
}

bool connect_try(const struct connect_server *s, unsigned timeout_ms,
                 struct connect_answer *out, struct err *e)
{
    struct trial t = {.io = -1, .wrong = -1, .until_ns = os_in_ms(timeout_ms)};
    buf_init(&t.said, ANSWER_MAX);
    buf_init(&t.complaint, BUF_TEXT);
    t.arena = arena_new(ARENA_CALL);
    *out = (struct connect_answer){0};
    const struct json *tools = NULL;
    if (start(&t, s, e)) {
        (void)send(t.io, HELLO, sizeof HELLO - 1, MSG_NOSIGNAL);
        tools = await(&t, e);
    }
    const struct json *info =
        json_get(json_get(tools ? answer_in(&t, 1) : NULL, "result"), "serverInfo");
    out->tools = json_length(json_get(json_get(tools, "result"), "tools"));
    copy(out->name, json_get(info, "name"));
    copy(out->version, json_get(info, "version"));
    if (tools && !json_get(tools, "result"))
        err_set(e, ERR_IO, "the server refuses to list its tools");
    finish(&t);
    return !e->code;
}
