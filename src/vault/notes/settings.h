/* notes/settings.h - what a vault says of itself: .cloche/settings.json, and .obsidian.
 *
 * Read when the vault is opened; copies borrow the texts. Threads: safe. Private to the room notes.
 */
#pragma once
#include "notes/conventions.h"

/* What Cloche writes into the frontmatter of a note that it makes, besides what it is given. */
enum settings_keys {
    SETTINGS_ALL,     /* id, type, title, created, updated */
    SETTINGS_MINIMAL, /* id */
    SETTINGS_NONE,
};

struct settings {
    bool
        titles_by_file; /* a title is the file's name; else of the frontmatter or heading */
    enum settings_keys new_notes;
    bool index_in_cache; /* the user's cache folder holds the index, and not the vault */
    struct conventions own; /* of the vault's own program, or of settings.json */
    struct arena *arena;    /* of their texts */
};
void settings_done(struct settings *s); /* a zeroed one is fine */

/* Without .cloche/settings.json: in a vault of Obsidian's or Logseq's titles are file names, and new notes get
 * nothing; elsewhere the opposite. ERR_INVALID: the file holds something else; ERR_IO. */
bool settings_read(int dir, struct settings *out, struct err *e);
/* Makes `out` the same; its texts are borrowed from `s`. */
void settings_lend(const struct settings *s, struct settings *out);
