/* notes/excerpt.h - a short piece of a note's text around a place.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "base/base.h"

#define EXCERPT_BYTES 200u /* about: words are kept whole */

/* Appends the text around the `n` bytes at `at` in one line, "..." where it was cut.
 * Bytes that are no UTF-8 stay as they are. */
void excerpt_put(struct str text, size_t at, size_t n, struct buf *out);

/* The offset in `text` at which one of the words begins, in any ASCII case; the
 * first place of all. text.n: none does. *length is that of the word found. */
size_t excerpt_find(struct str text, const struct str *words, size_t count,
                    size_t *length);
