/* Tools that are commands of the machine: a new machine for each, which begins with the
 * image, reaches nothing, and ends with the command. Its owner is nobody that calls come
 * from: no handle finds it, so that nothing but the command works with its files. */
#include <stdio.h>

#include "machines/internal.h"
#include "machines/machine_use.h"
#include "tools/tools.h"
#include "vmtools/vmtools.h"

static struct permit_use use_of_tools(const struct policy *p)
{
    return machine_permission(p, "vm.exec");
}

/* The options of its machine; not a copy of the caller's, which could hold other programs
 * under the names of the image's. */
static bool choose_machine(const struct machine_use *u, const struct tool_command *c,
                           struct vm_options *o, struct err *e)
{
    uint32_t wanted = vmtool_ram_mb(c);
    *o = machine_use_options(u);
    if (wanted > u->policy->ram_mb || wanted > u->policy->total_ram_mb)
        return err_set(e, ERR_LIMIT,
                       "it needs a machine with %u MB of memory (memoryLimit), and the "
                       "policy allows %u (vm.ramMB, vm.totalRamMB); nothing ran",
                       wanted,
                       u->policy->ram_mb < u->policy->total_ram_mb
                           ? u->policy->ram_mb
                           : u->policy->total_ram_mb);
    o->ram_mb = wanted;
    o->cancel = c->cancel;
    return u->policy->machines > 0 ||
           err_set(e, ERR_LIMIT, "the policy allows no machines (vm.machines is 0)");
}

static void account_for(const struct tool_call *call, const struct buf *text,
                        const char *handle, const struct vmtool_use *use,
                        enum err_code outcome)
{
    machine_account(call, &(struct machine_operation){.call = "tools.run",
                                                      .machine = handle,
                                                      .command = buf_view(text),
                                                      .outcome = outcome,
                                                      .exit_code = use->exit_code,
                                                      .wall_ns = use->wall_ns,
                                                      .cpu_ns = use->cpu_ns,
                                                      .input_bytes = use->input_bytes,
                                                      .stdout_bytes = use->stdout_bytes,
                                                      .stderr_bytes = use->stderr_bytes});
}

static bool run_tool(void *arg, const struct tool_command *given,
                     struct tool_outcome *out, struct err *e)
{
    const struct tool_call *call = arg;
    struct tool_command c = *given;
    struct vmtool_use used = {0};
    struct machine_use u;
    struct vm_options o;
    enum permission word;
    char owner[MACHINE_OWNER + sizeof " tools"];
    scoped(vm_release) struct vm *m = NULL;
    scoped_buf struct buf text = buf_of(VM_COMMAND_MAX);
    if (given->stage->order)
        return machine_pipe_run(call, given, out, e);
    if (vmtool_text(&c, &text, e) && machine_use_begin(&u, call, "vm.exec", &word, e) &&
        choose_machine(&u, &c, &o, e)) {
        uint64_t most_ns = (uint64_t)u.policy->timeout_ms * 1000000;
        c.timeout_ns = c.timeout_ns < most_ns ? c.timeout_ns : most_ns;
        (void)snprintf(owner, sizeof owner, "%s tools", u.owner);
        m = vm_start(u.all, str_of(owner), &o, e);
    }
    bool ok = m && vmtool_run(m, &c, buf_view(&text), &used, out, e);
    account_for(call, &text, m ? vm_handle(m) : "", &used, e->code);
    if (m)
        vm_stop(m);
    return ok;
}

const struct tool_runner machine_tool_runner = {.use = use_of_tools,
                                                .ready = machines_ready,
                                                .run = run_tool,
                                                .stage_key = "vm",
                                                .stage = machine_pipe_read};
