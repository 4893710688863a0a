/* notes/canvas.h - the links of a .canvas file: JSON with cards, some of which show files.
 *
 * A card of type "file" links to its file, which it names by a path from the vault's root,
 * a "group" to its background, a "link" to its address; and a "text" contains Markdown, with
 * links of its own. Everything else of the file is not looked at. Links are told with their
 * places in the bytes, so that one target can be replaced and every other byte stays.
 * Source: JSON Canvas 1.0 (jsoncanvas.org/spec/1.0).
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "notes/markdown.h"

/* The strings lie in the bytes or in the arena; a byte that may be read stands before each
 * target. */
struct canvas_link {
    struct link link;  /* line 0 */
    size_t at, length; /* of the target in the bytes, with JSON's escapes */
    size_t
        fragment_at; /* of the fragment there, where it has no escapes of its own; else 0 */
    bool node;       /* the target is a path from the root, whatever it looks like */
};

/* Calls `each` in the order of the cards; external addresses and images are told of, too.
 * A file that is no JSON has no links. false and *e: ERR_LIMIT of the arena. */
bool canvas_links(struct str bytes, struct arena *a,
                  void (*each)(void *arg, const struct canvas_link *l), void *arg,
                  struct err *e);

/* Does the index have a row for it? Not for the address of an image. */
bool canvas_counts(const struct link *l);

/* Appends a target as it stands within a string of JSON. */
void canvas_put(struct buf *out, struct str target);
