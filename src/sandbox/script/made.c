/* Notes on the host calls that an evaluation makes, for its trace and for hints. */
#include "script/internal.h"

#define HASHED_MAX 512u /* bytes of arguments; longer ones are compared with nothing */

/* These are compared within one evaluation only. */
static uint64_t hash_of(struct str s)
{
    return s.n > HASHED_MAX ? 0 : hash_fnv(HASH_FNV, s) | 1;
}

static bool made_have_room(struct script_outcome *o)
{
    if (o->made_count < o->made_capacity)
        return true;
    size_t want = o->made_capacity ? o->made_capacity * 4 : 16;
    want = want < SCRIPT_MADE_MAX ? want : SCRIPT_MADE_MAX;
    struct script_made *grown =
        want > o->made_count ? realloc(o->made, want * sizeof *grown) : NULL;
    if (!grown)
        return false;
    o->made = grown;
    o->made_capacity = want;
    return true;
}

uint32_t made_add(struct run *r, const struct script_call *c, struct str args)
{
    struct script_outcome *o = r->out;
    if (!made_have_room(o)) {
        o->made_dropped++;
        return MADE_NONE;
    }
    struct script_made *m = &o->made[o->made_count];
    struct str shown = str_cut(args, sizeof m->args);
    *m = (struct script_made){.row = c->row & ~SCRIPT_WITHIN,
                              .line = c->line,
                              .from = c->from,
                              .round = r->round,
                              .args_size = (uint32_t)args.n,
                              .args_hash = hash_of(args),
                              .args_shown = (uint32_t)shown.n};
    memcpy(m->args, shown.at, shown.n);
    return (uint32_t)o->made_count++;
}

void made_end(struct run *r, uint32_t index, const struct made_times *t,
              enum err_code failed, size_t answer_size)
{
    if (index == MADE_NONE || !t->end_ns)
        return;
    struct script_made *m = &r->out->made[index];
    m->answered = true;
    m->failed = failed;
    m->answer_size = failed ? 0 : (uint32_t)answer_size;
    m->at_ms = (double)(t->start_ns - r->started_ns) / 1e6;
    m->ms = (double)(t->end_ns - t->start_ns) / 1e6;
}
