/* functions_api/function_load.h - the custom functions of one evaluation: those that its
 * code has looked up in one version of the vault, their calls, and their source maps.
 * Private to the room.
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

/* A function that was looked up; its place in the list, from 1, is its source number. */
struct loaded_function {
    const struct function *fn;
    const struct typescript_code *code;
    double load_ms;
    char made[SCRIPT_FILE_MAX]; /* its file in the world, "customFunctions.x@5f2b9c01" */
    char file[SCRIPT_FILE_MAX - 16]; /* and in messages */
};

/* An evaluation's custom functions. */
struct loaded_functions {
    const struct function_set *set; /* NULL: not read yet */
    const struct function *draft;   /* evaluation_functions(); may be NULL */
    bool given;                 /* set and draft were given by evaluation_functions() */
    bool tried;                 /* the draft is a stored function: counted as a run */
    struct functions *kept;     /* the store they come from; NULL: given */
    struct loaded_function *at; /* those that were looked up */
    size_t count, capacity;
    struct {
        struct script_tally *tallies; /* of calls that no world counts, by number */
        size_t count;
        uint32_t calls; /* host calls in such worlds */
        unsigned depth; /* worlds that wait for others */
        /* The last failure: where, and what its error says. */
        const struct function *failed;
        uint32_t line, column;
        struct buf frame, message;
    } apart; /* function_call_apart() */
};
struct loaded_functions *functions_loaded(const struct evaluation *v);
/* The functions, as they were at this evaluation's first use. NULL and *e: ERR_NO_VAULT,
 * or as functions_now(). */
const struct function_set *functions_of(struct evaluation *v, struct err *e);
/* The function of this name; NULL and ERR_NOT_FOUND, which names the nearest. */
const struct function *function_find(struct evaluation *v, struct str name,
                                     struct err *e);
/* Transpiles and adds it; returns its number. 0 and *e: ERR_SYNTAX with the position, or
 * as typescript_transpile(). */
uint32_t function_load(struct evaluation *v, const struct function *fn, struct err *e);
/* What fits its parameters at run time, an object (functions.js):
 *   {"types": [shape...], "texts": [what a shape is called...], "parameters": [index...]}
 * A shape is "any" | "never" | "string" | "number" | "boolean" | "bigint" | "symbol" |
 * "null" | "undefined" | "object" | "function" | {"is": literal} | {"or": [index...]} |
 * {"and": [index...]} | {"array": index} | {"tuple": [index...], "optional": n, "rest":
 * index} | {"fields": {name: index}, "optional": [name...], "others": index} | {"class":
 * name}. What cannot be told fits any; false: there is such a type. */
bool function_put_shapes(const struct function *fn, struct json_writer *out);
/* What its arguments are checked by, members of an open object: parameters, shapes, open. */
void function_put_parameters(struct evaluation *v, const struct function *fn,
                             struct json_writer *out);
/* A call from code of another language, or of a function in Python. */
struct apart_call {
    const struct function *fn;
    const struct json *given; /* by position: [{value?}], without one: undefined */
    const struct json *named; /* by name: an object, or NULL */
    bool counted;             /* by the world that calls */
};
/* Performs it in a world of its own and writes {value | error: {name, message}, logs?}.
 * false and *e: it was not called. From within a host call of `v`, which waits. */
bool function_call_apart(struct evaluation *v, const struct apart_call *call,
                         struct json_writer *out, struct err *e);
/* Whether it may be called here. false and ERR_DENIED, as permit_call(). */
bool function_allowed(const struct evaluation *v, struct str name, struct err *e);
/* Members of a custom_code (evaluating/evaluating.h). */
const char *functions_source_name(const struct evaluation *v, uint32_t number);
void functions_put_visit(const struct evaluation *v, const struct script_outcome *o,
                         const struct script_visit *visit, struct json_writer *w);
bool functions_put_key(const struct action_call *c, struct buf *out);
void functions_declare(const struct action_call *c, struct buf *out);
void functions_define(const struct action_call *c, struct buf *out);
void functions_end_code(struct evaluation *v, const struct script_outcome *o,
                        struct str code);
struct str functions_source(void *v, struct str file);
void functions_put_failure(const struct evaluation *v, const struct script_outcome *o,
                           struct json_writer *w);
struct script_origin *functions_origins(struct evaluation *v, size_t *count);
extern const struct account_list functions_record;
/* Records their calls in the account. */
void functions_account(struct evaluation *v, const struct script_outcome *o);
void functions_forget(struct evaluation *v);
