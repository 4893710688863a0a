/* notes/write.h - what the calls that write have in common.
 *
 * Such a call is an operation: it first reads its options, without a lock, and then
 * runs within a change, where it may be one of several (notes_batch).
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "notes/change.h"

#define WRITE_PARSE_MAX (64u << 20) /* bytes of working memory for one note */

struct operation {
    const char *name;   /* "notes.update" */
    const char *action; /* for the history */
    size_t state_size;  /* bytes, zeroed, that `read` fills for `run` */
    bool (*read)(const struct json *o, void *state, struct err *e);
    /* Adds to the change and appends the answer that is true once it is committed. */
    bool (*run)(struct change *c, struct vault *v, void *state, struct json_writer *out,
                struct err *e);
};
extern const struct operation create_operation, update_operation, delete_operation,
    restore_operation, rename_operation, move_operation, section_operation;

/* The whole call: with {dry_run: true} the answer is {dry_run, changes}. */
bool write_perform(struct vault *v, const struct operation *op, const struct json *o,
                   struct json_writer *out, struct err *e);

/* The same with a state that was begun. */
bool write_perform_in(struct vault *v, const struct operation *op, const struct json *o,
                      void *state, struct json_writer *out, struct err *e);
/* The same; a dry run's answer has the pairs that `put` adds besides its changes. */
typedef void write_beside(struct vault *v, const void *state, struct json_writer *w);
bool write_perform_with(struct vault *v, const struct operation *op, const struct json *o,
                        void *state, write_beside *put, struct json_writer *out,
                        struct err *e);

/* Moves one of several notes within the change to another type, as notes.move does,
 * whatever version it is. */
bool move_to_type(struct change *c, struct vault *v, const char *path, struct str type,
                  struct err *e);

/* ---- which version is meant ---------------------------------------------- */

struct write_guard {
    struct str hash;
    bool force, trial; /* a trial (dry_run) needs neither: it changes nothing */
};
/* contentHash (or content_hash), force and dry_run. */
bool write_read_guard(const struct json *o, struct write_guard *g, struct err *e);
/* ERR_CONFLICT with both hashes unless it is that version; ERR_INVALID when neither a
 * hash nor force was given. */
bool write_check_guard(const struct write_guard *g, const struct note *n, struct err *e);

/* ---- a whole file -------------------------------------------------------- */

/* Do the options give a note's file as a whole (`markdown`)? */
/* Is the title's part before its last slash a folder that is there? Then it was probably meant,
 * and the note's file would not lie in it: false and ERR_INVALID, which tells what to do. */
bool write_check_title(const struct vault *v, struct str title, const char *instead,
                       struct err *e);
bool write_has_whole(const struct json *o);
/* Parses it as the note at `path`; everything is borrowed from the options and the arena.
 * false and ERR_INVALID: content or metadata beside it, no string, or its frontmatter is
 * no YAML; ERR_LIMIT: too large. */
bool write_parse_whole(const struct json *o, struct str path, struct arena *a,
                       struct note *out, struct err *e);

/* ---- metadata and answers ------------------------------------------------ */

/* Is each key one that may be given, and each value one that can be written?
 * `refused` ends with NULL. */
bool write_check_metadata(const struct json *metadata, const char *const *refused,
                          struct err *e);
void write_pair_id(struct vault *v, struct json_writer *w, const char *key,
                   struct str path);
