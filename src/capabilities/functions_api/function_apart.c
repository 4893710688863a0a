/* Custom functions for code of another language than theirs: each call runs in a JavaScript
 * world of its own, with the caller's rights and vault, and JSON goes between. */
#include "functions_api/function_load.h"

#include "caller/caller.h"
#include "evaluation/evaluation.h"
#include "guard/guard.h"
#include "os/os.h"
#include "services/services.h"
#include "json/json.h"

#define RESULT_BYTES ((size_t)8 << 20)
#define ARGS_BYTES ((size_t)8 << 20)

static const char calling_code[] = "return customFunctions[call.name](...call.args);";

static bool write_call(struct str name, const struct json *args, struct buf *out,
                       struct err *e)
{
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_key(&w, "call");
    json_open_object(&w);
    json_pair_str(&w, "name", name);
    json_pair(&w, "args", args);
    json_close(&w);
    json_close(&w);
    return buf_check(out, "the arguments", e);
}

/* Its limits are what is left to the evaluation. */
static bool apart_limits(const struct evaluation *v, struct script_request *q,
                         struct err *e)
{
    const struct permit *permit = &v->here->permit;
    uint64_t now = os_mono_ns(),
             until = v->until_ns + evaluation_human_wait_ns((void *)(uintptr_t)v);
    uint64_t left_ms = until > now ? (until - now) / 1000000 : 0;
    if (!left_ms)
        return err_set(e, ERR_TIMEOUT, "the time is over");
    q->total_ms = left_ms;
    q->compute_ms = permit_timeout_ms(permit);
    if (q->compute_ms > left_ms)
        q->compute_ms = left_ms;
    q->memory_bytes = (uint64_t)permit_memory_mb(permit) << 20;
    q->calls_max = permit->policy->host_calls;
    q->cancel = v->cancel;
    return true;
}

/* Counted with the functions' other calls when the evaluation ends. */
static void apart_count(struct evaluation *v, const struct script_outcome *o)
{
    struct loaded_functions *l = functions_loaded(v);
    struct script_tally *grown = realloc(l->apart, (l->count + 1) * sizeof *grown);
    if (!grown)
        return;
    for (size_t i = l->apart_count; i < l->count; i++)
        grown[i] = (struct script_tally){.stride = 1};
    l->apart = grown;
    l->apart_count = l->count;
    for (size_t i = 0; i < o->tally_count && i < l->count; i++) {
        l->apart[i].calls += o->tallies[i].calls;
        l->apart[i].failed += o->tallies[i].failed + o->tallies[i].open;
        l->apart[i].total_ms += o->tallies[i].total_ms;
    }
}

static bool apart_failed(const struct script_outcome *o, struct str name, struct err *e)
{
    bool own = o->type == ERR_GUEST && o->name.n;
    struct str what = own ? buf_view(&o->name) : str_of(err_kind(o->type)->name);
    return err_set(e, o->type, "customFunctions.%.*s: %.*s: %.*s",
                   STR_ARGS(str_cut(name, 60)), STR_ARGS(str_cut(what, 60)),
                   STR_ARGS(str_cut(buf_view(&o->message), 400)));
}

bool function_call_apart(struct evaluation *v, struct str name, const struct json *args,
                         struct json_writer *out, struct err *e)
{
    scoped_buf struct buf context = buf_of(ARGS_BYTES);
    struct script *script = services_script(v->actions->services, e);
    struct script_request q = {.code = str_of(calling_code),
                               .perform = host_perform,
                               .perform_arg = v,
                               .wrote = evaluation_log,
                               .stood = evaluation_human_wait_ns,
                               .source = functions_source,
                               .result_max = RESULT_BYTES,
                               .logs_max = LOGS_MAX,
                               .principal = caller_principal(v->who)};
    struct script_outcome o;
    if (!script || !apart_limits(v, &q, e) || !write_call(name, args, &context, e))
        return false;
    q.context = buf_view(&context);
    script_outcome_init(&o);
    /* Its own calls may go to another vault, which waits until no call is inside of one. */
    evaluation_leave(v);
    bool ok = script_run(script, &q, &o, e);
    evaluation_enter(v);
    if (ok)
        apart_count(v, &o);
    ok = ok && (o.success || apart_failed(&o, name, e));
    if (ok)
        json_put_raw(out, buf_view(&o.result));
    script_outcome_done(&o);
    return ok;
}
