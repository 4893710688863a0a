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
#include "catalogue/catalogue.h"
#include "guard/guard.h"

/* ---- deciding -------------------------------------------------------------- */

/* Says a person's word of what waits; `always` is written into the user's policy. `by`:
 * "terminal", "page". false and *e as approvals_decide(); where the word was said and only
 * the policy could not be written, or what was proposed not be installed in `c` (which may
 * be NULL: nothing can), *e tells so. `watch`: over that; may be NULL. */
bool desk_decide(struct guard *g, struct approvals *a, struct catalogue *c,
                 const struct tool_watch *watch, struct str id, bool allow,
                 enum approval_memory memory, const char *by, struct err *e);
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

/* ---- links ------------------------------------------------------------------ */

#define DESK_LINK_S 600u   /* for how long one is good, and for one use */
#define DESK_SEAT_S 43200u /* for how long who came by it may stay */
#define DESK_SEATS_MAX 8u  /* of one server; the oldest makes room */
#define DESK_LINK_MAX 300u /* bytes, with the NUL */

/* Makes a link to the page of the server at `url`; NULL: the one that was started last.
 * ERR_NOT_FOUND: none runs. */
bool desk_link(const char *url, char out[static DESK_LINK_MAX], struct err *e);

/* ---- the page ---------------------------------------------------------------- */

#define DESK_PATH "/person"

struct desk;
struct desk_options { /* all borrowed */
    struct guard *guard;
    struct approvals *approvals;
    struct catalogue *catalogue; /* NULL: the page shows no tools */
};
struct desk *desk_open(const struct desk_options *o, struct err *e);
void desk_close(struct desk *d); /* NULL is fine; its server is closed */
SCOPED(desk, desk_close);
struct http_route;
/* "/", which leads to the page. */
struct http_route desk_root_route(void);
/* The route for an HTTP server, DESK_PATH and all below. */
struct http_route desk_route(struct desk *d);
/* The server is there: links lead to it from now on, until desk_close(). */
void desk_listens(struct desk *d, const char *url);
