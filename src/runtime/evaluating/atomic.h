/* evaluating/atomic.h - code that changes all or nothing. Private to the room.
 */
#pragma once
struct evaluation;
struct json_writer;

/* The code has failed, and none of its calls runs any more: undoes what it changed in notes, and
 * writes the pair "atomic": {undone (notes), refused: [{id, why ...}, changed by others since], error?
 * (why nothing was undone in some vault)}. */
void atomic_put(struct evaluation *v, struct json_writer *w);
