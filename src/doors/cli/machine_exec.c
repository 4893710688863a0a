/* cloche vm exec: a command of a machine as a program of the terminal's. Its streams are
 * ours, so that it stands in a pipe like any other; its exit code is ours. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/machine.h"

struct streams {
    struct cancel cancel; /* nobody reads what it prints */
};

static void write_output(void *arg, enum vm_stream which, struct str bytes)
{
    struct streams *s = arg;
    if (!machine_write(which == VM_STREAM_OUT ? STDOUT_FILENO : STDERR_FILENO, bytes))
        cancel_fire(&s->cancel);
}

/* The exit code. Whoever asked to end is told nothing more. */
static int exec_fail(struct typing *t, const struct err *e)
{
    int exit = typing_failed(t);
    if (exit == MACHINE_EXIT_FAILED)
        fprintf(stderr, "cloche: %.*s\n", SPELT_ARGS(str_of(e->msg)));
    return exit;
}

static int exec_run(const struct machine_words *w, struct typing *typing,
                    struct machine_box *box)
{
    struct err e = {0};
    struct streams streams;
    cancel_init(&streams.cancel);
    struct vm_exec x = {.command = buf_view(&w->command),
                        .apart = true, /* signals are for it alone */
                        .cwd = w->cwd,
                        .env = w->env,
                        .timeout_ns = w->timeout_ns,
                        .unkept = true,
                        .output = write_output,
                        .output_arg = &streams,
                        .cancel = &streams.cancel,
                        .keyboard = typing_keyboard(typing)};
    while (w->env[x.env_count])
        x.env_count++;
    struct vm_result r = {0};
    bool ran =
        typing_command(typing, box->machine, &e) && vm_exec(box->machine, &x, &r, &e);
    if (ran && r.timed_out)
        fprintf(stderr, "cloche: the command timed out after %llu ms\n",
                (unsigned long long)(w->timeout_ns / 1000000));
    int exit = !ran          ? exec_fail(typing, &e)
               : r.timed_out ? MACHINE_EXIT_TIMEOUT
               : r.cancelled ? 128 + SIGPIPE
                             : r.exit_code;
    vm_result_done(&r);
    return exit;
}

int machine_exec(int argc, char **argv)
{
    int exit;
    struct err e = {0};
    scoped_machine_words struct machine_words w = {0};
    if (!machine_read(
            &w,
            "cloche vm exec [OPTIONS] -- COMMAND [WORDS...]\n       cloche vm exec "
            "[OPTIONS] 'SHELL TEXT'\n\nRuns a command in its own Linux machine, with "
            "the terminal's standard streams, and\nends with its exit code: 124 out "
            "of time, 125 no machine or it failed. All words\nafter -- belong to the "
            "command, unchanged; one word without it is text for bash.",
            true, argc, argv, &exit))
        return exit;
    if (!w.command.n) {
        err_set(&e, ERR_INVALID,
                "give a command, such as: cloche vm exec -- python3 -c 'print(1+1)'");
        return cli_fail(&e);
    }
    scoped(typing_end) struct typing *typing = typing_begin(false, &e);
    if (!typing)
        return cli_fail(&e);
    struct machine_box box = {0};
    w.options.cancel = typing_cancel(typing);
    exit = machine_box_open(&box, &w, &e)
               ? machine_box_save(
                     &box, &w,
                     machine_changes_end(box.machine, &w, exec_run(&w, typing, &box)))
               : exec_fail(typing, &e);
    typing_end(take(typing));
    machine_box_close(&box);
    return exit;
}
