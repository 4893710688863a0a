/* The metrics of seed 001 ("Success Metrics") by their names, each with the figures that it
 * is made of and its formula. "Month": the last 30 days.
 */
#include "usage/inner.h"

/* Tokens that a call saves an agent: an assumption, and reported as one. */
#define TOKENS_A_LINE 10.0
#define TOKENS_A_SECOND 50.0

static void open_metric(struct json_writer *w, const char *name, const char *formula)
{
    json_key(w, name);
    json_open_object(w);
    json_pair_cstr(w, "formula", formula);
}

/* null where there is nothing to divide by. */
static void put_ratio(struct json_writer *w, const char *key, double over, double under)
{
    if (under > 0) {
        json_pair_number(w, key, over / under);
    } else {
        json_key(w, key);
        json_put_null(w);
    }
}

static void put_agents(const struct usage_totals *t, struct json_writer *w)
{
    double sessions = (double)t->month_sessions;
    open_metric(w, "functionReuseRate",
                "sessions that called a function registered before their first "
                "evaluation / sessions that evaluated code, of the last 30 days");
    put_ratio(w, "value", (double)t->month_reusing, sessions);
    json_pair_int(w, "reusing", (int64_t)t->month_reusing);
    json_pair_int(w, "sessions", (int64_t)t->month_sessions);
    json_close(w);

    open_metric(
        w, "codeReduction",
        "lines of the functions that were called, less one for the call, once per "
        "evaluation / sessions, of the last 30 days");
    put_ratio(w, "value", (double)t->month_lines, sessions);
    json_pair_int(w, "lines", (int64_t)t->month_lines);
    json_close(w);

    double kept = (double)t->trials[USAGE_KEPT];
    double prepare = kept > 0 ? t->trial_ms / kept : 0;
    double load = t->loads ? t->load_ms / (double)t->loads : 0;
    open_metric(
        w, "responseTimeImprovement",
        "1 - mean time to load a kept function / mean time to check a new one; "
        "secondsPerSession: codeReduction * 10 tokens a line / 50 tokens a second, "
        "which are assumed");
    put_ratio(w, "value", prepare - load, t->loads ? prepare : 0);
    json_pair_number(w, "loadMs", load);
    json_pair_number(w, "checkMs", prepare);
    put_ratio(w, "secondsPerSession",
              (double)t->month_lines * TOKENS_A_LINE / TOKENS_A_SECOND, sessions);
    json_close(w);
}

static void put_adoption(const struct usage_totals *t, const struct usage_subject *of,
                         size_t count, int64_t now_ms, struct json_writer *w)
{
    size_t made = 0;
    for (size_t i = 0; i < count; i++)
        made += of[i].fn->made_ms > now_ms - USAGE_MONTH_MS;
    open_metric(w, "functionCreationRate",
                "functions of this vault that were registered in the last 30 days");
    json_pair_int(w, "value", (int64_t)made);
    json_pair_int(w, "functions", (int64_t)count);
    json_close(w);

    open_metric(w, "functionUsageFrequency",
                "calls in the last 30 days / functions of this vault");
    put_ratio(w, "value", (double)t->month_calls, (double)count);
    json_pair_int(w, "calls", (int64_t)t->month_calls);
    json_close(w);

    open_metric(w, "uiEngagement", "time on the page about functions: there is none");
    json_key(w, "value");
    json_put_null(w);
    json_close(w);
}

static void put_system(const struct usage_totals *t, const struct usage_subject *of,
                       size_t count, const struct usage_file *file, struct json_writer *w)
{
    open_metric(
        w, "functionExecutionTime",
        "(time in functions + time to load them) / time in functions: the cost of a "
        "call relative to the same code inline; p50 and p95 in ms, within 10 %");
    put_ratio(w, "value", t->ms + t->load_ms, t->ms);
    json_pair_number(w, "p50", usage_quantile(t->times, 0.5));
    json_pair_number(w, "p95", usage_quantile(t->times, 0.95));
    json_close(w);

    uint64_t tried = 0;
    for (size_t i = 0; i < USAGE_TRIALS; i++)
        tried += t->trials[i];
    uint64_t refused = tried - t->trials[USAGE_KEPT];
    open_metric(w, "errorRates",
                "compilation: attempts to register or change that were refused / all; "
                "runtime: calls that failed / calls");
    put_ratio(w, "compilation", (double)refused, (double)tried);
    put_ratio(w, "runtime", (double)t->failed, (double)t->calls);
    json_pair_int(w, "attempts", (int64_t)tried);
    json_pair_int(w, "invalid", (int64_t)t->trials[USAGE_INVALID]);
    json_pair_int(w, "mistyped", (int64_t)t->trials[USAGE_MISTYPED]);
    json_pair_int(w, "unproven", (int64_t)t->trials[USAGE_UNPROVEN]);
    json_close(w);

    uint64_t code = 0;
    for (size_t i = 0; i < count; i++)
        code += of[i].fn->code.n;
    open_metric(w, "storageEfficiency", "bytes of code / bytes of the file of functions");
    put_ratio(w, "value", (double)code, (double)file->bytes);
    json_pair_int(w, "fileBytes", (int64_t)file->bytes);
    json_pair_number(w, "loadMs", file->ms);
    json_pair_int(w, "usageBytes", (int64_t)t->bytes);
    json_close(w);
}

void usage_metrics(const struct usage_totals *t, const struct usage_subject *of,
                   size_t count, const struct usage_file *file, int64_t now_ms,
                   struct json_writer *w)
{
    put_agents(t, w);
    put_adoption(t, of, count, now_ms, w);
    put_system(t, of, count, file, w);
}
