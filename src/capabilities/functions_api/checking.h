/* functions_api/checking.h - types of custom functions, held against their definitions.
 * Private to the room. */
#pragma once
#include "base/base.h"

struct action_call;
struct actions;
struct checker_answer;
struct findings;
struct function;
struct function_set;
struct json_writer;
struct later;

/* Appends declarations of those custom functions that the code names; `all` may be NULL. */
void checking_put_functions(const struct function_set *all, struct str code,
                            struct buf *out);
/* What the checker says of `fn`, one of `among` (NULL: the only one); its JSON has the
 * shapes of its parameters. Kept: costs less than a millisecond the next time. NULL and *e
 * as checker_check(). */
const struct checker_answer *checking_function(struct actions *a,
                                               const struct function *fn,
                                               const struct function_set *among,
                                               struct cancel *cancel, struct err *e);
/* Writes the shapes of its parameters, as the last check of the same function found them:
 * nothing is checked now. false: there are none, and nothing was written. Where the program
 * is a server, they are then made in the background, once (function_later.c). */
bool checking_put_shapes(struct actions *a, const struct function *fn,
                         const struct function_set *among, struct json_writer *out);
/* What checks in the background: its thread starts with the first, and only in servers. */
struct later *later_new(struct actions *a);
void later_free(struct later *l); /* stops what it does */

/* Takes a hold of `among`, of which fn is one; drops it where enough are waiting. */
void later_check(struct later *l, const struct function *fn,
                 const struct function_set *among);
/* The same as findings, where `own` declares what its code finds as customFunctions; where
 * there is no checker, a warning TYPES_UNCHECKED. false and *e: it could not be asked. */
bool checking_find(const struct action_call *c, const struct function *fn, struct str own,
                   struct findings *out, struct err *e);
