/* notes/forms.h - the ways in which links name a note, before and after it is moved.
 *
 * Threads: one. Private to the room notes.
 */
#pragma once
#include "notes/linkindex.h"

/* The most exact first. */
enum form { FORM_PATH, FORM_BARE_PATH, FORM_ID, FORM_FILE, FORM_STEM, FORM_TITLE, FORMS };

struct forms {
    struct str old[FORMS], now[FORMS];
    bool good[FORMS]; /* the new form means the note and no other */
};

/* Lists the forms of a note with these paths and titles, which are copied. ERR_LIMIT. */
bool forms_list(struct forms *f, struct str old_path, struct str old_title,
                struct str path, struct str title, struct arena *a, struct err *e);
/* Finds out which are good: after the index has been told of the new name. */
bool forms_try(struct forms *f, struct linker *l, int64_t note, struct err *e);
/* The new form of a name, in the way in which it named the note so far. A link by the uid
 * or so, which still leads there, is asked about before. */
struct str forms_new(const struct forms *f, struct str name);
/* Is it one of the old forms, to the byte? */
bool forms_has(const struct forms *f, struct str name);
/* Is it the old path, with or without its ending, and not a title or so? */
bool forms_is_path(const struct forms *f, struct str name);
