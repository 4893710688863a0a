/* validity/validity.h - is the definition of a custom function sound, and what hangs on
 * what: all that can be told without parsing or running code.
 *
 * Everything wrong is told at once, each with the field it stands in and what would be
 * accepted.
 * Source: seed 001, "Function Definition Validation"; docs/functions.md.
 * Threads: safe.
 */
#pragma once
#include "functions/functions.h"
#include "spelling/spelling.h"

/* Checks a definition that function_read() took: name, parameters, defaults, types' texts,
 * tags, examples. `taken`: names of
 * the API. One of `among` (may be NULL) with its name is an error, unless it is its own
 * last version (the same id). */
void function_validate(const struct function *fn, const struct function_set *among,
                       const struct name_words *taken, struct findings *out);

/* ---- who calls whom -------------------------------------------------------- */

/* A name that a function's code calls, each once, and its first place. */
struct function_use {
    struct str name;
    uint32_t line, column;
};
struct function_uses {
    const struct function_use *at;
    size_t count;
    bool dynamic; /* and what only a run can tell */
};

/* May its code call `name` (empty: any)? false is certain. */
bool function_may_call(const struct function *fn, struct str name);
/* As code finds it: by name alone. NULL: there is none. */
const struct function *function_found(const struct function_set *s, struct str name);
/* An error for each that it calls and that is not there, with the nearest names. */
void function_missing(const struct function *fn, const struct function_uses *uses,
                      const struct function_set *among, struct findings *out);

/* A warning where calls lead from `fn` back to it by way of others: "a -> b -> a". `uses`
 * tells of each function on the way (at most 64 in a row, 500 in all); what it answers
 * stays until the end. NULL and *e ends it. */
typedef const struct function_uses *function_uses_fn(void *arg, const struct function *fn,
                                                     struct err *e);
bool function_circles(const struct function *fn, const struct function_set *among,
                      function_uses_fn *uses, void *arg, struct findings *out,
                      struct err *e);
