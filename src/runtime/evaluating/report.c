/* The answer about an evaluation, in its one shape (docs/evaluating.md). */
#include "evaluating/report.h"
#include "evaluating/evaluating.h"
#include "evaluating/internal.h"

#define ADVICE_MAX 2000u

static void report_put_text(struct json_writer *w, const char *key,
                            const struct buf *text)
{
    if (text->n)
        json_pair_str(w, key, buf_view(text));
}

static void put_advice(struct evaluation *v, const struct script_outcome *o,
                       struct json_writer *w)
{
    scoped_buf struct buf text;
    buf_init(&text, ADVICE_MAX);
    advise(v, o, &text);
    report_put_text(w, "suggestion", &text);
}

static void write_details(struct evaluation *v, const struct script_outcome *o,
                          struct json_writer *w)
{
    const struct err_kind *kind = err_kind(o->type);
    json_open_object(w);
    json_pair_cstr(w, "type", kind->name);
    json_pair_str(w, "message", buf_view(&o->message));
    json_pair_cstr(w, "code", kind->code);
    report_put_text(w, "name", &o->name);
    if (o->line) {
        json_pair_int(w, "line", o->line);
        json_pair_int(w, "column", o->column);
    }
    report_put_text(w, "frame", &o->frame);
    report_put_text(w, "stack", &o->stack);
    if (v && capability_custom())
        capability_custom()->put_failure(v, o, w);
    report_put_text(w, "preview", &o->preview);
    if (o->problem.n) {
        json_pair_int(w, "status", o->status);
        json_pair_raw(w, "problem", buf_view(&o->problem));
    }
    if (v && v->result_bytes)
        json_pair_int(w, "size", (int64_t)v->result_bytes);
    if (v && v->resource[0])
        json_pair_cstr(w, "resource", v->resource);
    put_advice(v, o, w);
    /* A repeated call would repeat its changes, or conflict with them. */
    json_pair_bool(w, "retry", kind->retry && !o->changed);
    json_pair_bool(w, "changed", o->changed);
    if (v && o->changed) {
        json_key(w, "writes");
        advice_put_writes(v, w);
    }
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

static void write_stats(const struct evaluation *v, const struct script_outcome *o,
                        struct json_writer *w)
{
    json_open_object(w);
    json_pair_number(w, "compute_ms", o->stats.compute_ms);
    json_pair_number(w, "host_ms", o->stats.host_ms);
    json_pair_int(w, "peak_memory_bytes", (int64_t)o->stats.memory_peak);
    json_pair_int(w, "host_calls", o->stats.host_calls);
    if (o->stats.fuel)
        json_pair_int(w, "fuel", (int64_t)o->stats.fuel);
    json_pair_int(w, "retries", v ? atomic_load(&v->retries) : 0);
    json_close(w);
}

/* The linter's warnings, and the notices. */
static void put_warnings(const struct evaluation *v, struct json_writer *w)
{
    scoped_buf struct buf all;
    buf_init(&all, v->warnings.n + v->notices.rows.n + 4);
    if (!v->notices.rows.n && !v->warnings.n)
        return;
    buf_char(&all, '[');
    if (v->warnings.n) /* without its own brackets */
        buf_put(&all, v->warnings.at + 1, v->warnings.n - 2);
    if (v->warnings.n && v->notices.rows.n)
        buf_char(&all, ',');
    buf_str(&all, buf_view(&v->notices.rows));
    buf_char(&all, ']');
    json_pair_raw(w, "warnings", buf_view(&all));
}

void report_write(struct evaluation *v, const struct script_outcome *o,
                  struct json_writer *w)
{
    json_open_object(w);
    report_put(v, o, w);
    json_close(w);
}

void report_put(struct evaluation *v, const struct script_outcome *o,
                struct json_writer *w)
{
    json_pair_bool(w, "success", o->success);
    if (o->success) {
        json_pair_raw(w, "result", buf_view(&o->result));
    } else {
        json_key(w, "result");
        json_put_null(w);
        json_key(w, "error");
        write_error_line(o, w);
        json_key(w, "errorDetails");
        write_details(v, o, w);
    }
    json_pair_number(w, "executionTime", o->stats.total_ms);
    json_pair_raw(w, "logs", buf_view(&o->logs));
    json_key(w, "stats");
    write_stats(v, o, w);
    if (v && v->lease)
        lease_write(v->lease, w);
    if (v && v->cached)
        json_pair_bool(w, "cached", true);
    if (v && v->trace)
        trace_write(v, o, w);
    if (v && !v->by_requests)
        hints_write(v, o, w);
    if (v && v->diagnostics.n)
        json_pair_raw(w, "diagnostics", v->diagnostics);
    if (v)
        put_warnings(v, w);
    json_pair_bool(w, "truncated", o->logs_dropped > 0 || o->type == ERR_OUTPUT);
}
