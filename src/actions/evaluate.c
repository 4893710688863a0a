/* evaluate_note_code: an agent's program over the vault. */
#include <stdio.h>

#include "actions/internal.h"

#define CODE_MAX ((size_t)1 << 20)
#define RESULT_MAX ((size_t)1 << 20)
#define LOGS_MAX ((size_t)64 << 10)
#define DEFAULT_TIMEOUT_MS 5000
#define DEFAULT_MEMORY_MB 128
#define MEMORY_MB_MIN 8

/* ---- what was asked for ------------------------------------------------- */

/* A number of the arguments between `min` and its ceiling; without one the
 * default, or the ceiling where that is lower. */
static bool read_limit(const struct json *arguments, const char *key, int64_t min,
                       int64_t usual, int64_t ceiling, const char *unit, uint64_t *out,
                       struct err *e)
{
    const struct json *given = json_get(arguments, key);
    int64_t v = json_int(given, usual < ceiling ? usual : ceiling);
    if (v < min || v > ceiling)
        return err_set(e, ERR_INVALID, "%s is %lld %s; %lld to %lld is accepted here",
                       key, (long long)v, unit, (long long)min, (long long)ceiling);
    *out = (uint64_t)v;
    return true;
}

static bool refuse_unavailable(const struct json *arguments, struct err *e)
{
    if (str_is(json_str(json_get(arguments, "language")), "typescript"))
        return err_set(e, ERR_INVALID,
                       "language 'typescript' is not available in this version; plain "
                       "JavaScript is accepted");
    if (json_bool(json_get(arguments, "enableFileSystem"), false))
        return err_set(e, ERR_INVALID,
                       "enableFileSystem is not available in this version");
    if (json_bool(json_get(arguments, "enableNetwork"), false))
        return err_set(e, ERR_INVALID, "enableNetwork is not available in this version");
    return true;
}

static bool read_request(const struct action_call *c, struct script_request *q,
                         struct err *e)
{
    uint64_t memory_mb = 0;
    q->code = json_str(json_get(c->arguments, "code"));
    if (q->code.n > CODE_MAX)
        return err_set(e, ERR_LIMIT, "code has %zu bytes; at most %zu are accepted",
                       q->code.n, CODE_MAX);
    if (!refuse_unavailable(c->arguments, e) ||
        !read_limit(c->arguments, "timeout", 1, DEFAULT_TIMEOUT_MS,
                    permit_timeout_ms(&c->place->permit), "ms", &q->compute_ms, e) ||
        !read_limit(c->arguments, "memoryLimit", MEMORY_MB_MIN, DEFAULT_MEMORY_MB,
                    permit_memory_mb(&c->place->permit), "MB", &memory_mb, e))
        return false;
    q->memory_bytes = memory_mb << 20;
    q->total_ms = c->place->permit.policy->total_ms;
    q->result_max = RESULT_MAX;
    q->logs_max = LOGS_MAX;
    q->calls_max = c->place->permit.policy->host_calls;
    q->cancel = c->who->cancel;
    return true;
}

/* ---- the answer --------------------------------------------------------- */

static const char *suggestion(const struct script_outcome *o)
{
    switch (o->type) {
    case ERR_TIMEOUT:
        return "Do less in one call, or ask for a larger timeout (ms).";
    case ERR_MEMORY:
        return "Work on fewer notes at a time, or ask for a larger memoryLimit (MB).";
    case ERR_STACK:
        return "Use a loop instead of deep recursion.";
    case ERR_OUTPUT:
        return "Return a summary, or a part of the result.";
    case ERR_HOST_CALLS:
        return "Ask for less, for example with notes.search or a limit.";
    case ERR_CONFLICT:
        return "Read it again with notes.get, then repeat the change.";
    case ERR_NO_VAULT:
        return "Start cloche with --vault DIR.";
    case ERR_DENIED:
        return "Use what this call may use, or ask the person for more rights.";
    default:
        return NULL;
    }
}

static void write_details(const struct script_outcome *o, struct json_writer *w)
{
    const struct err_kind *kind = err_kind(o->type);
    json_open_object(w);
    json_pair_cstr(w, "type", kind->name);
    json_pair_str(w, "message", buf_view(&o->message));
    json_pair_cstr(w, "code", kind->code);
    if (o->name.n)
        json_pair_str(w, "name", buf_view(&o->name));
    if (o->line) {
        json_pair_int(w, "line", o->line);
        json_pair_int(w, "column", o->column);
    }
    if (o->frame.n)
        json_pair_str(w, "frame", buf_view(&o->frame));
    if (o->stack.n)
        json_pair_str(w, "stack", buf_view(&o->stack));
    if (o->preview.n)
        json_pair_str(w, "preview", buf_view(&o->preview));
    if (suggestion(o))
        json_pair_cstr(w, "suggestion", suggestion(o));
    json_pair_bool(w, "retry", kind->retry);
    json_pair_bool(w, "changed", o->changed);
    json_close(w);
}

/* One line: "TypeError: x is not a function". */
static void write_error_line(const struct script_outcome *o, struct json_writer *w)
{
    scoped_buf struct buf line;
    buf_init(&line, (size_t)128 << 10);
    bool own = o->type == ERR_GUEST && o->name.n;
    buf_str(&line, own ? buf_view(&o->name) : str_of(err_kind(o->type)->name));
    if (o->message.n)
        buf_cstr(&line, ": ");
    buf_str(&line, buf_view(&o->message));
    json_put_str(w, buf_view(&line));
}

static void write_stats(const struct script_outcome *o, struct json_writer *w)
{
    json_open_object(w);
    json_pair_number(w, "compute_ms", o->stats.compute_ms);
    json_pair_number(w, "host_ms", o->stats.host_ms);
    json_pair_int(w, "peak_memory_bytes", (int64_t)o->stats.memory_peak);
    json_pair_int(w, "host_calls", o->stats.host_calls);
    json_close(w);
}

static void write_outcome(const struct script_outcome *o, struct json_writer *w)
{
    json_open_object(w);
    json_pair_bool(w, "success", o->success);
    if (o->success) {
        json_pair_raw(w, "result", buf_view(&o->result));
    } else {
        json_key(w, "result");
        json_put_null(w);
        json_key(w, "error");
        write_error_line(o, w);
        json_key(w, "errorDetails");
        write_details(o, w);
    }
    json_pair_number(w, "executionTime", o->stats.total_ms);
    json_pair_raw(w, "logs", buf_view(&o->logs));
    json_key(w, "stats");
    write_stats(o, w);
    json_pair_bool(w, "truncated", o->logs_dropped > 0 || o->type == ERR_OUTPUT);
    json_close(w);
}

/* ---- running ------------------------------------------------------------ */

/* The context's text as it came is gone; it is written anew. */
static bool write_context(const struct json *context, struct buf *out, struct err *e)
{
    if (!context)
        return true;
    struct json_writer w = json_writer(out);
    json_put(&w, context);
    return buf_check(out, "context", e);
}

bool action_evaluate(const struct action_call *c, struct answer *out, struct err *e)
{
    struct script *script = actions_script(c->actions, e);
    struct script_request q = {.perform = host_perform};
    scoped_buf struct buf context;
    buf_init(&context, (size_t)16 << 20);
    if (!script || !read_request(c, &q, e) ||
        !write_context(json_get(c->arguments, "context"), &context, e))
        return false;
    q.context = buf_view(&context);

    struct evaluation v;
    evaluation_init(&v, c);
    q.perform_arg = &v;
    struct script_outcome o;
    script_outcome_init(&o);
    bool ran = script_run(script, &q, &o, e);
    evaluation_done(&v);
    if (ran) {
        struct json_writer w = json_writer(&out->json);
        write_outcome(&o, &w);
        out->is_error = !o.success;
    }
    script_outcome_done(&o);
    return ran && buf_check(&out->json, "the answer", e);
}

/* Code that did not run at all is answered like code that failed. */
void action_evaluate_refused(const struct err *why, struct answer *out)
{
    struct script_outcome o;
    script_outcome_init(&o);
    o.type = why->code;
    buf_cstr(&o.message, why->msg);
    buf_cstr(&o.logs, "[]");
    buf_clear(&out->json);
    struct json_writer w = json_writer(&out->json);
    write_outcome(&o, &w);
    out->is_error = true;
    script_outcome_done(&o);
}
