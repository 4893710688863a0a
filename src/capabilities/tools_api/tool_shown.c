/* The command-line tools in a client's list. */
#include <stdio.h>

#include "caller/caller.h"
#include "tools_api/tooling.h"

#define SCHEMA_MAX ((size_t)1 << 20)
/* OpenAI's API refuses longer descriptions. */
#define DESCRIPTION_MAX ((size_t)1024)

static bool shows_tool(const struct policy *p, const struct tool *t)
{
    struct action_exposure shown = tools_exposure(p);
    return tooling_offers(p, t) && tool_suits_clients(t) &&
           (shown.which == EXPOSE_ALL || policy_names_have(&shown.listed, t->name));
}

static bool show_tool(const struct tool *t, action_shown_fn *fn, void *arg, struct err *e)
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
    const struct action shown = {.name = name,
                                 .title = t->name,
                                 .description = buf_cz(&description),
                                 .input_schema = buf_cz(&schema),
                                 .read_only = t->execution.access == TOOL_NO_FILES ||
                                              t->execution.access == TOOL_READ,
                                 .destructive = true};
    return buf_check(&schema, "a tool's schema", e) &&
           buf_check(&description, "a tool's description", e) && fn(arg, &shown, e);
}

/* By name, in the catalogue's order: a page goes on after the last name, even if that
 * tool is gone. */
static void show_tools(struct actions *a, unsigned vault, const struct policy *p,
                       struct str after, action_shown_fn *fn, void *arg, struct err *e)
{
    struct tool_list list;
    if (after.n)
        after = (struct str){after.at + sizeof TOOL_PREFIX - 1,
                             after.n - (sizeof TOOL_PREFIX - 1)};
    if (!tooling_list(a, vault, &list, e))
        return;
    for (size_t i = 0; i < list.count; i++)
        if (shows_tool(p, list.tools[i]) &&
            str_cmp(str_of(list.tools[i]->name), after) > 0 &&
            !show_tool(list.tools[i], fn, arg, e))
            break;
    tooling_list_release(a, &list);
}

const struct action_family tools_family = {.prefix = TOOL_PREFIX,
                                           .named = tooling_action,
                                           .row = tooling_row,
                                           .show = show_tools,
                                           .exposure = tools_exposure,
                                           .version = tooling_version};
