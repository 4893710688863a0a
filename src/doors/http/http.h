/* http/http.h - an HTTP/1.1 server for programs that answer by working, or go on
 * speaking: requests, responses, streams, who may come in.
 *
 * A request is read whole on a connection's thread, may be answered there at once, or
 * goes to a fixed pool of workers, each of which runs one request from start to end in
 * plain blocking code. While a worker has it, the connection is watched: when the client
 * hangs up, the request's `struct cancel` is fired. Either may open a stream instead of
 * answering, which costs a small object and no thread for as long as it is silent.
 *
 * Refused before any route sees them: a target that is ambiguous (400: NUL, "..", an
 * encoded slash where the route takes none, what is not UTF-8), a Host or an Origin that is
 * not this server's own or allowed, a page of another site (403), what comes from another
 * account or through a proxy where nobody admits (403), whom `admit` refuses, bodies over
 * the ceiling (413) or without a Content-Type (415), unknown paths (404).
 * Source: RFC 9110, RFC 9112; RFC 9457 for refusals to those who speak JSON.
 */
#pragma once
#include "base/base.h"

struct http_server;
struct http_request;

/* ---- a request: borrowed, until its handler returns --------------------- */

struct str http_method(const struct http_request *rq); /* "POST" */
struct str http_path(const struct http_request *rq);   /* decoded, no query */
struct str http_target(const struct http_request *rq); /* path and query as they came */
/* Part `i` of the path, decoded: of "/workspaces/a%20b/" part 0 is "workspaces", part 1
 * "a b", and there is no other: `at` is NULL. None is empty, "." or "..", none holds a
 * slash (but for a route with `slashes`), a backslash or a control character, and all are UTF-8. */
struct str http_part(const struct http_request *rq, size_t i);
size_t http_parts(const struct http_request *rq);
struct str http_body(const struct http_request *rq);
/* The first field of this name, in any spelling of case, without the white
 * space around it; `at` is NULL when there is none. */
struct str http_header(const struct http_request *rq, const char *name);
size_t http_header_count(const struct http_request *rq, const char *name);
/* The decoded value of the first query parameter of this name; `at` is NULL when there
 * is none. */
struct str http_query(const struct http_request *rq, const char *name);
/* The sender: "127.0.0.1", no port; behind a proxy that was told of, whom it names. */
const char *http_peer(struct http_request *rq);
/* Where it comes from, as far as the system tells. Not HTTP_ELSEWHERE: listener and peer
 * are loopback, or a socket in the file system, Host is a name of this machine, and nothing
 * is there that a proxy adds. Who connects for others, as a forwarder does, is told of as
 * what it is itself. */
enum http_whence {
    HTTP_ELSEWHERE,
    HTTP_UNKNOWN_ACCOUNT, /* of this machine; the system does not tell whose */
    HTTP_OTHER_ACCOUNT,
    HTTP_OWN_ACCOUNT, /* of the account that serves, or of root's */
};
enum http_whence http_whence(struct http_request *rq);
/* Is it HTTP_OWN_ACCOUNT? Only such may come in without a token. */
bool http_is_local(struct http_request *rq);
/* The value that `admit` left for it; NULL: nothing. */
const void *http_admitted(const struct http_request *rq);
/* Fired when the client hangs up, is expelled or the server stops. */
struct cancel *http_cancel(struct http_request *rq);
/* Fired by http_expel() and when the server stops, for what goes on when its client hangs up. */
struct cancel *http_expelled(struct http_request *rq);

/* Whoever works on it only waits for a person from now on, which may take minutes: another
 * worker takes its worker's place until http_unpark(). Pairs, which may overlap; from any
 * thread, while the handler runs. false and ERR_BUSY: HTTP_PARKED_MAX requests wait so, or
 * too many of its caller (share_fits). */
#define HTTP_PARKED_MAX 64u
bool http_park(struct http_request *rq, struct err *e);
void http_unpark(struct http_request *rq);

/* ---- a response --------------------------------------------------------- */

#define HTTP_HEAD_MAX ((size_t)16 * 1024) /* bytes of all fields that were set */

/* Handed to a handler as 200 with an empty body. */
struct http_response {
    int status;
    const char *type; /* Content-Type, a literal; NULL: none */
    struct buf body;  /* already init; the server ends it */
    struct buf head;  /* what http_set_header() wrote; the server's */
};

/* Adds a field. false: left out, since it holds a control character or there is no room. */
bool http_set_header(struct http_response *rs, const char *name, const char *value);
/* A status and one sentence of plain text, in place of any body. */
void http_say(struct http_response *rs, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same as a problem (application/problem+json) for those who speak JSON, as their
 * Content-Type or Accept says; plain text for all others. */
void http_refuse(const struct http_request *rq, struct http_response *rs, int status,
                 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* ---- a stream: a response that goes on ----------------------------------- */

struct http_stream;

#define HTTP_STREAM_WAITING ((size_t)1024 * 1024) /* bytes */
#define HTTP_STREAM_STUCK_S 30u

/* Makes the response a stream, once, from within begin() or work(), which then returns
 * (true) as if `rs` was the answer: status, fields and what its body holds so far leave
 * now. Opened in begin(), it lives on and holds no worker; opened in work(), it runs
 * while the worker goes on, and the request is the handler's until that returns.
 * NULL: none can be opened (too many, no memory, the server stops); `rs` is the refusal.
 *
 * The handle is the caller's, until http_stream_end(): to be called once, also when the
 * client is gone. `gone(arg)` is called at most once, from a thread of the server, when
 * the client hung up, was too slow or the server stops: never before the handler that
 * opened the stream has returned, whom http_cancel() tells, nor once http_stream_end() is
 * called, which waits for one that runs, unless it is called by it. So nobody may
 * end a stream while holding a lock that its gone() takes. gone() must not wait.
 * Threads: safe. */
struct http_stream *http_stream_open(struct http_request *rq, struct http_response *rs,
                                     void (*gone)(void *arg), void *arg);
/* Sends `bytes`, in order, and never waits. What the client does not take at once is kept.
 * false: it is gone, or does not read: HTTP_STREAM_WAITING bytes were waiting before
 * these, or none could leave for HTTP_STREAM_STUCK_S; nothing more will reach it. */
bool http_stream_put(struct http_stream *st, struct str bytes);
/* Waits until all that was put has left for the client, however slowly it reads. false: nothing
 * more will reach it, as http_stream_put(). */
bool http_stream_drain(struct http_stream *st);
/* Breaks it off, so that the client sees that it is not whole. Before http_stream_end(). */
void http_stream_break(struct http_stream *st);
/* The response is whole: what waits is still sent. The handle is over. NULL is fine. */
void http_stream_end(struct http_stream *st);

/* ---- a server ----------------------------------------------------------- */

/* The handlers of one path. `begin` and `work` are never called at the same time for one
 * request. */
struct http_route {
    /* "/mcp": this, and the same with a slash behind it. "/workspaces/": this, the same
     * without the slash, and all below; the longest that matches has it. "": "/" alone. */
    const char *path;
    void *arg;
    bool head;    /* HEAD comes as GET, and the answer's body stays here */
    bool slashes; /* a part of its path may hold one that was encoded (%2F) */
    /* Bytes of one body, where it takes more than the server's body_max of requests that
     * `takes` accepts: asked on the connection's thread before the body is read, so it
     * must not block. 0: no more. */
    size_t body_max;
    bool (*takes)(void *arg, struct http_request *rq);
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
    /* When the server stops and waits no longer: what runs shall end, also where it does
     * not mind the request's cancel. May be called several times. NULL: it does mind. */
    void (*stop)(void *arg);
    /* Says in its own words what http_refuse() says for it, also before it was asked
     * (401, 403, 413, 503): `rs` holds the usual refusal. NULL: that one. Must not
     * block. */
    void (*refused)(void *arg, const struct http_request *rq, const char *why,
                    struct http_response *rs);
};

/* Zero means the value in brackets. */
struct http_options {
    /* "127.0.0.1:7878", "[::1]:0", "localhost:0", "0.0.0.0:443"; not loopback: only with
     * `admit`, and a certificate or a proxy. "unix:/PATH": a socket with mode 0600, in a
     * folder that is this account's alone; removed at the end. */
    const char *listen;
    const struct http_route *routes; /* borrowed until http_close() */
    size_t n_routes;

    /* Asked of every request as soon as Host and Origin are fine, before its body is
     * read, on the connection's thread: must not block. false: `rs` is the refusal. What
     * it leaves is released when request and stream are over. NULL: all may come in. */
    bool (*admit)(void *arg, struct http_request *rq, struct http_response *rs,
                  void **left);
    void (*release)(void *arg, void *left); /* from any thread; never of NULL */
    /* Would what it left (NULL: nothing) still be let in? Asked when a body is whole,
     * which may be long after its head, and by http_expel(), with a lock held. NULL: all
     * stay in. */
    bool (*stays)(void *arg, const void *left);
    /* A number that is the same for all that one caller is let in with: callers take
     * turns, none waits long behind another, and one has at most half of the workers and
     * a quarter of the queue. Never asked of NULL, which takes what it needs. */
    uint64_t (*share)(void *arg, const void *left);
    void *admit_arg;
    /* Further names in Host ("notes.example", or with one port), and further Origins
     * ("https://app.example"), each ended by NULL; borrowed until http_close(). */
    const char *const *allowed_hosts, *const *allowed_origins;
    /* All comes through a proxy of ours, which appends the client's address to
     * X-Forwarded-For or Forwarded: the last one there is the peer. */
    bool behind_proxy;
    /* PEM files: the certificate with those that signed it, and its key. Both: it speaks
     * TLS (1.2 or later) and nothing else. Read again when they change. */
    const char *tls_cert, *tls_key;

    unsigned workers;         /* [four a CPU, at least 8] */
    size_t worker_stack;      /* bytes [4 MiB], never less */
    unsigned queue_max;       /* requests waiting for a worker [256]; beyond: 503 */
    size_t body_max;          /* bytes of one body [16 MiB]; beyond: 413 */
    size_t bodies_max;        /* bytes of all bodies held [64 MiB]; beyond: 503; half
                               of it is for one caller, an eighth for small ones */
    unsigned connections_max; /* open at a time, without streams [1024] */
    unsigned streams_max;     /* open at a time [what descriptors allow, up to 16384] */
    unsigned idle_s;          /* a silent connection is closed after [120] */
};

/* Listens and serves from when it returns; raises the process's limit of descriptors to
 * what the system allows. NULL and *e: ERR_INVALID (`listen` is not ADDRESS:PORT, or the
 * certificate's files are no such pair), ERR_NOT_FOUND (one of them is not there),
 * ERR_DENIED (it may not be read; or not a loopback address, and what that needs is
 * missing), ERR_CONFLICT (the port is taken) or ERR_IO. */
struct http_server *http_open(const struct http_options *o, struct err *e);
/* Breaks off whatever is under way for those of whom the option `stays` says no, as if
 * their clients had hung up: requests that wait or run, and streams. For when what was
 * granted has ended. */
void http_expel(struct http_server *s);
/* Does the system tell whose account a connection over loopback comes from? false: *e why;
 * then all are HTTP_UNKNOWN_ACCOUNT. Makes one to find out. */
bool http_tells_accounts(struct err *e);
/* Where it listens, with the real port: "http://127.0.0.1:41234", https, or "unix:/PATH". */
const char *http_url(const struct http_server *s);
/* Stops: no new connections, 503 for new requests, up to `drain_ms` for those that run
 * and wait; then they are cancelled and waited for, streams are told gone(), and their
 * http_stream_end() is waited for. NULL is fine. */
void http_close(struct http_server *s, unsigned drain_ms);
