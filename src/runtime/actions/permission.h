/* actions/permission.h - may a command-line tool, or a command in a Linux machine, be run,
 * and whose word was it?
 *
 * By guard's policy; where that says "ask", by a person: through the client's own window
 * (elicitation) where it has one, else by an entry that waits at the terminal and on the
 * page (approvals). Every word is recorded in the vault's trail. Private to actions.
 * Source: docs/tools.md, "Permissions".
 */
#pragma once
#include "actions/internal.h"
#include "catalogue/catalogue.h"
#include "tools/tools.h"

struct tool_wish {
    const struct tool *const *tools; /* one, or the stages of a pipeline */
    size_t count;
    const struct json *request;      /* all that the call says: shown whole */
    const struct tool_stage *stages; /* the same, for tools_check() */
    const char *machine; /* the call of the Linux machine, which stands for itself as one
                          * tool; NULL: it is none */
    bool sees;  /* they are shown mounts, as far as each may; else no files at all */
    bool vault; /* the vault is one of these */
};

/* Who wants to run them, and where. */
struct tool_asker {
    struct actions *actions;
    const struct place *place;
    const struct caller *who;
    struct account *account;
    struct evaluation *evaluation; /* whose code asks; NULL: a plain call, which can be */
                                   /* run again from its beginning (client_ask) */
    struct consent *consent;       /* how it waits without a thread; NULL: it blocks */
};

/* Asks for all that the policy does not simply allow, once for all stages; nothing may
 * have run before. What a person takes to answer is no time of the evaluation's, and no
 * worker's. false with consent->waits: the call is to be made anew (consent.h). false and ERR_DENIED ("Permission denied: ..."), ERR_BUSY, ERR_CANCELLED, or
 * ERR_INPUT, on which a plain call returns at once. In a dry run nobody is asked: what
 * would take a person's word is ERR_DENIED. */
bool tools_permitted(const struct tool_asker *who, const struct tool_wish *wish,
                     struct err *e);
/* What guard is told of a tool, where a call shows it all that it may see. */
struct permit_tool tool_facts(const struct tool *t);

/* ---- what a person allowed for a session (granted.c) ----------------------- */

#define GRANTED_MAX 1024u /* of all sessions; the oldest makes room */

struct granted;
struct granted *granted_new(void);
void granted_free(struct granted *g);
struct granted *tooling_granted(struct actions *a); /* that of all calls */
/* Threads: safe. `session`, `vault`: never NULL. `files`: it is shown files; what was
 * allowed without is not allowed with them. */
bool granted_has(struct granted *g, const char *session, const char *vault,
                 const struct tool *t, bool files);
void granted_add(struct granted *g, const char *session, const char *vault,
                 const struct tool *t, bool files);
