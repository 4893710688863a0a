/* evaluate_note_code: an agent's program over the vault. */
#include <stdio.h>

#include "caller/caller.h"
#include "evaluating/answers.h"
#include "evaluating/atomic.h"
#include "evaluating/checking.h"
#include "evaluating/evaluating.h"
#include "evaluating/internal.h"
#include "evaluating/language.h"
#include "evaluating/limits.h"
#include "evaluating/report.h"
#include "performing/performing.h"
#include "record/record.h"
#include "results/results.h"

#define CODE_MAX ((size_t)1 << 20)
#define RESULT_MAX ((size_t)1 << 20) /* larger results are kept aside */
#define DEFAULT_TIMEOUT_MS 5000
#define DEFAULT_MEMORY_MB 128
#define MEMORY_MB_MIN 8
#define PREVIEW_MAX 2000u /* bytes */

/* ---- arguments ---------------------------------------------------------- */

bool limit_read(const struct json *arguments, const char *key, int64_t min, int64_t usual,
                int64_t ceiling, const char *unit, uint64_t *out, struct err *e)
{
    const struct json *given = json_get(arguments, key);
    int64_t v = json_int(given, usual < ceiling ? usual : ceiling);
    if (v < min || v > ceiling)
        return err_set(e, ERR_INVALID, "%s is %lld %s; %lld to %lld is accepted here",
                       key, (long long)v, unit, (long long)min, (long long)ceiling);
    *out = (uint64_t)v;
    return true;
}

bool limit_code(const struct action_call *c, struct str *code, struct err *e)
{
    *code = json_str(json_get(c->arguments, "code"));
    return code->n <= CODE_MAX ||
           err_set(e, ERR_LIMIT, "code has %zu bytes; at most %zu are accepted", code->n,
                   CODE_MAX);
}

bool limit_memory(const struct action_call *c, uint64_t *bytes, struct err *e)
{
    uint64_t mb = 0;
    bool ok = limit_read(c->arguments, "memoryLimit", MEMORY_MB_MIN, DEFAULT_MEMORY_MB,
                         permit_memory_mb(&c->place->permit), "MB", &mb, e);
    *bytes = mb << 20;
    return ok;
}

size_t limit_result(uint64_t memory_bytes)
{
    uint64_t share = memory_bytes / 8;
    return share < RESULT_MAX        ? RESULT_MAX
           : share > RESULT_KEPT_MAX ? RESULT_KEPT_MAX
                                     : (size_t)share;
}

/* `timeout` limits computing and waiting; beside computeTimeout it limits the whole, and
 * may be as long as the policy allows. */
static bool limit_times(const struct action_call *c, struct script_request *q,
                        struct err *e)
{
    const struct permit *permit = &c->place->permit;
    int64_t total = permit->policy->total_ms, computing = permit_timeout_ms(permit);
    bool apart = json_get(c->arguments, "computeTimeout") != NULL;
    q->total_ms = permit->policy->total_ms;
    if (!apart)
        return limit_read(c->arguments, "timeout", 1, DEFAULT_TIMEOUT_MS, computing, "ms",
                          &q->timeout_ms, e) &&
               (q->compute_ms = q->timeout_ms);
    return limit_read(c->arguments, "computeTimeout", 1, DEFAULT_TIMEOUT_MS, computing,
                      "ms", &q->compute_ms, e) &&
           limit_read(c->arguments, "timeout", 1, total, total, "ms", &q->timeout_ms, e);
}

static bool is_dry(const struct action_call *c)
{
    return json_bool(json_get(c->arguments, "dryRun"), false);
}

static bool read_request(const struct action_call *c, struct script_request *q,
                         struct err *e)
{
    if (!limit_code(c, &q->code, e) || !limit_times(c, q, e) ||
        !limit_memory(c, &q->memory_bytes, e))
        return false;
    q->features = features_asked(c->arguments);
    if (is_dry(c) && (q->features || json_get(c->arguments, "session")))
        return err_set(e, ERR_INVALID,
                       "a dry run has neither network nor files nor a session, where "
                       "what it does would stay; nothing was run");
    for (uint32_t bit = 1; bit < 1u << FEATURES; bit <<= 1)
        if (q->features & bit && !feature_of(bit)->check(c->place, e))
            return false;
    q->result_max = limit_result(q->memory_bytes);
    q->logs_max = LOGS_MAX;
    q->calls_max = c->place->permit.policy->host_calls;
    q->cancel = c->who->cancel;
    q->principal = caller_principal(c->who);
    q->trace = json_bool(json_get(c->arguments, "trace"), false);
    return true;
}

/* ---- running ------------------------------------------------------------ */

void evaluation_stop_calls(void *arg)
{
    struct evaluation *v = arg;
    cancel_fire(&v->stopping);
}

/* The context's original text is not kept; it is serialised again. */
static bool write_context(const struct json *context, struct buf *out, struct err *e)
{
    if (!context)
        return true;
    struct json_writer w = json_writer(out);
    json_put(&w, context);
    return buf_check(out, "context", e);
}

void evaluation_put_aside(const struct action_call *c, struct evaluation *v,
                          struct script_outcome *o)
{
    results_tidy(c->actions->results, os_mono_ms());
    if (!o->success || o->result.n <= RESULT_MAX)
        return;
    o->success = false;
    o->type = ERR_OUTPUT;
    buf_cstr(&o->name, err_kind(ERR_OUTPUT)->name);
    buf_printf(&o->message,
               "the result is %zu bytes of JSON; at most %zu are answered at once",
               o->result.n, RESULT_MAX);
    buf_str(&o->preview, str_cut(buf_view(&o->result), PREVIEW_MAX));
    v->result_bytes = o->result.n;
    (void)results_keep(c->actions->results, c->who, buf_view(&o->result), os_mono_ms(),
                       v->resource);
    buf_clear(&o->result);
}

/* Answers from the cache, if it has this key. */
static bool answer_again(const struct action_call *c, struct answer_key *key,
                         struct evaluation *v, struct script_outcome *o)
{
    uint64_t start = os_mono_ns();
    *key = answer_key(c);
    v->cached = answer_find(c->actions->cache, key, o);
    o->stats.total_ms = (double)(os_mono_ns() - start) / 1e6;
    return v->cached;
}

/* Caches the answer of code that only read, if the vault is unchanged. */
static void keep_answer(const struct action_call *c, const struct answer_key *key,
                        const struct evaluation *v, const struct script_outcome *o)
{
    if (!key->usable || v->cached || !o->success || o->changed || o->logs_dropped ||
        atomic_load(&v->unsteady) || v->notices.rows.n)
        return;
    struct answer_key now = answer_key(c);
    if (now.usable && !strcmp(now.hex, key->hex))
        answer_keep(c->actions->cache, key, o);
}

/* Whether the result itself shows a command's exit status. */
static bool result_is_whole(const struct script_outcome *o)
{
    struct str result = buf_view(&o->result);
    return memmem(result.at, result.n, "\"exitCode\":", 11);
}

/* Changes of a dry run are none of the account's. */
static bool run_accounted(const struct action_call *c, struct script *script,
                          struct script_request *q, struct script_outcome *o,
                          struct err *e)
{
    bool was_dry = c->account->dry;
    c->account->dry = was_dry || is_dry(c);
    bool ran = language_run(c, script, q, o, e);
    c->account->dry = was_dry;
    return ran;
}

static bool evaluation_run(const struct action_call *c, struct script *script,
                           struct script_request *q, struct session_lease *lease,
                           struct answer *out, struct err *e)
{
    struct evaluation v;
    evaluation_init(&v, c);
    v.python = language_is_python(c);
    v.lease = lease;
    v.script = script;
    v.trace = q->trace;
    v.features = q->features;
    v.cancel = &v.stopping; /* fired at the end of the code, for any reason */
    uint64_t all_ms = q->timeout_ms < q->total_ms ? q->timeout_ms : q->total_ms;
    v.until_ns = os_in_ms(all_ms);
    q->perform_arg = &v;
    bool dry = is_dry(c);
    v.dry = dry ? dry_new() : NULL;
    struct dry *copies = v.dry;
    struct script_outcome o;
    script_outcome_init(&o);
    struct answer_key key = {0};
    bool ran = (!dry && answer_again(c, &key, &v, &o)) ||
               run_accounted(c, script, q, &o, e) || lease_refuse(lease, &o, e);
    if (ran) {
        struct json_writer w = json_writer(&out->json);
        o.changed = o.changed && v.advice.written && !dry;
        lease_end(lease, &o);
        notice_losses(&v, &o);
        if (o.success && !result_is_whole(&o))
            notice_failed_command(&v, json_str(json_get(c->arguments, "code")));
        evaluation_put_aside(c, &v, &o);
        keep_answer(c, &key, &v, &o);
        account_script(c->account, &o);
        if (capability_custom())
            capability_custom()->ended(&v, &o, json_str(json_get(c->arguments, "code")));
        json_open_object(&w);
        report_put(&v, &o, &w);
        if (!o.success && !dry && json_bool(json_get(c->arguments, "atomic"), false))
            atomic_put(&v, &w);
        ran = !dry || dry_put_changes(copies, place_sees_notes(c->place), &w, e);
        json_close(&w);
        out->is_error = !o.success;
    }
    script_outcome_done(&o);
    evaluation_done(&v);
    dry_free(copies);
    return ran && buf_check(&out->json, "the answer", e);
}

bool action_evaluate(const struct action_call *c, struct answer *out, struct err *e)
{
    if (json_bool(json_get(c->arguments, "typesOnly"), false))
        return limit_code(c, &(struct str){0}, e) && action_types_only(c, out, e);
    struct script *script = language_guest(c, e);
    struct script_request q = {.perform = host_perform,
                               .over = evaluation_stop_calls,
                               .wrote = evaluation_log,
                               .stood = evaluation_human_wait_ns,
                               .due = evaluation_set_deadline};
    scoped_buf struct buf context;
    buf_init(&context, BUF_FILE);
    if (!script || !read_request(c, &q, e) ||
        !write_context(json_get(c->arguments, "context"), &context, e))
        return false;
    q.context = buf_view(&context);
    q.source = capability_custom() ? capability_custom()->source : NULL;
    struct session_lease lease;
    bool ok = lease_begin(&lease, c, language_is_python(c), &q, e) &&
              evaluation_run(c, script, &q, &lease, out, e);
    lease_done(&lease);
    return ok;
}

/* Code that could not run at all is answered like code that failed. */
void action_evaluate_refused(const struct err *why, struct answer *out)
{
    struct script_outcome o;
    script_outcome_init(&o);
    o.type = why->code;
    buf_cstr(&o.message, why->msg);
    buf_cstr(&o.logs, "[]");
    buf_clear(&out->json);
    struct json_writer w = json_writer(&out->json);
    report_write(NULL, &o, &w);
    out->is_error = true;
    script_outcome_done(&o);
}
