/* actions/internal.h - what the sources of this room share. Private to the room. */
#pragma once
#include "place/place.h"
#include "services/services.h"
#include "json/json.h"

struct actions;
struct caller;

/* As actions_shown_state(), whatever its custom functions are. */
uint64_t shown_tools_state(struct actions *a, const struct caller *who);
/* The description of evaluate_note_code without what is not there; appended. */
void parts_describe(struct actions *a, const char *description, struct buf *out);
uint64_t parts_state(struct actions *a); /* another number when others are installed */
