/* evaluating/explaining.h - the linter's explanation of a failed run, and the names
 * besides the API that a call's code may use, as the linter gets them.
 *
 * Private to the room. */
#pragma once
#include "base/base.h"

struct action_call;
struct evaluation;
struct json;
struct script_outcome;

#define OWN_NAMES_MAX ((size_t)1 << 20)
/* An object whose keys are the names besides the API; NULL: none. */
const struct json *known_names(const struct action_call *c);
/* The same for lint_check(), with the families of names that the code uses (`code` NULL:
 * all). `unsure`: a context may add more. Best effort. */
void put_own_names(const struct action_call *c, const struct str *code, bool unsure,
                   struct buf *out);
/* As check_explains(), for TypeScript that cannot be parsed. */
void check_explains_syntax(const struct action_call *c, struct evaluation *v,
                           const struct script_outcome *o);
