/* The counters of all calls, and their text format. */
#include <stdio.h>
#include <unistd.h>

#include "audit/audit.h"
#include "caller/caller.h"
#include "calls/calls.h"
#include "metrics/metrics.h"
#include "os/os.h"
#include "record/record.h"

#ifndef CLOCHE_VERSION /* set by the build */
#define CLOCHE_VERSION "0.0.0"
#endif

struct telemetry {
    struct metric_family *tools, *calls, *callers;
    const char *tool_names[ACTIONS_MAX];
};

/* By transport, so that their number is fixed. */
static const char *const callers[] = {"stdio", "http", "terminal", "other"};
_Static_assert(LENGTH(callers) == WAY_OTHER + 1, "a name each");

struct telemetry *telemetry_new(const struct actions *a)
{
    struct telemetry *t = mem_new(sizeof *t);
    size_t call_count;
    const char *const *names = host_call_names(&call_count);
    for (size_t i = 0; i < a->count; i++)
        t->tool_names[i] = a->shown[i].name;
    t->tools = metric_family_new("cloche_tool_calls", "Calls of tools.", "tool",
                                 t->tool_names, a->count);
    t->calls = metric_family_new("cloche_host_calls",
                                 "Calls that evaluated code made to the host.", "method",
                                 names, call_count);
    t->callers = metric_family_new("cloche_caller_calls",
                                   "Calls of tools, by the way they came in.", "caller",
                                   callers, LENGTH(callers));
    return t;
}

void telemetry_free(struct telemetry *t)
{
    if (!t)
        return;
    metric_family_free(t->tools);
    metric_family_free(t->calls);
    metric_family_free(t->callers);
    free(t);
}

void telemetry_tool(struct telemetry *t, size_t action, const struct caller *who,
                    enum err_code outcome, uint64_t ns)
{
    enum metric_outcome o = metric_outcome(outcome);
    metric_count(t->tools, action, o, ns);
    metric_count(t->callers, caller_way(who), o, ns);
}

void telemetry_call(struct telemetry *t, uint32_t row, enum err_code outcome, uint64_t ns)
{
    metric_count(t->calls, row, metric_outcome(outcome), ns);
}

/* ---- text format -------------------------------------------------------- */

static void put_process(struct buf *out)
{
    unsigned long pages = 0, resident = 0;
    struct err none = {0};
    scoped_buf struct buf text;
    buf_init(&text, BUF_PAGE);
    scoped_fd int proc = os_dir_open("/proc/self", &none);
    if (proc >= 0 && os_read_file(proc, "statm", &text, NULL, &none) &&
        sscanf(buf_cz(&text), "%lu %lu", &pages, &resident) == 2)
        metric_write(out, "process_resident_memory_bytes", "gauge",
                     "Memory that is resident.", NULL,
                     (double)resident * (double)sysconf(_SC_PAGESIZE));
}

static void put_alerts(const struct guard *g, struct buf *out)
{
    static const char *const kinds[ALERT_KINDS] = {"denials", "deletes",  "limits",
                                                   "errors",  "newHosts", "disk"};
    struct guard_counts n = guard_count(g);
    for (size_t i = 0; i < ALERT_KINDS; i++) {
        char label[40];
        (void)snprintf(label, sizeof label, "kind=\"%s\"", kinds[i]);
        if (i == 0)
            metric_write(out, "cloche_alerts_total", "counter",
                         "Alerts that were raised.", label, (double)n.alerts[i]);
        else
            metric_write_more(out, "cloche_alerts_total", label, (double)n.alerts[i]);
    }
    metric_write(out, "cloche_audit_records_total", "counter",
                 "Records that were appended to audit trails.", NULL, (double)n.recorded);
    metric_write(out, "cloche_audit_lost_records_total", "counter",
                 "Records that could not be appended.", NULL, (double)n.lost);
    metric_write(out, "cloche_audit_bytes", "gauge",
                 "What the audit trails take on the disk.", NULL, (double)n.trail_bytes);
}

bool telemetry_metrics(struct actions *a, struct buf *out, struct err *e)
{
    const struct telemetry *t = a->telemetry;
    metric_write(out, "cloche_build_info", "gauge", "The version that runs.",
                 "version=\"" CLOCHE_VERSION "\"", 1);
    metric_family_write(t->tools, out);
    metric_family_write(t->callers, out);
    metric_family_write(t->calls, out);
    for (size_t i = 0; i < capability_count; i++)
        if (capability_list[i]->metrics)
            capability_list[i]->metrics(a, out);
    put_alerts(a->guard, out);
    put_process(out);
    return buf_check(out, "the metrics", e);
}
