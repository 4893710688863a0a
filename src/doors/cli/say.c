/* Shared by all commands: text for a terminal, failures, the library's options, the
 * signals that end a command. */
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/pager.h"

struct str cli_spelt(struct cli_text *t, struct str text)
{
    scoped_buf struct buf spelt = buf_of(12 * sizeof t->at + 64);
    str_spell(str_cut(text, sizeof t->at), &spelt);
    struct str shown = str_cut(buf_view(&spelt), sizeof t->at);
    memcpy(t->at, shown.n ? shown.at : "", shown.n);
    return (struct str){t->at, shown.n};
}

#define PIECE ((size_t)64 << 10)

void cli_put(struct str text)
{
    if (!pager_is_terminal()) {
        fwrite(text.at, 1, text.n, stdout);
        return;
    }
    scoped_buf struct buf escaped = buf_of(6 * PIECE);
    while (text.n) {
        size_t n = str_cut(text, PIECE).n;
        n = n ? n : text.n < PIECE ? text.n : PIECE; /* no UTF-8 */
        buf_clear(&escaped);
        str_escape((struct str){text.at, n}, &escaped);
        fwrite(escaped.at, 1, escaped.n, stdout);
        text = (struct str){text.at + n, text.n - n};
    }
}

void cli_put_line(struct str text)
{
    cli_put(text);
    putchar('\n');
}

int cli_fail(const struct err *e)
{
    err_log(e, "command");
    fprintf(stderr, "cloche: %.*s\n", SPELT_ARGS(str_of(e->msg)));
    return e->code == ERR_INVALID ? EXIT_WRONG : EXIT_FAILED;
}

int cli_fail_library(const struct cloche_error *e)
{
    fprintf(stderr, "cloche: %.*s\n", SPELT_ARGS(str_of(cloche_error_message(e))));
    return cloche_error_code(e) == CLOCHE_INVALID ? EXIT_WRONG : EXIT_FAILED;
}

int cli_fail_open(const struct cloche_error *e)
{
    int exit = cli_fail_library(e);
    return cloche_error_code(e) == CLOCHE_NOT_FOUND ? EXIT_WRONG : exit;
}

struct cloche_options *cli_options(const char *const *vaults, const char *const *roots)
{
    struct cloche_options *o = cloche_options_new();
    while (vaults && *vaults)
        cloche_options_vault(o, *vaults++);
    while (roots && *roots)
        cloche_options_vault_root(o, *roots++);
    return o;
}

bool cli_no_command(const char *of, const char *name, const char *const *names,
                    size_t count, struct err *e)
{
    scoped_buf struct buf known = buf_of(BUF_LINE);
    for (size_t i = 0; i < count; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", names[i]);
    const char *near = str_nearest(str_of(name), names, count);
    char command[100];
    (void)snprintf(command, sizeof command, "cloche %s%s%.60s", of ? of : "",
                   of ? " " : "", name);
    return near ? err_set(e, ERR_INVALID, "unknown command '%s'; did you mean '%s'?",
                          command, near)
                : err_set(e, ERR_INVALID, "unknown command '%s'; commands: %s", command,
                          buf_cz(&known));
}

/* ---- signals ----------------------------------------------------------- */

int cli_stop_signal(struct err *e)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    /* Its terminal is gone; who asked for that to be passed over (nohup) is not ended. */
    struct sigaction hangup;
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_CLOEXEC);
    if (fd < 0)
        err_set(e, ERR_IO, "cannot wait for signals: %m");
    return fd;
}
