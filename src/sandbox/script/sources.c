/* The guest's counts of further sources' calls. They stand in the guest's memory, which
 * is whatever the code's own bugs made of it: nothing here is believed but that numbers
 * are numbers. */
#include <math.h>

#include "script/internal.h"

/* A slice of the guest's memory, also of one that was stopped; NULL. */
static const void *slice(struct world *w, bool stopped, uint32_t at, size_t n)
{
    return stopped ? world_remains(w, at, n) : world_slice(w, at, n);
}

static void *state_copy(struct world *w, bool stopped, uint32_t at, size_t count,
                        size_t size)
{
    const void *from = count ? slice(w, stopped, at, count * size) : NULL;
    void *own = from ? malloc(count * size) : NULL;
    if (own)
        memcpy(own, from, count * size);
    return own;
}

static double sound(double ms)
{
    return isfinite(ms) && ms > 0 ? ms : 0;
}

static void mend(struct script_tally *t)
{
    t->samples = t->samples < SCRIPT_SAMPLES ? t->samples : SCRIPT_SAMPLES;
    t->failed = t->failed < t->calls ? t->failed : t->calls;
    t->open = t->open < t->calls ? t->open : t->calls;
    t->total_ms = sound(t->total_ms);
    t->longest_ms = sound(t->longest_ms);
    for (uint32_t i = 0; i < t->samples; i++)
        t->ms[i] = (float)sound((double)t->ms[i]);
}

void sources_read(struct run *r, struct world *w, bool stopped)
{
    struct script_sources view;
    struct script_outcome *o = r->out;
    const void *at = slice(w, stopped, (uint32_t)r->script->sources_at, sizeof view);
    if (!at)
        return;
    memcpy(&view, at, sizeof view);
    if (view.tally_count > SCRIPT_SOURCES_MAX || view.visit_count > SCRIPT_VISITS_MAX)
        return;
    o->tallies =
        state_copy(w, stopped, view.tallies_at, view.tally_count, sizeof *o->tallies);
    o->tally_count = o->tallies ? view.tally_count : 0;
    o->visits =
        state_copy(w, stopped, view.visits_at, view.visit_count, sizeof *o->visits);
    o->visit_count = o->visits ? view.visit_count : 0;
    o->visits_dropped = view.visits_dropped;
    for (size_t i = 0; i < o->tally_count; i++)
        mend(&o->tallies[i]);
}
