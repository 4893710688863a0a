/* Custom functions that run in a world of their own: those that are called from another
 * language than theirs, and all in Python. JSON goes between the worlds, and what runs has
 * the caller's rights, vault and remaining limits. */
#include <ctype.h>

#include "caller/caller.h"
#include "evaluation/evaluation.h"
#include "functions_api/function_load.h"
#include "functions_api/functioning.h"
#include "guard/guard.h"
#include "os/os.h"
#include "services/services.h"
#include "json/json.h"

#define RESULT_BYTES ((size_t)8 << 20)
#define ARGS_BYTES ((size_t)8 << 20)
#define CONTEXT_BYTES (ARGS_BYTES + ((size_t)1 << 20))
#define DEPTH_MAX 8u /* worlds that wait for each other */

static const char calling_code[] =
    "return customFunctions[call.name](...call.args.map((given) => given.value));";

static bool is_python(const struct function *fn)
{
    return fn->language == FUNCTION_PYTHON;
}

/* ---- arguments ------------------------------------------------------------------- */

/* "type_name" is "typeName": names as either language writes them. */
static bool is_name(struct str a, struct str b)
{
    size_t i = 0, k = 0;
    for (;;) {
        while (i < a.n && a.at[i] == '_')
            i++;
        while (k < b.n && b.at[k] == '_')
            k++;
        if (i == a.n || k == b.n)
            return i == a.n && k == b.n;
        if (tolower((unsigned char)a.at[i++]) != tolower((unsigned char)b.at[k++]))
            return false;
    }
}

static const struct json *named_for(const struct apart_call *call, size_t i)
{
    struct json_iter it = json_iter(call->named);
    while (json_next(&it))
        if (is_name(it.key, call->fn->parameters[i].name))
            return it.value;
    return NULL;
}

static bool refuse_named(const struct apart_call *call, struct str name, bool twice,
                         struct err *e)
{
    const struct function *fn = call->fn;
    scoped_buf struct buf signature;
    buf_init(&signature, BUF_TEXT);
    function_signature(fn, &signature);
    return err_set(
        e, ERR_INVALID, "customFunctions.%.*s %s '%.*s' (%.200s); it was not called",
        STR_ARGS(str_cut(fn->name, 64)), twice ? "is given twice its" : "takes no",
        STR_ARGS(str_cut(name, 60)), buf_cz(&signature));
}

/* Each name is a parameter's that has no value by position. */
static bool check_named(const struct apart_call *call, struct err *e)
{
    size_t given = json_length(call->given);
    struct json_iter it = json_iter(call->named);
    while (json_next(&it)) {
        size_t at = 0;
        while (at < call->fn->parameter_count &&
               !is_name(it.key, call->fn->parameters[at].name))
            at++;
        if (at == call->fn->parameter_count || at < given)
            return refuse_named(call, it.key, at < given, e);
    }
    return true;
}

/* [{value?}], in the order of the parameters. */
static void put_args(const struct apart_call *call, struct json_writer *w)
{
    size_t given = json_length(call->given), last = given;
    for (size_t i = given; i < call->fn->parameter_count; i++)
        if (named_for(call, i))
            last = i + 1;
    struct json_iter it = json_iter(call->given);
    json_open_array(w);
    while (json_next(&it))
        json_put(w, it.value);
    for (size_t i = given; i < last; i++) {
        const struct json *v = named_for(call, i);
        json_open_object(w);
        if (v)
            json_pair(w, "value", v);
        json_close(w);
    }
    json_close(w);
}

static bool write_call(struct evaluation *v, const struct apart_call *call,
                       struct buf *out, struct err *e)
{
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_key(&w, "call");
    json_open_object(&w);
    json_pair_str(&w, "name", call->fn->name);
    json_key(&w, "args");
    put_args(call, &w);
    if (is_python(call->fn))
        function_put_parameters(v, call->fn, &w);
    json_close(&w);
    json_close(&w);
    return buf_check(out, "the arguments", e);
}

/* ---- limits, counts ---------------------------------------------------------------- */

/* Its limits are what is left to the evaluation. */
static bool apart_limits(const struct evaluation *v, struct script_request *q,
                         struct err *e)
{
    const struct permit *permit = &v->here->permit;
    uint32_t made = functions_loaded(v)->apart.calls;
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
    q->calls_max =
        permit->policy->host_calls > made ? permit->policy->host_calls - made : 0;
    q->cancel = v->who->cancel; /* the world that waits cannot pass its own on */
    return true;
}

static struct script_tally *tally_of(struct loaded_functions *l, size_t i)
{
    struct script_tally *grown =
        l->apart.count < l->count
            ? realloc(l->apart.tallies, (l->count + 1) * sizeof *grown)
            : l->apart.tallies;
    if (!grown)
        return NULL;
    l->apart.tallies = grown;
    for (; l->apart.count < l->count; l->apart.count++)
        grown[l->apart.count] = (struct script_tally){.stride = 1};
    return &grown[i];
}

/* Counted with the functions' other calls when the evaluation ends. */
static void apart_count(struct evaluation *v, const struct apart_call *call,
                        uint32_t number, const struct script_outcome *o)
{
    struct loaded_functions *l = functions_loaded(v);
    l->apart.calls += o->stats.host_calls;
    for (size_t i = 0; i < o->tally_count && i < l->count; i++) {
        struct script_tally *t = tally_of(l, i);
        if (t) {
            t->calls += o->tallies[i].calls;
            t->failed += o->tallies[i].failed + o->tallies[i].open;
            t->total_ms += o->tallies[i].total_ms;
        }
    }
    struct script_tally *own =
        is_python(call->fn) && !call->counted ? tally_of(l, number - 1) : NULL;
    if (own) {
        own->calls++;
        own->failed += !o->success;
        own->total_ms += o->stats.total_ms;
    }
}

/* ---- failures ------------------------------------------------------------------------ */

static void keep_place(struct loaded_functions *l, const struct function *fn,
                       uint32_t line, uint32_t column, const struct buf *frame,
                       const struct buf *message)
{
    buf_done(&l->apart.frame);
    buf_done(&l->apart.message);
    buf_init(&l->apart.frame, BUF_FILE);
    buf_init(&l->apart.message, BUF_FILE);
    l->apart.failed = fn;
    l->apart.line = line;
    l->apart.column = column;
    buf_str(&l->apart.frame, buf_view(frame));
    buf_str(&l->apart.message, buf_view(message));
}

/* Where it failed, for functions_put_failure(): the innermost function. */
static void note_failure(struct evaluation *v, const struct apart_call *call,
                         struct script_outcome *o)
{
    struct loaded_functions *l = functions_loaded(v);
    size_t count = 0;
    if (o->type != ERR_GUEST && !o->name.n) {
        struct str what = buf_view(&o->message);
        scoped_buf struct buf named;
        buf_init(&named, BUF_FILE);
        buf_printf(&named, "customFunctions.%.*s: ", STR_ARGS(call->fn->name));
        buf_str(&named, what);
        buf_clear(&o->message);
        buf_str(&o->message, buf_view(&named));
    }
    if (l->apart.failed && str_eq(buf_view(&l->apart.message), buf_view(&o->message)))
        return;
    if (is_python(call->fn)) {
        keep_place(l, call->fn, o->line, o->column, &o->frame, &o->message);
        return;
    }
    scoped(free) struct script_origin *further = functions_origins(v, &count);
    if (further && count)
        script_outcome_origin(o, NULL, further, count);
    for (size_t i = 0; o->within.line && i < l->count; i++)
        if (!strcmp(l->at[i].made, o->within.file))
            keep_place(l, l->at[i].fn, o->within.line, o->within.column, &o->within.frame,
                       &o->message);
}

/* ---- the answer ---------------------------------------------------------------------- */

static void put_answer(const struct script_outcome *o, struct json_writer *out)
{
    struct str logs = buf_view(&o->logs);
    json_open_object(out);
    if (o->success) {
        json_pair_raw(out, "value", buf_view(&o->result));
    } else {
        json_key(out, "error");
        json_open_object(out);
        json_pair_str(out, "name",
                      o->name.n ? buf_view(&o->name) : str_of(err_kind(o->type)->name));
        json_pair_str(out, "message", buf_view(&o->message));
        json_close(out);
    }
    if (logs.n > 2)
        json_pair_raw(out, "logs", logs);
    json_close(out);
}

/* ---- the run ----------------------------------------------------------------------------- */

struct running {
    struct script *script;
    const struct script_request *q;
    struct script_outcome *o;
    struct err *e;
    bool ran;
};

static void *run_thread(void *arg)
{
    struct running *r = arg;
    r->ran = script_run(r->script, r->q, r->o, r->e);
    return NULL;
}

/* On a thread of its own: the stack of this one is as large as one world needs. */
static bool run_apart(struct running *r)
{
    pthread_t thread;
    if (!os_thread_start(&thread, "function", ENGINE_THREAD_STACK, run_thread, r))
        return err_set(r->e, ERR_BUSY, "no thread for another custom function");
    pthread_join(thread, NULL);
    return r->ran;
}

static bool run_in_world(struct evaluation *v, const struct apart_call *call,
                         const struct script_request *q, struct script_outcome *o,
                         struct err *e)
{
    struct services *s = v->actions->services;
    struct running r = {.q = q, .o = o, .e = e};
    r.script = is_python(call->fn) ? services_python(s, e) : services_script(s, e);
    if (!r.script)
        return false;
    /* Its own calls may go to another vault, which waits until no call is inside of one. */
    evaluation_leave(v);
    functions_loaded(v)->apart.depth++;
    bool ran = run_apart(&r);
    functions_loaded(v)->apart.depth--;
    evaluation_enter(v);
    return ran;
}

/* All that runs in such a world is a function's, and not the code's own. */
static bool perform_within(void *arg, struct script_task *t, uint32_t row,
                           struct str args, struct buf *out, struct err *e)
{
    return host_perform(arg, t, row | SCRIPT_WITHIN, args, out, e);
}

bool function_call_apart(struct evaluation *v, const struct apart_call *call,
                         struct json_writer *out, struct err *e)
{
    scoped_buf struct buf context = buf_of(CONTEXT_BYTES);
    struct script_request q = {.code = str_of(calling_code),
                               .perform = perform_within,
                               .perform_arg = v,
                               .stood = evaluation_human_wait_ns,
                               .source = functions_source,
                               .result_max = RESULT_BYTES,
                               .logs_max = LOGS_MAX,
                               .features = v->features,
                               .principal = caller_principal(v->who)};
    struct script_outcome o;
    if (functions_loaded(v)->apart.depth >= DEPTH_MAX)
        return err_set(e, ERR_STACK,
                       "custom functions that run in worlds of their own call each other "
                       "more than %u deep",
                       DEPTH_MAX);
    uint32_t number = function_load(v, call->fn, e);
    if (!number || !apart_limits(v, &q, e) || !check_named(call, e) ||
        !write_call(v, call, &context, e))
        return false;
    if (is_python(call->fn)) {
        q.code = call->fn->code;
        q.function = true;
    }
    q.context = buf_view(&context);
    script_outcome_init(&o);
    bool ran = run_in_world(v, call, &q, &o, e);
    if (ran) {
        apart_count(v, call, number, &o);
        if (!o.success)
            note_failure(v, call, &o);
        put_answer(&o, out);
    }
    script_outcome_done(&o);
    return ran;
}
