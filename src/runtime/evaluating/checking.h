/* evaluating/checking.h - types of code, as TypeScript's own checker sees them. Private
 * to the room. */
#pragma once
#include "base/base.h"

struct action_call;
struct answer;
struct checker_answer;
struct json_writer;
struct lint_findings;

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
