/* evaluating/explaining.h - what the linter says of a run that failed, and what it is
 * told of the names that one call finds besides the API.
 *
 * Private to the room. */
#pragma once
#include "base/base.h"

struct action_call;
struct evaluation;
struct json;
struct script_outcome;

#define OWN_NAMES_MAX ((size_t)1 << 20)
/* Names that the code finds besides the API: an object with them as its keys; NULL: none. */
const struct json *known_names(const struct action_call *c);
/* The same for lint_check(), with the families of names that the code uses (NULL: with all).
 * `unsure`: a context may bring more. Best effort. */
void put_own_names(const struct action_call *c, const struct str *code, bool unsure,
                   struct buf *out);
/* The same for TypeScript that cannot be read. */
void check_explains_syntax(const struct action_call *c, struct evaluation *v,
                           const struct script_outcome *o);
