/* vaults/vaults.h - the user's list of vaults: vaults.json in the configuration
 * folder.
 *
 * A list of folders with names, and which of them is the current one. It says where
 * vaults are and never touches what is in them. Any number of processes may share
 * it: a change is read, made and written under one lock, and the file is replaced as
 * a whole. A file that cannot be read is named in the error and never overwritten.
 * All functions answer ERR_DENIED or ERR_IO where the folder cannot be used,
 * ERR_INVALID where the file is damaged and ERR_CONFLICT where a newer version of
 * this program has written it. Threads: safe.
 */
#pragma once
#include "base/base.h"

#define VAULTS_MAX 500u /* in one list */
#define VAULT_ID_MAX 64u
#define VAULT_NAME_MAX 200u         /* bytes */
#define VAULT_DESCRIPTION_MAX 2000u /* bytes */

struct vault_entry {
    struct str id;          /* letters, digits, '.', '_' and '-', the first no sign */
    struct str name;        /* for people */
    struct str path;        /* absolute, no symbolic link on it when it was added */
    struct str description; /* empty: none */
    struct str created, last_accessed; /* ISO 8601, UTC; added and touched by us */
};

struct vaults {
    const struct vault_entry *all; /* in the order in which they were added */
    size_t count;
    struct str current; /* an id among them, or empty */
};

/* Reads the list; without a file, it is empty. Lives in the arena. */
bool vaults_read(struct arena *a, struct vaults *out, struct err *e);
const struct vault_entry *vaults_find(const struct vaults *v, struct str id);

/* Adds one; its times are set here. It becomes the current one where `use` says so
 * or there was none. ERR_INVALID: an id, name or description that is none;
 * ERR_CONFLICT: the id or the folder is listed already; ERR_LIMIT: VAULTS_MAX. */
bool vaults_add(const struct vault_entry *v, bool use, struct err *e);
/* NULL stays as it is; an empty description is taken away. ERR_NOT_FOUND. */
bool vaults_update(struct str id, const struct str *name, const struct str *description,
                   struct err *e);
bool vaults_use(struct str id, struct err *e);    /* becomes the current one */
bool vaults_remove(struct str id, struct err *e); /* from the list; no file is touched */
/* Notes that it is in use now; written at most once a minute. */
bool vaults_touch(struct str id, struct err *e);

/* A folder's name as far as an id may hold it: "My Notes" is "my-notes". */
void vaults_id_of(const char *path, char out[static VAULT_ID_MAX + 1]);

/* Finds the folder of a person's own choice, which may be anywhere, and makes it
 * where it is missing if `make` says so. Its true path; the caller frees. NULL:
 * also ERR_INVALID, for a folder within a vault's own ".cloche". */
char *vaults_folder(const char *path, bool make, struct err *e);
/* The same on behalf of code: a relative path lies beneath the default root,
 * $XDG_DATA_HOME/cloche/vaults; an absolute one must lie beneath that or one of
 * `roots` (ends with NULL; may be NULL), by a way without symbolic links and hidden
 * folders. Else ERR_DENIED, with what a person can do. */
char *vaults_folder_allowed(struct str path, const char *const *roots, bool make,
                            struct err *e);
