/* mcp/post.h - the outlet of a call over HTTP: what is said before its answer makes the
 * answer a stream of events, whose last is the answer; where nothing is said it stays
 * one JSON object.
 *
 * In a session of the older era the stream is a channel (channels.h): it goes on without
 * its connection. All other calls end with theirs. Lives on the worker's stack, as long
 * as its request. Private to the room mcp.
 */
#pragma once
#include "http/http.h"
#include "mcp/core.h"

struct post {
    struct channels *channels;
    struct http_request *rq;
    struct http_response *rs;
    const struct call *call; /* while it runs */
    bool has_channel;        /* it is of a session of the older era */
    bool accepts;            /* text/event-stream */
    struct outlet outlet;    /* for call_run() */

    pthread_mutex_t lock;
    bool tried; /* to open a stream, which is then one of the two, or none */
    struct channel *channel;
    struct http_stream *http;
    struct buf excuse; /* for an answer that cannot wait for a client who is away */
};

void post_begin(struct post *p, const struct call *call, struct http_request *rq,
                struct http_response *rs);
/* The call has run, and is no more; takes its answer over. */
void post_end(struct post *p, struct reply *r);
