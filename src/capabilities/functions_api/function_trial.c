/* Trial runs of custom functions: once with given arguments, or by their examples. Each
 * has a world of its own and its caller's rights; a dry run leaves the vault
 * unchanged. */
#include <stdio.h>

#include "functions_api/function_compare.h"
#include "functions_api/function_load.h"
#include "functions_api/functioning.h"
#include "performing/performing.h"

#define TRY_MS 5000                  /* the default for one run, waits included */
#define ALL_MS 30000u                /* of all examples together */
#define CALL_MAX ((size_t)1 << 20)   /* bytes of arguments */
#define REPORT_MAX ((size_t)4 << 20) /* bytes of one run's answer */

/* Every argument is an object, so that a missing one is undefined, not null. */
static const char calling[] =
    "return await customFunctions[call.name](...call.args.map((given) => given.value));";

/* Removes that line: errors have the function's own positions. */
static void no_place(void *arg, uint32_t *line, uint32_t *column)
{
    (void)arg;
    *line = *column = 0;
}

static const struct script_origin caller = {
    .source = {"", 0}, .file = "the test", .made = "code.js", .place = no_place};

/* One run. */
struct trial {
    const struct action_call *call;
    const struct function *fn;
    const struct function_set *among;
    bool dry;
    uint64_t until_ns;
    int64_t now_ms; /* 0: the current time */
    struct evaluation v;
    struct script_outcome o;
    struct buf context;
};

/* ---- the call ----------------------------------------------------------------- */

static void put_given(struct json_writer *w, const struct json *value)
{
    json_open_object(w);
    if (value)
        json_pair(w, "value", value);
    json_close(w);
}

/* There are no arguments after the last given one. */
static const struct json *given_for(const struct function_parameter *p,
                                    const struct json *args, bool *rest)
{
    const struct json *v = json_get_str(args, function_parameter_name(p, rest));
    return v ? v : json_get_str(args, p->name);
}

static size_t count_given(const struct function *fn, const struct json *args)
{
    size_t n = fn->parameter_count;
    bool rest;
    while (n && !given_for(&fn->parameters[n - 1], args, &rest))
        n--;
    return n;
}

static void put_named(const struct function_parameter *p, const struct json *args,
                      struct json_writer *w)
{
    bool rest;
    const struct json *v = given_for(p, args, &rest);
    struct json_iter it = json_iter(v);
    if (!rest || !json_is(v, JSON_ARRAY))
        put_given(w, v);
    else
        while (json_next(&it))
            put_given(w, it.value);
}

static void put_args(const struct function *fn, const struct json *args,
                     struct json_writer *w)
{
    struct json_iter it = json_iter(args);
    json_open_array(w);
    if (json_is(args, JSON_ARRAY))
        while (json_next(&it))
            put_given(w, it.value);
    else
        for (size_t i = 0, n = count_given(fn, args); i < n; i++)
            put_named(&fn->parameters[i], args, w);
    json_close(w);
}

static bool check_args(const struct function *fn, const struct json *args, struct err *e)
{
    if (!args || json_is(args, JSON_ARRAY))
        return true;
    if (!json_is(args, JSON_OBJECT))
        return err_set(
            e, ERR_INVALID,
            "args must be an object by the parameters' names, or an array, not "
            "%s; nothing was run",
            json_type_name(json_type(args)));
    struct json_iter it = json_iter(args);
    while (json_next(&it)) {
        bool known = false, rest;
        for (size_t i = 0; i < fn->parameter_count && !known; i++)
            known = str_eq(fn->parameters[i].name, it.key) ||
                    str_eq(function_parameter_name(&fn->parameters[i], &rest), it.key);
        if (!known) {
            scoped_buf struct buf signature;
            buf_init(&signature, BUF_TEXT);
            function_signature(fn, &signature);
            return err_set(
                e, ERR_INVALID,
                "args: there is no parameter '%.*s' of %.200s; nothing was run",
                STR_ARGS(str_cut(it.key, 60)), buf_cz(&signature));
        }
    }
    return true;
}

static bool write_call(struct trial *t, const struct json *args, struct err *e)
{
    struct json_writer w = json_writer(&t->context);
    json_open_object(&w);
    json_key(&w, "call");
    json_open_object(&w);
    json_pair_str(&w, "name", t->fn->name);
    json_key(&w, "args");
    put_args(t->fn, args, &w);
    json_close(&w);
    json_close(&w);
    return buf_check(&t->context, "args", e);
}

/* ---- a run ----------------------------------------------------------------------- */

static void trial_init(struct trial *t, const struct action_call *c,
                       const struct function *fn, const struct function_set *among,
                       bool dry, uint64_t until_ns)
{
    *t = (struct trial){
        .call = c, .fn = fn, .among = among, .dry = dry, .until_ns = until_ns};
    buf_init(&t->context, CALL_MAX);
    evaluation_init(&t->v, c);
    script_outcome_init(&t->o);
    if (dry)
        t->v.dry = dry_new();
}

static void trial_done(struct trial *t)
{
    script_outcome_done(&t->o);
    buf_done(&t->context);
    struct dry *dry = t->v.dry;
    evaluation_done(&t->v);
    dry_free(dry);
}

static bool read_limits(const struct trial *t, struct script_request *q, struct err *e)
{
    const struct action_call *c = t->call;
    const struct policy *p = c->place->permit.policy;
    uint64_t now_ns = os_mono_ns();
    uint64_t left_ms = t->until_ns > now_ns ? (t->until_ns - now_ns) / 1000000 : 0;
    if (!left_ms)
        return err_set(e, ERR_TIMEOUT,
                       "the time for all examples, %u ms, was over before this one began",
                       ALL_MS);
    q->total_ms = left_ms < p->total_ms ? left_ms : p->total_ms;
    q->logs_max = LOGS_MAX;
    q->calls_max = p->host_calls;
    q->cancel = c->who->cancel;
    q->principal = caller_principal(c->who);
    if (!limit_read(c->arguments, "timeout", 1, TRY_MS,
                    permit_timeout_ms(&c->place->permit), "ms", &q->timeout_ms, e) ||
        !limit_memory(c, &q->memory_bytes, e))
        return false;
    q->compute_ms = q->timeout_ms;
    q->result_max = REPORT_MAX / 4;
    return true;
}

/* false and *e: it did not run at all. */
static bool trial_run(struct trial *t, const struct json *args, struct err *e)
{
    struct account *account = t->call->account;
    struct script *script = services_script(t->call->actions->services, e);
    struct script_request q = {.code = str_of(calling),
                               .perform = host_perform,
                               .perform_arg = &t->v,
                               .over = evaluation_stop_calls,
                               .wrote = evaluation_log,
                               .stood = evaluation_human_wait_ns,
                               .due = evaluation_set_deadline,
                               .source = functions_source};
    if (!script || !check_args(t->fn, args, e) || !read_limits(t, &q, e) ||
        !write_call(t, args, e))
        return false;
    q.context = buf_view(&t->context);
    q.now_ms = t->now_ms;
    t->v.script = script;
    t->v.cancel = &t->v.stopping;
    t->v.until_ns = os_in_ms(q.total_ms);
    evaluation_functions(&t->v, t->among, t->fn);
    functions_loaded(&t->v)->tried =
        t->fn->id.n && !t->fn->origin.n && function_named(t->among, t->fn->id) == t->fn;
    bool was_dry = account->dry;
    account->dry = t->dry;
    bool ran = script_run(script, &q, &t->o, e);
    account->dry = was_dry;
    t->o.changed = t->o.changed && t->v.advice.written && !t->dry;
    if (!ran)
        return false;
    if (t->o.within.line) /* the code that calls it is ours */
        check_explains(t->call, &t->v, &q, &t->o);
    language_explain(&t->v, &t->o, &caller);
    functions_account(&t->v, &t->o);
    return true;
}

/* ---- one run ------------------------------------------------------------------------- */

bool function_try(const struct action_call *c, const struct function *fn,
                  const struct function_set *among, const struct json *args, bool dry,
                  struct json_writer *out, bool *success, struct err *e)
{
    struct trial t;
    trial_init(&t, c, fn, among, dry, os_mono_ns() + ALL_MS * UINT64_C(1000000));
    bool ok = trial_run(&t, args, e);
    if (ok) {
        account_script(c->account, &t.o);
        evaluation_put_aside(c, &t.v, &t.o);
        report_put(&t.v, &t.o, out);
    }
    ok = ok && (!dry || dry_put_changes(t.v.dry, place_sees_notes(c->place), out, e));
    *success = t.o.success;
    trial_done(&t);
    return ok;
}

/* ---- examples --------------------------------------------------------------------------- */

/* "TypeError: x is no string": an error on one line. */
static void put_error(const struct script_outcome *o, struct buf *out)
{
    bool own = o->type == ERR_GUEST && o->name.n;
    buf_str(out, own ? buf_view(&o->name) : str_of(err_kind(o->type)->name));
    buf_cstr(out, ": ");
    buf_str(out, buf_view(&o->message));
}

static bool expects_error(const struct function_example *x, const struct trial *t,
                          struct json_writer *out)
{
    scoped_buf struct buf line;
    buf_init(&line, (size_t)128 << 10);
    if (t->o.success) {
        json_pair_cstr(out, "message", "it succeeded, but an error was expected");
        json_pair_str(out, "expectedError", x->error);
        if (t->o.result.n <= COMPARED_SHOWN)
            json_pair_raw(out, "result", buf_view(&t->o.result));
        return false;
    }
    put_error(&t->o, &line);
    json_pair_str(out, "error", buf_view(&line));
    if (memmem(line.at, line.n, x->error.at, x->error.n))
        return true;
    json_pair_cstr(out, "message", "it failed of something else than was expected");
    json_pair_str(out, "expectedError", x->error);
    return false;
}

static bool expects_value(const struct function_example *x, const struct trial *t,
                          struct json_writer *out, struct err *e)
{
    if (!t->o.success) {
        scoped_buf struct buf line;
        buf_init(&line, (size_t)128 << 10);
        put_error(&t->o, &line);
        json_pair_str(out, "error", buf_view(&line));
        if (t->o.within.line)
            functions_put_failure(&t->v, &t->o, out);
        return false;
    }
    const struct json *wanted = x->expected ? x->expected : x->matches;
    const struct json *got = json_read(buf_view(&t->o.result), t->call->arena, e);
    struct difference d;
    if (!got || !wanted || compare_values(wanted, got, !x->expected, &d))
        return got != NULL;
    json_key(out, "difference");
    difference_write(&d, out);
    return false;
}

static void example_put_name(const struct function_example *x, size_t i,
                             struct json_writer *out)
{
    char name[32];
    (void)snprintf(name, sizeof name, "example %zu", i + 1);
    json_pair_str(out, "name", x->name.n ? x->name : str_of(name));
}

/* Looking up functions and their names reads no notes. */
static bool touched_notes(const struct script_outcome *o)
{
    return o->stats.host_calls > 1;
}

/* false and *e: an error not caused by the function. */
static bool run_example(const struct action_call *c, const struct function *fn,
                        const struct function_set *among, size_t i, uint64_t until_ns,
                        struct json_writer *out, bool *passed, struct err *e)
{
    const struct function_example *x = &fn->examples[i];
    struct trial t;
    struct err why = {0};
    trial_init(&t, c, fn, among, true, until_ns);
    json_open_object(out);
    example_put_name(x, i, out);
    t.now_ms = x->now_ms;
    if (dry_fixture(&t.v, c->place->vault, x->notes, x->now_ms, &why) &&
        trial_run(&t, x->args, &why)) {
        *passed =
            x->error.n ? expects_error(x, &t, out) : expects_value(x, &t, out, &why);
        json_pair_number(out, "executionTime", t.o.stats.total_ms);
    } else {
        *passed = false;
        json_pair_cstr(out, "error", why.msg);
    }
    json_pair_bool(out, "success", *passed);
    if (!*passed && !x->notes && touched_notes(&t.o))
        json_pair_cstr(out, "hint",
                       "It ran over the current vault. With notes: [{type, title, "
                       "content}] the example runs over only these, and with now: "
                       "'2026-01-31' on that date, so that its result does not change.");
    json_close(out);
    trial_done(&t);
    if (why.code == ERR_CANCELLED || why.code == ERR_BUSY || why.code == ERR_DENIED)
        return err_pass(e, &why);
    return true;
}

static const char *why_skipped(enum examples which, const struct function_example *x)
{
    return which == EXAMPLES_NONE ? "the code is unchanged"
           : which == EXAMPLES_APART && !x->notes
               ? "it runs over the current vault, which may have changed since"
               : NULL;
}

static void put_skipped(const struct function_example *x, size_t i, const char *why,
                        struct json_writer *out)
{
    json_open_object(out);
    example_put_name(x, i, out);
    json_pair_cstr(out, "skipped", why);
    json_close(out);
}

bool function_examples(const struct action_call *c, const struct function *fn,
                       const struct function_set *among, enum examples which,
                       struct json_writer *out, uint32_t *failed, struct err *e)
{
    uint64_t until_ns = os_mono_ns() + ALL_MS * UINT64_C(1000000);
    bool ok = true;
    size_t skipped = 0;
    *failed = 0;
    json_open_object(out);
    json_key(out, "results");
    json_open_array(out);
    for (size_t i = 0; ok && i < fn->example_count; i++) {
        bool passed;
        const char *why = why_skipped(which, &fn->examples[i]);
        if (why) {
            put_skipped(&fn->examples[i], i, why, out);
            skipped++;
            continue;
        }
        ok = run_example(c, fn, among, i, until_ns, out, &passed, e);
        *failed += ok && !passed;
    }
    json_close(out);
    json_pair_int(out, "passed", (int64_t)(fn->example_count - *failed - skipped));
    json_pair_int(out, "failed", *failed);
    if (skipped)
        json_pair_int(out, "skipped", (int64_t)skipped);
    json_close(out);
    return ok;
}
