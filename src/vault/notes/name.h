/* notes/name.h - paths, ids, file names and dates of notes. Pure text, no files.
 *
 * A path is relative to the vault ("project/sub/Plan.md"); an id is the path
 * without its ending, and "note/..." for notes at the root of the vault.
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include <limits.h>

#include "base/base.h"

#define NAME_TITLE_MAX 1000u /* bytes of a title, longer ones are cut */
#define NAME_STEM_MAX 200u   /* bytes of a file name that we make, less ".md" */

/* Can this be the path of a note? UTF-8, ends with ".md", no empty component,
 * none that begins with a dot, no NUL, components and whole of bearable length.
 * Only such a path is ever opened, whatever an input or the index says. */
bool name_is_path(struct str path);
/* The same of any file that the vault shows, whatever its ending. */
bool name_is_file(struct str path);
/* The same of a canvas, whose links the index has as well: see canvas.h. */
bool name_is_canvas(struct str path);
/* Is it a single folder name that is safe on every system, as a note's type must be? */
bool name_is_type(struct str type);
/* Is it a folder's path, of such names? Empty: the root. */
bool name_is_folder(struct str folder);

/* Parts of a note's path; borrowed from it. */
struct str name_file(struct str path); /* "Plan.md" */
struct str name_stem(struct str path); /* "Plan" */
struct str name_type(struct str path); /* "project"; "note" at the root */
bool name_at_root(struct str path);
/* The other path that would have the same id: X.md at the root, and note/X.md. false: there
 * is none. */
bool name_other_home(struct str path, char out[static PATH_MAX]);
/* Appends the id that belongs to the path. */
void name_put_id(struct str path, struct buf *out);

/* Appends the file name of a title: its Unicode letters, digits, spaces and harmless signs,
 * "-" for a slash between them, at most NAME_STEM_MAX bytes. false: nothing is left. */
bool name_from_title(struct str title, struct buf *out);
/* Appends the title as one line: control characters become spaces. */
void name_put_title(struct str title, struct buf *out);
