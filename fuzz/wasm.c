/* A module is taken apart into parts of itself, from which it can be put together again;
 * or it is refused. */
#include "bake/wasm.h"
#include "driver.h"

#define MODULE_MEMORY ((size_t)64 << 20)

static void check_parts(const struct wasm_module *m, struct str whole)
{
    holds(m->part_count <= WASM_SECTIONS_MAX);
    for (size_t i = 0; i < m->part_count; i++)
        holds(m->parts[i].id <= WASM_TAG && is_inside(m->parts[i].bytes, whole));
    holds(m->type_count <= whole.n && m->import_count <= whole.n);
    holds(m->global_count <= whole.n && m->export_count <= whole.n);
    /* No loop over them may be longer than the module. */
    holds(m->tables <= whole.n && m->memories <= whole.n);
    holds(m->imported_globals + m->imported_tables + m->imported_memories <= whole.n);
    for (size_t i = 0; i < m->type_count; i++)
        holds(m->types[i].n > 0 && is_inside(m->types[i], whole));
    for (size_t i = 0; i < m->import_count; i++)
        holds(is_inside(m->imports[i].module, whole) &&
              is_inside(m->imports[i].name, whole));
    for (size_t i = 0; i < m->global_count; i++)
        holds(m->globals[i].type.n > 0 && is_inside(m->globals[i].type, whole) &&
              m->globals[i].init.n > 0 && is_inside(m->globals[i].init, whole));
    for (size_t i = 0; i < m->export_count; i++)
        holds(is_inside(m->exports[i].name, whole));
    holds(is_inside(m->memory, whole) && (!m->memories || m->memory.n > 0));
}

static void put_together(const struct wasm_module *m, struct buf *out)
{
    wasm_put_header(out);
    for (size_t i = 0; i < m->part_count; i++)
        wasm_put_section(out, m->parts[i].id, m->parts[i].bytes);
    holds(!out->failed);
}

static void check_same(const struct wasm_module *m, const struct wasm_module *n)
{
    struct err e = {0}, f = {0};
    bool bulk = false, other = false;
    holds(m->part_count == n->part_count);
    for (size_t i = 0; i < m->part_count; i++)
        holds(m->parts[i].id == n->parts[i].id &&
              str_eq(m->parts[i].bytes, n->parts[i].bytes));
    holds(m->type_count == n->type_count && m->import_count == n->import_count);
    holds(m->global_count == n->global_count && m->export_count == n->export_count);
    holds(m->tables == n->tables && m->memories == n->memories);
    holds(str_eq(m->memory, n->memory) && m->memory_is_plain == n->memory_is_plain);
    holds(wasm_check_code(m, &bulk, &e) == wasm_check_code(n, &other, &f));
    holds(bulk == other && e.code == f.code);
    if (e.code)
        holds_error(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str whole = {(const char *)data, size};
    scoped(arena_free) struct arena *a = arena_new(MODULE_MEMORY);
    struct err e = {0};
    struct wasm_module *m = arena_get(a, sizeof *m, &e);
    struct wasm_module *again = arena_get(a, sizeof *again, &e);
    holds(m && again);
    if (!wasm_parse(whole, m, a, &e)) {
        holds_error(&e);
        return 0;
    }
    holds(e.code == ERR_NONE);
    check_parts(m, whole);

    scoped_buf struct buf copy;
    buf_init(&copy, 2 * size + 1024);
    put_together(m, &copy);
    holds(wasm_parse(buf_view(&copy), again, a, &e));
    check_same(m, again);
    return 0;
}
