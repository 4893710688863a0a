/* bake/bake.h - the pre-initialiser: a guest is started once, and what its start
 * made is written back as the beginning of a new module.
 *
 * Source: WebAssembly Core Specification 2.0, section 5 (binary format); the
 * idea is that of the Wizer pre-initialiser.
 */
#pragma once
#include "base/base.h"
#include "engine/engine.h"

struct bake_options {
    /* Exports to call, in this order, each without arguments; they are not in
     * the baked module. "_initialize", where there is one, comes before them. */
    const char *const *init;
    size_t init_count;
    /* It will run on ENGINE_OWN, whose guests are stopped by taking their memory
     * away: then memory.copy and memory.fill, which the host performs, are
     * refused. */
    bool own;
    /* Imports that its start may call; an import that is not among them answers as said at
     * bake_module(). `data` is world_data() for them. */
    const struct engine_import *imports;
    size_t import_count;
    void *data;
};

/* Two forms of one result. The caller inits the bufs, whose ceilings bound what
 * is written, and ends them. */
struct bake_result {
    /* A module like the first, without start function and with one data
     * segment: dense, in whole pages, from the first page that is not zero to
     * the last. For any engine. */
    struct buf dense;
    /* The same without data, and the memory apart: what module_open() maps. */
    struct buf bare, image;
};

#define BAKE_IMAGE_MAX ((size_t)1 << 30)
/* The memory's limit. Memory larger than an image has to end in zeros, which the
 * image is then without: they are mapped when a world begins, at some cost to each. */
#define BAKE_MEMORY_MAX ((size_t)2 << 30)

/* ERR_INVALID: no module that can be baked, because it does not parse, has no
 * memory of its own exported as "memory", or keeps state that a module cannot
 * hold: tables that its start changed, segments that its code may drop,
 * mutable references, a shadow stack that is not back where it was. ERR_GUEST:
 * its start failed, or called a host function. Imports of WASI that were not given
 * answer ENOSYS, the clock stands at 0. */
bool bake_module(struct engine *g, struct str wasm, const struct bake_options *o,
                 struct bake_result *out, struct err *e);
