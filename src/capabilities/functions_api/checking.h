/* functions_api/checking.h - type checks of custom functions. Private to the room. */
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
/* The same for code in Python, as checker_question.functions has them: nothing where it
 * names none. */
void checking_define_functions(const struct function_set *all, struct str code,
                               struct buf *out);
/* What of `among` the code of `fn` names, for its language. */
void checking_put_known(const struct function *fn, const struct function_set *among,
                        struct buf *out);
/* The checker's answer on `fn`, one of `among` (NULL: the only one); its JSON includes
 * the shapes of the parameters. Cached: the next call takes less than a millisecond. NULL
 * and *e as checker_check(). */
const struct checker_answer *checking_function(struct actions *a,
                                               const struct function *fn,
                                               const struct function_set *among,
                                               struct cancel *cancel, struct err *e);
/* Writes the shapes of its parameters from the last check of the same function; checks
 * nothing. false: there are none, and nothing was written; a server then makes them in
 * the background, once (function_later.c). */
bool checking_put_shapes(struct actions *a, const struct function *fn,
                         const struct function_set *among, struct json_writer *out);
/* Background checks: the thread starts with the first one, and only in servers. */
struct later *later_new(struct actions *a);
void later_free(struct later *l); /* stops the check under way */

/* Keeps a reference to `among`, which contains fn; does nothing if enough are queued. */
void later_check(struct later *l, const struct function *fn,
                 const struct function_set *among);
/* The same as findings: errors, and for Python, which leaves types open, warnings unless
 * `strict`. `own` declares, or for Python defines, what its code finds as customFunctions.
 * Without a checker: the warning TYPES_UNCHECKED. false and *e: the checker failed. */
bool checking_find(const struct action_call *c, const struct function *fn, struct str own,
                   bool strict, struct findings *out, struct err *e);
