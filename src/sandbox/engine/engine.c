/* Engines: how code is compiled and where its memory comes from. */
#include <stdio.h>

#include "engine/internal.h"

/* Deep enough for the JavaScript guest to meet its own limit first, mostly. */
#define WASM_STACK (ENGINE_THREAD_STACK / 2)

#define POOL_MEMORIES 64u
#define POOL_MEMORY_BYTES ((size_t)1 << 30)

const char *engine_version(void)
{
    return "wasmtime " WASMTIME_VERSION;
}

const char *engine_memory_name(enum engine_memory m)
{
    static const char *const names[] = {"own slots", "wasmtime's pool",
                                        "small reservations"};
    must(m < LENGTH(names));
    return names[m];
}

bool engine_failure(struct err *e, enum err_code code, const char *doing,
                    wasmtime_error_t *error, wasm_trap_t *trap)
{
    wasm_byte_vec_t text = {0};
    if (error)
        wasmtime_error_message(error, &text);
    else if (trap)
        wasm_trap_message(trap, &text);
    /* A trap's message ends in a NUL that is counted. */
    struct str s = str_trim(str_of(text.data ? "" : "no reason given"));
    if (text.data)
        s = str_trim((struct str){text.data, strnlen(text.data, text.size)});
    /* The cause of a trap stands after its backtrace, which may be long. */
    static const char mark[] = "Caused by:";
    const char *cause = s.n ? memmem(s.at, s.n, mark, sizeof mark - 1) : NULL;
    struct str place =
        cause ? str_trim((struct str){s.at, (size_t)(cause - s.at)}) : STR("");
    if (cause)
        s = str_trim((struct str){cause + sizeof mark - 1,
                                  (size_t)(s.at + s.n - cause) - sizeof mark + 1});
    s = str_cut(s, 300);
    place = str_cut(place, 300 - s.n);
    err_set(e, code, place.n ? "%s: %.*s (%.*s)" : "%s: %.*s", doing, STR_ARGS(s),
            STR_ARGS(place));
    wasm_byte_vec_delete(&text);
    if (error)
        wasmtime_error_delete(error);
    if (trap)
        wasm_trap_delete(trap);
    return false;
}

#ifdef __SANITIZE_THREAD__
/* wasmtime is not instrumented: the sanitizer does not see how its threads wait for
 * each other. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "called_from_lib:_libwasmtime.so\nrace:_libwasmtime.so\n"
           "signal:_libwasmtime.so\nmutex:libgcc_s\n";
}
#endif

/* ---- memories ----------------------------------------------------------- */

/* The creator's callbacks serve the world that this thread is opening. */
static _Thread_local struct world *opening;

void engine_opening(struct world *w)
{
    opening = w;
}

static uint8_t *slot_get(void *env, size_t *size, size_t *capacity)
{
    const struct holding *h = env;
    *size = h->slot->size;
    *capacity = h->slot->reserved;
    return h->slot->base;
}

/* The bytes of all that the world holds, when one of its memories has `size` bytes. */
static uint64_t held_bytes(const struct holding *h, size_t size)
{
    const struct world *w = h->world;
    uint64_t all = size;
    for (size_t i = 0; i < LENGTH(w->held); i++)
        if (&w->held[i] != h && w->held[i].slot)
            all += w->held[i].slot->size;
    return all;
}

/* Growth is ours to allow: a refusal is seen here, latched, and the guest is
 * stopped at its next access, whatever it makes of the refusal. */
static wasmtime_error_t *slot_grow_to(void *env, size_t size)
{
    struct holding *h = env;
    struct world *w = h->world;
    int before = atomic_exchange(&w->state, WORLD_HOST);
    uint64_t all = held_bytes(h, size);
    bool fits = all <= w->limits.memory_bytes && slot_grow(h->slot, size);
    if (fits) {
        w->memory_peak = all;
    } else {
        int none = ERR_NONE;
        atomic_compare_exchange_strong(&w->verdict, &none, ERR_MEMORY);
    }
    atomic_store(&w->state, before);
    /* A stop that came while we were in here was left for us to carry out. */
    if (atomic_load(&w->verdict) != ERR_NONE)
        world_carry_out_stop(w);
    return fits ? NULL : wasmtime_error_new("memory limit");
}

static void slot_finalize(void *env)
{
    struct holding *h = env;
    if (h->world->slot == h->slot)
        h->world->slot = NULL;
    slot_give_back(take(h->slot));
}

/* A guest that knows exceptions makes wasmtime ask for their heap too, before the linear
 * memory, and with nothing at first. An empty linear memory looks the same: which of the two
 * it was is seen once the instance is there (world_find_slot). */
static wasmtime_error_t *slot_create(void *env, const wasm_memorytype_t *type,
                                     size_t minimum, size_t maximum, size_t reserved,
                                     size_t guard, wasmtime_linear_memory_t *out)
{
    (void)env;
    (void)type;
    (void)maximum;
    struct world *w = opening;
    struct holding *h = NULL;
    for (size_t i = 0; w && !w->slot && !h && i < LENGTH(w->held); i++)
        h = w->held[i].slot ? NULL : &w->held[i];
    if (!h)
        return wasmtime_error_new("one memory a guest, and only while it is opened");
    h->world = w;
    /* A memory that is not exported is not known before. */
    if (minimum > w->limits.memory_bytes) {
        atomic_store(&w->verdict, ERR_MEMORY);
        return wasmtime_error_new("memory limit");
    }
    h->slot = slot_take(minimum ? w->module->image : NULL, minimum, reserved + guard,
                        w->limits.tenant);
    if (!h->slot)
        return wasmtime_error_new("no address space for another memory");
    if (minimum)
        w->slot = h->slot;
    w->memory_peak = held_bytes(h, minimum);
    *out = (wasmtime_linear_memory_t){.env = h,
                                      .get_memory = slot_get,
                                      .grow_memory = slot_grow_to,
                                      .finalizer = slot_finalize};
    return NULL;
}

/* ---- engines ------------------------------------------------------------ */

bool engine_uses_epochs(const struct engine *g, enum engine_kind kind)
{
    return !kind_is_own(kind) || g->memory != ENGINE_MEMORY_SLOTS;
}

static void configure_pool(wasm_config_t *c)
{
    wasmtime_pooling_allocation_config_t *p = wasmtime_pooling_allocation_config_new();
    wasmtime_pooling_allocation_config_total_memories_set(p, POOL_MEMORIES);
    wasmtime_pooling_allocation_config_total_tables_set(p, POOL_MEMORIES);
    wasmtime_pooling_allocation_config_total_core_instances_set(p, POOL_MEMORIES);
    wasmtime_pooling_allocation_config_total_stacks_set(p, 0);
    wasmtime_pooling_allocation_config_total_component_instances_set(p, 0);
    wasmtime_pooling_allocation_config_total_gc_heaps_set(p, POOL_MEMORIES / 2);
    wasmtime_pooling_allocation_config_max_memory_size_set(p, POOL_MEMORY_BYTES);
    wasmtime_pooling_allocation_config_linear_memory_keep_resident_set(p,
                                                                       (size_t)4 << 20);
    wasmtime_pooling_allocation_config_table_keep_resident_set(p, (size_t)64 << 10);
    wasmtime_pooling_allocation_strategy_set(c, p);
    wasmtime_pooling_allocation_config_delete(p);
}

static wasm_engine_t *native_new(struct engine *g, enum engine_kind kind)
{
    wasm_config_t *c = wasm_config_new();
    wasmtime_config_epoch_interruption_set(c, engine_uses_epochs(g, kind));
    wasmtime_config_consume_fuel_set(c, kind_has_fuel(kind));
    if (g->options.quick || g->options.frugal)
        wasmtime_config_cranelift_opt_level_set(c, WASMTIME_OPT_LEVEL_NONE);
    if (g->options.frugal)
        wasmtime_config_cranelift_regalloc_algorithm_set(c,
                                                         WASMTIME_REGALLOC_SINGLE_PASS);
    /* wasmtime insists that a whole Wasm stack fits on an async one, which we
     * never make. */
    wasmtime_config_async_stack_size_set(c, 2 * WASM_STACK);
    wasmtime_config_max_wasm_stack_set(c, WASM_STACK);
    /* A guest has one memory. What is thrown lies in a heap of wasmtime's beside it, which
     * ours, that are written without exceptions, are spared. */
    wasmtime_config_wasm_multi_memory_set(c, false);
    wasmtime_config_wasm_threads_set(c, false);
    wasmtime_config_wasm_exceptions_set(c, !kind_is_own(kind));
    wasmtime_config_wasm_function_references_set(c, false);
    wasmtime_config_wasm_gc_set(c, false);

    /* Copy-on-write images of wasmtime's own: impossible in memories of ours,
     * and elsewhere they need the memfd_create that was refused. */
    wasmtime_config_memory_init_cow_set(c, false);
    if (g->memory == ENGINE_MEMORY_SLOTS) {
        wasmtime_memory_creator_t creator = {.new_memory = slot_create};
        wasmtime_config_host_memory_creator_set(c, &creator);
    } else if (g->memory == ENGINE_MEMORY_POOL) {
        configure_pool(c);
    } else {
        wasmtime_config_memory_reservation_set(c, 0);
        wasmtime_config_memory_guard_size_set(c, 0);
        wasmtime_config_memory_reservation_for_growth_set(c, (size_t)1 << 20);
    }
    return wasm_engine_new_with_config(c);
}

wasm_engine_t *engine_native(struct engine *g, enum engine_kind kind, struct err *e)
{
    pthread_mutex_lock(&g->lock);
    if (!g->native[kind])
        g->native[kind] = native_new(g, kind);
    wasm_engine_t *native = g->native[kind];
    pthread_mutex_unlock(&g->lock);
    if (!native)
        err_set(e, ERR_IO, "cannot start the Wasm engine");
    return native;
}

/* The space that wasmtime's pool reserves ahead; asked for without touching it. */
static enum engine_memory memory_possible(enum engine_memory wished)
{
    if (wished == ENGINE_MEMORY_SLOTS && slot_supported())
        return ENGINE_MEMORY_SLOTS;
    if (wished <= ENGINE_MEMORY_POOL && slot_reservable((size_t)POOL_MEMORIES * 6 << 30))
        return ENGINE_MEMORY_POOL;
    return ENGINE_MEMORY_SMALL;
}

struct engine *engine_open(const struct engine_options *o, struct err *e)
{
    struct engine *g = mem_new(sizeof *g);
    g->options = *o;
#ifndef NDEBUG
    g->options.verify_resets = true;
#endif
    pthread_mutex_init(&g->lock, NULL);
    g->memory = memory_possible(o->memory);
    if (g->memory != o->memory)
        log_line(LOG_WARN,
                 "this system refuses %s; guests use %s, which works but is slower",
                 engine_memory_name(o->memory), engine_memory_name(g->memory));
    g->idle_ns = (o->idle_ms ? o->idle_ms : ENGINE_IDLE_MS) * 1000000u;
    g->verifier = verifier_new();
    g->watchdog = watchdog_new(g, e);
    if (!g->watchdog) {
        engine_close(g);
        return NULL;
    }
    return g;
}

void engine_close(struct engine *g)
{
    if (!g)
        return;
    watchdog_free(g->watchdog);
    verifier_free(g->verifier);
    must(!g->loadables);
    for (int k = 0; k < KINDS; k++)
        if (g->native[k])
            wasm_engine_delete(g->native[k]);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

enum engine_memory engine_memory_used(const struct engine *g)
{
    return g->memory;
}
