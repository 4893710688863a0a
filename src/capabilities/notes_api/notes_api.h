/* notes_api/notes_api.h - notes for code and as actions: notes.*, noteTypes.*, links.*,
 * hierarchy.*, relationships.*; and which versions an evaluation has seen. */
#pragma once
#include "capability/capability.h"

struct work;

extern const struct capability notes_capability;
/* Of work within a script: the content_hash of this note as the script's own requests have
 * last been told it; empty: never. Until the script ends. */
struct str work_seen(const struct work *w, struct str note);
