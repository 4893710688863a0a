/* notes/change.h - a change of one or many notes: all of it or nothing.
 *
 *     scoped(change_end) struct change *c = change_begin(v, &options, e);
 *     if (!c || !change_read(c, path, &n, &found, e) || ...
 *         !change_replace(c, path, bytes, e) || !change_commit(c, e)) return false;
 *
 * From begin to end the vault's write lock is held: no other change of ours comes in
 * between, in whatever process. Other programs may: what they wrote since it was read
 * is never overwritten, the commit is then an ERR_CONFLICT and has changed nothing.
 * Over a crash, at any moment, all or nothing holds (history.h), and every byte that is
 * replaced or removed is in the history.
 *
 * Reads within a change see what it has done so far. Only the last state of each note
 * is written.
 *
 * Threads: a change belongs to one. Private to the room notes.
 */
#pragma once
#include "notes/vault.h"

struct verdicts;

#define CHANGE_NOTES_MAX 100000u           /* of one change; ERR_LIMIT above */
#define CHANGE_BYTES_MAX ((size_t)1 << 30) /* of all that it writes; ERR_LIMIT above */
#define CHANGE_DIFF_MAX 20000u             /* bytes of a dry run's diff of one note */

struct change;

struct change_options {
    const char *action; /* what the history calls it: "update", "rename" ... */
    bool dry_run;       /* takes no lock, writes nothing; for change_put() */
    struct verdicts
        *verdicts; /* for types_check(); it is not committed while they wait */
};

/* NULL and *e: ERR_BUSY, ERR_DENIED (a vault that cannot be written), ERR_IO. */
struct change *change_begin(struct vault *v, const struct change_options *o,
                            struct err *e);
/* Drops what was not committed. NULL is fine. */
void change_end(struct change *c);
SCOPED(change, change_end);
struct verdicts *change_verdicts(const struct change *c);
/* The history's store; NULL in a dry run. */
struct db *change_db(struct change *c);

/* For session.h alone: a note that the session's index has not been told of: where it
 * `known`s the note (NULL: nowhere) and where that is `now` (NULL: removed). */
typedef bool change_new(void *arg, const char *known, const char *now, struct err *e);
bool change_news(struct change *c, change_new *tell, void *arg, struct err *e);
void change_told(struct change *c);

/* The caller itself named the note of this path: a dry run tells of it by its name also
 * to whom may not read notes. */
bool change_name(struct change *c, const char *path, struct err *e);
/* Notes that what a failure says from now on may come from a note's content; did it? */
void change_looks(struct change *c);
bool change_looked(const struct change *c);

/* Is a note there, as the change has it so far? */
bool change_has(struct change *c, const char *path);
/* Reads and parses the note. Everything is borrowed until change_end(). */
bool change_read(struct change *c, const char *path, struct note *out, bool *found,
                 struct err *e);

/* Each copies what it is given. ERR_CONFLICT: the path is taken (create, move);
 * ERR_NOT_FOUND: no note there; ERR_LIMIT: too large, too many. */
bool change_create(struct change *c, const char *path, struct str bytes, struct err *e);
bool change_replace(struct change *c, const char *path, struct str bytes, struct err *e);
bool change_move(struct change *c, const char *from, const char *to, struct err *e);
/* May it be moved there, as things are? Else as change_move(). */
bool change_can_move(struct change *c, const char *from, const char *to, struct err *e);
/* To the trash; `backup` (PATH_MAX bytes, or NULL) tells where. */
bool change_remove(struct change *c, const char *path, char *backup, struct err *e);
/* Takes a file out of the trash. */
bool change_take_back(struct change *c, const char *backup, const char *path,
                      struct err *e);
/* Sets the history's text for the note that is now at `path`; default words otherwise. */
void change_say(struct change *c, const char *path, const char *action,
                const char *summary);

/* The history knows the note that is now at `path` by that key, whatever its path and uid. */
void change_is(struct change *c, const char *path, int64_t key);

/* Has it done anything to the note that is now at `path`? */
bool change_touches(struct change *c, const char *path);
/* Puts the content's new hash to `hash`, "" where the note is not part of it. The answer
 * tells it: its caller knows that version. */
void change_hash(struct change *c, const char *path, char hash[static HASH_SIZE]);

/* It is not done, for `why` (which is cut), unless it is confirmed. */
void change_hold(struct change *c, struct str why);
const char *change_held(const struct change *c); /* why; NULL: it is done */

/* The description of a type that is written beside the notes. */
struct change_file {
    const char *path;
    struct str old, now; /* `now` without a pointer: it goes */
    bool there;          /* `old` was */
};
/* For whoever writes more than the change's notes, before he does (file NULL: he does not);
 * change_commit() does it by itself. true: go on. false and *e: the view's review only
 * looks, and knows now; or ERR_CONFLICT, it is not what was reviewed. */
bool change_review(struct change *c, const struct change_file *file, struct err *e);
/* Tells the review of each change. */
void change_tell_review(const struct change *c, const struct change_file *file,
                        const struct vault_review *r);

bool change_commit(struct change *c, struct err *e);
/* Adds it to the outcome of its view; `revision`: the history's last. */
void change_tell(struct change *c, int64_t revision);

/* Writes a dry run as pairs of the open object: "changes": [{id, path, action, diff,
 * new_path?, diff_truncated?}]; the action is create, update, move, rename or delete. To
 * whom may not read notes those that the call named or makes, diffs empty, and "hidden",
 * "others": how many notes would change besides. */
void change_put(struct change *c, struct json_writer *w);
