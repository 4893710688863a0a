/* typescript/internal.h - what the files of this room share. */
#pragma once
#include "cache/cache.h"
#include "guest/guest.h"
#include "typescript/typescript.h"

/* ---- positions ---------------------------------------------------------- */

/* Lines and columns of a text, where they begin and in which units they are counted. */
struct lined {
    struct str text;
    uint32_t *starts; /* byte offsets */
    uint32_t count;
};
/* Borrows the text; false: more than 2^31 bytes of it, or no memory. */
bool lined_init(struct lined *l, struct str text);
void lined_done(struct lined *l);
#define scoped_lined __attribute__((cleanup(lined_done)))
/* A line (from 0) without its end; empty beyond the last. */
struct str lined_at(const struct lined *l, uint32_t line);
/* From a column in one unit to another, all from 0. */
uint32_t units_of_bytes(struct str line, uint32_t bytes); /* UTF-16 units */
uint32_t units_of_chars(struct str line, uint32_t chars);
uint32_t chars_of_units(struct str line, uint32_t units);
uint32_t bytes_of_units(struct str line, uint32_t units);
uint32_t chars_of_bytes(struct str line, uint32_t bytes);

/* A segment of a source map: from here on, code came from there. From 0; columns in
 * UTF-16 units. */
struct segment {
    uint32_t line, column;
    uint32_t from_line, from_column;
};
struct positions {
    struct segment *row; /* by line and column */
    size_t count;
};
/* Reads the "mappings" of a source map. ERR_INVALID: they are none. */
bool positions_read(struct str mappings, struct positions *out, struct err *e);
void positions_done(struct positions *p);
/* The last segment at or before that place on its line, else the last one before;
 * NULL: there is none. */
const struct segment *positions_find(const struct positions *p, uint32_t line,
                                     uint32_t column);
/* Does code come from there, or from behind it? */
bool positions_reach(const struct positions *p, uint32_t line, uint32_t column);

/* ---- code --------------------------------------------------------------- */

struct typescript_code {
    struct cached cached;
    char *source, *javascript;
    struct lined from, to;
    struct positions positions;
};
/* Copies the texts and takes the positions over, even on failure. NULL and ERR_LIMIT. */
struct typescript_code *code_new(struct str source, struct str javascript,
                                 struct positions *positions, struct err *e);

/* ---- esbuild ------------------------------------------------------------ */

extern const struct guest_kind esbuild;

struct message {
    uint32_t line;   /* from 1; 0: not known */
    uint32_t column; /* bytes, from 0 */
    uint32_t length; /* bytes */
    struct str text;
};

/* The result of a transform; its memory is the arena's. */
struct transformed {
    struct str javascript, mappings;
    struct message *messages; /* errors; without any it went well */
    size_t message_count;
};
bool esbuild_transform(struct guest_world *w, struct str source, struct arena *a,
                       struct transformed *out, struct err *e);

/* ---- what esbuild does not do ------------------------------------------- */

/* The whole way from source to code. */
struct typescript_code *translate(struct guest_world *w, struct str source,
                                  struct arena *a, struct typescript_place *where,
                                  struct err *e);

/* ---- what was done before ----------------------------------------------- */

#define STORE_FILE_BYTES ((size_t)8 << 20) /* of one file */

/* A reference of the caller's; NULL: it is not there. */
const struct typescript_code *store_find(struct cache *c, const char *key,
                                         struct str source, bool *on_disk);
void store_keep(struct cache *c, const char *key, const struct typescript_code *code);

/* Where answers came from, for tests. */
struct typescript_counts {
    uint64_t from_memory, from_disk, made;
};
struct typescript_counts typescript_count(const struct typescript *t);
