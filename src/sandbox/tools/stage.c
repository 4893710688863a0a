/* A stage: a world of its own, its streams, its limits, and what became of it. */
#include <errno.h>
#include <stdio.h>

#include "engine/engine.h"
#include "os/os.h"
#include "tools/internal.h"

/* As a shell tells of a program's end by a signal. */
enum { EXIT_TIMEOUT = 124, EXIT_ABORT = 134, EXIT_KILL = 137, EXIT_SEGV = 139 };
enum { EXIT_INT = 130, EXIT_PIPE = 141 };

/* ---- streams ------------------------------------------------------------ */

/* As SIGPIPE does it: whoever writes what nobody reads any more has nothing left to do.
 * The engine stops it when the call that is under way returns. */
static int end_unread(struct stage *s, int failed)
{
    if (failed == EPIPE) {
        s->outcome->unread = true;
        cancel_fire(&s->cancel);
    }
    return failed;
}

static int read_input(void *arg, void *to, size_t n, size_t *done)
{
    struct stage *s = arg;
    if (s->in)
        return pipe_read(s->in, to, n, done);
    if (!s->command.has_input && s->world->read)
        return s->world->read(s->world->stream_arg, to, n, done);
    *done = n < s->command.input.n ? n : s->command.input.n;
    if (*done)
        memcpy(to, s->command.input.at, *done);
    s->command.input.at += *done;
    s->command.input.n -= *done;
    return 0;
}

static int is_input_ready(void *arg, uint64_t until_ns, size_t *bytes)
{
    struct stage *s = arg;
    if (s->in)
        return pipe_ready(s->in, until_ns, bytes);
    bool from_world = !s->command.has_input && s->world->read;
    if (from_world && s->world->ready)
        return s->world->ready(s->world->stream_arg, until_ns, bytes);
    *bytes = from_world ? 1 : s->command.input.n;
    return 0;
}

/* Bytes over the cap are counted; the tool need not know. */
static int output_keep(struct buf *to, uint64_t *lost, const void *from, size_t n,
                       size_t *done)
{
    size_t room = to->ceiling - to->n, taken = n < room ? n : room;
    *done = n;
    if (taken && !buf_put(to, from, taken))
        taken = 0;
    *lost += n - taken;
    return 0;
}

static int write_output(void *arg, const void *from, size_t n, size_t *done)
{
    struct stage *s = arg;
    if (s->out)
        return end_unread(s, pipe_write(s->out, from, n, done));
    if (s->world->write)
        return end_unread(s, s->world->write(s->world->stream_arg, from, n, done));
    return output_keep(s->output, &s->outcome->stdout_lost, from, n, done);
}

static int write_errors(void *arg, const void *from, size_t n, size_t *done)
{
    struct stage *s = arg;
    if (s->world->write_error)
        return end_unread(s, s->world->write_error(s->world->stream_arg, from, n, done));
    return output_keep(&s->outcome->errors, &s->outcome->stderr_lost, from, n, done);
}

/* ---- outcomes ------------------------------------------------------------ */

static uint32_t exit_of(enum err_code why)
{
    switch (why) {
    case ERR_TIMEOUT:
        return EXIT_TIMEOUT;
    case ERR_CANCELLED:
        return EXIT_INT;
    case ERR_GUEST:
        return EXIT_ABORT;
    case ERR_STACK:
        return EXIT_SEGV;
    default:
        return EXIT_KILL;
    }
}

/* Is it the tool's own end, rather than ours in beginning it? */
static bool is_outcome(enum err_code why)
{
    return why == ERR_TIMEOUT || why == ERR_CANCELLED || why == ERR_GUEST ||
           why == ERR_STACK || why == ERR_MEMORY;
}

static void stage_report_failure(struct stage *s, const struct err *why)
{
    struct tool_outcome *o = s->outcome;
    if (s->outcome->unread && why->code == ERR_CANCELLED) {
        o->exit_code = EXIT_PIPE;
    } else if (is_outcome(why->code)) {
        o->stopped = why->code;
        o->exit_code = exit_of(why->code);
        (void)snprintf(o->why, sizeof o->why, "%s: %.200s", s->what->tool->name,
                       why->msg);
    } else {
        o->exit_code = EXIT_KILL;
        err_set(&s->failed, why->code, "%s: %s", s->what->tool->name, why->msg);
    }
}

/* ---- running ------------------------------------------------------------ */

/* The environment: ours, and what the world says over it. */
#define OWN_VARIABLES 3u

static bool is_set(const struct tool_world *w, const char *variable)
{
    size_t n = strcspn(variable, "=") + 1;
    for (size_t i = 0; i < w->env_count; i++)
        if (!strncmp(w->env[i], variable, n))
            return true;
    return false;
}

bool stage_environment(struct stage *s, struct arena *a, struct err *e)
{
    const struct tool_world *w = s->world;
    const char *own[OWN_VARIABLES] = {"HOME=/tmp", "TMPDIR=/tmp",
                                      arena_printf(a, e, "PWD=%s", s->tree.here)};
    s->env = arena_get(a, (w->env_count + OWN_VARIABLES) * sizeof *s->env, e);
    if (!own[OWN_VARIABLES - 1] || !s->env)
        return false;
    for (size_t i = 0; i < OWN_VARIABLES; i++)
        if (!is_set(w, own[i]))
            s->env[s->env_count++] = own[i];
    for (size_t i = 0; i < w->env_count; i++)
        s->env[s->env_count++] = w->env[i];
    return true;
}

/* The manifest's limit, or less; more only where a person says so. */
static uint64_t narrowed(uint64_t most, uint64_t wished, bool widened)
{
    return wished && (wished < most || widened) ? wished : most;
}

uint64_t stage_memory(const struct tool_stage *s)
{
    return narrowed(s->tool->execution.memory_bytes, s->memory_bytes, s->widened);
}

static uint64_t timeout_ns(const struct tool_stage *s)
{
    return narrowed(s->tool->execution.timeout_ms, s->timeout_ms, s->widened) * 1000000u;
}

/* A tool without input finds that out before reading. */
static enum wasi_stream input_kind(const struct stage *s)
{
    if (s->in || s->command.has_input)
        return WASI_PIPE;
    return s->world->read       ? s->world->streams[0]
           : s->world->input.at ? WASI_PIPE
                                : WASI_DEVICE;
}

static struct wasi *make_wasi(struct stage *s, struct err *e)
{
    const struct tool_world *w = s->world;
    struct wasi_options o = {
        .args = s->command.words,
        .arg_count = s->command.count,
        .env = s->env,
        .env_count = s->env_count,
        .vfs = s->tree.vfs,
        .folders = s->tree.folders,
        .folder_count = s->tree.folder_count,
        .here = s->tree.here,
        .whole = true,
        .read = read_input,
        .ready = is_input_ready,
        .write = write_output,
        .write_error = write_errors,
        .stream_arg = s,
        .streams = {input_kind(s), s->out ? WASI_PIPE : w->streams[1], w->streams[2]},
        .until_ns = w->until_ns,
        .cancel = &s->cancel};
    return wasi_new(&o, e);
}

static bool run_world(struct stage *s, struct err *e)
{
    struct tool_outcome *o = s->outcome;
    scoped(wasi_free) struct wasi *wasi = make_wasi(s, e);
    struct world_limits limits = {.memory_bytes = stage_memory(s->what),
                                  .compute_ns = timeout_ns(s->what),
                                  .until_ns = s->world->until_ns,
                                  .tenant = s->world->tenant,
                                  .cancel = &s->cancel};
    scoped(world_close) struct world *world =
        wasi ? loadable_open(s->module, &limits, wasi, e) : NULL;
    bool ok = world && wasi_run(world, &o->exit_code, e);
    if (world) {
        struct world_usage used = world_usage(world);
        o->compute_ms = (double)used.compute_ns / 1e6;
        o->memory_peak = used.memory_peak;
    }
    return ok;
}

/* A command of the Linux machine. */
static bool run_command(struct stage *s, struct err *e)
{
    const struct tool_world *w = s->world;
    bool input = input_kind(s) != WASI_DEVICE || w->read;
    struct tool_command c = {.stage = s->what,
                             .words = s->command.words,
                             .word_count = s->command.count,
                             .folder = s->tree.here,
                             .env = w->env,
                             .env_count = w->env_count,
                             .tree = s->tree.vfs,
                             .places = s->tree.places,
                             .place_count = s->tree.place_count,
                             .memory_bytes = stage_memory(s->what),
                             .timeout_ns = timeout_ns(s->what),
                             .until_ns = w->until_ns,
                             .read = input ? read_input : NULL,
                             .ready = is_input_ready,
                             .write = write_output,
                             .write_error = write_errors,
                             .stream_arg = s,
                             .cancel = &s->cancel};
    return w->command
               ? w->command(w->command_arg, &c, s->outcome, e)
               : err_set(e, ERR_NOT_FOUND,
                         "it is a command of the Linux machine, which is not here");
}

void stage_run(struct stage *s)
{
    struct err why = {0};
    uint64_t began = os_mono_ns();
    bool ok = s->what->tool->command ? run_command(s, &why) : run_world(s, &why);
    /* At the end of all, what waits goes on for the moment until the watchdog stops it. */
    if (ok && s->world->until_ns && os_mono_ns() >= s->world->until_ns)
        ok = err_set(&why, ERR_TIMEOUT, "the call exceeded its total time limit");
    if (!ok)
        stage_report_failure(s, &why);
    s->outcome->wall_ms = (double)(os_mono_ns() - began) / 1e6;
    if (s->in)
        pipe_end_reading(s->in);
    if (s->out)
        pipe_end_writing(s->out);
}
