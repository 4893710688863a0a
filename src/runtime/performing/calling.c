/* Performs a host call: permission, confirmation, the call, retries while it is busy,
 * accounting. Where the script allows it a wait has no thread: the call is put off, and
 * continues on another one. */
#include <time.h>

#include "guard/guard.h"
#include "notes/notes.h"
#include "os/os.h"
#include "performing/internal.h"
#include "performing/performing.h"
#include "place/place.h"
#include "record/record.h"

/* ---- retries ------------------------------------------------------------- */

#define RETRIES 4u
#define FIRST_PAUSE_MS 20u
#define RETRIES_NS 2000000000u /* a call that waited so long had its own retries */

static bool is_over(const struct evaluation *v)
{
    return cancel_fired(v->who->cancel) || cancel_fired(&v->stopping);
}

/* Doubles each time, with jitter. */
static unsigned pause_ms(unsigned attempt)
{
    uint8_t chance;
    os_random(&chance, sizeof chance);
    return (FIRST_PAUSE_MS << attempt) + chance % FIRST_PAUSE_MS;
}

/* Sleeps on the caller's thread. false: the answer is not needed any more. */
static bool pause_here(const struct evaluation *v, unsigned attempt)
{
    for (unsigned ms = pause_ms(attempt); ms && !is_over(v); ms -= ms < 10 ? ms : 10)
        (void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return !is_over(v);
}

bool call_with_retries(struct calling *x, struct buf *out, struct err *e)
{
    struct evaluation *v = x->v;
    uint64_t until = os_mono_ns() + RETRIES_NS;
    for (unsigned attempt = 0;; attempt++) {
        struct err why = {0};
        struct json_writer w = json_writer(out);
        size_t from = out->n;
        if (x->c->call(x, &w, &why))
            return true;
        if (why.code != ERR_BUSY || attempt == RETRIES || os_mono_ns() > until ||
            !pause_here(v, attempt))
            return err_pass(e, &why);
        atomic_fetch_add(&v->retries, 1);
        out->n = from;
    }
}

/* ---- waiting ------------------------------------------------------------- */

void calling_wait(struct calling *x, calling_fn *again, enum script_wait_kind kind,
                  uint64_t until_ns)
{
    x->again = again;
    x->kind = kind;
    x->until_ns = until_ns;
    x->waits = true;
}

bool calling_over(const struct calling *x)
{
    return is_over(x->v) || (x->task && cancel_fired(script_task_cancel(x->task)));
}

void calling_leave_vault(struct calling *x)
{
    if (x->inside)
        evaluation_leave(x->v);
    x->inside = false;
}

struct consent *calling_consent(struct calling *x)
{
    if (!x->task)
        return NULL;
    x->consent.v = x->v;
    x->consent.task = x->task;
    return &x->consent;
}

struct cancel *calling_cancel(struct calling *x)
{
    return x->task ? script_task_cancel(x->task) : x->v->cancel;
}

/* ---- the vault ---------------------------------------------------------- */

struct vault *read_vault(struct calling *x, struct err *e)
{
    struct evaluation *v = x->v;
    struct vault *vault = evaluation_vault(v, e);
    const struct vault_view view = {.notes = true,
                                    .types = true,
                                    .cancel = {v->who->cancel, &v->stopping},
                                    .outcome = &x->outcome};
    return vault ? vault_as(vault, &view) : NULL;
}

struct vault *own_vault(struct calling *x, struct err *e)
{
    struct evaluation *v = x->v;
    return place_view(v->here, evaluation_vault(v, e), v->who->cancel, &v->stopping,
                      x->preview ? &x->preview->of : NULL, &x->outcome);
}

/* ---- the call ------------------------------------------------------------ */

static calling_fn make;

/* A busy call had no effect, and was permitted. */
static bool make_again(struct calling *x, struct buf *out, struct err *e)
{
    struct err why = *e;
    if (!x->permitted || why.code != ERR_BUSY || x->attempt == RETRIES ||
        os_mono_ns() > x->retry_until_ns || calling_over(x))
        return false;
    if (!x->inside) { /* it released the vault, where it would begin again */
        evaluation_enter(x->v);
        x->inside = true;
        if (x->v->here != x->here)
            return false; /* it was permitted in another vault */
    }
    *e = (struct err){0};
    out->n = 0;
    uint64_t ms = pause_ms(x->attempt++);
    x->busy = why;
    calling_wait(x, make, SCRIPT_WAIT_LIGHT, os_in_ms(ms));
    return false;
}

/* Waits for a user's decision; the call begins again after it. */
static bool await_consent(struct calling *x, struct buf *out, struct err *e)
{
    uint64_t look_ns;
    calling_fn *then = x->then;
    if (calling_over(x)) {
        consent_drop(&x->consent);
        return err_set(e, ERR_CANCELLED, "cancelled while waiting for approval");
    }
    if (consent_is_there(&x->consent, &look_ns)) {
        x->consent.waits = false;
        return then(x, out, e);
    }
    calling_wait(x, await_consent, SCRIPT_WAIT_LIGHT, look_ns);
    return false;
}

/* `then` is the beginning of the function that asks. */
static void put_off_for_consent(struct calling *x, calling_fn *then, struct buf *out,
                                struct err *e)
{
    *e = (struct err){0};
    out->n = 0;
    x->then = then;
    calling_wait(x, await_consent, SCRIPT_WAIT_LIGHT, os_mono_ns());
}

/* Begins or continues the call. */
static bool run_it(struct calling *x, calling_fn *fn, struct buf *out, struct err *e)
{
    x->waits = false;
    bool ok = fn(x, out, e);
    return ok || (!x->waits && make_again(x, out, e));
}

static bool make(struct calling *x, struct buf *out, struct err *e)
{
    if (x->attempt && calling_over(x)) {
        *e = x->busy;
        return false;
    }
    if (x->attempt)
        atomic_fetch_add(&x->v->retries, 1);
    struct json_writer w = json_writer(out);
    bool ok = x->c->begin ? x->c->begin(x, out, e) : x->c->call(x, &w, e);
    if (!ok && x->consent.waits)
        put_off_for_consent(x, make, out, e);
    return ok;
}

static bool make_patiently(struct calling *x, struct buf *out, struct err *e)
{
    x->permitted = true;
    if (!x->task)
        return call_with_retries(x, out, e);
    x->retry_until_ns = os_mono_ns() + RETRIES_NS;
    return run_it(x, make, out, e);
}

/* Performs it once as a preview; *asks: it would change something. */
static bool calling_preview(struct calling *x, bool *asks, struct err *e)
{
    *asks = true;
    if (!x->c->reviewed || x->preview)
        return true;
    struct err why = {0};
    scoped_buf struct buf nothing;
    buf_init(&nothing, CALL_ARGS_MAX);
    struct json_writer w = json_writer(&nothing);
    x->preview = preview_new();
    bool ok = x->c->call(x, &w, &why);
    /* a failure before any change is the call's own */
    x->permitted = !ok && !x->preview->of.known;
    return preview_end_look(x->preview, ok, &why, asks, e);
}

/* Resolves the vault that it names, once; another one afterwards is a conflict. */
static bool confirmed_vault(struct calling *x, const struct ask_by *by, struct err *e)
{
    host_call_resolve_fn *resolve = host_call_group_of(x->c)->resolve;
    scoped_resolved struct resolved now;
    resolved_init(&now);
    if (!x->resolved) {
        x->resolved = mem_new(sizeof *x->resolved);
        resolved_init(x->resolved);
        if (!resolve(x->v, x->args, x->resolved, e))
            return false;
    }
    struct permit_need need = host_call_need(x->c);
    return confirm_call(by, &need, x->args, &x->resolved->changes, e) &&
           resolve(x->v, x->args, &now, e) && resolved_holds(x->resolved, &now, e);
}

/* Asks a user, if the policy requires it. */
static bool confirmed(struct calling *x, struct err *e)
{
    bool asks;
    struct evaluation *v = x->v;
    struct permit_need need = host_call_need(x->c);
    if (v->dry || !permit_asks(&x->here->permit, &need))
        return true;
    if (!calling_preview(x, &asks, e) || !asks)
        return !e->code;
    const struct ask_by by = {.actions = v->actions,
                              .place = x->here,
                              .who = v->who,
                              .evaluation = v,
                              .consent = calling_consent(x)};
    if (x->c->names_vault)
        return confirmed_vault(x, &by, e);
    return confirm_call(&by, &need, x->args, x->preview ? &x->preview->changes : NULL, e);
}

static bool confirm(struct calling *x, struct buf *out, struct err *e)
{
    x->waits = false;
    if (confirmed(x, e))
        return make_patiently(x, out, e);
    if (x->consent.waits)
        put_off_for_consent(x, confirm, out, e);
    return false;
}

/* ---- lifecycle ------------------------------------------------------------- */

/* A custom function's author may have fewer rights than its caller: it works in its own
 * vault, where the evaluation began, and cannot leave it. */
static bool stays(const struct evaluation *v, const struct host_call *c, struct err *e)
{
    if (c->outward)
        return err_set(e, ERR_DENIED,
                       "%s is not for custom functions: they work in their own vault and "
                       "know no other; let the code that calls the function do it",
                       c->row.name);
    return v->here == v->places ||
           err_set(e, ERR_DENIED,
                   "%s: a custom function works in its own vault alone, and the code has "
                   "gone on to another; go back before it is called",
                   c->row.name);
}

/* The arguments of a refused call are recorded as well. */
static void record_refused(struct evaluation *v, const struct host_call *c,
                           struct str args, enum err_code outcome)
{
    struct err none = {0};
    scoped(arena_free) struct arena *a = arena_new(CALL_ARGS_MAX);
    const struct json *values = json_read(args, a, &none);
    if (values)
        c->refused(v, values, a, outcome);
}

/* The number of parameters in the brackets that begin before `at`; SIZE_MAX: any. */
static size_t parameters_at(const char *at)
{
    size_t depth = 1, n = *at != ')';
    for (; *at && depth; at++) {
        if (depth == 1 && !strncmp(at, "...", 3))
            return SIZE_MAX;
        n += depth == 1 && *at == ',';
        depth += strchr("({[<", *at) != NULL;
        depth -= strchr(")}]", *at) || (*at == '>' && at[-1] != '=');
    }
    return n;
}

/* The number of parameters of the longest overload. */
static size_t parameters(const struct host_call *c)
{
    size_t most = 0;
    for (const char *at = c->signature; at; at = strchr(at, '\n')) {
        at = strchr(at, '(');
        if (!at)
            break;
        size_t n = parameters_at(at + 1);
        most = n > most ? n : most;
    }
    return most;
}

/* A surplus argument is probably an option, and an error. A callback of map has two more:
 * index and array. */
static bool takes_as_many(const struct host_call *c, const struct json *args,
                          struct err *e)
{
    size_t given = json_length(args), most = given < 2 ? given : parameters(c);
    if (given <= most || c->row.wrap || c->hidden ||
        json_is(json_at(args, most), JSON_NULL) ||
        json_is(json_at(args, most + 1), JSON_ARRAY))
        return true;
    return err_set(e, ERR_INVALID, "%s takes %zu argument%s, not %zu; nothing was done",
                   c->row.name, most, most == 1 ? "" : "s", given) ||
           err_because(e, CAUSE_SHAPE);
}

static bool calling_begin(struct calling *x, struct str args, struct buf *out,
                          struct err *e)
{
    struct evaluation *v = x->v;
    const struct host_call *c = x->c;
    if (x->within && !stays(v, c, e))
        return false;
    if (!evaluation_allows(v, c, e) || (v->dry && !dry_begin(v, c, e))) {
        if (c->refused)
            record_refused(v, c, args, e->code);
        return false;
    }
    x->arena = arena_new(CALL_ARGS_MAX);
    x->outcome.arena = x->arena;
    x->args = json_read(args, x->arena, e);
    if (!x->args)
        return err_wrap(e, "%s", c->row.name);
    if (!takes_as_many(c, x->args, e)) {
        advice_failed(x, e);
        return false;
    }
    if (!c->steady)
        atomic_store(&v->unsteady, true);
    return confirm(x, out, e);
}

static bool go_on(void *calling, struct script_task *t, struct buf *out, struct err *e);

/* The call is done, or waits: then it moves to the heap. */
static bool leave(struct calling *x, bool ok, struct err *e)
{
    struct evaluation *v = x->v;
    if (x->waits) {
        struct calling *kept = x->kept ? x : mem_new(sizeof *kept);
        if (kept != x)
            *kept = *x;
        kept->kept = true;
        script_wait(kept->task, go_on, kept, kept->kind, kept->until_ns);
        return false;
    }
    consent_drop(&x->consent); /* it was not needed */
    preview_free(x->preview);
    if (x->resolved)
        resolved_done(x->resolved);
    free(x->resolved);
    if (x->permitted && ok)
        advice_done(x);
    else if (x->permitted)
        advice_failed(x, e);
    /* Not at the end of the evaluation: an alert may have to stop it. */
    account_removed(x->here->part, &x->outcome);
    calling_leave_vault(x);
    enum err_code outcome = ok ? ERR_NONE : e->code;
    if (!ok)
        paths_hide(v->who, x->asked, e);
    if (!x->c->row.sync)
        evaluation_count_call(v, x->c->row.name);
    uint64_t now_ns = os_mono_ns();
    account_call(x->here->part, x->row, x->c, outcome, &x->outcome);
    account_step(x->here->part, x->row, outcome, x->begun_ns, now_ns);
    telemetry_call(v->actions->telemetry, x->row, outcome, now_ns - x->begun_ns);
    arena_free(x->arena);
    if (x->kept)
        free(x);
    return ok;
}

static bool go_on(void *calling, struct script_task *t, struct buf *out, struct err *e)
{
    struct calling *x = calling;
    (void)t;
    return leave(x, run_it(x, x->again, out, e), e);
}

bool calling_perform(struct calling *x, uint32_t row, struct str args, struct buf *out,
                     struct err *e)
{
    size_t count;
    const struct host_call *const *calls = host_call_all(&count);
    must(row < count);
    x->c = calls[row];
    x->row = row;
    if (!x->c->call)
        return err_set(e, ERR_NOT_FOUND, "unknown host call %s", x->c->row.name);
    x->asked = args;
    x->inside = true;
    x->begun_ns = os_mono_ns();
    evaluation_enter(x->v);
    x->here = x->v->here;
    x->outcome = (struct outcome){.hear = account_effect, .arg = x->here->part};
    return leave(x, calling_begin(x, args, out, e), e);
}

bool host_perform(void *arg, struct script_task *t, uint32_t row, struct str args,
                  struct buf *out, struct err *e)
{
    struct calling x = {.v = arg, .task = t, .within = row & SCRIPT_WITHIN};
    return calling_perform(&x, row & ~SCRIPT_WITHIN, args, out, e);
}
