/* notes/steps.h - the order in which the steps of a change can be done.
 *
 * A note goes where another has been: the other leaves first. Where they go round in a
 * ring (A becomes B, and B becomes A), one is put aside into a place of the trash, from
 * where it takes the last step; its new content it gets at once.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "notes/apply.h"

/* Sorts; may make two steps of one, so that there must be room for twice the count. The
 * texts stay borrowed. false and *e: ERR_INVALID (a name too long), ERR_LIMIT. */
bool steps_sort(struct step *steps, size_t *count, int64_t now_ms, struct arena *a,
                struct err *e);
