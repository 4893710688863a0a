/* actions/meant.h - what is meant by the name of a tool that is not there.
 *
 * Private to the room actions.
 */
#pragma once
#include "actions/places.h"

/* Appends what does what `name` stands for, "ripgrep does that"; nothing where nobody knows.
 * `action`: it was called as an action, and may be a command-line tool or a custom function
 * of the place (NULL: of none); else it was to be a command-line tool. */
void meant_tell(struct actions *a, const struct place *place, unsigned vault,
                struct str name, bool action, struct buf *out);
