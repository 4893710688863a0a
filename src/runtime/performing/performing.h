/* performing/performing.h - performs a host call: permission, confirmation, the call,
 * retries while it is busy, accounting; for code and for callers without code. A struct
 * calling belongs to its caller until the function returns, and moves where it waits.
 * Errors are those of the row, ERR_DENIED, ERR_BUSY and ERR_CANCELLED. Threads: a calling
 * belongs to one at a time. */
#pragma once
#include "calls/calls.h"
#include "effect/effect.h"
#include "permits/permits.h"
#include "place/place.h"
#include "script/script.h"

/* A series of host calls ("notes.get") in one vault without code: under the same
 * permissions as code, and with one audit record for all. */
struct work;
/* Begins it. A caller within a script's call (caller/caller.h) adds to that call's record.
 * `vault`: an id; empty: the caller's own. `what` is a constant for the audit ("GET
 * /workspaces/{id}/notes"). NULL and *e: ERR_NOT_FOUND (no such vault, or hidden from the
 * caller), ERR_DENIED, ERR_NO_VAULT; the failure is recorded. */
struct work *work_begin(struct actions *a, const struct caller *who, struct str vault,
                        const char *what, struct err *e);
/* Calls `name`, which must be a row of the table, with `args`, a JSON array as text;
 * appends the answer, JSON text. false and *e as of the call. */
bool work_call(struct work *w, const char *name, struct str args, struct buf *out,
               struct err *e);
/* The same as a call of an evaluation, on this thread: with its rights, limits and record.
 * Threads: safe, as long as the evaluation lives. */
bool evaluation_call(struct evaluation *v, const char *name, struct str args,
                     struct buf *out, struct err *e);
/* Whether the last call failed because its content hash was outdated, or missing. */
bool work_was_stale(const struct work *w), work_was_unguarded(const struct work *w);
/* Appends a version that changes with every change of its vault's notes. */
bool work_version(struct work *w, struct buf *out, struct err *e);
/* Appends notices about calls that found nothing because they name a type that no note
 * has; within a script the script's answer has them. */
void work_notices(const struct work *w, struct buf *out);
/* The id of its vault; valid until work_end(). */
const char *work_vault(const struct work *w);
/* The id of the call in the history and in its record ("intent"); "" before its first
 * change, and within a script. Valid until work_end(). */
const char *work_id(const struct work *w);
/* Selects records of the vault; empty members select all. */
#define AUDIT_READ_USUAL 100
#define AUDIT_READ_MAX 1000
struct audit_filter {
    struct str action, caller, result;
    struct str since, until; /* from `since`, before `until`: "2026-01-31T12:..." */
    struct str before;       /* the "mac" of a record: only earlier ones */
    size_t limit;            /* 0: AUDIT_READ_USUAL; at most AUDIT_READ_MAX */
    char *next; /* 72 bytes, or NULL: the last one's mac where more may follow, or "" */
};

/* Appends the vault's audit records, a JSON array in the form of docs/auditing.md, newest
 * first; "workspace" is its id. ERR_DENIED: a credential without SCOPE_AUDIT, a level
 * below full, or code. ERR_INVALID. */
bool work_audit(struct work *w, const struct audit_filter *f, struct buf *out,
                struct err *e);
/* Ends and records it; `why`: its error, or NULL. */
void work_end(struct work *w, const struct err *why);
/* Adds its vault to those that actions_watch() reports, from the return on. */
void work_follow(struct work *w);
/* The vault number of this id for the caller; 0 and ERR_NOT_FOUND (none, or hidden from
 * the caller). */
unsigned work_vault_number(struct actions *a, const struct caller *who, struct str id,
                           struct err *e);
/* The current vault, for a call that reads; ends with its caller or with the evaluation.
 * The function that took it closes it with vault_close(). NULL and ERR_NO_VAULT. Threads:
 * safe. */
struct vault *read_vault(struct calling *x, struct err *e);
/* The same for a call that writes or matches patterns: the history names the caller,
 * patterns end with the call, and changes are compared with what a user approved
 * (permits/permits.h). The function that took it closes it with vault_close(). */
struct vault *own_vault(struct calling *x, struct err *e);

/* One host call under way. A call that may wait is begun by `begin`, which calls
 * calling_wait() and returns; it continues in `again`, on another thread. */
struct calling {
    struct evaluation *v;
    const struct host_call *c;
    struct script_task *task; /* NULL: it has to answer when its function returns */
    const struct json *args;  /* valid until its end */
    void *state;              /* for its functions */

    /* Private to calling.c. */
    uint32_t row;
    struct str asked;   /* its arguments as text, valid until its end */
    struct place *here; /* where it was permitted */
    struct arena *arena;
    struct outcome outcome; /* its effects */
    uint64_t begun_ns, until_ns, retry_until_ns;
    unsigned attempt;
    struct err busy;         /* of the last attempt */
    struct consent consent;  /* a user's decision that it waits for */
    struct preview *preview; /* what the user was shown; NULL: nothing */
    struct resolved
        *resolved; /* the vault that it names (permits/permits.h); NULL: none */
    bool (*again)(struct calling *x, struct buf *out, struct err *e);
    bool (*then)(struct calling *x, struct buf *out, struct err *e);
    enum script_wait_kind kind;
    bool waits, inside, kept;
    bool within;    /* called by a custom function */
    bool permitted; /* else it was not permitted */
};

/* As script_wait(). `x` may have moved when `again` is called; the one that wakes it
 * knows its task. Only where there is a task. */
void calling_wait(struct calling *x, calling_fn *again, enum script_wait_kind kind,
                  uint64_t until_ns);
/* Whether its answer is not needed any more; `again` then has to end it. */
bool calling_over(const struct calling *x);
/* For a call that asks a user before it has any effect; it is made again once the
 * decision is there. NULL: it has to block. */
struct consent *calling_consent(struct calling *x);
/* Fired when its answer is not needed any more. Only one party may register with it. */
struct cancel *calling_cancel(struct calling *x);
/* Releases the vault: calls may switch to another one while this waits. */
void calling_leave_vault(struct calling *x);
script_perform_fn host_perform;
/* Its own evaluation, or the script's. */
struct evaluation *work_evaluation(const struct work *w);
