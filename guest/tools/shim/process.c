/* Processes, of which there is one: what would make another is refused with ENOSYS, so that
 * a tool says itself that it could not run something. And what that one is called. */
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <wasi/api.h>

static int refuse(int why)
{
    errno = why;
    return -1;
}

pid_t fork(void)
{
    return refuse(ENOSYS);
}

pid_t vfork(void)
{
    return refuse(ENOSYS);
}

int pipe(int ends[2])
{
    (void)ends;
    return refuse(ENOSYS);
}

int pipe2(int ends[2], int flags)
{
    (void)flags;
    return pipe(ends);
}

int execve(const char *path, char *const args[], char *const env[])
{
    (void)path, (void)args, (void)env;
    return refuse(ENOSYS);
}

int execv(const char *path, char *const args[])
{
    return execve(path, args, NULL);
}

int execvp(const char *name, char *const args[])
{
    return execve(name, args, NULL);
}

int execl(const char *path, const char *first, ...)
{
    (void)first;
    return execve(path, NULL, NULL);
}

int execlp(const char *name, const char *first, ...)
{
    (void)first;
    return execve(name, NULL, NULL);
}

FILE *popen(const char *command, const char *mode)
{
    (void)command, (void)mode;
    refuse(ENOSYS);
    return NULL;
}

int pclose(FILE *stream)
{
    return fclose(stream) < 0 ? -1 : refuse(ECHILD);
}

/* system(NULL) asks whether there is a shell. */
int system(const char *command)
{
    return command ? refuse(ENOSYS) : 0;
}

pid_t waitpid(pid_t child, int *status, int options)
{
    (void)child, (void)status, (void)options;
    return refuse(ECHILD);
}

pid_t wait(int *status)
{
    return waitpid(-1, status, 0);
}

pid_t getppid(void)
{
    return 1;
}

pid_t getpgrp(void)
{
    return getpid();
}

pid_t getpgid(pid_t who)
{
    return who == 0 || who == getpid() ? getpid() : refuse(ESRCH);
}

pid_t setsid(void)
{
    return getpid();
}

pid_t getsid(pid_t who)
{
    return getpgid(who);
}

int setpgid(pid_t who, pid_t group)
{
    (void)group;
    return getpgid(who) < 0 ? -1 : 0;
}

pid_t tcgetpgrp(int fd)
{
    (void)fd;
    return refuse(ENOTTY);
}

int tcsetpgrp(int fd, pid_t group)
{
    (void)fd, (void)group;
    return refuse(ENOTTY);
}

char *ttyname(int fd)
{
    (void)fd;
    refuse(ENOTTY);
    return NULL;
}

int ttyname_r(int fd, char *out, size_t room)
{
    (void)fd, (void)out, (void)room;
    return ENOTTY;
}

int tcgetattr(int fd, struct termios *out)
{
    (void)fd, (void)out;
    return refuse(ENOTTY);
}

int tcsetattr(int fd, int when, const struct termios *settings)
{
    (void)fd, (void)when, (void)settings;
    return refuse(ENOTTY);
}

char *getpass(const char *prompt)
{
    (void)prompt;
    refuse(ENXIO);
    return NULL;
}

int pause(void)
{
    return refuse(EINTR);
}

int nice(int more)
{
    (void)more;
    return 0;
}

int chroot(const char *path)
{
    (void)path;
    return refuse(EPERM);
}

int getrlimit(int which, struct rlimit *out)
{
    out->rlim_cur = out->rlim_max = which == RLIMIT_NOFILE ? 1024 : RLIM_INFINITY;
    return 0;
}

int setrlimit(int which, const struct rlimit *limit)
{
    (void)which, (void)limit;
    return 0;
}

int getloadavg(double *out, int n)
{
    (void)out, (void)n;
    return -1;
}

void flockfile(FILE *stream)
{
    (void)stream;
}

int ftrylockfile(FILE *stream)
{
    (void)stream;
    return 0;
}

void funlockfile(FILE *stream)
{
    (void)stream;
}

_Noreturn void shim_no_jump(void)
{
    static const char why[] = "a jump in a program that was built without\n";
    write(STDERR_FILENO, why, sizeof why - 1);
    _Exit(134);
}

/* The C library leaves both NULL; messages begin with them. */
__attribute__((constructor(101))) static void learn_name(void)
{
    size_t count = 0, bytes = 0;
    if (__wasi_args_sizes_get(&count, &bytes) != 0 || count == 0)
        return;
    char **words = malloc(count * sizeof *words + bytes);
    if (words && __wasi_args_get((uint8_t **)words, (uint8_t *)(words + count)) == 0) {
        program_invocation_name = strdup(words[0]);
        char *slash = program_invocation_name ? strrchr(program_invocation_name, '/') : NULL;
        program_invocation_short_name = slash ? slash + 1 : program_invocation_name;
    }
    free(words);
}
