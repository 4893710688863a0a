/* notes/blocks.h - the blocks of a Markdown text.
 *
 * The block structure of CommonMark 0.31.2, chapters 4 and 5 and the appendix: block
 * quotes, lists, fenced and indented code, all seven kinds of HTML blocks, ATX and setext
 * headings, lazy continuation. Linear in the text's length.
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "base/base.h"

#define BLOCKS_DEPTH_MAX 100u /* quotes and items in each other; deeper ones are text */

enum block_kind {
    BLOCK_NONE,
    BLOCK_PARAGRAPH, /* link definitions, too */
    BLOCK_HEADING,
    BLOCK_FENCE, /* fenced code */
    BLOCK_HTML,
    BLOCK_INDENTED, /* code; it is not told of */
};

struct block {
    enum block_kind kind;
    unsigned level; /* of a heading, 1 to 6 */
    bool open;      /* a fence or HTML that does not end before what it stands in does */
    size_t depth;   /* quotes and items around it; 0: of the document itself */
    /* Borrowed. A heading's without its marks, a fence's without its fences, all others
     * from their first byte on; marks of quotes stand in it from the second line on. */
    struct str text;
    size_t start, end; /* bytes of its lines, with the line end; a fence's first ones */
    size_t line;       /* from 1 */
    size_t deep;       /* the first line that goes deeper than the maximum; 0: none yet */
};

/* In the order of the text. false ends the scan. */
typedef bool block_fn(void *arg, const struct block *b);
void blocks_scan(struct str text, block_fn *each, void *arg);

struct heading {
    unsigned level;    /* 1 to 6 */
    struct str text;   /* without its marks; borrowed */
    size_t start, end; /* bytes of its line(s), with the line end */
    size_t line;       /* from 1 */
};

/* The headings of the document itself, in the arena. ERR_LIMIT: of the arena, or deeper than
 * BLOCKS_DEPTH_MAX. */
struct heading *blocks_headings(struct str text, struct arena *a, size_t *count,
                                struct err *e);
