/* desk/desk.h - where a person decides: what tools may do, and what waits for a word.
 *
 * The same deeds for the terminal and for the page that `cloche serve` shows, each
 * recorded. The page is a person's alone: it is opened by a link that is good once, made
 * by a process of the user, then held by a cookie and a key that the page itself keeps;
 * both are needed. Neither tokens nor anything that an agent can send reach it: it is
 * served to browsers of this machine alone, and evaluated code cannot come here (egress).
 *
 * Threads: safe.
 */
#pragma once
#include "approvals/approvals.h"
#include "base/base.h"
#include "guard/guard.h"

/* ---- deciding -------------------------------------------------------------- */

/* Says a person's word of what waits; `always` is written into the user's policy. `by`:
 * "terminal", "page". false and *e as approvals_decide(); where the word was said and only
 * the policy could not be written, *e tells so. */
bool desk_decide(struct guard *g, struct approvals *a, struct str id, bool allow,
                 enum approval_memory memory, const char *by, struct err *e);
/* Sets a tool's permission in the user's policy, or in that of the ward's vault;
 * PERMISSION_USUAL takes it out. ERR_INVALID: no name of a tool. */
bool desk_permit(struct ward *w, bool in_vault, const char *tool, enum permission p,
                 const char *by, struct err *e);
