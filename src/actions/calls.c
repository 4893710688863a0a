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
static const char *names[HOST_CALLS_MAX];
static size_t table_size;

static void join_groups(void)
{
    for (size_t g = 0; g < LENGTH(groups); g++)
        for (size_t i = 0; i < groups[g]->count; i++) {
            must(table_size < HOST_CALLS_MAX);
            names[table_size] = groups[g]->rows[i].row.name;
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

const char *const *actions_call_names(size_t *count)
{
    (void)host_calls(count);
    return names;
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

const struct host_call *host_call_named(const char *name)
{
    size_t count;
    const struct host_call *const *calls = host_calls(&count);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(calls[i]->row.name, name))
            return calls[i];
    return NULL;
}

static bool perform(struct evaluation *v, const struct host_call *c, struct str args,
                    struct buf *out, struct err *e)
{
    if (!evaluation_allows(v, c, e))
        return false;
    scoped(arena_free) struct arena *a = arena_new(CALL_ARGS_MAX);
    const struct json *values = json_read(args, a, e);
    if (!values)
        return err_wrap(e, "%s", c->row.name);
    struct json_writer w = json_writer(out);
    return c->call(v, values, &w, e);
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
    pthread_rwlock_rdlock(&v->moving);
    bool ok = perform(v, c, args, out, e);
    pthread_rwlock_unlock(&v->moving);
    return ok;
}
