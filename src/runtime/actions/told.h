/* actions/told.h - what an evaluation is warned of by its run, besides what the linter says of
 * its code.
 *
 * Private to the room actions.
 */
#pragma once
#include "actions/internal.h"
#include "effect/effect.h"

#define TOLD_MAX ((size_t)8 << 10) /* bytes of what one evaluation is told */

/* Appends {rule, severity: "warning", message, suggestion?} to `all`, the inside of a JSON
 * array: each once, and only as far as there is room. `suggestion` may be empty. */
void told_put(struct buf *all, const char *rule, struct str message,
              struct str suggestion);
/* The same of a run: to v->told. Threads: safe. */
void told_add(struct evaluation *v, const char *rule, struct str message,
              struct str suggestion);
/* Such as told_put() has made. */
void told_rows(struct evaluation *v, struct str rows);
