/* Use of custom functions: counted at the end of each evaluation. */
#include "functions_api/function_load.h"
#include "functions_api/functioning.h"
#include "metrics/metrics.h"

/* calls of one function in one evaluation that the metrics count */
#define COUNTED_MAX 10000u

static void count(const struct evaluation *v, const struct usage_use *use)
{
    for (uint32_t i = 0; i < use->calls && i < COUNTED_MAX; i++) {
        double ms = i < use->time_count ? use->times_ms[i] : 0;
        metric_count(functioning_of(v->actions)->calls, use->shared,
                     i < use->failed ? METRIC_ERROR : METRIC_SUCCESS,
                     ms > 0 && ms < 1e9 ? (uint64_t)(ms * 1e6) : 0);
    }
}

/* Counts a run of the function that was tried, not of those that it calls. */
static void note_trial(struct evaluation *v, const struct usage_use *uses, size_t n)
{
    struct err none = {0};
    struct functions *f = functioning_in(v->actions, v->here->vault, &none);
    for (size_t i = 0; f && i < n && !v->here->permit.read_only; i++)
        if (str_eq(uses[i].of->id, functions_loaded(v)->draft->id))
            usage_note(functions_usage(f),
                       &(struct usage_evaluation){.caller = str_of(v->who->name),
                                                  .at_ms = os_real_ms(),
                                                  .uses = &uses[i],
                                                  .use_count = 1,
                                                  .is_trial = true});
}

void functioning_used(struct evaluation *v, const struct usage_use *uses, size_t n)
{
    struct err none = {0};
    if (functions_loaded(v)->tried && v->here->vault)
        note_trial(v, uses, n);
    /* A trial is no use; the command line has no agent's session, and would wait for
     * it. */
    if (functions_loaded(v)->given || functions_loaded(v)->draft ||
        (n == 0 && caller_way(v->who) == WAY_TERMINAL))
        return;
    for (size_t i = 0; i < n; i++)
        count(v, &uses[i]);
    struct functions *f = functions_loaded(v)->kept;
    if (!f && v->here->vault)
        f = functioning_in(v->actions, v->here->vault, &none);
    if (!f || v->here->permit.read_only)
        return;
    struct usage_evaluation e = {.caller = str_of(v->who->name),
                                 .session = functioning_session(v),
                                 .at_ms = os_real_ms(),
                                 .uses = uses,
                                 .use_count = n};
    usage_note(functions_usage(f), &e);
}

void functioning_tried(const struct action_call *c, struct functions *f,
                       enum usage_trial how, double ms)
{
    metric_count(functioning_of(c->actions)->trials, how,
                 how == USAGE_KEPT ? METRIC_SUCCESS : METRIC_ERROR, (uint64_t)(ms * 1e6));
    if (!c->place->permit.read_only)
        usage_tried(functions_usage(f), how, ms);
}
