/* The actions that run code, check it, and read what it left. */
#include "actions/actions.h"
#include "code/code.h"
#include "code/internal.h"
#include "evaluating/evaluating.h"
#include "machines/machines.h"
#include "results/results.h"
#include "schemas/schemas.h"
#include "tools_api/tools_api.h"

static const char evaluate_description[] =
    "Run JavaScript (ES2023) or TypeScript over the notes vault in a fresh sandbox: the body "
    "of an async function. Use await, return a JSON value. One program replaces "
    "many calls.\n"
    "\n"
    "notes.list({typeName?, limit?}) -> [{id, title, type, updated, tags, ...}]\n"
    "notes.get('type/name', path or title) -> {id, title, content, metadata, ...} | null\n"
    "notes.search({query, typeFilter?, limit?}) -> [{id, title, excerpt, ...}]\n"
    "notes.create({type, title, content, metadata?}) -> {id, ...}\n"
    "notes.update({identifier, content?, metadata?}): metadata is merged\n"
    "Also notes.rename, delete ...; links, hierarchy, relationships, noteTypes, vaults, "
    "utils; " TELLS_OF_TOOLS TELLS_OF_MACHINE "customFunctions.\n"
    "\n"
    "Ask: api.search('words') finds methods, api.describe('links.getBacklinks') tells "
    "all. All but api and utils need await.\n"
    "\n" EVALUATE_EXAMPLE "const open = [];\n"
    "for (const n of await notes.list({typeName: 'project'}))\n"
    "  if ((await notes.get(n.id)).content.includes('TODO:')) open.push(n);\n"
    "return open;";

#define EVALUATE(context, one, eight)                                                     \
    "{\"type\":\"object\",\"properties\":{"                                               \
    "\"code\":" STRING ","                                                                \
    "\"language\":{\"type\":\"string\",\"enum\":[\"javascript\",\"typescript\"]},"        \
    "\"timeout\":{\"type\":\"integer\"" one ",\"description\":\"ms in all (5000)\"},"     \
    "\"computeTimeout\":{\"type\":\"integer\"" one                                        \
    ",\"description\":\"ms of computing\"},"                                              \
    "\"memoryLimit\":{\"type\":\"integer\"" eight ",\"description\":\"MB (128)\"},"       \
    "\"allowedAPIs\":{\"type\":\"array\",\"items\":" STRING ","                           \
    "\"description\":\"only these: 'notes.get', 'links'\"},"                              \
    "\"context\":" context ","                                                            \
    "\"cache\":{\"type\":\"boolean\",\"description\":\"an earlier answer will do, if no " \
    "note changed\"},"                                                                    \
    "\"enableFileSystem\":{\"type\":\"boolean\",\"description\":\"fs, in memory\"},"      \
    "\"enableNetwork\":{\"type\":\"boolean\"},"                                           \
    "\"session\":{\"type\":\"string\",\"description\":\"a name: what code declares "      \
    "stays\"},"                                                                           \
    "\"trace\":{\"type\":\"boolean\",\"description\":\"tell all calls\"},"                \
    "\"typesOnly\":{\"type\":\"boolean\",\"description\":\"only check types\"}},"         \
    "\"required\":[\"code\"]}"
static const char evaluate_input[] = EVALUATE(ANY("name", "variables"), "", "");
static const char evaluate_checked[] = EVALUATE(OBJECT, LEAST_1, LEAST_8);

/* Of outputs only what others may build on: descriptions are for reading, and are
 * read before every call. docs/ tells the rest. */
static const char evaluate_output[] = "{\"type\":\"object\",\"required\":[\"success\"]}";

static const char script_description[] =
    "Run JavaScript over the REST routes of a vault: host.call('POST', "
    "`/workspaces/${workspace_id}/query`, {filter: {class: 'Task'}}) answers the parsed body "
    "at once, or throws HostCallError. The last expression is the result.";

#define SCRIPT(workspace, one, eight)                                                \
    "{\"type\":\"object\",\"properties\":{\"code\":" STRING                          \
    ",\"workspace_id\":" workspace ",\"fuel\":{\"type\":\"integer\"" one "},"        \
    "\"memoryLimit\":{\"type\":\"integer\"" eight ",\"description\":\"MB (128)\"}}," \
    "\"required\":[\"code\",\"workspace_id\"]}"
static const char script_input[] = SCRIPT(STRING, "", "");
static const char script_checked[] = SCRIPT(NAME, LEAST_1, LEAST_8);

static const char check_input[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"code\":{\"type\":\"string\"},"
    "\"language\":{\"type\":\"string\",\"enum\":[\"javascript\",\"typescript\"]},"
    "\"context\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}},"
    "\"description\":\"variables\"},"
    "\"enableFileSystem\":{\"type\":\"boolean\"},"
    "\"enableNetwork\":{\"type\":\"boolean\"}},"
    "\"required\":[\"code\"]}";

static const char check_output[] =
    "{\"type\":\"object\",\"required\":[\"ok\",\"findings\"]}";

#define READ_RESULT(zero, bounds)                                                      \
    "{\"type\":\"object\",\"properties\":{"                                            \
    "\"resource\":{\"type\":\"string\",\"description\":\"errorDetails.resource\"},"    \
    "\"offset\":{\"type\":\"integer\"" zero "},\"limit\":{\"type\":\"integer\"" bounds \
    ",\"description\":\"bytes (50000)\"}},\"required\":[\"resource\"]}"
static const char read_result_input[] = READ_RESULT("", "");
static const char read_result_checked[] = READ_RESULT(LEAST_0, BOUNDS(1, 500000));

static const char read_result_output[] =
    "{\"type\":\"object\",\"required\":[\"text\",\"total_bytes\"]}";

static const char close_session_input[] =
    "{\"type\":\"object\",\"properties\":{\"session\":{\"type\":\"string\","
    "\"description\":\"its name or handle\"}},"
    "\"required\":[\"session\"]}";

static const char close_session_output[] =
    "{\"type\":\"object\",\"required\":[\"closed\"]}";

static const struct action_row evaluate_rows[] = {
    {SHOWN(.name = "evaluate_note_code", .title = "Run code",
           .description = evaluate_description, .input_schema = evaluate_input,
           .output_schema = evaluate_output, .destructive = true),
     .run = action_evaluate, .describe = action_evaluate_describe,
     .trial = "{\"code\":\"return 6*7\"}", .checked = evaluate_checked, .fits = true,
     .scope = SCOPE_EVALUATE, .refuse = action_evaluate_refused},
};
static const struct action_group evaluating = {evaluate_rows, LENGTH(evaluate_rows),
                                               .order = 10};

static const struct action_row check_rows[] = {
    {SHOWN(.name = "check_code", .title = "Check code",
           .description =
               "Look through code for evaluate_note_code without running it: what "
               "is refused, unknown, not awaited or endless, and where.",
           .input_schema = check_input, .output_schema = check_output, .read_only = true,
           .idempotent = true),
     .run = action_check_code, .seldom = true, .scope = SCOPE_EVALUATE},
};
static const struct action_group checking = {check_rows, LENGTH(check_rows), .order = 30};

static const struct action_row leftover_rows[] = {
    {SHOWN(.name = "close_session", .title = "End a session",
           .description = "Forget what a session of evaluate_note_code holds.",
           .input_schema = close_session_input, .output_schema = close_session_output,
           .idempotent = true),
     .run = action_close_session, .seldom = true, .scope = SCOPE_EVALUATE},
    {SHOWN(.name = "read_result", .title = "Read a large result",
           .description = "Read a piece of a too large result.",
           .input_schema = read_result_input, .output_schema = read_result_output,
           .read_only = true, .idempotent = true),
     .run = action_read_result, .checked = read_result_checked, .fits = true,
     .scope = SCOPE_EVALUATE},
};
static const struct action_group leftovers = {leftover_rows, LENGTH(leftover_rows),
                                              .order = 50};

static const struct action_row script_rows[] = {
    {SHOWN(.name = "run_script", .title = "Run a script",
           .description = script_description, .input_schema = script_input,
           .output_schema = evaluate_output, .destructive = true),
     .run = action_run_script, .variables = action_run_script_variables,
     .checked = script_checked, .fits = true, .scope = SCOPE_EVALUATE,
     .vault = "workspace_id", .refuse = action_evaluate_refused},
};
static const struct action_group scripts = {script_rows, LENGTH(script_rows),
                                            .order = 80};

const struct capability code_capability = {
    .calls = CALLS(&utils_calls),
    .actions = ACTIONS(&evaluating, &checking, &leftovers, &scripts)};
