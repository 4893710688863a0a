/* functions/internal.h - what the files of this room share. Private to it.
 *
 * Threads: a struct functions has one mutex, held by whoever is in functions that take
 * one, but where it says otherwise. */
#pragma once
#include <pthread.h>

#include "db/db.h"
#include "functions/functions.h"
#include "os/os.h"

#define OWN_DIR ".cloche"
#define FILE_NAME "custom-functions.json"
#define FORMAT_VERSION 1
#define DEFINITION_MAX ((size_t)1 << 20) /* bytes of one function, as JSON */
#define SET_HASH 33
#define BACKUP_DIR "backups"
#define LOCK_WAIT_MS 15000

/* ---- sets (set.c) -------------------------------------------------------- */

struct function_set {
    atomic_uint holders;
    struct arena *arena;
    struct function *all; /* by name */
    size_t count;
    const struct function **by_id;
    const struct json *root; /* of the file: what else stands in it; NULL: nothing */
    char hash[SET_HASH];
    /* The sets that it is made of, held, and the origin of their functions. */
    const struct function_set **parts;
    struct str *origins;
    size_t part_count;
};
static inline void function_set_end_at(struct function_set **s)
{
    function_set_drop(*s);
}
#define scoped_new_set __attribute__((cleanup(function_set_end_at)))

struct function_set *set_new(size_t text_bytes);
/* Puts what is in it in order. */
bool set_sort(struct function_set *s, struct err *e);
/* Made of a file's text, "" where there is none. `mtime_ms`: when functions were made that
 * do not say it. What is wrong with it goes to `found`: then NULL without *e. */
struct function_set *set_read(struct str text, int64_t mtime_ms, struct findings *found,
                              struct err *e);
/* Hashes a file's text; the same in the set that is made of it. */
void set_hash(struct str text, char out[static SET_HASH]);
/* The vault's own and behind them the libraries'. */
struct function_set *set_join(const struct function_set *own,
                              const struct function_set *const *libraries,
                              const char *const *names, size_t count, struct err *e);
/* The text of a file with these functions, and what else stood in `root`. `head` (may be
 * NULL) writes pairs at its beginning. */
bool set_write(const struct function *const *all, size_t count, const struct json *root,
               void (*head)(void *arg, struct json_writer *w), void *arg, struct buf *out,
               struct err *e);

/* ---- definitions (definition.c, write.c) --------------------------------- */

void function_write_definition(const struct function *fn, struct json_writer *out);
bool function_hash(struct function *fn, struct arena *a, struct err *e);
/* Reads a stored function, with the store's members. false: *e or findings. */
bool function_recall(const struct json *v, struct arena *a, struct function *out,
                     struct findings *f, struct err *e);

/* ---- the store (store.c) ------------------------------------------------- */

struct library {
    char *name, *folder;
    const struct function_set *set; /* NULL: it cannot be read */
    struct os_stamp stamp;
    bool young;
};

struct functions {
    pthread_mutex_t mutex;
    int vault;
    struct usage *usage;
    int own; /* `.cloche`; -1: not open */
    uint64_t own_inode;
    const struct function_set *file; /* the vault's own; NULL: not read yet */
    const struct function_set *now;  /* with the libraries' */
    struct os_stamp stamp;           /* of the file behind `file` */
    bool young;     /* the file was so new that a change of it might not show */
    bool unsettled; /* the history has not seen it yet */
    struct library *libraries;
    size_t library_count;
    struct db *db; /* the history; NULL: not open */
    uint64_t db_inode;
    bool db_frozen; /* it cannot be written, and is as it was when it was opened */
    int lock;       /* -1: not held */
};

/* Opens `.cloche`; `make`: makes it. false without *e: it is not there. */
bool store_folder(struct functions *f, bool make, struct err *e);
/* The vault's own functions as they are; borrowed from `f`. */
const struct function_set *store_file(struct functions *f, struct err *e);
/* The lock between processes; ended by store_unlock(). */
bool store_lock(struct functions *f, unsigned wait_ms, struct err *e);
void store_unlock(struct functions *f); /* not held is fine */
static inline void store_unlock_at(struct functions **f)
{
    store_unlock(*f);
}
#define scoped_lock(f) \
    __attribute__((cleanup(store_unlock_at))) struct functions *locked_ = (f)
/* With the mutex alone. */
static inline void store_leave(pthread_mutex_t **m)
{
    pthread_mutex_unlock(*m);
}
#define scoped_store(f)                                                            \
    __attribute__((cleanup(store_leave))) pthread_mutex_t *entered_ = &(f)->mutex; \
    pthread_mutex_lock(entered_)
/* The text of the file; empty where there is none. */
bool store_text(struct functions *f, struct buf *out, struct os_stat *st, struct err *e);
/* Puts a text in the place of the file, which becomes a backup. While the lock is held.
 * ERR_CONFLICT: somebody else has just changed it. */
bool store_write(struct functions *f, struct str text, struct err *e);
/* The file was written by us: it is `s` from now on, which is handed over. */
/* Whatever was read is read again. */
void store_forget(struct functions *f);
void store_written(struct functions *f, const struct function_set *s, bool recorded);

/* ---- the history (versions.c) --------------------------------------------- */

/* Opens it, made where it is missing; put aside and made anew where it is damaged, and
 * the lock is held. */
struct db *versions_open(struct functions *f, struct err *e);
/* For reading alone, also where nothing can be written. */
struct db *versions_look(struct functions *f, struct err *e);
void versions_close(struct functions *f);
/* Gives the functions of a set, read from the file that `read` tells of, the numbers of
 * their versions, and records what others did to the file. Where it cannot, they go on
 * without. */
void versions_settle(struct functions *f, struct function_set *s,
                     const struct os_stamp *read);
struct version_entry {
    const struct function *fn; /* version, updated_ms, updated_by as they are to be */
    const char *action;
    struct str note;
    enum function_maker maker;
};
bool versions_add(struct db *db, const struct version_entry *entry, struct err *e);
/* Removes surplus versions of a function, and of all (prune.c). */
bool versions_prune(struct db *db, struct str id, struct err *e);
bool versions_prune_all(struct db *db, struct err *e);
/* May they be written? NULL and those who are not asked may. */
bool author_may_write(const struct function_author *who, size_t bytes, struct err *e);
/* They are there no more. */
bool versions_remove(struct db *db, struct str id, struct err *e);
/* The differences of a set that replaces all: names, as insides of JSON
 * arrays. */
struct versions_told {
    struct buf created, changed, removed;
};
/* In an open transaction: numbers the versions of a set, and records as done by `who` (NULL:
 * by somebody outside) what is another than the history says. */
bool versions_adopt(struct db *db, struct function_set *set,
                    const struct function_author *who, const char *action,
                    struct versions_told *told, struct err *e);
struct str versions_keep(struct arena *a, struct str s, struct err *e);
/* The last version of the function with this id; 0: none is known. */
uint32_t versions_last(struct db *db, struct str id, struct err *e);

/* ---- backups (backup.c) -------------------------------------------------- */

/* Puts a text of the file aside; its name in `name` where that is not NULL. */
bool backup_put(struct functions *f, struct str text, char *name, struct err *e);

/* The function most likely meant by an unknown name; NULL: none is near. */
const struct function *set_nearest(const struct function_set *s, struct str name);
bool set_missing(const struct function_set *s, struct str name, struct err *e);

/* ---- names in code (rename.c) --------------------------------------------- */

struct renaming {
    struct str from, to;
};
/* Appends code in which customFunctions.FROM is customFunctions.TO. true: it is another. */
bool rename_uses(const struct function *fn, const struct renaming *all, size_t count,
                 struct buf *out);

/* All that is wrong with the file, by line and column; nothing where it is sound. */
bool functions_diagnose(struct functions *f, struct findings *out, struct err *e);
