/* notes/history.h - the vault's store of what notes held: journal and history at once.
 *
 * One SQLite file, .cloche/history/history.db, whose commits outlast a power failure.
 * A change first stands there, whole, as pending; then the files follow; then it is no
 * longer pending. So a crash at any moment leaves either nothing of it or what ends it.
 *
 * There is one write lock a vault. A holder that finds something pending knows
 * that its owner is dead, and ends its work.
 *
 * A note is known by a key of ours: its file's path, and its uid where the file was
 * moved by another program. Which revisions are kept: prune.c.
 *
 * Threads: safe, except what takes a db: that is its holder's. Private to the room notes.
 */
#pragma once
#include "db/db.h"
#include "notes/vault.h"

#define HISTORY_DIR OWN_DIR "/history"
#define HISTORY_NAME "history.db"
#define HISTORY_DAYS 90
#define HISTORY_LEAST 50                 /* of one author of one note, however old */
#define HISTORY_MOST 1000                /* of one note */
#define HISTORY_LAST 100                 /* of one author of these */
#define HISTORY_BYTES (INT64_C(1) << 30) /* of all contents */
#define HISTORY_LEAST_FULL 5             /* of one note, above that */

struct history;
struct history *history_new(struct vault *v); /* opens nothing yet */
void history_free(struct history *h);         /* NULL is fine */

/* ---- who may write ------------------------------------------------------- */

/* Takes the write lock (waiting at most 15 s: ERR_BUSY; or until a cancel of the view fires:
 * ERR_CANCELLED), opens or makes the store and ends what a crash left. The answer is borrowed until history_unlock(). NULL and *e:
 * ERR_DENIED (a vault that cannot be written) and what the disk says. */
struct db *history_lock(struct history *h, const struct vault *v, struct err *e);
void history_unlock(struct history *h);
/* The lock file's mark, for the next writer after a crash. It is the file's
 * length, so that no disk is too full for it. */
enum history_mark {
    HISTORY_IDLE,
    HISTORY_BUSY,      /* what is pending is to be done */
    HISTORY_ABANDONED, /* it failed, and is to be undone */
};
/* Lock held. An abandonment outlasts a power failure. */
bool history_mark(struct history *h, enum history_mark mark, struct err *e);
bool history_is_abandoned(const struct history *h);
/* Ends what a crash left, if something is and nobody else is at it. Cheap, never
 * waits, never fails: called before notes are read. */
void history_settle(struct history *h);
/* For reading alone: *none tells that there is no history yet. */
struct db *history_read(struct history *h, bool *none, struct err *e);
void history_read_end(struct history *h);

/* ---- contents and notes -------------------------------------------------- */

/* Stores the bytes, once for each hash; *id is their number. */
bool history_keep(struct db *db, struct str bytes, const char *hash, int64_t *id,
                  struct err *e);
/* Appends the bytes. *found false: not kept (any more). */
bool history_bytes(struct db *db, struct str hash, struct buf *out, bool *found,
                   struct err *e);

/* The note that was deleted at `path` and lies in the trash as `backup`; *key 0: the history
 * knows of none. */
bool history_of_backup(struct db *db, struct str path, struct str backup, int64_t *key,
                       struct err *e);
/* The key of the note that is at `path` now, or was there last and is gone; *key 0:
 * none. `uid` may be empty. */
bool history_find(struct db *db, struct vault *v, struct str path, struct str uid,
                  int64_t *key, struct err *e);
/* The same for a file that is there, made where it is missing. */
bool history_key(struct db *db, struct vault *v, struct str path, struct str uid,
                 int64_t *key, struct err *e);
/* The note that the store has at `path`, or that was there last; *key 0: none. */
bool history_of_path(struct db *db, struct str path, bool gone, int64_t *key,
                     struct err *e);
/* In SQL: the id of a row of `notes`' last revision. */
#define NOTE_CHANGED \
    "(SELECT id FROM revisions WHERE note = key ORDER BY number DESC LIMIT 1)"
/* The note is at `path` from now on, or gone from there. */
bool history_moved(struct db *db, int64_t key, struct str path, bool gone, struct err *e);

/* ---- revisions ----------------------------------------------------------- */

struct revision_note {
    int64_t key;
    int64_t time_ms;
    const char *author;  /* "external": found, written by another program */
    const char *action;  /* "create", "update", "rename" ... */
    const char *summary; /* one line for people */
    struct str path;     /* where the note is after it */
    const char *hash;
    int64_t content; /* of history_keep(); 0: its bytes were not kept */
    uint64_t size;
    const char *backup; /* in the trash, or NULL */
    const char *call;   /* struct vault_author; NULL or empty: nobody said */
};
/* Appends a revision and drops those that are too many. */
bool history_add(struct db *db, const struct revision_note *r, struct err *e);
/* The latter: `number` is that of the new one. */
bool history_prune(struct db *db, const struct revision_note *r, int64_t number,
                   struct err *e);
/* The first column of the first row, with one argument; 0: there is none. */
bool history_number(struct db *db, const char *sql, int64_t arg, int64_t *out,
                    struct err *e);
bool history_count(struct db *db, int64_t more, struct err *e); /* bytes of contents */
/* Drops all revisions behind that id (but what was found, which stays). */
bool history_forget(struct db *db, int64_t last, struct err *e);
/* Is this the content of the note's last revision? */
bool history_has_last(struct db *db, int64_t key, const char *hash, bool *has,
                      struct err *e);
