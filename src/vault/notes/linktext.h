/* notes/linktext.h - notes of a change as the links in them, whose targets are replaced.
 *
 * A change of several steps rewrites the links of one note many times: for each note that
 * it links to. So its text is parsed once, targets are replaced in memory, and the text is
 * put together when somebody reads the note, or at the end. Links are those of the text as
 * it was parsed: a new target cannot make others of those beside it.
 *
 * Threads: a set belongs to its change. Private to the room notes.
 */
#pragma once
#include "notes/entry.h"
#include "notes/markdown.h"

#define LINKSLOTS_MAX 8000000u /* of all notes of a set; ERR_LIMIT above */
#define LINKSLOT_NONE UINT32_MAX

/* A link, an image, or an entry of the list of subnotes; those of the frontmatter first. */
struct linkslot {
    struct str target; /* as it is now; a subnote's is what the entry names */
    struct linktext *text;
    struct linkslot *next, *before; /* of those with its name */
    struct linkslot *todo;          /* for whoever looks through some of them */
    uint32_t at, length;            /* of the target in the text as it was parsed */
    uint32_t name;                  /* among the set's names; LINKSLOT_NONE: not kept */
    uint32_t number; /* of its row in the index; LINKSLOT_NONE: it has none */
    uint8_t kind;    /* enum link_kind */
    char quote;      /* of a link in the frontmatter: see ymltext.h; else '\0' */
    bool image, subnote, replaced;
    bool canvas; /* it stands in a string of JSON */
    bool rooted; /* and is a path from the root: see canvas.h */
};

struct linktext {
    struct linktexts *set;
    struct change *c;
    struct linktext *next, *before;
    struct entry *note;
    struct str bytes; /* of the note, that the slots stand in */
    size_t body;      /* where its body begins in them */
    struct linkslot *slots;
    size_t count, capacity;
    const struct json **subnotes; /* the list as it is now; NULL: there is none */
    size_t subnote_count;
    bool pending, pending_subnotes; /* targets that the note does not have yet */
    int64_t key;                    /* of its row in the index, for whoever sets it */
    struct linkslot *todo;
    bool wanted; /* both for whoever works with some of the set */
};

/* Notes, by what their links call others; `keeps` false: names are not kept, and each note
 * is to be closed before the next one. */
struct linktexts *linktexts_new(struct change *c, bool keeps);
void linktexts_free(struct linktexts *x); /* NULL is fine; what is pending is lost */
SCOPED(linktexts, linktexts_free);

/* The note's links, parsed unless they are. NULL and *e: ERR_LIMIT. Until linktext_close(),
 * or until the note's bytes or its path change. */
struct linktext *linktext_open(struct linktexts *x, struct entry *n, struct err *e);
void linktext_close(struct linktext *t); /* NULL is fine */

/* The name of a note in the slot's target, seen from the path: both are cleared first, and
 * empty where it is none (an address, say). */
void linkslot_name(const struct linkslot *s, struct str path, struct buf *text,
                   struct buf *other);
struct link linkslot_link(const struct linkslot *s);
/* The slots with the name that linktexts_key() made, by their `next`. */
struct linkslot *linktexts_named(const struct linktexts *x, struct str key);
/* Two names as one key, appended. */
bool linktexts_key(struct str text, struct str other, struct buf *out);

/* Puts `fresh` in the place of `part` of the slot's target; of a subnote the whole entry. The
 * note counts as touched. */
bool linkslot_replace(struct linkslot *s, struct str part, struct str fresh,
                      struct err *e);
/* Makes the note's bytes what was replaced, and closes it, where anything was. ERR_LIMIT, ERR_INVALID (the
 * frontmatter, which holds the subnotes, cannot be edited). */
bool linktext_write(struct linktext *t, struct err *e);
bool linktexts_write(struct linktexts *x, struct err *e);
