/* notes/markdown.h - what the index needs of Markdown: the title and the links.
 *
 * No renderer: in the paragraphs and headings of CommonMark 0.31.2 (blocks.h) it finds
 * [[wiki]] links, [inline](links), <autolinks>, bare URLs and [reference]: definitions, and
 * passes over code, HTML, Obsidian's %%comments%% and $math$. Linear in the text's length,
 * whatever the text.
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "base/base.h"

enum link_kind {
    LINK_WIKI,     /* [[target#heading|label]]; the heading is cut off */
    LINK_MARKDOWN, /* [label](target), to a file */
    LINK_EXTERNAL, /* to an address with a scheme */
};
const char *link_kind_name(enum link_kind kind); /* "wiki", "markdown", "external" */

#define LINKS_MAX 10000u /* of one note; more are passed over */

/* Borrowed from the text. */
struct link {
    struct str target, label;
    struct str fragment; /* "Heading" or "^block" behind the target's '#'; or empty */
    enum link_kind kind;
    size_t line; /* from 1 */
    bool image;  /* ![...](...) */
};

struct link_list {
    const struct link *all;
    size_t count;
};

/* In the order in which their targets stand; images, too, but those of other sites. */
void markdown_links(struct str text, void (*each)(void *arg, const struct link *l),
                    void *arg);

/* The same for who rewrites them: all of them, whatever their number, and all images. */
void markdown_targets(struct str text, void (*each)(void *arg, const struct link *l),
                      void *arg);

/* Links within the text itself, as [[#heading]], whose target is empty. */
void markdown_local_links(struct str text, void (*each)(void *arg, const struct link *l),
                          void *arg);

/* The #tags of the same runs, without their sign, in the order in which they stand: behind
 * white space or at the head of a run; letters, digits, - _ / and what is not ASCII, one of
 * them no digit. */
void markdown_tags(struct str text, void (*each)(void *arg, struct str tag), void *arg);
/* May a #tag have that name? */
bool markdown_is_tag(struct str name);
/* May the text have one? Quick, and never wrong where it says no. */
bool markdown_may_have_tags(struct str text);

/* The text of the first heading of level 1, which may have several lines; empty if there
 * is none. */
struct str markdown_title(struct str text);

/* Appends the path that a LINK_MARKDOWN's target means, seen from the note `from`:
 * percent signs decoded, "." and ".." taken away, fragment and query cut off.
 * false: it leads out of the vault. */
bool markdown_resolve(struct str target, struct str from, struct buf *out);
