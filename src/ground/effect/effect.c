/* Effects of a call: counted, reported, and kept as far as its caller knows of them. */
#include "effect/effect.h"

#include <stdio.h>

static struct str effect_copy_str(struct arena *a, struct str s, struct err *e)
{
    return (struct str){s.at ? arena_copy(a, s.at, s.n, e) : NULL, s.n};
}

/* Best effort: what is not kept is read anew by whoever needs it. */
static void add_known(struct outcome *o, const struct effect *e)
{
    struct err full = {0};
    struct effect_row *r = arena_get(o->arena, sizeof *r, &full);
    if (!r)
        return;
    *r = (struct effect_row){o->known, *e};
    struct str *const strings[] = {&r->of.id, &r->of.path, &r->of.before, &r->of.after,
                                   &r->of.list};
    for (size_t i = 0; i < LENGTH(strings); i++)
        *strings[i] = effect_copy_str(o->arena, *strings[i], &full);
    if (full.code)
        return;
    o->known = r;
    o->known_count++;
}

void outcome_add(struct outcome *o, const struct effect *e)
{
    if (!o)
        return;
    bool change = e->deed != EFFECT_READ;
    o->changes += change;
    if (e->dry)
        return;
    o->changed |= change;
    o->removed += e->deed == EFFECT_REMOVED;
    if (change && o->hear)
        o->hear(o->arg, e);
    if (o->arena && o->known_count < EFFECT_KNOWN_MAX &&
        (e->known || e->deed == EFFECT_MADE))
        add_known(o, e);
}

void outcome_rows(struct outcome *o, size_t rows)
{
    if (o)
        o->rows = rows;
}

void outcome_fail(struct outcome *o, int exit_code, struct str errors)
{
    if (!o)
        return;
    struct str said = str_trim(errors);
    const char *end = said.n ? memchr(said.at, '\n', said.n) : NULL;
    said.n = end ? (size_t)(end - said.at) : said.n;
    o->failed = true;
    o->exit_code = exit_code;
    (void)snprintf(o->said, sizeof o->said, "%.*s", STR_ARGS(str_cut(said, 120)));
}
