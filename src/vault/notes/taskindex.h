/* notes/taskindex.h - writes a note's tasks into the index. Threads: one, in a transaction for
 * writing. Private to the room notes. */
#pragma once
#include "db/db.h"
#include "notes/vault.h"

/* Of the note with this key of the index: drops those that it has, if `known`, and adds what its
 * text has now. */
bool taskindex_write(struct db *db, int64_t key, const struct note *n, bool known,
                     struct err *e);
