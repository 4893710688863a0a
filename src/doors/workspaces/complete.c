/* Completion of arguments and of variables of templates. */
#include "workspaces/views.h"

#define CANDIDATES_MAX ((size_t)8 << 20) /* bytes of them, as JSON */

/* ---- how well a name fits -------------------------------------------------- */

enum fit { FIT_PREFIX, FIT_INSIDE, FIT_SPREAD, FIT_NOT };

static bool same_at(struct str name, size_t at, struct str begun)
{
    for (size_t i = 0; i < begun.n; i++)
        if (char_lower(name.at[at + i]) != char_lower(begun.at[i]))
            return false;
    return true;
}

static bool is_spread(struct str name, struct str begun)
{
    size_t found = 0;
    for (size_t i = 0; i < name.n && found < begun.n; i++)
        found += char_lower(name.at[i]) == char_lower(begun.at[found]);
    return found == begun.n;
}

/* A name counts from its beginning, and from behind each '/'. */
static enum fit fit_of(struct str name, struct str begun)
{
    enum fit best = FIT_NOT;
    for (size_t at = 0; begun.n <= name.n && at <= name.n - begun.n; at++) {
        if (!same_at(name, at, begun))
            continue;
        if (at == 0 || name.at[at - 1] == '/')
            return FIT_PREFIX;
        best = FIT_INSIDE;
    }
    return best == FIT_NOT && is_spread(name, begun) ? FIT_SPREAD : best;
}

/* ---- the answer ------------------------------------------------------------ */

static bool put_completion(const struct json *candidates, struct str begun,
                           struct buf *completion, struct err *e)
{
    begun = str_cut(begun, 200);
    size_t total = 0, shown = 0;
    struct json_writer w = json_writer(completion);
    json_open_object(&w);
    json_key(&w, "values");
    json_open_array(&w);
    for (enum fit fit = FIT_PREFIX; fit < FIT_NOT; fit++) {
        struct json_iter it = json_iter(candidates);
        while (json_next(&it)) {
            if (!json_is(it.value, JSON_STRING) ||
                fit_of(json_str(it.value), begun) != fit)
                continue;
            if (shown < COMPLETION_MAX) {
                json_put(&w, it.value);
                shown++;
            }
            total++;
        }
    }
    json_close(&w);
    json_pair_int(&w, "total", (int64_t)total);
    json_pair_bool(&w, "hasMore", total > shown);
    json_close(&w);
    return buf_check(completion, "the completion", e);
}

/* ---- whose names ------------------------------------------------------------ */

static bool has_argument(const struct prompt_shown *p, struct str name)
{
    for (size_t i = 0; i < p->argument_count; i++)
        if (str_is(name, p->arguments[i].name))
            return true;
    return false;
}

static bool gather_prompt(struct workspaces *w, const struct caller *who,
                          const struct workspaces_completion *c, struct buf *values,
                          struct err *e)
{
    size_t i = prompt_find(w, c->name);
    if (i == SIZE_MAX)
        return err_set(e, ERR_NOT_FOUND, "there is no prompt '%.*s'",
                       STR_ARGS(str_cut(c->name, 80)));
    const struct prompt_shown *p = prompt_at(w, i);
    if (!has_argument(p, c->argument))
        return err_set(e, ERR_INVALID, "the prompt %s has no argument '%.*s'", p->name,
                       STR_ARGS(str_cut(c->argument, 80)));
    const struct prompt_extra *extra = prompt_extra_at(w, i);
    if (!extra)
        return names_put(w, who, c->argument, c->known, values, e);
    return !extra->complete ||
           extra->complete(extra->arg, c->argument, c->known, who, values, e);
}

static bool gather_variable(struct workspaces *w, const struct caller *who,
                            const struct workspaces_completion *c, struct buf *values,
                            struct err *e)
{
    const struct resource_extra *extra;
    const struct resource_shown *r = template_named(w, c->name, &extra);
    if (!r)
        return err_set(e, ERR_NOT_FOUND, "there is no resource template '%.*s'",
                       STR_ARGS(str_cut(c->name, 150)));
    if (!template_has(r->uri, c->argument))
        return err_set(e, ERR_INVALID, "the template %s has no variable '%.*s'", r->uri,
                       STR_ARGS(str_cut(c->argument, 80)));
    if (extra)
        return !extra->complete ||
               extra->complete(extra->arg, c->argument, c->known, who, values, e);
    /* Names of results are not completed: they are secrets. */
    return !str_starts(c->name, VIEW_SCHEME) ||
           names_put(w, who, c->argument, c->known, values, e);
}

bool workspaces_complete(struct workspaces *w, const struct caller *who,
                         const struct workspaces_completion *c, struct buf *completion,
                         struct err *e)
{
    scoped_buf struct buf values = buf_of(CANDIDATES_MAX);
    if (!(c->of_prompt ? gather_prompt : gather_variable)(w, who, c, &values, e) ||
        !buf_check(&values, "the names", e))
        return false;
    scoped(arena_free) struct arena *a = arena_new(8 * CANDIDATES_MAX);
    const struct json *all = json_read(values.n ? buf_view(&values) : STR("[]"), a, e);
    return all && put_completion(all, c->begun, completion, e);
}
