/* cloche tool run: a tool as a program of the terminal's. Its streams are ours, so that
 * it stands in a pipe like any other; signals end us as they end anybody. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/machine.h"
#include "cli/options.h"
#include "cli/tool.h"
#include "os/os.h"
#include "tools/tools.h"
#include "vfs/vfs.h"
#include "vmtools/vmtools.h"

struct tool_call {
    const char *mounts[OPTION_REPEAT + 1], *env[OPTION_REPEAT + 1];
    const char *folder, *timeout, *memory;
    bool help, stats;
    const char *name;
    const char *const *args;
    size_t arg_count;
    /* The mounts, parsed. */
    struct vfs_mount shown[OPTION_REPEAT];
    char *places[OPTION_REPEAT];
    size_t shown_count;
};

static void call_end(struct tool_call *c)
{
    for (size_t i = 0; i < c->shown_count; i++) {
        os_close(c->shown[i].dir);
        free(c->places[i]);
    }
}

/* ---- the streams -------------------------------------------------------- */

/* A stream that another program made one that does not wait is waited for here. Answers
 * whether to try again. */
static bool wait_for(int fd, short what)
{
    struct pollfd p = {.fd = fd, .events = what};
    return errno == EINTR || ((errno == EAGAIN || errno == EWOULDBLOCK) &&
                              (poll(&p, 1, -1) >= 0 || errno == EINTR));
}

/* No byte more than was asked for: what the tool leaves is the next program's. */
static int read_stdin(void *arg, void *to, size_t n, size_t *done)
{
    (void)arg;
    ssize_t got;
    do
        got = read(STDIN_FILENO, to, n);
    while (got < 0 && wait_for(STDIN_FILENO, POLLIN));
    *done = got < 0 ? 0 : (size_t)got;
    return got < 0 ? errno : 0;
}

/* How many bytes lie there. A device that cannot tell has some, for all that is known. */
static size_t bytes_waiting(void)
{
    int n;
    return ioctl(STDIN_FILENO, FIONREAD, &n) != 0 ? 1 : n > 0 ? (size_t)n : 0;
}

static int is_stdin_ready(void *arg, uint64_t until_ns, size_t *bytes)
{
    (void)arg;
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    int found;
    do {
        uint64_t now = os_mono_ns(), left = until_ns > now ? until_ns - now : 0;
        struct timespec wait = {.tv_sec = (time_t)(left / 1000000000u),
                                .tv_nsec = (long)(left % 1000000000u)};
        found = ppoll(&p, 1, until_ns == UINT64_MAX ? NULL : &wait, NULL);
    } while (found < 0 && errno == EINTR);
    *bytes = found > 0 ? bytes_waiting() : 0;
    return found < 0 ? errno : found > 0 ? 0 : EAGAIN;
}

static int write_all(int fd, const char *from, size_t n, size_t *done)
{
    *done = 0;
    while (*done < n) {
        ssize_t put = write(fd, from + *done, n - *done);
        if (put < 0 && !wait_for(fd, POLLOUT))
            return errno;
        *done += put < 0 ? 0 : (size_t)put;
    }
    return 0;
}

static int write_stdout(void *arg, const void *from, size_t n, size_t *done)
{
    (void)arg;
    return write_all(STDOUT_FILENO, from, n, done);
}

static int write_stderr(void *arg, const void *from, size_t n, size_t *done)
{
    (void)arg;
    return write_all(STDERR_FILENO, from, n, done);
}

static enum wasi_stream kind_of(int fd)
{
    struct stat st;
    return isatty(fd)                                   ? WASI_TERMINAL
           : fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) ? WASI_DEVICE
                                                        : WASI_PIPE;
}

/* ---- words -------------------------------------------------------------- */

/* GUEST=HOST[:ro|:rw] */
static bool read_mount(struct tool_call *c, const char *word, struct err *e)
{
    const char *equals = strchr(word, '=');
    if (word[0] != '/' || !equals)
        return err_set(e, ERR_INVALID,
                       "--mount is '%.200s'; GUEST=HOST, such as /work=.:ro, is accepted",
                       word);
    struct str host = str_of(equals + 1);
    bool writable = str_ends(host, ":rw");
    if (writable || str_ends(host, ":ro"))
        host.n -= 3;
    struct vfs_mount *m = &c->shown[c->shown_count];
    char *path = NULL;
    must(asprintf(&path, "%.*s", STR_ARGS(host)) >= 0);
    must(asprintf(&c->places[c->shown_count], "%.*s", (int)(equals - word), word) >= 0);
    *m = (struct vfs_mount){.at = c->places[c->shown_count++],
                            .dir = os_dir_open(path, e),
                            .writable = writable,
                            .dots = true};
    free(path);
    return m->dir >= 0 || err_wrap(e, "--mount %.100s", word);
}

static bool read_words(struct tool_call *c, struct err *e)
{
    for (const char **m = c->mounts; *m; m++)
        if (!read_mount(c, *m, e))
            return false;
    return true;
}

/* ---- commands of the machine --------------------------------------------- */

/* A machine of this process for it alone, which reaches nothing. */
static bool run_in_machine(void *arg, const struct tool_command *c,
                           struct tool_outcome *out, struct err *e)
{
    (void)arg;
    struct vmtool_use used;
    struct machine_box box = {0};
    scoped_buf struct buf text = buf_of(VM_COMMAND_MAX);
    struct vm_options o = {
        .ram_mb = vmtool_ram_mb(c), .cpu_ns = UINT64_MAX, .cancel = c->cancel};
    bool ok = vmtool_text(c, &text, e) && machine_box_begin(&box, e) &&
              (box.machine = vm_start(box.all, STR("terminal"), &o, e)) &&
              vmtool_run(box.machine, c, buf_view(&text), &used, out, e);
    machine_box_close(&box);
    return ok;
}

/* ---- running ------------------------------------------------------------ */

/* The first word that names a file which is there, but not for the tool; NULL: none. */
static const char *unseen_file(const struct tool_call *c)
{
    struct stat st;
    for (size_t i = 0; i < c->arg_count; i++)
        if (c->args[i][0] != '-' && stat(c->args[i], &st) == 0)
            return c->args[i];
    return NULL;
}

static void help_with_files(const struct tool_call *c, const struct tool *t)
{
    bool blind = t->execution.access == TOOL_NO_FILES;
    const char *file = blind || c->shown_count == 0 ? unseen_file(c) : NULL;
    if (file && blind)
        fprintf(
            stderr,
            "cloche: %s sees no files, whatever is mounted; let it read '%.200s' from "
            "standard input\n",
            c->name, file);
    else if (file)
        fprintf(stderr,
                "cloche: %s sees only mounted folders; for '%.200s', add the folder "
                "with --mount /work=.:ro (or :rw)\n",
                c->name, file);
}

static int report(const struct tool_call *c, const struct tool *t,
                  const struct tool_result *r)
{
    const struct tool_outcome *o = &r->stages[0];
    if (o->stopped)
        fprintf(stderr, "cloche: %.*s\n", SPELT_ARGS(str_of(o->why)));
    else if (o->exit_code)
        help_with_files(c, t);
    if (c->stats)
        fprintf(stderr, "cloche: %s: %.3f ms, %.3f ms of computing, %.1f MB of memory\n",
                c->name, o->wall_ms, o->compute_ms, (double)o->memory_peak / 1048576);
    return (int)(o->exit_code & 255);
}

static int run_tool(const struct tool_call *c, struct toolbox *box, struct err *e)
{
    long long timeout = 0, memory = 0;
    if (c->timeout && !options_number("--timeout", c->timeout, 1, 300000, &timeout, e))
        return cli_fail(e);
    if (c->memory && !options_number("--memory", c->memory, 1, 1024, &memory, e))
        return cli_fail(e);
    const struct tool *tool = tool_find(box->catalogue, str_of(c->name), STR(""), e);
    if (!tool)
        return cli_fail(e);
    struct tool_stage stage = {.tool = tool,
                               .args = c->args,
                               .arg_count = c->arg_count,
                               .timeout_ms = (uint32_t)timeout,
                               .memory_bytes = (uint64_t)memory << 20,
                               .widened = true};
    struct tool_world world = {.mounts = c->shown,
                               .mount_count = c->shown_count,
                               .folder = c->folder        ? c->folder
                                         : c->shown_count ? c->shown[0].at
                                                          : NULL,
                               .env = (const char *const *)c->env,
                               .read = read_stdin,
                               .ready = is_stdin_ready,
                               .write = write_stdout,
                               .write_error = write_stderr,
                               .streams = {kind_of(STDIN_FILENO), kind_of(STDOUT_FILENO),
                                           kind_of(STDERR_FILENO)}};
    world.watch = &tool_progress;
    world.command = run_in_machine;
    while (c->env[world.env_count])
        world.env_count++;
    struct tool_result result = {0};
    bool ran = tools_run(box->catalogue, &world, &stage, 1, &result, e);
    int exit = ran ? report(c, tool, &result) : cli_fail(e);
    tool_result_end(&result);
    tool_release(box->catalogue, tool);
    return exit;
}

int tool_run(int argc, char **argv)
{
    struct tool_call c = {0};
    const struct option_row rows[] = {
        OPTION_VALUE("--mount", c.mounts, "GUEST=HOST[:ro|:rw]...",
                     "a folder that the tool sees at GUEST; ro unless said otherwise"),
        OPTION_VALUE("--cwd", &c.folder, "GUEST",
                     "its working folder; else the first mount"),
        OPTION_VALUE("--env", c.env, "NAME=VALUE...", "a variable of its environment"),
        OPTION_VALUE("--timeout", &c.timeout, "MS",
                     "time that it computes or sleeps, instead of its own limit"),
        OPTION_VALUE("--memory", &c.memory, "MB", "memory, instead of its own limit"),
        OPTION_FLAG("--stats", &c.stats, "print time and memory on stderr"),
        OPTION_FLAG("--help", &c.help, "this list"),
    };
    struct option_use use = {
        .usage =
            "cloche tool run [OPTIONS] NAME [ARGS...]\n\nRuns a tool with the "
            "terminal's standard streams, and ends with its exit code. It\nsees only "
            "mounted folders.",
        OPTION_ROWS(rows, &c.help),
        .words = &c.name,
        .max = 1,
    };
    int exit, name = options_first_word(rows, LENGTH(rows), argc, argv);
    if (!options_begin(&use, name < argc ? name + 1 : argc, argv, &exit))
        return exit;
    struct err e = {0};
    struct toolbox box = {0};
    if (!c.name) {
        err_set(&e, ERR_INVALID, "give the tool's name; 'cloche tool list' lists them");
        return cli_fail(&e);
    }
    c.args = (const char *const *)argv + name + 1;
    c.arg_count = (size_t)(argc - name - 1);
    exit = read_words(&c, &e) && toolbox_open(&box, &e) ? run_tool(&c, &box, &e)
                                                        : cli_fail(&e);
    toolbox_close(&box);
    call_end(&c);
    return exit;
}
