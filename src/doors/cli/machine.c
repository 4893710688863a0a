/* cloche vm: what its subcommands share. */
#include "cli/machine.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/subcommand.h"
#include "engine/engine.h"
#include "os/os.h"
#include "services/services.h"
#include "vm/commands.h"
#include "vm/copies.h"

/* ---- words ---------------------------------------------------------------------- */

size_t machine_rows(struct machine_words *w, bool timeout,
                    struct option_row out[static MACHINE_ROWS])
{
    const struct option_row rows[MACHINE_ROWS] = {
        OPTION_VALUE("--ram", &w->ram, "MB", "its memory, 64 to 1024 instead of 512"),
        OPTION_VALUE("--disk", &w->disk, "MB",
                     "size of its writes to disk, at most 2048"),
        OPTION_VALUE("--cwd", &w->cwd, "DIR", "where the command begins"),
        OPTION_VALUE("--env", w->env, "NAME=VALUE...", "a variable of its environment"),
        OPTION_FLAG("--network", &w->network, "it reaches the hosts of the policy"),
        OPTION_VALUE("--allow-host", w->allow, "HOST...", "it reaches this one, too"),
        OPTION_VALUE("--publish", w->publish, "[[ADDRESS:]PORT:]PORT...",
                     "its second port is reached at the first one of this computer"),
        OPTION_VALUE("--mount", w->mounts, "HOST:/GUEST[:ro]...",
                     "it sees this folder of this computer there"),
        OPTION_VALUE("--changes", &w->changes, "WHAT",
                     "of overlays: show, keep (cloche vm changes), or apply"),
        OPTION_VALUE("--from", &w->from, "NAME",
                     "it begins with this snapshot; image: with none"),
        OPTION_VALUE("--save", &w->save, "NAME",
                     "saves it as this snapshot, if the command ends with 0"),
        OPTION_VALUE("--keep", &w->keep, "NAME",
                     "the machine that is kept under this name, or a new one"),
        OPTION_FLAG("--help", &w->help, "this list"),
        OPTION_VALUE("--timeout", &w->timeout, "MS",
                     "ends the command, with exit code 124"),
    };
    memcpy(out, rows, sizeof rows);
    return timeout ? MACHINE_ROWS : MACHINE_ROWS - 1;
}

static bool option_number(const char *name, const char *text, long long min,
                          long long max, long long *out, struct err *e)
{
    *out = 0;
    return !text || options_number(name, text, min, max, out, e);
}

static bool read_numbers(struct machine_words *w, struct err *e)
{
    long long ram, disk, timeout;
    if (!option_number("--ram", w->ram, VM_RAM_MIN_MB, VM_RAM_MAX_MB, &ram, e) ||
        !option_number("--disk", w->disk, 1, (long long)(VM_DISK_MAX >> 20), &disk, e) ||
        !option_number("--timeout", w->timeout, 1,
                       (long long)(VM_TIMEOUT_MAX_NS / 1000000), &timeout, e))
        return false;
    if (w->keep && (w->mounts[0] || w->save))
        return err_set(e, ERR_INVALID,
                       "--keep goes with neither --mount nor --save: a machine that is "
                       "kept has no mounts that stay, and is saved in any case");
    if (w->changes && !machine_changes_word(w->changes, e))
        return false;
    for (size_t i = 0; w->env[i]; i++)
        if (!strchr(w->env[i], '=') || w->env[i][0] == '=')
            return err_set(e, ERR_INVALID, "--env is '%.100s'; NAME=VALUE is accepted",
                           w->env[i]);
    w->options.ram_mb = (uint32_t)ram;
    w->options.disk_bytes = (uint64_t)disk << 20;
    w->options.cpu_ns = UINT64_MAX; /* a person can see it, and end it */
    w->timeout_ns = timeout ? (uint64_t)timeout * 1000000 : UINT64_MAX;
    return true;
}

/* Builtins of bash (compgen -b). */
static bool is_builtin(const char *word)
{
    static const char *const names[] = {
        ".",         ":",        "[",       "alias",   "bg",      "bind",     "break",
        "builtin",   "caller",   "cd",      "command", "compgen", "complete", "compopt",
        "continue",  "declare",  "dirs",    "disown",  "echo",    "enable",   "eval",
        "exec",      "exit",     "export",  "false",   "fc",      "fg",       "getopts",
        "hash",      "help",     "history", "jobs",    "kill",    "let",      "local",
        "logout",    "mapfile",  "popd",    "printf",  "pushd",   "pwd",      "read",
        "readarray", "readonly", "return",  "set",     "shift",   "shopt",    "source",
        "suspend",   "test",     "times",   "trap",    "true",    "type",     "typeset",
        "ulimit",    "umask",    "unalias", "unset",   "wait"};
    for (size_t i = 0; i < LENGTH(names); i++)
        if (!strcmp(word, names[i]))
            return true;
    return false;
}

/* A program stands in the shell's place: it alone decides what a signal does. */
static void machine_put_words(struct buf *out, char **words, int count)
{
    if (count > 0 && !is_builtin(words[0]))
        buf_cstr(out, "exec --");
    for (int i = 0; i < count; i++)
        vm_put_word(out, str_of(words[i]));
}

bool machine_read(struct machine_words *w, const char *usage, bool timeout, int argc,
                  char **argv, int *exit)
{
    struct err e = {0};
    struct option_row rows[MACHINE_ROWS];
    struct option_use use = {.usage = usage, .rows = rows, .help = &w->help};
    use.count = machine_rows(w, timeout, rows);
    int first = options_first_word(rows, use.count, argc, argv);
    bool as_words = first > 2 && !strcmp(argv[first - 1], "--");
    buf_init(&w->command, VM_COMMAND_MAX);
    if (!options_begin(&use, first - as_words, argv, exit))
        return false;
    if (argc - first == 1 && !as_words)
        buf_cstr(&w->command, argv[first]);
    else
        machine_put_words(&w->command, argv + first, argc - first);
    if (buf_check(&w->command, "the command", &e) && read_numbers(w, &e))
        return true;
    *exit = cli_fail(&e);
    return false;
}

void machine_words_done(struct machine_words *w)
{
    buf_done(&w->command);
}

/* ---- the machine ------------------------------------------------------------------ */

bool machine_box_begin(struct machine_box *b, struct err *e)
{
    b->guests = services_guest_dir(e);
    if (!b->guests)
        return false;
    must(asprintf(&b->ahead, "%s/ahead", b->guests) > 0);
    must(asprintf(&b->image, "%s/../vm", b->guests) > 0);
    b->cache = os_cache_path("machines");
    b->engine = engine_open(&(struct engine_options){.ahead = b->ahead}, e);
    if (!b->engine)
        return false;
    b->copies = machine_copies_path();
    b->all = vms_open(&(struct vms_options){.engine = b->engine,
                                            .image = b->image,
                                            .cache = b->cache,
                                            .copies = b->copies,
                                            .certificates = true});
    return true;
}

bool machine_box_open(struct machine_box *b, const struct machine_words *w, struct err *e)
{
    struct vm_options options = w->options;
    b->network = machine_network_open(w, e);
    if (!b->network || !machine_box_begin(b, e) ||
        !machine_copy_from(b->all, w, &options, e))
        return false;
    scoped(vm_copy_drop) struct vm_copy *from = options.from;
    options.network = machine_network_of(b->network);
    b->machine = w->keep ? machine_copy_kept(b->all, w->keep, &options, e)
                         : vm_start(b->all, STR("terminal"), &options, e);
    return b->machine && machine_mount(b->machine, w->mounts, e) &&
           machine_publish(b->machine, w->publish, e);
}

int machine_box_save(struct machine_box *b, const struct machine_words *w, int exit)
{
    struct err e = {0};
    bool ok = w->keep            ? vm_freeze(b->machine, &e)
              : w->save && !exit ? machine_copy_save(b->all, b->machine, w->save, &e)
                                 : true;
    if (ok)
        return exit;
    (void)cli_fail(&e);
    return MACHINE_EXIT_FAILED;
}

void machine_box_close(struct machine_box *b)
{
    if (b->machine)
        vm_stop(b->machine);
    vm_release(b->machine);
    vms_close(b->all);
    engine_close(b->engine);
    machine_network_report(b->network);
    machine_network_close(b->network);
    free(b->guests);
    free(b->ahead);
    free(b->image);
    free(b->cache);
    free(b->copies);
}

bool machine_write(int fd, struct str bytes)
{
    while (bytes.n) {
        ssize_t n = write(fd, bytes.at, bytes.n);
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        bool again =
            n >= 0 || errno == EINTR || (errno == EAGAIN && poll(&p, 1, -1) >= 0);
        if (!again)
            return false;
        bytes.at += n > 0 ? n : 0;
        bytes.n -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* ---- the command -------------------------------------------------------------------- */

static const struct subcommand rows[] = {
    {"exec", "[OPTIONS] -- COMMAND [WORDS...]", "run a command in a Linux machine",
     machine_exec},
    {"shell", "[OPTIONS]", "a terminal in one", machine_shell},
    {"changes", "[ID] [--remove]", "the kept changes of overlays", machine_changes},
    {"apply", "ID [--dry-run]", "write kept changes to their folder", machine_apply},
    {"ports", "[--json]", "the machines of your servers, and their exposed ports",
     ports_command_list},
    {"expose", "MACHINE PORT [HOSTPORT]", "expose a port of one to this computer",
     ports_command_expose},
    {"unexpose", "MACHINE PORT", "close it again", ports_command_unexpose},
    {"snapshot", "NAME [OPTIONS] -- COMMAND [WORDS...]",
     "run a command in one, and save the machine", machine_snapshot},
    {"restore", "NAME [OPTIONS] [-- COMMAND [WORDS...]]",
     "a command, or a terminal, in a saved one", machine_restore},
    {"fork", "NAME NEW", "copy a saved one", machine_fork},
    {"cp", "SOURCE TARGET", "copy a file or folder into a saved one, or out of it",
     machine_cp},
    {"snapshots", "[--delete NAME]", "list the saved ones of all callers",
     machine_snapshots},
};

int command_vm(int argc, char **argv)
{
    const struct subcommands s = {
        .of = "vm",
        .about =
            "A Linux machine in WebAssembly that starts in milliseconds: Debian's "
            "bash, python3\nand git. It sees only the folders and hosts that you name; "
            "it ends with the command,\nand keeps what you save. Servers have their own "
            "machines.",
        .note = "; docs/machine.md all",
        .rows = rows,
        .count = LENGTH(rows),
    };
    return subcommands_run(&s, argc, argv);
}
