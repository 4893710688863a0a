/* vm/keep.h - what is kept of a stream that may be long: its first part and its last.
 *
 * Private to the room vm. Threads: one at a time.
 */
#pragma once
#include "base/base.h"

struct keep {
    size_t max;      /* bytes, of both parts together */
    struct buf head; /* the first half */
    struct buf tail; /* a ring, once it has `max` / 2 bytes */
    size_t ring_at;  /* the oldest byte of it */
    uint64_t all;    /* bytes that came */
};

void keep_init(struct keep *k, size_t max);
void keep_done(struct keep *k);
void keep_put(struct keep *k, struct str bytes);
/* The parts, into `out`, which the caller ends; no character of UTF-8 is cut in two.
 * Answers the bytes between them that are not there, and where: `*gap` bytes in. */
uint64_t keep_end(struct keep *k, struct buf *out, size_t *gap);
