/* actions/language.h - evaluating code in the language that the call says. Private. */
#pragma once
#include "actions/internal.h"

/* script_run() for JavaScript and TypeScript. Code that is no TypeScript is an outcome,
 * as code that is no JavaScript; false and *e also as typescript_transpile(). */
bool language_run(const struct action_call *c, struct script *script,
                  struct script_request *q, struct script_outcome *o, struct err *e);
