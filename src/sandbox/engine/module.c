/* Modules: compiled code, its imports linked, its image at hand. */
#include <stdio.h>

#include "engine/internal.h"

/* ---- imports ------------------------------------------------------------ */

/* Brackets each function of ours: while it runs, the guest's memory stays; a stop
 * that comes meanwhile is carried out here. A start function runs with the state
 * WORLD_OUT, which nobody takes memory away from. */
static wasm_trap_t *enter_host(void *env, wasmtime_caller_t *caller,
                               wasmtime_val_raw_t *raw, size_t raw_count)
{
    const struct engine_import *import = env;
    struct world *w = wasmtime_context_get_data(wasmtime_caller_context(caller));
    uint64_t cells[CALL_CELLS];
    size_t n = raw_count < CALL_CELLS ? raw_count : CALL_CELLS;
    for (size_t i = 0; i < n; i++)
        memcpy(&cells[i], &raw[i], sizeof cells[i]);

    int state = WORLD_GUEST;
    bool in_call = atomic_compare_exchange_strong(&w->state, &state, WORLD_HOST);
    bool ok = state != WORLD_KILLED && import->call(w, cells, &w->import_failure);
    if (in_call)
        atomic_store(&w->state, WORLD_GUEST);
    if (!ok || atomic_load(&w->verdict) != ERR_NONE) {
        static const char why[] = "stopped by the host";
        return wasmtime_trap_new(why, sizeof why - 1);
    }
    if (raw_count) /* without arguments and result there is no room behind `raw` */
        memcpy(&raw[0], &cells[0], sizeof cells[0]);
    return NULL;
}

static wasm_valtype_t *type_of(char c)
{
    switch (c) {
    case 'i':
        return wasm_valtype_new(WASM_I32);
    case 'I':
        return wasm_valtype_new(WASM_I64);
    case 'f':
        return wasm_valtype_new(WASM_F32);
    default:
        must(c == 'F');
        return wasm_valtype_new(WASM_F64);
    }
}

static wasm_functype_t *functype_of(const char *type)
{
    wasm_valtype_t *params[CALL_CELLS], *results[1];
    size_t n = 0, m = 0;
    const char *c = type;
    for (; *c && *c != ':'; c++) {
        must(n < CALL_CELLS);
        params[n++] = type_of(*c);
    }
    if (*c == ':' && c[1])
        results[m++] = type_of(c[1]);
    wasm_valtype_vec_t p, r;
    wasm_valtype_vec_new(&p, n, params);
    wasm_valtype_vec_new(&r, m, results);
    return wasm_functype_new(&p, &r);
}

static bool link_imports(struct module *m, wasm_engine_t *native, struct err *e)
{
    m->linker = wasmtime_linker_new(native);
    for (size_t i = 0; i < m->import_count; i++) {
        const struct engine_import *import = &m->imports[i];
        wasm_functype_t *type = functype_of(import->type);
        wasmtime_error_t *error = wasmtime_linker_define_func_unchecked(
            m->linker, import->module, strlen(import->module), import->name,
            strlen(import->name), type, enter_host, (void *)(uintptr_t)import, NULL);
        wasm_functype_delete(type);
        if (error)
            return engine_failure(e, ERR_BUG, import->name, error, NULL);
    }
    wasmtime_error_t *error =
        wasmtime_linker_instantiate_pre(m->linker, m->native, &m->pre);
    if (error)
        return engine_failure(e, ERR_INVALID, "the module cannot be linked", error, NULL);
    return true;
}

/* ---- modules ------------------------------------------------------------ */

static uint64_t memory_minimum(const wasmtime_module_t *native)
{
    wasm_exporttype_vec_t exports;
    wasmtime_module_exports(native, &exports);
    uint64_t bytes = 0;
    for (size_t i = 0; i < exports.size; i++) {
        const wasm_externtype_t *type = wasm_exporttype_type(exports.data[i]);
        const wasm_memorytype_t *memory = wasm_externtype_as_memorytype_const(type);
        if (memory)
            bytes = wasmtime_memorytype_minimum(memory)
                    << wasmtime_memorytype_page_size_log2(memory);
    }
    wasm_exporttype_vec_delete(&exports);
    return bytes;
}

static bool set_file(struct module *m, const struct image_file *f, bool beside,
                     struct err *e)
{
    must(beside || kind_is_own(m->kind));
    if (f->bytes > m->memory_min)
        return err_set(e, ERR_INVALID,
                       "an image of %llu bytes does not fit a memory of %llu",
                       (unsigned long long)f->bytes, (unsigned long long)m->memory_min);
    m->image = beside ? image_of_program(f, m->engine->options.verify_resets, e)
                      : image_of_file(f, e);
    if (m->image)
        image_set_verifier(m->image, m->engine->verifier);
    return m->image != NULL;
}

static bool set_image(struct module *m, struct str image, struct err *e)
{
    if (image.n == 0)
        return true;
    if (image.n % PAGE != 0 || image.n > m->memory_min)
        return err_set(e, ERR_INVALID,
                       "an image of %zu bytes does not fit a memory of %llu", image.n,
                       (unsigned long long)m->memory_min);
    m->image = image_new(image.at, image.n, m->engine->options.verify_resets, e);
    if (m->image)
        image_set_verifier(m->image, m->engine->verifier);
    return m->image != NULL;
}

struct module *module_open(struct engine *g, enum engine_kind kind,
                           const struct module_source *s, struct err *e)
{
    wasm_engine_t *native = engine_native(g, kind, e);
    if (!native)
        return NULL;
    scoped(module_close) struct module *m = mem_new(sizeof *m);
    m->engine = g;
    m->kind = kind;
    m->imports = s->imports;
    m->import_count = s->import_count;
    m->native = cache_compile(g, kind, s, e);
    if (!m->native)
        return NULL;
    m->memory_min = memory_minimum(m->native);
    if (!(s->file ? set_file(m, s->file, s->beside, e) : set_image(m, s->image, e)) ||
        !link_imports(m, native, e))
        return NULL;
    return take(m);
}

bool module_serialize(const struct module *m, struct buf *out, struct err *e)
{
    wasm_byte_vec_t bytes;
    wasmtime_error_t *error =
        wasmtime_module_serialize((wasmtime_module_t *)(uintptr_t)m->native, &bytes);
    if (error)
        return engine_failure(e, ERR_IO, "cannot hand on a compiled module", error, NULL);
    buf_put(out, bytes.data, bytes.size);
    wasm_byte_vec_delete(&bytes);
    return buf_check(out, "the compiled module", e);
}

bool module_has_start(const struct module *m, const char *name)
{
    wasm_exporttype_vec_t exports;
    wasmtime_module_exports(m->native, &exports);
    bool found = false;
    for (size_t i = 0; i < exports.size && !found; i++) {
        const wasm_name_t *own = wasm_exporttype_name(exports.data[i]);
        const wasm_functype_t *type =
            wasm_externtype_as_functype_const(wasm_exporttype_type(exports.data[i]));
        found = type && str_is((struct str){own->data, own->size}, name) &&
                wasm_functype_params(type)->size == 0 &&
                wasm_functype_results(type)->size == 0;
    }
    wasm_exporttype_vec_delete(&exports);
    return found;
}

uint64_t module_memory_bytes(const struct module *m)
{
    return m->memory_min;
}

void module_close(struct module *m)
{
    if (!m)
        return;
    if (m->pre)
        wasmtime_instance_pre_delete(m->pre);
    if (m->linker)
        wasmtime_linker_delete(m->linker);
    if (m->native)
        wasmtime_module_delete(m->native);
    image_drop(m->image);
    free(m);
}

struct module *module_freeze(struct world *w, struct err *e)
{
    struct module *from = w->module;
    struct str memory = world_memory(w);
    if (memory.n != from->memory_min) {
        err_set(e, ERR_BUG, "a guest's memory grew to %zu bytes while it was prepared",
                memory.n);
        return NULL;
    }
    wasm_engine_t *native = engine_native(from->engine, from->kind, e);
    if (!native)
        return NULL;
    scoped(module_close) struct module *m = mem_new(sizeof *m);
    m->engine = from->engine;
    m->kind = from->kind;
    m->imports = from->imports;
    m->import_count = from->import_count;
    m->memory_min = from->memory_min;
    m->native = wasmtime_module_clone(from->native);
    if (!set_image(m, memory, e) || !link_imports(m, native, e))
        return NULL;
    return take(m);
}

struct module_counts module_count(const struct module *m)
{
    struct module_counts c = {0};
    if (m->image)
        image_count(m->image, &c);
    c.worlds = atomic_load(&((struct module *)(uintptr_t)m)->worlds);
    return c;
}
