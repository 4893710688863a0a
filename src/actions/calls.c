/* The table of host calls, joined from its groups, and how one is performed. To add a
 * call: a row in its group's file (calls_<namespace>.c), and its function. */
#include <stdio.h>

#include "actions/internal.h"

static const struct host_call_group *const groups[] = {
    &notes_calls,
    &utils_calls,
    &vaults_calls,
    &api_calls,
};

static const struct host_call *table[HOST_CALLS_MAX];
static size_t table_size;

static void join_groups(void)
{
    for (size_t g = 0; g < LENGTH(groups); g++)
        for (size_t i = 0; i < groups[g]->count; i++) {
            must(table_size < HOST_CALLS_MAX);
            table[table_size++] = &groups[g]->rows[i];
        }
}

const struct host_call *const *host_calls(size_t *count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, join_groups);
    *count = table_size;
    return table;
}

const struct json *call_options(const struct json *args, const char *call, struct err *e)
{
    const struct json *v = json_at(args, 0);
    if (json_is(v, JSON_OBJECT))
        return v;
    err_set(e, ERR_INVALID, "%s needs an object with its options, not %s", call,
            json_type_name(json_type(v)));
    return NULL;
}

/* ---- performing --------------------------------------------------------- */

void evaluation_init(struct evaluation *v, const struct action_call *c,
                     const struct json *allowed)
{
    *v = (struct evaluation){.actions = c->actions,
                             .who = c->who,
                             .allowed = allowed,
                             .arena = arena_new((size_t)16 << 20)};
    atomic_init(&v->vault, c->who->vault ? *c->who->vault : 0);
    pthread_mutex_init(&v->lock, NULL);
}

void evaluation_done(struct evaluation *v)
{
    pthread_mutex_destroy(&v->lock);
    arena_free(v->arena);
}

/* "notes.get", "notes", "notes.*" or "*"; the seed's notes.save is create and
 * update. */
static bool pattern_fits(struct str pattern, const char *call)
{
    if (str_is(pattern, call) || str_is(pattern, "*"))
        return true;
    if (str_is(pattern, "notes.save"))
        return !strcmp(call, "notes.create") || !strcmp(call, "notes.update");
    if (str_ends(pattern, ".*"))
        pattern.n -= 2;
    const char *dot = strchr(call, '.');
    return dot && str_eq(pattern, (struct str){call, (size_t)(dot - call)});
}

static bool is_listed(const struct json *allowed, const char *call)
{
    if (!allowed)
        return true;
    struct json_iter it = json_iter(allowed);
    while (json_next(&it))
        if (pattern_fits(json_str(it.value), call))
            return true;
    return false;
}

bool allowed_check(const struct json *allowed, struct err *e)
{
    size_t count;
    const struct host_call *const *calls = host_calls(&count);
    struct json_iter it = json_iter(allowed);
    while (json_next(&it)) {
        bool known = false;
        for (size_t i = 0; i < count && !known; i++)
            known = pattern_fits(json_str(it.value), calls[i]->row.name);
        if (!known)
            return err_set(
                e, ERR_INVALID,
                "allowedAPIs: there is no '%.*s'; a method such as 'notes.get' or "
                "a namespace such as 'utils' is accepted",
                STR_ARGS(str_cut(json_str(it.value), 60)));
    }
    return true;
}

bool level_allows(enum level level, const char *call)
{
    size_t count;
    const struct host_call *const *calls = host_calls(&count);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(calls[i]->row.name, call))
            return level <= calls[i]->level;
    return false;
}

bool evaluation_allows(const struct evaluation *v, const struct host_call *c,
                       struct err *e)
{
    if (v->who->level > c->level)
        return err_set(e, ERR_DENIED, "%s is not allowed at the level '%s'", c->row.name,
                       level_limits(v->who->level)->name);
    /* api.* only tells what there is. */
    if (!strncmp(c->row.name, "api.", 4))
        return true;
    if (!is_listed(v->allowed, c->row.name))
        return err_set(e, ERR_DENIED, "%s is not among this call's allowedAPIs",
                       c->row.name);
    return true;
}

bool host_perform(void *arg, uint32_t row, struct str args, struct buf *out,
                  struct err *e)
{
    struct evaluation *v = arg;
    size_t count;
    const struct host_call *const *calls = host_calls(&count);
    must(row < count);
    const struct host_call *c = calls[row];
    if (!c->call)
        return err_set(e, ERR_NOT_FOUND, "%s is no call to the host", c->row.name);
    if (!evaluation_allows(v, c, e))
        return false;
    scoped(arena_free) struct arena *a = arena_new(CALL_ARGS_MAX);
    const struct json *values = json_read(args, a, e);
    if (!values)
        return err_wrap(e, "%s", c->row.name);
    struct json_writer w = json_writer(out);
    return c->call(v, values, &w, e);
}
