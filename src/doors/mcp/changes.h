/* mcp/changes.h - who wants to hear of what changes, in both eras, and what they are told.
 *
 * A listener is one subscriptions/listen of the newer era, or one session of the older.
 * A change is only marked at the listeners that it concerns; one thread notifies them, and then
 * rests a while: of ten thousand notes that change at once each listener hears once a
 * list and once a resource that it follows. Nothing is kept for who is not there.
 * Source: 2026-07-28 basic/patterns/subscriptions; 2025-11-25 server/resources.
 * Threads: safe. Private to the room mcp.
 */
#pragma once
#include <pthread.h>

#include "base/base.h"
#include "caller/caller.h"
#include "mcp/session.h"
#include "mcp/ticker.h"
#include "workspaces/workspaces.h"
#include "json/json.h"

#define LISTENERS_MAX 16384u      /* in all, of both eras */
#define LISTENERS_GRANT_MAX 1024u /* of one credential */
#define FOLLOWED_MAX 256u         /* resources of one listener */
#define FOLLOWED_URI_MAX 2048u    /* bytes of one */
#define LISTENER_ID_MAX 512u      /* bytes of a request's id */
#define CHANGES_REST_MS 500u

/* The lists that a listener follows, by bits, besides single resources. */
#define HEARS_TOOLS 1u
#define HEARS_PROMPTS 2u
#define HEARS_RESOURCES 4u
#define HEARS_ALL 7u

/* Where messages to one listener go. Nothing of it waits, nor comes back here. */
struct sink {
    /* Sends a JSON-RPC message. false: it reaches nobody any more. */
    bool (*say)(void *arg, struct str message);
    /* A sign of life, each BEAT_S; false as above. NULL: none is needed. */
    bool (*beat)(void *arg);
    /* The last call, when the listener has left; NULL: nothing ends with it. */
    void (*end)(void *arg);
    void *arg;
};

struct listener;
struct mcp;

struct changes {
    struct mcp *m;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct listener *first, *dirty;
    size_t sessions, requests; /* how many of each era listen */
    struct topic **topics;     /* by hash of their uri; made with the first */
    uint64_t seed[2];          /* of the hashes */
    bool started, ending;
    bool idle; /* nobody has listened since the thread looked */
    pthread_t thread;
    pthread_mutex_t hearing_lock; /* taken before `lock`, never with it */
    bool hearing;
    unsigned rest_ms; /* [CHANGES_REST_MS]; less in tests */
};

void changes_init(struct changes *c, struct mcp *m);
/* Nobody listens any more but sessions of the older era. */
void changes_done(struct changes *c);
/* The server stops: whoever listens is told that this ends, and its sink ended. */
void changes_end(struct changes *c);
/* Called by library.hear; `arg` is the struct changes. */
void changes_take(void *arg, const struct workspaces_change *change);

/* A task of this id is another now than it was. */
void changes_task(struct changes *c, const char *id);

/* ---- listeners ------------------------------------------------------------ */

/* Opens a listener that is told nothing yet. `id`: of the request that it comes from, in
 * the session `of`; NULL: it is the session itself, of the older era. NULL and ERR_LIMIT,
 * ERR_INVALID or ERR_BUSY. */
struct listener *listener_open(struct changes *c, const struct json *id,
                               const struct session *of, const struct grant *grant,
                               unsigned hears, struct err *e);
/* It hears of one resource, too: `uri` as its client calls it. ERR_LIMIT. */
bool listener_follow(struct listener *l, struct str uri, struct str canonical,
                     struct err *e);
/* It is told from now on, and no longer the caller's. `slot` points to it for as long as
 * it is there; NULL: nobody minds. */
void listener_start(struct listener *l, const struct sink *sink, struct listener **slot);
/* And of one task, which is its principal's. ERR_LIMIT. */
bool listener_follow_task(struct listener *l, struct str id, struct err *e);
/* Frees a listener that was not started. */
void listener_drop(struct listener *l);
/* Its client has gone: it leaves, if it has not. */
void changes_gone(struct changes *c, struct listener **slot);

/* Begins a notification to a listener of the newer era other than a change: with its
 * subscription's id. */
struct json_writer notice_open(struct buf *out, const char *method,
                               const struct json *subscription);

/* ---- sessions ------------------------------------------------------------- */

/* The client of `session` takes its request with this id back. */
void changes_cancel(struct changes *c, const struct session *session,
                    const struct json *id);
/* A session of the older era begins: it hears of all lists. */
void changes_session(struct changes *c, const struct session *session,
                     const struct grant *grant, const struct sink *sink);
/* ERR_NOT_FOUND: there is no such session. */
bool changes_follow(struct changes *c, const struct session *session, struct str uri,
                    struct str canonical, struct err *e);
void changes_unfollow(struct changes *c, const struct session *session, struct str uri);
/* Nothing of this session is told any more. */
void changes_session_over(struct changes *c, const struct session *session);
