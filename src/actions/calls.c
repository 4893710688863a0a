/* The table of host calls, joined from its groups. To add a call: a row in its group's
 * file (calls_<namespace>.c), and its function. calling.c performs them. */
#include "actions/calls.h"

static const struct host_call_group *const groups[] = {
    /* One namespace's stand together. */
    &notes_calls,  &writing_calls, &search_calls,    &note_types_calls,
    &utils_calls,  &links_calls,   &hierarchy_calls, &relationships_calls,
    &vaults_calls, &fetch_calls,   &api_calls,       &fs_calls,
    &tools_calls,  &vm_calls,      &functions_calls, /* not told of: last */
};

static const struct host_call *table[HOST_CALLS_MAX];
static struct script_row rows[HOST_CALLS_MAX];
static const char *names[HOST_CALLS_MAX];
static size_t table_size;

static void join_groups(void)
{
    for (size_t g = 0; g < LENGTH(groups); g++)
        for (size_t i = 0; i < groups[g]->count; i++) {
            must(table_size < HOST_CALLS_MAX);
            rows[table_size] = groups[g]->rows[i].row;
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

const struct script_row *host_call_rows(size_t *count)
{
    (void)host_calls(count);
    return rows;
}

const struct host_call *const *host_calls_told(size_t *count)
{
    const struct host_call *const *calls = host_calls(count);
    while (*count && calls[*count - 1]->inner)
        --*count;
    return calls;
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

/* ---- names -------------------------------------------------------------- */

/* How many there are: there is none. */
static size_t number_of(const char *name, const struct host_call *const **calls,
                        size_t *count)
{
    size_t i = 0;
    *calls = host_calls(count);
    while (i < *count && strcmp((*calls)[i]->row.name, name) != 0)
        i++;
    return i;
}

const struct host_call *host_call_named(const char *name)
{
    size_t count;
    const struct host_call *const *calls;
    size_t i = number_of(name, &calls, &count);
    return i < count ? calls[i] : NULL;
}

uint32_t host_call_number(const char *name)
{
    size_t count;
    const struct host_call *const *calls;
    size_t i = number_of(name, &calls, &count);
    must(i < count);
    return (uint32_t)i;
}
