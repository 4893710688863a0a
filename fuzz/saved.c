/* A saved world, as it could stand in a file: it is refused, or a world goes on from it,
 * which saves the same again. The input is what follows the magic word and the image's
 * name: memory size, number of pages, and the pages. */
#include "driver.h"
#include "engine/engine.h"

#define NAMED 40u /* bytes of magic word and image's name */
#define IMAGE_SIZE ((size_t)2 * 65536)
#define MEMORY_MAX ((size_t)8 << 20)

/* (module (memory (export "memory") 2 100)) */
static const char wasm[] = "\0asm\1\0\0\0\5\4\1\1\2\x64\7\x0a\1\6memory\2\0";

static struct engine *engine;
static struct module *module;
static char names[NAMED];

static struct world *fresh(void)
{
    struct err e = {0};
    struct world *w =
        world_open(module, &(struct world_limits){.memory_bytes = MEMORY_MAX}, NULL, &e);
    holds(w != NULL);
    return w;
}

static void prepare(void)
{
    struct err e = {0};
    static char image[IMAGE_SIZE];
    memset(image + 5000, 'i', 3000);
    struct module_source s = {.wasm = {wasm, sizeof wasm - 1},
                              .image = {image, sizeof image}};
    engine = engine_open(&(struct engine_options){.no_cache = true}, &e);
    module = engine ? module_open(engine, ENGINE_OWN, &s, &e) : NULL;
    holds(module != NULL);
    struct world *w = fresh();
    struct buf saved;
    buf_init(&saved, 4096);
    holds(world_save(w, &saved, &e));
    memcpy(names, saved.at, NAMED);
    buf_done(&saved);
    world_close(w);
}

static void check_goes_on(struct world *w)
{
    struct err e = {0};
    struct buf again;
    buf_init(&again, 2 * MEMORY_MAX);
    holds(world_save(w, &again, &e));
    struct world *other = fresh();
    holds(world_restore(other, buf_view(&again), &e));
    holds(str_eq(world_memory(w), world_memory(other)));
    buf_done(&again);
    world_close(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!module)
        prepare();
    struct buf saved;
    buf_init(&saved, size + NAMED);
    buf_put(&saved, names, NAMED);
    buf_put(&saved, data, size);
    struct world *w = fresh();
    struct err e = {0};
    if (world_restore(w, buf_view(&saved), &e))
        check_goes_on(w);
    else
        holds_error(&e);
    world_close(w);
    buf_done(&saved);
    return 0;
}
