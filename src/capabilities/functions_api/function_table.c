/* The capability customFunctions, and its table of actions. All but the first are found by
 * find_tools rather than listed. Source: seed 001. */
#include "functions_api/function_actions.h"
#include "functions_api/function_load.h"

#define STRING "{\"type\":\"string\"}"
#define BOOLEAN "{\"type\":\"boolean\"}"
#define STRINGS "{\"type\":\"array\",\"items\":" STRING "}"
#define VERSION "{\"type\":\"integer\",\"minimum\":1}"
#define OBJECT(members, required) \
    "{\"type\":\"object\",\"properties\":{" members "},\"required\":[" required "]}"
#define OPTIONAL(members) "{\"type\":\"object\",\"properties\":{" members "}}"
#define ANSWER(required) "{\"type\":\"object\",\"required\":[" required "]}"
#define ANY_ANSWER "{\"type\":\"object\"}"

/* ---- what a definition is -------------------------------------------------------- */

/* As it is checked, and as it is shown: schemas.h says what clients take. */
#define PARAMETERS                                                                      \
    "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"object\",\"properties\"" \
    ":{\"type\":" STRING ",\"description\":" STRING ",\"optional\":" BOOLEAN            \
    ",\"default\":{}},\"required\":[\"type\"]}}"
#define PARAMETERS_SHOWN                                                                  \
    "{\"type\":\"object\",\"properties\":{\"date\":{\"type\":\"object\",\"properties\":{" \
    "\"type\":" STRING                                                                    \
    "},\"description\":\"{type, description?, optional?, default?}\"}}}"
#define EXAMPLES "{\"type\":\"array\",\"items\":{\"type\":\"object\"}}"
#define EXAMPLES_SHOWN                                                                           \
    "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"description\":" STRING \
    "}},\"description\":\"tests: [{args, expected}]\"}"
#define DEFINITION(parameters, examples)                                        \
    "\"name\":" STRING ",\"description\":" STRING ",\"parameters\":" parameters \
    ",\"returnType\":" STRING ",\"code\":" STRING ",\"tags\":" STRINGS          \
    ",\"examples\":" examples
#define DEFINITION_REQUIRED \
    "\"name\",\"description\",\"parameters\",\"returnType\",\"code\""

#define FORCE(what) "\"force\":{\"type\":\"boolean\",\"description\":\"" what "\"}"
#define DRY(what) "\"dryRun\":{\"type\":\"boolean\",\"description\":\"" what "\"}"
#define EXPECTED                                                                         \
    "\"expectedVersion\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"refused " \
    "where it has another by now\"}"

/* Listed in every conversation: function_read() tells the rest. */
#define REGISTER(parameters, examples) \
    DEFINITION(parameters, examples) ",\"force\":" BOOLEAN ",\"dryRun\":" BOOLEAN
static const char register_input[] =
    OBJECT(REGISTER(PARAMETERS_SHOWN, EXAMPLES_SHOWN), DEFINITION_REQUIRED);
/* What is missing it tells itself: all at once, by its fields. */
static const char register_checked[] =
    OPTIONAL(REGISTER("{\"type\":\"object\"}", "{\"type\":\"array\"}"));

static const char register_description[] =
    "Keep a TypeScript function for later conversations: code then calls await "
    "customFunctions.name(...). code is all of it: 'async function name(date?: string): "
    "Promise<Note> {...}'. Types are checked, examples run.";

static const char validate_input[] =
    OPTIONAL(DEFINITION(PARAMETERS_SHOWN, EXAMPLES_SHOWN));
static const char validate_checked[] = OPTIONAL(DEFINITION(PARAMETERS, EXAMPLES));

#define UPDATE(parameters, examples)                                                          \
    OBJECT(                                                                                   \
        "\"name\":{\"type\":\"string\",\"description\":\"of the function as it is\"}"         \
        ",\"newName\":" STRING ",\"description\":" STRING ",\"parameters\":" parameters       \
        ",\"returnType\":" STRING ",\"code\":" STRING ",\"tags\":" STRINGS                    \
        ",\"examples\":" examples                                                             \
        ",\"note\":{\"type\":\"string\",\"description\":\"why, for the versions\"}," EXPECTED \
        "," FORCE("although its tests fail, or it breaks callers") "," DRY(                   \
            "tell what would come of it, change nothing"),                                    \
        "\"name\"")
static const char update_input[] = UPDATE(PARAMETERS_SHOWN, EXAMPLES_SHOWN);
static const char update_checked[] = UPDATE(PARAMETERS, EXAMPLES);

#define TEST(args, definition)                                                           \
    OPTIONAL("\"name\":" STRING ",\"args\":" args ",\"definition\":" definition "," DRY( \
        "what it writes is told, and thrown away (true)") ",\"timeout\":"                \
                                                          "{\"type\":\"integer\",\"minimum\":1,\"description\":\"ms of a run (5000)\"}")
static const char test_input[] = TEST(
    "{\"type\":\"object\",\"properties\":{\"date\":" STRING "},\"description\":\"by "
    "name, {date: '2026-01-31'}; none: all of its examples run\"}",
    "{\"type\":\"object\",\"properties\":{\"code\":" STRING "},\"description\":"
    "\"instead of name: one that is not registered, as register_custom_function takes "
    "it\"}");
/* Also an array, in the order of its parameters. */
static const char test_checked[] = TEST("{}", "{\"type\":\"object\"}");

static const char list_input[] = OPTIONAL(
    "\"query\":" STRING ",\"tags\":{\"type\":\"array\",\"items\":" STRING
    ",\"description\":\"it has all of these\"},\"createdBy\":{\"type\":\"string\",\"enum\":["
    "\"agent\",\"user\"]},\"sort\":{\"type\":\"string\",\"enum\":[\"name\",\"createdAt\",\"updatedAt\",\"usageCount\","
    "\"lastUsed\"],\"description\":\"name\"},\"order\":{\"type\":\"string\",\"enum\":["
    "\"asc\",\"desc\"],\"description\":\"asc by name, else desc\"},"
    "\"minUsage\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"called so often at "
    "least\"},\"maxUsage\":{\"type\":\"integer\",\"minimum\":0},\"usedSince\":" STRING
    ",\"unusedSince\":{\"type\":\"string\",\"description\":\"a date: not called since\"},"
    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000,\"description\":\"rows "
    "(100)\"},\"cursor\":" STRING);

static const char get_input[] =
    OBJECT("\"name\":" STRING ",\"version\":" VERSION, "\"name\"");

static const char delete_input[] =
    OPTIONAL("\"name\":" STRING ",\"names\":" STRINGS "," EXPECTED
             "," FORCE("although other functions call it") "," DRY(
                 "tell what would break, delete nothing"));

static const char duplicate_input[] =
    OBJECT("\"name\":" STRING ",\"newName\":" STRING ",\"description\":" STRING,
           "\"name\",\"newName\"");

static const char rollback_input[] =
    OBJECT("\"name\":" STRING ",\"version\":" VERSION "," EXPECTED
           "," FORCE("although it does not fit, its tests fail or callers break") "," DRY(
               "tell what would come of it, change nothing"),
           "\"name\",\"version\"");

static const char versions_input[] = OBJECT(
    "\"name\":" STRING ",\"from\":" VERSION ",\"to\":{\"type\":\"integer\",\"minimum\":1,"
    "\"description\":\"with from: the difference between both (to the current one)\"},"
    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000}",
    "\"name\"");

static const char export_input[] = OPTIONAL(
    "\"names\":{\"type\":\"array\",\"items\":" STRING ",\"description\":\"none: all\"}");

static const char import_input[] = OBJECT(
    "\"text\":{\"type\":\"string\",\"description\":\"what export_custom_functions answered, "
    "or custom-functions.json\"},\"conflict\":{\"type\":\"string\",\"enum\":[\"skip\",\"rename\",\"replace\","
    "\"version\"],\"description\":\"where a name is taken (skip)\"},\"names\":{\"type\":"
    "\"array\",\"items\":" STRING
    ",\"description\":\"only these\"}," DRY("tell what would come of it, change nothing"),
    "\"text\"");

static const char backup_input[] = OPTIONAL(
    "\"list\":{\"type\":\"boolean\",\"description\":\"only tell which there are\"}");

static const char restore_input[] = OPTIONAL(
    "\"backup\":{\"type\":\"string\",\"description\":\"as backup_custom_functions lists it; "
    "none: the last good one\"}");

static const char stats_input[] =
    OPTIONAL("\"name\":{\"type\":\"string\",\"description\":\"none: of all\"}");

static const char migrate_input[] = OPTIONAL("");

static const char templates_input[] =
    OPTIONAL("\"template\":{\"type\":\"string\",\"description\":\"none: which "
             "there are\"},\"name\":{\"type\":\"string\",\"description\":\"what "
             "the function is to be called\"}");

/* ---- the rows ------------------------------------------------------------------------- */

#define READS .read_only = true, .idempotent = true
#define ACTION(n, t, d, i, o) \
    .name = n, .title = t, .description = d, .input_schema = i, .output_schema = o

static const struct action_row rows[] = {
    {.shown = {ACTION("register_custom_function", "Keep a function", register_description,
                      register_input, ANSWER("\"success\""))},
     .run = action_register_function,
     .checked = register_checked,
     .refuse = function_refused,
     .permission = "customFunctions.register",
     .writes = true,
     .scope = SCOPE_EVALUATE},
    {.shown = {ACTION(
                   "test_custom_function", "Test a custom function",
                   "Run a custom function once with arguments, or all examples that are "
                   "kept with it. Nothing it writes is kept, unless dryRun is false.",
                   test_input, ANSWER("\"success\"")),
               .destructive = true},
     .run = action_test_function,
     .checked = test_checked,
     .refuse = function_refused,
     .permission = "customFunctions.test",
     .least = LEVEL_ZERO,
     .scope = SCOPE_EVALUATE,
     .seldom = true},
    {.shown = {ACTION("list_custom_functions", "List custom functions",
                      "The custom functions of this vault: signature, description, tags, "
                      "version, how often and when they were used.",
                      list_input, ANSWER("\"functions\",\"total\"")),
               READS},
     .run = action_list_functions,
     .permission = "customFunctions.list",
     .least = LEVEL_ZERO,
     .seldom = true},
    {.shown =
         {ACTION("validate_custom_function", "Check a custom function",
                 "Check a definition as register_custom_function would, without running "
                 "or keeping it: names, parameters, types, security, complexity.",
                 validate_input, ANSWER("\"valid\",\"errors\",\"warnings\"")),
          READS},
     .run = action_validate_function,
     .checked = validate_checked,
     .permission = "customFunctions.validate",
     .least = LEVEL_ZERO,
     .scope = SCOPE_EVALUATE,
     .seldom = true},
    {.shown = {ACTION("get_custom_function", "Read a custom function",
                      "One custom function: its code, parameters, examples, version, and "
                      "how it is called. An older version, too.",
                      get_input, ANSWER("\"function\"")),
               READS},
     .run = action_get_function,
     .permission = "customFunctions.get",
     .least = LEVEL_ZERO,
     .seldom = true},
    {.shown =
         {ACTION("update_custom_function", "Change a custom function",
                 "Change the given fields of a custom function: a new version, checked "
                 "and tested as when it was registered. A breaking one is refused unless "
                 "forced; with newName, callers follow.",
                 update_input, ANSWER("\"success\"")),
          .destructive = true},
     .run = action_update_function,
     .checked = update_checked,
     .refuse = function_refused,
     .permission = "customFunctions.update",
     .writes = true,
     .scope = SCOPE_EVALUATE,
     .seldom = true},
    {.shown =
         {ACTION(
              "delete_custom_function", "Delete custom functions",
              "Delete one or several custom functions. Refused where others call "
              "them, unless forced. Their versions are kept: rollback brings one back.",
              delete_input, ANSWER("\"success\"")),
          .destructive = true, .idempotent = true},
     .run = action_delete_functions,
     .refuse = function_refused,
     .permission = "customFunctions.delete",
     .writes = true,
     .seldom = true},
    {.shown = {ACTION("duplicate_custom_function", "Copy a custom function",
                      "Register a copy of a custom function under another name.",
                      duplicate_input, ANSWER("\"success\""))},
     .run = action_duplicate_function,
     .refuse = function_refused,
     .permission = "customFunctions.register",
     .writes = true,
     .scope = SCOPE_EVALUATE,
     .seldom = true},
    {.shown = {ACTION(
                   "rollback_custom_function", "Take a custom function back",
                   "Make an older version of a custom function the current one again, as "
                   "a new version. Also brings a deleted function back.",
                   rollback_input, ANSWER("\"success\"")),
               .destructive = true},
     .run = action_rollback_function,
     .refuse = function_refused,
     .permission = "customFunctions.rollback",
     .writes = true,
     .scope = SCOPE_EVALUATE,
     .seldom = true},
    {.shown = {ACTION(
                   "custom_function_versions", "Versions of a custom function",
                   "All versions of a custom function with who made them, when and why; "
                   "with from (and to) the difference between two.",
                   versions_input, ANSWER("\"versions\"")),
               READS},
     .run = action_function_versions,
     .permission = "customFunctions.versions",
     .least = LEVEL_ZERO,
     .seldom = true},
    {.shown = {ACTION("export_custom_functions", "Export custom functions",
                      "One, several or all custom functions as a text that another vault "
                      "imports.",
                      export_input, ANSWER("\"text\",\"count\"")),
               READS},
     .run = action_export_functions,
     .permission = "customFunctions.export",
     .least = LEVEL_LIMITED,
     .seldom = true},
    {.shown = {ACTION("import_custom_functions", "Import custom functions",
                      "Take functions over from the text of an export, or of a "
                      "custom-functions.json. None of them is run.",
                      import_input, ANSWER("\"success\"")),
               .destructive = true},
     .run = action_import_functions,
     .refuse = function_refused,
     .permission = "customFunctions.import",
     .writes = true,
     .scope = SCOPE_EVALUATE,
     .seldom = true},
    {.shown = {ACTION("backup_custom_functions", "Back custom functions up",
                      "Keep a copy of all custom functions as they are now; or list the "
                      "copies there are. The last ten are kept.",
                      backup_input, ANSWER("\"success\",\"backups\""))},
     .run = action_backup_functions,
     .refuse = function_refused,
     .permission = "customFunctions.backup",
     .writes = true,
     .seldom = true},
    {.shown = {ACTION(
                   "restore_custom_functions", "Restore custom functions",
                   "Put all custom functions back to what a backup holds. What there is "
                   "now is backed up before.",
                   restore_input, ANSWER("\"success\"")),
               .destructive = true},
     .run = action_restore_functions,
     .refuse = function_refused,
     .permission = "customFunctions.restore",
     .writes = true,
     .seldom = true},
    {.shown = {ACTION("migrate_custom_functions", "Check all custom functions again",
                      "Check all custom functions against the API as it is now, and tell "
                      "which of them do not fit it any more.",
                      migrate_input, ANSWER("\"success\",\"functions\"")),
               .idempotent = true},
     .run = action_migrate_functions,
     .refuse = function_refused,
     .permission = "customFunctions.migrate",
     .writes = true,
     .scope = SCOPE_EVALUATE,
     .seldom = true},
    {.shown = {ACTION(
                   "custom_function_stats", "Use of custom functions",
                   "How custom functions are used: calls, success rate, durations (p50, "
                   "p95), errors, last runs, per version; and what could be better.",
                   stats_input, ANY_ANSWER),
               READS},
     .run = action_function_stats,
     .permission = "customFunctions.stats",
     .least = LEVEL_ZERO,
     .seldom = true},
    {.shown = {ACTION("custom_function_templates", "Templates of custom functions",
                      "Ready-made functions for common patterns (daily note, link report "
                      "...): which there are, or one as a definition to register.",
                      templates_input, ANY_ANSWER),
               READS},
     .run = action_function_templates,
     .permission = "customFunctions.templates",
     .least = LEVEL_ZERO,
     .seldom = true},
};
static const struct action_group group = {rows, LENGTH(rows), .order = 90,
                                          .resolve = resolve_functions};

const struct capability functions_capability = {
    .calls = CALLS(&functions_calls),
    .actions = ACTIONS(&group),
    .open = functioning_open,
    .close = functioning_close,
    .metrics = functioning_metrics,
    .end = functions_forget,
    .custom = &functions_custom,
    .state = functions_state,
    .introduce = functioning_introduce,
    .records = RECORDS(&functions_record, &changed_record)};
