/* A call's record as JSON. Its fixed part is bounded; its lists are shortened until the
 * whole fits, and say how many rows are missing. */
#include "audit/audit.h"
#include "caller/caller.h"
#include "calls/calls.h"
#include "crypto/crypto.h"
#include "guard/guard.h"
#include "os/os.h"
#include "record/internal.h"
#include "record/record.h"
#include "json/json.h"

/* Without what the trail adds: number, MAC, the line's end. */
#define ROOM (AUDIT_RECORD_MAX - 256)

/* ---- lists ----------------------------------------------------------------- */

#define LISTS_MAX 16u

/* One list of a record, and how much of it is written. */
struct listed {
    const char *name, *more;
    size_t counts;                   /* of calls: which of their counts */
    const struct tally *tally;       /* or names */
    const struct account_rows *rows; /* or rows */
    size_t all, most;                /* rows there are, and that may be written */
    size_t written, bytes;           /* as last written */
};
struct listing {
    struct listed at[LISTS_MAX];
    size_t count, late; /* `late`: the first list behind the facts of a change */
};

static unsigned count_of(const struct account_part *p, size_t call, size_t which)
{
    const struct call_count *n = &p->calls[call];
    const atomic_uint *numbers[] = {&n->done, &n->denied, &n->failed};
    return atomic_load_explicit(numbers[which], memory_order_relaxed);
}

static void add_counts(struct listing *l, const struct account_part *p, const char *name,
                       const char *more)
{
    size_t count, which = l->count;
    (void)host_call_all(&count);
    struct listed *one = &l->at[l->count++];
    *one = (struct listed){.name = name, .more = more, .counts = which};
    for (size_t i = 0; p->has_calls && i < count; i++)
        one->all += count_of(p, i, which) > 0;
    one->most = one->all;
}

static void add_tally(struct listing *l, const struct tally *t, const char *name,
                      const char *more)
{
    size_t most = t->kept < ACCOUNT_LISTED ? t->kept : ACCOUNT_LISTED;
    l->at[l->count++] = (struct listed){
        .name = name, .more = more, .tally = t, .all = t->count, .most = most};
}

static void add_rows(struct listing *l, const struct account_part *p,
                     const struct account_list *which)
{
    const struct account_rows *r = p->rows;
    while (r && r->list != which)
        r = r->next;
    if (!r)
        return;
    must(l->count < LISTS_MAX);
    l->at[l->count++] =
        (struct listed){.name = which->name,
                        .more = which->more,
                        .rows = r,
                        .all = r->count,
                        .most = r->count < ACCOUNT_LISTED ? r->count : ACCOUNT_LISTED};
}

static void find_lists(struct listing *l, const struct account_part *p)
{
    *l = (struct listing){0};
    add_counts(l, p, "calls", "more_calls");
    add_counts(l, p, "denied", "more_denied");
    add_counts(l, p, "failed", "more_failed");
    for (size_t i = 0; i < capability_count; i++)
        for (const struct account_list *const *of = capability_list[i]->records;
             of && *of; of++)
            add_rows(l, p, *of);
    l->late = l->count;
    add_tally(l, &p->notes, "notes", "more_notes");
    add_tally(l, &p->hosts, "hosts", "more_hosts");
}

/* By the method's name. */
static void put_counts(const struct account_part *p, size_t which, size_t most,
                       struct json_writer *w)
{
    size_t count;
    const struct host_call *const *calls = host_call_all(&count);
    json_open_object(w);
    for (size_t i = 0; i < count && most; i++) {
        unsigned n = count_of(p, i, which);
        if (n) {
            json_pair_int(w, calls[i]->row.name, n);
            most--;
        }
    }
    json_close(w);
}

static void put_elements(const struct listed *l, struct json_writer *w)
{
    const char *name = NULL;
    json_open_array(w);
    for (size_t i = 0; i < l->written; i++) {
        if (l->tally && (name = tally_next(l->tally, name)))
            json_put_cstr(w, name);
        if (!l->rows)
            continue;
        json_open_object(w);
        l->rows->list->put(l->rows->at + i * l->rows->list->size, w);
        json_close(w);
    }
    json_close(w);
}

static void record_put_list(const struct account_part *p, struct listed *l,
                            struct json_writer *w)
{
    size_t before = w->out->n;
    l->written = l->most;
    if (l->written)
        json_key(w, l->name);
    if (l->written && (l->tally || l->rows))
        put_elements(l, w);
    else if (l->written)
        put_counts(p, l->counts, l->written, w);
    l->bytes = l->written ? w->out->n - before : 0;
    if (l->all > l->written)
        json_pair_int(w, l->more, (int64_t)(l->all - l->written));
}

/* ---- the fixed part ---------------------------------------------------------- */

/* A session's handle gives access to it: the trail has a hash. */
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

static void record_put_code(struct account *a, struct json_writer *w)
{
    const struct json *code = json_get(a->arguments, "code");
    if (!json_is(code, JSON_STRING))
        return;
    if (!a->code_hash[0])
        crypto_sha256_hex(json_str(code), a->code_hash);
    json_pair_cstr(w, "code", a->code_hash);
    json_pair_int(w, "code_bytes", (int64_t)json_str(code).n);
}

/* Host calls in this vault; if the call used one vault only, all of them. */
static int64_t calls_in(const struct account_part *p)
{
    size_t count;
    int64_t n = 0;
    if (!p->of->parts->next)
        return p->of->stats.host_calls;
    (void)host_call_all(&count);
    for (size_t i = 0; i < count; i++)
        n += (int64_t)p->calls[i].done + p->calls[i].denied + p->calls[i].failed;
    return n;
}

static void record_put_stats(const struct account_part *p, struct json_writer *w)
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

/* The note and workspace of its arguments are in the vault it began in. */
static void record_put_arguments(const struct account_part *p, struct json_writer *w)
{
    struct account *a = p->of;
    struct str target = json_str(json_get(a->arguments, "identifier"));
    struct str workspace = json_str(json_get(a->arguments, "workspace_id"));
    if (target.n && p == a->parts)
        json_pair_str(w, "target", str_cut(target, 200));
    if (workspace.n && p == a->parts)
        json_pair_str(w, "workspace", str_cut(workspace, 200));
    record_put_code(a, w);
}

static void put_head(const struct account_part *p, const char *event,
                     struct json_writer *w)
{
    const struct account *a = p->of;
    json_pair_time(w, "time", os_real_ms());
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
    record_put_arguments(p, w);
    json_pair_cstr(w, "level", level_name(a->level));
}

const char *account_word(enum err_code outcome)
{
    return outcome == ERR_NONE ? "success" : err_kind(outcome)->name;
}

static void write_whole(struct account_part *p, struct listing *l, struct buf *out)
{
    const struct account *a = p->of;
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    put_head(p, "call", &w);
    json_pair_cstr(&w, "result", account_word(a->outcome));
    json_pair_number(&w, "ms", (double)(os_mono_ns() - a->begun_ns) / 1e6);
    record_put_stats(p, &w);
    for (size_t i = 0; i < l->late; i++)
        record_put_list(p, &l->at[i], &w);
    if (p->asked) { /* users */
        json_pair_int(&w, "asked", p->asked);
        json_pair_int(&w, "allowed", p->allowed);
    }
    if (p->changed)
        json_pair_bool(&w, "changed", true);
    if (p->revision)
        json_pair_int(&w, "revision", p->revision);
    for (size_t i = l->late; i < l->count; i++)
        record_put_list(p, &l->at[i], &w);
    json_close(&w);
}

/* Halves the longest list. */
static void shorten(struct listing *l)
{
    struct listed *longest = l->at;
    for (struct listed *one = l->at; one < l->at + l->count; one++)
        longest = one->bytes > longest->bytes ? one : longest;
    longest->most = longest->written / 2;
}

void account_write(struct account_part *p, struct buf *out)
{
    struct listing l;
    scoped_buf struct buf text;
    buf_init(&text, 256 * AUDIT_RECORD_MAX);
    find_lists(&l, p);
    for (write_whole(p, &l, &text); text.n > ROOM + 2; write_whole(p, &l, &text)) {
        shorten(&l);
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
