/* egress/internal.h - what the files of this room share. */
#pragma once
#include <curl/curl.h>

#include "egress/address.h"
#include "egress/egress.h"

/* ---- curl --------------------------------------------------------------- */

/* clang-format off */
#define CURL_FUNCTIONS(X) \
    X(global_init) X(free) X(easy_init) X(easy_cleanup) X(easy_reset) X(easy_setopt) \
    X(easy_getinfo) X(easy_strerror) X(multi_init) X(multi_cleanup) \
    X(multi_add_handle) X(multi_remove_handle) X(multi_perform) X(multi_poll) \
    X(multi_info_read) X(multi_setopt) X(multi_assign) X(multi_socket_action) \
    X(slist_append) X(slist_free_all) X(url) X(url_dup) \
    X(url_cleanup) X(url_get) X(url_set) X(url_strerror)
/* clang-format on */

/* Its functions by their own names, less "curl_"; to be called once curl_load() was
 * true. Never changes after that. */
struct curl_functions {
#define POINTER(name) __typeof__(curl_##name) *name;
    CURL_FUNCTIONS(POINTER)
#undef POINTER
    int (*idn_lookup)(const uint8_t *text, uint8_t **out, int flags); /* libidn2's */
};
extern struct curl_functions curl;
/* false and ERR_IO: it is not installed. */
bool curl_load(struct err *e);

/* ---- where a request goes ----------------------------------------------- */

#define HOST_MAX 256u /* a name of the DNS, dots included, and a NUL */

/* A URL, read once: what is matched is what is connected to. */
struct target {
    CURLU *url; /* target_done() */
    bool https;
    uint16_t port;
    char host[HOST_MAX]; /* lower case, punycode, no dot at its end; "[::1]" */
};
/* `base`, if there, is what a relative URL is relative to. false and ERR_INVALID;
 * then there is nothing to end. */
bool target_read(struct target *t, const struct target *base, struct str url,
                 struct err *e);
void target_done(struct target *t);
bool target_same_origin(const struct target *a, const struct target *b);
/* The URL as text, appended. false at the buf's ceiling. */
bool target_write(const struct target *t, struct buf *out);

/* ---- rules -------------------------------------------------------------- */

struct host_rule {
    char *name;                /* "" with `below`: every name */
    bool below;                /* what ends in .NAME, not NAME itself */
    enum egress_scheme scheme; /* but for the first two it is for machines alone */
    uint16_t port;
};
struct host_rules {
    struct host_rule *at;
    size_t count;
};

struct address_rule {
    struct address address;
    uint16_t port;
    enum egress_scheme scheme; /* HTTPS: TCP, and fetch */
    bool localhost;            /* it was granted by that name */
};

enum secret_source { SECRET_VALUE, SECRET_ENV, SECRET_FILE };
struct secret {
    char *name, *from;
    enum secret_source source;
    struct host_rules hosts;
    char *header; /* NULL: wherever the code puts it */
    char *format; /* with one "{}" */
};

struct egress_rules {
    struct arena *arena; /* holds all that follows */
    struct host_rules hosts;
    bool near; /* the hosts may have any address */
    struct address_rule *addresses;
    size_t address_count;
    struct secret *secrets;
    size_t secret_count;
};

const char *egress_scheme_text(enum egress_scheme s); /* "udp://" */
/* Reads a list of patterns into the rules' arena; `place` is named in errors. `web`: of http and
 * https alone. */
bool host_rules_read(struct host_rules *out, const struct json *list, const char *place,
                     bool web, struct arena *a, struct err *e);
/* Does it name this host, in the form that a target has it, whatever the port? */
bool rule_names(const struct host_rule *rule, const char *host);
/* `use`: EGRESS_HTTPS is that of fetch. */
bool address_rule_matches(const struct address_rule *rule, enum egress_scheme use,
                          const struct address *a, uint16_t port);
bool host_rules_match(const struct host_rules *rules, const struct target *t);
bool secrets_read(struct egress_rules *r, const struct json *secrets, struct err *e);

/* The name's part of the decision. false and ERR_DENIED. */
bool rules_allow_name(const struct egress_rules *r, const struct target *t,
                      struct err *e);
/* The address's part, when a socket is about to be made. NULL: allowed; else what
 * kind of address it is. */
const char *rules_refuse_address(const struct egress_rules *r, enum egress_scheme use,
                                 const struct address *a, uint16_t port);

/* ---- secrets of one session --------------------------------------------- */

/* The values, read when first needed; gone from memory at the end. */
struct keys {
    const struct egress_rules *rules;
    struct buf *values; /* one for each secret of the rules; empty: not there */
    struct err *why;    /* and then why */
};
void keys_open(struct keys *k, const struct egress_rules *rules);
void keys_close(struct keys *k);
/* Appends `text`, with the values of those secrets that it names. `header` is where it
 * goes. *used becomes true where one was put in. */
bool keys_fill(const struct keys *k, const struct target *to, const char *header,
               struct str text, struct buf *out, bool *used, struct err *e);
/* Appends "NAME: VALUE\n" for each secret that goes by itself to this host and whose
 * header is not in `lines` yet. */
bool keys_add(const struct keys *k, const struct target *to, struct buf *lines,
              struct err *e);
/* Puts "[secret:NAME]" in the place of every value in it, also of encoded ones.
 * false: the text would grow beyond its ceiling. */
bool keys_scrub(const struct keys *k, struct buf *text);
void keys_scrub_error(const struct keys *k, struct err *e);
bool keys_any(const struct keys *k); /* Is there a value that could be found? */

/* The same for a text that comes in pieces: what could be the beginning of a value is kept back
 * until more comes. */
struct sieve {
    const struct keys *keys; /* NULL: nothing is looked for */
    struct buf window;       /* what is searched again with the next piece */
    size_t sent, fresh;      /* bytes of it that were passed on, or not searched yet */
};
void sieve_init(struct sieve *s, const struct keys *k); /* `k` outlives it */
void sieve_done(struct sieve *s);
/* Appends what may be passed on; with the `last` piece, all. false: there is too much that could
 * be the beginning of a value (2 MiB), or no memory. */
bool sieve_put(struct sieve *s, struct str piece, bool last, struct buf *out);

/* ---- requests ----------------------------------------------------------- */

/* A name as HTTP has them (RFC 9110, 5.6.2)? */
bool is_token(struct str s);
/* Is it one that HTTP allows? Else ERR_INVALID. */
bool check_method(struct str method, struct err *e);
bool check_headers(const struct egress_request *q, size_t max, struct err *e);
/* The headers of one hop as lines "NAME: VALUE\n". `crossed`: a redirect has led to
 * another origin. */
bool write_headers(const struct egress_request *q, const struct keys *k,
                   const struct target *to, bool crossed, bool with_body,
                   struct buf *lines, struct err *e);
/* Is there a line of that name, in any case, among such lines? */
bool has_header(const struct buf *lines, const char *name);

/* ---- a hop -------------------------------------------------------------- */

/* A connection's home; kept for the session's next request. */
struct line {
    struct line *next;
    CURLM *multi;
    CURL *easy;
    struct egress_loop *loop; /* that drives its hop; else NULL */
    uint64_t due_ns;          /* when curl wants to be called */
};
struct line *line_open(struct err *e);
void line_close(struct line *l);

/* Takes what comes of an answer, instead of `out`. false: the hop ends, and *e says why. */
struct hop_taker {
    /* All headers are there. *streams: the body is given to body(), else to out->body. */
    bool (*head)(void *arg, bool *streams, struct err *e);
    bool (*body)(void *arg, struct str bytes, struct err *e);
    /* Asked now and then: may it go on? */
    bool (*goes_on)(void *arg, struct err *e);
    int fd; /* at whose hang-up goes_on() is asked at once */
    void *arg;
};

struct hop {
    const struct egress_options *options; /* its numbers are not 0 any more */
    const struct target *to;
    const char *method;
    const struct buf *lines; /* headers to send */
    struct str body;
    bool has_body;
    uint64_t until_ns;
    bool (*stopped)(void *arg);
    void *stopped_arg;

    struct egress_response *out;   /* status and body */
    struct buf *received;          /* header lines of the answer as they came */
    size_t header_bytes;           /* over all answers, 1xx too */
    const struct hop_taker *taker; /* or NULL; not with a loop */
    bool streams, head_over;
    uint64_t moved_ns;      /* when a stream brought its last byte */
    struct address address; /* that it was connected to last */
    uint16_t port;
    uint64_t began_ns;
    struct err why;     /* from inside curl's callbacks */
    struct err refused; /* an address of the name; it counts where none was allowed */
    bool opened;        /* a socket to one that was */
    uint64_t sent_bytes, received_bytes;

    /* While it is under way. */
    struct line *line;
    struct curl_slist *headers, *resolve;
    char detail[CURL_ERROR_SIZE];
    CURLcode code; /* what became of it */

    /* The loop's: the state is under its lock. */
    enum hop_state { HOP_NEW, HOP_UNDER_WAY, HOP_DONE } state;
    bool called_off;
    void (*wake)(void *arg); /* with the loop's lock held */
    void *wake_arg;
    struct hop *next;
};
/* Performs one request and reads its answer; redirects are answers. */
bool hop_run(struct hop *h, struct line *l, struct err *e);
/* Its parts: ready to be driven by curl; with `code` known, its end on the same thread; and
 * what came of it, on any. */
bool hop_begin(struct hop *h, struct line *l);
void hop_end(struct hop *h);
bool hop_outcome(struct hop *h, struct err *e);

/* ---- a stream ----------------------------------------------------------- */

/* Who takes an answer as it comes. */
struct egress_sink {
    int fd; /* a socket that all is sent to; a hang-up there calls the request off */
    /* Append to `out` what is to be sent: of an answer's beginning, which has no body yet, and of
     * some bytes of its body. Nothing is called for redirects that are followed. */
    void (*head)(void *arg, const struct egress_response *r, struct buf *out);
    void (*body)(void *arg, struct str bytes, struct buf *out);
    /* Asked each second while the answer comes: the rules as they are now, which the stream frees.
     * What they do not allow any more ends, as does one that gets NULL and *why. May be NULL. */
    struct egress_rules *(*rules)(void *arg, struct err *why);
    void *arg;
};
/* As egress_fetch(), but the body is passed on while it comes, as fast as it is taken, of any length;
 * the times of a fetch hold until it begins. *begun: something was sent, so a failure is for the
 * receiver to see by what is missing. ERR_CANCELLED: it takes no more. */
bool egress_stream(struct egress *g, const struct egress_request *q,
                   const struct egress_sink *sink, struct egress_response *out,
                   bool *begun, struct err *e);
/* What an answer is passed on by while it comes. Threads: one. */
struct stream;
struct stream *stream_new(const struct egress_sink *sink); /* `sink` outlives it */
void stream_free(struct stream *s);                        /* NULL is fine */
/* Whose it is: head() as in struct hop_taker; may_go_on() asks whether these rules still allow it. */
void stream_of(struct stream *s, bool (*head)(void *arg, bool *streams, struct err *e),
               bool (*may_go_on)(void *arg, const struct egress_rules *now,
                                 struct err *e),
               void *arg);
const struct hop_taker *stream_taker(const struct stream *s);
/* Sends the head; what follows is searched for these keys. Each false: ERR_CANCELLED, ERR_DENIED or
 * ERR_LIMIT. */
bool stream_begin(struct stream *s, const struct keys *k, const struct egress_response *r,
                  struct err *e);
bool stream_end(struct stream *s, struct err *e); /* sends what was held back */
bool stream_has_begun(const struct stream *s);

/* ---- the loop ----------------------------------------------------------- */

/* false and ERR_IO: there is no thread, or no descriptor, to be had. */
bool loop_submit(struct egress_loop *l, struct hop *h, struct line *line, struct err *e);
bool loop_is_done(struct egress_loop *l, struct hop *h);
/* It is done soon; called off unless it is done already. */
void loop_call_off(struct egress_loop *l, struct hop *h);
void loop_await(struct egress_loop *l, struct hop *h);

/* false: whatever is asked will be refused. */
bool egress_rules_any(const struct egress_rules *r);

/* Would a request for this URL leave, as far as its text tells? false and ERR_INVALID
 * (no URL that can be fetched) or ERR_DENIED. */
bool egress_allows(const struct egress_rules *r, struct str url, struct err *e);
