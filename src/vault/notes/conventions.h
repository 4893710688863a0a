/* notes/conventions.h - what the settings of the vault's own program say: Obsidian's (.obsidian),
 * Logseq's (logseq/config.edn), Foam's (.vscode/settings.json).
 *
 * A file that is not there, or holds something else, says nothing. Texts lie in the arena.
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "base/base.h"

#define CONVENTIONS_IGNORED_MAX 200u

struct conventions {
    bool logseq; /* titles are file names as Logseq writes them: conventions_title() */
    struct str journal_title; /* the format of journals' titles there, Moment's */
    bool has_new_folder;      /* of a note that is made without a type or folder */
    struct str new_folder;
    struct str daily_folder, daily_format; /* of daily notes; the format is Moment's */
    struct str daily_template; /* a note's path without its ending; empty: none */
    struct str ignored[CONVENTIONS_IGNORED_MAX]; /* beginnings of paths: not notes */
    size_t ignored_count;
};

void conventions_read(int dir, struct arena *a, struct conventions *out);
/* Appends the title of Logseq's page in that file: "a/b" for a___b.md, "a:b" for a%3Ab.md, and of
 * a journal its day. */
void conventions_title(const struct conventions *c, struct str path, struct buf *out);
/* The reverse, for the title of a new name: appends "a___b" for "a/b". */
void conventions_stem(struct str title, struct buf *out);
/* Is the file one that the program does not take for a note? */
bool conventions_ignore(const struct conventions *c, struct str path);
