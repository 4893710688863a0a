/* mcp/session.h - the sessions that initialize opens over HTTP.
 *
 * A bounded table: when it is full, or its owner has too many, the one that was silent
 * longest goes, and one that is silent for a day goes too. Its client is then told 404
 * and opens another. Threads: safe. Private to the room mcp.
 */
#pragma once
#include <pthread.h>

#include "base/base.h"
#include "caller/caller.h"
#include "client/client.h"

#define SESSIONS_MAX 16384u
#define SESSIONS_OWNER_MAX 1024u /* of one credential */
#define SESSION_IDLE_MS ((int64_t)24 * 60 * 60 * 1000)
#define SESSION_TEXT 32u /* characters of an id: 128 random bits in hex */

struct session {
    bool there;                    /* else nobody's: its calls are nobody's to cancel */
    unsigned char id[16];          /* zeros for the one client of stdio */
    const char *version;           /* as negotiated, a literal; NULL: not yet */
    unsigned can;                  /* CAN_*: what its client answers (outlet.h) */
    char owner[PRINCIPAL_MAX + 1]; /* the principal who opened it; "": it needed none */
    struct client_claim client;    /* as initialize named it */
};

/* In place of a level: nothing was asked for. */
#define LOG_UNASKED CLIENT_LEVELS

/* The settings that a client may change during its session. */
struct kept {
    unsigned vault;     /* see `vault` of struct caller */
    unsigned log_least; /* enum client_level, or LOG_UNASKED */
};

struct sessions {
    pthread_mutex_t lock;
    struct seat *seats;      /* SESSIONS_MAX, made at the first session */
    uint32_t *buckets;       /* heads of chains, by id; seat number + 1, 0 is none */
    uint32_t newest, oldest; /* by last use; seat number + 1 */
    uint32_t used;           /* seats that were ever taken */
    uint32_t free;           /* chain of those given back */
    struct kept stdio;       /* of the one client without an id */
};

void sessions_init(struct sessions *s);
void sessions_done(struct sessions *s);
/* A new session with a fresh id; `now_ms` is monotonic. `out` says what it is of, and
 * is given the rest. */
void sessions_add(struct sessions *s, int64_t now_ms, struct session *out);
/* false: there is none by this id. */
bool sessions_find(struct sessions *s, struct str id, int64_t now_ms,
                   struct session *out);
/* Is it there? Then it was used just now, if `used`. */
bool sessions_touch(struct sessions *s, const struct session *which, int64_t now_ms,
                    bool used);
/* The vault kept for its client between calls: see `vault` of struct caller. 0 for a
 * session that is not there (any more). */
unsigned sessions_vault(struct sessions *s, const struct session *which);
void sessions_set_vault(struct sessions *s, const struct session *which, unsigned vault);
/* The least level of log messages that it wants; LOG_UNASKED for a session that is not
 * there. */
unsigned sessions_log_least(struct sessions *s, const struct session *which);
void sessions_set_log_least(struct sessions *s, const struct session *which,
                            unsigned least);
bool sessions_remove(struct sessions *s, const struct session *which);
void session_text(const struct session *s, char out[static SESSION_TEXT + 1]);
