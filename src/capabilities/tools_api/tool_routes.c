/* The routes of command-line tools: which there are, one, and running it. */
#include <stdio.h>

#include "actions/actions.h"
#include "performing/performing.h"
#include "routes/routes.h"
#include "tools_api/tool_routes.api.h"
#include "tools_api/tooling.h"
#include "tools_api/tools_api.h"

/* ?workspace=: where the tools would work; else where the caller does. */
static bool answer_tools(struct route_call *c, struct str name, struct err *e)
{
    unsigned vault;
    struct caller who = *c->who;
    struct str id = route_text(c, "workspace");
    if (id.n && !(vault = work_vault_number(c->actions, c->who, id, e)))
        return false;
    if (id.n)
        who.vault = &vault;
    return actions_tools(c->actions, &who, name, &c->out->body, e);
}

static bool route_tools(struct route_call *c, struct err *e)
{
    return answer_tools(c, STR(""), e);
}

static bool route_tool(struct route_call *c, struct err *e)
{
    return answer_tools(c, c->values[0], e);
}

static bool route_run_tool(struct route_call *c, struct err *e)
{
    char name[80];
    (void)snprintf(name, sizeof name, "wasm_%.*s", STR_ARGS(str_cut(c->values[0], 70)));
    if (!action_named(c->actions, str_of(name))) /* the refusal names the nearest */
        return answer_tools(c, c->values[0], e) &&
               err_set(e, ERR_LIMIT, "too many tools were called in this process");
    return route_action(c, name, c->body, route_text(c, "workspace"), NULL, e);
}

#define TOOLS "/tools"

static const struct route_schema schemas[] = {COMPONENTS};

static const struct route rows[] = {
    {ROUTE("GET", TOOLS), .operation = "listTools", .summary = "The command-line tools",
     TELLS("Those that are installed."), .run = route_tools, .flags = ROUTE_NO_WORKSPACE,
     .answer = "Tool[]", .parameters = TOOL_PARAMETERS},
    {ROUTE("GET", TOOLS "/{tool}"), .operation = "getTool",
     .summary = "One tool, with its parameters",
     TELLS("Its parameters as a JSON Schema, its limits and examples."),
     .run = route_tool, .flags = ROUTE_NO_WORKSPACE, .answer = "ToolDescription",
     .parameters = TOOL_PARAMETERS},
    {ROUTE("POST", TOOLS "/{tool}"), .operation = "runTool",
     .summary = "Runs a tool; the body is what wasm_{tool} takes as its arguments",
     TELLS(
         "The policy decides: a tool may have to wait for a person's approval. A program that failed is also answered with 200: success is false, and exitCode says why."),
     .run = route_run_tool, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE,
     .body = "ToolArguments", .answer = "ToolResult", .parameters = TOOL_PARAMETERS},
};
const struct route_group tool_routes = {.tag = "Tools",
                                        .about = "Command-line programs in WebAssembly.",
                                        ROWS(rows),
                                        .order = 70,
                                        SCHEMAS(schemas),
                                        .variables = PATH_PARAMETERS,
                                        .root = "/tools/"};
