/* evaluating/limits.h - what code that a caller brings may ask for, and leave behind.
 *
 * Private to the room; evaluate.c has them.
 */
#pragma once
#include "base/base.h"

struct action_call;
struct evaluation;
struct script_outcome;

/* The argument `code`; ERR_LIMIT. */
bool limit_code(const struct action_call *c, struct str *code, struct err *e);
/* As much of a result as may be put aside, and does not make memory the limit that is
 * hit. */
size_t limit_result(uint64_t memory_bytes);
/* v->advice.command, where the code looks at nothing that would show it. */
void told_failure(struct evaluation *v, struct str code);
/* What the result holds that JSON has no word for. */
void told_losses(struct evaluation *v, const struct script_outcome *o);
