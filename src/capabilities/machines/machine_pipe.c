/* A stage of a pipeline of tools that is a command in the caller's own machine: what vm.exec
 * would run, with the pipeline's bytes as its input and output, apart from the machine's
 * sessions. */
#include "catalogue/catalogue.h"
#include "evaluation/evaluation.h"
#include "machines/internal.h"
#include "machines/machine_net.h"
#include "machines/machine_use.h"
#include "place/place.h"
#include "policy/policy.h"
#include "tools/tools.h"
#include "vmtools/vmtools.h"

/* A stage's tool says only these: its name, for what is told of the stage, and its time. */
static const char *const no_words[] = {"vm", NULL};
static const struct tool stage_tool = {.id = "vm",
                                       .name = "vm",
                                       .version = "(Linux machine)",
                                       .sha256 = "",
                                       .builtin = true,
                                       .command = no_words};

/* ---- the stage --------------------------------------------------------------------- */

/* The options of vm.exec, with the command under its name there. */
static const struct json *as_options(const struct tool_call *c, const struct json *stage,
                                     struct err *e)
{
    static const char *const accepted[] = {"machine", "cwd",       "env",
                                           "timeout", "timeoutMs", NULL};
    const char *key = machine_tool_runner.stage_key;
    scoped_buf struct buf text = buf_of(CALL_ARGS_MAX);
    struct json_writer w = json_writer(&text);
    struct json_iter it = json_iter(stage);
    json_open_object(&w);
    json_pair(&w, "command", json_get(stage, key));
    while (json_next(&it)) {
        if (str_is(it.key, key))
            continue;
        if (!str_is_one_of(it.key, accepted)) {
            err_set(
                e, ERR_INVALID,
                "a command in a pipeline does not accept '%.*s'; machine, cwd, env and "
                "timeout are accepted, and stdin beside the stages; nothing ran",
                STR_ARGS(str_cut(it.key, 60)));
            return NULL;
        }
        json_key_str(&w, it.key);
        json_put(&w, it.value);
    }
    json_close(&w);
    return buf_check(&text, "the stage", e) ? json_read(buf_view(&text), c->arena, e)
                                            : NULL;
}

bool machine_pipe_read(const struct tool_call *c, const struct json *options,
                       struct tool_stage *out, struct err *e)
{
    const struct vm_policy *policy =
        policy_values(c->place->permit.policy, &machines_policy);
    if (c->code && c->code->dry) /* the machine stays */
        return err_set(e, ERR_DENIED,
                       "a command in a machine is not run in a dry run, where nothing is "
                       "changed; nothing was changed");
    const struct json *of = as_options(c, options, e);
    struct machine_order *o = of ? arena_get(c->arena, sizeof *o, e) : NULL;
    struct tool *tool = o ? arena_get(c->arena, sizeof *tool, e) : NULL;
    if (!tool || !machine_order_read(o, c, policy->timeout_ms, of, e))
        return false;
    *tool = stage_tool;
    tool->execution.timeout_ms = (uint32_t)(o->exec.timeout_ns / 1000000);
    *out = (struct tool_stage){.tool = tool, .order = o};
    return true;
}

/* ---- its run ------------------------------------------------------------------------- */

/* May it run in this machine, which may have been started with other folders? */
static struct vm *find(const struct machine_use *u, const struct machine_order *o,
                       struct err *e)
{
    scoped(vm_release) struct vm *m = machine_use_find(u, o->machine, e);
    return m && machine_mounts_may(u->call, m, e) ? take(m) : NULL;
}

bool machine_pipe_run(const struct tool_call *call, const struct tool_command *given,
                      struct tool_outcome *out, struct err *e)
{
    const struct machine_order *o = given->stage->order;
    struct tool_command c = *given;
    struct vmtool_use used = {0};
    struct machine_running running = {0};
    struct machine_use u;
    enum permission word;
    c.place_count = 0; /* its files are the machine's */
    c.folder = o->exec.cwd;
    c.env = o->exec.env;
    c.env_count = o->exec.env_count;
    scoped(vm_release) struct vm *m =
        machine_use_begin(&u, call, "vm.exec", &word, e) ? find(&u, o, e) : NULL;
    if (m)
        machine_net_run(machine_net_of(m), &running, o->exec.command);
    bool ok = m && vmtool_run(m, &c, o->exec.command, &used, out, e);
    machine_net_ran(&running);
    machine_account(call, &(struct machine_operation){.call = "vm.exec",
                                                      .machine = m ? vm_handle(m) : "",
                                                      .command = o->exec.command,
                                                      .outcome = e->code,
                                                      .exit_code = used.exit_code,
                                                      .wall_ns = used.wall_ns,
                                                      .cpu_ns = used.cpu_ns,
                                                      .input_bytes = used.input_bytes,
                                                      .stdout_bytes = used.stdout_bytes,
                                                      .stderr_bytes = used.stderr_bytes});
    return ok;
}
