/* actions/ask.h - asks a person whether something may be done. Questions of all kinds (a
 * tool, a machine's command, a call that the policy's confirm names) go this one way.
 *
 * Where the client can show questions (elicitation), and the policy's tools.askClient lets
 * it, it shows this one; elsewhere an entry waits at the terminal and on the page
 * (approvals), for tools.askSeconds, and the same call made again within ten minutes finds
 * a later word. Every outcome is recorded (the event "approval").
 * Private to actions.
 */
#pragma once
#include "actions/internal.h"
#include "approvals/approvals.h"
#include "crypto/crypto.h"

/* Who asks, and how it can wait. */
struct ask_by {
    struct actions *actions;
    const struct place *place;
    const struct caller *who;
    struct evaluation *evaluation; /* whose code asks; NULL: a plain call, which can be */
                                   /* run again from its beginning (client_ask) */
    struct consent *consent;       /* how it waits without a thread; NULL: it blocks */
};

struct ask {
    const char *kind;         /* "run", "machine", "call" */
    const char *what, *verb;  /* "jq", "be run": the question is "May jq be run?" */
    const char *undone;       /* "nothing ran" */
    const char *const *names; /* what it is asked for: of tools, or of calls */
    size_t count;
    struct str shown;   /* as in struct approval_wish */
    struct str told;    /* what the client's own window shows instead; empty: `shown` */
    const char *digest; /* of the exact request, with all that it was resolved to */
    bool session;       /* may be allowed for a session */
    bool always;        /* the user's word would hold for always, and can be kept */
};

/* true: allowed, for as long as word->memory says, by word->by. What a person takes to answer is no time of the
 * evaluation's. false and *e: ERR_DENIED ("Permission denied: ...": no, or no word, or too
 * large to be shown), ERR_BUSY, ERR_CANCELLED, ERR_TIMEOUT, or ERR_INPUT, on which a plain
 * call returns at once. false with consent->waits: the call is to be made anew. */
bool ask_person(const struct ask_by *by, const struct ask *a, struct approval_word *word,
                struct err *e);
/* That `shown` did not fit in APPROVAL_SHOWN_MAX. Answers false. */
bool ask_too_large(const char *undone, struct err *e);
