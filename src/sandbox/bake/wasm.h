/* bake/wasm.h - a module's binary form, taken apart into what baking needs.
 *
 * Everything is a borrowed slice of the module's bytes.
 */
#pragma once
#include "base/base.h"

enum wasm_section {
    WASM_CUSTOM,
    WASM_TYPE,
    WASM_IMPORT,
    WASM_FUNCTION,
    WASM_TABLE,
    WASM_MEMORY,
    WASM_GLOBAL,
    WASM_EXPORT,
    WASM_START,
    WASM_ELEMENT,
    WASM_CODE,
    WASM_DATA,
    WASM_DATA_COUNT,
    WASM_TAG,
};

struct wasm_part {
    enum wasm_section id;
    struct str bytes; /* the section's content */
};

struct wasm_global {
    struct str type; /* value type and mutability */
    struct str init; /* the expression, its end included */
    unsigned char kind;
    bool is_mutable;
};

struct wasm_export {
    struct str name;
    unsigned char kind; /* 0 function, 1 table, 2 memory, 3 global, 4 tag */
    uint32_t index;
};

struct wasm_import {
    struct str module, name;
    uint32_t type; /* of functions */
};

#define WASM_SECTIONS_MAX 256

struct wasm_module {
    struct wasm_part parts[WASM_SECTIONS_MAX];
    size_t part_count;
    struct wasm_global *globals; /* those that it defines */
    struct wasm_export *exports;
    struct wasm_import *imports; /* of functions */
    struct str *types;           /* each function type's bytes */
    size_t global_count, export_count, import_count, type_count;
    size_t imported_globals, imported_tables, imported_memories, tables, memories;
    bool has_start;
    uint32_t start;       /* the function that runs at once */
    struct str memory;    /* the limits of its memory */
    bool memory_is_plain; /* 32 bits, not shared */
};

/* ERR_INVALID: the bytes are no module, or use what is not known here. */
bool wasm_parse(struct str bytes, struct wasm_module *m, struct arena *a, struct err *e);
/* false and ERR_INVALID when the code can drop or copy from segments, whose
 * state no module can express. `*bulk`: does it copy or fill memory by single
 * instructions? */
bool wasm_check_code(const struct wasm_module *m, bool *bulk, struct err *e);

/* Writing. */
void wasm_put_u32(struct buf *out, uint32_t v);
void wasm_put_s64(struct buf *out, int64_t v);
void wasm_put_name(struct buf *out, struct str name);
void wasm_put_section(struct buf *out, enum wasm_section id, struct str content);
void wasm_put_header(struct buf *out);
