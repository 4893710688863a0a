/* Linux machines as actions: vm_start, vm_exec, vm_stop, vm_expose, vm_list. */
#include <stdio.h>

#include "machines/internal.h"
#include "machines/machine_copies.h"
#include "machines/machine_files.h"
#include "machines/machine_written.h"
#include "machines/machines.api.h"
#include "machines/machines.h"
#include "results/results.h"

static bool action_vm_exec(const struct action_call *c, struct answer *out, struct err *e)
{
    struct tool_call call = tool_call_of(c);
    struct json_writer w = json_writer(&out->json);
    bool ended = false;
    if (!machines_exec(&call, c->arguments, &w, &ended, e))
        return false;
    out->is_error = !ended; /* an exit code is no error */
    return true;
}

static void action_vm_exec_refused(const struct action_call *c, enum err_code outcome)
{
    struct tool_call call = tool_call_of(c);
    machines_refused(&call, c->arguments, outcome);
}

static bool action_vm_start(const struct action_call *c, struct answer *out,
                            struct err *e)
{
    struct tool_call call = tool_call_of(c);
    struct json_writer w = json_writer(&out->json);
    return machines_start(&call, c->arguments, &w, e);
}

static bool action_vm_stop(const struct action_call *c, struct answer *out, struct err *e)
{
    struct tool_call call = tool_call_of(c);
    struct json_writer w = json_writer(&out->json);
    return machines_stop(&call, c->arguments, &w, e);
}

static bool action_vm_expose(const struct action_call *c, struct answer *out,
                             struct err *e)
{
    struct tool_call call = tool_call_of(c);
    struct json_writer w = json_writer(&out->json);
    return machines_expose(&call, c->arguments, &w, e);
}

static bool action_vm_apply(const struct action_call *c, struct answer *out,
                            struct err *e)
{
    struct tool_call call = tool_call_of(c);
    struct json_writer w = json_writer(&out->json);
    return machines_apply(&call, c->arguments, &w, e);
}

static bool action_vm_list(const struct action_call *c, struct answer *out, struct err *e)
{
    struct tool_call call = tool_call_of(c);
    struct json_writer w = json_writer(&out->json);
    json_open_object(&w);
    json_key(&w, "machines");
    if (!machines_list(&call, &w, e))
        return false;
    json_close(&w);
    return buf_check(&out->json, "the answer", e);
}

/* A missing image is reported, but no fault: all else works. */
static void check_machine(struct actions *a, struct check_list *l)
{
    struct err e = {0};
    bool there = machines_ready(a, &e);
    char detail[80];
    (void)snprintf(detail, sizeof detail, "installed: %u MB of memory, or %u to %u",
                   VM_RAM_DEFAULT_MB, VM_RAM_MIN_MB, VM_RAM_MAX_MB);
    check_put(l, "Linux machine", there || e.code == ERR_NOT_FOUND,
              there ? detail : e.msg);
}

/* ---- the rows ------------------------------------------------------------ */

/* Checked where they are read, which has better messages. */
static const char vm_checked[] = "{\"type\":\"object\",\"additionalProperties\":true} ";

static const struct action_row rows[] = {
    {SHOWN(.name = "vm_exec", .title = "Run in Linux",
           .description =
               "Run a command in a Linux machine (Debian: bash, python3, git), "
               "ready at once. Shell and files stay. network: true if allowed.",
           VM_EXEC_SCHEMAS, .destructive = true),
     .run = action_vm_exec, .refused = action_vm_exec_refused, .shorten = streams_shorten,
     .checked = vm_checked, .needs = "vm.exec", .scope = SCOPE_EVALUATE},
    {SHOWN(.name = "vm_start", .title = "Start a Linux machine",
           .description =
               "Start a Linux machine of another size, or a further one; the first "
               "one is the default of vm_exec, which starts it if needed. Returns its "
               "handle, which works only for you, for machine of vm_exec.",
           VM_START_SCHEMAS),
     .run = action_vm_start, .checked = vm_checked, .seldom = true, .needs = "vm.start",
     .scope = SCOPE_EVALUATE},
    {SHOWN(.name = "vm_stop", .title = "Stop a Linux machine",
           .description = "Stop one of your Linux machines and discard its contents, "
                          "or end one of its sessions.",
           VM_STOP_SCHEMAS, .destructive = true, .idempotent = true),
     .run = action_vm_stop, .checked = vm_checked, .seldom = true, .needs = "vm.stop",
     .scope = SCOPE_EVALUATE},
    {SHOWN(.name = "vm_expose", .title = "Expose a port of a Linux machine",
           .description =
               "Expose a port of your Linux machine to the person: a server that "
               "listens at 0.0.0.0 in it is then at the url that is returned, on the "
               "person's computer, until the machine ends.",
           VM_EXPOSE_SCHEMAS, .destructive = true),
     .run = action_vm_expose, .checked = vm_checked, .seldom = true, .needs = "vm.expose",
     .scope = SCOPE_EVALUATE},
    {SHOWN(.name = "vm_apply", .title = "Write the changes of an overlay",
           .description =
               "Write all that changed in an overlay of your Linux machine (mounts of "
               "vm_start with mode overlay) to its folder, all or none; dryRun lists it.",
           VM_APPLY_SCHEMAS, .destructive = true),
     .run = action_vm_apply, .checked = vm_checked, .seldom = true, .needs = "vm.apply",
     .scope = SCOPE_EVALUATE},
    {SHOWN(.name = "vm_list", .title = "List Linux machines",
           .description = "Your Linux machines: state, size, resources used.",
           VM_LIST_SCHEMAS, .read_only = true, .idempotent = true),
     .run = action_vm_list, .seldom = true, .needs = "vm.list", .scope = SCOPE_EVALUATE},
};
static const struct action_group machines = {rows, LENGTH(rows), .order = 70};

/* Programs of a shell that no command-line tool is. */
static void machine_meant(struct actions *a, const struct place *place, unsigned vault,
                          const struct capability_name *name, struct buf *out)
{
    static const char *const programs[] = {"python", "python3", "bash", "sh", "git"};
    struct err none = {0};
    (void)place, (void)vault;
    for (size_t i = 0; i < LENGTH(programs); i++)
        if (name->how == MEANT_OTHERWISE && str_is(name->text, programs[i]) &&
            machines_ready(a, &none))
            buf_printf(out, "vm_exec runs %s in a Linux machine", programs[i]);
}

static const struct capability_part part = {
    .is_installed = machines_installed,
    .tells = "vm.exec('ls | wc'): Linux; ",
    .name = "Linux machine",
    .how = "a person installs it with 'make vm' in Cloche's own folder"};

const struct capability machines_capability = {
    .calls = CALLS(&vm_calls, &vm_copy_calls, &vm_file_calls),
    .actions = ACTIONS(&machines, &vm_copy_actions, &machine_file_actions),
    .routes = ROUTES(&vm_routes, &vm_file_routes),
    .open = machines_open,
    .close = machines_close,
    .metrics = machines_metrics,
    .doctor = check_machine,
    .meant = machine_meant,
    .part = &part,
    .records = RECORDS(&machines_record, &machine_written_record),
    .use = machine_use_listed,
    .tool_runner = &machine_tool_runner,
    .policies = POLICIES(&machines_policy)};
