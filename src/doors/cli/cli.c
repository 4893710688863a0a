#include "cli/cli.h"
#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actions/actions.h"
#include "capability/capability.h"
#include "catalogue/catalogue.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/subcommand.h"
#include "engine/engine.h"
#include "lazy/lazy.h"

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
    {"service", "install | status | remove", "cloche serve as a user service of systemd",
     .run = command_service},
    {"connect", "[CLIENT] [--vault DIR]", "add this server to an MCP client's settings",
     .run = command_connect},
    {"search", "WORDS...", "find notes by their words", .run = command_search},
    {"get", "NOTE", "print a note", .run = command_get},
    {"ls", "[--type TYPE]", "list notes", .run = command_ls},
    {"links", "NOTE | --broken", "what links to a note and where it links",
     .run = command_links},
    {"tags", "[rename TAG NEW]", "all tags, and how many notes have them",
     .run = command_tags},
    {"tasks", "[WORDS] [--due-before DATE]", "open tasks of all notes",
     .run = command_tasks},
    {"new", "TITLE [TEXT | -]", "make a note", .run = command_new},
    {"daily", "[DATE] [--append TEXT]", "the daily note, made if it is not there",
     .run = command_daily},
    {"edit", "NOTE", "edit a note in your editor", .run = command_edit},
    {"open", "NOTE", "open a note in Obsidian or its program", .run = command_open},
    {"mv", "NOTE [FOLDER/][TITLE]", "rename or move a note, with the links to it",
     .run = command_mv},
    {"rm", "NOTE...", "move notes to the trash", .run = command_rm},
    {"log", "[--since TIME] [--diff]", "which calls changed notes", .run = command_log},
    {"undo", "CALL | --since TIME | --agent NAME", "undo calls", .run = command_undo},
    {"history", "NOTE", "the revisions of a note", .run = command_history},
    {"restore", "NOTE [REVISION]", "take a note back to that, or out of the trash",
     .run = command_restore},
    {"trash", "", "deleted notes", .run = command_trash},
    {"reindex", "[--vault DIR]", "update the vault's index", .run = command_reindex},
    {"doctor", "[--vault DIR]", "check this installation", .run = command_doctor},
    {"api", "[NAME | WORDS...] [--types]", "what code may call", .run = command_api},
    {"vault", "list | add DIR | use ID | remove ID", "the registered vaults",
     .run = command_vault},
    {"session", "list | close NAME", "stored sessions of evaluations",
     .run = command_session},
    {"token", "create NAME | list | revoke NAME", "tokens for HTTP clients",
     .run = command_token},
    {"callers", "[pause NAME | resume NAME]", "callers that are paused",
     .run = command_callers},
    {"approvals", "[list | allow ID | deny ID | edit ID JSON | link]",
     "requests that wait for your "
     "approval",
     .run = command_approvals},
    {"audit", "[show ID] [--follow] [--verify]", "the audit trail", .run = command_audit},
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
    printf("\n  cloche help COMMAND    says more; cloche --version prints the version\n"
           "  cloche --debug ...     logs more on stderr; cloche --no-pager ...  prints "
           "without a pager\n\n"
           "Exit codes: 0 done, 1 the work failed, 2 the call was wrong.\n");
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

static int describe_all(void)
{
    struct subcommand rows[LENGTH(commands)];
    for (size_t i = 0; i < LENGTH(commands); i++)
        rows[i] = (struct subcommand){.name = commands[i].name,
                                      .words = commands[i].words,
                                      .help = commands[i].help};
    subcommands_describe(rows, LENGTH(rows),
                         "a safe place for an agent to work over your Markdown notes");
    return EXIT_DONE;
}

static int run_command(const char *name, int argc, char **argv,
                       const struct cli_extras *extras)
{
    const char *names[LENGTH(commands)];
    for (size_t i = 0; i < LENGTH(commands); i++) {
        names[i] = commands[i].name;
        if (!strcmp(name, commands[i].name))
            return commands[i].run ? commands[i].run(argc, argv)
                                   : commands[i].serve(argc, argv, extras);
    }
    struct err e = {0};
    (void)cli_no_command(NULL, name, names, LENGTH(commands), &e);
    return cli_fail(&e);
}

/* It gives up the right to open files before it calls what is loaded. */
static int compile_module(int argc, char **argv)
{
    struct err e = {0};
    return lazy_load_all(&e) ? tool_compile_main(argc, argv) : cli_fail(&e);
}

static int make_ready(void)
{
    struct err e = {0};
    struct actions_options none = {0};
    scoped(actions_close) struct actions *a = actions_open(&none, &e);
    return a && actions_make_ready(a, &e) ? EXIT_DONE : cli_fail(&e);
}

static int run_words(int argc, char **argv, const struct cli_extras *extras)
{
    fill_streams();
    /* Large buffers go back to the system when they are freed; by itself the C
     * library would soon keep them, in an arena for each thread. */
    (void)mallopt(M_MMAP_THRESHOLD, 256 * 1024);
    /* More than an instance of the Python guest: its memory would go back to the system after each
     * call, and the page faults of the next one would make its slot be searched. */
    (void)mallopt(M_TRIM_THRESHOLD, 512 * 1024);
    (void)mallopt(M_ARENA_MAX, 4);
    for (; argc > 1; argc--, argv++) {
        if (!strcmp(argv[1], "--debug"))
            log_set_level(LOG_DEBUG);
        else if (!strcmp(argv[1], "--no-pager"))
            pager_forbid();
        else
            break;
        argv[1] = argv[0];
    }
    const char *name = argc > 1 ? argv[1] : "help";
    bool asks =
        str_is_one_of(str_of(name), (const char *const[]){"--help", "-h", "help", NULL});
    if (asks && argc < 3) {
        help();
        return argc < 2 ? EXIT_WRONG : EXIT_DONE;
    }
    if (str_is_one_of(str_of(name),
                      (const char *const[]){"--version", "-V", "version", NULL})) {
        printf("cloche " CLOCHE_VERSION " (%s)\n", engine_version());
        return EXIT_DONE;
    }
    if (!strcmp(name, OPTION_DESCRIBE)) /* nor is this: see dev/manual */
        return describe_all();
    if (!strcmp(name, "compile-module")) /* not for people */
        return compile_module(argc, argv);
    if (!strcmp(name, "make-ready")) /* nor this: part of the build */
        return make_ready();
    if (!asks)
        return run_command(name, argc, argv, extras);
    /* "cloche help tool run" is "cloche tool run --help". */
    char *words[] = {argv[0], argv[2], argc > 3 ? argv[3] : (char[]){"--help"},
                     (char[]){"--help"}, NULL};
    return run_command(argv[2], argc > 3 ? 4 : 3, words, extras);
}

/* A full disk, say: a command whose output is lost has not worked. */
static int end_output(int exit)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return exit;
    fprintf(stderr, "cloche: the output could not be written: %s\n",
            errno ? strerror(errno) : "an earlier part of it failed");
    return exit ? exit : EXIT_FAILED;
}

int cli_run(int argc, char **argv, const struct cli_extras *extras)
{
    return end_output(run_words(argc, argv, extras));
}
