/* notes/anchors.h - places of notes that links name behind a '#': headings and blocks.
 *
 * As Obsidian compares them: a heading by its letters and digits, whatever the case, the
 * spaces and the signs, so that "[[x#My heading: a]]" and "[y](x.md#my-heading-a)" are one; a
 * block by its "^id", which stands at the end of a line. "[[x#A#B]]" names both headings.
 *
 * Threads: one. Private to the room notes.
 */
#pragma once
#include "db/db.h"
#include "notes/vault.h"

/* What is known of the notes that were asked about. */
struct anchors {
    struct arena *arena;
    struct map notes; /* by key; `of` by their numbers */
    struct anchors_of {
        struct map headings, blocks;
    } *of;
    size_t capacity;
    struct query *body;
};
void anchors_done(struct anchors *a); /* a zeroed one is fine */

enum anchor_outcome { ANCHOR_FOUND, ANCHOR_NO_HEADING, ANCHOR_NO_BLOCK };

/* Looks for the fragment in the note of the index. With *e set it is not known: ERR_LIMIT. */
enum anchor_outcome anchors_find(struct anchors *a, struct db *db, int64_t note,
                                 struct str fragment, struct err *e);
/* Do these two name one heading? */
bool anchor_is(struct str fragment, struct str heading);
