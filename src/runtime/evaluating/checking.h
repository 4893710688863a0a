/* evaluating/checking.h - type checks of code by TypeScript's own checker. Private to the
 * room. */
#pragma once
#include "base/base.h"

struct action_call;
struct answer;
struct checker_answer;
struct json_writer;
struct lint_findings;

/* Checks the evaluation that the arguments describe: `code`, `language`, `context`,
 * `session`, `enableNetwork`, `enableFileSystem`. NULL and *e as checker_check(). */
const struct checker_answer *checking_code(const struct action_call *c, struct err *e);
/* evaluate_note_code with typesOnly: an answer in the shape of evaluations, with
 * `diagnostics`; nothing runs. */
bool action_types_only(const struct action_call *c, struct answer *out, struct err *e);
/* Writes pairs of the open object, for check_code: "types": [...] and "typeErrors"
 * (*errors), or "typesUnchecked": the reason. Findings in JavaScript are warnings. A
 * finding of checker and linter is written once: as the checker's error where the linter
 * only warns (that warning is removed from `found`), else as the linter's finding, which
 * has advice. */
void checking_write(const struct action_call *c, struct lint_findings *found,
                    struct json_writer *w, uint32_t *errors);
