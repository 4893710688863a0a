/* http/server.h - what the parts of the room share: a server and its requests.
 *
 * A request's way: connection.c collects it on one of the library's threads and
 * answers it there or suspends the connection and hands it to pool.c; a worker
 * makes the answer and resumes the connection; connection.c sends it. While it
 * is with pool.c it stands in the list `flight`, which watch.c looks through for
 * clients that hung up. Private to the room http.
 */
#pragma once
#include <microhttpd.h>
#include <pthread.h>

#include "http/account.h"
#include "http/endpoint.h"
#include "http/http.h"
#include "http/local.h"
#include "http/target.h"
#include "http/tls.h"

/* Header fields of one request; more are refused with 431. */
#define FIELDS_MAX 64u

#define HTTP_PEER 48u /* bytes of an address in words, with its NUL */

struct field {
    struct str name, value; /* the library's memory, as long as the request */
};

/* Where a request is. Changes only on its connection's thread, but for
 * STAGE_ANSWERED, which a worker sets before it resumes the connection. */
enum stage {
    STAGE_NEW,      /* only the request line has been seen */
    STAGE_BODY,     /* headers are there and fine */
    STAGE_WHOLE,    /* so is the body; it is with its route */
    STAGE_ANSWERED, /* `answer` is there; what is left of the body is skipped */
    STAGE_LEFT,     /* a stream has taken its socket along */
};

struct http_request {
    struct http_server *server;
    struct MHD_Connection *connection;
    struct link *link;
    const struct http_route *route;
    enum stage stage;
    const char *method, *version;
    struct target *target;
    const char *bad_target; /* instead: why it is refused */
    bool old_version;       /* HTTP/1.0: knows no chunks */
    bool bad_version;       /* none that we know */
    bool bad_field;         /* a name or a value that must not be */
    struct buf body;
    size_t body_held;  /* bytes counted in the server's `bodies` */
    size_t body_share; /* and of these, as its caller's */
    size_t skipped;    /* bytes of body read after the answer was known */

    struct MHD_Response *answer;
    unsigned status;

    void *work;                 /* the route's own, between begin() and work() */
    void *admitted;             /* what the server's admit() left; its stream's if ... */
    struct http_stream *stream; /* its answer, while its handler runs */
    bool streamed;              /* ... there is, or was, one */
    /* A worker has it while its connection sends the stream: it has copies of what the
     * library would take away, and ends when both are done with it. */
    bool at_worker;
    enum http_whence whence; /* once it is detached */
    atomic_bool detached;
    char *copies;
    atomic_uint holders; /* once it is detached */
    struct cancel cancel, expelled;

    /* Under the server's lock, while in flight. */
    struct http_request *earlier, *later; /* in `flight` */
    struct http_request *next_queued;
    uint64_t share; /* its caller's, for whom it counts; 0: nobody's */
    uint64_t serial;
    unsigned tick;  /* the watcher's, when it came */
    bool watched;   /* its socket is in the watcher's set */
    bool gone;      /* nobody waits for its answer */
    bool out;       /* it is expelled */
    unsigned pins;  /* of those who fire one of its cancels: it stays until they have */
    unsigned parks; /* of those who wait for a person in it: its worker does not count */

    char peer[HTTP_PEER]; /* empty: not asked for yet */
    unsigned n_fields;
    struct field fields[FIELDS_MAX];
};

struct watcher {
    int epoll, wake; /* descriptors */
    pthread_t thread;
    bool running;
    bool asleep;   /* under the server's lock: waits for `wake`, not for a tick */
    unsigned tick; /* under the server's lock */
    uint64_t swept_ns;
};

/* All connections of the library; links.c. */
struct link;
struct link_list {
    struct link *first, *last; /* the oldest first */
};
struct link_set {
    pthread_mutex_t lock;
    struct link_list idle, busy; /* without a request, and with one */
    unsigned count;
};

/* All streams; stream.c. */
struct stream_hub {
    int epoll, wake; /* descriptors; -1 until there is a stream */
    pthread_t thread;
    atomic_uint waiting; /* streams whose bytes, or end, are waited for */
    atomic_bool ending;  /* the thread returns */
    atomic_bool closed;  /* no stream is opened any more */

    pthread_mutex_t lock;   /* over the rest, and the streams' places in it */
    pthread_cond_t changed; /* a stream is no more, or a gone() has returned */
    bool running;
    struct http_stream *first, *last;
    size_t count, open; /* objects; those with a socket */
};

struct http_server {
    struct http_options o; /* with the defaults put in */
    struct endpoint self;
    struct local local; /* where `self` is a socket in the file system */
    struct accounts accounts;
    char url[128];
    struct tls *tls; /* NULL: it speaks plainly */
    struct MHD_Daemon *daemon;

    pthread_mutex_t lock;
    pthread_cond_t work;  /* a request was queued, or the workers shall end */
    pthread_cond_t quiet; /* a request left the flight, or lost a pin */
    struct http_request *flight_first, *flight_last; /* oldest first */
    size_t n_flight;
    struct line *lines; /* of callers: fair.c */
    unsigned queued, running, idle, parked;
    bool waking; /* an idle worker has been signalled, and is not there yet */
    uint64_t serials;
    bool ending; /* workers return when the queue is empty */

    pthread_t *threads;
    unsigned n_threads;
    struct watcher watcher;
    struct stream_hub hub;
    struct link_set links;

    atomic_bool stopping; /* new requests are refused */
    atomic_size_t bodies; /* bytes of body held by all requests */
    atomic_uint requests; /* between their first byte and their last */
};

/* ---- connection.c ------------------------------------------------------- */

/* The callbacks for the library; `cls` is the server. */
void *connection_target(void *cls, const char *uri, struct MHD_Connection *c);
enum MHD_Result connection_request(void *cls, struct MHD_Connection *c, const char *url,
                                   const char *method, const char *version,
                                   const char *upload, size_t *upload_size,
                                   void **con_cls);
void connection_done(void *cls, struct MHD_Connection *c, void **con_cls,
                     enum MHD_RequestTerminationCode why);

/* Takes copies and lets the connection go on; by a worker, who says when he is done. */
void request_detach(struct http_request *rq);
void request_done(struct http_request *rq);
int request_socket(const struct http_request *rq); /* -1: none */

/* ---- head.c ------------------------------------------------------------- */

/* A name or a method, as RFC 9110, 5.6.2 has it; a field's value, as 5.5 has it. */
bool head_is_token(struct str text);
bool head_is_value(struct str text);
/* Why it is refused; NULL: it is not. Once, as soon as the fields are there. */
const char *head_fault(const struct http_request *rq);
/* The next request on its connection could not be told from its own end. */
bool head_is_last(const struct http_request *rq);

/* ---- caller.c ----------------------------------------------------------- */

/* Host, Origin, proxies, admission. false: it is refused, and answered. */
bool caller_check(struct http_request *rq);
/* Makes a refusal the request's answer; returns false. */
bool request_refuse(struct http_request *rq, int status, const char *why);

/* ---- links.c ------------------------------------------------------------ */

/* A connection begins or ends; `cls` is the server. */
void link_changed(void *cls, struct MHD_Connection *c, void **context,
                  enum MHD_ConnectionNotificationCode what);
/* Whose account its client is of, as it was when it came in. */
enum account link_account(const struct link *k);
/* Its request's head is there; `n` more bytes of its body; all of it; it is done with. */
void link_head(struct http_request *rq);
void link_body(struct http_request *rq, size_t n);
void link_whole(struct http_request *rq);
void link_rest(struct http_request *rq);
/* Cuts off who is too slow; false: there is no connection. */
bool links_sweep(struct http_server *s);

/* ---- stream.c ----------------------------------------------------------- */

void streams_init(struct http_server *s);
/* Tells all owners, and waits until no stream is left; none is opened any more. */
void streams_end(struct http_server *s);
void streams_close(struct http_server *s);
void streams_expel(struct http_server *s);
/* Does the library send it? Then this is what it is given to. */
bool stream_is_carried(const struct http_stream *st);
struct MHD_Response *stream_response(struct http_stream *st);
/* The handler that opened it has returned. */
void stream_handled(struct http_stream *st);

/* ---- response.c --------------------------------------------------------- */

void response_init(struct http_response *rs);
void response_done(struct http_response *rs);
/* Makes its stream, which is carried, the request's answer: at once if a worker has it. */
void response_carry(struct http_request *rq, struct http_response *rs);
/* Makes `rs` the request's answer and ends it. false: its handler has opened a stream,
 * and the connection is to be let go. */
bool response_put(struct http_request *rq, struct http_response *rs);

/* ---- fair.c -------------------------------------------------------------- */

/* The lock is held. false: its caller, or all of them, have too many waiting. */
bool fair_put(struct http_server *s, struct http_request *rq);
/* Whose turn it is; NULL: nobody's. Then it runs, until fair_done(). */
struct http_request *fair_take(struct http_server *s);
/* Would fair_take() find somebody? */
bool fair_is_ready(struct http_server *s);
void fair_done(struct http_server *s, uint64_t share);
/* It runs again, whoever's turn it is. */
void fair_again(struct http_server *s, uint64_t share);
/* A running request gives its worker away, as long as it waits for a person; false: its
 * caller has too many that do (share_fits), or all have. */
bool fair_park(struct http_server *s, uint64_t share);
void fair_unpark(struct http_server *s, uint64_t share);
/* The body of a request takes `n` bytes more of memory; without the lock. false: its
 * caller, or all of them, hold too much. They are held in either case, until it lets go. */
bool fair_hold(struct http_server *s, struct http_request *rq, size_t n);
void fair_let_go(struct http_server *s, struct http_request *rq);

/* ---- pool.c ------------------------------------------------------------- */

bool pool_start(struct http_server *s, struct err *e);
/* false: the queue is full. Otherwise the request, whose connection is already
 * suspended, is a worker's. */
bool pool_put(struct http_server *s, struct http_request *rq);
/* Waits until nothing is in flight, at most until `until_ns` (monotonic). */
bool pool_wait(struct http_server *s, uint64_t until_ns);
void pool_cancel_all(struct http_server *s);
void pool_expel(struct http_server *s, bool (*stays)(void *arg, const void *left),
                void *arg);
/* Takes no more requests; the workers end once the queue is empty. */
void pool_end(struct http_server *s);
void pool_join(struct http_server *s);
/* The same in two steps, by who does not hold the lock: first it is pinned, which waits
 * for nobody, then fired. */
void pool_pin(struct http_server *s, struct http_request *rq);
void pool_fire_pinned(struct http_server *s, struct http_request *rq);
/* A worker has the request: it is detached, and nobody watches its socket any more. */
void pool_detach(struct http_server *s, struct http_request *rq);
/* Fires a request's cancel; the lock is held before and after, not during. */
void pool_fire(struct http_server *s, struct http_request *rq);

/* ---- watch.c ------------------------------------------------------------ */

bool watch_start(struct http_server *s, struct err *e);
void watch_stop(struct http_server *s);
/* A request entered, or leaves, the flight. The lock is held. */
void watch_enter(struct http_server *s, struct http_request *rq);
void watch_leave(struct http_server *s, struct http_request *rq);
