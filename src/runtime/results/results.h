/* results/results.h - what answers are too large for: results that are kept for a while,
 * answers that are told in part, and what a command printed.
 *
 * Who may read a result knows its name, which is random, and is the caller that it was
 * made for. Bounded: the oldest go when there are too many, of one principal or of all.
 * Threads: safe. */
#pragma once
#include "capability/capability.h"

/* A result that was too large for its answer, by the name that errorDetails.resource
 * gave to the same caller: its JSON, whole (at most 16 MiB; kept for 15 minutes). false
 * and ERR_NOT_FOUND. */
bool actions_resource(struct actions *a, const struct caller *who, struct str uri,
                      struct buf *out, struct err *e);

action_fn action_read_result;

#define RESULT_KEPT_MAX ((size_t)16 << 20)   /* bytes of one */
#define RESULTS_MAX 256u                     /* kept at once */
#define RESULTS_BYTES ((size_t)128 << 20)    /* together */
#define RESULTS_OWN_MAX 64u                  /* of one principal */
#define RESULTS_OWN_BYTES ((size_t)64 << 20) /* and together */
#define RESULTS_MS ((int64_t)15 * 60 * 1000) /* then it is forgotten */

#define RESULT_PREFIX "cloche://results/"
#define RESULT_URI 80u
struct results;
struct results *results_new(void);
void results_free(struct results *r); /* NULL is fine */

/* Keeps a copy for its caller and writes its name. false: it is larger than
 * RESULT_KEPT_MAX. `now_ms` is monotonic, as below. */
bool results_keep(struct results *r, const struct caller *who, struct str json,
                  int64_t now_ms, char uri[static RESULT_URI]);
/* Lets go of those that are too old. Cheap: for every call. */
void results_tidy(struct results *r, int64_t now_ms);
/* Appends the JSON value with its long strings cut and, where that is not enough, the
 * ends of its long arrays and objects left out, so that it has at most `most` bytes: what
 * is left has the type that it had, in its place. A string that was cut says so at its
 * end. false and ERR_OUTPUT: that does not do; ERR_LIMIT: no memory. */
bool shorten(struct str json, size_t most, struct buf *out, struct err *e);

#define STREAMS 2u
struct stream {
    struct str bytes; /* what is there: the first part and the last */
    uint64_t lost;    /* bytes between them */
    size_t gap;       /* bytes of the first part */
};

/* The members of an open object: stdout and stderr, in that order. */
void streams_put(const struct stream s[static STREAMS], struct json_writer *w);
/* "truncated", where something is left out. */
void streams_put_truncated(const struct stream s[static STREAMS], struct json_writer *w);
/* Appends the object with more of its streams left out, so that it has at most `most`
 * bytes. false and ERR_OUTPUT: its other members are too large for that. */
bool streams_shorten(struct str json, size_t most, struct buf *out, struct err *e);
