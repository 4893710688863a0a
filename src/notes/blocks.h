/* notes/blocks.h - where the headings of a Markdown text stand, and which they are.
 *
 * The block structure of CommonMark 0.31.2, chapters 4 and 5 and the appendix: block
 * quotes, lists, fenced and indented code, all seven kinds of HTML blocks, ATX and setext
 * headings, lazy continuation. Only headings of the document itself are told of, not
 * those inside of quotes or list items. Linear in the text's length.
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "base/base.h"

#define BLOCKS_DEPTH_MAX 100u /* quotes and items in each other; ERR_LIMIT above */

struct heading {
    unsigned level;    /* 1 to 6 */
    struct str text;   /* without its marks; borrowed */
    size_t start, end; /* bytes of its line(s), with the line end */
    size_t line;       /* from 1 */
};

/* In the order of the text, in the arena. ERR_LIMIT. */
struct heading *blocks_headings(struct str text, struct arena *a, size_t *count,
                                struct err *e);
