/* The command-line tools of a caller, and their actions. */
#include "tools_api/tooling.h"

#include <ctype.h>
#include <stdio.h>

#include "actions/actions.h"
#include "metrics/metrics.h"
#include "services/services.h"
#include "tools_api/tools_api.h"

#define RUN_NAMES_MAX 256u
#define OTHER_TOOLS "installed"

/* ---- the catalogue --------------------------------------------------------- */

/* The capability's state. */
struct tooling {
    struct once catalogue;
    struct once glance;          /* the list, read without an engine */
    pthread_mutex_t lock;        /* guards the next two */
    struct tool_action *actions; /* created at the first call */
    size_t action_count;
    /* Counters of runs: built-in tools by name, all others together; created at the
     * first. */
    struct once runs;
    char *run_names[RUN_NAMES_MAX];
    size_t run_count;
};

static struct tooling *own_of(const struct actions *a)
{
    return capability_own(a, &tools_capability);
}

void *tooling_open(struct actions *a)
{
    (void)a;
    struct tooling *own = mem_new(sizeof *own);
    pthread_mutex_init(&own->lock, NULL);
    return own;
}

static void *make_catalogue(void *arg, struct err *e)
{
    const char *guests;
    struct engine *g = services_engine_at(((struct actions *)arg)->services, &guests, e);
    return g ? catalogue_open(&(struct catalogue_options){
                   .guest_dir = guests, .engine = g, .taken = actions_name_taken})
             : NULL;
}

struct catalogue *actions_catalogue(struct actions *a, struct err *e)
{
    return once_need(&own_of(a)->catalogue, make_catalogue, a, e);
}

static void *make_glance(void *arg, struct err *e)
{
    const char *guests = services_guests(((struct actions *)arg)->services, e);
    return guests ? catalogue_open(&(struct catalogue_options){.guest_dir = guests})
                  : NULL;
}

bool tools_installed(struct actions *a)
{
    struct err none = {0};
    const char *guests = services_guests(a->services, &none);
    return guests && catalogue_is_filled(guests);
}

uint64_t tooling_version(struct actions *a)
{
    struct err none = {0};
    struct catalogue *c = once_need(&own_of(a)->glance, make_glance, a, &none);
    return c ? catalogue_version(c) : 0;
}

/* Code may spell a name as an identifier: "clangFormat" and "clang_format" are
 * clang-format. */
static struct str spelt(struct str name, char out[static TOOL_NAME_MAX * 2])
{
    size_t n = 0;
    for (size_t i = 0; i < name.n && n + 2 < TOOL_NAME_MAX * 2; i++) {
        unsigned char c = (unsigned char)name.at[i];
        if (isupper(c) && i)
            out[n++] = '-';
        out[n++] = c == '_' ? '-' : (char)tolower(c);
    }
    return (struct str){out, n};
}

/* For agents: what to call instead, or how to find it. */
static void refuse_name(struct actions *a, unsigned vault, struct str name,
                        const struct err *why, struct err *e)
{
    scoped_buf struct buf meant;
    buf_init(&meant, 300);
    if (why->code == ERR_NOT_FOUND)
        capability_meant(a, NULL, vault, name, false, &meant);
    if (meant.n)
        err_set(e, ERR_NOT_FOUND, "there is no tool '%.*s'; %s",
                STR_ARGS(str_cut(name, 60)), buf_cz(&meant));
    else if (why->cause == CAUSE_NO_TOOL)
        err_set(e, ERR_NOT_FOUND,
                "there is no tool '%.*s'; find_tools finds tools by what they do",
                STR_ARGS(str_cut(name, 60)));
    else
        err_pass(e, why);
}

const struct tool *tooling_find(struct actions *a, unsigned vault, struct str name,
                                struct err *e)
{
    struct catalogue *c = actions_catalogue(a, e);
    char id[VAULT_ID_MAX + 1], other[TOOL_NAME_MAX * 2];
    if (!c)
        return NULL;
    vault_set_id(a->vaults, vault, id);
    struct err why = {0}, ignored = {0};
    const struct tool *t = tool_find(c, name, str_of(id), &why);
    struct str second = spelt(name, other);
    if (!t && why.code == ERR_NOT_FOUND && !str_eq(second, name))
        t = tool_find(c, second, str_of(id), &ignored);
    if (!t)
        refuse_name(a, vault, name, &why, e);
    return t;
}

bool tooling_list(struct actions *a, unsigned vault, struct tool_list *out, struct err *e)
{
    struct catalogue *c = actions_catalogue(a, e);
    char id[VAULT_ID_MAX + 1];
    *out = (struct tool_list){0};
    vault_set_id(a->vaults, vault, id);
    return c && tool_list(c, str_of(id), out, e);
}

void tooling_list_release(struct actions *a, struct tool_list *l)
{
    struct catalogue *c = once_peek(&own_of(a)->catalogue);
    if (c)
        tool_list_release(c, l);
}

bool tooling_offers(const struct policy *p, const struct tool *t)
{
    struct tool_standing s = p ? tool_standing(p, t) : (struct tool_standing){0};
    return p && t->enabled && !s.is_disabled && s.permission != PERMISSION_NEVER;
}

/* ---- actions ----------------------------------------------------------------- */

#define TOOL_ACTIONS_MAX 4096u /* names ever called, over the life of the process */

/* The action of one name, created at its first call; each call looks up the tool. */
struct tool_action {
    struct action shown;
    struct action_row row;
    struct tool_action *next;
};

static const struct tool_action *action_of(struct tooling *own, struct str name)
{
    const struct tool_action *t = own->actions;
    while (t && !str_is(name, t->shown.name))
        t = t->next;
    return t;
}

static const struct tool_action *add_action(struct tooling *own, struct str name)
{
    if (own->action_count == TOOL_ACTIONS_MAX)
        return NULL;
    struct tool_action *t = mem_new(sizeof *t);
    char *copy = mem_new(name.n + 1);
    memcpy(copy, name.at, name.n);
    t->shown = (struct action){.name = copy,
                               .title = copy,
                               .description = "",
                               .input_schema = "{\"type\":\"object\"}",
                               .destructive = true};
    t->row = (struct action_row){.shown = t->shown,
                                 .run = action_wasm,
                                 .scope = SCOPE_EVALUATE,
                                 /* its manifest describes the arguments */
                                 .unchecked = true,
                                 .counted_as = "run_tool"};
    t->next = own->actions;
    own->actions = t;
    own->action_count++;
    return t;
}

static bool exists_in(struct actions *a, unsigned vault, struct str tool)
{
    struct err why = {0};
    const struct tool *t = tooling_find(a, vault, tool, &why);
    if (t)
        tool_release(once_peek(&own_of(a)->catalogue), t);
    return t || why.code == ERR_DENIED; /* a disabled one exists: the call says so */
}

/* Whether any vault has it; the call checks whether its caller may use that vault. */
static bool exists(struct actions *a, struct str tool)
{
    unsigned count = vault_set_count(a->vaults);
    for (unsigned vault = 0; vault <= count; vault++)
        if (exists_in(a, vault, tool))
            return true;
    return false;
}

const struct action *tooling_action(struct actions *a, struct str name)
{
    struct str tool = {name.at + sizeof TOOL_PREFIX - 1, 0};
    if (!str_starts(name, TOOL_PREFIX) || name.n >= TOOL_NAME_MAX + sizeof TOOL_PREFIX)
        return NULL;
    tool.n = name.n - (sizeof TOOL_PREFIX - 1);
    if (!tool.n || !exists(a, tool))
        return NULL;
    struct tooling *own = own_of(a);
    pthread_mutex_lock(&own->lock);
    const struct tool_action *t = action_of(own, name);
    if (!t)
        t = add_action(own, name);
    pthread_mutex_unlock(&own->lock);
    return t ? &t->shown : NULL;
}

const struct action_row *tooling_row(struct actions *a, const struct action *which)
{
    struct tooling *own = own_of(a);
    pthread_mutex_lock(&own->lock);
    const struct tool_action *t = own->actions;
    while (t && &t->shown != which)
        t = t->next;
    pthread_mutex_unlock(&own->lock);
    return t ? &t->row : NULL;
}

void tooling_close(void *arg)
{
    struct tooling *own = arg;
    for (struct tool_action *t = own->actions, *next; t; t = next) {
        next = t->next;
        free((void *)(uintptr_t)t->shown.name);
        free(t);
    }
    catalogue_close(once_peek(&own->catalogue));
    catalogue_close(once_peek(&own->glance));
    metric_family_free(once_peek(&own->runs));
    for (size_t i = 0; i < own->run_count; i++)
        free(own->run_names[i]);
    pthread_mutex_destroy(&own->lock);
    free(own);
}

/* ---- counters -------------------------------------------------------------------- */

static void *make_runs(void *arg, struct err *e)
{
    struct actions *a = arg;
    struct tooling *own = own_of(a);
    struct tool_list list;
    if (!tooling_list(a, 0, &list, e))
        return NULL;
    own->run_names[own->run_count++] = mem_strdup(OTHER_TOOLS);
    for (size_t i = 0; i < list.count && own->run_count < RUN_NAMES_MAX; i++)
        if (list.tools[i]->builtin)
            own->run_names[own->run_count++] = mem_strdup(list.tools[i]->name);
    tooling_list_release(a, &list);
    return metric_family_new("cloche_tool_runs", "Runs of command-line tools.", "tool",
                             (const char *const *)own->run_names, own->run_count);
}

void tooling_count(struct actions *a, const struct tool *tool, enum err_code outcome,
                   uint64_t ns)
{
    struct tooling *own = own_of(a);
    struct err none = {0};
    struct metric_family *f = once_need(&own->runs, make_runs, a, &none);
    size_t which = 0;
    for (size_t i = 1; f && tool->builtin && i < own->run_count && !which; i++)
        which = strcmp(own->run_names[i], tool->name) ? 0 : i;
    if (f)
        metric_count(f, which, metric_outcome(outcome), ns);
}

void tooling_metrics(struct actions *a, struct buf *out)
{
    const struct metric_family *runs = once_peek(&own_of(a)->runs);
    if (runs)
        metric_family_write(runs, out);
}
