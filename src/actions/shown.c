/* What a client finds in its list: actions, and the command-line tools that the policy
 * shows. Everything else is found by find_tools, and called by its name all the same. */
#include <stdio.h>

#include "actions/places.h"
#include "actions/tooling.h"
#include "crypto/crypto.h"

#define SCHEMA_MAX ((size_t)1 << 20)
/* OpenAI's API refuses a tool whose description has more characters. */
#define DESCRIPTION_MAX ((size_t)1024)

/* Where the caller would begin to work, and what holds there. */
struct view {
    unsigned vault;
    const struct policy *policy; /* NULL: it cannot be used, and nothing can be called */
};

static struct view look(struct actions *a, const struct caller *who)
{
    struct err none = {0};
    struct view v = {.vault = place_last(a, who)};
    if (!v.vault)
        v.vault = vault_set_begin(a->vaults, who->grant);
    struct place place;
    if (place_find(&place, a, v.vault, who, &none))
        v.policy = ward_policy(place.ward, &none);
    return v;
}

static enum policy_exposure exposure_of(const struct view *v)
{
    return v->policy ? v->policy->tools.exposure : EXPOSE_SEARCH;
}

static bool is_listed(const struct view *v, const char *name)
{
    return v->policy && policy_names_tool(&v->policy->tools.listed, name);
}

/* ---- which ---------------------------------------------------------------------- */

static bool shows_action(const struct view *v, const struct action_row *row)
{
    switch (exposure_of(v)) {
    case EXPOSE_ALL:
        return true;
    case EXPOSE_LISTED: /* nothing could be found that is not there */
        return row->run != action_find_tools && row->run != action_run_tool;
    case EXPOSE_SEARCH:
        return !row->seldom || is_listed(v, row->shown.name);
    }
    return true;
}

static bool shows_tool(const struct view *v, const struct tool *t)
{
    return tooling_offers(v->policy, t) && tool_suits_clients(t) &&
           (exposure_of(v) == EXPOSE_ALL || is_listed(v, t->name));
}

/* Does it take a look at the catalogue to tell? */
static bool shows_tools(const struct view *v)
{
    return v->policy && (exposure_of(v) == EXPOSE_ALL || v->policy->tools.listed.n);
}

/* ---- one after the other ----------------------------------------------------------- */

struct showing {
    struct actions *a;
    struct view view;
    struct str after;
    size_t most, shown;
    bool more;
    action_shown_fn *fn;
    void *arg;
};

/* false: the page is full, or *e. */
static bool show(struct showing *s, const struct action *a, struct err *e)
{
    if (s->shown == s->most) {
        s->more = true;
        return false;
    }
    s->shown++;
    return s->fn(s->arg, a, e);
}

static bool show_tool(struct showing *s, const struct tool *t, struct err *e)
{
    char name[TOOL_NAME_MAX + sizeof TOOL_PREFIX];
    scoped_buf struct buf schema, description;
    buf_init(&schema, SCHEMA_MAX);
    buf_init(&description, DESCRIPTION_MAX + 1);
    struct str said = str_of(t->description);
    if (said.n > DESCRIPTION_MAX)
        buf_printf(&description, "%.*s...", STR_ARGS(str_cut(said, DESCRIPTION_MAX - 3)));
    else
        buf_str(&description, said);
    struct json_writer w = json_writer(&schema);
    tool_input_schema(t, &w);
    (void)snprintf(name, sizeof name, TOOL_PREFIX "%s", t->name);
    const struct action shown = {
        .name = name,
        .title = t->name,
        .description = buf_cz(&description),
        .input_schema = buf_cz(&schema),
        .output_schema = "{\"type\":\"object\",\"required\":[\"success\",\"exitCode\"]}",
        .read_only =
            t->execution.access == TOOL_NO_FILES || t->execution.access == TOOL_READ,
        .destructive = true};
    return buf_check(&schema, "a tool's schema", e) &&
           buf_check(&description, "a tool's description", e) && show(s, &shown, e);
}

/* By name, as the catalogue has them: a page goes on wherever the last one ended, also
 * when that tool is gone. */
static void show_tools(struct showing *s, struct err *e)
{
    struct tool_list list;
    struct str after = s->after;
    if (str_starts(after, TOOL_PREFIX))
        after = (struct str){after.at + sizeof TOOL_PREFIX - 1,
                             after.n - (sizeof TOOL_PREFIX - 1)};
    else
        after.n = 0;
    if (!tooling_list(s->a, s->view.vault, &list, e))
        return;
    for (size_t i = 0; i < list.count; i++)
        if (shows_tool(&s->view, list.tools[i]) &&
            str_cmp(str_of(list.tools[i]->name), after) > 0 &&
            !show_tool(s, list.tools[i], e))
            break;
    tooling_list_release(s->a, &list);
}

/* The number of the first action behind the place; `count`: only tools are left. */
static size_t first_action(const struct actions *a, struct str after, struct err *e)
{
    if (!after.n)
        return 0;
    if (str_starts(after, TOOL_PREFIX))
        return a->count;
    for (size_t i = 0; i < a->count; i++)
        if (str_is(after, a->shown[i].name))
            return i + 1;
    err_set(e, ERR_INVALID, "unknown cursor");
    return a->count;
}

bool actions_show(struct actions *a, const struct caller *who, struct str after,
                  size_t most, action_shown_fn *fn, void *arg, bool *more, struct err *e)
{
    struct showing s = {.a = a, .after = after, .most = most, .fn = fn, .arg = arg};
    s.view = look(a, who);
    size_t i = first_action(a, after, e);
    bool ok = e->code == ERR_NONE;
    for (; ok && i < a->count; i++)
        if (shows_action(&s.view, &a->rows[i]))
            ok = show(&s, &a->shown[i], e);
    if (ok && shows_tools(&s.view))
        show_tools(&s, e);
    *more = s.more;
    policy_release(s.view.policy);
    return e->code == ERR_NONE;
}

uint64_t actions_shown_state(struct actions *a, const struct caller *who)
{
    struct view v = look(a, who);
    struct err none = {0};
    struct catalogue *c = shows_tools(&v) ? actions_catalogue(a, &none) : NULL;
    struct {
        char digest[sizeof v.policy->digest];
        unsigned vault;
        uint64_t version;
    } state = {0};
    if (v.policy)
        memcpy(state.digest, v.policy->digest, sizeof state.digest);
    state.vault = shows_tools(&v) ? v.vault : 0;
    state.version = c ? catalogue_version(c) : 0;
    policy_release(v.policy);
    char hex[CRYPTO_HASH_HEX];
    crypto_hash_hex((struct str){(const char *)&state, sizeof state}, hex);
    uint64_t sum;
    memcpy(&sum, hex, sizeof sum);
    return sum;
}
