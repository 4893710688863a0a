/* notes_api/internal.h - shared by the sources of this room. Private to the room. */
#pragma once
#include "evaluation/evaluation.h"
#include "notes/notes.h"
#include "performing/performing.h"
#include "json/json.h"

struct calling;
struct evaluation;
struct json;

extern const struct route_group note_routes, finding_routes, change_routes, past_routes,
    one_note_routes;

/* The content_hash that the code last read of this note, by any of its names; empty:
 * never. Threads: safe. */
struct str seen_hash(struct evaluation *v, struct str name);
/* The same of work within a script: as the script's own requests have last been told it. Until
 * the script ends. */
struct str work_seen(const struct work *w, struct str note);
/* Notes the versions in the answer of a call that is done, also by the name that the code
 * used. `made`: of notes that it created, too. Best effort: without it the code has to
 * pass a hash. Threads: safe. */
void seen_note(struct calling *x, bool made);
/* The same of a change of the hierarchy: the parent's new hash. */
void seen_relisted(struct calling *x);
/* The options with what the code may leave out: the identifier, and the hash last read of
 * the note `name`. */
const struct json *seen_complete(struct evaluation *v, const struct json *o,
                                 struct str name, struct arena *a, struct err *e);
