/* catalogue/manifest.h - a tool's manifest: checked, and taken apart.
 *
 * docs/tool-manifest.schema.json is what it is checked by: that very text is in the
 * program. What the schema cannot say (a default is of its parameter's type, what is
 * required is there) is checked behind it. Private to catalogue.
 */
#pragma once
#include "catalogue/catalogue.h"

#define MANIFEST_MAX ((size_t)256 << 10)   /* bytes */
#define MANIFEST_MEMORY (8 * MANIFEST_MAX) /* to read one */

/* Appends the manifest without the fields that nobody knows, and tells in `notes` of
 * those and of all that is wrong. false and ERR_INVALID, its message as many of the
 * errors as fit; ERR_LIMIT. */
bool manifest_check(struct str text, struct tool_notes *notes, struct buf *clean,
                    struct err *e);

/* Fills in what the manifest says; the strings live in the arena, the manifest is only
 * borrowed. What is wrong in it reads as the least: for manifests that were checked.
 * false and ERR_LIMIT. */
bool manifest_fill(const struct json *manifest, struct arena *a, struct tool *t,
                   struct err *e);
enum tool_access tool_access_named(struct str word);
/* Is the tool a command of the Linux machine, rather than a module? */
bool manifest_is_command(const struct json *manifest);
