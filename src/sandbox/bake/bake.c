/* Baking: run the start on an instrumented copy, then write the module anew.
 *
 * The copy exports every mutable global and every table, so that what the start
 * changed can be read (globals) or refused (tables), and the start function, so
 * that it can be seen how they were before. Everything else that a
 * module cannot say is refused too, rather than lost.
 */
#include "bake/bake.h"

#include <stdio.h>

#include "bake/wasm.h"

#define WASM_PAGE ((size_t)65536)
#define PAGE ((size_t)4096)
#define INSTRUMENT_NAME 48

struct baking {
    struct arena *arena;
    struct wasm_module module;
    const struct bake_options *options;
    uint64_t *globals; /* values after the start, by defined global */
    struct str memory; /* borrowed from the world */
    uint64_t **tables; /* their entries before the start */
    int64_t *table_sizes;
};

/* ---- imports while baking ----------------------------------------------- */

static bool answer_enosys(struct world *w, uint64_t *cells, struct err *e)
{
    (void)w;
    (void)e;
    cells[0] = 52;
    return true;
}

static bool answer_clock(struct world *w, uint64_t *cells, struct err *e)
{
    void *at = world_slice(w, (uint32_t)cells[2], 8);
    if (!at)
        return err_set(e, ERR_GUEST, "asks for the time outside its memory");
    memset(at, 0, 8);
    cells[0] = 0;
    return true;
}

static bool answer_nothing(struct world *w, uint64_t *cells, struct err *e)
{
    (void)w;
    (void)cells;
    return err_set(e, ERR_GUEST, "calls a host function while it is baked");
}

static char type_letter(unsigned char t)
{
    switch (t) {
    case 0x7f:
        return 'i';
    case 0x7e:
        return 'I';
    case 0x7d:
        return 'f';
    case 0x7c:
        return 'F';
    default:
        return 0;
    }
}

/* The bytes "60 n t... m t..." as the engine's "ii:i". */
static char *import_type(struct str type, struct arena *a, struct err *e)
{
    char *out = arena_get(a, type.n + 2, e), *to = out;
    for (size_t i = 1, side = 0; out && side < 2; side++) {
        size_t n = i < type.n ? (unsigned char)type.at[i++] : 0;
        if (n > 15 || n > type.n - i || (side && n > 1)) {
            err_set(e, ERR_INVALID, "imports a function with too many values");
            return NULL;
        }
        for (; n > 0; n--) {
            *to = type_letter((unsigned char)type.at[i++]);
            if (!*to++) {
                err_set(e, ERR_INVALID, "imports a function over references");
                return NULL;
            }
        }
        if (!side)
            *to++ = ':';
    }
    return out;
}

/* An import of the caller's; NULL: none of that name. */
static const struct engine_import *given_import(const struct bake_options *o,
                                                const struct engine_import *wanted)
{
    for (size_t i = 0; i < o->import_count; i++)
        if (!strcmp(o->imports[i].module, wanted->module) &&
            !strcmp(o->imports[i].name, wanted->name))
            return &o->imports[i];
    return NULL;
}

/* Go's linker writes some imports twice; they are one function. */
static bool is_repeated(const struct wasm_module *m, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (str_eq(m->imports[k].module, m->imports[i].module) &&
            str_eq(m->imports[k].name, m->imports[i].name))
            return true;
    return false;
}

static bool use_given(const struct bake_options *o, struct engine_import *row,
                      struct err *e)
{
    const struct engine_import *given = given_import(o, row);
    if (!given)
        return true;
    if (strcmp(given->type, row->type) != 0)
        return err_set(e, ERR_INVALID, "imports %s as a function of another type",
                       row->name);
    row->call = given->call;
    return true;
}

static bool make_import(struct baking *b, const struct wasm_import *from,
                        struct engine_import *row, struct err *e)
{
    if (from->type >= b->module.type_count)
        return err_set(e, ERR_INVALID, "an import has no type");
    bool wasi = str_is(from->module, "wasi_snapshot_preview1");
    row->module = str_cz(from->module, b->arena, e);
    row->name = str_cz(from->name, b->arena, e);
    row->type = import_type(b->module.types[from->type], b->arena, e);
    row->call = !wasi                                  ? answer_nothing
                : str_is(from->name, "clock_time_get") ? answer_clock
                : str_is(from->name, "random_get")     ? answer_nothing
                                                       : answer_enosys;
    return !e->code && use_given(b->options, row, e);
}

static struct engine_import *make_imports(struct baking *b, size_t *count, struct err *e)
{
    size_t n = b->module.import_count;
    struct engine_import *rows = arena_get(b->arena, (n + 1) * sizeof *rows, e);
    *count = 0;
    for (size_t i = 0; rows && i < n; i++) {
        if (is_repeated(&b->module, i))
            continue;
        if (!make_import(b, &b->module.imports[i], &rows[(*count)++], e))
            return NULL;
    }
    return rows;
}

/* ---- the instrumented copy ---------------------------------------------- */

static const char start_name[] = "bake:start";

static void global_name(size_t i, char out[static INSTRUMENT_NAME])
{
    (void)snprintf(out, INSTRUMENT_NAME, "bake:global:%zu", i);
}

static void table_name(size_t i, char out[static INSTRUMENT_NAME])
{
    (void)snprintf(out, INSTRUMENT_NAME, "bake:table:%zu", i);
}

static void put_export(struct buf *out, struct str name, unsigned char kind, size_t index)
{
    wasm_put_name(out, name);
    buf_char(out, (char)kind);
    wasm_put_u32(out, (uint32_t)index);
}

static void instrument_exports(const struct wasm_module *m, struct buf *out)
{
    scoped_buf struct buf s = buf_of(out->ceiling);
    uint32_t count = (uint32_t)(m->export_count + m->tables + m->has_start);
    for (size_t i = 0; i < m->global_count; i++)
        count += m->globals[i].is_mutable;
    wasm_put_u32(&s, count);
    for (size_t i = 0; i < m->export_count; i++)
        put_export(&s, m->exports[i].name, m->exports[i].kind, m->exports[i].index);
    char name[INSTRUMENT_NAME];
    for (size_t i = 0; i < m->global_count; i++) {
        if (!m->globals[i].is_mutable)
            continue;
        global_name(i, name);
        put_export(&s, str_of(name), 3, m->imported_globals + i);
    }
    for (size_t i = 0; i < m->tables; i++) {
        table_name(i, name);
        put_export(&s, str_of(name), 1, m->imported_tables + i);
    }
    if (m->has_start)
        put_export(&s, str_of(start_name), 0, m->start);
    wasm_put_section(out, WASM_EXPORT, buf_view(&s));
}

static void instrument(const struct wasm_module *m, struct buf *out)
{
    wasm_put_header(out);
    for (size_t i = 0; i < m->part_count; i++) {
        if (m->parts[i].id == WASM_EXPORT)
            instrument_exports(m, out);
        else if (m->parts[i].id != WASM_START)
            wasm_put_section(out, m->parts[i].id, m->parts[i].bytes);
    }
}

/* ---- running the start -------------------------------------------------- */

static bool check_shape(const struct wasm_module *m, bool own, struct err *e)
{
    bool bulk;
    if (m->memories != 1 || m->imported_memories || !m->memory_is_plain)
        return err_set(e, ERR_INVALID,
                       "needs exactly one memory of its own, of 32 bits, not shared");
    if (m->imported_globals || m->imported_tables)
        return err_set(e, ERR_INVALID,
                       "imports globals or tables, which cannot be baked");
    for (size_t i = 0; i < m->global_count; i++)
        if (m->globals[i].is_mutable && !type_letter(m->globals[i].kind))
            return err_set(e, ERR_INVALID,
                           "keeps a mutable global that is not a "
                           "number");
    for (size_t i = 0; i < m->export_count; i++)
        if (m->exports[i].kind == 2 && str_is(m->exports[i].name, "memory"))
            return wasm_check_code(m, &bulk, e) &&
                   (!own || !bulk ||
                    err_set(e, ERR_INVALID,
                            "uses memory.copy or memory.fill, inside which "
                            "it could not be stopped"));
    return err_set(e, ERR_INVALID, "does not export its memory as 'memory'");
}

static bool read_globals(struct baking *b, struct world *w, uint64_t *out, struct err *e)
{
    char name[INSTRUMENT_NAME];
    for (size_t i = 0; i < b->module.global_count; i++) {
        if (!b->module.globals[i].is_mutable)
            continue;
        global_name(i, name);
        if (!world_get_global(w, name, &out[i]))
            return err_set(e, ERR_BUG, "global %zu cannot be read", i);
    }
    return true;
}

static bool remember_tables(struct baking *b, struct world *w, struct err *e)
{
    size_t n = b->module.tables;
    b->tables = arena_get(b->arena, (n + 1) * sizeof *b->tables, e);
    b->table_sizes = arena_get(b->arena, (n + 1) * sizeof *b->table_sizes, e);
    char name[INSTRUMENT_NAME];
    for (size_t i = 0; b->table_sizes && i < n; i++) {
        table_name(i, name);
        b->table_sizes[i] = world_table_size(w, name);
        size_t entries = (size_t)b->table_sizes[i];
        b->tables[i] = arena_get(b->arena, (entries + 1) * sizeof **b->tables, e);
        for (size_t k = 0; b->tables[i] && k < entries; k++)
            b->tables[i][k] = world_table_entry(w, name, k);
    }
    return !e->code;
}

static bool check_tables(struct baking *b, struct world *w, struct err *e)
{
    char name[INSTRUMENT_NAME];
    for (size_t i = 0; i < b->module.tables; i++) {
        table_name(i, name);
        bool same = world_table_size(w, name) == b->table_sizes[i];
        for (size_t k = 0; same && k < (size_t)b->table_sizes[i]; k++)
            same = world_table_entry(w, name, k) == b->tables[i][k];
        if (!same)
            return err_set(e, ERR_INVALID, "its start changed table %zu", i);
    }
    return true;
}

static bool check_stack(struct baking *b, const uint64_t *before, struct err *e)
{
    for (size_t i = 0; i < b->module.export_count; i++) {
        const struct wasm_export *x = &b->module.exports[i];
        if (x->kind == 3 && str_is(x->name, "__stack_pointer") &&
            x->index < b->module.global_count && b->globals[x->index] != before[x->index])
            return err_set(e, ERR_INVALID,
                           "the start function did not restore the shadow stack pointer");
    }
    return true;
}

static bool exports_function(const struct wasm_module *m, const char *name)
{
    for (size_t i = 0; i < m->export_count; i++)
        if (m->exports[i].kind == 0 && str_is(m->exports[i].name, name))
            return true;
    return false;
}

static bool run_start(struct baking *b, struct world *w, struct err *e)
{
    uint64_t cell = 0;
    if (b->module.has_start && !world_call(w, start_name, &cell, 0, e))
        return err_wrap(e, "the start function");
    if (exports_function(&b->module, "_initialize") &&
        !world_call(w, "_initialize", &cell, 0, e))
        return err_wrap(e, "_initialize");
    for (size_t i = 0; i < b->options->init_count; i++)
        if (!world_call(w, b->options->init[i], &cell, 0, e))
            return err_wrap(e, "%s", b->options->init[i]);
    return true;
}

/* ---- writing ------------------------------------------------------------ */

static bool is_init(const struct baking *b, struct str name)
{
    for (size_t i = 0; i < b->options->init_count; i++)
        if (str_is(name, b->options->init[i]))
            return true;
    return str_is(name, "_initialize");
}

static void put_constant(struct buf *out, unsigned char kind, uint64_t value)
{
    static const unsigned char ops[] = {
        ['i'] = 0x41, ['I'] = 0x42, ['f'] = 0x43, ['F'] = 0x44};
    char letter = type_letter(kind);
    buf_char(out, (char)ops[(unsigned char)letter]);
    if (letter == 'i')
        wasm_put_s64(out, (int32_t)value);
    else if (letter == 'I')
        wasm_put_s64(out, (int64_t)value);
    else
        buf_put(out, &value, letter == 'f' ? 4 : 8);
    buf_char(out, 0x0b);
}

static void put_globals(const struct baking *b, struct buf *s)
{
    const struct wasm_module *m = &b->module;
    wasm_put_u32(s, (uint32_t)m->global_count);
    for (size_t i = 0; i < m->global_count; i++) {
        buf_str(s, m->globals[i].type);
        if (m->globals[i].is_mutable)
            put_constant(s, m->globals[i].kind, b->globals[i]);
        else
            buf_str(s, m->globals[i].init);
    }
}

static void put_exports(const struct baking *b, struct buf *s)
{
    const struct wasm_module *m = &b->module;
    uint32_t count = 0;
    for (size_t i = 0; i < m->export_count; i++)
        count += m->exports[i].kind != 0 || !is_init(b, m->exports[i].name);
    wasm_put_u32(s, count);
    for (size_t i = 0; i < m->export_count; i++)
        if (m->exports[i].kind != 0 || !is_init(b, m->exports[i].name))
            put_export(s, m->exports[i].name, m->exports[i].kind, m->exports[i].index);
}

/* The same limits with today's size as the minimum. */
static void put_memory(const struct baking *b, struct buf *s)
{
    const unsigned char *limits = (const unsigned char *)b->module.memory.at;
    wasm_put_u32(s, 1);
    buf_char(s, (char)limits[0]);
    wasm_put_u32(s, (uint32_t)(b->memory.n / WASM_PAGE));
    if (limits[0] & 1) {
        size_t skip = 1;
        while (limits[skip] & 0x80)
            skip++;
        buf_put(s, limits + skip + 1, b->module.memory.n - skip - 1);
    }
}

static bool page_is_zero(const char *page)
{
    return page[0] == 0 && memcmp(page, page + 1, PAGE - 1) == 0;
}

static void put_data(const struct baking *b, struct buf *s)
{
    size_t from = 0, to = b->memory.n;
    while (from < to && page_is_zero(b->memory.at + from))
        from += PAGE;
    while (to > from && page_is_zero(b->memory.at + to - PAGE))
        to -= PAGE;
    wasm_put_u32(s, from < to);
    if (from == to)
        return;
    wasm_put_u32(s, 0); /* active, in memory 0 */
    put_constant(s, 0x7f, from);
    wasm_put_u32(s, (uint32_t)(to - from));
    buf_put(s, b->memory.at + from, to - from);
}

/* Writes a section again, or leaves it out; others stay as they are. */
static void put_part(const struct baking *b, const struct wasm_part *p, struct buf *out)
{
    scoped_buf struct buf s = buf_of(out->ceiling);
    switch (p->id) {
    case WASM_MEMORY:
        put_memory(b, &s);
        break;
    case WASM_GLOBAL:
        put_globals(b, &s);
        break;
    case WASM_EXPORT:
        put_exports(b, &s);
        break;
    case WASM_START:
    case WASM_DATA:
    case WASM_DATA_COUNT:
        return;
    default:
        wasm_put_section(out, p->id, p->bytes);
        return;
    }
    out->failed |= s.failed;
    wasm_put_section(out, p->id, buf_view(&s));
}

/* Custom sections may stand anywhere, but data comes behind all the others. */
static void put_module(const struct baking *b, bool dense, struct buf *out)
{
    wasm_put_header(out);
    for (size_t i = 0; i < b->module.part_count; i++)
        put_part(b, &b->module.parts[i], out);
    if (!dense)
        return;
    scoped_buf struct buf s = buf_of(out->ceiling);
    put_data(b, &s);
    out->failed |= s.failed;
    wasm_put_section(out, WASM_DATA, buf_view(&s));
}

/* ---- all of it ---------------------------------------------------------- */

static bool bake_world(struct baking *b, struct world *w, struct bake_result *out,
                       struct err *e)
{
    size_t size = (b->module.global_count + 1) * sizeof *b->globals;
    uint64_t *before = arena_get(b->arena, size, e);
    b->globals = arena_get(b->arena, size, e);
    if (e->code || !read_globals(b, w, before, e) || !remember_tables(b, w, e) ||
        !run_start(b, w, e) || !read_globals(b, w, b->globals, e) ||
        !check_tables(b, w, e) || !check_stack(b, before, e))
        return false;
    b->memory = world_memory(w);
    struct str image = b->memory;
    while (b->memory.n > BAKE_IMAGE_MAX && image.n > 0 &&
           page_is_zero(image.at + image.n - PAGE))
        image.n -= PAGE;
    if (image.n > BAKE_IMAGE_MAX)
        return err_set(e, ERR_LIMIT, "its memory holds more than %zu bytes",
                       BAKE_IMAGE_MAX);
    put_module(b, true, &out->dense);
    put_module(b, false, &out->bare);
    buf_str(&out->image, image);
    return buf_check(&out->dense, "the baked module", e) &&
           buf_check(&out->bare, "the baked module", e) &&
           buf_check(&out->image, "the image", e);
}

bool bake_module(struct engine *g, struct str wasm, const struct bake_options *o,
                 struct bake_result *out, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(ARENA_VAULT);
    struct baking *b = arena_get(a, sizeof *b, e);
    if (!b)
        return false;
    b->arena = a;
    b->options = o;
    if (!wasm_parse(wasm, &b->module, a, e) || !check_shape(&b->module, o->own, e))
        return false;
    size_t import_count;
    struct engine_import *imports = make_imports(b, &import_count, e);
    if (!imports)
        return false;

    scoped_buf struct buf copy = buf_of(wasm.n * 2 + 65536);
    instrument(&b->module, &copy);
    struct module_source source = {
        .wasm = buf_view(&copy), .imports = imports, .import_count = import_count};
    scoped(module_close) struct module *m = module_open(g, ENGINE_FOREIGN, &source, e);
    if (!m)
        return false;
    scoped(world_close) struct world *w = world_open(
        m, &(struct world_limits){.memory_bytes = BAKE_MEMORY_MAX}, o->data, e);
    return w && bake_world(b, w, out, e);
}
