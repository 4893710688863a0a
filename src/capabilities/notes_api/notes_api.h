/* notes_api/notes_api.h - the capability of notes, in code and as actions: notes.*,
 * noteTypes.*, links.*, hierarchy.*, relationships.*; and the note versions that an
 * evaluation has seen. */
#pragma once
#include "capability/capability.h"

extern const struct capability notes_capability;
