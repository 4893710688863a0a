/* actions/language.h - evaluating code in the language that the call says. Private. */
#pragma once
#include "actions/internal.h"

bool language_is_typescript(const struct action_call *c);
/* q->code, which is TypeScript, as JavaScript. NULL and *e as typescript_transpile(). */
const struct typescript_code *language_translate(const struct action_call *c,
                                                 const struct script_request *q,
                                                 struct typescript_place *where,
                                                 struct err *e);
/* Where that came from; as long as `code` is held. */
struct script_origin language_origin(const struct typescript_code *code,
                                     struct str source);

/* script_run() for JavaScript and TypeScript. Code that is no TypeScript is an outcome,
 * as code that is no JavaScript; false and *e also as typescript_transpile(). */
bool language_run(const struct action_call *c, struct script *script,
                  struct script_request *q, struct script_outcome *o, struct err *e);
