/* results/internal.h - shared by the sources of this room. Private to the room. */
#pragma once
#include "base/base.h"

struct caller;
struct results;

/* Appends at most `limit` bytes from `offset`, which is moved to the next character
 * boundary; *next is where the rest begins, *total the whole size. false and
 * ERR_NOT_FOUND: this caller has none of this name (any more); ERR_INVALID: `offset` is
 * beyond the end. */
bool results_read(struct results *r, const struct caller *who, struct str uri,
                  size_t offset, size_t limit, int64_t now_ms, struct buf *out,
                  size_t *next, size_t *total, struct err *e);
