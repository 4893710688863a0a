/* notes/aliases.h - other names of a note, and the properties at the head of a text.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "notes/vault.h"

#define ALIASES_MAX 1000u /* of one note; more are ignored */

/* Calls `each` with the note's aliases, each once whatever its case: those of `aliases` or
 * `alias` in the frontmatter (a list, or a text with commas), then those of `alias::`, and where files' names
 * are titles the frontmatter's `title`. At most
 * NAME_TITLE_MAX bytes each; they are the note's. */
typedef void alias_fn(void *arg, struct str alias);
void note_aliases(const struct note *n, alias_fn *each, void *arg);
/* Puts them as an array. */
void note_put_aliases(const struct note *n, struct json_writer *w);

/* The value of the line `key:: value` among those at the head of a body, as Logseq has the
 * properties of a page; empty: there is none. Keys are compared whatever the case of ASCII. */
struct str property_at_head(struct str body, const char *key);
/* Cuts the next part off a value's list, "[[a, b]], c": up to a comma outside of "[[...]]",
 * trimmed, without "[[" and "]]". false: the end. */
bool property_next(struct str *list, struct str *part);
