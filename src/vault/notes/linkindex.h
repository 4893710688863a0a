/* notes/linkindex.h - links and subnotes as the index keeps them, and what they lead to.
 *
 * A link calls its note by a name, and the same name means the same note wherever it
 * stands; so the index keeps each name once, with the note that it means. A change to
 * a note touches the names that may mean it, however many links use them, and what was
 * touched is looked up again (settled) before the transaction ends.
 *
 * The meaning of names: see notes.h, "Links". Private to the room notes.
 */
#pragma once
#include "db/db.h"
#include "notes/markdown.h"
#include "notes/resolve.h"
#include "notes/vault.h"

/* The column `state` of a subnote. */
enum subnote_state {
    SUBNOTE_NEW,     /* not looked at yet */
    SUBNOTE_GOOD,    /* counts, where its name means a note */
    SUBNOTE_CLOSING, /* would close a cycle: ignored */
    SUBNOTE_TWICE,   /* the note itself, or one that it has already: ignored */
};

#define SUBNOTES_MAX 5000u          /* of one note; more are ignored */
#define SUBNOTES_TOTAL_MAX 1000000u /* of a vault; more are ignored */

/* Lives as long as one pass over changed notes; all calls but linker_init() and
 * linker_done() need a transaction for writing. */
struct linker {
    struct db *db;
    bool bulk;  /* so much changes that all names will be settled anew */
    bool fresh; /* all links there are were written since linker_clear() */
    bool
        tree_waits; /* which subnotes count is settled by linker_settle_tree() alone ... */
    bool tree_open;      /* ... and has to be: in a session, where many notes are moved */
    struct query **open; /* by enum linker_query; NULL: not needed yet */
};
void linker_init(struct linker *l, struct db *db);
void linker_done(struct linker *l);

/* Forgets all links, names and subnotes: there is no note. */
bool linker_clear(struct linker *l, struct err *e);
/* A note with these names appeared, vanishes or is called so no longer. */
bool linker_touch(struct linker *l, struct str path, struct str uid, struct str title,
                  struct err *e);
/* Drops what the note says, before it is written anew. */
bool linker_forget(struct linker *l, int64_t note, struct err *e);
/* The same, before the note itself is dropped. */
bool linker_drop(struct linker *l, int64_t note, struct err *e);
/* The note's row must still be as it was. */
bool linker_drop_tags(struct linker *l, int64_t note, struct err *e);
/* `links`: of the note's text; NULL: they are looked for. `tags`: a JSON array. */
bool linker_write(struct linker *l, int64_t key, const struct note *n,
                  const struct link_list *links, struct str tags, struct err *e);

/* The note's aliases are these from now on. */
bool linker_aliases(struct linker *l, int64_t note, const struct note *n, struct err *e);

/* The link, or the entry of the list of subnotes, calls its note by another name from now
 * on. */
bool linker_rename_link(struct linker *l, int64_t source, int64_t number,
                        const struct link *link, struct str text, struct str other,
                        struct err *e);
bool linker_rename_subnote(struct linker *l, int64_t parent, int64_t position,
                           struct str text, struct err *e);

/* Resolves a name; *note 0: nothing. Of several notes it is the one with the shortest path,
 * then the first by path; of several with one uid none. */
bool linker_meaning(struct linker *l, struct str text, struct str other, int64_t *note,
                    struct err *e);
/* The note has this path and title from now on: tells of each name in use that changes its
 * meaning by that; 0 is none. linker_settle() then makes the names mean it. */
typedef bool linker_changed(void *arg, int64_t name, struct str text, int64_t before,
                            int64_t after, struct err *e);
bool linker_rename(struct linker *l, int64_t note, struct str path, struct str title,
                   linker_changed *changed, void *arg, struct err *e);

/* Resolves a name; *note is set unless it is NAME_MISSING, as by linker_meaning(). Reads
 * only. */
enum name_outcome linker_find(struct linker *l, struct str name, int64_t *note,
                              struct err *e);

/* Is there anything to settle? Needs no transaction. */
bool linker_is_settled(struct linker *l, bool *settled, struct err *e);
bool linker_settle(struct linker *l, struct err *e);
/* Settles which subnotes count, where `tree_waits` has left that open. */
bool linker_settle_tree(struct linker *l, struct err *e);

/* Settles the subnotes that are new: see tree.c. `all`: whatever was settled before. */
bool tree_settle(struct db *db, bool all, struct err *e);
