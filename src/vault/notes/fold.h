/* notes/fold.h - what a name is to file systems that know neither case nor normal form.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "base/base.h"

/* Appends the name decomposed (NFD) and with simple case folding, one character for one:
 * "ß" and "ss" stay two names, as on the file systems of macOS and Windows. A name that is
 * no UTF-8, or longer than a path, is appended as it is. */
void fold_put(struct str name, struct buf *out);
/* Does the name fold to `folded`, which fold_put() made? */
bool fold_is(struct str name, struct str folded);
