/* A command in a Linux machine: permission, start, wait, result. For code it waits
 * without a thread. */
#include "client/client.h"
#include "effect/effect.h"
#include "evaluation/evaluation.h"
#include "machines/internal.h"
#include "machines/machine_guest.h"
#include "machines/machine_net.h"
#include "machines/machine_terminal.h"
#include "machines/machine_use.h"
#include "os/os.h"
#include "performing/performing.h"
#include "policy/policy.h"
#include "script/script.h"

bool machine_fit_time(const struct tool_call *c, struct vm_exec *x, struct err *e)
{
    if (!c->code || !c->code->until_ns)
        return true;
    uint64_t now = os_mono_ns(),
             until = c->code->until_ns + evaluation_human_wait_ns(c->code);
    if (until <= now)
        return err_set(e, ERR_TIMEOUT, "the evaluation is out of time; nothing ran");
    if (x->timeout_ns > until - now)
        x->timeout_ns = until - now;
    return true;
}

/* Sets the error for what stopped it; no code: it ended by itself. */
static void put_end_reason(const struct machine_order *o, const struct vm_result *r,
                           struct err *e)
{
    if (r->timed_out)
        err_set(e, ERR_TIMEOUT,
                "the command timed out after %llu ms and was killed with its child "
                "processes; the machine and its files are kept",
                (unsigned long long)(o->exec.timeout_ns / 1000000));
    else if (r->cancelled)
        err_set(e, ERR_CANCELLED, "the command was cancelled, and is ended");
}

static void account_for(const struct machine_use *u, const struct machine_order *o,
                        const struct vm_info *m, const struct vm_result *r,
                        enum err_code outcome)
{
    machine_account(u->call, &(struct machine_operation){
                                 .call = "vm.exec",
                                 .machine = m->handle,
                                 .command = o->exec.command,
                                 .outcome = outcome,
                                 .exit_code = r->exit_code,
                                 .wall_ns = r->wall_ns,
                                 .cpu_ns = r->cpu_ns,
                                 .input_bytes = o->exec.input.n + o->staged.n +
                                                machine_mounts_given(&o->mounts),
                                 .stdout_bytes = r->stdout_bytes.n + r->stdout_lost,
                                 .stderr_bytes = r->stderr_bytes.n + r->stderr_lost});
}

void machines_refused(const struct tool_call *c, const struct json *options,
                      enum err_code outcome)
{
    struct machine_order o = {0};
    struct err none = {0};
    const struct vm_policy *policy =
        policy_values(c->place->permit.policy, &machines_policy);
    const struct json *said = json_get(options, "command");
    scoped_buf struct buf text;
    buf_init(&text, BUF_ANSWER);
    struct json_writer w = json_writer(&text);
    struct str command = json_str(said);
    if (machine_order_read(&o, c, policy->timeout_ms, options, &none)) {
        command = o.exec.command;
    } else if (said && !json_is(said, JSON_STRING)) {
        json_put(&w, said);
        command = buf_view(&text);
    }
    if (said)
        machine_account(c, &(struct machine_operation){.call = "vm.exec",
                                                       .command = command,
                                                       .outcome = outcome});
}

/* ---- run ----------------------------------------------------------------------------- */

struct machine_run {
    struct arena *arena; /* of the order; NULL: the call's */
    struct tool_call call;
    struct machine_use use;
    struct machine_order order;
    struct machine_live live;
    struct machine_running running;
    struct machine_guest *guest; /* NULL: its programs call nothing */
    struct terminal *terminal;   /* NULL: nobody types into it */
    struct vm *machine;
    struct vm_command *command; /* NULL: none was started */
};

/* Everything before its start; a failure is accounted for. */
static bool prepare(struct machine_run *r, const struct json *options, struct err *e)
{
    enum permission word;
    struct vm_info none = {0};
    struct machine_order *o = &r->order;
    if (!machine_use_begin(&r->use, &r->call, "vm.exec", &word, e) ||
        !machine_order_read(o, &r->call, r->use.policy->timeout_ms, options, e)) {
        machines_refused(&r->call, options, e->code);
        return false;
    }
    r->use.network = o->network;
    bool more = o->network && !machine_use_has_network(&r->use, o->machine);
    if (machine_use_permitted(&r->use, word, more, options, e) &&
        (!o->calls || machine_guest_permitted(&r->call, options, e)) &&
        machine_fit_time(&r->call, &o->exec, e))
        r->machine = machine_use_find(&r->use, o->machine, e);
    if (r->machine && (!machine_mounts_may(&r->call, r->machine, e) ||
                       !machine_mounts_open(&o->mounts, &r->call, r->machine, e)))
        vm_release(take(r->machine));
    if (r->machine && o->network)
        machine_net_open(machine_net_of(r->machine));
    if (r->machine)
        machine_net_run(machine_net_of(r->machine), &r->running, o->exec.command);
    if (!r->machine && !(r->call.consent && r->call.consent->waits))
        account_for(&r->use, o, &none, &(struct vm_result){0}, e->code);
    bool ready = r->machine && machine_stage(o, &r->call, r->machine, e);
    if (ready && o->terminal.n)
        r->terminal = terminal_open(machines_terminals(r->call.actions), r->use.owner,
                                    r->machine, o->terminal, e);
    if (ready && o->calls && !e->code)
        r->guest = machine_guest_begin(&r->call, r->machine, o, e);
    if (r->machine && e->code) {
        struct err none_either = {0};
        (void)machine_mounts_close(&o->mounts, r->machine, false, &none_either);
        vm_get_info(r->machine, &none);
        account_for(&r->use, o, &none, &(struct vm_result){0}, e->code);
        machine_net_ran(&r->running);
        terminal_close(take(r->terminal));
        vm_release(r->machine);
        r->machine = NULL;
    }
    if (r->terminal)
        o->exec.keyboard = terminal_keyboard(r->terminal);
    r->live.call = &r->call;
    o->exec.output = machine_live_output;
    o->exec.output_arg = &r->live;
    o->exec.cancel = r->call.cancel;
    return r->machine != NULL;
}

/* A machine that ended meanwhile gives an answer: it contains the output until then. */
static bool tell(struct machine_run *r, bool ran, struct vm_result *result,
                 struct err *end, struct json_writer *out, bool *success, struct err *e)
{
    struct vm_info info;
    struct err ignored = {0};
    machine_live_end(&r->live);
    if (ran)
        put_end_reason(&r->order, result, end);
    /* A command that was stopped has changed nothing in the vault. */
    bool keep = ran && !end->code;
    (void)machine_mounts_close(&r->order.mounts, r->machine, keep, keep ? end : &ignored);
    vm_get_info(r->machine, &info);
    account_for(&r->use, &r->order, &info, result, end->code);
    bool told = ran || info.state != VM_STATE_RUNNING;
    int code = !end->code || result->exit_code ? result->exit_code : 137;
    if (told && code)
        outcome_fail(r->call.outcome, code, buf_view(&result->stderr_bytes));
    if (told)
        *success =
            machine_result_write(result, &info, end, &r->running, &r->order.mounts, out);
    else
        *e = *end;
    vm_result_done(result);
    return told && buf_check(out->out, "the answer", e);
}

/* Its time is that without use. Who hears the output as it comes has it. */
static bool run_terminal(struct machine_run *r, struct vm_result *result, struct err *end)
{
    const struct client *c = r->call.who->client;
    r->order.exec.unkept = c && client_hears(c, CLIENT_INFO);
    return terminal_run(r->terminal, r->machine, &r->order.exec, &r->live,
                        r->order.exec.timeout_ns, result, end);
}

bool machines_exec(const struct tool_call *c, const struct json *options,
                   struct json_writer *out, bool *success, struct err *e)
{
    struct machine_run r = {.call = *c};
    struct vm_result result = {0};
    struct err end = {0}, busy = {0};
    if (!prepare(&r, options, e)) {
        machine_mounts_free(&r.order.mounts);
        return false;
    }
    /* It may take minutes: if the client can wait, the worker is free meanwhile. */
    const struct client *carrier = c->code ? NULL : c->who->client;
    bool rests = carrier && client_rest(carrier, &busy);
    bool ran = r.terminal ? run_terminal(&r, &result, &end)
                          : vm_exec(r.machine, &r.order.exec, &result, &end);
    if (rests)
        client_resume(carrier);
    machine_guest_end(r.guest);
    bool ok = tell(&r, ran, &result, &end, out, success, e);
    terminal_close(r.terminal);
    machine_net_ran(&r.running);
    machine_mounts_free(&r.order.mounts);
    vm_release(r.machine);
    return ok;
}

/* ---- for code -------------------------------------------------------------------------- */

static void wake(void *task)
{
    script_wake(task);
}

static void run_free(struct machine_run *r)
{
    struct err none = {0};
    if (r->machine) /* if no command was begun */
        (void)machine_mounts_close(&r->order.mounts, r->machine, false, &none);
    machine_mounts_free(&r->order.mounts);
    machine_guest_end(r->guest);
    terminal_close(r->terminal);
    machine_net_ran(&r->running);
    vm_release(r->machine);
    arena_free(r->arena);
    free(r);
}

/* A call that is cancelled does not wait for the command's end either. */
static bool look(struct calling *x, struct buf *out, struct err *e)
{
    struct machine_run *r = x->state;
    uint64_t until_ns;
    if (!vm_exec_look(r->command, &until_ns) && !calling_over(x)) {
        calling_wait(x, look, SCRIPT_WAIT_LIGHT, until_ns);
        return false;
    }
    struct json_writer w = json_writer(out);
    struct vm_result result = {0};
    struct err end = {0};
    r->call.outcome = &x->outcome;
    bool success, ran = vm_exec_end(r->command, &result, &end);
    machine_guest_end(take(r->guest));
    bool ok = tell(r, ran, &result, &end, &w, &success, e);
    run_free(r);
    return ok;
}

bool machines_exec_begin(struct calling *x, const struct tool_call *c,
                         const struct json *options, struct buf *out, struct err *e)
{
    struct machine_run *r = mem_new(sizeof *r);
    *r = (struct machine_run){.call = *c, .arena = arena_new(CALL_ARGS_MAX)};
    r->call.arena = r->arena;
    if (prepare(r, options, e)) {
        r->command = vm_exec_begin(r->machine, &r->order.exec, wake, x->task, e);
        struct vm_info info;
        vm_get_info(r->machine, &info);
        if (!r->command)
            account_for(&r->use, &r->order, &info, &(struct vm_result){0}, e->code);
    }
    if (!r->command) {
        run_free(r);
        return false;
    }
    calling_leave_vault(x);
    x->state = r;
    return look(x, out, e);
}
