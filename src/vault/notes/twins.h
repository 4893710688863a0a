/* notes/twins.h - notes whose names differ only in case or Unicode normalization.
 *
 * Such notes are one file on macOS and Windows, and one link means both. No change makes a
 * second one; what a vault has already stays.
 *
 * Threads: a table belongs to its change. Private to the room notes.
 */
#pragma once
#include "base/base.h"

struct change;

/* The vault's names seen so far. A change that asks a few times looks through the
 * folders each time; one that asks often lists each folder once, into a table. */
struct twins {
    struct map folds; /* folded paths of notes and folders */
    struct twin *all; /* one for each path that was seen */
    size_t *newest;   /* by number of the fold: the last of its paths, plus 1 */
    size_t count, capacity, fold_capacity;
    size_t own;        /* how many of the change's own paths are in it */
    unsigned asked;    /* times */
    struct map listed; /* folded paths of folders whose contents are */
};
void twins_done(struct twins *t); /* a zeroed one is empty and fine */

/* *twin: a note other than `except` (a path, or NULL), and other than `path` itself, that
 * is there as the change has it, and whose name folds to what `path` folds to; NULL: none.
 * Valid while the change is. ERR_LIMIT: no memory, or no file handle. */
bool twins_find(struct change *c, const char *path, const char *except, const char **twin,
                struct err *e);
