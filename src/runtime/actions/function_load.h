/* actions/function_load.h - the custom functions of one evaluation: which its code has
 * looked up, in one state of the vault, what became of their calls, and where their places
 * are. Private to actions.
 *
 * Threads: one; the row customFunctions is synchronous.
 */
#pragma once
#include "actions/calls.h"
#include "functions/functions.h"

/* One that was looked up; its place in the list, from 1, is its number as a source. */
struct loaded_function {
    const struct function *fn;
    const struct typescript_code *code;
    double load_ms;
    char made[SCRIPT_FILE_MAX]; /* its file, in the world: "customFunctions.x@5f2b9c01" */
    char file[SCRIPT_FILE_MAX - 16]; /* and for people */
};

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

/* ---- afterwards ----------------------------------------------------------- */

/* Turns every place of the outcome into one of the sources; `code`: what the code was made
 * of, or NULL. */
void functions_explain(struct evaluation *v, struct script_outcome *o,
                       const struct script_origin *code);
/* errorDetails.function: in which one it failed, and where; nothing where in none. */
void functions_put_failure(const struct evaluation *v, const struct script_outcome *o,
                           struct json_writer *w);
/* One call of one, for the trace. */
void functions_put_visit(const struct evaluation *v, const struct script_outcome *o,
                         const struct script_visit *visit, struct json_writer *w);
/* Its name, "customFunctions.x", by its number; NULL. */
const char *functions_source_name(const struct evaluation *v, uint32_t number);
extern const struct account_list functions_record;
/* Tells the account. */
void functions_account(struct evaluation *v, const struct script_outcome *o);
void functions_forget(struct evaluation *v);
