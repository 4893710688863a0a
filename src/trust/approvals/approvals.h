/* approvals/approvals.h - requests that wait for a person's approval, and the decisions.
 *
 * They are files in the user's state folder, so that a call in one process can be decided
 * from another: at a terminal, or on the page of a server. Only a person decides; nothing
 * in this room is reachable by code, a tool or an agent's credential.
 *
 * An entry never changes once it exists: a person decides on what was shown. It outlives
 * the call that waits for it, also one that was killed, so that the same request, made
 * again by the same caller, finds a decision that was made meanwhile; a decision serves one
 * request. Damaged files, and those that are no entries, are ignored, with a line in the log.
 *
 * Threads: safe. Processes: any number.
 */
#pragma once
#include "base/base.h"
#include "caller/caller.h"
#include "json/json.h"

#define APPROVAL_ID 9u                        /* "k7qm2fxd" and a NUL */
#define APPROVAL_SHOWN_MAX ((size_t)64 << 10) /* bytes of what a person is shown */
#define APPROVALS_MAX 256u                    /* entries that wait, in all */
#define APPROVALS_ASKER_MAX 16u               /* and of one caller (and share_fits) */
#define APPROVAL_KEEP_MS \
    ((int64_t)600000) /* until a decision, or an entry that no call waits for, expires */
#define APPROVAL_TOOLS_MAX 16u
#define APPROVAL_REASON_MAX 300u             /* bytes; one line */
#define APPROVAL_EDIT_MAX ((size_t)32 << 10) /* bytes of arguments that can be edited */

struct approvals;

/* Makes the folder where it is missing. NULL and *e as os_state_dir(). */
struct approvals *approvals_open(struct err *e);
void approvals_close(struct approvals *a); /* NULL is fine; no call may be waiting */
SCOPED(approvals, approvals_close);

/* ---- asking --------------------------------------------------------------- */

/* How long an approval holds; the caller of this room sees to that. */
enum approval_memory { APPROVAL_CALL, APPROVAL_SESSION, APPROVAL_ALWAYS };
const char *approval_memory_name(enum approval_memory m); /* "call" */
bool approval_memory_named(struct str name, enum approval_memory *out);

struct approval_request {
    const char *kind;                 /* "run", "install", "machine", "call" */
    const char *caller;               /* as the audit names it */
    const struct client_claim *claim; /* NULL: it claims nothing */
    const char *question;             /* "May jq be run?", or NULL */
    const char *asker;                /* the principal whose request it is */
    const char *digest;               /* of all that is asked for, at most 64 bytes */
    const char *vault;                /* the folder; NULL: none */
    const char *const *tools;         /* their names, at most APPROVAL_TOOLS_MAX */
    size_t tool_count;
    bool session, always; /* may be chosen, besides this call */
    /* The text for the person: a JSON object of labels, each with a text or an array of
     * texts; complete, since nothing else is known where it is decided. */
    struct str shown;
    /* A JSON object of at most APPROVAL_EDIT_MAX bytes: a person may give other ones instead; or
     * empty: they cannot be edited. */
    struct str arguments;
    int64_t keep_ms; /* 0: APPROVAL_KEEP_MS */
};

struct approval_decision {
    bool decided, allowed; /* not decided: not yet */
    enum approval_memory memory;
    char by[16]; /* "terminal", "page" */
    char reason[APPROVAL_REASON_MAX +
                1];       /* of a person who denied it; "": none was given */
    char id[APPROVAL_ID]; /* of the entry */
    /* Not allowed: a person wants the call with these arguments instead, a JSON object. They are
     * free()d by whoever gave request->arguments; NULL: no. */
    char *edited;
};

struct approval_wait {
    uint32_t ms;                    /* 0: does not wait */
    const struct cancel *cancel[2]; /* either ends the waiting; NULL is fine */
    /* Called once, when it begins to wait; may be NULL. */
    void (*begins)(void *arg, const char *id);
    void *arg;
};

/* Takes the decision on the same request, or makes an entry and waits for one. true: see
 * out->decided. false and *e: ERR_BUSY (too many wait), ERR_CANCELLED, ERR_LIMIT
 * (too large to be shown), ERR_IO. Without a decision the entry stays for APPROVAL_KEEP_MS. */
bool approvals_ask(struct approvals *a, const struct approval_request *w,
                   const struct approval_wait *wait, struct approval_decision *out,
                   struct err *e);

/* The same without a thread that waits. NULL and *e: nothing is to be ended. `wait->cancel`
 * is not looked at. All is copied. */
struct approval_ticket;
struct approval_ticket *approvals_begin(struct approvals *a,
                                        const struct approval_request *w,
                                        const struct approval_wait *wait, struct err *e);
/* true: it was decided, or it is too late; else look again when os_mono_ns() is
 * *look_ns. Cheap. */
bool approvals_look(struct approval_ticket *t, uint64_t *look_ns);
/* As approvals_ask(), and frees it; also before it is over: then it is undecided, and the
 * entry stays. */
bool approvals_end(struct approval_ticket *t, struct approval_decision *out,
                   struct err *e);

/* ---- deciding, by people --------------------------------------------------- */

/* Lists the undecided entries, the oldest first, as a JSON array of [{id, kind, caller,
 * client?, question?, asked, left_ms, waiting, vault, tools, choices, shown, arguments?}]; `waiting`: a call waits for it. */
bool approvals_list(struct approvals *a, struct buf *out, struct err *e);
/* A number that changes whenever the entries may have changed. Cheap. */
uint64_t approvals_state(struct approvals *a);

/* Decides on an entry, once. `by` as in struct approval_decision. `entry`, if not
 * NULL, gets what was decided. ERR_NOT_FOUND, ERR_CONFLICT (it was decided already),
 * ERR_INVALID (not a choice that it offers). */
bool approvals_decide(struct approvals *a, struct str id, bool allow,
                      enum approval_memory memory, const char *by, struct buf *entry,
                      struct err *e);

/* Denies an entry, and tells the agent why: `reason`, whose control characters become spaces.
 * Otherwise as approvals_decide(); ERR_INVALID: the reason is too long. */
bool approvals_deny(struct approvals *a, struct str id, struct str reason, const char *by,
                    struct buf *entry, struct err *e);

/* Puts other arguments (a JSON object of at most APPROVAL_EDIT_MAX bytes) in place of those of an
 * entry. Nothing is allowed by it: the call asks anew, with what these would change. Otherwise as
 * approvals_decide(); ERR_INVALID: it is not an object, or the entry's cannot be edited. */
bool approvals_edit(struct approvals *a, struct str id, const struct json *arguments,
                    const char *by, struct buf *entry, struct err *e);

/* ---- showing --------------------------------------------------------------- */

/* An entry in lines of plain text. Whatever an agent wrote in it stays within its line:
 * control characters, line ends, and what turns or hides writing are spelt out. */
void approvals_tell(const struct json *entry, struct buf *out);
/* The same for what is `shown` alone. */
void approvals_tell_shown(const struct json *shown, struct buf *out);
/* The asker as text: "stdio, which says it is 'claude-code 1.2' (claimed)". NULL: it claims
 * nothing. */
void approvals_tell_asker(struct str caller, const struct client_claim *claim,
                          struct buf *out);
