/* A call's record, as JSON. Its fixed part is bounded; its lists are shortened until the
 * whole fits, and say how many more there were. */
#include "actions/account.h"
#include "actions/calls.h"
#include "audit/audit.h"
#include "caller/caller.h"
#include "crypto/crypto.h"
#include "functions/functions.h"
#include "os/os.h"

/* What the trail puts around the members: number, MAC, the line's end. */
#define ROOM (AUDIT_RECORD_MAX - 256)

/* ---- lists ----------------------------------------------------------------- */

enum list {
    LIST_CALLS,
    LIST_DENIED,
    LIST_FAILED,
    LIST_TOOLS,
    LIST_MACHINES,
    LIST_FUNCTIONS,
    LIST_KEPT,
    LIST_NOTES,
    LIST_HOSTS,
    LISTS
};

/* How many rows of each are told, and what these take. */
struct shown {
    size_t most[LISTS], rows[LISTS], bytes[LISTS];
};

static const struct {
    const char *name, *more;
} lists[LISTS] = {
    [LIST_CALLS] = {"calls", "more_calls"},
    [LIST_DENIED] = {"denied", "more_denied"},
    [LIST_FAILED] = {"failed", "more_failed"},
    [LIST_TOOLS] = {"tools", "more_tools"},
    [LIST_MACHINES] = {"machines", "more_machines"},
    [LIST_FUNCTIONS] = {"functions", "more_functions"},
    [LIST_KEPT] = {"functions_changed", "more_functions_changed"},
    [LIST_NOTES] = {"notes", "more_notes"},
    [LIST_HOSTS] = {"hosts", "more_hosts"},
};

static unsigned count_of(const struct account_part *p, size_t call, enum list which)
{
    const struct call_count *n = &p->calls[call];
    const atomic_uint *numbers[] = {&n->done, &n->denied, &n->failed};
    return atomic_load_explicit(numbers[which], memory_order_relaxed);
}

/* By the method's name. */
static void put_counts(const struct account_part *p, enum list which, size_t most,
                       struct json_writer *w)
{
    size_t count;
    const struct host_call *const *calls = host_calls(&count);
    for (size_t i = 0; i < count && most; i++) {
        unsigned n = count_of(p, i, which);
        if (n) {
            json_pair_int(w, calls[i]->row.name, n);
            most--;
        }
    }
}

static void put_tally(const struct tally *t, size_t most, struct json_writer *w)
{
    const char *name = NULL;
    for (size_t i = 0; i < most && (name = tally_next(t, name)); i++)
        json_put_cstr(w, name);
}

static const char *word_of(enum err_code outcome)
{
    return outcome == ERR_NONE ? "success" : err_kind(outcome)->name;
}

static void put_tool(const struct account_tool *t, struct json_writer *w)
{
    json_open_object(w);
    json_pair_cstr(w, "tool", t->name);
    json_pair_cstr(w, "version", t->version);
    json_pair_cstr(w, "arguments", t->digest);
    json_pair_cstr(w, "result", word_of(t->outcome));
    if (t->outcome == ERR_NONE)
        json_pair_int(w, "exit", t->exit_code);
    json_pair_number(w, "ms", t->ms);
    json_close(w);
}

static void put_machine(const struct account_machine *m, struct json_writer *w)
{
    json_open_object(w);
    json_pair_cstr(w, "call", m->call);
    if (*m->machine)
        json_pair_cstr(w, "machine", m->machine);
    json_pair_cstr(w, "result", word_of(m->outcome));
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

/* As the guest counted their calls. */
static void put_function(const struct account_function *f, struct json_writer *w)
{
    json_open_object(w);
    json_pair_cstr(w, "name", f->name);
    json_pair_int(w, "version", f->version);
    json_pair_int(w, "calls", f->calls);
    json_pair_int(w, "failed", f->failed);
    json_close(w);
}

static void put_kept(const struct account_kept *k, struct json_writer *w)
{
    json_open_object(w);
    json_pair_cstr(w, "name", k->name);
    json_pair_cstr(w, "action", k->deed);
    if (k->version)
        json_pair_int(w, "version", k->version);
    json_close(w);
}

static size_t methods_in(const struct account_part *p, enum list which)
{
    size_t count, n = 0;
    (void)host_calls(&count);
    for (size_t i = 0; p->has_calls && i < count; i++)
        n += count_of(p, i, which) > 0;
    return n;
}

/* How many rows it has, and `*kept` of them to be told. */
static size_t rows_in(const struct account_part *p, enum list list, size_t *kept)
{
    size_t all = list <= LIST_FAILED      ? methods_in(p, list)
                 : list == LIST_TOOLS     ? p->tool_count
                 : list == LIST_MACHINES  ? p->machine_count
                 : list == LIST_FUNCTIONS ? p->function_count
                 : list == LIST_KEPT      ? p->kept_count
                 : list == LIST_NOTES     ? p->notes.count
                                          : p->hosts.count;
    size_t there = list == LIST_NOTES   ? p->notes.kept
                   : list == LIST_HOSTS ? p->hosts.kept
                                        : all;
    bool bounded = list > LIST_FAILED && there > ACCOUNT_LISTED;
    *kept = bounded ? ACCOUNT_LISTED : there;
    return all;
}

static void put_rows(const struct account_part *p, enum list list, size_t n,
                     struct json_writer *w)
{
    if (list <= LIST_FAILED)
        put_counts(p, list, n, w);
    else if (list == LIST_NOTES || list == LIST_HOSTS)
        put_tally(list == LIST_NOTES ? &p->notes : &p->hosts, n, w);
    for (size_t i = 0; i < n && list > LIST_FAILED; i++) {
        if (list == LIST_TOOLS)
            put_tool(&p->tools[i], w);
        else if (list == LIST_MACHINES)
            put_machine(&p->machines[i], w);
        else if (list == LIST_FUNCTIONS)
            put_function(&p->functions[i], w);
        else if (list == LIST_KEPT)
            put_kept(&p->kept[i], w);
    }
}

static void put_list(const struct account_part *p, enum list list, struct shown *s,
                     struct json_writer *w)
{
    size_t before = w->out->n, kept, all = rows_in(p, list, &kept);
    size_t n = kept < s->most[list] ? kept : s->most[list];
    s->rows[list] = n;
    if (n) {
        json_key(w, lists[list].name);
        if (list <= LIST_FAILED)
            json_open_object(w);
        else
            json_open_array(w);
        put_rows(p, list, n, w);
        json_close(w);
    }
    if (all > n)
        json_pair_int(w, lists[list].more, (int64_t)(all - n));
    s->bytes[list] = n ? w->out->n - before : 0;
}

/* ---- the fixed part ---------------------------------------------------------- */

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
        json_pair_str(w, "traceparent", str_cut(t->parent, 600));
    if (t->state.n)
        json_pair_str(w, "tracestate", str_cut(t->state, 600));
    if (t->baggage.n)
        json_pair_str(w, "baggage", str_cut(t->baggage, 2000));
    json_close(w);
}

static void put_code(struct account *a, struct json_writer *w)
{
    const struct json *code = json_get(a->arguments, "code");
    if (!json_is(code, JSON_STRING))
        return;
    if (!a->code_hash[0])
        crypto_sha256_hex(json_str(code), a->code_hash);
    json_pair_cstr(w, "code", a->code_hash);
    json_pair_int(w, "code_bytes", (int64_t)json_str(code).n);
}

/* Calls to the host in this vault; of a call that worked in one, all that it made. */
static int64_t calls_in(const struct account_part *p)
{
    size_t count;
    int64_t n = 0;
    if (!p->of->parts->next)
        return p->of->stats.host_calls;
    (void)host_calls(&count);
    for (size_t i = 0; i < count; i++)
        n += (int64_t)p->calls[i].done + p->calls[i].denied + p->calls[i].failed;
    return n;
}

static void put_stats(const struct account_part *p, struct json_writer *w)
{
    const struct account *a = p->of;
    if (!a->has_stats)
        return;
    json_pair_number(w, "cpu_ms", a->stats.compute_ms);
    json_pair_int(w, "peak_memory_bytes", (int64_t)a->stats.memory_peak);
    json_pair_int(w, "host_calls", calls_in(p));
    if (a->stats.fuel)
        json_pair_int(w, "fuel", (int64_t)a->stats.fuel);
}

/* The note and the workspace that its arguments name are of the vault it began in. */
static void put_arguments(const struct account_part *p, struct json_writer *w)
{
    struct account *a = p->of;
    struct str target = json_str(json_get(a->arguments, "identifier"));
    struct str workspace = json_str(json_get(a->arguments, "workspace_id"));
    if (target.n && p == a->parts)
        json_pair_str(w, "target", str_cut(target, 200));
    if (workspace.n && p == a->parts)
        json_pair_str(w, "workspace", str_cut(workspace, 200));
    put_code(a, w);
}

static void put_head(const struct account_part *p, const char *event,
                     struct json_writer *w)
{
    const struct account *a = p->of;
    char now[25];
    os_format_utc(os_real_ms(), now);
    json_pair_cstr(w, "time", now);
    json_pair_cstr(w, "event", event);
    if (*p->id)
        json_pair_cstr(w, "intent", p->id);
    json_pair_str(w, "caller", str_cut(str_of(a->who->name), 100));
    client_claim_put(a->who->claim, w);
    put_session(a->who->session, w);
    put_trace(a->who->trace, w);
    if (ward_path(p->ward))
        json_pair_str(w, "vault", str_cut(str_of(ward_path(p->ward)), 1000));
    json_pair_str(w, "action", str_cut(str_of(a->action), 100));
    put_arguments(p, w);
    json_pair_cstr(w, "level", level_name(a->level));
}

static void write_whole(struct account_part *p, struct shown *s, struct buf *out)
{
    const struct account *a = p->of;
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    put_head(p, "call", &w);
    json_pair_cstr(&w, "result", word_of(a->outcome));
    json_pair_number(&w, "ms", (double)(os_mono_ns() - a->begun_ns) / 1e6);
    put_stats(p, &w);
    for (enum list i = LIST_CALLS; i <= LIST_KEPT; i++)
        put_list(p, i, s, &w);
    if (p->asked) { /* persons */
        json_pair_int(&w, "asked", p->asked);
        json_pair_int(&w, "allowed", p->allowed);
    }
    if (p->changed)
        json_pair_bool(&w, "changed", true);
    if (p->revision)
        json_pair_int(&w, "revision", p->revision);
    for (enum list i = LIST_NOTES; i < LISTS; i++)
        put_list(p, i, s, &w);
    json_close(&w);
}

/* Halves the list that takes most. */
static void shorten(struct shown *s)
{
    size_t longest = 0;
    for (size_t i = 1; i < LISTS; i++)
        if (s->bytes[i] > s->bytes[longest])
            longest = i;
    s->most[longest] = s->rows[longest] / 2;
}

void account_write(struct account_part *p, struct buf *out)
{
    struct shown s;
    scoped_buf struct buf text;
    buf_init(&text, 256 * AUDIT_RECORD_MAX);
    for (size_t i = 0; i < LISTS; i++)
        s.most[i] = HOST_CALLS_MAX;
    for (write_whole(p, &s, &text); text.n > ROOM + 2; write_whole(p, &s, &text)) {
        shorten(&s);
        buf_clear(&text);
    }
    buf_put(out, text.at + 1, text.n - 2);
}

void account_write_intent(const struct account_part *p, const char *call, struct buf *out)
{
    scoped_buf struct buf text;
    buf_init(&text, AUDIT_RECORD_MAX);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    put_head(p, "intent", &w);
    json_pair_str(&w, "call", str_cut(str_of(call), 100));
    json_close(&w);
    if (text.failed)
        out->failed = true;
    else
        buf_put(out, text.at + 1, text.n - 2);
}
