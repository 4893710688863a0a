/* functions_api/function_load.h - the custom functions of one evaluation: which its code
 * has looked up, in one state of the vault, what became of their calls, and where their
 * places are. Private to the room.
 *
 * Threads: one; the row customFunctions is synchronous. */
#pragma once
#include "evaluating/evaluating.h"
#include "performing/performing.h"
#include "record/record.h"
#include "script/script.h"

struct function;
struct function_set;
struct functions;
struct typescript_code;

/* One that was looked up; its place in the list, from 1, is its number as a source. */
struct loaded_function {
    const struct function *fn;
    const struct typescript_code *code;
    double load_ms;
    char made[SCRIPT_FILE_MAX]; /* its file, in the world: "customFunctions.x@5f2b9c01" */
    char file[SCRIPT_FILE_MAX - 16]; /* and for people */
};

/* What is theirs of an evaluation. */
struct loaded_functions {
    const struct function_set *set; /* NULL: not asked for yet */
    const struct function *draft;   /* evaluation_functions(); may be NULL */
    bool given;                     /* both are another's */
    bool tried;                     /* the draft is one that is kept: told as a run */
    struct functions *kept;         /* where they are from; NULL: given */
    struct loaded_function *at;     /* that were looked up */
    size_t count, capacity;
};
struct loaded_functions *functions_loaded(const struct evaluation *v);
/* The functions, as they were when this evaluation first asked. NULL and *e: ERR_NO_VAULT,
 * or as functions_now(). */
const struct function_set *functions_of(struct evaluation *v, struct err *e);
/* That of this name; NULL and ERR_NOT_FOUND, which names the nearest. */
const struct function *function_find(struct evaluation *v, struct str name,
                                     struct err *e);
/* Makes it JavaScript and notes it: its number; 0 and *e: ERR_SYNTAX, which says where, or
 * what else typescript_transpile() gives. */
uint32_t function_load(struct evaluation *v, const struct function *fn, struct err *e);
/* What fits its parameters at run time, an object (functions.js):
 *   {"types": [shape...], "texts": [what a shape is called...], "parameters": [index...]}
 * A shape is "any" | "never" | "string" | "number" | "boolean" | "bigint" | "symbol" |
 * "null" | "undefined" | "object" | "function" | {"is": literal} | {"or": [index...]} |
 * {"and": [index...]} | {"array": index} | {"tuple": [index...], "optional": n, "rest":
 * index} | {"fields": {name: index}, "optional": [name...], "others": index} | {"class":
 * name}. What cannot be told fits any; false: there is such a type. */
bool function_put_shapes(const struct function *fn, struct json_writer *out);
/* May it be called here? false and ERR_DENIED, as permit_call(). */
bool function_allowed(const struct evaluation *v, struct str name, struct err *e);
/* Members of a custom_code (evaluating.h). */
extern const struct custom_code functions_custom;
struct str functions_source(void *v, struct str file);
void functions_put_failure(const struct evaluation *v, const struct script_outcome *o,
                           struct json_writer *w);
struct script_origin *functions_origins(struct evaluation *v, size_t *count);
extern const struct account_list functions_record;
/* Tells the account. */
void functions_account(struct evaluation *v, const struct script_outcome *o);
void functions_forget(struct evaluation *v);
