/* The table of host calls, joined from its groups. A new call is a row in its group's
 * file (calls_<namespace>.c), and its function. performing/calling.c performs calls. */
#include "calls/calls.h"
#include "capability/capability.h"
#include "json/json.h"

#define GROUPS_MAX 64

static const struct host_call_group *groups[GROUPS_MAX];
static size_t group_count;
static const struct host_call *table[HOST_CALLS_MAX];
static struct script_row rows[HOST_CALLS_MAX];
static const char *names[HOST_CALLS_MAX];
static size_t table_size;
static struct api_type all_types[API_TYPES_MAX];
static size_t type_count;
static const struct policy_group *policies[GROUPS_MAX];
static size_t policy_count;

/* Keeps the groups' order. Rows of one namespace are adjacent, hidden ones last. */
static void add_group(const struct host_call_group *g)
{
    size_t i = group_count++;
    must(group_count <= GROUPS_MAX);
    for (; i && groups[i - 1]->order > g->order; i--)
        groups[i] = groups[i - 1];
    groups[i] = g;
}

static void add_policy(const struct policy_group *g)
{
    size_t i = 0;
    while (i < policy_count && policies[i] != g)
        i++;
    must(i < GROUPS_MAX);
    policies[i] = g;
    policy_count += i == policy_count;
}

static void join_groups(void)
{
    for (size_t i = 0; i < capability_count; i++) {
        const struct host_call_group *const *g = capability_list[i]->calls;
        while (g && *g)
            add_group(*g++);
        const struct policy_group *const *p = capability_list[i]->policies;
        while (p && *p)
            add_policy(*p++);
    }
    for (size_t g = 0; g < group_count; g++)
        for (size_t i = 0; i < groups[g]->type_count; i++) {
            must(type_count < API_TYPES_MAX);
            all_types[type_count++] = groups[g]->types[i];
        }
    for (size_t g = 0; g < group_count; g++)
        for (size_t i = 0; i < groups[g]->count; i++) {
            must(table_size < HOST_CALLS_MAX);
            rows[table_size] = groups[g]->rows[i].row;
            names[table_size] = groups[g]->rows[i].row.name;
            table[table_size++] = &groups[g]->rows[i];
        }
}

const struct host_call *const *host_call_all(size_t *count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, join_groups);
    *count = table_size;
    return table;
}

const struct api_type *api_types(size_t *count)
{
    (void)host_call_all(count);
    *count = type_count;
    return all_types;
}

const struct api_type *api_type_named(struct str name)
{
    size_t count;
    const struct api_type *all = api_types(&count);
    for (size_t i = 0; i < count; i++)
        if (str_is(name, all[i].name))
            return &all[i];
    return NULL;
}

const struct script_row *host_call_rows(size_t *count)
{
    (void)host_call_all(count);
    return rows;
}

const struct host_call *const *host_calls_listed(size_t *count)
{
    const struct host_call *const *calls = host_call_all(count);
    while (*count && calls[*count - 1]->hidden)
        --*count;
    return calls;
}

const char *const *host_call_names(size_t *count)
{
    (void)host_call_all(count);
    return names;
}

struct str api_namespace(const struct host_call *c)
{
    const char *dot = strchr(c->row.name, '.');
    return (struct str){c->row.name,
                        dot ? (size_t)(dot - c->row.name) : strlen(c->row.name)};
}

/* "x" of "tools.x". */
static bool names_member(struct str name, struct str space, struct str *x)
{
    *x = (struct str){name.at + space.n + 1, name.n - space.n - 1};
    return name.n > space.n + 1 && !memcmp(name.at, space.at, space.n) &&
           name.at[space.n] == '.';
}

bool host_call_is_family(struct str x)
{
    size_t count;
    const struct host_call *const *calls = host_call_all(&count);
    for (size_t i = 0; i < count; i++) {
        struct str own;
        if (host_call_group_of(calls[i])->family &&
            names_member(str_of(calls[i]->row.name), api_namespace(calls[i]), &own) &&
            str_eq(own, x))
            return true;
    }
    return false;
}

const struct host_call *host_call_of_member(const char *name, struct str *member)
{
    for (size_t i = 0; i < table_size; i++) {
        const struct host_call_group *group = host_call_group_of(table[i]);
        if (table[i]->hidden && group->family &&
            names_member(str_of(name), api_namespace(table[i]), member) &&
            group->family(*member))
            return table[i];
    }
    return NULL;
}

/* Aliases, and names of a family: "notes.save", "tools.jq", "customFunctions.*". */
static bool is_further_name(struct str pattern)
{
    for (size_t i = 0; i < table_size; i++) {
        struct str space = api_namespace(table[i]), x;
        if (table[i]->alias && str_is(pattern, table[i]->alias))
            return true;
        const struct host_call_group *group = host_call_group_of(table[i]);
        if (group->family && names_member(pattern, space, &x) &&
            (str_is(x, "*") || group->family(x)))
            return true;
    }
    return false;
}

struct guard_options host_call_guard_options(void)
{
    struct guard_options o = {.further = is_further_name};
    o.calls = host_call_names(&o.call_count);
    o.groups = policies;
    o.group_count = policy_count;
    return o;
}

const struct host_call_group *const *host_call_groups(size_t *count)
{
    (void)host_call_all(count);
    *count = group_count;
    return groups;
}

const struct feature *feature_of(uint32_t bit)
{
    size_t count, i = 0;
    (void)host_call_all(&count);
    while (i < group_count && (!groups[i]->feature || groups[i]->feature->bit != bit))
        i++;
    must(i < group_count);
    return groups[i]->feature;
}

uint32_t features_asked(const struct json *options)
{
    uint32_t features = 0;
    for (uint32_t bit = 1; bit < 1u << FEATURES; bit <<= 1)
        if (json_bool(json_get(options, feature_of(bit)->option), false))
            features |= bit;
    return features;
}

const struct json *call_options(const struct json *args, const char *call, struct err *e)
{
    const struct json *v = json_at(args, 0);
    if (json_is(v, JSON_OBJECT))
        return v;
    err_set(e, ERR_INVALID, "%s needs an object with its options, not %s", call,
            json_type_name(json_type(v)));
    err_because(e, CAUSE_SHAPE);
    return NULL;
}

bool call_option_unknown(struct str key, const char *const *keys, const char *done,
                         struct err *e)
{
    scoped_buf struct buf text;
    buf_init(&text, 300);
    for (size_t i = 0; keys[i]; i++)
        buf_printf(&text, "%s%s", !i ? "" : keys[i + 1] ? ", " : " and ", keys[i]);
    return err_set(e, ERR_INVALID, "there is no option '%.*s'; %s are accepted, %s",
                   STR_ARGS(str_cut(key, 60)), buf_cz(&text), done);
}

/* ---- names -------------------------------------------------------------- */

/* Returns the length of the list if there is no such row. */
static size_t number_of(const char *name, const struct host_call *const **calls,
                        size_t *count)
{
    size_t i = 0;
    *calls = host_call_all(count);
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

const struct host_call_group *host_call_group_of(const struct host_call *c)
{
    size_t i = 0;
    while (i < group_count &&
           (c < groups[i]->rows || c >= groups[i]->rows + groups[i]->count))
        i++;
    must(i < group_count);
    return groups[i];
}

struct permit_need host_call_need(const struct host_call *c)
{
    const struct host_call_group *g = host_call_group_of(c);
    return (struct permit_need){.name = c->row.name,
                                .alias = c->alias,
                                .least = c->level,
                                .writes = c->row.writes,
                                .in_history = g->in_history,
                                .scopeless = g->scopeless,
                                .always = g->always};
}

const struct host_call *host_call_of_right(enum right r)
{
    size_t count, i = 0;
    const struct host_call *const *calls = host_call_all(&count);
    while (i < count && calls[i]->right != r)
        i++;
    must(i < count);
    return calls[i];
}

bool right_permitted(const struct permit *p, enum right r, struct err *e)
{
    struct permit_need need = host_call_need(host_call_of_right(r));
    return permit_call(p, &need, e);
}

uint32_t host_call_number(const char *name)
{
    size_t count;
    const struct host_call *const *calls;
    size_t i = number_of(name, &calls, &count);
    must(i < count);
    return (uint32_t)i;
}
