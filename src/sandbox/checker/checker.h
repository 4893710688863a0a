/* checker/checker.h - what a type checker says of code: whether it fits the declarations of
 * what it may call, and, of a custom function, whether it is what its definition says.
 *
 * JavaScript and TypeScript are checked by TypeScript's own checker (guest/checker), Python by
 * mypy (guest/python/types). Each is baked after it has read the libraries; each question gets a
 * world of its own. Code is only read, never run. What was answered once is kept, in
 * memory and in the user's cache folder, by a hash of all that decides it.
 */
#pragma once
#include "base/base.h"
#include "engine/engine.h"

#define CHECKER_CODE_BYTES ((size_t)1 << 20)       /* ERR_LIMIT */
#define CHECKER_OWN_BYTES ((size_t)4 << 20)        /* ERR_LIMIT */
#define CHECKER_COMPUTE_MS 10000u                  /* ERR_TIMEOUT */
#define CHECKER_MEMORY_BYTES ((uint64_t)512 << 20) /* ERR_MEMORY */
#define CHECKER_DECLARATIONS_MAX 16u
#define CHECKER_NESTED_MAX 100u /* brackets in one another in TypeScript: one finding */

struct checker;
/* Loads nothing yet. `guest_dir` holds the baked guest. `declarations` are texts (.d.ts)
 * of globals that code may find, `count` (CHECKER_DECLARATIONS_MAX at most); copied.
 * It is loaded by a question, and given back when none has come for a while.
 * Threads: safe. */
struct checker *checker_new(struct engine *g, const char *guest_dir,
                            const struct str *declarations, size_t count);
void checker_free(struct checker *c); /* NULL is fine; no question may be under way */
SCOPED(checker, checker_free);
/* Does what the first question would wait for, but keeps nothing of it in memory. For
 * servers, on a thread of their own. */
bool checker_warm(struct checker *c, struct err *e);
/* Was the guest built at all? Where not, every question is ERR_NOT_FOUND. */
bool checker_is_there(const struct checker *c);
bool checker_has_python(const struct checker *c); /* the same of the one for Python */
/* Is it being built in the background just now (dev/checker-later)? */
bool checker_is_building(const struct checker *c);

/* A custom function's definition. */
struct checker_parameter {
    struct str name, type;
    bool optional;
    struct str fallback; /* its default, as JSON; empty: none */
};
struct checker_signature {
    struct str name;
    const struct checker_parameter *parameters;
    size_t count;
    struct str return_type; /* empty: it does not say */
};

struct checker_question {
    struct str code; /* UTF-8 */
    /* An evaluation's language: JavaScript, else TypeScript. Functions are TypeScript. */
    bool javascript;
    bool
        python; /* an evaluation's, as well; then `own` are stubs (.pyi), and there is no function */
    uint32_t declared; /* which of the declarations: bit 0 is the first; not of Python */
    struct str own;    /* further ones, which differ from question to question */
    /* Python's alone: the custom functions that it can call, JSON:
     * [{"name", "parameters": [{"name", "type", "optional"?, "rest"?, "default"?}], "returns"}],
     * with types of TypeScript. Empty: nothing is known of them, and any call is right. */
    struct str functions;
    /* A function's, to hold the code against. NULL: the code of an evaluation, the body of
     * an async function. Functions are checked strictly; in evaluations a type that nobody
     * wrote down is no mistake. */
    const struct checker_signature *function;
    /* Earlier evaluations left names that are not known here, so that a name that
     * is not there is no mistake. */
    bool remembers;
    uint64_t until_ns; /* os_mono_ns(); 0: never */
    uint64_t tenant;
    struct cancel *cancel; /* may be NULL */
};

/* Shared and never changed. Its JSON:
 *   {"diagnostics": [{"field", "code", "severity": "error" | "warning", "message",
 *      "line"?, "column"?, "endLine"?, "endColumn"?, "suggestion"?}],
 *    "dropped"?: how many more there are than 100,
 *    "shapes"?: {"types", "parameters", "texts"}, "returns"?}
 * `field` is "code" (with a place in it: from 1, columns count characters), "name",
 * "parameters", "parameters.NAME", "parameters.NAME.type", "parameters.NAME.default" or
 * "returnType"; `code` is TypeScript's, "TS2322", mypy's, "attr-defined", "NESTED" for code that is
 * not looked at, because it is nested too deeply, or "SIGNATURE" and "NAME" where the
 * definition is held against the code. `shapes` say, where nothing is wrong with a
 * function's parameters, what fits each at run time (guest/checker/shapes.go); `returns` is
 * the type that its code returns. */
struct checker_answer;
/* NULL and *e: ERR_NOT_FOUND (there is no guest; says how to build it), ERR_INVALID (no
 * UTF-8), a limit from above, ERR_STACK (nested too deeply), ERR_GUEST, ERR_CANCELLED,
 * ERR_BUSY or ERR_IO. What is wrong with the code is an answer. */
const struct checker_answer *checker_check(struct checker *c,
                                           const struct checker_question *q,
                                           struct err *e);
/* The last answer with shapes that the same function had, whatever `own` was: found in memory
 * or on disk, never made. NULL: there is none. */
const struct checker_answer *checker_known(struct checker *c,
                                           const struct checker_question *q);
struct str checker_json(const struct checker_answer *a); /* until dropped */
uint32_t checker_errors(const struct checker_answer *a); /* not the warnings */
void checker_drop(const struct checker_answer *a);       /* NULL is fine */
static inline void checker_drop_at(const struct checker_answer **a)
{
    checker_drop(*a);
}
#define scoped_checked __attribute__((cleanup(checker_drop_at)))
