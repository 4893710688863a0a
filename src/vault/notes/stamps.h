/* notes/stamps.h - one sum over all files of a walk: their paths, sizes, times and inodes.
 *
 * The index keeps the sum of a walk in which every row agreed with its file. A later walk
 * with the same sum has seen the same files, so that no row need be compared.
 * Threads: one at a time. Private to the room notes.
 */
#pragma once
#include "notes/index.h"

struct stamps {
    uint64_t keys[2][2], sum[2]; /* the order in which files are added does not matter */
    uint64_t known[2];           /* the sum that the index keeps */
    bool has_known;
    int64_t written; /* how often rows were written when this began */
};

/* Reads what the index keeps. ERR_IO and the like, of the database. */
bool stamps_begin(struct stamps *s, struct db *db, struct err *e);
void stamps_add(struct stamps *s, struct str path, const struct os_stat *st);
/* Do the rows agree with the files that were added, as far as the index remembers? */
bool stamps_are_known(const struct stamps *s);
/* The rows agree with the files that were added: remembered, unless a row was written since
 * stamps_begin(). A failure costs the next walk its time alone. */
void stamps_keep(const struct stamps *s, struct db *db);
/* Part of every transaction that writes rows of notes. */
bool stamps_forget(struct db *db, struct err *e);
