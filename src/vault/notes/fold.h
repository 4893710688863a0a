/* notes/fold.h - what a name is to file systems that know neither case nor normal form.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include <limits.h>

#include "base/base.h"

/* Appends the name decomposed (NFD) and with simple case folding, one character for one:
 * "ß" and "ss" stay two names, as on the file systems of macOS and Windows. A name that is
 * no UTF-8, or longer than a path, is appended as it is. */
void fold_put(struct str name, struct buf *out);
/* The same, in place of what `out` held. Valid until it is written to again. */
struct str fold_key(struct str name, struct buf *out);
#define FOLD_KEY_MAX (8 * PATH_MAX) /* of `out` */
/* Does the name fold to `folded`, which fold_put() made? */
bool fold_is(struct str name, struct str folded);
