/* evaluating/limits.h - limits and losses of a caller's code.
 *
 * Private to the room; evaluate.c has them. */
#pragma once
#include "base/base.h"

struct action_call;
struct evaluation;
struct script_outcome;

/* The argument `code`. false and ERR_LIMIT. */
bool limit_code(const struct action_call *c, struct str *code, struct err *e);
/* The largest result that may be kept aside without exceeding the memory limit. */
size_t limit_result(uint64_t memory_bytes);
/* Sets v->advice.command, if the code ignores the command's failure. */
void notice_failed_command(struct evaluation *v, struct str code);
/* Adds notices about parts of the result that JSON cannot represent. */
void notice_losses(struct evaluation *v, const struct script_outcome *o);
