/* actions/shorten.h - an answer that is too large, told in part.
 *
 * Threads: safe. Private to the room actions.
 */
#pragma once
#include "base/base.h"

/* Appends the JSON value with its long strings cut and, where that is not enough, the
 * ends of its long arrays and objects left out, so that it has at most `most` bytes: what
 * is left has the type that it had, in its place. A string that was cut says so at its
 * end. false and ERR_OUTPUT: that does not do; ERR_LIMIT: no memory. */
bool shorten(struct str json, size_t most, struct buf *out, struct err *e);
