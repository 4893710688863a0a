/* The memory, globals and tables of a world, seen from outside. */
#include <sys/mman.h>

#include "engine/copy.h"

struct str world_memory(struct world *w)
{
    if (w->slot)
        return (struct str){(char *)w->slot->base, w->slot->size};
    if (!w->has_memory)
        return STR("");
    return (struct str){(char *)wasmtime_memory_data(w->context, &w->memory),
                        wasmtime_memory_data_size(w->context, &w->memory)};
}

void *world_slice(struct world *w, uint64_t at, uint64_t n)
{
    struct str all = world_memory(w);
    if (at > all.n || n > all.n - at || atomic_load(&w->verdict) != ERR_NONE)
        return NULL;
    return (char *)(uintptr_t)all.at + at;
}

bool world_discard(struct world *w, uint64_t at, uint64_t n)
{
    uint8_t *from = world_slice(w, at, n);
    uintptr_t first = ((uintptr_t)from + PAGE - 1) / PAGE * PAGE;
    uintptr_t end = ((uintptr_t)from + n) / PAGE * PAGE;
    if (from && first < end && w->slot)
        slot_discard(w->slot, first - (uintptr_t)w->slot->base,
                     end - (uintptr_t)w->slot->base);
    else if (from && first < end)
        (void)madvise((void *)first, end - first, MADV_DONTNEED);
    return from != NULL;
}

bool world_touched(struct world *w, uint64_t *bytes)
{
    *bytes = 0;
    return w->slot && slot_touched(w->slot, bytes);
}

const void *world_remains(struct world *w, uint64_t at, uint64_t n)
{
    if (w->slot && atomic_load(&w->verdict) != ERR_NONE)
        slot_uncover(w->slot);
    struct str all = world_memory(w);
    return at <= all.n && n <= all.n - at ? all.at + at : NULL;
}

bool world_get_global(struct world *w, const char *name, uint64_t *cell)
{
    wasmtime_extern_t found;
    if (!wasmtime_instance_export_get(w->context, &w->instance, name, strlen(name),
                                      &found))
        return false;
    bool is_global = found.kind == WASMTIME_EXTERN_GLOBAL;
    if (is_global) {
        wasmtime_val_t v;
        wasmtime_global_get(w->context, &found.of.global, &v);
        *cell = 0;
        size_t size = v.kind == WASMTIME_I32 || v.kind == WASMTIME_F32 ? 4 : 8;
        is_global = v.kind <= WASMTIME_F64;
        memcpy(cell, &v.of, size);
    }
    wasmtime_extern_delete(&found);
    return is_global;
}

static bool find_table(struct world *w, const char *name, wasmtime_table_t *out)
{
    wasmtime_extern_t found;
    if (!wasmtime_instance_export_get(w->context, &w->instance, name, strlen(name),
                                      &found))
        return false;
    bool is_table = found.kind == WASMTIME_EXTERN_TABLE;
    if (is_table)
        *out = found.of.table;
    wasmtime_extern_delete(&found);
    return is_table;
}

int64_t world_table_size(struct world *w, const char *name)
{
    wasmtime_table_t t;
    return find_table(w, name, &t) ? (int64_t)wasmtime_table_size(w->context, &t) : -1;
}

uint64_t world_table_entry(struct world *w, const char *name, uint64_t index)
{
    wasmtime_table_t t;
    wasmtime_val_t v;
    if (!find_table(w, name, &t) || !wasmtime_table_get(w->context, &t, index, &v))
        return 0;
    uint64_t id = 0;
    if (v.kind == WASMTIME_FUNCREF && !wasmtime_funcref_is_null(&v.of.funcref))
        id = (uint64_t)(uintptr_t)wasmtime_func_to_raw(w->context, &v.of.funcref);
    wasmtime_val_unroot(&v);
    return id;
}
