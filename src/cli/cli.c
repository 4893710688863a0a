#include "cli/cli.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "catalogue/catalogue.h"
#include "cli/commands.h"
#include "engine/engine.h"

static const struct command {
    const char *name, *words, *help;
    int (*run)(int argc, char **argv);
    /* Instead of it, where there may be more to offer. */
    int (*serve)(int argc, char **argv, const struct cli_extras *extras);
} commands[] = {
    {"eval", "[--vault DIR] (-e CODE | FILE | -)", "run code over a vault",
     .run = command_eval},
    {"mcp", "[--vault DIR]", "serve an MCP client over stdio", .serve = command_mcp},
    {"serve", "[--vault DIR] [--listen ADDRESS:PORT]", "serve MCP and REST over HTTP",
     .serve = command_serve},
    {"reindex", "[--vault DIR]", "bring the vault's index up to date",
     .run = command_reindex},
    {"doctor", "[--vault DIR]", "check this installation", .run = command_doctor},
    {"api", "[NAME | WORDS...] [--types]", "what code may call", .run = command_api},
    {"vault", "list | add DIR | use ID | remove ID", "the registered vaults",
     .run = command_vault},
    {"session", "list | close NAME", "named states of evaluations",
     .run = command_session},
    {"token", "create NAME | list | revoke NAME", "who else may come in over HTTP",
     .run = command_token},
    {"callers", "[pause NAME | resume NAME]", "callers that are paused",
     .run = command_callers},
    {"approvals", "[list | allow ID | deny ID | link]", "what waits for your word",
     .run = command_approvals},
    {"audit", "[show ID] [--follow] [--verify]", "what was done", .run = command_audit},
    {"policy", "show | check | set | unset | schema", "what callers may do",
     .run = command_policy},
    {"tool", "run NAME [ARGS...]", "command-line tools", .run = command_tool},
    {"vm", "exec -- COMMAND ... | shell", "a Linux machine", .run = command_vm},
    {"fn", "list | add FILE | test NAME ...", "custom functions", .run = command_fn},
};

static void help(void)
{
    printf("Cloche " CLOCHE_VERSION
           ": a safe place for an agent to work over your Markdown "
           "notes.\n\nusage: cloche COMMAND [OPTIONS]\n\n");
    for (size_t i = 0; i < LENGTH(commands); i++)
        printf("  %-9s %-42s %s\n", commands[i].name, commands[i].words,
               commands[i].help);
    printf("\n  cloche COMMAND --help    says more; --version prints the version\n\n"
           "Exit codes: 0 done, 1 the work failed, 2 the call was wrong.\n");
}

struct str cli_spelt(struct cli_text *t, struct str text)
{
    scoped_buf struct buf spelt;
    buf_init(&spelt, 12 * sizeof t->at + 64);
    str_spell(str_cut(text, sizeof t->at), &spelt);
    struct str shown = str_cut(buf_view(&spelt), sizeof t->at);
    memcpy(t->at, shown.n ? shown.at : "", shown.n);
    return (struct str){t->at, shown.n};
}

int cli_fail(const struct err *e)
{
    fprintf(stderr, "cloche: %.*s\n", SPELT_ARGS(str_of(e->msg)));
    return e->code == ERR_INVALID ? EXIT_WRONG : EXIT_FAILED;
}

int cli_fail_library(const struct cloche_error *e)
{
    fprintf(stderr, "cloche: %.*s\n", SPELT_ARGS(str_of(cloche_error_message(e))));
    return cloche_error_code(e) == CLOCHE_INVALID ? EXIT_WRONG : EXIT_FAILED;
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

/* A standard stream that is closed would be the number of the next file we open, and what
 * is written to it, or read from it, that file's. */
static void fill_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        (void)close(fd);
}

int cli_run(int argc, char **argv, const struct cli_extras *extras)
{
    fill_streams();
    /* Large buffers go back to the system when they are freed; by itself the C
     * library would soon keep them, in an arena for each thread. */
    (void)mallopt(M_MMAP_THRESHOLD, 256 * 1024);
    (void)mallopt(M_ARENA_MAX, 4);
    if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
        !strcmp(argv[1], "help")) {
        help();
        return argc < 2 ? EXIT_WRONG : EXIT_DONE;
    }
    if (!strcmp(argv[1], "--version")) {
        printf("cloche " CLOCHE_VERSION " (%s)\n", engine_version());
        return EXIT_DONE;
    }
    if (!strcmp(argv[1], "compile-module")) /* not for people */
        return tool_compile_main(argc, argv);
    for (size_t i = 0; i < LENGTH(commands); i++)
        if (!strcmp(argv[1], commands[i].name))
            return commands[i].run ? commands[i].run(argc, argv)
                                   : commands[i].serve(argc, argv, extras);
    struct err e = {0};
    err_set(
        &e, ERR_INVALID,
        "there is no command '%.60s'; eval, mcp, serve, reindex, doctor, api, vault, "
        "session, token, callers, approvals, audit, policy, tool, vm and fn are, and --help tells of them",
        argv[1]);
    return cli_fail(&e);
}

/* ---- signals ----------------------------------------------------------- */

int cli_stop_signal(struct err *e)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_CLOEXEC);
    if (fd < 0)
        err_set(e, ERR_IO, "cannot wait for signals: %m");
    return fd;
}
