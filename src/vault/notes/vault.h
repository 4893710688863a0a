/* notes/vault.h - the vault's files: read one, find one, lock one.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include <limits.h>
#include <pthread.h>

#include "notes/copies.h"
#include "notes/frontmatter.h"
#include "notes/notes.h"
#include "notes/settings.h"
#include "os/os.h"
#include "pattern/pattern.h"

#define OWN_DIR ".cloche" /* ours, inside the vault */

struct change;
struct index;
struct history;

struct vault {
    int dir;
    char *path;
    struct settings settings;
    struct index *index;
    struct history *history;
    struct patterns *patterns; /* NULL: there are none */
    struct vault_view view;    /* of its one call; of a vault as it is opened: all */
    bool is_a_view;            /* of vault_as(): all but the view is another's */
    int64_t now_ms;            /* vault_set_clock(); 0: the clock goes */
};
/* The time that is written into what changes. */
int64_t vault_now(const struct vault *v);

/* Does whoever called still want it? ERR_CANCELLED: no. Cheap: to be asked every few
 * milliseconds of work. */
bool vault_goes_on(const struct vault *v, struct err *e);
/* Locks the mutex, which the caller unlocks, for as long as it is wanted. false and *e:
 * ERR_CANCELLED, or ERR_BUSY after `wait_ms` (UINT_MAX: never). */
bool vault_wait(const struct vault *v, pthread_mutex_t *m, unsigned wait_ms,
                struct err *e);

/* ---- one note, read ----------------------------------------------------- */

#define HASH_SIZE (sizeof "sha256:" + 64) /* with its NUL */

/* A note's file cut into what it says. Strings are borrowed from `bytes` or live
 * in the arena it was parsed with. */
struct note {
    struct str path;
    struct str bytes;
    struct os_stat st;
    char hash[HASH_SIZE];
    struct frontmatter front;
    struct str title;
    bool by_file;   /* so the title is the file's name */
    struct str uid; /* empty: it has none */
    int64_t created_ms, updated_ms;
};

/* Reads the file `path` (which must be a name_is_path()) to `bytes`. *found tells
 * whether there is such a note; symbolic links and folders are none. false and *e:
 * ERR_LIMIT (too large; `st` is set), ERR_DENIED (may not be read), ERR_IO. */
bool vault_read(struct vault *v, const char *path, struct buf *bytes, struct os_stat *st,
                bool *found, struct err *e);
/* Any bytes are a note, as the settings of `v` (NULL: the usual ones) have it. false only with
 * ERR_LIMIT. */
bool note_parse(const struct vault *v, struct str path, struct str bytes,
                const struct os_stat *st, struct arena *a, struct note *out,
                struct err *e);
void note_hash(struct str bytes, char out[static HASH_SIZE]);

/* Is it one of the frontmatter that a field of the note tells: id, title ... */
bool note_is_own_key(struct str key);
/* The value for the key "metadata" or "tags". */
void note_put_metadata(const struct note *n, struct json_writer *w);
void note_put_tags(const struct note *n, struct json_writer *w);
/* Appends its list of subnotes as it stands there, "null" where there is none. */
bool note_put_subnotes(const struct note *n, struct buf *out);
/* The call has read it, and answers its hash; `subnotes`: its metadata, too. */
void note_tell(struct vault *v, const struct note *n, bool subnotes);

/* ---- finding ------------------------------------------------------------ */

/* Is there a note of this path? Also checks the path itself. */
bool vault_has(struct vault *v, struct str path);
/* May the author of this call write so much? */
bool vault_admits(const struct vault *v, size_t bytes, struct err *e);
/* May the caller make this call ("notes.delete") as well, which is part of what is done?
 * false and ERR_DENIED. */
bool vault_permits(const struct vault *v, const char *call, struct err *e);
/* Appends the public id of the path: see notes.h, "Words". */
void vault_put_id(struct vault *v, struct str path, struct buf *out);
/* Is this an identifier that needs no index: an id or a path of a note that is there? */
bool vault_is_path(struct vault *v, struct str identifier);
/* The path that an identifier means (resolve.h), as the change, or where that is NULL the
 * vault, has the notes; the change knows then that the caller named it. *found false: none.
 * ERR_CONFLICT: several. */
bool vault_find(struct vault *v, struct change *c, struct str identifier, bool any_case,
                char path[static PATH_MAX], bool *found, struct err *e);
/* The same in the vault, in any case of letters. */
bool vault_resolve(struct vault *v, struct str identifier, char path[static PATH_MAX],
                   bool *found, struct err *e);
/* As vault_find(), in any case of letters; that there is none is ERR_NOT_FOUND. */
bool vault_need(struct vault *v, struct change *c, struct str identifier,
                char path[static PATH_MAX], struct err *e);
/* The same, and reads it within the change. */
bool vault_need_note(struct vault *v, struct change *c, struct str identifier,
                     char path[static PATH_MAX], struct note *out, struct err *e);
bool vault_no_such_note(struct str identifier, struct err *e);

/* ---- patterns ----------------------------------------------------------- */

/* A world to match patterns in, for one call. NULL and *e as matcher_open(). Not while a lock
 * is held: patterns take time. */
struct matcher *vault_matcher(struct vault *v, uint64_t compute_ns, uint64_t until_ns,
                              struct err *e);

/* ---- option objects ----------------------------------------------------- */

/* Is it an object whose keys all stand in the list (ends with NULL)? `what` is
 * named in the message: "notes.create". */
bool options_check(const struct json *o, const char *what, const char *const *keys,
                   struct err *e);
/* Looks the key up, under its second name too (or NULL). *out is empty when it is
 * absent or null. false and ERR_INVALID: of another type. */
bool options_str(const struct json *o, const char *key, const char *other,
                 struct str *out, struct err *e);
bool options_bool(const struct json *o, const char *key, bool *out, struct err *e);
/* The key "folder": *given tells whether it is there; a slash at its end is cut off. */
bool options_folder(const struct json *o, struct str *out, bool *given, struct err *e);
/* A whole number in this range. */
bool options_int(const struct json *o, const char *key, int64_t fallback, int64_t min,
                 int64_t max, int64_t *out, struct err *e);
/* The identifier of a string or an object. */
bool options_identifier(const struct json *o, struct str *out, struct err *e);
