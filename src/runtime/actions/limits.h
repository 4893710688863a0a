/* actions/limits.h - what code that a caller brings may ask for, and leave behind.
 *
 * Private to the room actions; evaluate.c has them.
 */
#pragma once
#include "actions/internal.h"

#define LOGS_MAX ((size_t)64 << 10) /* bytes of all logs of one run */

/* A number of the arguments between `min` and its ceiling; without one the default, or
 * the ceiling where that is lower. false and ERR_INVALID. */
bool limit_read(const struct json *arguments, const char *key, int64_t min, int64_t usual,
                int64_t ceiling, const char *unit, uint64_t *out, struct err *e);
/* The argument `code`; ERR_LIMIT. */
bool limit_code(const struct action_call *c, struct str *code, struct err *e);
/* The argument `memoryLimit`, in bytes; ERR_INVALID. */
bool limit_memory(const struct action_call *c, uint64_t *bytes, struct err *e);
/* As much of a result as may be put aside, and does not make memory the limit that is
 * hit. */
size_t limit_result(uint64_t memory_bytes);

/* What is too large for an answer: its beginning is shown, and the whole is kept. */
void evaluation_put_aside(const struct action_call *c, struct evaluation *v,
                          struct script_outcome *o);
/* v->advice.command, where the code looks at nothing that would show it. */
void told_failure(struct evaluation *v, struct str code);
/* What the result holds that JSON has no word for. */
void told_losses(struct evaluation *v, const struct script_outcome *o);
/* It is decided: what is still on its way is not waited for. */
void evaluation_over(void *arg);
