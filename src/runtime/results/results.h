/* results/results.h - results and output that are too large for an answer: whole results
 * kept for a while, shortened answers, and the output of commands.
 *
 * A result can be read by the caller it was made for, by its name, which is random.
 * Bounded: the oldest are evicted when there are too many, of one principal or of all.
 * Threads: safe. */
#pragma once
#include "capability/capability.h"

/* The whole JSON of a kept result, by the name that errorDetails.resource gave the same
 * caller (at most 16 MiB; kept for 15 minutes). false and ERR_NOT_FOUND. */
bool results_read_whole(struct actions *a, const struct caller *who, struct str uri,
                        struct buf *out, struct err *e);

action_fn action_read_result;

#define RESULT_KEPT_MAX ((size_t)16 << 20)   /* bytes of one result */
#define RESULTS_MAX 256u                     /* results at once */
#define RESULTS_BYTES ((size_t)128 << 20)    /* bytes of all */
#define RESULTS_OWN_MAX 64u                  /* results of one principal */
#define RESULTS_OWN_BYTES ((size_t)64 << 20) /* and their bytes */
#define RESULTS_MS ((int64_t)15 * 60 * 1000) /* until a result expires */

#define RESULT_PREFIX "cloche://results/"
#define RESULT_URI 80u
struct results;
struct results *results_new(void);
void results_free(struct results *r); /* NULL is fine */

/* Keeps a copy for its caller and writes its name. false: it exceeds RESULT_KEPT_MAX.
 * `now_ms` is monotonic, as below. */
bool results_keep(struct results *r, const struct caller *who, struct str json,
                  int64_t now_ms, char uri[static RESULT_URI]);
/* Frees expired results. Cheap enough for every call. */
void results_tidy(struct results *r, int64_t now_ms);
/* Appends the JSON value, shortened to at most `most` bytes: long strings are cut and, if
 * that is not enough, the ends of long arrays and objects left out; what remains keeps
 * its type and place. A string that was cut says so at its end. false and ERR_OUTPUT: it
 * cannot be shortened enough; ERR_LIMIT: no memory. */
bool shorten(struct str json, size_t most, struct buf *out, struct err *e);

#define STREAMS 2u
struct stream {
    struct str bytes; /* the first part and the last */
    uint64_t lost;    /* bytes left out between them */
    size_t gap;       /* bytes of the first part */
};

/* Members of an open object: stdout and stderr, in that order. */
void streams_put(const struct stream s[static STREAMS], struct json_writer *w);
/* Member "truncated", if bytes were left out. */
void streams_put_truncated(const struct stream s[static STREAMS], struct json_writer *w);
/* Shortens them until they take at most `room` bytes of JSON; what is left of each is in
 * `first` and `second`, which are as large as their bytes. */
void streams_fit(struct stream s[static STREAMS], size_t room, struct buf *first,
                 struct buf *second);
/* Appends the object with its streams shortened further, to at most `most` bytes. false
 * and ERR_OUTPUT: its other members alone exceed that. */
bool streams_shorten(struct str json, size_t most, struct buf *out, struct err *e);
