/* session/session.h - what evaluations leave for the next: named states of a world.
 *
 * A session belongs to one caller and one vault; another's cannot be reached, by its name
 * or otherwise. What is kept is opaque here (script has made it), lies in the folder
 * sessions/ of the user's state folder (0700), and is checked against a sum under a secret
 * of that folder before it is believed. Any number of processes share them: a call holds a
 * lock from session_take() to session_release(), which also ends when the process dies.
 * Nothing is waited for to be on disk: after a crash of the system a session may be found
 * lost, and the answer says so. Threads: safe.
 */
#pragma once
#include "base/base.h"

#define SESSION_NAME_MAX 40u
#define SESSION_HANDLE 48u /* "ses_", 43 characters, and a NUL */

struct sessions;
/* Opens the folder, and makes it where it is missing. NULL and *e as os_state_dir(). */
struct sessions *sessions_open(struct err *e);
void sessions_close(struct sessions *s); /* NULL is fine */
SCOPED(sessions, sessions_close);

/* The owner of sessions: any texts, in all at most 60 KB. */
struct session_owner {
    const char *caller, *vault; /* neither is NULL */
};

struct session_limits {
    uint64_t idle_ms;   /* a session that was not used for so long is gone */
    uint64_t bytes;     /* all sessions of the user together */
    uint64_t one_bytes; /* one of them */
    uint32_t max;       /* sessions of the user */
    bool each;          /* bytes and max are this caller's alone: others do not count */
    uint32_t wait_ms;   /* for another call in the same session */
};

/* A session, held by one call. */
struct session {
    char name[SESSION_NAME_MAX + 1], handle[SESSION_HANDLE];
    struct buf saved; /* what the last call kept; empty: it begins with this call */
    uint64_t
        kind; /* of what is kept, by a number of the caller's; 0: a new one, unless it is set */
    uint64_t calls;              /* that have kept something */
    int64_t created_ms, used_ms; /* since 1970; used: 0 for a new one */
    struct session_limits limits;
    struct session_owner owner;
    struct sessions *in;
    int lock;
};

/* The session of that name, or handle, which is then this call's alone. A name that is not
 * there begins one; a handle that is not there, or is another's, is ERR_NOT_FOUND. Also
 * ERR_INVALID (no name), ERR_BUSY (another call is in it), ERR_CANCELLED, ERR_LIMIT (there
 * are limits.max), ERR_CONFLICT (it was damaged: it is gone, and the next call begins
 * anew), ERR_IO. `owner` is borrowed. `cancel` may be NULL. */
struct session *session_take(struct sessions *s, const struct session_owner *owner,
                             const struct session_limits *limits, struct str name,
                             struct cancel *cancel, struct err *e);
/* Keeps what the next call goes on from. ERR_LIMIT where it is too large; what was kept
 * before stays then. */
bool session_keep(struct session *x, struct str saved, struct err *e);
/* Forgets it: what was kept cannot be used. */
bool session_forget(struct session *x, struct err *e);
void session_release(struct session *x); /* NULL is fine */
SCOPED(session, session_release);

/* A stored session. Texts live in the arena. */
struct session_info {
    struct str name, handle, caller, vault;
    uint64_t calls, bytes;
    int64_t created_ms, used_ms; /* since 1970 */
};
/* The owner's (NULL: everybody's, for the person), the last used first. */
bool sessions_list(struct sessions *s, const struct session_owner *owner,
                   const struct session_limits *limits, struct arena *a,
                   struct session_info **out, size_t *count, struct err *e);
/* Ends the owner's session of that name or handle; with no owner, the handle's. ERR_NOT_FOUND,
 * ERR_BUSY (a call is in it). */
bool sessions_end(struct sessions *s, const struct session_owner *owner,
                  const struct session_limits *limits, struct str name, struct err *e);
