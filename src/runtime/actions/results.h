/* actions/results.h - results that were too large for their answer, kept for a while so
 * that they can be read in pieces.
 *
 * Who may read one knows its name, which is random, and is the caller that it was made
 * for. Bounded: the oldest go when there are too many, of one principal or of all.
 * Threads: safe. Private to the room actions.
 */
#pragma once
#include "actions/calls.h"

#define RESULT_KEPT_MAX ((size_t)16 << 20)   /* bytes of one */
#define RESULTS_MAX 256u                     /* kept at once */
#define RESULTS_BYTES ((size_t)128 << 20)    /* together */
#define RESULTS_OWN_MAX 64u                  /* of one principal */
#define RESULTS_OWN_BYTES ((size_t)64 << 20) /* and together */
#define RESULTS_MS ((int64_t)15 * 60 * 1000) /* then it is forgotten */

#define RESULT_PREFIX "cloche://results/"
#define RESULT_URI sizeof(((struct evaluation *)0)->resource)

struct results;
struct results *results_new(void);
void results_free(struct results *r); /* NULL is fine */

/* Keeps a copy for its caller and writes its name. false: it is larger than
 * RESULT_KEPT_MAX. `now_ms` is monotonic, as below. */
bool results_keep(struct results *r, const struct caller *who, struct str json,
                  int64_t now_ms, char uri[static RESULT_URI]);

/* Lets go of those that are too old. Cheap: for every call. */
void results_tidy(struct results *r, int64_t now_ms);

/* Appends at most `limit` bytes from `offset` on, which lies between characters or is
 * moved to the next; *next is where the rest begins, *total the whole size. false and
 * ERR_NOT_FOUND: there is none of this name for this caller (any more); ERR_INVALID:
 * `offset` is behind its end. */
bool results_read(struct results *r, const struct caller *who, struct str uri,
                  size_t offset, size_t limit, int64_t now_ms, struct buf *out,
                  size_t *next, size_t *total, struct err *e);
