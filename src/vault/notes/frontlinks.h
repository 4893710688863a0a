/* notes/frontlinks.h - [[links]] in the frontmatter of a note.
 *
 * Obsidian and others keep links in properties: `up: "[[Projects]]"`, or a list of them. They
 * are found in the YAML text itself, so that a target can be replaced and every other byte
 * stays: in quoted and plain scalars and in [[...]] as it stands, which YAML takes for a list
 * in a list. Comments have none, nor has the list of subnotes, which the index keeps apart.
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "notes/frontmatter.h"
#include "notes/markdown.h"

#define FRONTLINKS_MAX 1000u /* of one note; more are passed over */

struct frontlink {
    struct link link; /* LINK_WIKI, line 0; a byte always stands before its target */
    const char *at;   /* of the target in the YAML text as it stands there */
    size_t length;    /* bytes of it there, which may have escapes */
    char quote;       /* of the scalar, as ymltext.h has it */
};

/* Calls `each` for the links in the order in which they stand; none where the frontmatter is
 * absent or broken. Texts are borrowed from the note or the arena. false only with ERR_LIMIT,
 * when the arena is full. */
bool frontlinks_read(const struct frontmatter *f, struct arena *a,
                     void (*each)(void *arg, const struct frontlink *l), void *arg,
                     struct err *e);

/* May there be one? Quick, and never wrong where it says no. */
bool frontlinks_may(const struct frontmatter *f);
