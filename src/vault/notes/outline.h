/* notes/outline.h - a note's body cut into its sections of level 2, and the properties
 * that they are.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "notes/blocks.h"
#include "notes/vault.h"

#define SECTION_LEVEL 2u

struct section {
    const struct heading *heading;
    size_t end; /* where the next section, or a heading of level 1, begins */
};

/* The headings of a body, and which of them begin sections. */
struct outline {
    struct str body;
    struct heading *headings;
    size_t heading_count;
    struct section *sections;
    size_t count;
};

/* In the arena. ERR_LIMIT. */
bool outline_read(struct str body, struct arena *a, struct outline *o, struct err *e);
/* The text beneath the section's heading, trimmed. */
struct str outline_text(const struct outline *o, const struct section *s);

/* The value for the key "properties": an object of the sections' texts, the first of
 * several of one heading, and of the frontmatter's keys that no section has (those of
 * note_put_metadata()). Whatever the frontmatter is, and a body whose headings cannot be
 * told (ERR_LIMIT of outline_read()) has no sections. */
void note_put_properties(const struct note *n, struct arena *a, struct json_writer *w);

/* The same for the index: texts of more than this are cut and end in "...", and so is
 * what is more than PROPERTIES_MAX in all. The keys of what was cut go to `cut`, a JSON
 * array. */
#define PROPERTY_MAX 2000u    /* bytes of a section's text */
#define PROPERTIES_MAX 65536u /* bytes of all sections' keys and texts */
void note_put_short_properties(const struct note *n, struct arena *a,
                               struct json_writer *w, struct buf *cut);
