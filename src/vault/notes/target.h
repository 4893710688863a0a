/* notes/target.h - targets of links, written as the one that they replace was.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "notes/markdown.h"

/* The form in which a target was written. */
struct target_style {
    bool wiki, angle;
    bool all;    /* letters beyond ASCII were escaped, too */
    bool rooted; /* began with '/' */
    bool dotted; /* began with "./" */
    bool ending; /* has ".md" */
};
/* `text` is what the link is borrowed from. */
struct target_style target_style_of(const struct link *l, struct str text);

/* Appends the text with what the style cannot hold as it is percent-encoded. */
void target_escape(struct str s, const struct target_style *style, struct buf *out);
/* Appends the target that leads from the note `from` to the file `to`. */
void target_put(const struct target_style *s, struct str from, struct str to,
                struct buf *out);

/* The folder of a path, borrowed from it; "" at the root. */
struct str target_folder(struct str path);
