/* functions/functions.h - custom functions of a vault: what agents and persons keep there
 * to be called by name later; their file, versions, backups, sharing, validity and use.
 *
 * `.cloche/custom-functions.json` of the vault is the truth: by name, one field a line, so
 * that persons and git can read and merge it. Every version is in `.cloche/functions.db`,
 * the last ten files in `.cloche/backups/`. Nothing here runs a function.
 * Strings and values of a function are borrowed from the set, or arena, that it is of.
 * Source: seed 001, "Data Storage Structure"; docs/functions.md.
 * Threads: safe, except open and close. Any number of processes share a vault.
 */
#pragma once
#include "base/base.h"
#include "usage/usage.h"
#include "json/json.h"

#define FUNCTIONS_MAX 2000u                      /* of one vault */
#define FUNCTIONS_FILE_MAX ((size_t)32 << 20)    /* bytes */
#define FUNCTION_CODE_MAX ((size_t)256 << 10)    /* bytes, of one */
#define FUNCTION_NAME_MAX 64u                    /* characters */
#define FUNCTION_TEXT_MAX 4096u                  /* bytes of a description or a type */
#define FUNCTION_LIST_MAX 32u                    /* parameters, tags, examples */
#define FUNCTION_EXAMPLES_MAX ((size_t)64 << 10) /* bytes of them all, as JSON */

/* ---- what one is --------------------------------------------------------- */

enum function_maker { FUNCTION_BY_AGENT, FUNCTION_BY_USER };
/* Of its code. Its types are TypeScript's in every language. */
enum function_language { FUNCTION_TYPESCRIPT, FUNCTION_PYTHON };

struct function_parameter {
    struct str name, type, description;
    bool optional;
    const struct json *fallback; /* its `default`; NULL: none */
    const struct json *source;   /* as it was read */
};
struct function_example { /* a test kept with it; without the last three: it ends well */
    struct str name;
    const struct json *args;     /* an object by name, or an array; NULL: none */
    const struct json *expected; /* what it returns */
    const struct json *matches;  /* what is at least in that */
    struct str error;            /* what it throws: a part of "name: message" */
    const struct json *notes;    /* an array, as notes.create takes them: all that there
                                  * are when it runs; NULL: the vault as it is */
    struct str now;              /* the date when it runs; empty: that of the clock */
    int64_t now_ms;
    const struct json *source;
};
struct function {
    struct str id, name, description, return_type, code;
    const struct function_parameter *parameters;
    size_t parameter_count;
    const struct str *tags;
    size_t tag_count;
    const struct function_example *examples;
    size_t example_count;
    struct str api_version; /* of the API that it was checked against */
    enum function_language language;
    /* The following are set by the store. */
    int64_t created_ms, updated_ms, last_used_ms; /* 0: not known, never */
    uint64_t usage_count;                         /* when the file was written */
    enum function_maker created_by;
    struct str updated_by;     /* the caller's name */
    uint32_t version;          /* from 1 */
    struct str hash;           /* of the definition, without any of the above */
    struct str origin;         /* the library that it is shared from; empty: none */
    const struct json *source; /* as it was read; fields that nobody knows survive */
};
/* Its name without the dots of "...names", which takes all further arguments (*rest). */
struct str function_parameter_name(const struct function_parameter *p, bool *rest);
/* Writes it as an object in the seed's nesting and order. */
void function_write(const struct function *fn, struct json_writer *out);
/* "createOrUpdateDailyNote(date?: string, content?: string): Promise<Note>". */
void function_signature(const struct function *fn, struct buf *out);

/* ---- what is wrong with one ---------------------------------------------- */

#define FINDINGS_MAX 200u /* kept of each kind; all are counted */
/* The insides of JSON arrays of {field, line, column, code, message, suggestion}. */
struct findings {
    struct buf errors, warnings;
    uint32_t error_count, warning_count;
    uint32_t type_errors; /* of the errors, the type checker's */
    struct {
        char field[81], message[1001]; /* their beginnings */
        uint32_t line, column;
    } first; /* error */
};
struct finding {
    struct str field;      /* "parameters.date.type", "code" */
    uint32_t line, column; /* in the code, or in the file; 0: none */
    const char *code;      /* "MISSING_FIELD" */
    struct str message, suggestion;
};
void findings_init(struct findings *f);
void findings_done(struct findings *f);
#define scoped_findings __attribute__((cleanup(findings_done)))
void findings_error(struct findings *f, const struct finding *what);
void findings_warn(struct findings *f, const struct finding *what);

/* Reads a definition as register_custom_function takes it: shapes, lengths and counts; all
 * errors at once. Borrows from `given`. false: there are findings, or *e (ERR_LIMIT). */
bool function_read(const struct json *given, struct arena *a, struct function *out,
                   struct findings *f, struct err *e);
/* `fn` with those fields of it that `patch` has. */
bool function_patch(const struct function *fn, const struct json *patch, struct arena *a,
                    struct function *out, struct findings *f, struct err *e);

/* ---- the functions of a vault -------------------------------------------- */

struct functions;
struct function_set;
/* Looks at nothing yet. NULL and *e as os_dir_open(). */
struct functions *functions_open(const char *vault_folder, struct err *e);
void functions_close(struct functions *f); /* NULL is fine */
SCOPED(functions, functions_close);
struct usage *functions_usage(struct functions *f); /* how they are used; its own */

/* Read-only libraries, best first, of other folders (FOLDER/.cloche/custom-functions.json
 * or FOLDER/custom-functions.json); the vault's own functions win over theirs. Told again
 * before each functions_now(); costs nothing while they are the same. */
struct functions_library {
    const char *name, *folder; /* what `origin` says; its absolute path */
};
void functions_share(struct functions *f, const struct functions_library *libraries,
                     size_t count);

/* All of them as they are now, shared and never changed. Costs two stats while nothing has
 * changed. No file: an empty set. NULL and *e: ERR_INVALID (damaged: names the first place
 * and how to restore), ERR_CONFLICT (of a newer version), ERR_DENIED (a symbolic link),
 * ERR_LIMIT, ERR_IO. A library that cannot be read is left out. */
const struct function_set *functions_now(struct functions *f, struct err *e);
const struct function_set *function_set_hold(const struct function_set *s);
void function_set_drop(const struct function_set *s); /* NULL is fine */
static inline void function_set_drop_at(const struct function_set **s)
{
    function_set_drop(*s);
}
#define scoped_set __attribute__((cleanup(function_set_drop_at)))
/* By name, else by id; NULL: there is none. */
const struct function *function_named(const struct function_set *s, struct str name);
const struct function *function_at(const struct function_set *s, size_t i); /* by name */
size_t function_count(const struct function_set *s);
struct str function_set_hash(const struct function_set *s); /* another when anything is */
/* The library whose function of the same name stands behind the vault's own `fn`. */
struct str function_hides(const struct function_set *s, const struct function *fn);

/* ---- changing ------------------------------------------------------------ */

struct function_author {
    struct str by; /* the caller's name */
    enum function_maker maker;
    struct str note; /* why; may be empty */
    /* May refuse a change that writes so many bytes; NULL: nobody does. */
    bool (*admits)(void *arg, size_t bytes, struct err *e);
    void *arg;
};
struct function_change {
    const struct function *fn; /* what it becomes; NULL: it is removed */
    struct str of; /* name or id of the one that is changed; empty: a new one */
    uint32_t expected_version; /* of that one; 0: whatever it is */
    bool replace; /* a new one may become the next version of the one with its name */
    const char *action; /* what versions say was done; NULL: as it is */
    uint32_t version;   /* told: of the one removed its last */
    bool same;          /* told: it was so already, there is no new version */
};
/* All of them or none, under the lock of all processes: file, backup, versions. `now` (may
 * be NULL): what then holds, dropped by the caller. ERR_NOT_FOUND (names the nearest),
 * ERR_CONFLICT (the name is taken; it has another version, told), ERR_DENIED (a library's;
 * read-only), ERR_LIMIT, ERR_INVALID (the file is damaged), ERR_BUSY, ERR_IO. */
bool functions_change(struct functions *f, struct function_change *changes, size_t count,
                      const struct function_author *who, const struct function_set **now,
                      struct err *e);
/* They were checked against this version of the API: no new version of them. */
bool functions_checked(struct functions *f, const struct str *names, size_t count,
                       struct str api_version, struct err *e);

/* ---- versions: of a name or id, also of one that was removed -------------- */

/* Versions of a function, and bytes of all: above, the oldest go, of the author that has most of
 * them; the last of each who changed a function stays while that function is there. */
#define FUNCTION_VERSIONS 200u
#define FUNCTION_VERSIONS_BYTES (INT64_C(64) << 20)
#define FUNCTIONS_REMOVED 2000u /* of which something is known; the last */

/* {id, name, exists, versions: [{version, at, by, maker, action, note?, name, apiVersion?,
 * current}]}, newest first, at most the last 1,000. ERR_NOT_FOUND; ERR_IO. */
bool functions_versions(struct functions *f, struct str name, struct json_writer *out,
                        struct err *e);
/* Reads a version; `version` 0: the last. In `a`. */
bool functions_version(struct functions *f, struct str name, uint32_t version,
                       struct arena *a, struct function *out, struct err *e);
/* {name, from, to, fields: [names that differ], diff}, the last a unified diff of the code
 * and then of the other fields; `to` 0: the last, `from` 0: the one before `to`. */
bool functions_diff(struct functions *f, struct str name, uint32_t from, uint32_t to,
                    struct json_writer *out, struct err *e);
/* A new version with an old one's content; one that was removed comes back. */
bool functions_rollback(struct functions *f, struct str name, uint32_t version,
                        uint32_t expected_version, const struct function_author *who,
                        const struct function_set **now, struct err *e);

/* ---- backups ------------------------------------------------------------- */

#define FUNCTION_BACKUPS 10u
#define FUNCTION_BACKUP_NAME 64
/* Puts a copy of the file there now. ERR_NOT_FOUND: there is no file yet. */
bool functions_backup(struct functions *f, const struct function_author *who,
                      char name[static FUNCTION_BACKUP_NAME], struct err *e);
/* [{backup, at, size, functions, sound}], newest first. */
bool functions_backups(struct functions *f, struct json_writer *out, struct err *e);
/* Makes the file what a backup was (empty: the newest sound one). What it is now, damaged or
 * not, becomes a backup first. Versions go on counting. Writes {success, backup, created,
 * changed, removed: [names]}. */
bool functions_restore(struct functions *f, struct str backup,
                       const struct function_author *who, struct json_writer *out,
                       struct err *e);

/* ---- sharing ------------------------------------------------------------- */

/* The file's format with {exportedAt, from} before: of `names` (an array; NULL: all of the
 * vault's own); *count of them. ERR_NOT_FOUND names the first that is not there. */
bool functions_export(struct functions *f, const struct json *names, struct str from,
                      struct buf *out, size_t *count, struct err *e);

enum function_conflict {
    CONFLICT_SKIP,
    CONFLICT_RENAME,
    CONFLICT_REPLACE,
    CONFLICT_VERSION
};
struct function_import {
    struct str text; /* our file, or one of those that docs/functions.md tells of */
    const struct json *names;  /* an array: only these; NULL: all */
    enum function_conflict on; /* REPLACE: the one that is there goes, with its history */
    bool dry_run, partly;      /* partly: what is sound, even where others are not */
    /* Called once for each that would be stored, among all that would then be there; NULL:
     * nothing is checked. false and *e: it could not be, and nothing is stored. */
    bool (*check)(void *arg, const struct function *fn, const struct function_set *among,
                  struct findings *found, struct err *e);
    /* Called for each that was stored; NULL: nobody wants to hear. */
    void (*stored)(void *arg, struct str name, uint32_t version);
    /* Writes why nothing was stored, as members of the report; NULL: `error` alone. */
    void (*put_error)(void *arg, const char *why, struct json_writer *out);
    void *arg;
};
/* Runs nothing. All or nothing (but `partly`): where one fails, what would have been stored
 * is "not imported". Writes {success, error?, imported, skipped, failed, notImported?,
 * functions: [{name, action: created | renamed | replaced | version | same | skipped |
 * failed | not imported, newName?, version?, errors?, warnings?}], errors?}. false and *e:
 * not even that. */
bool functions_import(struct functions *f, const struct function_import *i,
                      const struct function_author *who, struct json_writer *out,
                      struct err *e);
/* `fn` under another name, its code binding that. In `a`. */
bool function_renamed(const struct function *fn, struct str name, struct arena *a,
                      struct function *out, struct err *e);
/* `fn` with customFunctions.TO in its code where that is customFunctions.FROM; *changed: it
 * stands there. In `a`. */
bool function_uses_renamed(const struct function *fn, struct str from, struct str to,
                           struct arena *a, struct function *out, bool *changed,
                           struct err *e);
/* Built-in beginnings: [{template, description, signature, tags}]. */
void function_templates(struct json_writer *out);
/* A definition made of one, under another name unless that is empty. ERR_NOT_FOUND. */
bool function_template(struct str which, struct str name, struct arena *a,
                       struct function *out, struct err *e);
