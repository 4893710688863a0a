/* The counters of everything that passes through this room, and how they are told. */
#include <stdio.h>
#include <unistd.h>

#include "actions/account.h"
#include "actions/machines.h"
#include "actions/tooling.h"
#include "audit/audit.h"
#include "caller/caller.h"
#include "metrics/metrics.h"
#include "os/os.h"
#include "usage/usage.h"

#ifndef CLOCHE_VERSION /* the build says it */
#define CLOCHE_VERSION "0.0.0"
#endif

#define RUN_NAMES_MAX 256u

struct telemetry {
    struct metric_family *tools, *calls, *callers, *functions, *trials, *machines;
    const char *tool_names[ACTIONS_MAX];
    /* Of command-line tools: those built in, and all others together; made when the first
     * one runs. */
    pthread_mutex_t lock;
    struct metric_family *_Atomic runs;
    char *run_names[RUN_NAMES_MAX];
    size_t run_count;
};

#define OTHER_TOOLS "installed"

/* By the way they come in: whoever comes, there are no more. */
static const char *const callers[] = {"stdio", "http", "terminal", "other"};
_Static_assert(LENGTH(callers) == WAY_OTHER + 1, "a name each");

static const char *const sources[] = {"own", "library"};
static const char *const trials[] = {"kept", "invalid", "mistyped", "unproven"};
_Static_assert(LENGTH(trials) == USAGE_TRIALS, "a name each");

struct telemetry *telemetry_new(const struct actions *a)
{
    struct telemetry *t = mem_new(sizeof *t);
    size_t call_count;
    const char *const *names = actions_call_names(&call_count);
    for (size_t i = 0; i < a->count; i++)
        t->tool_names[i] = a->shown[i].name;
    pthread_mutex_init(&t->lock, NULL);
    t->tools = metric_family_new("cloche_tool_calls", "Calls of tools.", "tool",
                                 t->tool_names, a->count);
    t->calls = metric_family_new("cloche_host_calls",
                                 "Calls that evaluated code made to the host.", "method",
                                 names, call_count);
    t->callers = metric_family_new("cloche_caller_calls",
                                   "Calls of tools, by the way they came in.", "caller",
                                   callers, LENGTH(callers));
    t->functions =
        metric_family_new("cloche_function_calls", "Calls of custom functions.", "source",
                          sources, LENGTH(sources));
    t->trials = metric_family_new("cloche_function_registrations",
                                  "Attempts to register or change custom functions.",
                                  "result", trials, LENGTH(trials));
    t->machines = metric_family_new("cloche_machine_calls",
                                    "Calls of Linux machines, wherever they came from.",
                                    "call", machine_calls, machine_call_count);
    return t;
}

void telemetry_free(struct telemetry *t)
{
    if (!t)
        return;
    metric_family_free(t->tools);
    metric_family_free(t->calls);
    metric_family_free(t->callers);
    metric_family_free(t->functions);
    metric_family_free(t->trials);
    metric_family_free(t->machines);
    metric_family_free(atomic_load(&t->runs));
    for (size_t i = 0; i < t->run_count; i++)
        free(t->run_names[i]);
    pthread_mutex_destroy(&t->lock);
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

void telemetry_function(struct telemetry *t, bool own, enum err_code outcome, uint64_t ns)
{
    metric_count(t->functions, !own, metric_outcome(outcome), ns);
}

void telemetry_trial(struct telemetry *t, unsigned how, uint64_t ns)
{
    metric_count(t->trials, how, how == USAGE_KEPT ? METRIC_SUCCESS : METRIC_ERROR, ns);
}

void telemetry_machine(struct telemetry *t, const char *call, enum err_code outcome,
                       uint64_t ns)
{
    for (size_t i = 0; i < machine_call_count; i++)
        if (!strcmp(call, machine_calls[i]))
            metric_count(t->machines, i, metric_outcome(outcome), ns);
}

/* ---- command-line tools -------------------------------------------------- */

static struct metric_family *make_runs(struct telemetry *t, struct actions *a)
{
    struct tool_list list;
    struct err none = {0};
    if (!tooling_list(a, 0, &list, &none))
        return NULL;
    t->run_names[t->run_count++] = mem_strdup(OTHER_TOOLS);
    for (size_t i = 0; i < list.count && t->run_count < RUN_NAMES_MAX; i++)
        if (list.tools[i]->builtin)
            t->run_names[t->run_count++] = mem_strdup(list.tools[i]->name);
    tooling_list_release(a, &list);
    return metric_family_new("cloche_tool_runs", "Runs of command-line tools.", "tool",
                             (const char *const *)t->run_names, t->run_count);
}

static struct metric_family *runs_of(struct telemetry *t, struct actions *a)
{
    struct metric_family *f = atomic_load_explicit(&t->runs, memory_order_acquire);
    if (f)
        return f;
    pthread_mutex_lock(&t->lock);
    f = atomic_load(&t->runs);
    if (!f && (f = make_runs(t, a)))
        atomic_store_explicit(&t->runs, f, memory_order_release);
    pthread_mutex_unlock(&t->lock);
    return f;
}

void telemetry_run(struct actions *a, const struct tool *tool, enum err_code outcome,
                   uint64_t ns)
{
    struct telemetry *t = a->telemetry;
    struct metric_family *f = runs_of(t, a);
    size_t which = 0;
    for (size_t i = 1; f && tool->builtin && i < t->run_count && !which; i++)
        which = strcmp(t->run_names[i], tool->name) ? 0 : i;
    if (f)
        metric_count(f, which, metric_outcome(outcome), ns);
}

/* ---- telling ------------------------------------------------------------ */

static void put_process(struct buf *out)
{
    unsigned long pages = 0, resident = 0;
    struct err none = {0};
    scoped_buf struct buf text;
    buf_init(&text, 4096);
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

static void put_machines(struct actions *a, struct buf *out)
{
    struct vms_totals n = machines_total(a);
    metric_write(out, "cloche_machines", "gauge", "Linux machines that run.", NULL,
                 n.machines);
    metric_write(out, "cloche_machine_ram_bytes", "gauge",
                 "RAM of the machines that run, which they may take.", NULL,
                 (double)n.ram_bytes);
    metric_write(out, "cloche_machine_memory_bytes", "gauge",
                 "Memory of this computer that is theirs alone.", NULL,
                 (double)n.memory_bytes);
}

bool actions_metrics(struct actions *a, struct buf *out, struct err *e)
{
    const struct telemetry *t = a->telemetry;
    metric_write(out, "cloche_build_info", "gauge", "The version that runs.",
                 "version=\"" CLOCHE_VERSION "\"", 1);
    metric_family_write(t->tools, out);
    metric_family_write(t->callers, out);
    metric_family_write(t->calls, out);
    metric_family_write(t->functions, out);
    metric_family_write(t->trials, out);
    metric_family_write(t->machines, out);
    if (atomic_load(&a->telemetry->runs))
        metric_family_write(atomic_load(&a->telemetry->runs), out);
    put_machines(a, out);
    put_alerts(a->guard, out);
    put_process(out);
    return buf_check(out, "the metrics", e);
}

void actions_on_alert(struct actions *a, alert_fn *fn, void *arg)
{
    guard_on_alert(a->guard, fn, arg);
}

void actions_off_alert(struct actions *a, alert_fn *fn, void *arg)
{
    guard_off_alert(a->guard, fn, arg);
}
