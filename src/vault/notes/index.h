/* notes/index.h - the index over a vault: tables, who may use them, bringing them
 * up to date.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "db/db.h"
#include "notes/fold.h"
#include "notes/vault.h"
#include "sql/sql.h"

struct index *index_new(struct vault *v); /* opens nothing yet */
void index_free(struct index *x);         /* NULL is fine */

/* vault_be_brief(): to watch the folders costs as much as to look at them all. */
void index_be_brief(struct index *x);

/* Brings the index up to date and calls `work` with a connection of its own. When
 * the file turns out to be damaged it is made anew and `work` called once more. Either
 * cancel of the view ends it, and the queries of `work`, with ERR_CANCELLED; notes that were
 * read by then stay in the index. `work` NULL: brings it up to date alone. */
typedef bool index_work(struct db *db, void *arg, struct err *e);
bool index_use(struct vault *v, index_work *work, void *arg, struct err *e);

/* The source for strangers' queries over `db`, a connection of index_use(): its file, while
 * as index_use() lasts, or, where it is in memory, a copy, which the caller closes. */
bool index_source(struct index *x, struct db *db, struct sql_source *out, struct err *e);

/* Is it the connection of all calls, of which one works at a time: to an index in memory? */
bool index_is_shared(struct index *x, const struct db *db);

#define INDEX_NAME "index.db" /* where it lies in the vault */
/* Calls `work` with the file beneath `folder`, which nobody else has open. */
bool index_edit(int folder, index_work *work, void *arg, struct err *e);

struct index_counts {
    size_t notes;   /* seen */
    size_t read;    /* read again */
    size_t removed; /* dropped from the index */
};

/* Looks at every note's file; `from_scratch` forgets all before. */
bool index_rebuild(struct vault *v, bool from_scratch, struct index_counts *counts,
                   struct err *e);
/* Appends notes_version(). */
bool index_version(struct db *db, struct buf *out, struct err *e);
const char *index_place(struct index *x); /* "vault", "cache", "memory" */
bool index_is_gone(struct index *x);      /* notes_index_is_gone() */

/* ---- for the files that write rows -------------------------------------- */

/* Runs a statement whose one parameter is a number, such as a note's key. */
bool index_run_with_key(struct db *db, const char *sql, int64_t key, struct err *e);
/* What a note's id, file name and title fold to; they lie in `text`, of NOTE_KEYS_MAX. */
struct note_keys {
    struct str id, stem, title;
};
#define NOTE_KEYS_MAX (3 * FOLD_KEY_MAX)
void note_keys(struct str id, struct str title, struct buf *text, struct note_keys *out);
/* Binds ?1 to ?11: path, id, uid, type, stem, title, created, updated, id_key, stem_key,
 * title_key. `id` and `keys`, like the note, must outlast the query. */
void index_bind_note(struct query *q, const struct note *n, struct str id,
                     const struct note_keys *keys);

/* The state column of a note. */
enum index_state {
    INDEX_GOOD,
    INDEX_BROKEN,     /* its frontmatter is no YAML */
    INDEX_TOO_LARGE,  /* known by name only */
    INDEX_UNREADABLE, /* the same, and looked at each time */
};

/* Compares all files (or, not NULL, the `names` alone, which are sorted) with the
 * index and reads again what differs. */
bool sync_all(struct vault *v, struct db *db, struct index_counts *counts, struct err *e);
bool sync_names(struct vault *v, struct db *db, const char *const *names, size_t count,
                struct index_counts *counts, struct err *e);
