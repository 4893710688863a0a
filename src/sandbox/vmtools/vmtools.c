/* One command: its mounts, its streams, and its end. */
#include "vmtools/vmtools.h"

#include <errno.h>
#include <pthread.h>

#include "os/os.h"
#include "vm/commands.h"
#include "vm/mounts.h"

#define PART ((size_t)64 << 10)          /* bytes of input at a time */
#define TICK_NS ((uint64_t)50 * 1000000) /* a look whether the command has ended */
#define FEED_STACK ((size_t)256 << 10)
_Static_assert(TOOL_MACHINE_BYTES == (uint64_t)VM_RAM_DEFAULT_MB << 20 &&
                   TOOL_MACHINE_LEAST == (uint64_t)VM_RAM_MIN_MB << 20,
               "manifests say what machines have");

uint32_t vmtool_ram_mb(const struct tool_command *c)
{
    uint64_t mb = (c->memory_bytes + ((uint64_t)1 << 20) - 1) >> 20;
    return (uint32_t)(mb < VM_RAM_MIN_MB   ? VM_RAM_MIN_MB
                      : mb > VM_RAM_MAX_MB ? VM_RAM_MAX_MB
                                           : mb);
}

/* Its first word is a program's name, whatever it means to a shell. */
bool vmtool_text(const struct tool_command *c, struct buf *out, struct err *e)
{
    buf_cstr(out, "exec --");
    for (size_t i = 0; i < c->word_count; i++)
        vm_put_word(out, str_of(c->words[i]));
    return buf_check(out, "the command", e);
}

/* ---- its input ------------------------------------------------------------------ */

struct feeder {
    const struct tool_command *of;
    struct vm_keyboard *keyboard;
    atomic_bool over; /* the command has ended */
    uint64_t bytes;
    pthread_t thread;
    bool on_thread;
};

/* 0 and some bytes; at the end none. EAGAIN: none came in time. */
static int read_part(struct feeder *f, char *to, size_t *n)
{
    const struct tool_command *c = f->of;
    int failed = c->ready ? c->ready(c->stream_arg, os_mono_ns() + TICK_NS, n) : 0;
    return failed ? failed : c->read(c->stream_arg, to, PART, n);
}

static void *feed(void *arg)
{
    struct feeder *f = arg;
    scoped(free) char *part = mem_new(PART);
    for (bool more = true; more && !f->over;) {
        size_t n = 0;
        int failed = read_part(f, part, &n);
        if (failed == EAGAIN)
            continue;
        f->bytes += failed ? 0 : n;
        more = !failed && n && vm_keyboard_type(f->keyboard, (struct str){part, n});
    }
    vm_keyboard_end(f->keyboard);
    return NULL;
}

static bool feed_begin(struct feeder *f, struct err *e)
{
    if (!f->of->read)
        return true;
    f->keyboard = vm_keyboard_new();
    f->on_thread = os_thread_start(&f->thread, "tool-input", FEED_STACK, feed, f);
    return f->on_thread || err_set(e, ERR_BUSY, "no thread for the command's input: %m");
}

static void feed_end(struct feeder *f)
{
    f->over = true;
    if (f->keyboard) /* nobody waits for a command that never began */
        vm_keyboard_end(f->keyboard);
    if (f->on_thread)
        pthread_join(f->thread, NULL);
    vm_keyboard_free(take(f->keyboard));
}

/* ---- its output ----------------------------------------------------------------- */

struct printer {
    const struct tool_command *of;
    struct vmtool_use *use;
};

static void print(void *arg, enum vm_stream which, struct str bytes)
{
    struct printer *p = arg;
    const struct tool_command *c = p->of;
    bool out = which == VM_STREAM_OUT;
    size_t done = 0;
    *(out ? &p->use->stdout_bytes : &p->use->stderr_bytes) += bytes.n;
    if ((out ? c->write : c->write_error)(c->stream_arg, bytes.at, bytes.n, &done))
        cancel_fire(c->cancel); /* nobody takes it any more */
}

/* ---- its files ------------------------------------------------------------------- */

static void unmount_places(struct vm *m, const struct tool_command *c, size_t count)
{
    while (count-- > 0)
        (void)vm_unmount(m, c->places[count]);
}

static bool mount_places(struct vm *m, const struct tool_command *c, struct err *e)
{
    for (size_t i = 0; i < c->place_count; i++) {
        /* What may be written there, the tree says. */
        struct vm_mount what = {
            .tree = c->tree, .at = c->places[i], .place = c->places[i], .writable = true};
        if (!vm_mount(m, &what, e)) {
            unmount_places(m, c, i);
            return false;
        }
    }
    return true;
}

/* ---- the whole ------------------------------------------------------------------- */

static bool fit_time(const struct tool_command *c, struct vm_exec *x, struct err *e)
{
    uint64_t now = os_mono_ns();
    x->timeout_ns = c->timeout_ns;
    if (c->until_ns && c->until_ns <= now)
        return err_set(e, ERR_TIMEOUT, "the call exceeded its total time limit");
    if (c->until_ns && c->until_ns - now < x->timeout_ns)
        x->timeout_ns = c->until_ns - now;
    return true;
}

/* What stopped it, or nothing. */
static bool tell_end(const struct tool_command *c, const struct vm_exec *x,
                     const struct vm_result *r, struct err *e)
{
    if (r->timed_out && x->timeout_ns < c->timeout_ns)
        return err_set(e, ERR_TIMEOUT, "the call exceeded its total time limit");
    if (r->timed_out)
        return err_set(e, ERR_TIMEOUT, "the command exceeded its time limit of %llu ms",
                       (unsigned long long)(c->timeout_ns / 1000000));
    if (r->cancelled)
        return err_set(e, ERR_CANCELLED, "the command was cancelled");
    return !(r->out_of_memory && r->exit_code) ||
           err_set(e, ERR_MEMORY, "the command used up its machine's memory of %u MB",
                   vmtool_ram_mb(c));
}

static bool run_command(struct vm *m, const struct tool_command *c, struct str text,
                        struct vmtool_use *use, struct err *e)
{
    struct printer printer = {.of = c, .use = use};
    struct feeder feeder = {.of = c};
    struct vm_result r = {0};
    struct vm_exec x = {.command = text,
                        .apart = true,
                        .cwd = c->folder,
                        .env = c->env,
                        .env_count = c->env_count,
                        .unkept = true,
                        .output = print,
                        .output_arg = &printer,
                        .cancel = c->cancel};
    bool ok = fit_time(c, &x, e) && feed_begin(&feeder, e);
    x.keyboard = feeder.keyboard;
    ok = ok && vm_exec(m, &x, &r, e);
    feed_end(&feeder);
    use->input_bytes = feeder.bytes;
    use->wall_ns = r.wall_ns;
    use->cpu_ns = r.cpu_ns;
    use->exit_code = r.exit_code;
    ok = ok && tell_end(c, &x, &r, e);
    vm_result_done(&r);
    return ok;
}

bool vmtool_run(struct vm *m, const struct tool_command *c, struct str text,
                struct vmtool_use *use, struct tool_outcome *out, struct err *e)
{
    struct vm_info info;
    *use = (struct vmtool_use){0};
    if (!mount_places(m, c, e))
        return false;
    bool ok = run_command(m, c, text, use, e);
    unmount_places(m, c, c->place_count);
    vm_get_info(m, &info);
    out->exit_code = (uint32_t)use->exit_code;
    out->compute_ms = (double)use->cpu_ns / 1e6;
    out->memory_peak = info.memory_bytes;
    return ok;
}
