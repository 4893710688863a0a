/* vm/keep.h - a bounded copy of a stream: its first part and its last.
 *
 * Private to the room vm. Threads: one at a time. */
#pragma once
#include "base/base.h"

struct keep {
    size_t max;      /* bytes, of both parts together */
    struct buf head; /* the first half */
    struct buf tail; /* a ring, once it has `max` / 2 bytes */
    size_t ring_at;  /* its oldest byte */
    uint64_t all;    /* bytes in all */
};

void keep_init(struct keep *k, size_t max);
void keep_done(struct keep *k);
void keep_put(struct keep *k, struct str bytes);
/* Writes both parts into `out`, which the caller frees; no UTF-8 character is split.
 * Returns the number of bytes left out between them, after the first `*gap`. */
uint64_t keep_end(struct keep *k, struct buf *out, size_t *gap);
