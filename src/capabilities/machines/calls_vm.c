/* The host calls vm.*: Linux machines for code. vm.js is their side in the guest. */
#include "evaluation/evaluation.h"
#include "machines/internal.h"
#include "machines/machines.api.h"
#include "performing/performing.h"

EMBED(vm_js, "src/capabilities/machines/vm.js");

static struct tool_call call_of(struct evaluation *v, struct arena *arena)
{
    return (struct tool_call){.actions = v->actions,
                              .who = v->who,
                              .place = v->here,
                              .account = v->account,
                              .arena = arena,
                              .cancel = v->cancel,
                              .code = v};
}

/* The first argument; none reads as {}. */
static const struct json *options_of(const struct json *args, const char *call,
                                     struct arena *arena, struct err *e)
{
    const struct json *v = json_at(args, 0);
    return !v || json_is(v, JSON_NULL) ? json_read(STR("{}"), arena, e)
                                       : call_options(args, call, e);
}

/* A custom function's author may have fewer rights than its caller. */
static bool may_call_back(const struct calling *x, const struct json *options,
                          struct err *e)
{
    return !x->within || !json_bool(json_get(options, "calls"), false) ||
           err_set(e, ERR_DENIED,
                   "calls: true of vm.exec is not for custom functions; nothing ran");
}

static bool call_exec(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(CALL_ARGS_MAX);
    struct tool_call call = call_of(x->v, arena);
    call.outcome = &x->outcome;
    const struct json *options = call_options(x->args, "vm.exec", e);
    bool ended;
    return options && may_call_back(x, options, e) &&
           machines_exec(&call, options, out, &ended, e);
}

static bool begin_exec(struct calling *x, struct buf *out, struct err *e)
{
    struct tool_call call = call_of(x->v, NULL);
    call.cancel = calling_cancel(x);
    call.consent = calling_consent(x);
    const struct json *options = call_options(x->args, "vm.exec", e);
    return options && may_call_back(x, options, e) &&
           machines_exec_begin(x, &call, options, out, e);
}

static void exec_refused(struct evaluation *v, const struct json *args,
                         struct arena *arena, enum err_code outcome)
{
    struct tool_call call = call_of(v, arena);
    machines_refused(&call, json_at(args, 0), outcome);
}

static bool perform(struct calling *x, const char *name, machine_fn *fn,
                    struct json_writer *out, struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(ARENA_SMALL);
    struct tool_call call = call_of(x->v, arena);
    const struct json *options = options_of(x->args, name, arena, e);
    return options && fn(&call, options, out, e);
}

static bool call_start(struct calling *x, struct json_writer *out, struct err *e)
{
    return perform(x, "vm.start", machines_start, out, e);
}

static bool call_stop(struct calling *x, struct json_writer *out, struct err *e)
{
    return perform(x, "vm.stop", machines_stop, out, e);
}

static bool call_expose(struct calling *x, struct json_writer *out, struct err *e)
{
    return perform(x, "vm.expose", machines_expose, out, e);
}

static bool call_apply(struct calling *x, struct json_writer *out, struct err *e)
{
    return perform(x, "vm.apply", machines_apply, out, e);
}

static bool call_list(struct calling *x, struct json_writer *out, struct err *e)
{
    struct tool_call call = call_of(x->v, NULL);
    return machines_list(&call, out, e);
}

/* ---- the rows -------------------------------------------------------------------- */

/* Shared types that signatures name. */
static const struct api_type types[] = {
    VM_TYPES,
};

static const struct host_call rows[] = {
    {CALL(.name = "vm.exec", .slow = true, .wrap = vm_js), .signature = VM_EXEC_SIGNATURE,
     .summary =
         "runs a command in a Linux machine (Debian: bash, python3, git) that starts in milliseconds",
     .call = call_exec, .level = LEVEL_FULL, .never_dry = true, .begin = begin_exec,
     .refused = exec_refused,
     .details =
         "A text goes to a long-lived bash, so that cd, variables and background jobs stay for the next command of the same session ('default'); an array of words is run without a shell. Exit codes other than 0 are not errors: check exitCode. After timeoutMs (60000) all its processes are ended. Sessions run concurrently. Machine, files and sessions stay after the evaluation, until vm.stop, or unused for idle_limit_ms (15 minutes). Nothing in it reaches the vault or any file outside but what mounts names ('/vault', folders of the policy); give it other data by files ({'data.csv': text or bytes}) or stdin. With calls: true its programs call notes and tools with your rights: cloche-guest notes.search query=shed limit:=3 (cloche-guest --help). network: true lets the machine reach the hosts that the policy allows (pip install, git clone), from then on.",
     .errors =
         "PermissionDenied: the policy or a person refused it. NotFound: you have no such machine, or no image is installed. Busy: its session runs another command. LimitExceeded: too many machines, sessions or commands. A machine that failed is not an exception: success is false, errorDetails says what happened, and the next command starts a new machine.",
     .example = "const r = await vm.exec('python3 -c \"print(6*7)\"');\n"
                "return [r.stdout, r.exitCode];",
     .words =
         "linux shell bash terminal command python python3 git pip debian computer "
         "sandbox run execute subprocess spawn machine virtual container docker ssh"},
    {CALL(.name = "vm.start", .slow = true), .signature = VM_START_SIGNATURE,
     .summary = "starts a Linux machine; the first one is the default of vm.exec",
     .call = call_start, .level = LEVEL_FULL, .never_dry = true,
     .details =
         "Only needed for another size (ramMB 64 to 1024, 512 by default; a new size boots once, in seconds) or for further machines. machine in the answer is its handle, for vm.exec({machine}); it works only for you.",
     .errors =
         "InvalidInput: more than the policy allows. LimitExceeded: you have the maximum number of machines. Busy: no space for one now.",
     .example = "const m = await vm.start({ramMB: 256});\n"
                "return (await vm.exec('free -m', {machine: m.machine})).stdout;",
     .words = "boot create launch new open machine memory ram"},
    {CALL(.name = "vm.stop", .slow = true), .signature = VM_STOP_SIGNATURE,
     .summary =
         "stops a Linux machine and discards its contents, or ends one of its sessions",
     .call = call_stop, .level = LEVEL_FULL, .never_dry = true,
     .details = "The default is the default machine; stopped is false if none ran.",
     .errors = "NotFound: you have no such machine or session.",
     .example = "return await vm.stop();",
     .words = "end kill shutdown power off close terminate session"},
    {CALL(.name = "vm.expose", .slow = true), .signature = VM_EXPOSE_SIGNATURE,
     .summary = "exposes a port of a Linux machine to the person at this computer",
     .call = call_expose, .level = LEVEL_FULL, .never_dry = true,
     .details =
         "A server in the machine that listens at 0.0.0.0 is then at url, a loopback address of the person's computer, until the machine ends, or close: true. A person is asked before, unless the policy says otherwise. The machine needs no network for it.",
     .errors =
         "PermissionDenied: the policy or a person refused it. NotFound: no such machine of yours runs. Conflict: the port is exposed already. Busy: something else listens at hostPort. LimitExceeded: too many exposed ports.",
     .example = "await vm.exec('python3 -m http.server 8000 >/dev/null 2>&1 &');\n"
                "return (await vm.expose({port: 8000})).url;",
     .words = "publish forward port listen web server preview localhost open"},
    {CALL(.name = "vm.apply", .slow = true), .signature = VM_APPLY_SIGNATURE,
     .summary =
         "writes all that changed in an overlay of a Linux machine to its folder, or lists it",
     .call = call_apply, .level = LEVEL_FULL, .never_dry = true,
     .details =
         "at is the place of a mount of vm.start with mode 'overlay'. All of its changes are written or none; with dryRun: true they are only listed, and conflicts names what was changed on the host since the machine saw it. Afterwards a new overlay is at that place: shells whose working directory was in it have to cd there again. For one command, {mount, mode: 'overlay', apply: true} of vm.exec does the same.",
     .errors =
         "Conflict: something was changed on the host since. PermissionDenied: the policy mounts the folder read-only, or a person refused it. NotFound: no overlay is there.",
     .example =
         "const m = await vm.start({mounts: [{mount: '/data', at: '/src', mode: 'overlay'}]});\n"
         "await vm.exec('echo done >/src/state', {machine: m.machine});\n"
         "const seen = await vm.apply({machine: m.machine, at: '/src', dryRun: true});\n"
         "return seen.conflicts.length ? seen : await vm.apply({machine: m.machine, at: '/src'});",
     .words = "overlay mount changes commit write back folder diff"},
    {CALL(.name = "vm.list"), .signature = VM_LIST_SIGNATURE,
     .summary = "lists your Linux machines, including the last ones that ended",
     .call = call_list, .level = LEVEL_FULL, .reads = true,
     .errors = "PermissionDenied: the policy refused it.",
     .example =
         "return (await vm.list()).map((m) => [m.machine, m.state, m.memory_bytes]);",
     .words = "which running machines state memory"},
};
const struct host_call_group vm_calls = {TABLE(rows), TYPES(types), .order = 140,
                                         .is_installed = machines_installed};
