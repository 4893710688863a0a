/* functions_api/function_actions.h - the actions about custom functions, and what those
 * have in common that change them. Threads: safe. Private to the room. */
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
/* A refusal in the shape that these answer: {success: false, error, errors, ...}. */
void function_refused(const struct err *why, struct answer *out);
struct str function_argument(const struct action_call *c, const char *name);
bool function_flag(const struct action_call *c, const char *name, bool fallback);
/* Who makes a change, for the versions. */
struct function_author function_author_of(const struct action_call *c);
/* Of the API that functions are checked against now; in the call's arena. */
struct str function_api_version(const struct action_call *c, struct err *e);
/* Something was changed: for the audit, and for those who are told of changes. */
extern const struct account_list changed_record; /* these, in records of the audit */
void function_changed(const struct action_call *c, const char *deed, struct str name,
                      uint32_t version);

/* What a change means for those that call the function. */
struct breaking {
    bool is;                     /* what called it as it was need not fit any more */
    char first[256];             /* reason; its beginning */
    struct buf reasons, callers; /* insides of JSON arrays: sentences; names */
    /* Callers with its new name in their code, which are to be kept with it. */
    const struct function **rewritten;
    size_t rewritten_count;
};
void breaking_init(struct breaking *b);
void breaking_done(struct breaking *b);
/* Holds `fn` against `was`, one of `among`, whose place it is to take: parameters that are
 * gone, elsewhere, new or needed now, a parameter's type that takes less than it did, an
 * answer that does not fit what it was (by the checker; without one, any other text), a
 * name that a caller cannot follow. false and *e. */
bool function_breaking(const struct action_call *c, const struct function *was,
                       const struct function *fn, const struct function_set *among,
                       struct breaking *b, struct err *e);
/* Its callers stay as they are: those that would have followed its name break. */
void breaking_leave(struct breaking *b);
/* Members of an open object: breaking, reasons, callers, where it breaks; rewritten. */
void breaking_write(const struct breaking *b, struct json_writer *w);

/* What a definition came to when it was looked at and tried. */
struct judgement {
    struct findings found;
    struct breaking breaking;
    struct buf tests; /* JSON; empty: none were run */
    uint32_t failed;  /* of them */
};
void judgement_init(struct judgement *j);
void judgement_done(struct judgement *j);
#define scoped_judgement __attribute__((cleanup(judgement_done)))

/* Checks it and, where nothing is wrong, runs those of its examples. `name`: of the one
 * whose place it takes; empty: it is new. false and *e: it could not be looked at. */
bool function_judge(const struct action_call *c, const struct function *fn,
                    struct str name, const struct function_set *among,
                    enum examples which, struct judgement *j, struct err *e);
/* Is all the same but words: descriptions, tags, the name? */
bool function_only_words(const struct function *a, const struct function *b);
/* May it be kept? Else the answer has been written. */
bool function_passes(const struct action_call *c, const struct judgement *j,
                     struct answer *out);
/* May what breaks be kept: is it forced, or only looked at? Else the answer has been
 * written. */
bool breaking_passes(const struct action_call *c, const struct judgement *j,
                     struct answer *out);
/* Writes a refusal for which there is more to tell. */
void function_refuse(const struct err *why, const struct judgement *j,
                     struct answer *out);
/* Members of an open object: error, errorDetails. */
void function_put_error(enum err_code code, const char *message, struct json_writer *w);
/* Members of an open object: errors, warnings, tests. */
void judgement_write(const struct judgement *j, struct json_writer *w);
/* Members: function, version, signature, typeDefinition, usage. */
void function_tell(const struct function *fn, struct json_writer *w);
/* What the arguments name: those functions, and their code beside the code that they bring. */
action_resolve_fn resolve_functions;
