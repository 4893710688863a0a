/* The actions that run code, check it, and read its results. */
#include "actions/actions.h"
#include "code/code.api.h"
#include "code/code.h"
#include "code/internal.h"
#include "evaluating/evaluating.h"
#include "results/results.h"

static const char evaluate_description[] =
    "Run JavaScript (ES2023), TypeScript or Python (3.13) over the notes vault in a fresh sandbox: "
    "the body of an async function. Use await, return a JSON value. One program replaces "
    "many calls.\n"
    "\n"
    "notes.list({typeName?, limit?}) -> [{id, title, type, updated, tags, ...}]\n"
    "notes.get('type/name', path or title) -> {id, title, content, metadata, ...} | null\n"
    "notes.search({query, typeFilter?, limit?}) -> [{id, title, excerpt, ...}]\n"
    "notes.create({type, title, content, metadata?}) -> {id, ...}\n"
    "notes.update({identifier, content?, metadata?}): metadata is merged\n"
    "Also notes.rename ...; links, attachments, hierarchy, relationships, noteTypes, vaults, "
    "utils; customFunctions.\n"
    "\n"
    "Ask: api.search('words') finds methods, api.describe('links.getBacklinks') tells "
    "all. All but api and utils need await.\n"
    "\n" EVALUATE_EXAMPLE "const open = [];\n"
    "for (const n of await notes.list({typeName: 'project'}))\n"
    "  if ((await notes.get(n.id)).content.includes('TODO:')) open.push(n);\n"
    "return open;";

/* Output schemas list only members that clients may rely on: they are read before every
 * call. docs/ describes the rest. */
static const char script_description[] =
    "Run JavaScript over the REST routes of a vault: host.call('POST', `/workspaces/${workspace_id}/query`, {filter: {class: 'Task'}}) returns the parsed body (synchronous), or throws HostCallError. The last expression is the result.";

static const struct action_row evaluate_rows[] = {
    {SHOWN(.name = "evaluate_note_code", .title = "Run code",
           .description = evaluate_description, EVALUATE_NOTE_CODE_SCHEMAS,
           .destructive = true),
     .run = action_evaluate, .describe = action_evaluate_describe,
     .parts_before = "customFunctions.\n", .trial = "{\"code\":\"return 6*7\"}",
     .checked = EVALUATE_NOTE_CODE_CHECKED, .fits = true, .scope = SCOPE_EVALUATE,
     .refuse = action_evaluate_refused},
};
static const struct action_group evaluating = {evaluate_rows, LENGTH(evaluate_rows),
                                               .order = 10};

static const struct action_row check_rows[] = {
    {SHOWN(.name = "check_code", .title = "Check code",
           .description =
               "Check code for evaluate_note_code without running it: what is refused, unknown, not awaited or endless, and where.",
           CHECK_CODE_SCHEMAS, .read_only = true, .idempotent = true),
     .run = action_check_code, .seldom = true, .scope = SCOPE_EVALUATE},
};
static const struct action_group checking = {check_rows, LENGTH(check_rows), .order = 30};

static const struct action_row leftover_rows[] = {
    {SHOWN(.name = "close_session", .title = "End a session",
           .description =
               "End a session of evaluate_note_code and discard its variables.",
           CLOSE_SESSION_SCHEMAS, .idempotent = true),
     .run = action_close_session, .seldom = true, .scope = SCOPE_EVALUATE},
    {SHOWN(.name = "read_result", .title = "Read a large result",
           .description = "Read a part of a result that was too large.",
           READ_RESULT_SCHEMAS, .read_only = true, .idempotent = true),
     .run = action_read_result, .checked = READ_RESULT_CHECKED, .fits = true,
     .scope = SCOPE_EVALUATE},
};
static const struct action_group leftovers = {leftover_rows, LENGTH(leftover_rows),
                                              .order = 50};

static const struct action_row script_rows[] = {
    {SHOWN(.name = "run_script", .title = "Run a script",
           .description = script_description, RUN_SCRIPT_SCHEMAS, .destructive = true),
     .run = action_run_script, .variables = action_run_script_variables,
     .checked = RUN_SCRIPT_CHECKED, .fits = true, .scope = SCOPE_EVALUATE,
     .vault = "workspace_id", .refuse = action_evaluate_refused},
};
static const struct action_group scripts = {script_rows, LENGTH(script_rows),
                                            .order = 80};

/* What other servers call it, and programs that run such code. */
static void code_meant(struct actions *a, const struct place *place, unsigned vault,
                       const struct capability_name *name, struct buf *out)
{
    static const char *const programs[] = {"node",       "deno", "bun",
                                           "javascript", "js",   "typescript",
                                           "ts",         "eval", "run_code"};
    (void)a, (void)place, (void)vault;
    for (size_t i = 0; i < LENGTH(programs); i++)
        if (name->how == MEANT_OTHERWISE && str_is(name->text, programs[i]))
            buf_cstr(out, "evaluate_note_code runs JavaScript and TypeScript");
}

const struct capability code_capability = {
    .calls = CALLS(&utils_calls),
    .actions = ACTIONS(&evaluating, &checking, &leftovers, &scripts),
    .routes = ROUTES(&code_routes),
    .meant = code_meant};
