/* performing/internal.h - what the sources of this room share. Private to the room. */
#pragma once
#include "evaluation/evaluation.h"
#include "json/json.h"

struct calling;

/* The same as one that its caller has begun: x->v, task and within are set. Without a task it
 * has ended when this returns, and x->outcome tells how. */
bool calling_perform(struct calling *x, uint32_t row, struct str args, struct buf *out,
                     struct err *e);
/* Performs one call. What is busy has done nothing yet: it is asked again a few times,
 * for two seconds at most, since its caller could only do the same. */
bool call_patiently(struct calling *x, struct buf *out, struct err *e);
/* A host call has failed, or is done: remembered for what follows. Threads: safe. */
void advice_failed(const struct calling *x, const struct err *why);
void advice_done(const struct calling *x);
