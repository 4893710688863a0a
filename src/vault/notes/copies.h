/* notes/copies.h - a copy of a vault to try a change on, and putting the files that a program
 * made of a vault back into it.
 *
 * Threads: as the vault's.
 */
#pragma once
#include "notes/notes.h"

/* A copy to try things on. Files that are no notes have their names and sizes alone, until
 * vault_copy_files(). ERR_LIMIT: more than 100,000 files, or 512 MB of either kind; either
 * cancel (NULL is fine, as is NULL for both) ends the copying. */
struct vault_copy;
struct vault_copy *vault_copy_make(struct vault *of, struct cancel *const by[2],
                                   struct err *e);
/* A copy without notes: the types and their descriptions are there. */
struct vault_copy *vault_copy_empty(struct vault *of, struct err *e);
/* From now on it is always this moment in it; 0: the clock goes. Before the first call. */
void vault_set_clock(struct vault *v, int64_t now_ms);
void vault_copy_free(struct vault_copy *c); /* with its vault; NULL is fine */
struct vault *vault_copy_vault(struct vault_copy *c, const char **path); /* its own */
bool vault_copy_files(struct vault_copy *c, struct err *e);
/* -> the first 200 of *all: [{path, action, new_path?, id?, new_id?, diff?,
 * diff_truncated?}], by path; `diff` of a note: from what the vault has now. */
bool vault_copy_changes(struct vault_copy *c, size_t *all, struct json_writer *out,
                        struct err *e);

/* ---- what a program made of the files ----------------------------------- */
/* As vfs_changes(); `inode` and what follows: what it found, where that was there before. */
struct notes_file {
    struct str path, bytes; /* from the vault to it; of a file made or changed */
    enum notes_file_change { NOTES_MADE, NOTES_CHANGED, NOTES_REMOVED } change;
    bool folder, owner_only; /* the latter: a new file is 0600 */
    uint64_t inode, size;
    int64_t modified_ns, changed_ns; /* since 1970, as `since_ns` */
};
/* Keeps all of it or nothing: notes as one change set; what other files held goes to the
 * trash. ERR_CONFLICT: one is not what was found, or was changed since `since_ns`. */
bool notes_put_files(struct vault *v, const struct notes_file *files, size_t count,
                     int64_t since_ns, struct err *e);
