/* The capability customFunctions, and its table of actions. All but the first are found
 * by find_tools, not listed. Source: seed 001. */
#include "functions_api/function_actions.h"
#include "functions_api/function_load.h"
#include "functions_api/functions.api.h"

/* Listed in every conversation: function_read() reports the rest. */
static const char register_description[] =
    "Keep a function for later: code then calls await "
    "customFunctions.name(...). code is all of it: 'async function name(date?: string): "
    "Promise<Note> {...}'. Types are checked, examples run.";

/* ---- the rows ------------------------------------------------------------------------- */

#define READS .read_only = true, .idempotent = true
#define ACTION(n, t, d) .name = n, .title = t, .description = d

static const struct action_row rows[] = {
    {.shown = {ACTION("register_custom_function", "Keep a function",
                      register_description),
               REGISTER_CUSTOM_FUNCTION_SCHEMAS},
     .run = action_register_function,
     .checked = REGISTER_CUSTOM_FUNCTION_CHECKED,
     .refuse = function_refused,
     .permission = "customFunctions.register",
     .writes = true,
     .scope = SCOPE_EVALUATE},
    {.shown = {ACTION(
                   "test_custom_function", "Test a custom function",
                   "Run a custom function once with arguments, or all examples that are "
                   "kept with it. Nothing it writes is kept, unless dryRun is false."),
               TEST_CUSTOM_FUNCTION_SCHEMAS, .destructive = true},
     .run = action_test_function,
     .checked = TEST_CUSTOM_FUNCTION_CHECKED,
     .refuse = function_refused,
     .permission = "customFunctions.test",
     .least = LEVEL_ZERO,
     .scope = SCOPE_EVALUATE,
     .seldom = true},
    {.shown = {ACTION("list_custom_functions", "List custom functions",
                      "The custom functions of this vault: signature, description, tags, "
                      "version, how often and when they were used."),
               LIST_CUSTOM_FUNCTIONS_SCHEMAS, READS},
     .run = action_list_functions,
     .permission = "customFunctions.list",
     .least = LEVEL_ZERO,
     .seldom = true},
    {.shown =
         {ACTION("validate_custom_function", "Check a custom function",
                 "Check a definition as register_custom_function would, without running "
                 "or keeping it: names, parameters, types, security, complexity."),
          VALIDATE_CUSTOM_FUNCTION_SCHEMAS, READS},
     .run = action_validate_function,
     .checked = VALIDATE_CUSTOM_FUNCTION_CHECKED,
     .permission = "customFunctions.validate",
     .least = LEVEL_ZERO,
     .scope = SCOPE_EVALUATE,
     .seldom = true},
    {.shown = {ACTION("get_custom_function", "Read a custom function",
                      "One custom function: its code, parameters, examples, version, and "
                      "how it is called. An older version, too."),
               GET_CUSTOM_FUNCTION_SCHEMAS, READS},
     .run = action_get_function,
     .permission = "customFunctions.get",
     .least = LEVEL_ZERO,
     .seldom = true},
    {.shown =
         {ACTION("update_custom_function", "Change a custom function",
                 "Change the given fields of a custom function: a new version, checked "
                 "and tested as when it was registered. A breaking one is refused unless "
                 "forced; with newName, callers follow."),
          UPDATE_CUSTOM_FUNCTION_SCHEMAS, .destructive = true},
     .run = action_update_function,
     .checked = UPDATE_CUSTOM_FUNCTION_CHECKED,
     .refuse = function_refused,
     .permission = "customFunctions.update",
     .writes = true,
     .scope = SCOPE_EVALUATE,
     .seldom = true},
    {.shown =
         {ACTION(
              "delete_custom_function", "Delete custom functions",
              "Delete one or several custom functions. Refused where others call "
              "them, unless forced. Their versions are kept: rollback brings one back."),
          DELETE_CUSTOM_FUNCTION_SCHEMAS, .destructive = true, .idempotent = true},
     .run = action_delete_functions,
     .refuse = function_refused,
     .permission = "customFunctions.delete",
     .writes = true,
     .seldom = true},
    {.shown = {ACTION("duplicate_custom_function", "Copy a custom function",
                      "Register a copy of a custom function under another name."),
               DUPLICATE_CUSTOM_FUNCTION_SCHEMAS},
     .run = action_duplicate_function,
     .refuse = function_refused,
     .permission = "customFunctions.register",
     .writes = true,
     .scope = SCOPE_EVALUATE,
     .seldom = true},
    {.shown = {ACTION(
                   "rollback_custom_function", "Take a custom function back",
                   "Make an older version of a custom function the current one again, as "
                   "a new version. Also brings a deleted function back."),
               ROLLBACK_CUSTOM_FUNCTION_SCHEMAS, .destructive = true},
     .run = action_rollback_function,
     .refuse = function_refused,
     .permission = "customFunctions.rollback",
     .writes = true,
     .scope = SCOPE_EVALUATE,
     .seldom = true},
    {.shown = {ACTION("custom_function_versions", "Versions of a custom function",
                      "All versions of a custom function with author, time and reason; "
                      "with from (and to) the difference between two."),
               CUSTOM_FUNCTION_VERSIONS_SCHEMAS, READS},
     .run = action_function_versions,
     .permission = "customFunctions.versions",
     .least = LEVEL_ZERO,
     .seldom = true},
    {.shown = {ACTION("export_custom_functions", "Export custom functions",
                      "One, several or all custom functions as a text that another vault "
                      "imports."),
               EXPORT_CUSTOM_FUNCTIONS_SCHEMAS, READS},
     .run = action_export_functions,
     .permission = "customFunctions.export",
     .least = LEVEL_LIMITED,
     .seldom = true},
    {.shown = {ACTION("import_custom_functions", "Import custom functions",
                      "Take functions over from the text of an export, or of a "
                      "custom-functions.json. None of them is run."),
               IMPORT_CUSTOM_FUNCTIONS_SCHEMAS, .destructive = true},
     .run = action_import_functions,
     .refuse = function_refused,
     .permission = "customFunctions.import",
     .writes = true,
     .scope = SCOPE_EVALUATE,
     .seldom = true},
    {.shown = {ACTION("backup_custom_functions", "Back custom functions up",
                      "Keep a copy of all custom functions as they are now; or list the "
                      "copies there are. The last ten are kept."),
               BACKUP_CUSTOM_FUNCTIONS_SCHEMAS},
     .run = action_backup_functions,
     .refuse = function_refused,
     .permission = "customFunctions.backup",
     .writes = true,
     .seldom = true},
    {.shown = {ACTION("restore_custom_functions", "Restore custom functions",
                      "Restore all custom functions from a backup. The current ones are "
                      "backed up first."),
               RESTORE_CUSTOM_FUNCTIONS_SCHEMAS, .destructive = true},
     .run = action_restore_functions,
     .refuse = function_refused,
     .permission = "customFunctions.restore",
     .writes = true,
     .seldom = true},
    {.shown = {ACTION("migrate_custom_functions", "Check all custom functions again",
                      "Check all custom functions against the current API, and report "
                      "those that do not fit it."),
               MIGRATE_CUSTOM_FUNCTIONS_SCHEMAS, .idempotent = true},
     .run = action_migrate_functions,
     .refuse = function_refused,
     .permission = "customFunctions.migrate",
     .writes = true,
     .scope = SCOPE_EVALUATE,
     .seldom = true},
    {.shown = {ACTION(
                   "custom_function_stats", "Use of custom functions",
                   "How custom functions are used: calls, success rate, durations (p50, "
                   "p95), errors, last runs, per version; and what could be better."),
               CUSTOM_FUNCTION_STATS_SCHEMAS, READS},
     .run = action_function_stats,
     .permission = "customFunctions.stats",
     .least = LEVEL_ZERO,
     .seldom = true},
    {.shown = {ACTION("custom_function_templates", "Templates of custom functions",
                      "Ready-made functions for common patterns (daily note, link report "
                      "...): which there are, or one as a definition to register."),
               CUSTOM_FUNCTION_TEMPLATES_SCHEMAS, READS},
     .run = action_function_templates,
     .permission = "customFunctions.templates",
     .least = LEVEL_ZERO,
     .seldom = true},
};
static const struct action_group group = {rows, LENGTH(rows), .order = 90,
                                          .resolve = resolve_functions};

static const struct custom_code custom = {.put_key = functions_put_key,
                                          .declare = functions_declare,
                                          .define = functions_define,
                                          .source = functions_source,
                                          .origins = functions_origins,
                                          .source_name = functions_source_name,
                                          .put_failure = functions_put_failure,
                                          .put_visit = functions_put_visit,
                                          .find = functioning_find,
                                          .tell = functioning_tell,
                                          .ended = functions_end_code};

const struct capability functions_capability = {
    .calls = CALLS(&functions_calls),
    .actions = ACTIONS(&group),
    .routes = ROUTES(&function_routes),
    .open = functioning_open,
    .close = functioning_close,
    .metrics = functioning_metrics,
    .end = functions_forget,
    .custom = &custom,
    .state = functions_state,
    .introduce = functioning_introduce,
    .meant = functioning_meant,
    .records = RECORDS(&functions_record, &changed_record),
    .policies = POLICIES(&functions_policy)};
