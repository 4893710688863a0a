/* actions/checking.h - types of code, as TypeScript's own checker sees them: the room
 * checker with what this program declares.
 *
 * Threads: safe. Private to the room actions.
 */
#pragma once
#include "actions/calls.h"
#include "checker/checker.h"
#include "lint/lint.h"

/* What the checker says of the evaluation that the arguments tell of: `code`, `language`,
 * `context`, `session`, `enableNetwork`, `enableFileSystem`. NULL and *e as
 * checker_check(). */
const struct checker_answer *checking_code(const struct action_call *c, struct err *e);
/* evaluate_note_code with typesOnly: answers in the shape of evaluations, with
 * `diagnostics`; nothing runs. */
bool action_types_only(const struct action_call *c, struct answer *out, struct err *e);
/* For check_code: "types": [...] and "typeErrors" (*errors), or "typesUnchecked": why; pairs
 * of the open object. What is found in JavaScript are warnings. What the linter has found,
 * too, is told once: a type error in the place of the linter's warning, which is taken out of
 * `found`; else the linter's finding, which has advice. */
void checking_write(const struct action_call *c, struct lint_findings *found,
                    struct json_writer *w, uint32_t *errors);

/* ---- custom functions (function_types.c) -------------------------------------- */

struct function;
struct function_set;
struct findings;

/* Bits of declarations: of those that all code finds, and of each feature. */
#define CHECKING_PARTS (1u + FEATURES)
#define CHECKING_ALL ((1u << CHECKING_PARTS) - 1)

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
struct later;
struct later *later_new(struct actions *a);
void later_free(struct later *l); /* stops what it does */
/* Takes a hold of `among`, of which fn is one; drops it where enough are waiting. */
void later_check(struct later *l, const struct function *fn,
                 const struct function_set *among);
/* The same as findings, where `own` declares what its code finds as customFunctions; where
 * there is no checker, a warning TYPES_UNCHECKED. false and *e: it could not be asked. */
bool checking_find(const struct action_call *c, const struct function *fn, struct str own,
                   struct findings *out, struct err *e);
