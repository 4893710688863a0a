/* An evaluation from its code to its outcome.
 *
 * The guest runs until it only waits; then it hands over the host calls it has
 * made, they are performed (the slow ones at the same time, on other threads),
 * and it goes on as soon as one is done.
 */
#include "script/script.h"

#include <malloc.h>

#include "abi/abi.h"
#include "os/os.h"
#include "script/internal.h"
#include "json/json.h"

#define MANY_CALLS 500u
#define TEXT_MAX ((size_t)64 << 10)    /* of an error's parts */
#define SETTLED_MAX ((size_t)1 << 30)  /* answers that are handed over at once */
#define MEMORY_MAX ((uint64_t)1 << 30) /* as far as the guest's heap reaches */

/* ---- the outcome -------------------------------------------------------- */

void script_outcome_init(struct script_outcome *o)
{
    *o = (struct script_outcome){0};
    buf_init(&o->result, SIZE_MAX / 2);
    buf_init(&o->lost, BUF_PAGE);
    buf_init(&o->logs, SIZE_MAX / 2);
    buf_init(&o->saved, 0);
    struct buf *const texts[] = {&o->name,    &o->message, &o->stack,   &o->frame,
                                 &o->preview, &o->missing, &o->problem, &o->within.frame};
    for (size_t i = 0; i < LENGTH(texts); i++)
        buf_init(texts[i], TEXT_MAX);
}

void script_outcome_done(struct script_outcome *o)
{
    struct buf *const all[] = {&o->result,  &o->lost,  &o->logs,    &o->name,
                               &o->message, &o->stack, &o->frame,   &o->preview,
                               &o->missing, &o->saved, &o->problem, &o->within.frame};
    for (size_t i = 0; i < LENGTH(all); i++)
        buf_done(all[i]);
    free(o->made);
    free(o->tallies);
    free(o->visits);
}

static const char *const levels[] = {"log", "info", "warn", "error", "debug"};

static void run_report_log(struct run *r, size_t at, const struct script_log *head,
                           struct str message)
{
    if (!r->q->wrote || at < r->told)
        return;
    r->told = at + 1;
    r->q->wrote(r->q->perform_arg, levels[head->level < LENGTH(levels) ? head->level : 0],
                message);
}

/* The next of the rows; false: that was all. */
static bool next_log(struct str all, size_t *at, struct script_log *head,
                     struct str *message)
{
    if (all.n - *at < sizeof *head)
        return false;
    memcpy(head, all.at + *at, sizeof *head);
    *at += sizeof *head;
    if (head->size > all.n - *at)
        return false;
    *message = (struct str){all.at + *at, head->size};
    size_t padded = SCRIPT_PAD((size_t)head->size);
    *at += padded < all.n - *at ? padded : all.n - *at;
    return true;
}

/* Reports the logs written so far, while it waits. */
static void tell_logs(struct run *r, struct world *w)
{
    struct script_logs view;
    const void *at = r->q->wrote ? world_slice(w, r->script->logs_at, sizeof view) : NULL;
    if (!at)
        return;
    memcpy(&view, at, sizeof view);
    const char *rows =
        view.size <= r->q->logs_max ? world_slice(w, view.at, view.size) : NULL;
    struct script_log head;
    struct str message;
    for (size_t from = 0, next = 0;
         rows && next_log((struct str){rows, view.size}, &next, &head, &message);
         from = next)
        run_report_log(r, from, &head, message);
}

/* The rows of struct script_log as a JSON array. */
static void write_logs(struct run *r, struct str all, uint32_t dropped)
{
    struct json_writer j = json_writer(&r->out->logs);
    json_open_array(&j);
    struct script_log head;
    struct str message;
    for (size_t from = 0, next = 0; next_log(all, &next, &head, &message); from = next) {
        run_report_log(r, from, &head, message);
        json_open_object(&j);
        json_pair_cstr(&j, "level", levels[head.level < LENGTH(levels) ? head.level : 0]);
        json_pair_str(&j, "message", message);
        json_close(&j);
    }
    json_close(&j);
    r->out->logs_dropped = dropped;
}

static bool read_logs(struct run *r, struct world *w, const struct script_answer *a,
                      struct err *e)
{
    struct str all = {0};
    if (!guest_text(w, a->logs_at, a->logs_size, &all, e))
        return false;
    write_logs(r, all, a->logs_dropped);
    return true;
}

/* Saves the logs of a guest that was stopped. */
static void salvage_logs(struct run *r, struct world *w)
{
    struct script_logs view;
    const void *at = world_remains(w, r->script->logs_at, sizeof view);
    if (!at)
        return;
    memcpy(&view, at, sizeof view);
    const char *rows = world_remains(w, view.at, view.size);
    if (rows && view.size <= r->q->logs_max)
        write_logs(r, (struct str){rows, view.size}, view.dropped);
}

static bool read_outcome(struct run *r, struct world *w, const struct script_answer *a,
                         struct err *e)
{
    struct str text = {0};
    if (!read_logs(r, w, a, e) || !guest_text(w, a->result_at, a->result_size, &text, e))
        return false;
    /* The guest keeps to result_max; the host does not rely on it. */
    if (text.n > r->q->result_max)
        text.n = r->q->result_max;
    buf_str(&r->out->result, text);
    if (!guest_text(w, a->lost_at, a->lost_size, &text, e))
        return false;
    buf_str(&r->out->lost, text);
    r->out->success = !a->failed;
    if (r->out->success)
        return true;
    if (!guest_text(w, a->error_at, a->error_size, &text, e))
        return false;
    explain_error(r->out, r->q->code, text, a);
    if (r->out->type == ERR_GUEST)
        explain_missing(r->q, r->out);
    return true;
}

/* ---- running ------------------------------------------------------------ */

/* Small requests go where every world has room already: the guest need not be
 * asked. It is our own, and has a NUL behind its input. A session's world may have moved
 * that room. */
static char *request_room(struct run *r, struct world *w, size_t n, struct err *e)
{
    if (n >= INPUT_READY || r->q->saved.n)
        return guest_room(w, n, e);
    char *at = world_slice(w, r->script->input_at, INPUT_READY);
    if (at)
        at[n] = '\0';
    else
        err_set(e, ERR_GUEST, "the guest's input lies outside its memory");
    return at;
}

static bool send_request(struct run *r, struct world *w, uint64_t *size, struct err *e)
{
    const struct script_request *q = r->q;
    struct script_head head = {
        .abi = SCRIPT_ABI,
        .code_size = (uint32_t)q->code.n,
        .context_size = (uint32_t)q->context.n,
        .result_max = (uint32_t)q->result_max,
        .logs_max = (uint32_t)q->logs_max,
        .calls_max = q->calls_max,
        .features = q->features,
        .flags = (q->session ? SCRIPT_SESSION : 0) | (q->trace ? SCRIPT_TRACE : 0) |
                 (q->function ? SCRIPT_FUNCTION : 0) | (q->check ? SCRIPT_CHECK : 0)};
    *size = sizeof head + q->code.n + q->context.n;
    char *to = request_room(r, w, *size, e);
    if (!to)
        return false;
    memcpy(to, &head, sizeof head);
    memcpy(to + sizeof head, q->code.at, q->code.n);
    if (q->context.n)
        memcpy(to + sizeof head + q->code.n, q->context.at, q->context.n);
    return true;
}

uint64_t run_until(const struct run *r)
{
    return r->until_ns + (r->q->stood ? r->q->stood(r->q->perform_arg) : 0);
}

uint64_t run_wait_until(const struct run *r)
{
    uint64_t stood = r->q->stood ? r->q->stood(r->q->perform_arg) : 0;
    uint64_t until = r->patient_ns < r->until_ns ? r->patient_ns : r->until_ns;
    return until + stood;
}

/* The guest waits from now on: for no longer than timeout_ms leaves. What persons took is
 * in host_ns, and run_wait_until() adds it again. */
static void begin_waiting(struct run *r, struct world *w, uint64_t now)
{
    uint64_t used =
        r->in_call ? os_thread_cpu_ns() - r->cpu_ns : world_usage(w).compute_ns;
    used += r->host_ns;
    r->patient_ns =
        r->q->timeout_ms ? now + r->q->timeout_ms * 1000000u - used : UINT64_MAX / 2;
    if (r->q->due)
        r->q->due(r->q->perform_arg,
                  r->patient_ns < r->until_ns ? r->patient_ns : r->until_ns);
}

/* It goes on: what it waited for is not left to compute in. */
static void resume_limits(struct run *r, struct world *w)
{
    uint64_t stood = r->q->stood ? r->q->stood(r->q->perform_arg) : 0;
    uint64_t waited = r->host_ns > stood ? r->host_ns - stood : 0;
    uint64_t all = r->q->timeout_ms * 1000000u, most = r->q->compute_ms * 1000000u;
    if (r->q->due)
        r->q->due(r->q->perform_arg, UINT64_MAX);
    world_set_until(w, run_until(r));
    if (!all)
        return;
    uint64_t left = all > waited ? all - waited : 1;
    left = most && most < left ? most : left;
    if (!r->in_call)
        world_set_compute(w, left);
    else if (left < r->computes_ns)
        world_charge(w, r->computes_ns - left);
    r->computes_ns = left;
}

bool run_rest(struct run *r, struct world *w, const struct script_answer *a,
              struct err *e)
{
    uint64_t start = os_mono_ns();
    begin_waiting(r, w, start);
    tell_logs(r, w);
    bool ok = run_take_calls(r, w, a, e);
    if (ok) {
        run_send_slow(r);
        run_perform_quick(r);
    }
    ok = ok && run_wait(r, a, e);
    r->host_ns += os_mono_ns() - start;
    if (!r->in_call)
        resume_limits(r, w);
    return ok;
}

/* wait(at, n, has_timer, ms) -> size of the rows that are done: the Python guest waits
 * within its code. */
bool import_wait(struct world *w, uint64_t *cells, struct err *e)
{
    struct run *r = world_data(w);
    struct script_answer a = {.calls_at = (uint32_t)cells[0],
                              .calls_size = (uint32_t)cells[1],
                              .has_timer = (uint32_t)cells[2]};
    memcpy(&a.timer_ms, &cells[3], sizeof a.timer_ms);
    if (!guest_is_asked(r, e))
        return false;
    world_pause(w);
    uint64_t cpu = os_thread_cpu_ns();
    r->in_call = true;
    bool ok = run_rest(r, w, &a, e);
    if (ok)
        run_collect(r);
    r->cpu_ns += os_thread_cpu_ns() - cpu;
    world_resume(w);
    resume_limits(r, w);
    r->given = &r->settled;
    cells[0] = (uint32_t)r->settled.n;
    return ok &&
           (!r->settled.failed || err_set(e, ERR_MEMORY, "its answers are too large"));
}

static bool run_world(struct run *r, struct world *w, struct err *e)
{
    struct script_answer a;
    uint64_t size;
    if (!send_request(r, w, &size, e) ||
        !guest_answer(w, "start", &size, 1, &a, sizeof a, e))
        return false;
    while (a.status == SCRIPT_WAITING)
        if (!run_rest(r, w, &a, e) || !run_settle(r, w, &a, e))
            return false;
    return read_outcome(r, w, &a, e);
}

/* The outcome stands already: that its world is not kept is told beside it. */
static void save_session(struct run *r, struct world *w)
{
    uint64_t none = 0;
    buf_done(&r->out->saved);
    buf_init(&r->out->saved, r->q->saved_max);
    if (world_call(w, "rest", &none, 0, &r->out->unsaved) &&
        world_save(w, &r->out->saved, &r->out->unsaved))
        return;
    buf_done(&r->out->saved);
    buf_init(&r->out->saved, 0);
}

static bool run_init(struct run *r, struct script *s, const struct script_request *q,
                     struct script_outcome *out)
{
    *r = (struct run){.script = s, .q = q, .out = out, .started_ns = os_mono_ns()};
    r->until_ns = q->total_ms ? r->started_ns + q->total_ms * 1000000u : UINT64_MAX / 2;
    r->cpu_ns = os_thread_cpu_ns();
    r->computes_ns = q->timeout_ms && (!q->compute_ms || q->timeout_ms < q->compute_ms)
                         ? q->timeout_ms
                         : q->compute_ms;
    r->computes_ns *= 1000000u;
    buf_init(&r->sync_answer, CALL_ANSWER_MAX);
    buf_init(&r->settled, SETTLED_MAX);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->change, NULL);
    return true;
}

static void run_end(struct run *r, struct world *w)
{
    run_end_calls(r);
    struct script_stats *stats = &r->out->stats;
    if (w) {
        struct world_usage u = world_usage(w);
        stats->compute_ms = (double)u.compute_ns / 1e6;
        stats->memory_peak = u.memory_peak;
        stats->fuel = u.fuel;
    }
    stats->host_ms = (double)r->host_ns / 1e6;
    buf_done(&r->sync_answer);
    buf_done(&r->settled);
    pthread_cond_destroy(&r->change);
    pthread_mutex_destroy(&r->lock);
}

/* Says which of the three limits it was, and where the time went. */
static void explain_timeout(const struct run *r, struct err *why)
{
    const struct script_request *q = r->q;
    const struct script_stats *stats = &r->out->stats;
    double waited = stats->host_ms, all = (double)q->timeout_ms;
    if (q->stood)
        waited -= (double)q->stood(q->perform_arg) / 1e6;
    *why = (struct err){0};
    if (q->compute_ms && stats->compute_ms + 1 >= (double)q->compute_ms)
        err_set(why, ERR_TIMEOUT, "computed for more than %llu ms",
                (unsigned long long)q->compute_ms);
    else if (q->timeout_ms && stats->compute_ms + waited + 1 >= all)
        err_set(why, ERR_TIMEOUT,
                "took longer than %llu ms: %.0f ms of computing, %.0f ms of waiting",
                (unsigned long long)q->timeout_ms, stats->compute_ms, waited);
    else
        err_set(why, ERR_TIMEOUT, "took longer than %llu ms in all, waiting included",
                (unsigned long long)q->total_ms);
}

/* Only to be had anew, whether it is another build's or damaged. */
static bool refuse_saved(struct script_outcome *out, struct err *e)
{
    out->unrestored = true;
    if (e->code == ERR_INVALID)
        e->code = ERR_CONFLICT;
    return false;
}

/* The parser of JavaScript ends with its stack, and tells no place. */
static void explain_nested(const struct run *r, struct script_outcome *out)
{
    struct str code = r->q->code;
    if (r->script->language != &script_javascript ||
        !guest_code_is_nested(code, GUEST_NESTED_MAX, &out->line, &out->column))
        return;
    buf_cstr(&out->message, ": the code is nested too deeply here");
    explain_frame(code, out->line, out->column, &out->frame);
}

bool script_run(struct script *s, const struct script_request *q,
                struct script_outcome *out, struct err *e)
{
    if (!str_is_utf8(q->code))
        return err_set(e, ERR_INVALID, "code is not UTF-8 text");
    if (!check_context(s, q->context, e))
        return false;
    struct run r;
    run_init(&r, s, q, out);
    struct world_limits limits = {
        .memory_bytes = q->memory_bytes < MEMORY_MAX ? q->memory_bytes : MEMORY_MAX,
        .compute_ns = r.computes_ns,
        .until_ns = r.until_ns,
        .fuel = s->kind == ENGINE_OWN_METERED ? q->fuel : 0,
        .tenant = q->tenant,
        .cancel = q->cancel,
    };
    struct err why = {0};
    struct world *w = world_open(s->module, &limits, &r, &why);
    out->begun_ns = r.started_ns;
    bool restored = w && (q->saved.n == 0 || world_restore(w, q->saved, e));
    bool ran = restored && run_world(&r, w, &why);
    if (restored)
        sources_read(&r, w, !ran);
    if (ran && q->session)
        save_session(&r, w);
    if (w && !ran)
        salvage_logs(&r, w);
    uint32_t line = restored && !ran ? frames_line(s, w) : 0;
    run_end(&r, w);
    world_close(w);
    if (w && !restored)
        return refuse_saved(out, e);
    /* Thousands of answers, and worlds that were stopped, leave the C library's heap
     * in pieces that it would keep; deep recursion leaves stack. */
    if (!ran || out->stats.host_calls >= MANY_CALLS)
        (void)malloc_trim(0);
    if (!out->success)
        os_stack_trim();
    if (!ran && why.code == ERR_TIMEOUT)
        explain_timeout(&r, &why);
    if (!ran)
        explain_limit(out, &why);
    if (!ran && why.code == ERR_STACK)
        explain_nested(&r, out);
    if (line) {
        out->line = line;
        explain_frame(q->code, line, 0, &out->frame);
    }
    if (!out->logs.n)
        buf_cstr(&out->logs, "[]");
    out->stats.total_ms = (double)(os_mono_ns() - r.started_ns) / 1e6;
    return why.code != ERR_BUSY || err_set(e, why.code, "%s", why.msg);
}
