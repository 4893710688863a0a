/* permits/permits.h - a user's decision before a call has any effect. Questions of all
 * kinds (a tool, a machine's command, a call that the policy's confirm names) take this
 * way.
 *
 * Where the client can show questions (elicitation), and the policy's tools.askClient
 * allows it, the client shows it. Otherwise an entry waits at the terminal and on the
 * page (approvals) for tools.askSeconds; the same call repeated within ten minutes finds
 * a later decision. Every outcome is recorded (the event "approval"). A call that has to
 * wait without a thread asks before it has any effect, so that it can be repeated: the
 * question returns with `waits` set, the call is put off, and is made from its beginning
 * once consent_is_there(); then the same question returns the decision. Threads: a
 * question belongs to its call. */
#pragma once
#include "crypto/crypto.h"
#include "notes/notes.h"

struct actions;
struct approval_ticket;
struct approval_decision;
struct caller;
struct client;
struct consent;
struct evaluation;
struct permit_need;
struct place;
struct script_task;

/* A call whose arguments a person may edit. Editing allows nothing: ask_person() fails, and the call
 * is made again from its beginning with the edited arguments, which asks anew. */
struct ask_edit {
    const struct json *arguments; /* of the call, an object */
    char *
        edited; /* JSON text of what a person wants instead, to be free()d; NULL: nothing */
};

/* The call that asks, and how it can wait. */
struct ask_by {
    struct actions *actions;
    const struct place *place;
    const struct caller *who;
    struct evaluation *evaluation; /* whose code asks; NULL: a plain call, which can be */
                                   /* run again from its beginning (client_ask) */
    struct consent *consent;       /* to wait without a thread; NULL: it blocks */
    struct ask_edit *edit;         /* NULL: its arguments cannot be edited */
};

struct ask {
    const char *kind;         /* "run", "machine", "call" */
    const char *what, *verb;  /* "jq", "be run": the question is "May jq be run?" */
    const char *undone;       /* "nothing ran" */
    const char *const *names; /* the tools or calls that permission is asked for */
    size_t count;
    struct str shown;    /* as in struct approval_request */
    struct str redacted; /* without the disk's paths, for the client; empty: `shown` */
    const char *digest;  /* of the exact request, with all that it resolves to */
    bool session;        /* may be allowed for a session */
    bool always;         /* a permanent decision is possible, and can be stored */
};

/* true: allowed, as long as decision->memory says, by decision->by. The evaluation's time does
 * not include the wait. false and *e: ERR_DENIED ("Permission denied: ...": refused, no
 * decision, or too large to show), ERR_BUSY, ERR_CANCELLED, ERR_TIMEOUT, or ERR_INPUT, on
 * which a plain call returns at once. false with consent->waits: make the call again
 * later. */
bool ask_person(const struct ask_by *by, const struct ask *a,
                struct approval_decision *decision, struct err *e);
/* Sets the error that `shown` exceeds APPROVAL_SHOWN_MAX. Returns false. */
bool ask_too_large(const char *undone, struct err *e);

/* Texts in the order in which they were added. */
struct text_list {
    struct buf bytes; /* each with its size before it */
};
void text_list_add(struct text_list *l, struct str line); /* too many: bytes.failed */

/* The changes that a call would make, computed before a user is asked. */
struct confirm_changes {
    const struct text_list *lines; /* most important first; NULL: none are shown */
    const char *digest;            /* of the names and versions that it resolves to */
};

/* Asks a user, if the policy requires it, before `call` is made with these arguments (an
 * object, or an array of them). `changes`: NULL if unknown. false and *e: as
 * ask_person(). */
bool confirm_call(const struct ask_by *by, const struct permit_need *call,
                  const struct json *arguments, const struct confirm_changes *changes,
                  struct err *e);

#define CONSENT_DIGEST 80u

struct consent {
    struct evaluation *v;
    struct script_task *task;
    bool waits;
    bool awaits;                   /* evaluation_begin_wait() */
    char digest[CONSENT_DIGEST];   /* of the question */
    struct approval_ticket *entry; /* at the terminal or on the page */
    void *asked;                   /* in the client's own window */
    const struct client *client, *carrier;
};

/* Whether it is time to make the call again. Else look again at *look_ns, or when
 * woken. */
bool consent_is_there(struct consent *w, uint64_t *look_ns);
/* Withdraws the question, or frees the decision. */
void consent_drop(struct consent *w);

struct preview {
    struct vault_review of;        /* for place_view() */
    struct text_list lines, diffs; /* which notes; and what changes in them */
    struct confirm_changes changes;
};

/* A review that records changes, until preview_end_look(). */
struct preview *preview_new(void);
void preview_free(struct preview *r); /* NULL is fine */
SCOPED(preview, preview_free);
/* The preview run is over (`ok`: it returned; `why`: its error); from now on the review
 * compares. *asks: there would be changes, which r->changes has. false and *e: the call
 * would fail; no user is asked. */
bool preview_end_look(struct preview *r, bool ok, const struct err *why, bool *asks,
                      struct err *e);

struct resolved {
    struct text_list lines; /* empty: nothing is known */
    char digest[CRYPTO_HASH_HEX];
    struct confirm_changes changes; /* both of these */
};
void resolved_init(struct resolved *r);
void resolved_done(struct resolved *r);
#define scoped_resolved __attribute__((cleanup(resolved_done)))

/* All lines were added to r->lines. */
bool resolved_end(struct resolved *r, struct err *e);
/* Compares with a second resolution, later. false and ERR_CONFLICT: it differs. */
bool resolved_holds(const struct resolved *before, const struct resolved *now,
                    struct err *e);
