/* engine/engine.h - the Wasm engines: compiled modules, fresh worlds, limits.
 *
 * A world is one store with one instance, made for one call and thrown away:
 * nothing leaks from one to the next. Four engines, each made when first
 * needed: own (guests that we built: no cost for being stoppable, they are
 * stopped by taking their memory away; their code must not use memory.copy or
 * memory.fill, which the engine performs in code of its own), the same with fuel,
 * foreign (anyone's modules: epochs) and metered (fuel and epochs). All know
 * WebAssembly 2.0 with one memory; foreign and metered ones also exceptions, whose heap
 * counts as the guest's memory. No threads, no garbage collection.
 *
 * Memory comes from slots of our own, mapped privately from a baked image and put back
 * page by page after each world; or from a large file (struct image_file), and unmapped
 * with the world. Where the system refuses memfd_create or large reservations, wasmtime's
 * pool or plain allocation takes over, with one warning; everything works there, slower.
 */
#pragma once
#include "base/base.h"

/* ---- the process's engines ---------------------------------------------- */

struct engine;

enum engine_kind { ENGINE_OWN, ENGINE_FOREIGN, ENGINE_METERED, ENGINE_OWN_METERED };

/* Where linear memory comes from, best first. */
enum engine_memory {
    ENGINE_MEMORY_SLOTS, /* ours, reset after use */
    ENGINE_MEMORY_POOL,  /* wasmtime's pool, images copied in */
    ENGINE_MEMORY_SMALL, /* no large reservations: bounds-checked code */
};

struct engine_options {
    enum engine_memory memory; /* the best that may be used */
    bool no_cache;             /* compile anew each time */
    bool quick;                /* compile soon rather than well: for what runs once.
                                  Only with no_cache */
    bool frugal;               /* compile in little memory and time, into code that is
                                  several times slower and larger; then the same */
    bool verify_resets;        /* compare every slot with its image after each reset,
                           instead of one in a thousand */
    /* A folder of modules that were compiled ahead (module_compile_ahead), looked at
     * where the cache has none; trusted as the program is that it lies beside. NULL:
     * there is none. Borrowed. */
    const char *ahead;
    bool make_ready;  /* module_open_baked() writes what it made of texts into `ahead` */
    uint64_t idle_ms; /* of struct loadable; 0: ENGINE_IDLE_MS */
    uint64_t cache_bytes; /* of the cache of compiled modules on disk; 0: 2 GiB */
};
#define ENGINE_IDLE_MS 180000u

/* Threads: safe. NULL and ERR_IO when the system gives us nothing to work with.
 * All modules and worlds end before engine_close(). */
struct engine *engine_open(const struct engine_options *o, struct err *e);
void engine_close(struct engine *g); /* NULL is fine */
SCOPED(engine, engine_close);

enum engine_memory engine_memory_used(const struct engine *g);
const char *engine_memory_name(enum engine_memory m); /* "own slots" ... */
const char *engine_version(void);                     /* "wasmtime 50.0.1" */

/* Bytes of stack that a thread needs to run guests: they may use half of it
 * before they are stopped (ERR_STACK). On less, the process would die. */
#define ENGINE_THREAD_STACK ((size_t)8 << 20)

/* ---- modules ------------------------------------------------------------ */

struct module;
struct world;
struct world_limits;

/* A function that guests import. `cells` holds the arguments, in order, each in
 * its own cell (i32 in the low half, whatever in the high one; f32 and f64 by their
 * bits); the result, if any, goes to cells[0]. Runs on the world's thread, also while
 * world_open() runs a start function. false and *e: the guest is stopped and
 * world_call() fails with *e. */
typedef bool engine_import_fn(struct world *w, uint64_t *cells, struct err *e);

struct engine_import {
    const char *module, *name;
    const char *type; /* "iI:i": i i32, I i64, f f32, F f64, result behind ':' */
    engine_import_fn *call;
};

/* A part of an open file, regular, in whole pages, that worlds' memories begin as: mapped
 * privately, never read through nor copied, so that holes cost nothing and pages that
 * nobody writes are shared by all. Trusted as the program is: nobody may write to it any
 * more. Where it is cut short all the same, its worlds end with ERR_IO, and no more. */
struct image_file {
    int fd; /* borrowed */
    uint64_t at, bytes;
};

/* The source of a module. Borrowed only during the call, except `imports`, which must
 * outlive the module. */
struct module_source {
    struct str wasm;
    /* crypto_hash_hex() of it, by who is trusted as the program is: then a compiled form at
     * hand is found without reading the bytes. NULL: not known. */
    const char *wasm_hash;
    /* The memory that each world starts with, instead of data segments, as made
     * by the room bake: at most the module's minimum, in whole pages. Empty for
     * a module that brings its own data. */
    struct str image;
    /* The same in a file, or NULL. Needs an own kind; its worlds are not saved nor frozen. */
    const struct image_file *file;
    bool
        beside; /* `file` is the program's own, and small: it is as those bytes would be */
    const struct engine_import *imports;
    size_t import_count;
    /* The output of module_serialize() for the same bytes in another process, for an
     * engine like this one: used instead of compiling, and run without a further look.
     * Empty: none. */
    struct str compiled;
    bool never_compile; /* ERR_NOT_FOUND where its compiled form is not at hand */
};

/* Compiles, or finds the compiled form in the cache ($XDG_CACHE_HOME/cloche,
 * 0700, keyed by content, engine and CPU, checked by our own hash; what does
 * not match is compiled again). NULL and ERR_INVALID (no valid module, or an
 * import that is not there) or ERR_IO. Threads: safe afterwards. */
struct module *module_open(struct engine *g, enum engine_kind kind,
                           const struct module_source *s, struct err *e);

/* The bake's files of a guest of ours in the folder `dir`: NAME.bare.wasm, NAME.img and
 * NAME.id. Trusted as the program is that they lie beside; replaced, never written to. */
#define BAKED_NOTES 4
struct baked_guest {
    const char *dir, *name;
    const struct engine_import *imports; /* outlive the module */
    size_t import_count;
    const struct baked_first *first; /* or NULL */
};
/* A first world takes in a text, and the memory that it then has is what all further ones
 * begin with. It must hang on nothing but the guest and the text: where the build made the
 * same ready (engine_options.make_ready), that is mapped, and no first world is opened. */
struct baked_first {
    struct str text;
    /* `notes`: what the host has to know of the memory; kept with it. */
    bool (*prepare)(struct world *w, void *arg, uint64_t *notes, struct err *e);
    void *arg, *data;      /* of prepare(); world_data() */
    uint64_t memory_bytes; /* limit of that world; 0: 4 GiB */
};
/* As module_open(); ERR_NOT_FOUND where it was not built. */
struct module *module_open_baked(struct engine *g, enum engine_kind kind,
                                 const struct baked_guest *b,
                                 uint64_t notes[static BAKED_NOTES], struct err *e);
/* Compiles for engines and CPUs like this one's, into the open folder `dir`, unless it
 * is there. ERR_INVALID as module_open(), or ERR_IO. */
bool module_compile_ahead(struct engine *g, enum engine_kind kind, struct str wasm,
                          int dir, struct err *e);
/* Appends the compiled form. ERR_IO, or ERR_LIMIT at the buf's ceiling. */
bool module_serialize(const struct module *m, struct buf *out, struct err *e);
/* Does it export a function of that name without arguments and results? */
bool module_has_start(const struct module *m, const char *name);
uint64_t module_memory_bytes(const struct module *m); /* with which its worlds begin */
void module_close(struct module *m); /* NULL is fine; no world may be open */
SCOPED(module, module_close);

/* A module that is loaded when it is first used, and closed when it has not been for
 * engine_options.idle_ms. `load` runs under the loadable's lock, on the thread that needs
 * the module; `watch` is what that thread gave to loadable_take(), or NULL. Threads: safe. */
struct loadable;
typedef struct module *loadable_fn(void *arg, const void *watch, struct engine *g,
                                   struct err *e);
struct loadable *loadable_new(struct engine *g, loadable_fn *load, void *arg);
void loadable_free(struct loadable *l); /* unused, before the engine; NULL is fine */
/* The module stays until it is given back; NULL and what `load` failed with. */
struct module *loadable_take(struct loadable *l, const void *watch, struct err *e);
void loadable_give(struct loadable *l);
/* world_open() of it; world_close() gives it back. */
struct world *loadable_open(struct loadable *l, const struct world_limits *limits,
                            void *data, struct err *e);
bool loadable_is_loaded(struct loadable *l);
/* Does the one-time work of loading now, such as compiling; the module is not kept. */
bool loadable_prepare(struct loadable *l, struct err *e);

/* ---- worlds ------------------------------------------------------------- */

struct world_limits {
    uint64_t memory_bytes; /* linear memory, the image included; 0: 4 GiB. Tables,
                              which are the host's, have at most 2^20 entries */
    uint64_t compute_ns;   /* CPU time in the guest over all calls; 0: none */
    uint64_t until_ns;     /* os_mono_ns() at which all ends; 0: never */
    uint64_t fuel;         /* of the metered kinds; 0: no limit. The same code on the
                              same memory uses the same */
    uint64_t tenant;       /* memory is not handed between tenants unmapped */
    struct cancel *cancel; /* may be NULL */
};

/* NULL and ERR_MEMORY (what it begins with is over the limit), ERR_TIMEOUT,
 * ERR_CANCELLED, ERR_BUSY (no slot to be had) or ERR_GUEST (its start function failed).
 * `data` is what world_data() answers. Threads: one at a time. */
struct world *world_open(struct module *m, const struct world_limits *limits, void *data,
                         struct err *e);
void world_close(struct world *w); /* NULL is fine */
SCOPED(world, world_close);
void *world_data(const struct world *w);
/* Another end of all, between calls or while it is paused: limits.until_ns. */
void world_set_until(struct world *w, uint64_t until_ns);
/* The same for all that it may compute, what it has computed so far included. */
void world_set_compute(struct world *w, uint64_t compute_ns);

/* Calls an export with `n` cells (see engine_import_fn; room for one result even
 * when there are no arguments). false and the limit that was hit (ERR_TIMEOUT,
 * ERR_MEMORY, ERR_FUEL, ERR_STACK, ERR_CANCELLED), ERR_GUEST for any other trap,
 * ERR_INVALID for an export that is not there or takes other than `n` numbers (what
 * our own guests export is not checked), or what an import failed with. A limit
 * latches: whatever the guest does next, the outcome stays, and every later call
 * fails with it. (Memory that is refused in wasmtime's own memories is not seen: the
 * guest gets its -1.) */
bool world_call(struct world *w, const char *name, uint64_t *cells, size_t n,
                struct err *e);

/* `n` bytes of the guest's memory from its address `at`: the only place where a
 * guest's address becomes a pointer. NULL when any byte lies outside. Valid
 * until the next call into the guest, or until memory grows. */
void *world_slice(struct world *w, uint64_t at, uint64_t n);
/* All of it. */
struct str world_memory(struct world *w);
/* The same after a call that failed: what a stopped guest left behind, to be read
 * and trusted in nothing. NULL as world_slice. */
const void *world_remains(struct world *w, uint64_t at, uint64_t n);

/* The difference of the world's memory from the module's image, appended to `out`: for
 * our own baked guests, between calls that went well, with the globals back at their
 * initial values. ERR_LIMIT at the buf's ceiling. */
bool world_save(struct world *w, struct buf *out, struct err *e);
/* Gives a world that was just opened, of the same module, that memory again. ERR_CONFLICT:
 * it was saved over another image (another build, another table); ERR_MEMORY: the world may
 * not have so much; ERR_INVALID: these bytes are none that world_save() gave; ERR_BUSY: the
 * system has no more memory. Afterwards the world is only fit to be closed. */
bool world_restore(struct world *w, struct str saved, struct err *e);

/* The system may take back what these bytes hold, in whole pages: afterwards they are zeros
 * or what the image has. false: not all of them are memory of the world. */
bool world_discard(struct world *w, uint64_t at, uint64_t n);
/* Bytes of the pages that the world has written so far (and not discarded), which are its
 * alone. Takes about a millisecond a GB. false: the system does not tell. */
bool world_touched(struct world *w, uint64_t *bytes);

/* From within an import: what this thread computes until world_resume() is the host's
 * work, and not counted as the guest's. limits.until_ns is looked at when the guest goes
 * on, and may be another by then. All other limits hold. */
void world_pause(struct world *w);
void world_resume(struct world *w);

/* From within an import: time that the guest chose to sleep counts as if it had computed,
 * or one that only sleeps would never end. Not told by world_usage(). */
void world_charge(struct world *w, uint64_t ns);
/* Was a limit hit, or the call cancelled? The guest stops when the import returns. */
bool world_is_stopped(const struct world *w);

bool world_get_global(struct world *w, const char *name, uint64_t *cell);
/* How many entries the exported table has, -1 when there is none. */
int64_t world_table_size(struct world *w, const char *name);
/* Identity of an entry, 0 for null; equal for the same function. */
uint64_t world_table_entry(struct world *w, const char *name, uint64_t index);

struct world_usage {
    uint64_t compute_ns;  /* CPU time in the guest so far */
    uint64_t memory_peak; /* bytes of linear memory; it never shrinks */
    uint64_t fuel;        /* used so far, of the metered kinds */
};
struct world_usage world_usage(struct world *w);
