/* The table of actions: what each is called, takes and answers. */
#include "actions/internal.h"
#include "actions/streams.h"

/* OpenAI's API refuses a tool whose description has more than 1,024 characters. All tools
 * together have 8 KiB: that no argument may be given that a schema does not name is not
 * said in each (actions.c closes them).
 *
 * What a schema may say is what all of Anthropic, OpenAI, Gemini and VS Code take, who
 * refuse the whole list for one that they do not: see test_schemas.py. So each value has one
 * type, or an anyOf that stands alone; arrays say their items; an object that takes any
 * keys names one of them; what is accepted besides, is checked but not shown (`checked`). */
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

#define STRING "{\"type\":\"string\"}"
#define NAME \
    "{\"type\":\"string\",\"minLength\":1}" /* checked, as OpenAI's strict mode
                                                     has no minLength */
#define NOTE_TYPE "{\"type\":\"string\",\"description\":\"'meeting'\"}"
#define STRINGS "{\"type\":\"array\",\"items\":" STRING "}"
/* Of an object that takes any keys one is named: Gemini takes none without. */
#define ANY(key, what)                                         \
    "{\"type\":\"object\",\"properties\":{\"" key "\":" STRING \
    "},\"description\":\"" what "\"}"
#define OBJECT "{\"type\":\"object\"}"
#define METADATA ANY("status", "frontmatter")
#define BYTES                                                                        \
    "{\"anyOf\":[" STRING ",{\"type\":\"object\",\"properties\":{\"base64\":" STRING \
    "}}]}"

/* Bounds of numbers are checked, and not said in the list: a limit's own message tells. */
#define LEAST_0 ",\"minimum\":0"
#define LEAST_1 ",\"minimum\":1"
#define LEAST_8 ",\"minimum\":8"
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

#define GET(least)                                                                       \
    "{\"type\":\"object\",\"properties\":{\"identifier\":{\"type\":\"string\"" least "," \
    "\"description\":\"id ('type/name'), path or unique title\"}},"                      \
    "\"required\":[\"identifier\"]}"
static const char get_input[] = GET("");
static const char get_checked[] = GET(",\"minLength\":1");

static const char get_output[] =
    "{\"type\":\"object\",\"required\":[\"id\",\"content_hash\"]}";

#define BOUNDS(least, most) ",\"minimum\":" #least ",\"maximum\":" #most
#define SEARCH(query, bounds)                                                         \
    "{\"type\":\"object\",\"properties\":{\"query\":" query ",\"typeFilter\":" STRING \
    ","                                                                               \
    "\"limit\":{\"type\":\"integer\"" bounds "},"                                     \
    "\"useRegex\":{\"type\":\"boolean\"}},\"required\":[\"query\"]}"
static const char search_input[] = SEARCH(STRING, "");
static const char search_checked[] = SEARCH(NAME, BOUNDS(1, 1000));

static const char search_output[] = "{\"type\":\"object\",\"required\":[\"results\"]}";

#define CREATE(metadata)                                                            \
    "{\"type\":\"object\",\"properties\":{\"type\":" NOTE_TYPE ",\"title\":" STRING \
    ",\"content\":" STRING ",\"metadata\":" metadata "},"                           \
    "\"required\":[\"type\",\"title\",\"content\"]}"
static const char create_input[] = CREATE(METADATA);
static const char create_checked[] = CREATE(OBJECT);

static const char create_output[] =
    "{\"type\":\"object\",\"required\":[\"id\",\"path\"]}";

static const char rename_input[] =
    "{\"type\":\"object\",\"properties\":{\"identifier\":" STRING ","
    "\"new_title\":" STRING ",\"new_type\":" STRING ",\"content_hash\":" STRING ","
    "\"force\":{\"type\":\"boolean\"}},"
    "\"required\":[\"identifier\"]}";

static const char rename_output[] =
    "{\"type\":\"object\",\"required\":[\"success\",\"new_id\"]}";

#define UPDATE(identifier, metadata)                                            \
    "{\"type\":\"object\",\"properties\":{\"identifier\":" identifier           \
    ",\"content\":" STRING ",\"contentHash\":" STRING ",\"metadata\":" metadata \
    ",\"force\":{\"type\":\"boolean\","                                         \
    "\"description\":\"whatever it is now\"}},\"required\":[\"identifier\"]}"
static const char update_input[] = UPDATE(STRING, METADATA);
static const char update_checked[] = UPDATE(NAME, OBJECT);

static const char update_output[] =
    "{\"type\":\"object\",\"required\":[\"id\",\"updated\"]}";

static const char search_api_input[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"query\":{\"type\":\"string\"},"
    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":50}},"
    "\"required\":[\"query\"]}";

#define READ_RESULT(zero, bounds)                                                      \
    "{\"type\":\"object\",\"properties\":{"                                            \
    "\"resource\":{\"type\":\"string\",\"description\":\"errorDetails.resource\"},"    \
    "\"offset\":{\"type\":\"integer\"" zero "},\"limit\":{\"type\":\"integer\"" bounds \
    ",\"description\":\"bytes (50000)\"}},\"required\":[\"resource\"]}"
static const char read_result_input[] = READ_RESULT("", "");
static const char read_result_checked[] = READ_RESULT(LEAST_0, BOUNDS(1, 500000));

static const char read_result_output[] =
    "{\"type\":\"object\",\"required\":[\"text\",\"total_bytes\"]}";

static const char describe_api_input[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"name\":{\"type\":\"string\","
    "\"description\":\"'notes.update', 'notes' or 'Note'; none: everything\"}}}";

static const char describe_api_output[] = "{\"type\":\"object\"}";

static const char close_session_input[] =
    "{\"type\":\"object\",\"properties\":{\"session\":{\"type\":\"string\","
    "\"description\":\"its name or handle\"}},"
    "\"required\":[\"session\"]}";

static const char close_session_output[] =
    "{\"type\":\"object\",\"required\":[\"closed\"]}";

#define FIND_TOOLS(bounds)                                                                    \
    "{\"type\":\"object\",\"properties\":{"                                                   \
    "\"query\":{\"type\":\"string\",\"description\":\"'yaml to json'\"},\"category\":" STRING \
    ",\"limit\":{\"type\":\"integer\"" bounds "}},\"required\":[\"query\"]}"
static const char find_tools_input[] = FIND_TOOLS("");
static const char find_tools_checked[] = FIND_TOOLS(BOUNDS(1, 25));

#define RUN_TOOL(arguments, stdin, files, stage, one)                                     \
    "{\"type\":\"object\",\"properties\":{\"name\":" STRING ",\"arguments\":" arguments   \
    ",\"args\":" STRINGS ",\"stdin\":" stdin ",\"files\":" files                          \
    ",\"cwd\":{\"type\":\"string\",\"description\":\"/work, or /vault: the notes\"},"     \
    "\"timeout\":{\"type\":\"integer\"" one "},"                                          \
    "\"pipeline\":{\"type\":\"array\",\"description\":\"instead of name: [{tool, args}, " \
    "...]\",\"items\":" stage "}}}"
static const char run_tool_input[] =
    RUN_TOOL(ANY("file", "its parameters"), BYTES,
             ANY("name", "{name: text | {base64}}, in /work"),
             "{\"type\":\"object\",\"properties\":{\"tool\":" STRING "}}", "");
static const char run_tool_checked[] = RUN_TOOL(OBJECT, "{}", "{}", OBJECT, LEAST_1);

static const char vm_exec_input[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"command\":{\"type\":\"string\",\"description\":\"for bash\"},"
    "\"stdin\":" STRING ",\"cwd\":" STRING
    ",\"env\":{\"type\":\"object\",\"properties\":{\"LANG\":" STRING
    "}},\"timeoutMs\":{\"type\":\"integer\"},"
    "\"session\":{\"type\":\"string\",\"description\":\"another shell\"}},"
    "\"required\":[\"command\"]}";

/* Checked where they are read, which has better words. */
static const char vm_checked[] = "{\"type\":\"object\",\"additionalProperties\":true} ";

static const char vm_exec_output[] = "{\"type\":\"object\",\"required\":[\"exitCode\"]}";

static const char vm_start_input[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"ramMB\":{\"type\":\"integer\",\"description\":\"64 to 1024 (512)\"},"
    "\"diskMB\":{\"type\":\"integer\",\"description\":\"that it may write\"},"
    "\"cpuSeconds\":{\"type\":\"integer\",\"description\":\"computing time\"}}}";

static const char vm_machine_output[] =
    "{\"type\":\"object\",\"required\":[\"machine\",\"state\"]}";

static const char vm_stop_input[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"machine\":{\"type\":\"string\",\"description\":\"of vm_start; else the default one\"},"
    "\"session\":{\"type\":\"string\",\"description\":\"only this shell of it\"}}}";

static const char vm_stop_output[] = "{\"type\":\"object\",\"required\":[\"stopped\"]}";

static const char vm_list_output[] = "{\"type\":\"object\",\"required\":[\"machines\"]}";

const struct action_row action_rows[] = {
    {.shown = {.name = "evaluate_note_code",
               .title = "Run code",
               .description = evaluate_description,
               .input_schema = evaluate_input,
               .output_schema = evaluate_output,
               .destructive = true},
     .run = action_evaluate,
     .describe = action_evaluate_describe,
     .trial = "{\"code\":\"return 6*7\"}",
     .checked = evaluate_checked,
     .fits = true,
     .scope = SCOPE_EVALUATE,
     .refuse = action_evaluate_refused},
    {.shown = {.name = "get_note",
               .title = "Read a note",
               .description =
                   "Read one note: its Markdown, metadata, links and content_hash.",
               .input_schema = get_input,
               .output_schema = get_output,
               .read_only = true,
               .idempotent = true},
     .run = action_get_note,
     .checked = get_checked,
     .needs = "notes.get"},
    {.shown = {.name = "search_notes",
               .title = "Search notes",
               .description =
                   "Full-text search over titles, bodies and tags. useRegex: PCRE2.",
               .input_schema = search_input,
               .output_schema = search_output,
               .read_only = true,
               .idempotent = true},
     .run = action_search_notes,
     .checked = search_checked,
     .needs = "notes.search"},
    {.shown = {.name = "create_note",
               .title = "Create a note",
               .description = "Create a Markdown note in the folder of its type.",
               .input_schema = create_input,
               .output_schema = create_output},
     .run = action_create_note,
     .checked = create_checked,
     .needs = "notes.create"},
    {.shown =
         {.name = "update_note",
          .title = "Change a note",
          .description =
              "Replace a note's body, merge its metadata (null removes a key). Give the "
              "content_hash from get_note: a note that changed since is left alone.",
          .input_schema = update_input,
          .output_schema = update_output,
          .destructive = true},
     .run = action_update_note,
     .checked = update_checked,
     .needs = "notes.update"},
    {.shown =
         {.name = "rename_note",
          .title = "Rename or move a note",
          .description =
              "Give a note another title, or move it to another type. The links to it "
              "follow. Give the content_hash from get_note.",
          .input_schema = rename_input,
          .output_schema = rename_output,
          .destructive = true},
     .run = action_rename_note,
     .confirmed = action_rename_note_asks,
     .seldom = true,
     .needs = "notes.rename"},
    {.shown = {.name = "check_code",
               .title = "Check code",
               .description =
                   "Look through code for evaluate_note_code without running it: what "
                   "is refused, unknown, not awaited or endless, and where.",
               .input_schema = check_input,
               .output_schema = check_output,
               .read_only = true,
               .idempotent = true},
     .run = action_check_code,
     .seldom = true,
     .scope = SCOPE_EVALUATE},
    {.shown = {.name = "search_api",
               .title = "Find methods",
               .description = "Find methods of evaluate_note_code by what they do.",
               .input_schema = search_api_input,
               .output_schema = search_output,
               .read_only = true,
               .idempotent = true},
     .run = action_search_api,
     .seldom = true, /* code has api.search */
     .needs = "api.search"},
    {.shown =
         {.name = "describe_api",
          .title = "Describe a method",
          .description =
              "A method, namespace or type of evaluate_note_code: signature, options, "
              "errors, an example.",
          .input_schema = describe_api_input,
          .output_schema = describe_api_output,
          .read_only = true,
          .idempotent = true},
     .run = action_describe_api,
     .seldom = true, /* code has api.describe */
     .needs = "api.describe"},
    {.shown = {.name = "close_session",
               .title = "End a session",
               .description = "Forget what a session of evaluate_note_code holds.",
               .input_schema = close_session_input,
               .output_schema = close_session_output,
               .idempotent = true},
     .run = action_close_session,
     .seldom = true,
     .scope = SCOPE_EVALUATE},
    {.shown = {.name = "read_result",
               .title = "Read a large result",
               .description = "Read a piece of a too large result.",
               .input_schema = read_result_input,
               .output_schema = read_result_output,
               .read_only = true,
               .idempotent = true},
     .run = action_read_result,
     .checked = read_result_checked,
     .fits = true,
     .scope = SCOPE_EVALUATE},
    {.shown =
         {.name = "find_tools",
          .title = "Find tools",
          .description =
              "Find command-line tools (jq, ripgrep, sqlite3, pdftotext ...) and rarer "
              "actions; tells how to call each.",
          .input_schema = find_tools_input,
          .output_schema = search_output,
          .read_only = true,
          .idempotent = true},
     .run = action_find_tools,
     .finds = true,
     .checked = find_tools_checked,
     .scope = SCOPE_EVALUATE},
    {.shown =
         {.name = "run_tool",
          .title = "Run a tool",
          .description =
              "Run a command-line tool in a sandbox, over the files given and, where "
              "it is allowed, the notes. Also runs what find_tools found.",
          .input_schema = run_tool_input,
          .destructive = true},
     .run = action_run_tool,
     .stands_for = action_run_tool_name,
     .finds = true,
     .shorten = streams_shorten,
     .checked = run_tool_checked,
     .scope = SCOPE_EVALUATE},
    {.shown = {.name = "vm_exec",
               .title = "Run in Linux",
               .description =
                   "Run a command in a Linux machine (Debian: bash, python3, git), "
                   "ready at once. Shell and files stay. No network, no notes.",
               .input_schema = vm_exec_input,
               .output_schema = vm_exec_output,
               .destructive = true},
     .run = action_vm_exec,
     .refused = action_vm_exec_refused,
     .shorten = streams_shorten,
     .checked = vm_checked,
     .needs = "vm.exec",
     .scope = SCOPE_EVALUATE},
    {.shown =
         {.name = "vm_start",
          .title = "Start a Linux machine",
          .description =
              "Start a Linux machine of another size, or a further one; the first is the "
              "one that vm_exec uses by itself, which needs none of this. Answers its "
              "handle, good for you alone: vm_exec takes it as machine.",
          .input_schema = vm_start_input,
          .output_schema = vm_machine_output},
     .run = action_vm_start,
     .checked = vm_checked,
     .seldom = true,
     .needs = "vm.start",
     .scope = SCOPE_EVALUATE},
    {.shown = {.name = "vm_stop",
               .title = "Stop a Linux machine",
               .description = "Stop a Linux machine of yours, with all that is in it, or "
                              "end one of its sessions.",
               .input_schema = vm_stop_input,
               .output_schema = vm_stop_output,
               .destructive = true,
               .idempotent = true},
     .run = action_vm_stop,
     .checked = vm_checked,
     .seldom = true,
     .needs = "vm.stop",
     .scope = SCOPE_EVALUATE},
    {.shown = {.name = "vm_list",
               .title = "List Linux machines",
               .description = "Your Linux machines: state, size, what they use.",
               .input_schema = "{\"type\":\"object\",\"properties\":{}}",
               .output_schema = vm_list_output,
               .read_only = true,
               .idempotent = true},
     .run = action_vm_list,
     .seldom = true,
     .needs = "vm.list",
     .scope = SCOPE_EVALUATE},
    {.shown = {.name = "run_script",
               .title = "Run a script",
               .description = script_description,
               .input_schema = script_input,
               .output_schema = evaluate_output,
               .destructive = true},
     .run = action_run_script,
     .variables = action_run_script_variables,
     .checked = script_checked,
     .fits = true,
     .scope = SCOPE_EVALUATE,
     .vault = "workspace_id",
     .refuse = action_evaluate_refused},
};
const size_t action_count = LENGTH(action_rows);
