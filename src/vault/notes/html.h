/* notes/html.h - raw HTML in Markdown: which lines begin and end an HTML block (CommonMark
 * 0.31.2, chapter 4.6), and what is HTML within a text (6.6).
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "base/base.h"

/* The kind of the HTML block, 1 to 7, that begins with this line, which is without its
 * indentation; 0: none. Kind 7 does not interrupt a paragraph. */
int html_block_begins(struct str line, bool in_paragraph);
/* Does an HTML block of this kind end with this line? Kinds 6 and 7 end with a blank one. */
bool html_block_ends(int kind, struct str line);

/* Length of the comment, instruction, declaration, CDATA section or tag at the head of the
 * text, which begins with '<'; 0: there is none. `endless` has a bit for each kind that is
 * known not to end any more: zeroed for a text, which is then read in linear time. */
size_t html_inline(struct str s, unsigned *endless);
