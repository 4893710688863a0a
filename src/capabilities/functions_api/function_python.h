/* functions_api/function_python.h - definitions of custom functions in Python: what their
 * code says of them. Threads: safe. Private to the room. */
#pragma once
#include "capability/capability.h"

struct findings;
struct function;
struct json;

/* Whether the definition is of a function in Python. */
bool python_is(const struct json *definition);
/* What code says of its function `name` (empty: its first public one), in the call's arena:
 *   {"findings", "uses", "complexity", "binding"} as lint_review(), and unless it cannot be
 *   parsed or has no such function {"name", "description", "parameters", "returnType",
 *   "others": [names of its other public functions]}.
 * NULL and *e: ERR_NOT_FOUND (this Python was not built), ERR_BUSY, ERR_CANCELLED, ERR_LIMIT;
 * or the code was too much for its check: ERR_TIMEOUT, ERR_MEMORY, ERR_STACK, ERR_GUEST. */
const struct json *python_describe(const struct action_call *c, struct str code,
                                   struct str name, struct err *e);
/* The definition with what its code says: name, description, returnType, and parameters,
 * whose members that are given are kept. In the call's arena. A definition that is not of
 * Python is returned as it is; so is one whose code says nothing, with errors in `found`. `was`: the function that it changes, with
 * `definition` the changes; NULL: none. NULL and *e as python_describe(). */
const struct json *python_complete(const struct action_call *c,
                                   const struct json *definition,
                                   const struct function *was, struct findings *found,
                                   struct err *e);
