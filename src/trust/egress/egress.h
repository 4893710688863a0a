/* egress/egress.h - a guest's way out: who may be reached, and fetch over HTTP.
 *
 * Deny by default. A request is let out where a rule names its host, scheme and port,
 * and the address that is then connected to is public, or was granted by itself: that
 * is checked on the socket, after all names were resolved, so neither DNS nor redirects
 * lead around it. Each redirect is one more request to the same checks.
 *
 * Secrets stay here: code names one ("{{secret:NAME}}" in a header's value), its value
 * is put in when the request leaves, for the hosts that it was given for, and taken out
 * of whatever comes back.
 * Source: the Fetch standard (redirects, refused headers); the IANA registries of
 * special-purpose addresses.
 */
#pragma once
#include "base/base.h"
#include "json/json.h"

/* ---- entries ------------------------------------------------------------ */

enum egress_scheme { EGRESS_HTTPS, EGRESS_HTTP, EGRESS_TCP, EGRESS_UDP, EGRESS_ICMP };
/* An entry of `hosts` or `allowPrivate` as it is written; `name` borrows from its text. */
struct egress_entry {
    enum egress_scheme scheme;
    bool says_scheme, says_port;
    bool below;      /* "*.NAME", or "*": every name */
    struct str name; /* behind the star, in any case, also "[V6]"; empty: every name */
    uint16_t port;   /* that it says, or is usual; of icmp:// 0 */
};
/* The one reader of entries, for policies and rules alike. NULL, or in words what is accepted (a
 * constant). Names are not checked further: egress_rules_read() does that. */
const char *egress_entry_read(struct str text, struct egress_entry *out);
/* The same of an entry of allowPrivate, with its address (IPv4 as ::ffff:a.b.c.d; zeros:
 * localhost). */
const char *egress_private_read(struct str text, struct egress_entry *out,
                                unsigned char address[static 16]);
/* Would a resolver take its name for an address? */
bool egress_entry_is_address(const struct egress_entry *n);

/* ---- rules -------------------------------------------------------------- */

/* Immutable once read. Threads: safe. */
struct egress_rules;

/* Reads the `network` part of a policy:
 *
 *   {"hosts": ["api.example.org", "*.example.com:8443", "http://old.example.org"],
 *    "allowPrivate": ["192.168.1.5:3000", "[fd00::5]:8080", "localhost:3000"],
 *    "secrets": {"GITHUB": {"env": "GITHUB_TOKEN", "hosts": ["api.github.com"],
 *                           "header": "Authorization", "format": "Bearer {}"}}}
 *
 * hosts: exact names, "*.NAME" for all below it but not itself, "*" for every public
 *     one; https unless http:// stands before it, port 443 (80) unless one is given.
 *     "tcp://NAME:PORT", "udp://NAME:PORT" and "icmp://NAME" are for egress_may_connect() alone.
 * allowPrivate: an address of this machine or its networks, with its port; http and
 *     https to that very address are allowed by it, too, but where tcp://, udp:// or icmp:// (no
 *     port) stands before it. Metadata services cannot be.
 * secrets: the value itself ("value"), a variable ("env") or a file of the user's
 *     ("file", absolute); where it may go ("hosts", as above). With "header" it goes
 *     into this one alone, and by itself into every request to its hosts that does not
 *     set it; "format" then says how ("{}" is the value).
 *
 * NULL and ERR_INVALID (says which entry), ERR_LIMIT. NULL `network` denies all. */
struct egress_rules *egress_rules_read(const struct json *network, struct err *e);
/* Rules of the program's own, not of a policy: lets out what goes where `url` does (the
 * same scheme, host and port), and nothing else. `near`: whatever the address is that its
 * name has, but those of metadata services. ERR_INVALID. */
struct egress_rules *egress_rules_one(struct str url, bool near, struct err *e);
void egress_rules_free(struct egress_rules *r); /* NULL is fine */
SCOPED(egress_rules, egress_rules_free);

/* ---- connections that somebody else makes ------------------------------- */

enum egress_kind { EGRESS_STREAM, EGRESS_DATAGRAMS, EGRESS_ECHO };
/* Whom it is to lead to. */
struct egress_peer {
    enum egress_kind kind;    /* TCP, UDP, or ICMP's echo: its port is 0 */
    const char *const *names; /* that this address was the resolver's answer to */
    size_t name_count;
    const unsigned char *address; /* 16 bytes; IPv4 as ::ffff:a.b.c.d */
    uint16_t port;
};
/* What has to be spoken there: where a rule stands for one name at an address that many may share,
 * its first bytes have to name the server (egress_may_speak). */
enum egress_speaks { EGRESS_SPEAKS_ANYTHING, EGRESS_SPEAKS_TLS, EGRESS_SPEAKS_HTTP };
/* May the resolver be asked for this name? It is, if a rule names it with any port. false and
 * ERR_DENIED, or ERR_INVALID: it is no name. Never an address. */
bool egress_may_resolve(const struct egress_rules *r, const char *name, struct err *e);
/* May a socket be connected to this address and port? If a rule names one of its names, or the
 * address itself, with that port, and the address is one that fetch would connect to. `own_port`
 * as in struct egress_options. The socket has to be connected to these very bytes. ERR_DENIED. */
bool egress_may_connect(const struct egress_rules *r, const struct egress_peer *p,
                        uint16_t own_port, enum egress_speaks *speaks, struct err *e);
/* May TLS, or HTTP, with the server of this name go through such a connection? ERR_DENIED. */
bool egress_may_speak(const struct egress_rules *r, const char *name, uint16_t port,
                      enum egress_speaks speaks, struct err *e);

/* ---- requests ----------------------------------------------------------- */

#define EGRESS_URL_MAX ((size_t)16 << 10) /* bytes */
#define EGRESS_HEADERS_MAX 100u           /* of a request */

enum egress_redirect { EGRESS_FOLLOW, EGRESS_MANUAL, EGRESS_ERROR };

struct egress_header {
    struct str name, value;
};

struct egress_request {
    struct str method, url;
    const struct egress_header *headers;
    size_t header_count;
    struct str body;
    bool has_body;
    enum egress_redirect redirect;
    uint32_t id; /* for egress_abort(); 0: cannot be aborted */
};

/* Texts are UTF-8, the body any bytes. */
struct egress_response {
    int status;
    bool redirected;
    struct buf status_text, url;
    struct buf headers; /* JSON: [["name", "value"], ...], names in lower case */
    struct buf body;    /* decompressed */
    bool
        as_it_came; /* of a stream: the body is neither decompressed nor searched for secrets */
};
void egress_response_init(struct egress_response *r);
void egress_response_done(struct egress_response *r);

/* A request of those that a fetch consists of: told when it is over, or refused. */
struct egress_hop {
    const char *method, *scheme, *host;
    unsigned port;
    int status; /* 0: there was no answer */
    uint64_t began_ns, sent_bytes, received_bytes;
    enum err_code outcome; /* ERR_NONE: answered */
    const char *why; /* of an answer that broke off under way: in words; else NULL */
};

/* The thread that drives requests on their way, of any sessions; begun with the first.
 * Threads: safe. Freed when no session that has it is open. */
struct egress_loop;
struct egress_loop *egress_loop_new(void);
void egress_loop_free(struct egress_loop *l); /* NULL is fine */

struct egress_options {
    const struct egress_rules *rules; /* outlives it; NULL: all is refused */
    uint16_t own_port; /* where this program listens: never reached. 0: nowhere */
    const struct cancel *cancel; /* looked at while waiting; may be NULL */
    struct egress_loop *loop;    /* for egress_begin(); NULL: it waits itself */
    /* Called on the thread of the fetch, or that looks at it; `hop` holds until it returns. */
    void (*tell)(void *arg, const struct egress_hop *hop);
    void *tell_arg;
    /* 0: the defaults behind them. */
    uint32_t fetches_max;   /* 100, redirects not counted */
    uint32_t redirects_max; /* 10 of one fetch */
    uint64_t fetch_ms;      /* 30,000 for one fetch, redirects included */
    size_t request_max;     /* 4 MiB of a request's body */
    size_t response_max; /* 8 MiB of a response's body, decompressed; not of a stream's */
    uint64_t silence_ms; /* an hour in which a stream brings no byte */
    size_t headers_max;  /* 64 KiB of headers, either way */
    /* NULL, or "HOST:PORT:ADDRESS" rows and a NULL: names that are not asked of the
     * resolver. The address is checked like any other. */
    const char *const *resolve;
};

/* An evaluation's requests. Connections are kept within it and ended with it. Threads:
 * safe; egress_close() when no fetch is running any more. */
struct egress;
struct egress *egress_open(const struct egress_options *o);
void egress_close(struct egress *g); /* NULL is fine */
SCOPED(egress, egress_close);

/* Waits for the whole answer. false and *e: ERR_DENIED (rules, addresses), ERR_INVALID
 * (URL, method, headers), ERR_NOT_FOUND (a secret that is not there), ERR_LIMIT (sizes,
 * number), ERR_TIMEOUT, ERR_CANCELLED (also by egress_abort) or ERR_IO (network, TLS).
 * A status such as 404 is an answer. */
bool egress_fetch(struct egress *g, const struct egress_request *q,
                  struct egress_response *out, struct err *e);
/* The same without a thread that waits: `wake` is called whenever it is time to look, with
 * locks of this room held: it calls nothing here. The texts of `q` are borrowed until
 * egress_end(). NULL and *e: nothing is to be ended. */
struct egress_trip;
struct egress_trip *egress_begin(struct egress *g, const struct egress_request *q,
                                 struct egress_response *out, void (*wake)(void *arg),
                                 void *arg, struct err *e);
/* Goes on with it; true: it is over. */
bool egress_look(struct egress_trip *t);
/* As egress_fetch(), and frees it. One that is not over is called off. */
bool egress_end(struct egress_trip *t, struct err *e);
/* Ends the fetch of this id, or the one that will come with it. */
void egress_abort(struct egress *g, uint32_t id);

/* ---- a proxy -------------------------------------------------------------- */

/* An HTTP proxy for programs that may use secrets, but not have them: a request to an http:// URL is
 * made as a fetch, in whose headers {{secret:NAME}} works. It goes over https where a rule names
 * the server so, else over http. A connection has requests one after the other, of egress_options'
 * sizes, and ends after 15 s without one; CONNECT is refused. Answers are passed on as they come, of
 * any length: one that breaks off ends the connection before its end. To HTTP/1.0
 * they are sent when they are whole. Threads: safe. */
struct egress_proxy;
struct egress_proxy_client {
    /* The rules of a request, which the proxy frees. NULL and *why: it is refused. */
    struct egress_rules *(*rules)(void *arg, bool *reads_only, struct err *why);
    void (*tell)(void *arg,
                 const struct egress_hop *hop); /* as in struct egress_options */
    void (*done)(void *arg); /* nothing is asked of it any more; may be NULL */
    void *arg;               /* also says which connections are one machine's */
    uint16_t own_port;       /* as in struct egress_options */
};
struct egress_proxy *egress_proxy_new(void);
void egress_proxy_free(struct egress_proxy *p); /* cancels all, and waits; NULL is fine */
/* Answers one connection on a thread of its own, and closes the socket. Of 128, 32 of them one
 * machine's, one that waits for another request makes place. false: all are busy, or there is no thread; the socket is still the
 * caller's. */
bool egress_proxy_take(struct egress_proxy *p, int fd,
                       const struct egress_proxy_client *c);
