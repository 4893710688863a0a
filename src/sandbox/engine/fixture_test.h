/* engine/fixture_test.h - engines and modules for this room's tests. Only for
 * *_test.c.
 */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "engine/assemble_test.h"
#include "engine/internal.h"
#include "engine/traps_test.h"
#include "os/os.h"

#define MS ((uint64_t)1000000) /* nanoseconds */
#define WASM_PAGE ((size_t)65536)

/* One engine for each group of tests, with the memory that the group is about. */
static struct engine *g;

static inline int open_engine(enum engine_memory memory)
{
    struct err e = {0};
    struct engine_options o = {.memory = memory, .no_cache = true, .verify_resets = true};
    g = engine_open(&o, &e);
    return g ? 0 : -1;
}

static inline int open_slots(void **state)
{
    (void)state;
    return open_engine(ENGINE_MEMORY_SLOTS);
}

static inline int open_pool(void **state)
{
    (void)state;
    return open_engine(ENGINE_MEMORY_POOL);
}

static inline int open_small(void **state)
{
    (void)state;
    return open_engine(ENGINE_MEMORY_SMALL);
}

static inline int close_engine(void **state)
{
    (void)state;
    engine_close(g);
    g = NULL;
    return 0;
}

static inline struct module *try_module(enum engine_kind kind, const char *text,
                                        const struct engine_import *imports, size_t n,
                                        struct err *e)
{
    scoped_buf struct buf wasm;
    assemble(text, &wasm);
    struct module_source s = {
        .wasm = buf_view(&wasm), .imports = imports, .import_count = n};
    return module_open(g, kind, &s, e);
}

static inline struct module *module_importing(enum engine_kind kind, const char *text,
                                              const struct engine_import *imports,
                                              size_t n)
{
    struct err e = {0};
    struct module *m = try_module(kind, text, imports, n, &e);
    if (!m)
        fail_msg("%s", e.msg);
    return m;
}

static inline struct module *module_of(enum engine_kind kind, const char *text)
{
    return module_importing(kind, text, NULL, 0);
}

/* A module whose worlds begin with the memory that `prepare` leaves. */
static inline struct module *module_with_image(enum engine_kind kind, const char *text,
                                               const void *image, size_t size)
{
    struct err e = {0};
    scoped_buf struct buf wasm;
    assemble(text, &wasm);
    struct module_source s = {.wasm = buf_view(&wasm), .image = {image, size}};
    struct module *m = module_open(g, kind, &s, &e);
    if (!m)
        fail_msg("%s", e.msg);
    return m;
}

static inline struct world *world_with(struct module *m, struct world_limits limits)
{
    struct err e = {0};
    struct world *w = world_open(m, &limits, NULL, &e);
    if (!w)
        fail_msg("%s", e.msg);
    return w;
}

static inline struct world *world_of(struct module *m)
{
    return world_with(m, (struct world_limits){0});
}

/* Calls an export with one i32, or none where it is negative; returns its result. */
static inline uint32_t call_with(struct world *w, const char *name, int64_t argument)
{
    struct err e = {0};
    uint64_t cell = (uint32_t)argument;
    if (!world_call(w, name, &cell, argument >= 0, &e))
        fail_msg("%s: %s", name, e.msg);
    return (uint32_t)cell;
}

static inline uint32_t call(struct world *w, const char *name)
{
    return call_with(w, name, -1);
}

/* The call must fail with this code; its message goes to `msg`, if not NULL. */
static inline void assert_call_fails(struct world *w, const char *name,
                                     enum err_code code)
{
    struct err e = {0};
    uint64_t cell = 0;
    if (world_call(w, name, &cell, 0, &e))
        fail_msg("%s did not fail", name);
    if (e.code != code)
        fail_msg("%s: %s (%d)", name, e.msg, e.code);
    assert_true(e.msg[0] != '\0');
}

static inline void assert_open_fails(struct module *m, struct world_limits limits,
                                     enum err_code code)
{
    struct err e = {0};
    struct world *w = world_open(m, &limits, NULL, &e);
    assert_null(w);
    if (e.code != code)
        fail_msg("%s (%d)", e.msg, e.code);
}
