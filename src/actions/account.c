/* What a call comes to: counted while it runs, recorded in the audit trail of every
 * vault in which it worked before its answer leaves. */
#include <inttypes.h>
#include <stdio.h>

#include "actions/account.h"
#include "actions/calls.h"
#include "actions/tooling.h"
#include "crypto/crypto.h"
#include "metrics/metrics.h"
#include "os/os.h"

void account_begin(struct account *a, const struct actions *of)
{
    memset(a, 0, offsetof(struct account, notes));
    a->actions = of;
    pthread_mutex_init(&a->lock, NULL);
    a->begun_ns = os_mono_ns();
}

void account_ward(struct account *a, struct ward *w, const struct policy *p)
{
    for (size_t i = 0; i < a->ward_count; i++)
        if (a->wards[i].ward == w)
            return;
    if (a->ward_count == LENGTH(a->wards))
        return; /* the first of them tell of the call */
    struct account_ward *new = &a->wards[a->ward_count++];
    *new = (struct account_ward){.ward = w, .keep_code = p && p->keep_code};
    /* Calls that end before they are under a policy do not make it another one. */
    struct err unusable = {0};
    const struct policy *asked = p ? NULL : ward_policy(w, &unusable);
    const struct policy *now = p ? p : asked;
    (void)snprintf(new->digest, sizeof new->digest, "%s", now ? now->digest : "unusable");
    policy_release(asked);
}

/* ---- host calls --------------------------------------------------------- */

/* "new_id" of a rename before "id": the note as it is now. */
static struct str changed_note(const struct json *answer)
{
    static const char *const keys[] = {"new_id", "id", "noteId", "name"};
    for (size_t i = 0; i < LENGTH(keys); i++)
        if (json_is(json_get(answer, keys[i]), JSON_STRING))
            return json_str(json_get(answer, keys[i]));
    return (struct str){0};
}

/* What a call that writes says it has changed; a dry run says so first of all. */
void account_change(struct account *a, struct str answer)
{
    struct err none = {0};
    if (a->dry || str_starts(answer, "{\"dry_run\":true"))
        return;
    scoped(arena_free) struct arena *arena = arena_new((size_t)1 << 20);
    const struct json *v =
        answer.n < (size_t)64 << 10 ? json_read(answer, arena, &none) : NULL;
    struct str id = str_cut(changed_note(v), sizeof a->notes[0] - 1);
    pthread_mutex_lock(&a->lock);
    a->changes++;
    a->changed = true;
    bool known = id.n == 0;
    for (size_t i = 0; i < a->note_count && !known; i++)
        known = str_is(id, a->notes[i]);
    if (!known && a->note_count < LENGTH(a->notes))
        (void)snprintf(a->notes[a->note_count++], sizeof a->notes[0], "%.*s",
                       STR_ARGS(id));
    pthread_mutex_unlock(&a->lock);
}

void account_call(struct account *a, uint32_t row, const struct host_call *c,
                  enum err_code outcome, struct str answer)
{
    struct call_count *n = &a->calls[row];
    atomic_store_explicit(&a->has_calls, true, memory_order_relaxed);
    atomic_fetch_add_explicit(outcome == ERR_NONE     ? &n->done
                              : outcome == ERR_DENIED ? &n->denied
                                                      : &n->failed,
                              1, memory_order_relaxed);
    if (outcome == ERR_NONE && c->row.writes && !c->asks)
        account_change(a, answer);
}

void account_host(struct account *a, const char *host)
{
    pthread_mutex_lock(&a->lock);
    bool known = false;
    for (size_t i = 0; i < a->host_count && !known; i++)
        known = !strcmp(host, a->hosts[i]);
    if (!known && a->host_count < LENGTH(a->hosts))
        (void)snprintf(a->hosts[a->host_count++], sizeof a->hosts[0], "%s", host);
    pthread_mutex_unlock(&a->lock);
}

void account_tool(struct account *a, const struct tool_stage *stage,
                  const struct tool_outcome *o, enum err_code outcome)
{
    scoped_buf struct buf text;
    char hex[CRYPTO_SHA256_HEX];
    buf_init(&text, (size_t)64 << 20);
    struct json_writer w = json_writer(&text);
    json_put(&w, stage->arguments);
    crypto_sha256_hex(buf_view(&text), hex);
    pthread_mutex_lock(&a->lock);
    if (a->tool_count == LENGTH(a->tools)) {
        a->tools_more++;
    } else {
        struct account_tool *t = &a->tools[a->tool_count++];
        (void)snprintf(t->name, sizeof t->name, "%s", stage->tool->name);
        (void)snprintf(t->version, sizeof t->version, "%s", stage->tool->version);
        memcpy(t->digest, hex, sizeof t->digest - 1);
        t->digest[sizeof t->digest - 1] = 0;
        t->exit_code = o ? o->exit_code : 0;
        t->ms = o ? o->wall_ms : 0;
        t->outcome = outcome;
    }
    pthread_mutex_unlock(&a->lock);
}

/* What a command was is kept where the policy keeps code. */
static void keep_command(struct account *a, const char *hash, struct str command)
{
    struct err none = {0};
    for (size_t i = 0; i < a->ward_count; i++)
        if (a->wards[i].keep_code)
            (void)trail_keep(ward_trail(a->wards[i].ward), hash, command, &none);
}

static void fill_machine(struct account_machine *m, const struct account_machine_deed *d,
                         const char *command)
{
    char hex[CRYPTO_HASH_HEX] = "";
    if (d->machine && *d->machine) /* a handle opens it */
        crypto_hash_hex(str_of(d->machine), hex);
    *m = (struct account_machine){.call = d->call,
                                  .outcome = d->outcome,
                                  .exit_code = d->exit_code,
                                  .ms = (double)d->wall_ns / 1e6,
                                  .compute_ms = (double)d->cpu_ns / 1e6,
                                  .command_bytes = d->command.n,
                                  .input_bytes = d->input_bytes,
                                  .stdout_bytes = d->stdout_bytes,
                                  .stderr_bytes = d->stderr_bytes};
    (void)snprintf(m->machine, sizeof m->machine, "%.12s", hex);
    (void)snprintf(m->command, sizeof m->command, "%s", command);
}

void account_machine(struct account *a, const struct account_machine_deed *d)
{
    char command[CRYPTO_SHA256_HEX] = "";
    if (d->command.at) {
        crypto_sha256_hex(d->command, command);
        keep_command(a, command, d->command);
    }
    pthread_mutex_lock(&a->lock);
    if (a->machine_count == LENGTH(a->machines))
        a->machines_more++;
    else
        fill_machine(&a->machines[a->machine_count++], d, command);
    pthread_mutex_unlock(&a->lock);
    telemetry_machine(a->actions->telemetry, d->call, d->outcome, d->wall_ns);
}

void account_function(struct account *a, const struct account_function *f,
                      struct str name)
{
    if (a->function_count == LENGTH(a->functions)) {
        a->functions_more++;
        return;
    }
    struct account_function *kept = &a->functions[a->function_count++];
    *kept = *f;
    (void)snprintf(kept->name, sizeof kept->name, "%.*s",
                   STR_ARGS(str_cut(name, sizeof kept->name - 1)));
}

void account_kept(struct account *a, const char *deed, struct str name, uint32_t version)
{
    pthread_mutex_lock(&a->lock);
    a->changes++;
    a->changed = true;
    if (a->kept_count == LENGTH(a->kept)) {
        a->kept_more++;
    } else {
        struct account_kept *k = &a->kept[a->kept_count++];
        *k = (struct account_kept){.deed = deed, .version = version};
        (void)snprintf(k->name, sizeof k->name, "%.*s",
                       STR_ARGS(str_cut(name, sizeof k->name - 1)));
    }
    pthread_mutex_unlock(&a->lock);
}

void account_asked(struct account *a, bool allowed)
{
    pthread_mutex_lock(&a->lock);
    a->asked++;
    a->allowed += allowed;
    pthread_mutex_unlock(&a->lock);
}

void account_script(struct account *a, const struct script_outcome *o)
{
    a->has_stats = true;
    a->stats = o->stats;
    if (!o->success)
        a->outcome = o->type;
}

/* ---- the record --------------------------------------------------------- */

/* A session's handle opens it: the trail tells one from another by a hash. */
static void put_session(const char *session, struct json_writer *w)
{
    char hex[CRYPTO_HASH_HEX];
    if (!session)
        return;
    crypto_hash_hex(str_of(session), hex);
    json_pair_str(w, "session", (struct str){hex, 12});
}

static void put_trace(const struct trace *t, struct json_writer *w)
{
    if (!t || (!t->parent.n && !t->baggage.n))
        return;
    json_key(w, "trace");
    json_open_object(w);
    if (t->parent.n)
        json_pair_str(w, "traceparent", t->parent);
    if (t->state.n)
        json_pair_str(w, "tracestate", t->state);
    if (t->baggage.n)
        json_pair_str(w, "baggage", t->baggage);
    json_close(w);
}

static void put_code(struct account *a, struct str code, struct json_writer *w)
{
    if (!code.at)
        return;
    crypto_sha256_hex(code, a->code_hash);
    json_pair_cstr(w, "code", a->code_hash);
    json_pair_int(w, "code_bytes", (int64_t)code.n);
}

static void put_counts(const struct account *a, const char *key, size_t which,
                       struct json_writer *w)
{
    size_t count;
    bool any = false;
    const struct host_call *const *calls = host_calls(&count);
    for (size_t i = 0; i < count; i++) {
        const atomic_uint *numbers[] = {&a->calls[i].done, &a->calls[i].denied,
                                        &a->calls[i].failed};
        unsigned n = atomic_load_explicit(numbers[which], memory_order_relaxed);
        if (!n)
            continue;
        if (!any) {
            json_key(w, key);
            json_open_object(w);
        }
        any = true;
        json_pair_int(w, calls[i]->row.name, n);
    }
    if (any)
        json_close(w);
}

/* `texts`: rows of `size` bytes each. */
static void put_texts(const char *key, const char *texts, size_t size, size_t count,
                      struct json_writer *w)
{
    if (!count)
        return;
    json_key(w, key);
    json_open_array(w);
    for (size_t i = 0; i < count; i++)
        json_put_cstr(w, texts + i * size);
    json_close(w);
}

/* Command-line tools that ran, or were refused. */
static void put_tools(const struct account *a, struct json_writer *w)
{
    if (!a->tool_count)
        return;
    json_key(w, "tools");
    json_open_array(w);
    for (size_t i = 0; i < a->tool_count; i++) {
        const struct account_tool *t = &a->tools[i];
        json_open_object(w);
        json_pair_cstr(w, "tool", t->name);
        json_pair_cstr(w, "version", t->version);
        json_pair_cstr(w, "arguments", t->digest);
        json_pair_cstr(w, "result",
                       t->outcome == ERR_NONE ? "success" : err_kind(t->outcome)->name);
        if (t->outcome == ERR_NONE)
            json_pair_int(w, "exit", t->exit_code);
        json_pair_number(w, "ms", t->ms);
        json_close(w);
    }
    json_close(w);
    if (a->tools_more)
        json_pair_int(w, "more_tools", (int64_t)a->tools_more);
}

/* What was done with Linux machines. */
static void put_machines(const struct account *a, struct json_writer *w)
{
    if (!a->machine_count)
        return;
    json_key(w, "machines");
    json_open_array(w);
    for (size_t i = 0; i < a->machine_count; i++) {
        const struct account_machine *m = &a->machines[i];
        json_open_object(w);
        json_pair_cstr(w, "call", m->call);
        if (*m->machine)
            json_pair_cstr(w, "machine", m->machine);
        json_pair_cstr(w, "result",
                       m->outcome == ERR_NONE ? "success" : err_kind(m->outcome)->name);
        json_pair_number(w, "ms", m->ms);
        if (*m->command) {
            json_pair_cstr(w, "command", m->command);
            json_pair_int(w, "command_bytes", (int64_t)m->command_bytes);
            json_pair_int(w, "exit", m->exit_code);
            json_pair_number(w, "compute_ms", m->compute_ms);
            json_pair_int(w, "stdin_bytes", (int64_t)m->input_bytes);
            json_pair_int(w, "stdout_bytes", (int64_t)m->stdout_bytes);
            json_pair_int(w, "stderr_bytes", (int64_t)m->stderr_bytes);
        }
        json_close(w);
    }
    json_close(w);
    if (a->machines_more)
        json_pair_int(w, "more_machines", (int64_t)a->machines_more);
}

/* Custom functions, as the guest counted their calls. */
static void put_functions(const struct account *a, struct json_writer *w)
{
    if (!a->function_count)
        return;
    json_key(w, "functions");
    json_open_array(w);
    for (size_t i = 0; i < a->function_count; i++) {
        const struct account_function *f = &a->functions[i];
        json_open_object(w);
        json_pair_cstr(w, "name", f->name);
        json_pair_int(w, "version", f->version);
        json_pair_int(w, "calls", f->calls);
        json_pair_int(w, "failed", f->failed);
        json_close(w);
    }
    json_close(w);
    if (a->functions_more)
        json_pair_int(w, "more_functions", (int64_t)a->functions_more);
}

/* Custom functions that were changed. */
static void put_kept(const struct account *a, struct json_writer *w)
{
    if (!a->kept_count)
        return;
    json_key(w, "functions_changed");
    json_open_array(w);
    for (size_t i = 0; i < a->kept_count; i++) {
        const struct account_kept *k = &a->kept[i];
        json_open_object(w);
        json_pair_cstr(w, "name", k->name);
        json_pair_cstr(w, "action", k->deed);
        if (k->version)
            json_pair_int(w, "version", k->version);
        json_close(w);
    }
    json_close(w);
    if (a->kept_more)
        json_pair_int(w, "more_functions_changed", (int64_t)a->kept_more);
}

static void put_stats(const struct account *a, struct json_writer *w)
{
    if (!a->has_stats)
        return;
    json_pair_number(w, "cpu_ms", a->stats.compute_ms);
    json_pair_int(w, "peak_memory_bytes", (int64_t)a->stats.memory_peak);
    json_pair_int(w, "host_calls", a->stats.host_calls);
    if (a->stats.fuel)
        json_pair_int(w, "fuel", (int64_t)a->stats.fuel);
}

/* An object with what came of the call; the vault's trail takes its inside. */
static void write_record(struct account *a, const char *action,
                         const struct json *arguments, const struct caller *who,
                         const struct ward *ward, struct buf *out)
{
    struct json_writer w = json_writer(out);
    char now[25];
    os_format_utc(os_real_ms(), now);
    json_open_object(&w);
    json_pair_cstr(&w, "time", now);
    json_pair_cstr(&w, "event", "call");
    json_pair_str(&w, "caller", str_cut(str_of(who->name), 100));
    client_claim_put(who->claim, &w);
    put_session(who->session, &w);
    put_trace(who->trace, &w);
    if (ward_path(ward))
        json_pair_str(&w, "vault", str_cut(str_of(ward_path(ward)), 1000));
    json_pair_cstr(&w, "action", action);
    struct str target = json_str(json_get(arguments, "identifier"));
    if (target.n)
        json_pair_str(&w, "target", str_cut(target, 200));
    struct str workspace = json_str(json_get(arguments, "workspace_id"));
    if (workspace.n)
        json_pair_str(&w, "workspace", str_cut(workspace, 200));
    if (json_is(json_get(arguments, "code"), JSON_STRING))
        put_code(a, json_str(json_get(arguments, "code")), &w);
    json_pair_cstr(&w, "level", level_name(a->level));
    json_pair_cstr(&w, "result",
                   a->outcome == ERR_NONE ? "success" : err_kind(a->outcome)->name);
    json_pair_number(&w, "ms", (double)(os_mono_ns() - a->begun_ns) / 1e6);
    put_stats(a, &w);
    if (a->has_calls) {
        put_counts(a, "calls", 0, &w);
        put_counts(a, "denied", 1, &w);
        put_counts(a, "failed", 2, &w);
    }
    put_tools(a, &w);
    put_machines(a, &w);
    put_functions(a, &w);
    put_kept(a, &w);
    if (a->asked) { /* persons */
        json_pair_int(&w, "asked", a->asked);
        json_pair_int(&w, "allowed", a->allowed);
    }
    if (a->changed)
        json_pair_bool(&w, "changed", true);
    put_texts("notes", a->notes[0], sizeof a->notes[0], a->note_count, &w);
    put_texts("hosts", a->hosts[0], sizeof a->hosts[0], a->host_count, &w);
    json_close(&w);
}

static void record(struct account *a, const struct account_ward *in, const char *action,
                   const struct json *arguments, const struct caller *who)
{
    struct err e = {0};
    scoped_buf struct buf text;
    buf_init(&text, (size_t)64 << 10);
    write_record(a, action, arguments, who, in->ward, &text);
    if (text.failed || text.n < 2)
        return;
    if (in->keep_code && a->code_hash[0])
        (void)trail_keep(ward_trail(in->ward), a->code_hash,
                         json_str(json_get(arguments, "code")), &e);
    if (a->actions->on_record)
        a->actions->on_record(a->actions->record_arg, buf_cz(&text));
    /* A failure shows in the counters and in doctor; the next call that would write is
     * refused. */
    e = (struct err){0};
    (void)ward_record(in->ward, (struct str){text.at + 1, text.n - 2}, in->digest,
                      a->changed, &e);
}

static void observe(struct account *a, const struct caller *who)
{
    size_t count;
    const char *hosts[LENGTH(a->hosts)];
    enum metric_outcome how = metric_outcome(a->outcome);
    struct deed d = {.ended = true,
                     .limit = how == METRIC_LIMIT,
                     .failed = a->outcome != ERR_NONE,
                     .hosts = hosts,
                     .host_count = a->host_count};
    (void)host_calls(&count);
    for (size_t i = 0; a->has_calls && i < count; i++)
        d.denials += atomic_load_explicit(&a->calls[i].denied, memory_order_relaxed);
    if (!d.denials && a->outcome == ERR_DENIED)
        d.denials = 1;
    for (size_t i = 0; i < a->host_count; i++)
        hosts[i] = a->hosts[i];
    if (a->ward_count)
        ward_observe(a->wards[0].ward, who, &d);
}

void account_end(struct account *a, const char *action, const struct json *arguments,
                 const struct caller *who)
{
    for (size_t i = 0; i < a->ward_count; i++)
        record(a, &a->wards[i], action, arguments, who);
    observe(a, who);
    pthread_mutex_destroy(&a->lock);
}
