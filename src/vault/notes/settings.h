/* notes/settings.h - what a vault says of itself: .cloche/settings.json, and .obsidian.
 *
 * Read when the vault is opened. Threads: safe. Private to the room notes.
 */
#pragma once
#include "base/base.h"

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
};

/* Without .cloche/settings.json: in a vault of Obsidian's titles are file names, and new notes get
 * nothing; elsewhere the opposite. ERR_INVALID: the file holds something else; ERR_IO. */
bool settings_read(int dir, struct settings *out, struct err *e);
