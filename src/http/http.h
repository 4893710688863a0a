/* http/http.h - a small HTTP/1.1 server for programs that answer by working.
 *
 * A request is read whole on a connection's thread, may be answered there at
 * once, or goes to a fixed pool of workers, each of which runs one request from
 * start to end in plain blocking code. While a worker has it, the connection is
 * watched: when the client hangs up, the request's `struct cancel` is fired.
 *
 * Refused before any route sees them: a Host or an Origin that is not this
 * machine's own (403), what came through a proxy (403: who is behind it cannot
 * be told without tokens), bodies over the ceiling (413), unknown paths (404).
 * Listens on loopback only. Source: RFC 9110, RFC 9112.
 */
#pragma once
#include "base/base.h"

struct http_server;
struct http_request;

/* ---- a request: borrowed, until its handler returns --------------------- */

struct str http_method(const struct http_request *rq); /* "POST" */
struct str http_path(const struct http_request *rq);   /* decoded, no query */
struct str http_body(const struct http_request *rq);
/* The first field of this name, in any spelling of case, without the white
 * space around it; `at` is NULL when there is none. */
struct str http_header(const struct http_request *rq, const char *name);
size_t http_header_count(const struct http_request *rq, const char *name);
/* The decoded value of a query parameter; `at` is NULL when there is none. */
struct str http_query(const struct http_request *rq, const char *name);
const char *http_peer(struct http_request *rq); /* "127.0.0.1", no port */
/* Fired when the client hangs up or the server stops. */
struct cancel *http_cancel(struct http_request *rq);

/* ---- a response --------------------------------------------------------- */

#define HTTP_FIELDS_MAX 8u
#define HTTP_FIELD_SIZE 128u /* bytes of a header's value, with its NUL */

/* Handed to a handler as 200 with an empty body. A response that is not whole
 * when it is handed over (a stream of events) will be another kind beside
 * `body`; there is none yet. */
struct http_response {
    int status;
    const char *type; /* Content-Type, a literal; NULL: none */
    struct buf body;  /* already init; the server ends it */
    struct {
        const char *name; /* a literal */
        char value[HTTP_FIELD_SIZE];
    } fields[HTTP_FIELDS_MAX];
    unsigned n_fields;
};

/* For values of our own, which fit: neither may hold a line end. */
void http_set_header(struct http_response *rs, const char *name, const char *value);
/* A status and one sentence of plain text, in place of any body. */
void http_say(struct http_response *rs, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- a server ----------------------------------------------------------- */

/* What is done with one path. `begin` and `work` are never called at the same
 * time for one request. */
struct http_route {
    const char *path; /* "/mcp": this, and the same with a slash behind it */
    void *arg;
    /* On the connection's thread, so it must not block and should be done in
     * microseconds. true: `rs` is the answer. false: a worker goes on, with
     * what this left in `*work` (NULL before). NULL: all goes to a worker. */
    bool (*begin)(void *arg, struct http_request *rq, struct http_response *rs,
                  void **work);
    /* On a worker; takes `work` over. */
    void (*work)(void *arg, struct http_request *rq, void *work,
                 struct http_response *rs);
    /* Instead of work(), when the queue is full, the client is gone or the
     * server stops; only called with a `work` that is not NULL. */
    void (*drop)(void *arg, void *work);
};

/* Zero means the value in brackets. */
struct http_options {
    const char *listen;              /* "127.0.0.1:7878", "[::1]:0", "localhost:0" */
    const struct http_route *routes; /* borrowed until http_close() */
    size_t n_routes;
    unsigned workers;         /* [four a CPU, at least 8] */
    size_t worker_stack;      /* bytes [4 MiB], never less */
    unsigned queue_max;       /* requests waiting for a worker [256]; beyond: 503 */
    size_t body_max;          /* bytes of one body [4 MiB]; beyond: 413 */
    size_t bodies_max;        /* bytes of all bodies held [64 MiB]; beyond: 503 */
    unsigned connections_max; /* open at a time [1024] */
    unsigned idle_s;          /* a silent connection is closed after [120] */
};

/* Listens and serves from when it returns. NULL and *e: ERR_INVALID (`listen`
 * is not ADDRESS:PORT), ERR_DENIED (not a loopback address), ERR_CONFLICT (the
 * port is taken) or ERR_IO. */
struct http_server *http_open(const struct http_options *o, struct err *e);
/* Where it listens, with the real port: "http://127.0.0.1:41234". */
const char *http_url(const struct http_server *s);
/* Stops: no new connections, 503 for new requests, up to `drain_ms` for those
 * that run and wait; then they are cancelled and waited for. NULL is fine. */
void http_close(struct http_server *s, unsigned drain_ms);
