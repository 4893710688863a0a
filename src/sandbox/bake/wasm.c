#include "bake/wasm.h"

/* A cursor whose failure sticks: past the end everything reads as zero. */
struct reader {
    const unsigned char *at, *end;
    bool failed;
};

static struct reader reader_of(struct str s)
{
    return (struct reader){(const unsigned char *)s.at, (const unsigned char *)s.at + s.n,
                           false};
}

static unsigned char read_byte(struct reader *r)
{
    if (r->at == r->end) {
        r->failed = true;
        return 0;
    }
    return *r->at++;
}

/* LEB128 of at most `bits` bits; sign bits are dropped, for we only skip. */
static uint64_t read_leb(struct reader *r, unsigned bits)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < bits; shift += 7) {
        unsigned char b = read_byte(r);
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80))
            return v;
    }
    r->failed = true;
    return 0;
}

static uint32_t read_u32(struct reader *r)
{
    uint64_t v = read_leb(r, 35);
    if (v > UINT32_MAX)
        r->failed = true;
    return (uint32_t)v;
}

static struct str read_bytes(struct reader *r, uint64_t n)
{
    if (n > (uint64_t)(r->end - r->at)) {
        r->failed = true;
        return STR("");
    }
    struct str s = {(const char *)r->at, (size_t)n};
    r->at += n;
    return s;
}

static struct str wasm_read_name(struct reader *r)
{
    return read_bytes(r, read_u32(r));
}

static struct str since(const struct reader *r, const unsigned char *start)
{
    return (struct str){(const char *)start, (size_t)(r->at - start)};
}

/* Reads a count of items of at least a byte: more than the bytes left is invalid. */
static size_t read_count(struct reader *r)
{
    size_t n = read_u32(r);
    if (n > (size_t)(r->end - r->at))
        r->failed = true;
    return r->failed ? 0 : n;
}

/* A row of `each` objects. */
static void *row(struct reader *r, size_t *count, size_t each, struct arena *a,
                 struct err *e)
{
    *count = read_count(r);
    return arena_get(a, *count * each + 1, e);
}

static void skip_value_type(struct reader *r)
{
    unsigned char t = read_byte(r);
    if (t == 0x63 || t == 0x64) /* ref, with a heap type behind it */
        (void)read_leb(r, 35);
}

static struct str read_limits(struct reader *r, bool *plain)
{
    const unsigned char *start = r->at;
    unsigned char flags = read_byte(r);
    (void)read_leb(r, 70);
    if (flags & 1)
        (void)read_leb(r, 70);
    if (flags & 8) /* custom page size */
        (void)read_u32(r);
    *plain = flags <= 1;
    return since(r, start);
}

/* ---- sections ----------------------------------------------------------- */

static void parse_types(struct reader *r, struct wasm_module *m, struct arena *a,
                        struct err *e)
{
    m->types = row(r, &m->type_count, sizeof *m->types, a, e);
    for (size_t i = 0; m->types && i < m->type_count; i++) {
        const unsigned char *start = r->at;
        if (read_byte(r) != 0x60)
            r->failed = true; /* only function types are known here */
        for (int side = 0; side < 2; side++)
            for (uint32_t n = read_u32(r); n > 0 && !r->failed; n--)
                skip_value_type(r);
        m->types[i] = since(r, start);
    }
}

static void parse_imports(struct reader *r, struct wasm_module *m, struct arena *a,
                          struct err *e)
{
    size_t n;
    m->imports = row(r, &n, sizeof *m->imports, a, e);
    for (; m->imports && n > 0 && !r->failed; n--) {
        struct wasm_import i = {.module = wasm_read_name(r), .name = wasm_read_name(r)};
        bool plain;
        switch (read_byte(r)) {
        case 0:
            i.type = read_u32(r);
            m->imports[m->import_count++] = i;
            break;
        case 1:
            skip_value_type(r);
            (void)read_limits(r, &plain);
            m->imported_tables++;
            break;
        case 2:
            (void)read_limits(r, &plain);
            m->imported_memories++;
            break;
        case 3:
            skip_value_type(r);
            (void)read_byte(r);
            m->imported_globals++;
            break;
        default:
            (void)read_byte(r);
            (void)read_u32(r);
        }
    }
}

static void skip_instruction(struct reader *r, uint32_t *prefixed);

static struct str read_expression(struct reader *r)
{
    const unsigned char *start = r->at;
    while (!r->failed && r->at < r->end && *r->at != 0x0b) {
        uint32_t prefixed;
        skip_instruction(r, &prefixed);
    }
    (void)read_byte(r);
    return since(r, start);
}

static void parse_globals(struct reader *r, struct wasm_module *m, struct arena *a,
                          struct err *e)
{
    m->globals = row(r, &m->global_count, sizeof *m->globals, a, e);
    for (size_t i = 0; m->globals && i < m->global_count && !r->failed; i++) {
        const unsigned char *start = r->at;
        struct wasm_global *g = &m->globals[i];
        g->kind = r->at < r->end ? *r->at : 0;
        skip_value_type(r);
        g->is_mutable = read_byte(r) == 1;
        g->type = since(r, start);
        g->init = read_expression(r);
    }
}

static void parse_exports(struct reader *r, struct wasm_module *m, struct arena *a,
                          struct err *e)
{
    m->exports = row(r, &m->export_count, sizeof *m->exports, a, e);
    for (size_t i = 0; m->exports && i < m->export_count && !r->failed; i++) {
        m->exports[i].name = wasm_read_name(r);
        m->exports[i].kind = read_byte(r);
        m->exports[i].index = read_u32(r);
    }
}

static void parse_section(struct wasm_part *p, struct wasm_module *m, struct arena *a,
                          struct err *e)
{
    struct reader r = reader_of(p->bytes);
    switch (p->id) {
    case WASM_TYPE:
        parse_types(&r, m, a, e);
        break;
    case WASM_IMPORT:
        parse_imports(&r, m, a, e);
        break;
    case WASM_TABLE:
        m->tables = read_count(&r);
        break;
    case WASM_MEMORY:
        m->memories = read_count(&r);
        if (m->memories)
            m->memory = read_limits(&r, &m->memory_is_plain);
        break;
    case WASM_GLOBAL:
        parse_globals(&r, m, a, e);
        break;
    case WASM_EXPORT:
        parse_exports(&r, m, a, e);
        break;
    case WASM_START:
        m->has_start = true;
        m->start = read_u32(&r);
        break;
    default:
        return;
    }
    if (r.failed)
        err_set(e, ERR_INVALID, "section %d of the module cannot be read", (int)p->id);
}

bool wasm_parse(struct str bytes, struct wasm_module *m, struct arena *a, struct err *e)
{
    static const char header[] = "\0asm\1\0\0";
    struct reader r = reader_of(bytes);
    unsigned seen = 0;
    if (!str_eq(read_bytes(&r, 8), (struct str){header, 8}))
        return err_set(e, ERR_INVALID, "the bytes are not a Wasm module (version 1)");
    while (r.at < r.end) {
        if (m->part_count == WASM_SECTIONS_MAX)
            return err_set(e, ERR_INVALID, "more than %d sections", WASM_SECTIONS_MAX);
        struct wasm_part *p = &m->parts[m->part_count++];
        unsigned char id = read_byte(&r);
        p->bytes = read_bytes(&r, read_u32(&r));
        if (r.failed || id > WASM_TAG)
            return err_set(e, ERR_INVALID, "the module ends in the middle of a section");
        if (id != WASM_CUSTOM && (seen & 1u << id))
            return err_set(e, ERR_INVALID, "section %d occurs twice", (int)id);
        seen |= 1u << id;
        p->id = id;
        parse_section(p, m, a, e);
        if (e->code)
            return false;
    }
    return true;
}

/* ---- code --------------------------------------------------------------- */

static void skip_memarg(struct reader *r)
{
    uint32_t align = read_u32(r);
    if (align & 0x40)
        (void)read_u32(r);
    (void)read_leb(r, 70);
}

static void skip_catches(struct reader *r)
{
    (void)read_leb(r, 35);
    for (uint32_t n = read_u32(r); n > 0 && !r->failed; n--) {
        unsigned char kind = read_byte(r);
        if (kind < 2)
            (void)read_u32(r);
        (void)read_u32(r);
    }
}

static void skip_numeric(struct reader *r, uint32_t op)
{
    static const unsigned char immediates[] = {[8] = 2,  [9] = 1,  [10] = 2, [11] = 1,
                                               [12] = 2, [13] = 1, [14] = 2, [15] = 1,
                                               [16] = 1, [17] = 1};
    if (op >= LENGTH(immediates)) {
        r->failed = true;
        return;
    }
    for (unsigned n = immediates[op]; n > 0; n--)
        (void)read_u32(r);
}

static void skip_vector(struct reader *r, uint32_t op)
{
    if (op <= 11 || op == 92 || op == 93)
        skip_memarg(r);
    else if (op == 12 || op == 13)
        (void)read_bytes(r, 16);
    else if (op >= 21 && op <= 34)
        (void)read_byte(r);
    else if (op >= 84 && op <= 91) {
        skip_memarg(r);
        (void)read_byte(r);
    }
}

/* Steps over one instruction; `prefixed` is its number behind 0xfc, else 0. */
static void skip_instruction(struct reader *r, uint32_t *prefixed)
{
    *prefixed = 0;
    unsigned char op = read_byte(r);
    switch (op) {
    case 0x02:
    case 0x03:
    case 0x04:
    case 0x06:
    case 0x41:
    case 0xd0: /* one signed */
        (void)read_leb(r, 35);
        return;
    case 0x42:
        (void)read_leb(r, 70);
        return;
    case 0x43:
        (void)read_bytes(r, 4);
        return;
    case 0x44:
        (void)read_bytes(r, 8);
        return;
    case 0x07:
    case 0x08:
    case 0x09:
    case 0x0c:
    case 0x0d:
    case 0x10:
    case 0x12:
    case 0x14:
    case 0x15:
    case 0x18:
    case 0x20:
    case 0x21:
    case 0x22:
    case 0x23:
    case 0x24:
    case 0x25:
    case 0x26:
    case 0x3f:
    case 0x40:
    case 0xd2:
    case 0xd5:
    case 0xd6: /* one index */
        (void)read_u32(r);
        return;
    case 0x11:
    case 0x13: /* two */
        (void)read_u32(r);
        (void)read_u32(r);
        return;
    case 0x0e:
        for (uint64_t n = (uint64_t)read_u32(r) + 1; n > 0 && !r->failed; n--)
            (void)read_u32(r);
        return;
    case 0x1c:
        for (uint32_t n = read_u32(r); n > 0 && !r->failed; n--)
            skip_value_type(r);
        return;
    case 0x1f:
        skip_catches(r);
        return;
    case 0xfb:
        r->failed = true; /* garbage collection: not known here */
        return;
    case 0xfc:
        skip_numeric(r, *prefixed = read_u32(r));
        return;
    case 0xfd:
        skip_vector(r, read_u32(r));
        return;
    case 0xfe:
        if (read_u32(r) == 3)
            (void)read_byte(r);
        else
            skip_memarg(r);
        return;
    default:
        if (op >= 0x28 && op <= 0x3e)
            skip_memarg(r);
    }
}

static bool check_body(struct str body, bool *bulk, struct err *e)
{
    struct reader r = reader_of(body);
    for (uint32_t n = read_u32(&r); n > 0 && !r.failed; n--) { /* locals */
        (void)read_u32(&r);
        skip_value_type(&r);
    }
    while (r.at < r.end && !r.failed) {
        uint32_t prefixed;
        skip_instruction(&r, &prefixed);
        *bulk |= prefixed == 10 || prefixed == 11;
        if (prefixed == 8 || prefixed == 9 || prefixed == 12 || prefixed == 13)
            return err_set(e, ERR_INVALID,
                           "the module's code uses segments at run time, whose state "
                           "cannot be baked");
    }
    return r.failed ? err_set(e, ERR_INVALID, "a function of the module cannot be read")
                    : true;
}

bool wasm_check_code(const struct wasm_module *m, bool *bulk, struct err *e)
{
    *bulk = false;
    for (size_t i = 0; i < m->part_count; i++) {
        if (m->parts[i].id != WASM_CODE)
            continue;
        struct reader r = reader_of(m->parts[i].bytes);
        for (uint32_t n = read_u32(&r); n > 0 && !r.failed; n--)
            if (!check_body(wasm_read_name(&r), bulk, e))
                return false;
        if (r.failed)
            return err_set(e, ERR_INVALID, "the module's code cannot be read");
    }
    return true;
}

/* ---- writing ------------------------------------------------------------ */

void wasm_put_u32(struct buf *out, uint32_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_char(out, (char)(v | 0x80));
    buf_char(out, (char)v);
}

void wasm_put_s64(struct buf *out, int64_t v)
{
    for (;;) {
        unsigned char low = (unsigned char)(v & 0x7f);
        v >>= 7;
        bool last = (v == 0 && !(low & 0x40)) || (v == -1 && (low & 0x40));
        buf_char(out, (char)(last ? low : low | 0x80));
        if (last)
            return;
    }
}

void wasm_put_name(struct buf *out, struct str name)
{
    wasm_put_u32(out, (uint32_t)name.n);
    buf_str(out, name);
}

void wasm_put_section(struct buf *out, enum wasm_section id, struct str content)
{
    buf_char(out, (char)id);
    wasm_put_name(out, content);
}

void wasm_put_header(struct buf *out)
{
    buf_put(out, "\0asm\1\0\0", 8);
}
