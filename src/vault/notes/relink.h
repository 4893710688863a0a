/* notes/relink.h - a note gets another name or place, and the links to it follow.
 *
 * In other notes and in the note itself, and the entries of its parents' `subnotes`;
 * nothing else changes by a byte. A link that still leads to the note stays as it is. Of
 * [[...]] the form stays (id, path, file name or title), the heading and the label with
 * it; where that form would mean several notes, the id is taken. The note's own relative
 * links, images too, go on to lead where they did.
 *
 * Its cost depends on the note's own text and on the links to it; in a session not on
 * the texts that hold those, but for the first time that each is met.
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
    /* The outcome: */
    size_t notes, links;
};

/* Moves the note, which has its new bytes by then: the index still knows it as it was,
 * because session_learn() was called before it got them. ERR_CONFLICT: links that lead to
 * other notes would not any more, because the note has now a name of theirs; the message
 * says which. */
bool relink_move(struct relink *r, struct err *e);
