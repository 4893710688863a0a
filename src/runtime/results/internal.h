/* results/internal.h - what the sources of this room share. Private to the room. */
#pragma once
#include "base/base.h"

struct caller;
struct results;

/* Appends at most `limit` bytes from `offset` on, which lies between characters or is
 * moved to the next; *next is where the rest begins, *total the whole size. false and
 * ERR_NOT_FOUND: there is none of this name for this caller (any more); ERR_INVALID:
 * `offset` is behind its end. */
bool results_read(struct results *r, const struct caller *who, struct str uri,
                  size_t offset, size_t limit, int64_t now_ms, struct buf *out,
                  size_t *next, size_t *total, struct err *e);
