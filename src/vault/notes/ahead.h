/* notes/ahead.h - notes as the index reads them: one at once, or many in a row with
 * a thread that reads ahead of whoever writes them down.
 *
 * Threads: one caller at a time. Private to the room notes.
 */
#pragma once
#include "notes/markdown.h"
#include "notes/vault.h"

/* A note's file, read and cut. */
struct reading {
    const char *path; /* the caller's */
    bool found;       /* is there such a note? */
    bool ok;          /* else `why` tells: the file cannot be read, or is too large */
    struct err why;
    struct os_stat st; /* of the file; not known where it could not be opened */
    struct note note;  /* when found and ok; borrows from all below */
    struct link_list links;
    struct buf bytes, tags, tag_words, metadata; /* JSON; tag_words: to be searched */
    struct buf properties, cut;                  /* of note_put_short_properties() */
    struct arena *arena;
};

void reading_init(struct reading *r);
void reading_done(struct reading *r);
/* Reads the note; what was in `r` before is dropped. */
void reading_take(struct reading *r, struct vault *v, const char *path);

/* Reads these paths, which outlive it, in their order. Never NULL. */
struct ahead *ahead_start(struct vault *v, const char *const *paths, size_t count);
/* The next one, until the call after; not to be called more often than there are
 * paths. */
const struct reading *ahead_next(struct ahead *a);
void ahead_stop(struct ahead *a); /* NULL is fine; what is unread stays so */
SCOPED(ahead, ahead_stop);
