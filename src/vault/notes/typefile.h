/* notes/typefile.h - the text that describes a type of notes, for people and agents:
 * .cloche/types/NAME.md.
 *
 *     # meeting
 *
 *     ## Purpose
 *     Notes on what was said.
 *
 *     ## Agent Instructions
 *     - Link to everyone who was there.
 *
 *     ## Metadata Schema
 *     ```json
 *     {"type": "object", "properties": {"date": {"type": "string"}}}
 *     ```
 *
 * Sections may come in any order; others, and all else, stay as they are.
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "base/base.h"
#include "json/json.h"

#define TYPEFILE_MAX (1u << 20) /* bytes */

enum typefile_part { PART_PURPOSE, PART_INSTRUCTIONS, PART_SCHEMA, PART_COUNT };

struct typefile {
    struct str purpose;         /* trimmed; without a section, what stands first */
    struct str instructions;    /* trimmed */
    const struct json *schema;  /* as it was given; NULL: none, or see `damage` */
    const struct json *checked; /* what schema_read() made of it */
    char damage[400];           /* why there is no schema, "" if nothing is wrong */
};

/* Any text will do. Borrows from it and lives in the arena; false only with
 * ERR_LIMIT. */
bool typefile_read(struct str text, struct arena *a, struct typefile *out, struct err *e);
/* "string" or, where all of it is one list, ["item", ...]. */
void typefile_put_instructions(const struct typefile *t, struct json_writer *w);

/* Appends the text with one part replaced, or added where it has none. An empty part is
 * taken away. */
void typefile_replace(struct str text, enum typefile_part part, struct str with,
                      struct buf *out);

/* Appends what stands in the section: a string as it is, an array as a list.
 * ERR_INVALID: `field` is named; a heading that would end the section, a code block that
 * does not end, another type. */
bool typefile_section(const struct json *given, const char *field, struct buf *out,
                      struct err *e);
/* The same for a schema, which schema_read() has accepted. */
void typefile_schema_section(const struct json *schema, struct buf *out);
