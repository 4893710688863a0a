/* engine/internal.h - what the files of this room share. */
#pragma once
#include <pthread.h>
#include <wasm.h>
#include <wasmtime.h>

#include "engine/engine.h"

/* ---- engines ------------------------------------------------------------ */

#define KINDS 4

struct world;
struct engine {
    struct engine_options options;
    enum engine_memory memory;
    uint64_t idle_ns;
    pthread_mutex_t lock; /* guards what follows */
    wasm_engine_t *native[KINDS];
    struct loadable *loadables;
    struct watchdog *watchdog;
    struct verifier *verifier;
};

/* The wasmtime engine of that kind, made when first asked for. */
wasm_engine_t *engine_native(struct engine *g, enum engine_kind kind, struct err *e);
/* Guests that we built, which need not be looked at before they are called. */
static inline bool kind_is_own(enum engine_kind kind)
{
    return kind == ENGINE_OWN || kind == ENGINE_OWN_METERED;
}
static inline bool kind_has_fuel(enum engine_kind kind)
{
    return kind == ENGINE_METERED || kind == ENGINE_OWN_METERED;
}
/* Is this kind stopped by epochs, or by taking its memory away? */
bool engine_uses_epochs(const struct engine *g, enum engine_kind kind);
/* Closes modules that have not been used for long (loadable.c); when to look again,
 * UINT64_MAX where nothing is loaded. On the watchdog's thread, and never waits. */
uint64_t engine_tend(struct engine *g);

/* Turns wasmtime's error or trap into ours and frees it. */
bool engine_failure(struct err *e, enum err_code code, const char *doing,
                    wasmtime_error_t *error, wasm_trap_t *trap);

/* ---- the cache of compiled modules -------------------------------------- */

/* NULL and *e as module_open(). */
wasmtime_module_t *cache_compile(struct engine *g, enum engine_kind kind,
                                 const struct module_source *s, struct err *e);

/* ---- comparing slots with their images (verifier.c) --------------------- */

struct verifier *verifier_new(void);
void verifier_free(struct verifier *v); /* when it has done all; NULL is fine */

/* ---- memory slots ------------------------------------------------------- */

#define PAGE ((size_t)4096)

/* A baked image and the slots that show it. Threads: safe. */
struct image;
struct image *image_new(const void *bytes, size_t size, bool verify_all, struct err *e);
/* The same of a file. Its slots are as long as it is, never reset, and never kept. */
struct image *image_of_file(const struct image_file *f, struct err *e);
/* The same, but treated as one of bytes: its slots are reset and kept. */
struct image *image_of_program(const struct image_file *f, bool verify_all,
                               struct err *e);
/* Slots of it are compared on the verifier's thread, unless all of them are compared. */
void image_set_verifier(struct image *i, struct verifier *v);
bool image_is_file(const struct image *i);
struct image *image_share(struct image *i);
void image_drop(struct image *i); /* the last one unmaps; NULL is fine */
/* Copies the pages that are not all zero to `to`, which is zero. Of a file that can fail. */
bool image_copy(const struct image *i, void *to, struct err *e);

/* A linear memory. */
struct slot {
    struct slot *next;
    struct image *image; /* NULL: starts as zeros, never reused */
    uint8_t *base;
    size_t reserved; /* bytes of address space, guard included */
    size_t size;     /* bytes that the guest may touch */
    uint64_t tenant;
    bool spoilt;             /* grew, trapped or was killed: map afresh */
    struct guarded *guarded; /* of an image that is a file */
    bool faults_tell;        /* no page becomes its own but by a fault */
    /* The result of the last search since it was mapped, if any. */
    bool searched;
    struct page_region *written;
    size_t written_count;
    pthread_t taker; /* who took it, */
    uint64_t faults; /* and that thread's page faults then */
    /* Of an image that is a file (copy.c). */
    struct memory_copy *shows; /* lies over the image; NULL: nothing does */
    struct copy_file *own;     /* mapped shared where both are empty; NULL: nowhere */
    struct stretch *shared;    /* those parts */
    size_t shared_count;
};

struct module_counts {
    uint64_t worlds;   /* opened so far */
    uint64_t resets;   /* slots put back page by page */
    uint64_t remaps;   /* slots mapped afresh instead */
    uint64_t verified; /* resets that were compared with the image */
    uint64_t slots;    /* now existing, in use or free */
};

/* A slot of `size` accessible bytes, its content the image (or zeros).
 * NULL when the system has no more address space. */
struct slot *slot_take(struct image *image, size_t size, size_t reserved,
                       uint64_t tenant);
void slot_give_back(struct slot *s);
bool slot_grow(struct slot *s, size_t size);
/* Any access from now on traps; whoever uses the slot then marks it as spoilt.
 * Threads: any. */
void slot_forbid(struct slot *s);
/* Makes a forbidden slot readable again, before the slot is given back. */
void slot_uncover(struct slot *s);
/* Can slots be reset on this system at all? */
bool slot_supported(void);
/* May this process reserve so many bytes of address space? */
bool slot_reservable(size_t size);
/* The same for the same image; made when first asked for. */
#define IMAGE_ID 32
const uint8_t *image_id(struct image *i);
/* The image's page at byte `at`; NULL where it is all zero, or behind its end. */
const uint8_t *image_page(const struct image *i, size_t at);
/* Calls `each` for stretches of bytes in which all of the slot's written pages lie. */
void slot_written(const struct slot *s, void (*each)(void *arg, size_t from, size_t to),
                  void *arg);
/* How many bytes of pages were written; false: the system does not tell. */
bool slot_touched(const struct slot *s, uint64_t *bytes);
void image_count(const struct image *i, struct module_counts *out);

/* ---- files that are cut short (guard.c) ----------------------------------- */

/* A page that a file has no longer raises SIGBUS where it is touched. Within what is guarded
 * it becomes a page of zeros, and that is remembered. NULL: too many at once. Threads: safe. */
struct guarded *guard_on(const void *base, size_t size);
bool guard_was_hit(const struct guarded *p);
void guard_off(struct guarded *p); /* before it is unmapped; NULL is fine */

/* Names the world that this thread is opening, whose memory the next slot is
 * for; NULL when it is done. */
void engine_opening(struct world *w);

/* ---- modules and worlds ------------------------------------------------- */

struct module {
    struct engine *engine;
    enum engine_kind kind;
    wasmtime_module_t *native;
    wasmtime_linker_t *linker;
    wasmtime_instance_pre_t *pre;
    struct image *image; /* NULL: the module brings its own data */
    const struct engine_import *imports;
    size_t import_count;
    uint64_t memory_min; /* bytes */
    _Atomic uint64_t worlds;
};

enum world_state {
    WORLD_OUT,    /* no guest code is running */
    WORLD_GUEST,  /* guest code is running: it may be stopped at any time */
    WORLD_HOST,   /* one of our functions is running: stopped at its return */
    WORLD_KILLED, /* its memory is gone */
};

#define CALL_CELLS 16   /* arguments of one call at most */
#define WORLD_EXPORTS 8 /* functions whose lookup is remembered, */
#define EXPORT_NAME 24  /* if their names are shorter than this */

struct world {
    struct module *module;
    struct loadable *loadable; /* that the module is of, or NULL */
    wasmtime_store_t *store;
    wasmtime_context_t *context;
    wasmtime_instance_t instance;
    struct slot *slot; /* the linear memory; NULL: it is wasmtime's */
    struct holding {   /* and all: it, and a heap of exceptions, in any order */
        struct world *world;
        struct slot *slot;
    } held[2];
    wasmtime_memory_t memory;
    bool has_memory;
    void *data;
    struct world_limits limits;

    _Atomic int state;   /* enum world_state */
    _Atomic int verdict; /* enum err_code: the limit that was hit, latched */
    struct err import_failure;

    uint64_t compute_used_ns, memory_peak;
    /* The running call's CPU time that was not the guest's, when the pause began and when
     * computing had to end then. */
    uint64_t slept_ns; /* counts as computing */
    uint64_t spared_ns, paused_ns, paused_end_ns;
    struct watch *watching; /* this call's entry, while one is running */

    struct export
    {
        char name[EXPORT_NAME];
        wasmtime_func_t func;
        size_t params;
    }
    exports[WORLD_EXPORTS];
    size_t export_count;
};

/* Finds the exported memory, where it is not known already. */
bool world_find_memory(struct world *w);
/* Latches the verdict and stops the guest, now or at the return of the host
 * function it is in. Threads: any, while the world is watched. */
void world_stop(struct world *w, enum err_code why);
/* Stops a guest whose verdict is there, from one of our functions that it called. */
void world_carry_out_stop(struct world *w);

/* ---- the watchdog ------------------------------------------------------- */

/* A call that is being watched; lives on the caller's stack. */
struct watch {
    struct watch *next, *before;
    struct world *world;
    pthread_t thread;
    clockid_t cpu_clock;
    uint64_t cpu_end_ns;  /* on cpu_clock; UINT64_MAX: none, or paused */
    uint64_t wall_end_ns; /* os_mono_ns(); UINT64_MAX: none, or paused */
    uint64_t look_ns;     /* when to look next */
};

struct watchdog *watchdog_new(struct engine *g, struct err *e);
void watchdog_free(struct watchdog *d);
void watchdog_add(struct watchdog *d, struct watch *w);
/* After this returns nobody stops that world any more. */
void watchdog_remove(struct watchdog *d, struct watch *w);
/* Its computing time, and all of it, end then from now on. */
void watchdog_move(struct watchdog *d, struct watch *w, uint64_t cpu_end_ns,
                   uint64_t wall_end_ns);
/* engine_tend() is called at that time, unless it is to be called earlier already. */
void watchdog_tend(struct watchdog *d, uint64_t at_ns);
/* Stops a watched world from outside (cancellation). */
void watchdog_stop(struct watchdog *d, struct world *w, enum err_code why);

/* The same code with the memory that `w` has now as its image: for our own
 * baked guests only, between calls. The globals must be back at their initial
 * values (the shadow stack is, between calls). */
struct module *module_freeze(struct world *w, struct err *e);

struct module_counts module_count(const struct module *m);
