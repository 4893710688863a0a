/* notes/ymltext.h - walks the text of a frontmatter byte by byte, and knows its quotes.
 *
 * For whoever replaces a part of a value and leaves every other byte: a parser tells what a
 * value is, not where it stands. Threads: safe. Private to the room notes.
 */
#pragma once
#include "base/base.h"

#define YMLTEXT_PLAIN ' ' /* outside of quotes */

struct ymltext {
    struct str text;
    size_t at;  /* of the byte that is looked at */
    char quote; /* of the scalar that it stands in: '"', '\'' or YMLTEXT_PLAIN */
};

/* To the next byte: an escape or a comment is passed over as a whole. false: the text ends. */
bool ymltext_next(struct ymltext *y);

/* Appends a name as it is written in such a scalar, where none is in quotes if it needs them. */
void ymltext_put(struct buf *out, char quote, struct str name);
