/* performing/internal.h - shared by the sources of this room. Private to the room. */
#pragma once
#include "evaluation/evaluation.h"
#include "json/json.h"

struct calling;

/* Performs a call whose v, task and within the caller has set. Without a task it has
 * ended on return, and x->outcome has its effects. */
bool calling_perform(struct calling *x, uint32_t row, struct str args, struct buf *out,
                     struct err *e);
/* Performs one call. A call that is busy had no effect: it is retried a few times, for
 * two seconds at most. */
bool call_with_retries(struct calling *x, struct buf *out, struct err *e);
/* Notes a host call's failure or success for advice and notices. Threads: safe. */
void advice_failed(const struct calling *x, const struct err *why);
void advice_done(const struct calling *x);
