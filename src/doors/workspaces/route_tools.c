/* The routes of command-line tools: which there are, one, and running it. */
#include <stdio.h>

#include "performing/performing.h"
#include "tools_api/tools_api.h"
#include "workspaces/route.h"

/* ?workspace=: where the tools would work; 0: where the caller does. */
static bool read_workspace(struct route_call *c, unsigned *vault, struct err *e)
{
    struct str id = route_text(c, "workspace");
    *vault = id.n ? actions_vault_number(c->actions, c->who, id, e) : 0;
    return *vault || !id.n;
}

static bool answer_tools(struct route_call *c, struct str name, struct err *e)
{
    unsigned vault;
    struct caller who = *c->who;
    if (!read_workspace(c, &vault, e))
        return false;
    if (vault)
        who.vault = &vault;
    return actions_tools(c->actions, &who, name, &c->out->body, e);
}

bool route_tools(struct route_call *c, struct err *e)
{
    return answer_tools(c, STR(""), e);
}

bool route_tool(struct route_call *c, struct err *e)
{
    return answer_tools(c, c->values[0], e);
}

bool route_run_tool(struct route_call *c, struct err *e)
{
    unsigned vault;
    struct caller who = *c->who;
    if (!read_workspace(c, &vault, e))
        return false;
    if (vault)
        who.vault = &vault;
    char name[80];
    (void)snprintf(name, sizeof name, "wasm_%.*s", STR_ARGS(str_cut(c->values[0], 70)));
    const struct action *which = action_named(c->actions, str_of(name));
    if (!which) /* the refusal names the nearest */
        return answer_tools(c, c->values[0], e) &&
               err_set(e, ERR_LIMIT, "too many tools were called in this process");
    struct answer answer = {.json = c->out->body};
    buf_init(&answer.content, ROUTE_ANSWER);
    bool ok = actions_call(c->actions, which, c->body, &who, &answer, e);
    c->out->body = answer.json;
    buf_done(&answer.content);
    return ok;
}
