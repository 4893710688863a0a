/* guest/guest.h - our own baked guests that are asked questions, each in a fresh world.
 *
 * A guest exports `input(n) -> at`, room for n bytes, and functions that read what was put
 * there and answer the address of a struct of abi/abi.h. It is loaded by the first question,
 * and closed when none has come for a while. Nothing that it answers is trusted: places are
 * those of its memory, and sizes are checked.
 */
#pragma once
#include "base/base.h"
#include "engine/engine.h"

/* ---- any world of such a guest ------------------------------------------ */

/* Room for `n` bytes, valid until the next call. NULL and ERR_LIMIT, ERR_GUEST or as
 * world_call(). */
char *guest_room(struct world *w, size_t n, struct err *e);
bool guest_put(struct world *w, struct str text, struct err *e); /* into such room */
/* Calls `export`; copies the `size` bytes that its result is the address of to `head`. */
bool guest_answer(struct world *w, const char *export, uint64_t *cells, size_t count,
                  void *head, size_t size, struct err *e);
/* Borrowed from the guest's memory until the next call. */
bool guest_text(struct world *w, uint32_t at, uint32_t n, struct str *out, struct err *e);
/* `most` where a parser ended with its stack. */
#define GUEST_NESTED_MAX 100u
/* Does JavaScript or TypeScript have a bracket within more than `most` others? The place of
 * the first, from 1, columns in characters. Without a parser: a guess where parsing failed,
 * and safe for a `most` that no person writes. */
bool guest_code_is_nested(struct str code, unsigned most, uint32_t *line,
                          uint32_t *column);

/* Imports of WASI that C libraries declare and these guests never use: there are no files. */
engine_import_fn guest_no_file;
#define GUEST_WASI "wasi_snapshot_preview1"
#define GUEST_NO_FILES                                     \
    {GUEST_WASI, "fd_close", "i:i", guest_no_file},        \
        {GUEST_WASI, "fd_seek", "iIii:i", guest_no_file},  \
        {GUEST_WASI, "fd_write", "iiii:i", guest_no_file}, \
    {                                                      \
        GUEST_WASI, "fd_fdstat_get", "ii:i", guest_no_file \
    }

/* ---- guests -------------------------------------------------------------- */

struct guest;
struct guest_world;

/* A failure in words for who asked. NULL: in the engine's. */
struct guest_words {
    const char *stack, *memory;   /* sentences */
    const char *timeout, *failed; /* before ": " and why: ERR_TIMEOUT, ERR_GUEST */
};

/* Constant; outlives its guests. */
struct guest_kind {
    const char *name;  /* "lint": of the files, NAME.bare.wasm ... */
    const char *title; /* "the linter's guest": before the reason why it is not loaded */
    enum engine_kind engine;
    bool wasi; /* all of room wasi, without files; besides what `imports` has */
    bool
        has_last_words; /* with wasi: the first line of its standard error says why it ended */
    const struct engine_import *imports;
    size_t import_count;
    uint64_t memory_bytes; /* of a world, at most; 0: 4 GiB */
    uint64_t compute_ns;   /* of a world, at most; 0: no limit */
    const char *not_built,
        *being_built; /* messages of ERR_NOT_FOUND; NULL: the engine's */
    /* A first world takes in the guest's text, with which all others begin. NULL: none. */
    bool (*learn)(struct guest_world *w, struct str text, struct err *e);
    struct guest_words words;
};

/* Loads nothing yet. Copies `dir`, the folder of the baked guest, and `text`. Threads: safe. */
struct guest *guest_new(struct engine *g, const char *dir, const struct guest_kind *kind,
                        struct str text);
void guest_free(struct guest *u); /* NULL is fine; none of its worlds may be open */
/* Loads it now. false and ERR_NOT_FOUND (not built), ERR_IO, ERR_INVALID ... */
bool guest_load(struct guest *u, struct err *e);
/* Sees to it that loading is quick, and keeps nothing in memory. */
bool guest_prepare(struct guest *u, struct err *e);
bool guest_is_loaded(struct guest *u);
bool guest_is_there(const struct guest *u); /* was it built? */
/* Does a process hold the lock of building it, NAME.lock in the folder? */
bool guest_is_building(const struct guest *u);
/* Appends a text that changes when the guest does, or the program around it. */
void guest_put_version(const struct guest *u, struct buf *out);

struct guest_limits {
    uint64_t compute_ns; /* 0: the kind's, which is the most */
    uint64_t until_ns;   /* os_mono_ns() at which all ends; 0: never */
    uint64_t tenant;
    struct cancel *cancel[2]; /* either ends it; NULL is fine. They outlive the world */
};
/* A fresh world. NULL and *e as guest_load() and world_open(). Threads: one at a time. */
struct guest_world *guest_open(struct guest *u, const struct guest_limits *limits,
                               struct err *e);
void guest_close(struct guest_world *w); /* NULL is fine */
SCOPED(guest_world, guest_close);
struct world *guest_world(const struct guest_world *w);

/* guest_put() of `question` and guest_answer(), failures in the kind's words; `cells` may be
 * NULL where `count` is 0. */
bool guest_ask(struct guest_world *w, struct str question, const char *export,
               uint64_t *cells, size_t count, void *head, size_t size, struct err *e);
