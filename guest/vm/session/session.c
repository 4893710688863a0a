/* vm/session/session.c - a builtin for bash, by which one long-lived shell runs the commands
 * of a session.
 *
 * bash loads it (enable -f) and never comes back from it: it takes an order from init, gives
 * the command to bash's own evaluator, as `bash -c` and `eval` do, and answers with the
 * status. A loop written in the shell's language could not do that: `break`, `return`,
 * `exec >file`, `set -x`, an alias or a function named as a word of the loop, or closed
 * descriptors would all reach it.
 *
 * What is declared here of bash is what its headers declare (package bash-builtins), and has
 * been the same for more than ten years.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "vm/init/order.h"

/* ---- declarations of bash ---------------------------------------------------------------- */

struct builtin {
    const char *name;
    int (*function)(void *words);
    int flags;
    const char *const *long_doc;
    const char *short_doc;
    char *handle;
};
enum { BUILTIN_ENABLED = 1 };
enum { EVAL_NO_HISTORY = 0x4, EVAL_NO_FREE = 0x8, EVAL_LINE_ONE = 0x10 };
enum { JUMP_FORCE_EOF = 1, JUMP_DISCARD };

extern sigjmp_buf top_level;
extern int last_command_exit_value, interrupt_state, startup_state, read_but_dont_execute;
extern int parse_and_execute_level, shell_pgrp, original_pgrp;
extern pid_t dollar_dollar_pid, last_made_pid, last_asynchronous_pid;
extern char *the_current_working_directory;
int parse_and_execute(char *text, const char *from, int flags);
void parse_and_execute_cleanup(int old_running_trap);
void run_unwind_protects(void);
void exit_shell(int status) __attribute__((noreturn));
void *bind_variable(const char *name, const char *value, int flags);
int unbind_variable(const char *name);
void set_working_directory(const char *path);
int signal_is_trapped(int number);
char *sh_single_quote(const char *text);

/* ---- signals ----------------------------------------------------------------------------- */

static volatile sig_atomic_t runs, stopped_by;

static bool ends_a_command(int number)
{
    switch (number) {
    case SIGCONT:
    case SIGSTOP:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGWINCH:
    case SIGURG:
    case SIGCHLD:
        return false;
    default:
        return true;
    }
}

/* Init has sent a signal to all of a command but this shell, which has to survive, as an
 * interactive one after Ctrl-C. If the command has a trap for it, that runs; else the
 * command is left at the next point where bash checks, and so are loops that start
 * nothing. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    if (!runs || info->si_code != SI_QUEUE)
        return;
    int meant = info->si_value.sival_int;
    if (meant != SIGKILL && signal_is_trapped(meant)) {
        kill(getpid(), meant);
    } else if (ends_a_command(meant)) {
        stopped_by = meant;
        interrupt_state = 1;
    }
}

static void hear_signals(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigaction(ORDER_SIGNAL, &action, NULL);
}

/* ---- orders and replies ------------------------------------------------------------------ */

enum { PASSED_MAX = 4, MESSAGE_MAX = 72 << 10 };

struct message {
    struct order order;
    char rest[MESSAGE_MAX]; /* cwd, env, text, and room for a NUL */
};
static struct message heard;
static int port = -1;

/* Moves a descriptor of init's away from commands' numbers, and closes it in their
 * processes. */
static int keep_away(int fd)
{
    int kept = fcntl(fd, F_DUPFD_CLOEXEC, ORDER_LOWEST);
    if (kept >= 0)
        close(fd);
    return kept;
}

/* false: init is gone, or a command has closed the socket. */
static bool hear(int passed[PASSED_MAX])
{
    char control[CMSG_SPACE(PASSED_MAX * sizeof(int))];
    struct iovec part = {&heard, sizeof heard - 1};
    struct msghdr m = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof control,
    };
    ssize_t n;
    do
        n = recvmsg(port, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    for (int i = 0; i < PASSED_MAX; i++)
        passed[i] = -1;
    if (n < (ssize_t)sizeof heard.order || m.msg_flags & (MSG_CTRUNC | MSG_TRUNC))
        return false;
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (c != NULL && c->cmsg_type == SCM_RIGHTS)
        memcpy(passed, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
    const struct order *o = &heard.order;
    uint64_t size = sizeof *o + (uint64_t)o->cwd_length + o->env_length;
    if (!(o->flags & ORDER_FILE))
        size += o->text_length;
    return size == (uint64_t)n;
}

static uint64_t used_ns(int whose)
{
    struct rusage u;
    getrusage(whose, &u);
    return ((uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
            (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec)) *
           1000;
}

static bool answer(uint64_t nonce, enum reply_kind kind, int status, bool forked)
{
    static uint64_t children_ns; /* only grows if a process was started */
    if (forked || last_asynchronous_pid > 0)
        children_ns = used_ns(RUSAGE_CHILDREN);
    struct reply r = {
        .nonce = nonce,
        .kind = kind,
        .status = (uint32_t)status,
        .cpu_ns = used_ns(RUSAGE_SELF) + children_ns,
        .forked = forked,
    };
    return send(port, &r, sizeof r, MSG_NOSIGNAL) == sizeof r;
}

/* ---- a new session ----------------------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = write(fd, text, strlen(text));
    (void)n;
    close(fd);
}

/* The clock may have been set since the first shell began, and $RANDOM must differ. */
static void start_anew(uint32_t seed)
{
    char text[16];
    snprintf(text, sizeof text, "%u", seed >> 1);
    bind_variable("RANDOM", text, 0);
    bind_variable("SECONDS", "0", 0);
}

/* Forks this warm shell, which makes a new one within a millisecond; as a child of init,
 * which sees its end. */
static void become_two(const struct order *o, int socket)
{
    if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) != 0) {
        close(socket);
        return;
    }
    close(port);
    port = keep_away(socket);
    setsid();
    dollar_dollar_pid = shell_pgrp = original_pgrp = getpid();
    setpriority(PRIO_PROCESS, 0, 0);
    write_file("/proc/self/oom_score_adj", "0");
    start_anew(o->seed);
    if (!answer(o->nonce, REPLY_HELLO, dollar_dollar_pid, false))
        exit_shell(1);
}

/* ---- a command --------------------------------------------------------------------------- */

/* Sets the command's own stdout and stderr, and stdin if it has one, and removes them
 * afterwards: effects of `exec >file` end with it, and this shell keeps no pipe open. */
static void take_stream(int from, int to)
{
    if (from < 0 || from == to)
        return;
    dup2(from, to);
    if (from > 2)
        close(from);
}

static void drop_streams(void)
{
    static int null = -1;
    fflush(stdout);
    clearerr(stdout);
    fflush(stderr);
    for (int i = 0; i < 3; i++) {
        if (dup2(null, i) == i)
            continue;
        /* It is the first time, or it was closed. */
        int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        null = fd < 0 ? -1 : keep_away(fd);
        dup2(null, i);
    }
}

/* NULL: no memory, or less text than announced. */
static char *read_text(int fd, uint32_t length)
{
    char *text = malloc((size_t)length + 1);
    size_t n = 0;
    while (text != NULL && n < length) {
        ssize_t got = pread(fd, text + n, length - n, (off_t)n);
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    if (fd >= 0)
        close(fd);
    if (text != NULL && n < length) {
        free(text);
        text = NULL;
    }
    if (text != NULL)
        text[n] = '\0';
    return text;
}

/* Variables for this command alone, as the shell's temporary environment: A='1' B='2'
 * eval 'command'. */
static char *with_variables(const char *text, const char *env, uint32_t length)
{
    char *quoted = sh_single_quote(text);
    size_t size = strlen(quoted) + (size_t)length * 4 + 32, n = 0;
    for (uint32_t at = 0; at < length; at += (uint32_t)strlen(env + at) + 1)
        size += 4;
    char *whole = malloc(size);
    for (uint32_t at = 0; whole != NULL && at < length;
         at += (uint32_t)strlen(env + at) + 1) {
        const char *name = env + at, *value = strchr(name, '=') + 1;
        char *word = sh_single_quote(value);
        n += (size_t)snprintf(whole + n, size - n, "%.*s%s ", (int)(value - name), name,
                              word);
        free(word);
    }
    if (whole != NULL)
        snprintf(whole + n, size - n, "eval %s", quoted);
    free(quoted);
    return whole;
}

/* As `cd`, without output. false and errno: it does not exist. */
static bool go_to(const char *path)
{
    if (chdir(path) < 0)
        return false;
    char *real = path[0] == '/' ? NULL : getcwd(NULL, 0);
    const char *now = real != NULL ? real : path;
    set_working_directory(now);
    bind_variable("PWD", now, 0);
    free(real);
    return true;
}

/* Resets what an evaluation leaves when a jump ends it: nested commands and their jump
 * targets. */
static void back_to_top(void)
{
    while (parse_and_execute_level > 0)
        parse_and_execute_cleanup(-1);
    run_unwind_protects();
}

/* The status. Does not return if the command ends the shell. */
static int evaluate(char *text)
{
    interrupt_state = 0;
    stopped_by = 0;
    read_but_dont_execute = 0; /* `set -n` would last for ever */
    runs = 1;
    int jumped = sigsetjmp(top_level, 0);
    if (jumped == 0)
        parse_and_execute(text, "-c", EVAL_NO_HISTORY | EVAL_NO_FREE | EVAL_LINE_ONE);
    runs = 0;
    interrupt_state = 0;
    if (stopped_by != 0)
        last_command_exit_value = 128 + stopped_by;
    else if (jumped != 0 && jumped != JUMP_DISCARD)
        exit_shell(jumped == JUMP_FORCE_EOF ? 127 : last_command_exit_value); /* as -c */
    if (jumped != 0)
        back_to_top();
    return last_command_exit_value & 0xff;
}

static void run(const int passed[PASSED_MAX])
{
    /* Of the last command, which may not have returned here. */
    static char *made, *was_in;
    const struct order o = heard.order;
    char *env = heard.rest + o.cwd_length, *text = env + o.env_length;
    pid_t made_before = last_made_pid;
    free(made);
    free(was_in);
    made = was_in = NULL;
    if (o.flags & ORDER_FILE)
        text = made = read_text(passed[o.flags & ORDER_INPUT ? 3 : 2], o.text_length);
    else
        text[o.text_length] = '\0';
    if (o.flags & ORDER_INPUT)
        take_stream(passed[2], 0);
    take_stream(passed[0], 1);
    take_stream(passed[1], 2);
    if (o.flags & ORDER_TERMINAL) {
        ioctl(0, TIOCSCTTY, 0);
        tcsetpgrp(0, getpid());
    }
    if (text != NULL && o.env_length > 0) {
        text = with_variables(text, env, o.env_length);
        free(made);
        made = text;
    }
    int failure = text == NULL ? ENOMEM : 0;
    if (failure == 0 && o.cwd_length > 0) {
        was_in = strdup(
            the_current_working_directory != NULL ? the_current_working_directory : "/");
        if (!go_to(heard.rest))
            failure = errno;
    }
    int status = failure == 0 ? evaluate(text) : failure;
    if (was_in != NULL && failure == 0)
        go_to(was_in);
    if (o.flags & ORDER_LAST && failure == 0)
        exit_shell(status);
    drop_streams();
    if (!answer(o.nonce, failure == 0 ? REPLY_DONE : REPLY_NOT_BEGUN, status,
                last_made_pid != made_before))
        exit_shell(status);
}

/* Any end of the loop ends the shell; init sees that. */
static int serve(void *words)
{
    (void)words;
    static bool begun;
    if (begun) { /* a command calls it */
        fprintf(stderr, "cloche: this is for the machine's own use\n");
        return 1;
    }
    begun = true;
    startup_state = 0; /* or the last command of a text would replace the shell */
    unbind_variable("BASH_EXECUTION_STRING");
    back_to_top();
    hear_signals();
    port = keep_away(ORDER_PORT);
    int passed[PASSED_MAX];
    while (hear(passed)) {
        if (heard.order.kind == ORDER_FORK)
            become_two(&heard.order, passed[0]);
        else
            run(passed);
    }
    exit_shell(1);
}

static const char *const help[] = {"Takes the orders of the machine's init.", NULL};
extern struct builtin cloche_struct;
struct builtin cloche_struct = {
    .name = "cloche",
    .function = serve,
    .flags = BUILTIN_ENABLED,
    .long_doc = help,
    .short_doc = "cloche",
};
