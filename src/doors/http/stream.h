/* http/stream.h - a stream as its two sources know it: stream.c has its holders, its thread and
 * its end, stream_send.c the bytes. Private to these.
 */
#pragma once
#include "http/server.h"

/* The largest put; more at once is a mistake of ours. */
#define PUT_MAX ((size_t)256 * 1024 * 1024)

enum phase {
    PHASE_OPEN,
    PHASE_ENDING, /* the last byte is in `out` */
    PHASE_LINGER, /* and was sent */
    PHASE_LOST,   /* the client is gone, or given up */
    PHASE_DONE,   /* carried, and the library has all: the socket is its own again */
    PHASE_CLOSED,
};

struct http_stream {
    struct http_server *server;
    pthread_mutex_t lock; /* over all up to the next empty line */
    int fd;
    enum phase phase;
    bool chunked;
    bool carried;
    bool asleep;                       /* carried, and suspended */
    struct MHD_Connection *connection; /* while it is asleep */
    bool waits;     /* for room in the socket: counted in the hub's `waiting` */
    struct buf out; /* from `sent` on it waits */
    size_t sent;
    pthread_cond_t emptied; /* nothing waits, or it is not open any more */
    uint64_t moved_ns;      /* when bytes left, or the phase began */

    /* Under the hub's lock. */
    struct http_stream *earlier, *later;
    unsigned holders;
    bool ended;              /* by its owner */
    bool over;               /* the socket is closed */
    bool handled;            /* its request's handler has returned */
    struct http_request *rq; /* until then */
    bool telling;            /* gone() runs, on the thread `teller` */
    pthread_t teller;
    void (*gone)(void *arg);
    void *arg;

    void *admitted;
};

/* ---- stream_send.c; the stream's lock is held, but for stream_carry() ------- */

void stream_put_chunk(struct http_stream *st, struct str bytes);
/* Sends all that can leave, or marks the stream lost. */
void stream_flush(struct http_stream *st);
/* After anything was put or sent. */
void stream_settle(struct http_stream *st);
void stream_lose(struct http_stream *st);
/* Counts it among those that wait for room in their sockets, or not any more. */
void stream_set_waits(struct http_stream *st, bool waits);
/* MHD_ContentReaderCallback of a stream that is carried. */
ssize_t stream_carry(void *arg, uint64_t at, char *to, size_t max);
/* The thread looks at once. */
void hub_wake(struct stream_hub *hub);
