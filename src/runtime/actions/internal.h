/* actions/internal.h - shared by the sources of this room. Private to the room. */
#pragma once
#include "place/place.h"
#include "services/services.h"
#include "json/json.h"

struct actions;
struct caller;

/* As actions_shown_state(), custom functions left out. */
uint64_t shown_tools_state(struct actions *a, const struct caller *who);
/* The description of a row, with what all parts tell; in a->schemas. NULL and *e. */
const char *parts_compose(struct actions *a, const struct action_row *row, struct err *e);
/* Appends evaluate_note_code's description without the parts that are not installed. */
void parts_describe(struct actions *a, const char *description, struct buf *out);
uint64_t parts_state(struct actions *a); /* changes when other parts are installed */
