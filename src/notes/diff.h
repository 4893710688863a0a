/* notes/diff.h - two texts line by line, as a unified diff.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "base/base.h"

/* Appends hunks ("@@ -1,3 +1,4 @@" and lines behind ' ', '-', '+') with three lines of
 * context, none where the texts are equal; "\ No newline at end of file" as usual. The
 * shortest diff for up to some hundred differing lines; beyond, what differs is one
 * block. false: it was cut behind `max` bytes, at the end of a line. */
bool diff_put(struct str old, struct str now, size_t max, struct buf *out);
