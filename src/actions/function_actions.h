/* actions/function_actions.h - the actions about custom functions, and what those have in
 * common that change them. Threads: safe. Private to the room actions. */
#pragma once
#include "actions/functioning.h"
#include "functions/functions.h"

action_fn action_register_function, action_update_function, action_validate_function,
    action_test_function, action_duplicate_function, action_rollback_function;
action_fn action_list_functions, action_get_function, action_function_versions,
    action_function_stats, action_function_templates;
action_fn action_delete_functions, action_export_functions, action_import_functions,
    action_backup_functions, action_restore_functions, action_migrate_functions;

/* A refusal in the shape that these answer: {success: false, error, errors, ...}. */
void function_refused(const struct err *why, struct answer *out);

/* ---- steps (function_steps.c) ------------------------------------------------- */

struct str function_argument(const struct action_call *c, const char *name);
bool function_flag(const struct action_call *c, const char *name, bool fallback);
/* Who makes a change, for the versions. */
struct function_author function_author_of(const struct action_call *c);
/* Of the API that functions are checked against now; in the call's arena. */
struct str function_api_version(const struct action_call *c, struct err *e);
/* Something was changed: for the audit, and for those who are told of changes. */
void function_changed(const struct action_call *c, const char *deed, struct str name,
                      uint32_t version);

/* What a definition came to when it was looked at and tried. */
struct judgement {
    struct findings found;
    struct buf tests; /* JSON; empty: none were run */
    uint32_t failed;  /* of them */
};
void judgement_init(struct judgement *j);
void judgement_done(struct judgement *j);
#define scoped_judgement __attribute__((cleanup(judgement_done)))

/* Checks it and, where nothing is wrong, runs its examples. `name`: of the one whose place
 * it takes; empty: it is new. false and *e: it could not be looked at. */
bool function_judge(const struct action_call *c, const struct function *fn,
                    struct str name, const struct function_set *among,
                    struct judgement *j, struct err *e);
/* May it be kept? Else the answer has been written. */
bool function_passes(const struct action_call *c, const struct judgement *j,
                     struct answer *out);
/* Writes a refusal for which there is more to tell. */
void function_refuse(const struct err *why, const struct judgement *j,
                     struct answer *out);
/* Members of an open object: errors, warnings, tests. */
void judgement_write(const struct judgement *j, struct json_writer *w);
/* Members: function, version, signature, typeDefinition, usage. */
void function_tell(const struct function *fn, struct json_writer *w);
