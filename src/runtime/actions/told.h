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
/* A list or search is as long as its default limit: whoever gave none is told that there may
 * be more. `name`: what he knows it by; `options`: the call's; `found`: how many. Appends as told_put() does. */
void told_limit(const char *name, const struct host_call *c, const struct json *options,
                size_t found, struct buf *all);
/* A dry run that would change nothing, and why, where that is known. */
void told_dry(const char *call, const struct outcome *did, struct buf *all);
/* v->advice.command, where the code looks at nothing that would show it. */
void told_failure(struct evaluation *v, struct str code);
/* What the result holds that JSON has no word for. */
void told_losses(struct evaluation *v, const struct script_outcome *o);
