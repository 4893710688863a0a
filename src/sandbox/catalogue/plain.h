/* catalogue/plain.h - strangers' words, fit to be shown. Private to catalogue. */
#pragma once
#include "base/base.h"

/* Appends at most `max` bytes of valid UTF-8, whole characters: what moves a terminal's
 * cursor, ends a line, turns the direction of writing or cannot be seen becomes '?'. */
void plain_put(struct str s, size_t max, struct buf *out);
