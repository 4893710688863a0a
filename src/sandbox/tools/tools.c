/* A run: its stages made ready, started side by side, and what came of them. */
#include "tools/tools.h"

#include <errno.h>

#include "os/os.h"
#include "tools/internal.h"

struct run {
    struct stage stages[TOOL_STAGES_MAX];
    struct pipe *pipes[TOOL_STAGES_MAX];
    size_t count;
    struct cancel *cancel; /* of whoever asked; may be NULL */
};

static void run_end(struct run *r)
{
    for (size_t i = 0; i < r->count; i++) {
        tree_done(&r->stages[i].tree);
        pipe_free(r->pipes[i]);
    }
    free(r);
}
SCOPED(run, run_end);

void tool_result_end(struct tool_result *r)
{
    for (size_t i = 0; i < r->stage_count; i++)
        buf_done(&r->stages[i].errors);
    buf_done(&r->output);
    arena_free(r->arena);
    *r = (struct tool_result){0};
}

/* ---- beginning ---------------------------------------------------------- */

static bool check_totals(const struct tool_world *w, const struct tool_stage *stages,
                         size_t count, struct err *e)
{
    uint64_t memory = 0, files = 0;
    if (count == 0 || count > TOOL_STAGES_MAX)
        return err_set(e, ERR_LIMIT, "%zu tools in a row; 1 to %u are accepted", count,
                       TOOL_STAGES_MAX);
    if (w->file_count > TOOL_FILES_MAX)
        return err_set(e, ERR_LIMIT, "%zu files; at most %u can be given", w->file_count,
                       TOOL_FILES_MAX);
    for (size_t i = 0; i < count; i++)
        memory += stage_memory(&stages[i]);
    for (size_t i = 0; i < w->file_count; i++)
        files += w->files[i].bytes.n;
    if (memory > TOOL_TOTAL_BYTES)
        return err_set(
            e, ERR_LIMIT,
            "the tools of this pipeline may use %llu MB of memory together; at "
            "most %llu are accepted",
            (unsigned long long)(memory >> 20),
            (unsigned long long)(TOOL_TOTAL_BYTES >> 20));
    if (files > (w->disk_bytes ? w->disk_bytes : TOOL_DISK_BYTES) / count)
        return err_set(
            e, ERR_LIMIT,
            "the files given are %llu bytes for each of %zu tools; at most %llu "
            "together are accepted",
            (unsigned long long)files, count,
            (unsigned long long)(w->disk_bytes ? w->disk_bytes : TOOL_DISK_BYTES));
    return true;
}

bool tools_check(const struct tool_stage *stages, size_t count, struct err *e)
{
    for (size_t i = 0; i < count; i++) {
        struct command made;
        scoped(arena_free) struct arena *a = arena_new(RUN_MEMORY);
        if (!command_make(&stages[i], i > 0, a, &made, e))
            return err_wrap(e, "%s", stages[i].tool->name);
    }
    return true;
}

bool tools_look(const struct tool_stage *stages, size_t count, const char *const *paths,
                size_t path_count, bool *fed, bool *named)
{
    *named = *fed = false;
    for (size_t i = 0; i < count; i++) {
        struct err why = {0};
        struct command made;
        scoped(arena_free) struct arena *a = arena_new(RUN_MEMORY);
        if (!command_make(&stages[i], i > 0, a, &made, &why))
            return false;
        *fed |= i == 0 && made.has_input;
        for (size_t k = 0; k < path_count; k++)
            *named |= command_mentions(&made, str_of(paths[k]));
    }
    return true;
}

/* Standard input comes from one place alone. */
static bool set_input(struct stage *s, bool is_first, struct err *e)
{
    struct command *c = &s->command;
    if (c->has_input && !is_first)
        return err_set(e, ERR_INVALID, "%s can only be the first of a pipeline",
                       c->by_json ? "a tool that reads its arguments from standard input"
                                  : "a tool that is given stdin");
    if (c->has_input && s->world->input.n)
        return err_set(e, ERR_INVALID, "its standard input is given twice");
    if (!c->has_input)
        c->input = s->world->input;
    return true;
}

static bool make_stage(struct catalogue *c, struct stage *s, bool is_first,
                       struct arena *a, struct err *e)
{
    const struct tool *t = s->what->tool;
    cancel_init(&s->cancel);
    if (!command_make(s->what, !is_first, a, &s->command, e) ||
        !set_input(s, is_first, e) || !tree_make(s->world, t, a, &s->tree, e) ||
        !stage_environment(s, a, e))
        return err_wrap(e, "%s", t->name);
    s->module = t->command ? NULL : tool_module(c, t, s->world->watch, e);
    return t->command || s->module;
}

static bool make_stages(struct run *r, struct catalogue *c, const struct tool_world *w,
                        const struct tool_stage *stages, size_t count,
                        struct tool_result *out, struct err *e)
{
    uint64_t most = w->output_bytes ? w->output_bytes : TOOL_OUTPUT_MAX;
    r->cancel = w->cancel;
    buf_init(&out->output, most);
    for (r->count = 0; r->count < count;) {
        struct stage *s = &r->stages[r->count];
        s->world = w;
        s->what = &stages[r->count];
        s->output = &out->output;
        s->outcome = &out->stages[out->stage_count++];
        buf_init(&s->outcome->errors, most);
        if (!make_stage(c, s, r->count++ == 0, out->arena, e))
            return false;
    }
    for (size_t i = 0; i + 1 < count; i++)
        r->stages[i].out = r->stages[i + 1].in = r->pipes[i] = pipe_new(w->until_ns);
    return true;
}

/* ---- running ------------------------------------------------------------ */

static void stop_all(void *arg)
{
    struct run *r = arg;
    for (size_t i = 0; i < r->count; i++)
        cancel_fire(&r->stages[i].cancel);
    for (size_t i = 0; i + 1 < r->count; i++)
        pipe_stop(r->pipes[i]);
}

static void *run_thread(void *arg)
{
    stage_run(arg);
    return NULL;
}

static bool begin_thread(struct stage *s, struct err *e)
{
    s->on_thread =
        os_thread_start(&s->thread, "tool-stage", ENGINE_THREAD_STACK, run_thread, s);
    return s->on_thread ||
           err_set(e, ERR_BUSY, "no thread for a stage of the pipeline: %m");
}

static bool run_stages(struct run *r, struct err *e)
{
    struct cancel_stop stop;
    if (!cancel_on(r->cancel, &stop, stop_all, r))
        return err_set(e, ERR_CANCELLED, "cancelled before the call started");
    bool ok = true;
    for (size_t i = 0; ok && i + 1 < r->count; i++)
        ok = begin_thread(&r->stages[i], e);
    if (ok)
        stage_run(&r->stages[r->count - 1]);
    else
        stop_all(r);
    for (size_t i = 0; i < r->count; i++)
        if (r->stages[i].on_thread)
            pthread_join(r->stages[i].thread, NULL);
    cancel_off(r->cancel, &stop);
    return ok;
}

/* ---- ending ------------------------------------------------------------- */

static bool sum_up(struct run *r, const struct tool_world *w, struct tool_result *out,
                   struct err *e)
{
    out->failed = r->count;
    for (size_t i = 0; i < r->count; i++) {
        const struct stage *s = &r->stages[i];
        if (s->failed.code)
            return err_set(e, s->failed.code, "%s", s->failed.msg);
        const struct tool_outcome *o = s->outcome;
        bool fine = o->exit_code == 0 || o->unread ||
                    (!o->stopped && tool_exit_means(s->what->tool, o->exit_code));
        if (out->failed == r->count && !fine)
            out->failed = i;
    }
    bool all_ended = true;
    for (size_t i = 0; i < r->count; i++) {
        all_ended &= out->stages[i].stopped == ERR_NONE;
        if (!tree_collect(&r->stages[i].tree, w, out, e))
            return false;
    }
    for (size_t i = 0; w->ended && all_ended && i < r->count; i++)
        w->ended(w->ended_arg, r->stages[i].tree.vfs);
    return true;
}

bool tools_run(struct catalogue *c, const struct tool_world *world,
               const struct tool_stage *stages, size_t count, struct tool_result *out,
               struct err *e)
{
    *out = (struct tool_result){.arena = arena_new(RUN_MEMORY)};
    scoped(run_end) struct run *r = mem_new(sizeof *r);
    return check_totals(world, stages, count, e) &&
           make_stages(r, c, world, stages, count, out, e) && run_stages(r, e) &&
           sum_up(r, world, out, e);
}
