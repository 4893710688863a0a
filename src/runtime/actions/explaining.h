/* actions/explaining.h - what the linter says of a run that failed, and what it is told of
 * the names that one call finds besides the API.
 *
 * Private to the room actions.
 */
#pragma once
#include "actions/internal.h"

#define OWN_NAMES_MAX ((size_t)1 << 20)

/* Names that the code finds besides the API: an object with them as its keys; NULL: none. */
const struct json *known_names(const struct action_call *c);
/* The same for lint_check(), with the families of names that the code uses (NULL: with all).
 * `unsure`: a context may bring more. Best effort. */
void put_own_names(const struct action_call *c, const struct str *code, bool unsure,
                   struct buf *out);

/* After a run that failed, as its places still are those of q->code: fills v->explained.
 * Best effort. */
void check_explains(const struct action_call *c, struct evaluation *v,
                    const struct script_request *q, const struct script_outcome *o);
/* The same for TypeScript that cannot be read. */
void check_explains_syntax(const struct action_call *c, struct evaluation *v,
                           const struct script_outcome *o);
