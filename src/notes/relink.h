/* notes/relink.h - the links to a note that gets another name or place, rewritten.
 *
 * In other notes and in the note itself, and the entries of its parents' `subnotes`;
 * nothing else changes by a byte. A link that still leads to the note stays as it is. Of
 * [[...]] the form stays (id, path, file name or title), the heading and the label with
 * it; where that form would mean several notes, the id is taken. The note's own relative
 * links, images too, go on to lead where they did.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "notes/change.h"

struct relink {
    struct vault *v;
    struct change *c;
    struct note old;  /* as it was */
    const char *path; /* its new one */
    struct str title; /* its new one */
    /* What came of it: */
    size_t notes, links;
};

/* To be called after the note has its new bytes and before it is moved (in the change).
 * ERR_CONFLICT: links that lead to other notes would not any more, because the note has
 * now a name of theirs; the message says which. */
bool relink_run(struct relink *r, struct err *e);
