#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool forbidden;
static pid_t reader; /* 0: there is none */

void pager_forbid(void)
{
    forbidden = true;
}

bool pager_is_terminal(void)
{
    return reader || isatty(STDOUT_FILENO);
}

static bool is_program(const char *name)
{
    const char *path = getenv("PATH");
    struct str left = str_of(path ? path : "");
    scoped_buf struct buf at = buf_of(BUF_TEXT);
    while (left.n) {
        const char *colon = memchr(left.at, ':', left.n);
        size_t n = colon ? (size_t)(colon - left.at) : left.n, step = n + (colon != NULL);
        buf_clear(&at);
        buf_put(&at, left.at, n);
        buf_printf(&at, "/%s", name);
        if (!at.failed && access(buf_cz(&at), X_OK) == 0)
            return true;
        left = (struct str){left.at + step, left.n - step};
    }
    return false;
}

static const char *command_of_pager(void)
{
    const char *const names[] = {getenv("CLOCHE_PAGER"), getenv("PAGER")};
    for (size_t i = 0; i < LENGTH(names); i++)
        if (names[i])
            return *names[i] && strcmp(names[i], "cat") != 0 ? names[i] : NULL;
    return is_program("less") ? "less" : NULL;
}

static bool start(const char *command, int from)
{
    const char *const argv[] = {"sh", "-c", command, NULL};
    posix_spawn_file_actions_t files;
    if (posix_spawn_file_actions_init(&files) != 0)
        return false;
    (void)setenv("LESS", "FRX", 0);
    bool ok =
        posix_spawn_file_actions_adddup2(&files, from, STDIN_FILENO) == 0 &&
        posix_spawn(&reader, "/bin/sh", &files, NULL, (char *const *)argv, environ) == 0;
    posix_spawn_file_actions_destroy(&files);
    return ok;
}

void pager_begin(void)
{
    int ends[2];
    const char *command =
        forbidden || reader || !isatty(STDOUT_FILENO) ? NULL : command_of_pager();
    if (!command || pipe2(ends, O_CLOEXEC) != 0)
        return;
    (void)fflush(stdout);
    if (start(command, ends[0])) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)signal(SIGPIPE, SIG_IGN); /* a person may end it before it has read all */
    } else {
        reader = 0;
    }
    (void)close(ends[0]);
    (void)close(ends[1]);
}

void pager_end(void)
{
    if (!reader)
        return;
    /* Ctrl-C is the pager's, which has the terminal. */
    struct sigaction old, ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGINT, &ignore, &old);
    (void)fflush(stdout);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0) {
        (void)dup2(null, STDOUT_FILENO); /* which closes the pipe */
        (void)close(null);
    }
    clearerr(stdout); /* what a person did not want to read is not lost */
    while (waitpid(reader, NULL, 0) < 0 && errno == EINTR)
        continue;
    reader = 0;
    (void)sigaction(SIGINT, &old, NULL);
}
