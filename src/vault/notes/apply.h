/* notes/apply.h - makes the files what a change in the journal says.
 *
 * Every step is idempotent: it looks at what is there and does what is missing, so
 * that a crash at any moment is ended by doing it all once more. A file that holds
 * neither what was expected nor what is wanted is another program's and stays.
 *
 * Threads: the vault's write lock is held. Private to the room notes.
 */
#pragma once
#include "notes/history.h"

#define APPLY_STAGE HISTORY_DIR "/stage" /* drafts on their way, and what they replaced */

/* From one state of a file to another: "" for from is a new note, from = to a new
 * content, from != to a move (to the trash, too), "" for to a removal. */
struct step {
    const char *from, *to;
    char old_hash[HASH_SIZE], new_hash[HASH_SIZE]; /* "": no file */
    const struct str *fresh; /* the new content; NULL: the store has it */
    size_t number;           /* of the note in its change */
    bool is_aside;           /* the first of the note's two steps: see steps.h */
};

/* Identifies a file's content: by its hash, or, where it cannot be read (too
 * large, no permission), inode, size and time. "": no file. */
bool apply_look(struct vault *v, const char *path, char id[static HASH_SIZE],
                struct os_stat *st, struct err *e);

/* The folders that the file at `path` lies in. */
bool apply_make_folder(const struct vault *v, const char *path, struct err *e);

/* Does all the steps and makes them lasting, or none: ERR_CONFLICT when another
 * program's file is in the way. */
bool apply_all(struct vault *v, struct db *db, const struct step *steps, size_t count,
               struct err *e);

/* The files are as they were: the history, too, forgets the steps, and all revisions
 * behind the id `before`. What was found on disk stays in it. */
bool apply_forget(struct db *db, const struct step *steps, size_t count, int64_t before,
                  struct err *e);

/* Ends what a crash left pending; nothing is fine. */
bool apply_pending(struct vault *v, struct history *h, struct db *db, struct err *e);
/* Marks the pending change as done. */
bool apply_done(struct history *h, struct db *db, struct err *e);
