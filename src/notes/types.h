/* notes/types.h - what a type says about its notes, as the calls that write need it.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "notes/change.h"

#define TYPES_DIR OWN_DIR "/types"

/* May a note of this type have this metadata? `whole`: it is all that there is, so that
 * what is required must be there; else only what changes, null removes. Patterns are not
 * matched but looked up in the change's verdicts. A type without
 * a description allows everything. false and ERR_INVALID: the field, its value and what
 * is accepted; or that the description is damaged, and how to mend it. */
bool types_check(struct change *c, struct vault *v, struct str type,
                 const struct json *metadata, bool whole, struct err *e);

/* May a type have this name? false and ERR_INVALID. */
bool types_check_name(struct str name, struct err *e);
/* Where its description is, whether it is there or not. */
void types_path(struct str type, char path[static PATH_MAX]);
/* Is there such a type? false and ERR_NOT_FOUND, with the names there are. */
bool types_need(struct vault *v, struct str type, struct err *e);
