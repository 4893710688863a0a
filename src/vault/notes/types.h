/* notes/types.h - what a type says about its notes, as the calls that write need it.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "notes/change.h"

#define TYPES_DIR OWN_DIR "/types"
#define TYPES_DELETED_MOST \
    100u /* descriptions of deleted types that are kept, the last */
#define TYPES_DELETED_BYTES ((uint64_t)16 << 20) /* and what they may take */

/* A note that is to be written, and how it was. */
struct types_note {
    bool whole; /* all of it is checked, or what changes */
    const struct json
        *metadata; /* the frontmatter: as it shall be; with changes, as it was */
    const struct json *changes; /* merged into it, null removes; NULL: none */
    struct str body, old_body;
};

/* May a note of this type be so (typecheck.c)? Of a whole note what is required must be
 * there; of one that changes, what changes must fit, and what is required may not go. Patterns
 * are not matched but looked up in the change's verdicts. A type without a description allows
 * everything. false and ERR_INVALID: the field, its value and what is accepted; or that the
 * description is damaged, and how to mend it. */
bool types_check(struct change *c, struct vault *v, struct str type,
                 const struct types_note *n, struct err *e);

/* Appends the text of a type's description; *found tells whether there is one. */
bool types_read(struct vault *v, struct str type, struct buf *out, bool *found,
                struct os_stat *st, struct err *e);
/* May a type have this name? false and ERR_INVALID. */
bool types_check_name(struct str name, struct err *e);
/* The path of its description, whether it is there or not. */
void types_path(struct str type, char path[static PATH_MAX]);
/* A type was made, changed or removed, or rather its description; `before` and `after` (or
 * NULL) are the texts. */
void types_tell(struct vault *v, struct str name, enum effect_deed deed,
                const struct buf *before, const struct buf *after);
/* Does a file describe it, whether it has notes or not? What cannot be read does not. */
bool types_is_described(struct vault *v, struct str type);
/* Is there such a type? false and ERR_NOT_FOUND, with the names there are. */
bool types_need(struct vault *v, struct str type, struct err *e);

/* The fields that the notes of each type have (typefields.c), in the arena: {type: {fields: [{name, type,
 * notes}], omitted}}, those that most notes have first. `type` is inferred of all values: a
 * word of schemas, "any" where they differ; `omitted`: how many more there are. ERR_LIMIT. */
const struct json *types_fields(struct vault *v, struct arena *a, struct err *e);
