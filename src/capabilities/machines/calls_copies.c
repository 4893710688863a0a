/* The host calls and actions of copies of machines: vm.snapshot, vm.restore, vm.fork and
 * vm.snapshots. */
#include "evaluation/evaluation.h"
#include "machines/machine_copies.h"
#include "machines/machines.api.h"
#include "machines/machines.h"
#include "performing/performing.h"

/* ---- in code ----------------------------------------------------------------------- */

static bool perform(struct calling *x, const char *name, machine_fn *fn,
                    struct json_writer *out, struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(ARENA_SMALL);
    struct evaluation *v = x->v;
    struct tool_call call = {.actions = v->actions,
                             .who = v->who,
                             .place = v->here,
                             .account = v->account,
                             .arena = arena,
                             .cancel = v->cancel,
                             .code = v};
    const struct json *first = json_at(x->args, 0);
    const struct json *options = !first || json_is(first, JSON_NULL)
                                     ? json_read(STR("{}"), arena, e)
                                     : call_options(x->args, name, e);
    return options && fn(&call, options, out, e);
}

static bool call_snapshot(struct calling *x, struct json_writer *out, struct err *e)
{
    return perform(x, "vm.snapshot", machines_snapshot, out, e);
}

static bool call_restore(struct calling *x, struct json_writer *out, struct err *e)
{
    return perform(x, "vm.restore", machines_restore, out, e);
}

static bool call_fork(struct calling *x, struct json_writer *out, struct err *e)
{
    return perform(x, "vm.fork", machines_fork, out, e);
}

static bool call_snapshots(struct calling *x, struct json_writer *out, struct err *e)
{
    return perform(x, "vm.snapshots", machines_snapshots, out, e);
}

static const struct host_call rows[] = {
    {CALL(.name = "vm.snapshot", .slow = true), .signature = VM_SNAPSHOT_SIGNATURE,
     .summary = "saves a Linux machine under a name, with its memory and disk",
     .call = call_snapshot, .level = LEVEL_FULL, .never_dry = true,
     .details =
         "The machine goes on. vm.restore starts further machines from it, also after a restart of the server. If its name is \"default\", each further machine of yours begins with it, so that installed packages are there. A snapshot of that name is replaced. Commands that run are ended in machines that are restored; sessions and background processes stay.",
     .errors =
         "InvalidInput: the name. NotFound: no such machine runs. LimitExceeded: too many saved machines, or too many bytes.",
     .example = "await vm.exec('mkdir -p /opt/tool && echo ready > /opt/tool/state');\n"
                "return (await vm.snapshot({name: 'tools'})).bytes;",
     .words = "save freeze checkpoint persist keep image packages install default"},
    {CALL(.name = "vm.restore", .slow = true), .signature = VM_RESTORE_SIGNATURE,
     .summary = "starts a Linux machine from a snapshot", .call = call_restore,
     .level = LEVEL_FULL, .never_dry = true,
     .details =
         "It continues where the snapshot was made, with new randomness, clock and host name; connections of the past are reset. Its handle is machine of vm.exec.",
     .errors =
         "NotFound: you have no such snapshot. InvalidInput: it is damaged. Conflict: it was made with another version of the machine's image. LimitExceeded: too many machines.",
     .example = "await vm.exec('echo 1 >/root/kept');\n"
                "await vm.snapshot({name: 'one'});\n"
                "const m = await vm.restore({name: 'one'});\n"
                "return (await vm.exec('cat /root/kept', {machine: m.machine})).stdout;",
     .words = "load resume thaw snapshot start continue"},
    {CALL(.name = "vm.fork", .slow = true), .signature = VM_FORK_SIGNATURE,
     .summary = "copies a running Linux machine, in milliseconds", .call = call_fork,
     .level = LEVEL_FULL, .never_dry = true,
     .details =
         "Both go on from here, and neither sees what the other writes. Commands that run are ended in the copy; sessions and background processes stay. Connections of the past are reset in the copy.",
     .errors = "NotFound: no such machine runs. LimitExceeded: too many machines.",
     .example = "await vm.exec('x=1');\n"
                "const m = await vm.fork();\n"
                "return (await vm.exec('echo $x', {machine: m.machine})).stdout;",
     .words = "clone copy duplicate branch try"},
    {CALL(.name = "vm.snapshots", .slow = true), .signature = VM_SNAPSHOTS_SIGNATURE,
     .summary = "lists your saved Linux machines, or removes one", .call = call_snapshots,
     .level = LEVEL_FULL, .never_dry = true,
     .details =
         "kind is 'snapshot', or 'machine' of one that is kept (vm.start({keep: true, name})). usable is false if it is damaged, or was made with another version of the image.",
     .errors = "NotFound: you have none of that name. Busy: the machine runs.",
     .example = "return (await vm.snapshots()).snapshots.map((s) => s.name);",
     .words = "saved list delete remove kept"},
};
const struct host_call_group vm_copy_calls = {TABLE(rows), .order = 141,
                                              .is_installed = machines_installed};

/* ---- as actions -------------------------------------------------------------------------- */

static bool act(const struct action_call *c, machine_fn *fn, struct answer *out,
                struct err *e)
{
    struct tool_call call = tool_call_of(c);
    struct json_writer w = json_writer(&out->json);
    return fn(&call, c->arguments, &w, e);
}

static bool action_snapshot(const struct action_call *c, struct answer *out,
                            struct err *e)
{
    return act(c, machines_snapshot, out, e);
}

static bool action_restore(const struct action_call *c, struct answer *out, struct err *e)
{
    return act(c, machines_restore, out, e);
}

static bool action_fork(const struct action_call *c, struct answer *out, struct err *e)
{
    return act(c, machines_fork, out, e);
}

static bool action_snapshots(const struct action_call *c, struct answer *out,
                             struct err *e)
{
    return act(c, machines_snapshots, out, e);
}

/* Checked where they are read, which has better messages. */
static const char unchecked[] = "{\"type\":\"object\",\"additionalProperties\":true} ";

static const struct action_row action_rows[] = {
    {SHOWN(.name = "vm_snapshot", .title = "Save a Linux machine",
           .description =
               "Save your Linux machine under a name: memory, disk, installed packages. "
               "Named \"default\", each further machine of yours begins with it.",
           VM_SNAPSHOT_SCHEMAS),
     .run = action_snapshot, .checked = unchecked, .seldom = true, .needs = "vm.snapshot",
     .scope = SCOPE_EVALUATE},
    {SHOWN(.name = "vm_restore", .title = "Start a saved Linux machine",
           .description =
               "Start a Linux machine from a snapshot; returns its handle, for "
               "machine of vm_exec.",
           VM_RESTORE_SCHEMAS),
     .run = action_restore, .checked = unchecked, .seldom = true, .needs = "vm.restore",
     .scope = SCOPE_EVALUATE},
    {SHOWN(.name = "vm_fork", .title = "Fork a Linux machine",
           .description = "Copy your running Linux machine, in milliseconds: both go on "
                          "from here, apart. Returns the copy's handle.",
           VM_FORK_SCHEMAS),
     .run = action_fork, .checked = unchecked, .seldom = true, .needs = "vm.fork",
     .scope = SCOPE_EVALUATE},
    {SHOWN(.name = "vm_snapshots", .title = "List saved Linux machines",
           .description = "Your saved Linux machines; delete removes one.",
           VM_SNAPSHOTS_SCHEMAS, .destructive = true, .idempotent = true),
     .run = action_snapshots, .checked = unchecked, .seldom = true,
     .needs = "vm.snapshots", .scope = SCOPE_EVALUATE},
};
const struct action_group vm_copy_actions = {action_rows, LENGTH(action_rows),
                                             .order = 71};
