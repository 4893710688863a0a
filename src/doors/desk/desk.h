/* desk/desk.h - where a person decides: what tools may do, and what waits for a word.
 *
 * The same deeds for the terminal and for the page that `cloche serve` shows, each
 * recorded. The page is a person's alone: it is opened by a link that is good once, made
 * by a process of the user, then held by a cookie of the browser and a key that the page asks
 * for; both are needed. Neither tokens nor anything that an agent can send reach it: it is
 * served to browsers of this machine alone, and evaluated code cannot come here (egress).
 *
 * Threads: safe.
 */
#pragma once
#include "access/access.h"
#include "approvals/approvals.h"
#include "base/base.h"
#include "catalogue/catalogue.h"
#include "guard/guard.h"
#include "http/http.h"

/* ---- deciding -------------------------------------------------------------- */

/* Says a person's word of what waits; `always` is written into the user's policy. `by`:
 * "terminal", "page"; `reason`: why it is denied, for the agent, or empty. false and *e as approvals_decide(); where the word was said and only
 * the policy could not be written, or what was proposed not be installed in `c` (which may
 * be NULL: nothing can), *e tells so. `watch`: over that; may be NULL. */
bool desk_decide(struct guard *g, struct approvals *a, struct catalogue *c,
                 const struct tool_watch *watch, struct str id, bool allow,
                 enum approval_memory memory, struct str reason, const char *by,
                 struct err *e);
/* Puts other arguments in place of those that wait; the call then asks anew, with what these would
 * change. false and *e as approvals_edit(). */
bool desk_edit(struct guard *g, struct approvals *a, struct str id,
               const struct json *arguments, const char *by, struct err *e);
/* Sets a tool's permission in the user's policy, or in that of the ward's vault;
 * PERMISSION_USUAL takes it out. ERR_INVALID: no name of a tool. */
bool desk_permit(struct ward *w, bool in_vault, const char *tool, enum permission p,
                 const char *by, struct err *e);

/* ---- tools ------------------------------------------------------------------ */

/* Records a change of a tool in the ward's trail: name, version and signer of `t`.
 * `vault`: for this one alone, or NULL; `sha256`: of its package, or NULL. */
bool desk_record_tool(struct ward *w, const char *event, const struct tool *t,
                      const char *vault, const char *sha256, const char *by,
                      struct err *e);
/* tool_install(), recorded. false and *e also where it is installed, but could not be
 * recorded; *e tells so. */
bool desk_install(struct ward *w, struct catalogue *c, const struct tool_package *p,
                  const char *vault, enum tool_replace replace,
                  const struct tool_watch *watch, const char *by, struct err *e);

/* ---- tokens ----------------------------------------------------------------- */

/* token_create() and token_revoke(), recorded. false and *e also where it could not be recorded:
 * then there is no token. `text` is told it this once. */
bool desk_token_create(struct guard *g, const struct token_wish *t, const char *by,
                       char text[static TOKEN_TEXT], struct err *e);
bool desk_token_revoke(struct guard *g, const char *which, const char *by, struct err *e);

/* ---- links ------------------------------------------------------------------ */

#define DESK_LINK_S 600u /* for how long one is good, and for one use */
#define DESK_SEAT_S \
    2592000u               /* for how long a browser that came by it may stay: 30 days */
#define DESK_SEATS_MAX 16u /* browsers of one user; the oldest makes room */
#define DESK_LINK_MAX 300u /* bytes, with the NUL */

/* Makes a link to the page of the server at `url`; NULL: the one that was started last.
 * ERR_NOT_FOUND: none runs. */
bool desk_link(const char *url, char out[static DESK_LINK_MAX], struct err *e);

/* ---- the page ---------------------------------------------------------------- */

#define DESK_PATH "/person"

struct desk;
struct actions;
struct desk_options { /* all borrowed */
    struct guard *guard;
    struct approvals *approvals;
    struct catalogue *catalogue; /* NULL: the page shows no tools */
    struct actions *actions;
};
struct desk *desk_open(const struct desk_options *o, struct err *e);
void desk_close(struct desk *d); /* NULL is fine; its server is closed */
SCOPED(desk, desk_close);

/* The paths of its routes but "/": for each no token is asked for, nor any let in by one.
 * Ends with NULL. */
extern const char *const desk_paths[];
#define DESK_ROUTES 15u
/* The routes for an HTTP server: views, their files, and DESK_PATH with all below. */
size_t desk_routes(struct desk *d, struct http_route out[static DESK_ROUTES]);
/* The server is there: links lead to it from now on, until desk_close(). */
void desk_listens(struct desk *d, const char *url);
