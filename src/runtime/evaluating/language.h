/* evaluating/language.h - runs code in the language that the call names. Private. */
#pragma once
#include "script/script.h"

struct action_call;
struct typescript_code;
struct typescript_place;

/* script_run() for JavaScript and TypeScript. A syntax error is an outcome in both; false
 * and *e also as typescript_transpile(). */
bool language_run(const struct action_call *c, struct script *script,
                  struct script_request *q, struct script_outcome *o, struct err *e);

bool language_is_typescript(const struct action_call *c);
/* Transpiles the call's TypeScript `source`. NULL and *e as typescript_transpile(). The
 * caller drops it. */
const struct typescript_code *language_translate(const struct action_call *c,
                                                 struct str source, uint64_t until_ns,
                                                 struct typescript_place *where,
                                                 struct err *e);
/* The source map; borrows both. */
struct script_origin language_origin(const struct typescript_code *code,
                                     struct str source);
