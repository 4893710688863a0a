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

bool language_is_python(const struct action_call *c);
/* The guest that runs the call's code. NULL and *e as services_script(), services_python(). */
struct script *language_guest(const struct action_call *c, struct err *e);
/* script_run() of Python. */
bool python_run(const struct action_call *c, struct script *script,
                struct script_request *q, struct script_outcome *o, struct err *e);
struct lint_findings;
/* The findings in Python code, as lint_check() has those of JavaScript. */
bool python_check(const struct action_call *c, struct str code,
                  struct lint_findings *found, struct err *e);
struct json;
/* Appends a declaration of each of `context`'s values, a line each, as TypeScript's checker or
 * Python's reads it: of types, not of the values, which may be secret. (context.c) */
void context_put_types(const struct json *context, bool is_python, struct buf *out);
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
