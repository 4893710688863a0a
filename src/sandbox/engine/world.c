/* Worlds: one store, one instance, one call's limits.
 *
 * How a guest is stopped. `verdict` latches the first limit that is hit. With
 * slots, world_stop() then takes the memory away (mprotect), and the guest's
 * next access traps; QuickJS touches memory at every bytecode. `state` says who
 * is in: while one of our functions runs, its memory must stay, so the stop is
 * carried out at that function's return. Both sides write their own word first
 * and read the other's second, so one of them always sees the other. Foreign
 * modules, which may loop without touching memory, are stopped by their epoch:
 * it is advanced only to stop somebody; whoever has no verdict goes on.
 */
#include <stdio.h>
#include <sys/mman.h>

#include "engine/internal.h"
#include "os/os.h"

#define NEVER UINT64_MAX
/* Calls no longer than this are timed by the wall clock: a thread's CPU clock costs as
 * much as some guests' whole work. */
#define SHORT_NS 250000u
#define TABLE_ENTRIES_MAX (1 << 20) /* they are the host's memory, not the guest's */
#define MEMORY_MAX ((uint64_t)4 << 30)

/* ---- stopping ----------------------------------------------------------- */

void world_stop(struct world *w, enum err_code why)
{
    int none = ERR_NONE;
    if (!atomic_compare_exchange_strong(&w->verdict, &none, (int)why))
        return;
    const struct module *m = w->module;
    if (engine_uses_epochs(m->engine, m->kind)) {
        wasmtime_engine_increment_epoch(m->engine->native[m->kind]);
        return;
    }
    int guest = WORLD_GUEST;
    if (atomic_compare_exchange_strong(&w->state, &guest, WORLD_KILLED) && w->slot)
        slot_forbid(w->slot);
}

/* Memory is taken away only from our own guests: others may have it written by
 * code of wasmtime's (memory.fill), where a bad access would end the process. */
void world_carry_out_stop(struct world *w)
{
    const struct module *m = w->module;
    if (engine_uses_epochs(m->engine, m->kind))
        wasmtime_engine_increment_epoch(m->engine->native[m->kind]);
    else
        slot_forbid(w->slot);
}

static void stop_cancelled(void *arg)
{
    struct world *w = arg;
    watchdog_stop(w->module->engine->watchdog, w, ERR_CANCELLED);
}

static wasmtime_error_t *epoch_passed(const wasmtime_context_t *context, void *data,
                                      uint64_t *delta,
                                      wasmtime_update_deadline_kind_t *kind)
{
    (void)context;
    struct world *w = data;
    if (atomic_load(&w->verdict) != ERR_NONE)
        return wasmtime_error_new("stopped by the host");
    *delta = 1;
    *kind = WASMTIME_UPDATE_DEADLINE_CONTINUE;
    return NULL;
}

static bool refuse_verdict(struct world *w, struct err *e)
{
    switch (atomic_load(&w->verdict)) {
    case ERR_TIMEOUT:
        if (w->limits.until_ns && os_mono_ns() >= w->limits.until_ns)
            return err_set(e, ERR_TIMEOUT, "the call exceeded its total time limit");
        return err_set(e, ERR_TIMEOUT,
                       w->slept_ns ? "computed and slept for more than %llu ms"
                                   : "computed for more than %llu ms",
                       (unsigned long long)(w->limits.compute_ns / 1000000u));
    case ERR_MEMORY:
        return err_set(e, ERR_MEMORY, "needs more than %llu MB of memory",
                       (unsigned long long)(w->limits.memory_bytes >> 20));
    case ERR_FUEL:
        return err_set(e, ERR_FUEL, "used up its %llu units of fuel",
                       (unsigned long long)w->limits.fuel);
    case ERR_STACK:
        return err_set(e, ERR_STACK, "recursed deeper than the stack is");
    case ERR_CANCELLED:
        return err_set(e, ERR_CANCELLED, "cancelled while it was running");
    case ERR_IO:
        return err_set(e, ERR_IO, "the memory image file was truncated");
    default:
        return err_set(e, ERR_BUG, "stopped without a reason");
    }
}

/* ---- opening ------------------------------------------------------------ */

static bool check_limits(struct world *w, struct err *e)
{
    uint64_t max = w->limits.memory_bytes;
    w->limits.memory_bytes = max && max < MEMORY_MAX ? max : MEMORY_MAX;
    if (w->module->memory_min > w->limits.memory_bytes)
        return err_set(e, ERR_MEMORY,
                       "starts with %llu MB of memory, but may only have %llu",
                       (unsigned long long)(w->module->memory_min >> 20),
                       (unsigned long long)(w->limits.memory_bytes >> 20));
    if (cancel_fired(w->limits.cancel))
        return err_set(e, ERR_CANCELLED, "cancelled before the call started");
    return true;
}

static bool prepare_store(struct world *w, struct err *e)
{
    struct module *m = w->module;
    w->store = wasmtime_store_new(m->engine->native[m->kind], w, NULL);
    w->context = wasmtime_store_context(w->store);
    if (engine_uses_epochs(m->engine, m->kind)) {
        wasmtime_store_epoch_deadline_callback(w->store, epoch_passed, w, NULL);
        wasmtime_context_set_epoch_deadline(w->context, 1);
    }
    if (kind_has_fuel(m->kind)) {
        wasmtime_error_t *error = wasmtime_context_set_fuel(
            w->context, w->limits.fuel ? w->limits.fuel : NEVER);
        if (error)
            return engine_failure(e, ERR_BUG, "fuel", error, NULL);
    }
    bool slots = m->engine->memory == ENGINE_MEMORY_SLOTS;
    if (!slots || !kind_is_own(m->kind))
        wasmtime_store_limiter(w->store, slots ? -1 : (int64_t)w->limits.memory_bytes,
                               TABLE_ENTRIES_MAX, -1, -1, -1);
    return true;
}

bool world_find_memory(struct world *w)
{
    wasmtime_extern_t found;
    if (w->has_memory)
        return true;
    if (!wasmtime_instance_export_get(w->context, &w->instance, "memory", 6, &found))
        return false;
    if (found.kind == WASMTIME_EXTERN_MEMORY) {
        w->memory = found.of.memory;
        w->has_memory = true;
    }
    wasmtime_extern_delete(&found);
    return w->has_memory;
}

/* An exported memory that began empty was not told from a heap of exceptions. */
static void world_find_slot(struct world *w)
{
    if (w->slot || !w->held[0].slot || !world_find_memory(w))
        return;
    const uint8_t *base = wasmtime_memory_data(w->context, &w->memory);
    for (size_t i = 0; i < LENGTH(w->held); i++)
        if (w->held[i].slot && w->held[i].slot->base == base)
            w->slot = w->held[i].slot;
}

void world_set_until(struct world *w, uint64_t until_ns)
{
    w->limits.until_ns = until_ns;
}

void world_set_compute(struct world *w, uint64_t compute_ns)
{
    w->limits.compute_ns = compute_ns;
}

/* Were its limits reached by what it did before? */
static bool is_late(const struct world *w)
{
    uint64_t used = w->compute_used_ns + w->slept_ns;
    return (w->limits.compute_ns && used >= w->limits.compute_ns) ||
           (w->limits.until_ns && os_mono_ns() >= w->limits.until_ns);
}

/* Computing time of what began at these times; of a short step at most, not exactly. */
static uint64_t computed(const struct world *w, uint64_t cpu_start, uint64_t start)
{
    uint64_t passed = os_mono_ns() - start;
    return passed <= SHORT_NS && !w->spared_ns
               ? passed
               : os_thread_cpu_ns() - cpu_start - w->spared_ns;
}

/* Runs `step` with the watchdog and the cancel told how to stop it. */
static bool watched(struct world *w, bool (*step)(struct world *, void *, struct err *),
                    void *arg, struct err *e)
{
    struct watchdog *dog = w->module->engine->watchdog;
    if (is_late(w)) {
        atomic_store(&w->verdict, ERR_TIMEOUT);
        return refuse_verdict(w, e);
    }
    uint64_t cpu_start = os_thread_cpu_ns(), start = os_mono_ns();
    struct watch entry = {.world = w,
                          .thread = pthread_self(),
                          .cpu_end_ns = NEVER,
                          .wall_end_ns = w->limits.until_ns ? w->limits.until_ns : NEVER};
    entry.look_ns = entry.wall_end_ns;
    if (w->limits.compute_ns) {
        uint64_t left = w->limits.compute_ns - w->compute_used_ns - w->slept_ns;
        pthread_getcpuclockid(entry.thread, &entry.cpu_clock);
        entry.cpu_end_ns = cpu_start + left;
        uint64_t soonest = start + left;
        entry.look_ns = soonest < entry.look_ns ? soonest : entry.look_ns;
    }

    struct cancel_stop stop;
    if (!cancel_on(w->limits.cancel, &stop, stop_cancelled, w)) {
        atomic_store(&w->verdict, ERR_CANCELLED);
        return refuse_verdict(w, e);
    }
    w->watching = &entry;
    w->spared_ns = 0;
    watchdog_add(dog, &entry);
    bool ok = step(w, arg, e);
    watchdog_remove(dog, &entry);
    w->watching = NULL;
    cancel_off(w->limits.cancel, &stop);
    w->compute_used_ns += computed(w, cpu_start, start);
    int none = ERR_NONE;
    if (w->slot && w->slot->guarded && guard_was_hit(w->slot->guarded))
        atomic_compare_exchange_strong(&w->verdict, &none, ERR_IO);
    /* Nobody stops it from here on; but it may have been stopped in the instant
     * after it was done. */
    if (atomic_load(&w->verdict) == ERR_NONE)
        return ok;
    if (w->slot)
        w->slot->spoilt = true;
    return ok ? refuse_verdict(w, e) : false;
}

void world_pause(struct world *w)
{
    w->paused_ns = os_thread_cpu_ns();
    w->paused_end_ns = w->watching->cpu_end_ns;
    watchdog_move(w->module->engine->watchdog, w->watching, NEVER, NEVER);
}

void world_resume(struct world *w)
{
    uint64_t spared = os_thread_cpu_ns() - w->paused_ns;
    w->spared_ns += spared;
    watchdog_move(w->module->engine->watchdog, w->watching,
                  w->paused_end_ns == NEVER ? NEVER : w->paused_end_ns + spared,
                  w->limits.until_ns ? w->limits.until_ns : NEVER);
}

void world_charge(struct world *w, uint64_t ns)
{
    struct watch *watch = w->watching;
    w->slept_ns += ns;
    if (watch->cpu_end_ns != NEVER)
        watchdog_move(w->module->engine->watchdog, watch,
                      ns < watch->cpu_end_ns ? watch->cpu_end_ns - ns : 0,
                      watch->wall_end_ns);
}

bool world_is_stopped(const struct world *w)
{
    return atomic_load(&w->verdict) != ERR_NONE;
}

/* The state stays WORLD_OUT: data segments are copied by code of wasmtime's, under
 * which memory must not be taken away. */
static bool instantiate(struct world *w, void *arg, struct err *e)
{
    (void)arg;
    wasm_trap_t *trap = NULL;
    engine_opening(w);
    wasmtime_error_t *error = wasmtime_instance_pre_instantiate(
        w->module->pre, w->context, &w->instance, &trap);
    engine_opening(NULL);
    if (!error && !trap)
        return true;
    if (w->slot)
        w->slot->spoilt = true;
    if (atomic_load(&w->verdict) != ERR_NONE) {
        struct err ignored = {0};
        engine_failure(&ignored, ERR_GUEST, "", error, trap);
        return refuse_verdict(w, e);
    }
    struct err own = {0};
    engine_failure(&own, trap ? ERR_GUEST : ERR_BUSY, "no world for this call", error,
                   trap);
    if (w->import_failure.code)
        return err_set(e, w->import_failure.code, "%s", w->import_failure.msg);
    /* Only the text tells what is too large for the limits from what is not to be
     * had now. */
    bool too_large = strstr(own.msg, " exceeds memory limits") ||
                     strstr(own.msg, " exceeds table limits");
    return err_set(e, too_large ? ERR_MEMORY : own.code, "%s", own.msg);
}

/* Where memory is wasmtime's own, the next world may get that of one that another thread
 * closed. The thread sanitizer does not see how wasmtime hands it over. */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *at);
void __tsan_release(void *at);
#else
#define __tsan_acquire(at) ((void)(at))
#define __tsan_release(at) ((void)(at))
#endif

struct world *world_open(struct module *m, const struct world_limits *limits, void *data,
                         struct err *e)
{
    scoped(world_close) struct world *w = mem_new(sizeof *w);
    w->module = m;
    w->limits = *limits;
    w->data = data;
    if (!check_limits(w, e) || !prepare_store(w, e))
        return NULL;
    /* A baked guest has neither start function nor data: nothing could take long. */
    bool baked = m->image && kind_is_own(m->kind);
    if (!(baked ? instantiate(w, NULL, e) : watched(w, instantiate, NULL, e)))
        return NULL;
    world_find_slot(w);
    atomic_fetch_add_explicit(&m->worlds, 1, memory_order_relaxed);
    __tsan_acquire(m->engine);
    if (!w->slot && world_find_memory(w) && m->image) {
        w->memory_peak = wasmtime_memory_data_size(w->context, &w->memory);
        if (!image_copy(m->image, wasmtime_memory_data(w->context, &w->memory), e))
            return NULL;
    }
    return take(w);
}

void world_close(struct world *w)
{
    if (!w)
        return;
    __tsan_release(w->module->engine);
    if (w->store)
        wasmtime_store_delete(w->store); /* gives the slot back */
    if (w->loadable)
        loadable_give(w->loadable);
    free(w);
}

void *world_data(const struct world *w)
{
    return w->data;
}

/* ---- calling ------------------------------------------------------------ */

struct call {
    const wasmtime_func_t *func;
    uint64_t *cells;
    size_t n;
};

/* Calls are made without wasmtime looking at the types, so we do: a value more than
 * there is room for, or a number taken for a reference, would break out. What our
 * own guests export is known. */
static bool has_type(struct world *w, const wasmtime_func_t *func, size_t *params)
{
    wasm_functype_t *type = wasmtime_func_type(w->context, func);
    const wasm_valtype_vec_t *in = wasm_functype_params(type);
    const wasm_valtype_vec_t *out = wasm_functype_results(type);
    bool fits = in->size <= CALL_CELLS && out->size <= 1;
    for (size_t i = 0; fits && i < in->size; i++)
        fits = wasm_valkind_is_num(wasm_valtype_kind(in->data[i]));
    *params = in->size;
    wasm_functype_delete(type);
    return fits;
}

static bool export_find(struct world *w, const char *name, struct export *out,
                        struct err *e)
{
    wasmtime_extern_t found;
    bool there = wasmtime_instance_export_get(w->context, &w->instance, name,
                                              strlen(name), &found);
    if (!there || found.kind != WASMTIME_EXTERN_FUNC) {
        if (there)
            wasmtime_extern_delete(&found);
        return err_set(e, ERR_INVALID, "the module exports no function '%s'", name);
    }
    out->func = found.of.func;
    if (!kind_is_own(w->module->kind) && !has_type(w, &out->func, &out->params))
        return err_set(e, ERR_INVALID,
                       "the export '%s' is not a function over a few numbers", name);
    return true;
}

static bool find_export(struct world *w, const char *name, struct export *out,
                        struct err *e)
{
    for (size_t i = 0; i < w->export_count; i++) {
        if (strcmp(w->exports[i].name, name) != 0)
            continue;
        *out = w->exports[i];
        return true;
    }
    if (!export_find(w, name, out, e))
        return false;
    size_t size = strlen(name) + 1;
    if (w->export_count < WORLD_EXPORTS && size <= sizeof out->name) {
        memcpy(out->name, name, size);
        w->exports[w->export_count++] = *out;
    }
    return true;
}

/* The trap in words; NULL: use the engine's own. */
static const char *words_of(wasmtime_trap_code_t code)
{
    switch (code) {
    case WASMTIME_TRAP_CODE_UNREACHABLE_CODE_REACHED:
        return "it ended itself, as abort() and failed assertions do (wasm trap: unreachable)";
    case WASMTIME_TRAP_CODE_MEMORY_OUT_OF_BOUNDS:
    case WASMTIME_TRAP_CODE_HEAP_MISALIGNED:
        return "it used a bad pointer (wasm trap: out of bounds memory access)";
    case WASMTIME_TRAP_CODE_TABLE_OUT_OF_BOUNDS:
    case WASMTIME_TRAP_CODE_INDIRECT_CALL_TO_NULL:
    case WASMTIME_TRAP_CODE_BAD_SIGNATURE:
        return "it called a function by a bad pointer (wasm trap: indirect call)";
    case WASMTIME_TRAP_CODE_INTEGER_DIVISION_BY_ZERO:
        return "it divided by zero (wasm trap: integer divide by zero)";
    case WASMTIME_TRAP_CODE_INTEGER_OVERFLOW:
        return "a division has no result that fits (wasm trap: integer overflow)";
    case WASMTIME_TRAP_CODE_BAD_CONVERSION_TO_INTEGER:
        return "it converted a value that is not an integer (wasm trap: invalid "
               "conversion)";
    case WASMTIME_TRAP_CODE_UNHANDLED_TAG:
        return "an exception was thrown, and not caught (wasm trap: unhandled tag)";
    default:
        return NULL;
    }
}

/* The function in which it was, where the module tells names. */
static void put_function(const wasm_trap_t *trap, struct buf *out)
{
    wasm_frame_t *frame = wasm_trap_origin(trap);
    const wasm_name_t *name = frame ? wasmtime_frame_func_name(frame) : NULL;
    struct str s = name ? str_cut((struct str){name->data, name->size}, 80) : STR("");
    if (s.n && str_is_utf8(s))
        buf_printf(out, ", in the function %.*s", STR_ARGS(s));
    if (frame)
        wasm_frame_delete(frame);
}

static void tell_failure(wasmtime_error_t *error, wasm_trap_t *trap,
                         wasmtime_trap_code_t code, struct err *e)
{
    const char *words = trap ? words_of(code) : NULL;
    scoped_buf struct buf text = buf_of(BUF_LINE);
    if (words)
        put_function(trap, &text);
    engine_failure(e, ERR_GUEST, "the guest failed", error, trap);
    if (!words)
        return;
    *e = (struct err){0};
    err_set(e, ERR_GUEST, "the guest failed: %s%s", words, buf_cz(&text));
}

/* The meaning of a trap, when no limit of ours was latched before it. */
static bool trap_explain(struct world *w, wasmtime_error_t *error, wasm_trap_t *trap,
                         struct err *e)
{
    int none = ERR_NONE;
    wasmtime_trap_code_t code = UINT8_MAX;
    if (trap && wasmtime_trap_code(trap, &code)) {
        if (code == WASMTIME_TRAP_CODE_STACK_OVERFLOW)
            atomic_compare_exchange_strong(&w->verdict, &none, ERR_STACK);
        if (code == WASMTIME_TRAP_CODE_OUT_OF_FUEL)
            atomic_compare_exchange_strong(&w->verdict, &none, ERR_FUEL);
    }
    struct err own = {0};
    tell_failure(error, trap, code, &own);
    if (atomic_load(&w->verdict) != ERR_NONE)
        return refuse_verdict(w, e);
    const struct err *why = w->import_failure.code ? &w->import_failure : &own;
    return err_set(e, why->code, "%s", why->msg);
}

static bool call_guest(struct world *w, void *arg, struct err *e)
{
    struct call *c = arg;
    wasmtime_val_raw_t raw[CALL_CELLS] = {0};
    for (size_t i = 0; i < c->n; i++)
        memcpy(&raw[i], &c->cells[i], sizeof c->cells[i]);
    wasm_trap_t *trap = NULL;
    wasmtime_error_t *error = NULL;
    atomic_store(&w->state, WORLD_GUEST);
    /* A stop before this line was only noted; one behind it takes the memory. */
    if (atomic_load(&w->verdict) == ERR_NONE)
        error = wasmtime_func_call_unchecked(w->context, c->func, raw, c->n ? c->n : 1,
                                             &trap);
    atomic_store(&w->state, WORLD_OUT);
    if (!error && !trap && atomic_load(&w->verdict) == ERR_NONE) {
        memcpy(&c->cells[0], &raw[0], sizeof c->cells[0]);
        return true;
    }
    if (w->slot)
        w->slot->spoilt = true;
    if (!error && !trap)
        return refuse_verdict(w, e);
    return trap_explain(w, error, trap, e);
}

bool world_call(struct world *w, const char *name, uint64_t *cells, size_t n,
                struct err *e)
{
    must(n <= CALL_CELLS);
    if (atomic_load(&w->verdict) != ERR_NONE)
        return refuse_verdict(w, e);
    struct export found = {.params = n};
    if (!find_export(w, name, &found, e))
        return false;
    if (found.params != n)
        return err_set(e, ERR_INVALID, "the export '%s' takes %zu values, not %zu", name,
                       found.params, n);
    struct call c = {.func = &found.func, .cells = cells, .n = n};
    return watched(w, call_guest, &c, e);
}

struct world_usage world_usage(struct world *w)
{
    struct world_usage u = {.compute_ns = w->compute_used_ns,
                            .memory_peak = w->memory_peak};
    if (!w->slot && w->has_memory)
        u.memory_peak = wasmtime_memory_data_size(w->context, &w->memory);
    uint64_t left = 0;
    if (kind_has_fuel(w->module->kind)) {
        wasmtime_error_t *error = wasmtime_context_get_fuel(w->context, &left);
        if (error)
            wasmtime_error_delete(error);
        else
            u.fuel = (w->limits.fuel ? w->limits.fuel : NEVER) - left;
    }
    return u;
}
