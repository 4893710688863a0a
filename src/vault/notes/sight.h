/* notes/sight.h - what a change tells whoever makes it without the right to read.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "notes/vault.h"

enum sight_of { SIGHT_NOTES, SIGHT_TYPES };

/* May the writer of this view not read them? */
bool sight_hides(const struct vault *v, enum sight_of what);
/* The pair {"hidden": "needs notes.get"}. */
void sight_put_hidden(enum sight_of what, struct json_writer *w);
/* Leaves of the failure of `call` its kind alone where the writer may not read them: its
 * words may quote what was read. ERR_BUSY stays. Answers false. */
bool sight_refuse(const struct vault *v, enum sight_of what, const char *call,
                  struct err *e);
