/* functions_api/function_actions.h - the actions on custom functions, and the parts that
 * those share that change them. Threads: safe. Private to the room. */
#pragma once
#include "capability/capability.h"
#include "functions/functions.h"
#include "functions_api/functioning.h"
#include "record/record.h"

action_fn action_register_function, action_update_function, action_validate_function,
    action_test_function, action_duplicate_function, action_rollback_function;
action_fn action_list_functions, action_get_function, action_function_versions,
    action_function_stats, action_function_templates;
action_fn action_delete_functions, action_export_functions, action_import_functions,
    action_backup_functions, action_restore_functions, action_migrate_functions;
/* Writes a refusal in these actions' shape: {success: false, error, errors, ...}. */
void function_refused(const struct err *why, struct answer *out);
struct str function_argument(const struct action_call *c, const char *name);
bool function_flag(const struct action_call *c, const char *name, bool fallback);
/* The author of a change, for the versions. */
struct function_author function_author_of(const struct action_call *c);
/* The version of the API that functions are checked against now; in the call's arena. */
struct str function_api_version(const struct action_call *c, struct err *e);
/* Reports a change: to the audit, and to subscribers. */
extern const struct account_list changed_record; /* those changes in audit records */
void function_changed(const struct action_call *c, const char *operation, struct str name,
                      uint32_t version);

/* The effects of a change on callers of the function. */
struct breaking {
    bool is;                     /* existing callers may fail */
    char first[256];             /* reason, cut to fit */
    struct buf reasons, callers; /* insides of JSON arrays: sentences; names */
    /* Callers with the new name in their code, which have to be stored with it. */
    const struct function **rewritten;
    size_t rewritten_count;
};
void breaking_init(struct breaking *b);
void breaking_done(struct breaking *b);
/* Compares `fn` with `was`, one of `among`, which it replaces. Breaking are: parameters
 * that are removed, moved, new or required now, a parameter's type that accepts less, a
 * result type that does not fit the old one (by the checker; without it, any other text),
 * and a name that a caller cannot follow. false and *e. */
bool function_breaking(const struct action_call *c, const struct function *was,
                       const struct function *fn, const struct function_set *among,
                       struct breaking *b, struct err *e);
/* Leaves its callers as they are: those that would have followed the name break. */
void breaking_leave(struct breaking *b);
/* Members of an open object: breaking; reasons and callers if it is; rewritten. */
void breaking_write(const struct breaking *b, struct json_writer *w);

/* The outcome of checking a definition and running its examples. */
struct judgement {
    struct findings found;
    struct breaking breaking;
    struct buf tests; /* JSON; empty: none were run */
    uint32_t failed;  /* examples that failed */
};
void judgement_init(struct judgement *j);
void judgement_done(struct judgement *j);
#define scoped_judgement __attribute__((cleanup(judgement_done)))

/* Checks it and, if there are no errors, runs the examples `which`. `name`: the function
 * it replaces; empty: it is new. false and *e: it could not be checked. */
bool function_judge(const struct action_call *c, const struct function *fn,
                    struct str name, const struct function_set *among,
                    enum examples which, struct judgement *j, struct err *e);
/* Whether nothing but texts differs: descriptions, tags, the name. */
bool function_only_words(const struct function *a, const struct function *b);
/* Whether it may be stored. Otherwise the answer is written. */
bool function_passes(const struct action_call *c, const struct judgement *j,
                     struct answer *out);
/* Whether a breaking change may be stored: forced, or dry. Otherwise writes the
 * answer. */
bool breaking_passes(const struct action_call *c, const struct judgement *j,
                     struct answer *out);
/* Writes a refusal with the findings of `j`. */
void function_refuse(const struct err *why, const struct judgement *j,
                     struct answer *out);
/* Members of an open object: error, errorDetails. */
void function_put_error(enum err_code code, const char *message, struct json_writer *w);
/* Members of an open object: errors, warnings, tests. */
void judgement_write(const struct judgement *j, struct json_writer *w);
/* Members: function, version, signature, typeDefinition, usage. */
void function_put(const struct function *fn, struct json_writer *w);
/* Resolves the functions that the arguments name, with their code beside the new one. */
action_resolve_fn resolve_functions;
