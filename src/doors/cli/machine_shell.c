/* cloche vm shell: a person's terminal becomes one of a machine's, and is put back in
 * whatever way that ends. */
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/machine.h"

/* ---- the terminal -------------------------------------------------------------- */

/* As it was. Here, since signal handlers find it nowhere else. */
static struct termios before;
static volatile sig_atomic_t is_raw;

static void put_back(void)
{
    if (is_raw)
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    is_raw = 0;
}

/* A mistake of ours shall not cost a person the terminal, too. */
static void died(int number)
{
    put_back();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static bool make_raw(struct err *e)
{
    static const int deaths[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    if (tcgetattr(STDIN_FILENO, &before) != 0)
        return err_set(e, ERR_INVALID,
                       "standard input is not a terminal; 'cloche vm exec' runs a "
                       "command without one");
    for (size_t i = 0; i < LENGTH(deaths); i++)
        (void)signal(deaths[i], died);
    (void)atexit(put_back);
    return true;
}

static void go_raw(void)
{
    struct termios raw = before;
    cfmakeraw(&raw);
    is_raw = 1;
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

/* ---- the command ------------------------------------------------------------------ */

struct screen {
    struct cancel cancel; /* it is gone */
};

static void write_screen(void *arg, enum vm_stream which, struct str bytes)
{
    struct screen *s = arg;
    (void)which;
    if (!machine_write(STDOUT_FILENO, bytes))
        cancel_fire(&s->cancel);
}

/* Our own TERM, and what was asked for. */
static size_t make_env(const struct machine_words *w, char term[static 80],
                       const char *env[static OPTION_REPEAT + 1])
{
    size_t n = 0;
    const char *ours = getenv("TERM");
    (void)snprintf(term, 80, "TERM=%.70s", ours && *ours ? ours : "linux");
    env[n++] = term;
    for (size_t i = 0; w->env[i]; i++)
        env[n++] = w->env[i];
    return n;
}

static int shell_run(const struct machine_words *w, struct typing *typing,
                     struct machine_box *box, struct err *e)
{
    char term[80];
    const char *env[OPTION_REPEAT + 1];
    struct winsize size = {0};
    struct screen screen;
    cancel_init(&screen.cancel);
    (void)ioctl(STDIN_FILENO, TIOCGWINSZ, &size);
    struct vm_exec x = {.command =
                            w->command.n ? buf_view(&w->command) : STR("exec bash -l"),
                        .cwd = w->cwd,
                        .env = env,
                        .env_count = make_env(w, term, env),
                        .timeout_ns = UINT64_MAX,
                        .unkept = true,
                        .pty = true,
                        .rows = size.ws_row,
                        .columns = size.ws_col,
                        .output = write_screen,
                        .output_arg = &screen,
                        .cancel = &screen.cancel,
                        .keyboard = typing_keyboard(typing)};
    struct vm_result r = {0};
    fputs("Ctrl-] three times within a second ends the machine.\n", stderr);
    go_raw();
    bool ran =
        typing_command(typing, box->machine, e) && vm_exec(box->machine, &x, &r, e);
    put_back();
    vm_result_done(&r);
    return ran ? r.exit_code : typing_failed(typing);
}

int machine_shell(int argc, char **argv)
{
    int exit;
    struct err e = {0};
    scoped_machine_words struct machine_words w = {0};
    if (!machine_read(
            &w,
            "cloche vm shell [OPTIONS] [-- COMMAND [WORDS...]]\n\n"
            "Your terminal becomes one of a Linux machine of its own: bash, or the command.\n"
            "When that ends the machine is gone, with all that was in it.",
            false, argc, argv, &exit))
        return exit;
    if (!make_raw(&e))
        return cli_fail(&e);
    scoped(typing_end) struct typing *typing = typing_begin(true, &e);
    struct machine_box box = {0};
    exit = MACHINE_EXIT_FAILED;
    if (typing)
        w.options.cancel = typing_cancel(typing);
    if (typing)
        exit =
            machine_box_open(&box, &w, &e)
                ? machine_box_save(&box, &w,
                                   machine_changes_end(box.machine, &w,
                                                       shell_run(&w, typing, &box, &e)))
                : typing_failed(typing);
    if (e.code)
        fprintf(stderr, "cloche: %.*s\n", SPELT_ARGS(str_of(e.msg)));
    typing_end(take(typing));
    machine_box_close(&box);
    return exit;
}
