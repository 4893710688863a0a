/* notes/trash.h - where deleted notes lie: .cloche/trash/TIME-DIGITS/PATH.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include <limits.h>

#include "notes/vault.h"

#define TRASH_DIR OWN_DIR "/trash"

/* The name in the trash of a note that is deleted now. ERR_INVALID: it would be
 * too long. */
bool trash_name(const char *path, int64_t now_ms, char out[static PATH_MAX],
                struct err *e);
/* Is this a file of the trash? `original` is then the path that the note had, borrowed
 * from `path`. */
bool trash_is_path(struct str path, struct str *original);
/* Which of two such files was deleted first, by their names, as strcmp(). */
int trash_compare(const char *a, const char *b);
/* When it was deleted, to the second, by its name; 0: unknown. */
int64_t trash_time(struct str path);
