/* performing/performing.h - how a host call is performed: permitted, confirmed, made,
 * made again where it was busy, accounted for; for code, and for whoever has none. A
 * calling is its caller's until the function returns, or moves where it waits. Failures
 * are those of the row, ERR_DENIED, ERR_BUSY and ERR_CANCELLED. Threads: a calling
 * belongs to one at a time. */
#pragma once
#include "calls/calls.h"
#include "effect/effect.h"
#include "permits/permits.h"
#include "place/place.h"
#include "script/script.h"

/* A row of host calls ("notes.get") that somebody makes in one vault without code: under
 * the same permissions as code would, and one record in the audit for all. */
struct work;
/* A caller within a script's call (guard.h) adds to that call's record. `vault`: its id;
 * empty: the caller's own. `what` is told to the audit ("GET
 * /workspaces/{id}/notes"), a constant. NULL and *e: ERR_NOT_FOUND (no such vault, or not
 * the caller's to know of), ERR_DENIED, ERR_NO_VAULT; recorded then. */
struct work *work_begin(struct actions *a, const struct caller *who, struct str vault,
                        const char *what, struct err *e);
/* Calls `name`, which must be one of the table, with `args`, a JSON array as text; its
 * answer, JSON text, is appended to `out`. false and *e as the call says. */
bool work_call(struct work *w, const char *name, struct str args, struct buf *out,
               struct err *e);
/* Did the last call fail because it meant another version of a note, or none? */
bool work_was_stale(const struct work *w), work_was_unguarded(const struct work *w);
/* Appends a text that is another one when any note of its vault was changed since. */
bool work_version(struct work *w, struct buf *out, struct err *e);
/* Appends what is to be told of its calls that found nothing, because they name a type that
 * no note has; of work within a script the script's answer tells. */
void work_told(const struct work *w, struct buf *out);
/* The id of its vault; good until work_end(). */
const char *work_vault(const struct work *w);
/* Which of the vault's records are read; what is empty does not matter. */
#define AUDIT_READ_USUAL 100
#define AUDIT_READ_MAX 1000
struct audit_filter {
    struct str action, caller, result;
    struct str since, until; /* from the one on, before the other: "2026-01-31T12:..." */
    struct str before;       /* the "mac" of a record that was read: those before it */
    size_t limit;            /* 0: AUDIT_READ_USUAL; at most AUDIT_READ_MAX */
    char *next; /* 72 bytes, or NULL: the last one's mac where there may be more, or "" */
};

/* Appends what was done in its vault, a JSON array of records as docs/auditing.md has
 * them, the newest first; "workspace" is its id. ERR_DENIED: not for this caller (a
 * credential without SCOPE_AUDIT, a level below full, code). ERR_INVALID. */
bool work_audit(struct work *w, const struct audit_filter *f, struct buf *out,
                struct err *e);
/* Ends and records it; `why`: what it failed of, or NULL. */
void work_end(struct work *w, const struct err *why);
/* Its vault is one of those whose changes actions_watch() tells of: nothing that changes
 * once this has returned is missed. */
void work_follow(struct work *w);
/* The number by which a caller's `vault` means the vault of this id; 0 and ERR_NOT_FOUND
 * (none, or not the caller's to know of). */
unsigned actions_vault_number(struct actions *a, const struct caller *who, struct str id,
                              struct err *e);
/* actions_vault() for a call that reads, and ends with its caller or with the evaluation. The
 * caller of this ends it with vault_close(). NULL and ERR_NO_VAULT. Threads: safe. */
struct vault *read_vault(struct calling *x, struct err *e);
/* The same for a call that writes or matches patterns: the history then names the caller,
 * patterns end with the call, and it is reviewed where a person was asked for it
 * (permits.h). The caller of this ends it with vault_close(). */
struct vault *own_vault(struct calling *x, struct err *e);

/* One host call on its way. Those that may wait begin it by a function of their own, which
 * calls calling_wait() and returns, and go on in `again`, on another thread. */
struct calling {
    struct evaluation *v;
    const struct host_call *c;
    struct script_task *task; /* NULL: it has to answer when its function returns */
    const struct json *args;  /* until its end */
    void *state;              /* of its functions */

    /* calling.c's own. */
    uint32_t row;
    struct str asked;   /* its arguments as they came, until its end */
    struct place *here; /* where it was permitted */
    struct arena *arena;
    struct outcome outcome; /* what it did */
    uint64_t begun_ns, until_ns, patient_ns;
    unsigned attempt;
    struct err busy;           /* of the last attempt */
    struct consent consent;    /* a person's, that it waits for */
    struct preview *preview;   /* what he was shown; NULL: nothing */
    struct resolved *resolved; /* the vault that it names (permits.h); NULL: none */
    bool (*again)(struct calling *x, struct buf *out, struct err *e);
    bool (*then)(struct calling *x, struct buf *out, struct err *e);
    enum script_wait_kind kind;
    bool waits, inside, kept;
    bool within; /* code of a custom function makes it */
    bool made;   /* else it was not permitted */
};

/* As script_wait(). `x` may be another when `again` is called; what wakes it knows its
 * task. Not where there is no task. */
void calling_wait(struct calling *x, calling_fn *again, enum script_wait_kind kind,
                  uint64_t until_ns);
/* Does nobody want its answer any more? Then `again` has to end it. */
bool calling_over(const struct calling *x);
/* For whoever asks a person before anything is done; the call is made anew when the word
 * is there. NULL: it has to block. */
struct consent *calling_consent(struct calling *x);
/* Fired then. One call alone registers with it. */
struct cancel *calling_cancel(struct calling *x);
/* It needs nothing of the vault any more: others may go to another one while it waits. */
void calling_leave_vault(struct calling *x);
script_perform_fn host_perform;
/* Whose it is: its own, or the script's. */
struct evaluation *work_evaluation(const struct work *w);
