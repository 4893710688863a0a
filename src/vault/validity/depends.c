/* Dependencies of functions: the call graph, missing names, and cycles. */
#include <stdio.h>

#include "validity/validity.h"

#define NEAR_MAX 3u
#define GUESSES_MAX 20u /* names that are looked for among all others */
#define WAY_MAX 64u     /* calls in a row */
#define REACH_MAX 500u  /* functions that are looked at */

/* ---- missing --------------------------------------------------------------- */

/* The functions whose names are nearest to one that there is not, the nearest first. */
static void put_nearest(const struct function_set *among, struct str name,
                        struct buf *out)
{
    struct {
        struct str name;
        size_t slips;
    } near[NEAR_MAX];
    size_t most = name.n / 3 > 2 ? name.n / 3 : 2, found = 0;
    for (size_t i = 0; i < function_count(among); i++) {
        struct str other = function_at(among, i)->name;
        size_t slips = str_distance(name, other), at = found;
        while (at > 0 && near[at - 1].slips > slips)
            at--;
        if (slips > most || at == NEAR_MAX)
            continue;
        found += found < NEAR_MAX;
        for (size_t k = found - 1; k > at; k--)
            near[k] = near[k - 1];
        near[at].name = other;
        near[at].slips = slips;
    }
    for (size_t i = 0; i < found; i++)
        buf_printf(out, "%s'%.*s'", i ? ", " : "Did you mean ", STR_ARGS(near[i].name));
    buf_cstr(out, found ? "?" : "list_custom_functions lists them.");
}

void function_missing(const struct function *fn, const struct function_uses *uses,
                      const struct function_set *among, struct findings *out)
{
    for (size_t i = 0, missing = 0; i < uses->count; i++) {
        const struct function_use *u = &uses->at[i];
        if (str_eq(u->name, fn->name) || function_found(among, u->name))
            continue;
        scoped_buf struct buf near, text;
        buf_init(&near, BUF_LINE);
        buf_init(&text, BUF_LINE);
        if (missing++ < GUESSES_MAX)
            put_nearest(among, u->name, &near);
        buf_printf(&text, "there is no function customFunctions.%.*s",
                   STR_ARGS(str_cut(u->name, 80)));
        findings_error(out, &(struct finding){.field = STR("code"),
                                              .line = u->line,
                                              .column = u->column,
                                              .code = "MISSING_FUNCTION",
                                              .message = buf_view(&text),
                                              .suggestion = buf_view(&near)});
    }
}

const struct function *function_found(const struct function_set *s, struct str name)
{
    const struct function *fn = s ? function_named(s, name) : NULL;
    return fn && str_eq(fn->name, name) ? fn : NULL; /* in code nothing is called by id */
}

/* ---- circles ---------------------------------------------------------------- */

/* A way through the calls, from `fn` on: what each step still has to look at. */
struct step {
    const struct function *fn;
    const struct function_uses *uses;
    size_t next;
};
struct way {
    struct step steps[WAY_MAX];
    size_t count;
    const struct function *seen[REACH_MAX]; /* no way on from there leads back */
    size_t seen_count;
};

static bool was_seen(const struct way *w, const struct function *fn)
{
    for (size_t i = 0; i < w->seen_count; i++)
        if (w->seen[i] == fn)
            return true;
    return false;
}

static void put_circle(const struct way *w, struct str first, struct findings *out)
{
    scoped_buf struct buf text = buf_of(BUF_PAGE);
    buf_cstr(&text, "calls go in a circle: ");
    for (size_t i = 0; i < w->count; i++)
        buf_printf(&text, "%.*s -> ", STR_ARGS(w->steps[i].fn->name));
    buf_str(&text, first);
    const struct function_uses *own = w->steps[0].uses;
    struct finding f = {.field = STR("code"),
                        .code = "CIRCULAR_CALLS",
                        .message = buf_view(&text),
                        .suggestion = STR("One of them must end without the next call.")};
    if (w->count > 1 && w->steps[0].next) {
        f.line = own->at[w->steps[0].next - 1].line;
        f.column = own->at[w->steps[0].next - 1].column;
    }
    findings_warn(out, &f);
}

bool function_circles(const struct function *fn, const struct function_set *among,
                      function_uses_fn *uses, void *arg, struct findings *out,
                      struct err *e)
{
    struct way *w = mem_new(sizeof *w);
    bool ok = true, found = false;
    w->steps[0] = (struct step){fn, uses(arg, fn, e), 0};
    w->count = w->steps[0].uses ? 1 : 0;
    ok = w->count > 0;
    while (ok && w->count && !found) {
        struct step *last = &w->steps[w->count - 1];
        if (last->next == last->uses->count) {
            w->count--;
            continue;
        }
        struct str name = last->uses->at[last->next++].name;
        if (str_eq(name, fn->name)) {
            /* Recursion of a single function is not reported as a cycle. */
            found = w->count > 1;
            if (found)
                put_circle(w, fn->name, out);
            continue;
        }
        const struct function *to = function_found(among, name);
        if (!to || was_seen(w, to) || w->count == WAY_MAX || w->seen_count == REACH_MAX)
            continue;
        w->seen[w->seen_count++] = to;
        const struct function_uses *further = uses(arg, to, e);
        ok = further != NULL;
        if (ok)
            w->steps[w->count++] = (struct step){to, further, 0};
    }
    free(w);
    return ok;
}

/* ---- callers ------------------------------------------------------------------ */

bool function_may_call(const struct function *fn, struct str name)
{
    bool python = fn->language == FUNCTION_PYTHON;
    return (memmem(fn->code.at, fn->code.n, "customFunctions", 15) ||
            (python && memmem(fn->code.at, fn->code.n, "custom_functions", 16))) &&
           (!name.n || memmem(fn->code.at, fn->code.n, name.at, name.n));
}
