/* notes/attachmove.h - a file that is no note gets another path, and the links to it follow.
 *
 * Threads: as the change. Private to the room notes.
 */
#pragma once
#include "notes/change.h"

struct attachmove {
    struct vault *v;
    struct change *c;
    const char *from, *to; /* paths; as long as the change lasts */
    /* The outcome: */
    size_t notes, links;
};

/* Moves the file within the change. Links in notes and canvases keep their form: by path,
 * relative or from the root, or by the file's name alone, unless another file has that one.
 * ERR_CONFLICT: the path is taken, or links to another file would lead to this one;
 * ERR_NOT_FOUND. */
bool attachmove_do(struct attachmove *m, struct err *e);
