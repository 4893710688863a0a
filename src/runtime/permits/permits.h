/* permits/permits.h - a person's word, before anything is done. Questions of all kinds (a
 * tool, a machine's command, a call that the policy's confirm names) go this one way.
 *
 * Where the client can show questions (elicitation), and the policy's tools.askClient
 * lets it, it shows this one; elsewhere an entry waits at the terminal and on the page
 * (approvals), for tools.askSeconds, and the same call made again within ten minutes
 * finds a later word. Every outcome is recorded (the event "approval"). Whoever has to
 * wait without a thread asks before anything is done, so that a call can be made anew:
 * the asking returns with `waits` set, the call is put off, and made from its beginning
 * once consent_is_there(); then the same asking has its answer. Threads: each question
 * belongs to its call. */
#pragma once
#include "crypto/crypto.h"
#include "notes/notes.h"

struct actions;
struct approval_ticket;
struct approval_word;
struct caller;
struct client;
struct consent;
struct evaluation;
struct permit_need;
struct place;
struct script_task;

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

/* What a call would change, found out before anybody is asked. */
struct confirm_changes {
    struct str lines;   /* a JSON array of texts, the most important first */
    const char *digest; /* of what names and versions it was resolved to */
};

/* Asks a person, where the policy wants that, before `call` is made with these arguments
 * (an object, or an array of them). `changes`: NULL where nothing is known. false and *e:
 * as ask_person(). */
bool confirm_call(const struct ask_by *by, const struct permit_need *call,
                  const struct json *arguments, const struct confirm_changes *changes,
                  struct err *e);

#define CONSENT_DIGEST 80u

struct consent {
    struct evaluation *v;
    struct script_task *task;
    bool waits;
    bool awaits;                   /* evaluation_awaits() */
    char digest[CONSENT_DIGEST];   /* of what is asked */
    struct approval_ticket *entry; /* at the terminal, or on the page */
    void *asked;                   /* in the client's own window */
    const struct client *client, *carrier;
};

/* Is it time to make the call anew? Else look again at *look_ns, or when woken. */
bool consent_is_there(struct consent *w, uint64_t *look_ns);
/* Nobody wants it any more, or it was had. */
void consent_drop(struct consent *w);

struct preview {
    struct vault_review of; /* for place_view() */
    struct buf lines;
    struct confirm_changes changes;
};

/* It looks, until preview_end_look(). */
struct preview *preview_new(void);
void preview_free(struct preview *r); /* NULL is fine */
SCOPED(preview, preview_free);
/* The call was made, to look (`ok`: what it answered, `why` of a failure). From now on the
 * review compares. *asks: something would be changed, and r->changes tells what. false and
 * *e: the call would fail, and nobody is to be asked. */
bool preview_end_look(struct preview *r, bool ok, const struct err *why, bool *asks,
                      struct err *e);

struct resolved {
    struct buf lines; /* an array of texts; empty: nothing is known */
    char digest[CRYPTO_HASH_HEX];
    struct confirm_changes changes; /* these two */
};
void resolved_init(struct resolved *r);
void resolved_done(struct resolved *r);
#define scoped_resolved __attribute__((cleanup(resolved_done)))

/* Ends the array that `w` writes to r->lines. */
bool resolved_end(struct resolved *r, struct json_writer *w, struct err *e);
/* The same again, after the word. false and ERR_CONFLICT: it is another one by now. */
bool resolved_holds(const struct resolved *before, const struct resolved *now,
                    struct err *e);
