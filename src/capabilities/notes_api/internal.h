/* notes_api/internal.h - what the sources of this room share. Private to the room. */
#pragma once
#include "evaluation/evaluation.h"
#include "notes/notes.h"
#include "performing/performing.h"
#include "json/json.h"

struct calling;
struct evaluation;
struct json;

/* The content_hash that a note was read with last, by any of its names; empty: never.
 * Threads: safe. */
struct str seen_hash(struct evaluation *v, struct str name);
/* The call is done: the versions that its answer tells are known from now on, by what the
 * code called the note, too. `made`: also of notes that it has made. Best effort: without it
 * the code is asked for a hash. Threads: safe. */
void seen_note(struct calling *x, bool made);
/* The same of a change of the hierarchy: the parent's new hash. */
void seen_relisted(struct calling *x);
/* The options as they came, with what the code may leave out: the identifier, and the
 * hash that was read last of the note `name`. */
const struct json *seen_complete(struct evaluation *v, const struct json *o,
                                 struct str name, struct arena *a, struct err *e);
