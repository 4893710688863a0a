/* mcp/channels.h - the event streams of HTTP sessions: those of their calls and those
 * that they listen on.
 *
 * A channel is what the specification calls a stream: it outlives the connections on
 * which its client reads it (one at a time), keeps what it said for a while, and goes on
 * where a returning client stopped. So nothing is lost when a connection is, within
 * the bounds below; beyond them what is oldest goes first.
 * Source: 2025-11-25 basic/transports (Streamable HTTP).
 * Threads: safe. Private to the room mcp.
 */
#pragma once
#include <pthread.h>

#include "base/base.h"
#include "client/client.h"
#include "http/http.h"
#include "mcp/session.h"
#include "mcp/ticker.h"

#define CHANNELS_SESSION_MAX 256u /* of one session */
#define CHANNELS_MAX 65536u       /* in all */
/* Limits of the events kept for clients who come back. */
#define KEPT_SESSION_EVENTS 1024u
#define KEPT_SESSION_BYTES ((size_t)4 * 1024 * 1024)
#define KEPT_BYTES ((size_t)64 * 1024 * 1024)
#define KEPT_MS ((int64_t)5 * 60 * 1000)
/* A call's connection is closed after so long, where its client knows how to come back,
 * and when it shall. */
#define HOLD_MS ((int64_t)120 * 1000)
#define RETRY_MS 1000

struct channel;

struct channels {
    pthread_mutex_t lock;
    struct sessions *sessions;
    struct ticker *ticker;
    struct beat beat; /* in the ticker from the first channel on */
    bool beating;
    struct channel **buckets; /* by session */
    uint64_t numbers;
    size_t channels;
    struct event *oldest, *newest; /* of all channels */
    size_t bytes;
    int64_t hold_ms, kept_ms; /* [HOLD_MS], [KEPT_MS]; less in tests */
};

void channels_init(struct channels *s, struct sessions *sessions, struct ticker *ticker);
void channels_done(struct channels *s); /* no connection is left */

/* ---- a call's channel --------------------------------------------------- */

/* Makes `rs` the first connection of a new channel, which is the caller's until
 * channel_end(). NULL: there cannot be one now; what `rs` says then is to be
 * written anew. */
struct channel *channels_open(struct channels *s, const struct session *session,
                              struct http_request *rq, struct http_response *rs);
/* Sends a message. false: it reaches nobody, now or later. */
bool channel_say(struct channels *s, struct channel *c, struct str message);
void channel_beat(struct channels *s, struct channel *c);
/* Ends its connection, where its client knows how to come back. */
void channel_let_go(struct channels *s, struct channel *c);
/* Its last message (the answer), or none at all: the channel is whole. `excuse` is kept
 * in place of a message that is too large to be kept for a client who is away. */
void channel_end(struct channels *s, struct channel *c, struct str last,
                 struct str excuse);

/* ---- a client's streams ------------------------------------------------- */

/* Answers a GET: a new channel, or one that goes on behind the event `last` (an empty
 * text: none). `who` is the name of its caller. */
void channels_listen(struct channels *s, const struct session *session, const char *who,
                     struct str last, struct http_request *rq, struct http_response *rs);
/* A message that belongs to no call, to one of the streams that the session listens on.
 * false: there is none. */
bool channels_tell(struct channels *s, const struct session *session, struct str message);
/* The same to one stream of each session of this caller, which wants to hear of that
 * level. */
void channels_tell_all(struct channels *s, const char *who, enum client_level level,
                       struct str message);
/* The session is over: its connections end, and what was kept goes. */
void channels_end_session(struct channels *s, const struct session *session);

/* Status, type and fields of a response that is a stream of events. */
void events_head(struct http_response *rs);
/* Writes an event's data line: `message` without line ends. */
void events_data(struct buf *out, struct str message);
