/* The host calls vm.*: Linux machines for code. What code sees of vm.exec is vm.js. */
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

/* The first argument; nothing at all reads as {}. */
static const struct json *options_of(const struct json *args, const char *call,
                                     struct arena *arena, struct err *e)
{
    const struct json *v = json_at(args, 0);
    return !v || json_is(v, JSON_NULL) ? json_read(STR("{}"), arena, e)
                                       : call_options(args, call, e);
}

static bool call_exec(struct calling *x, struct json_writer *out, struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(CALL_ARGS_MAX);
    struct tool_call call = call_of(x->v, arena);
    call.outcome = &x->outcome;
    const struct json *options = call_options(x->args, "vm.exec", e);
    bool ended;
    return options && machines_exec(&call, options, out, &ended, e);
}

static bool begin_exec(struct calling *x, struct buf *out, struct err *e)
{
    struct tool_call call = call_of(x->v, NULL);
    call.cancel = calling_cancel(x);
    call.consent = calling_consent(x);
    const struct json *options = call_options(x->args, "vm.exec", e);
    return options && machines_exec_begin(x, &call, options, out, e);
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
    scoped(arena_free) struct arena *arena = arena_new((size_t)1 << 20);
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

static bool call_list(struct calling *x, struct json_writer *out, struct err *e)
{
    struct tool_call call = call_of(x->v, NULL);
    return machines_list(&call, out, e);
}

/* ---- the rows -------------------------------------------------------------------- */

/* Types that signatures name. */
static const struct api_type types[] = {
    {"VmOptions", VM_OPTIONS_TYPE,
     "how a command is run in a Linux machine: cwd and env are for this command alone, "
     "session is a name (commands of one wait for each other), maxOutput the bytes kept of "
     "stdout and of stderr (1048576)"},
    {"VmResult",
     "{success: boolean, stdout: string | Uint8Array, stderr: string | Uint8Array, exitCode: "
     "number, error?: string, errorDetails?: {type: string, code: string, message: string, "
     "retry: boolean}, timedOut?: true, cancelled?: true, shellEnded?: true, held?: true, "
     "outOfMemory?: true, restarted?: string, truncated?: {stdout?: number, stdoutAt?: "
     "number, stderr?: number, stderrAt?: number}, machine: string, stats: {wall_ms: number, compute_ms: number}}",
     "how a command in a Linux machine ended; outputs are bytes where they are no UTF-8, "
     "truncated says how many bytes of the middle are left out and behind how many, "
     "shellEnded that the session has a new shell, held that something in the background kept the outputs, restarted "
     "how the machine before this one ended"},
    {"VmMachine",
     "{machine: string, state: 'running' | 'stopped' | 'failed', default: boolean, reason?: "
     "string, ramMB: number, started: string, idle_ms: number, "
     "idle_limit_ms: number, compute_ms: number, "
     "memory_bytes: number, disk_bytes: number, commands: number, sessions: number}",
     "a Linux machine; machine is its handle; unused for idle_limit_ms it is stopped"},
};

static const struct host_call rows[] = {
    {CALL(.name = "vm.exec", .slow = true, .wrap = vm_js),
     "(command: string | string[], options?: VmOptions): Promise<VmResult>\n"
     "(options: VmOptions & {command: string | string[]}): Promise<VmResult>",
     "runs a command in a Linux machine (Debian: bash, python3, git), which is there at once",
     call_exec, LEVEL_FULL, .never_dry = true, .begin = begin_exec,
     .refused = exec_refused,
     .details =
         "A text goes to a long-lived bash, so that cd, variables and background jobs are "
         "there for the next command of the same session ('default'); an array of words is "
         "run as they stand, without a shell's reading. Exit codes other than 0 are no error: "
         "look at exitCode. timeoutMs (60000) ends it with all that it began. Sessions run "
         "side by side. Machine, files and sessions stay after the evaluation, until vm.stop, "
         "or unused for idle_limit_ms (15 minutes). Nothing in it reaches the network, the vault or any file "
         "outside; give it data by stdin.",
     .errors =
         "PermissionDenied: the policy, or a person, says no. NotFound: no such machine of "
         "yours, or no image is installed. Busy: its session runs something else. "
         "LimitExceeded: too many machines, sessions or commands. A machine that failed is "
         "no exception: success is false, errorDetails says what happened, and the next "
         "command finds a new one.",
     .example = "const r = await vm.exec('python3 -c \"print(6*7)\"');\n"
                "return [r.stdout, r.exitCode];",
     .words =
         "linux shell bash terminal command python python3 git pip debian computer "
         "sandbox run execute subprocess spawn machine virtual container docker ssh"},
    {CALL(.name = "vm.start", .slow = true),
     "(options?: " VM_START_TYPE "): Promise<VmMachine>",
     "starts a Linux machine; the first is the one that vm.exec uses by itself",
     call_start, LEVEL_FULL, .never_dry = true,
     .details =
         "Only needed for another size (ramMB 64 to 1024, 512 by itself; a size that was "
         "never used boots once, in seconds) or for further machines. machine in the answer "
         "is its handle, for vm.exec({machine}), good for you alone.",
     .errors =
         "InvalidInput: more than the policy allows. LimitExceeded: you have as many "
         "machines as you may. Busy: no place for one now.",
     .example = "const m = await vm.start({ramMB: 256});\n"
                "return (await vm.exec('free -m', {machine: m.machine})).stdout;",
     .words = "boot create launch new open machine memory ram"},
    {CALL(.name = "vm.stop", .slow = true),
     "(options?: " VM_STOP_TYPE
     "): Promise<{stopped: boolean, machine?: string, session?: "
     "string}>",
     "stops a Linux machine, and all in it is gone; or ends one of its sessions",
     call_stop, LEVEL_FULL, .never_dry = true,
     .details = "Without a machine: the default one; stopped is false where none ran.",
     .errors = "NotFound: no such machine or session of yours.",
     .example = "return await vm.stop();",
     .words = "end kill shutdown power off close terminate session"},
    {CALL(.name = "vm.list"), "(): Promise<VmMachine[]>",
     "lists your Linux machines, those that ended last among them", call_list, LEVEL_FULL,
     .reads = true, .errors = "PermissionDenied: the policy says no.",
     .example =
         "return (await vm.list()).map((m) => [m.machine, m.state, m.memory_bytes]);",
     .words = "which running machines state memory"},
};
const struct host_call_group vm_calls = {TABLE(rows), TYPES(types), .order = 140,
                                         .is_installed = machines_installed};
