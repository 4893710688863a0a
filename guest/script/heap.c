/* The guest's heap: malloc and its family, made for JavaScript.
 *
 * QuickJS asks for its small objects in arenas of nearly 4 KiB, which get a page each:
 * what an evaluation writes to is put back page by page, and an arena across two pages
 * would cost two. Sizes up to SMALL_MAX, and those pages, come from 16 KiB regions of one
 * size each, whose free pieces form a list: to allocate is to take the first, to free is
 * to put it back, and the size of a piece is known from its region.
 *
 * Larger ones are blocks with a header, one behind the other through the rest of
 * the memory. Free blocks are merged with their neighbours and kept in lists by
 * size, four to each power of two, with a bit for each list that is not empty (the
 * two-level segregated fit of Masmano et al., 2004): every step is of constant
 * time. The last block can grow with the memory.
 */
#include <stdlib.h>
#include <string.h>

#include "script/guest.h"
#include "script/heap.h"

#define STEP 16u
#define SMALL_MAX 512u
/* The last class is that of the arenas. */
#define CLASSES (SMALL_MAX / STEP + 1u)
#define ARENA_CLASS (CLASSES - 1u)
#define ARENA_MIN 2049u
#define ARENA_MAX 4096u
#define REGION_BITS 14
#define REGION ((size_t)1 << REGION_BITS)

/* The host gives this guest at most 1 GiB. */
#define MEMORY_BITS 30
#define WASM_PAGE ((size_t)65536)
/* Memory grows by this at least; each time costs the host a system call. */
#define GROWTH ((size_t)1 << 20)

/* What a usual evaluation uses is in the image already, so that its memory need
 * not grow. */
#define PREPARED_REGIONS 96u
#define PREPARED_BLOCKS ((size_t)1 << 20)

/* ---- blocks ------------------------------------------------------------- */

struct block {
    uint32_t before; /* size of the block before this one; 0: it is the first */
    uint32_t size;   /* header included; lowest bit: in use */
    /* While it is free, instead of the contents: */
    struct block *next, *previous;
};

#define HEADER 8u
#define IN_USE 1u
#define BLOCK_MIN 32u
#define LISTS 128u

static struct block *lists[LISTS];
static uint64_t filled[LISTS / 64];
static struct block *last_block; /* of no size, always in use: the end */

static inline uint32_t size_of(const struct block *b)
{
    return b->size & ~IN_USE;
}

static inline struct block *after(const struct block *b)
{
    return (struct block *)((char *)(uintptr_t)b + size_of(b));
}

static inline struct block *block_of(const void *p)
{
    return (struct block *)((char *)(uintptr_t)p - HEADER);
}

static inline void *contents(struct block *b)
{
    return (char *)b + HEADER;
}

/* The list for blocks of this size: power of two, and the two bits below. */
static inline unsigned list_of(uint32_t size)
{
    unsigned power = 31u - (unsigned)__builtin_clz(size);
    return power * 4u + ((size >> (power - 2u)) & 3u);
}

static void list_add(struct block *b)
{
    unsigned i = list_of(b->size);
    b->previous = NULL;
    b->next = lists[i];
    if (b->next)
        b->next->previous = b;
    lists[i] = b;
    filled[i / 64] |= (uint64_t)1 << (i % 64);
}

static void list_take(struct block *b)
{
    unsigned i = list_of(b->size);
    if (b->next)
        b->next->previous = b->previous;
    if (b->previous)
        b->previous->next = b->next;
    else if (!(lists[i] = b->next))
        filled[i / 64] &= ~((uint64_t)1 << (i % 64));
}

/* The first list from `i` on that holds something, or LISTS. */
static unsigned next_filled(unsigned i)
{
    for (unsigned word = i / 64; word < LISTS / 64; word++) {
        uint64_t bits = filled[word];
        if (word == i / 64)
            bits &= ~(uint64_t)0 << (i % 64);
        if (bits)
            return word * 64u + (unsigned)__builtin_ctzll(bits);
    }
    return LISTS;
}

static struct block *find_block(uint32_t size)
{
    /* The lists above the size's own hold only blocks that fit; in its own the
     * first few are tried. */
    unsigned i = list_of(size);
    int tries = 8;
    for (struct block *b = lists[i]; b && tries > 0; b = b->next, tries--)
        if (b->size >= size)
            return b;
    i = next_filled(i + 1);
    return i < LISTS ? lists[i] : NULL;
}

/* Gives what lies behind the first `size` bytes back. */
static void split(struct block *b, uint32_t size)
{
    uint32_t rest = size_of(b) - size;
    if (rest < BLOCK_MIN)
        return;
    b->size = size | (b->size & IN_USE);
    struct block *r = after(b);
    r->before = size;
    r->size = rest;
    struct block *next = after(r);
    if (!(next->size & IN_USE)) {
        list_take(next);
        r->size += next->size;
        next = after(r);
    }
    next->before = r->size;
    list_add(r);
}

static void block_free(struct block *b)
{
    b->size &= ~IN_USE;
    struct block *next = after(b);
    if (!(next->size & IN_USE)) {
        list_take(next);
        b->size += next->size;
    }
    if (b->before) {
        struct block *before = (struct block *)((char *)b - b->before);
        if (!(before->size & IN_USE)) {
            list_take(before);
            before->size += b->size;
            b = before;
        }
    }
    after(b)->before = b->size;
    list_add(b);
}

/* More memory behind the last block, as a free one. */
static bool grow(size_t size)
{
    extern char __heap_base;
    size_t want = (size > GROWTH ? size : GROWTH) + BLOCK_MIN;
    size_t pages = (want + WASM_PAGE - 1) / WASM_PAGE;
    size_t had = __builtin_wasm_memory_size(0);
    if (had + pages > ((size_t)1 << MEMORY_BITS) / WASM_PAGE)
        pages = ((size_t)1 << MEMORY_BITS) / WASM_PAGE + 1; /* let the host say no */
    if (__builtin_wasm_memory_grow(0, pages) == SIZE_MAX)
        host_stop(SCRIPT_STOP_MEMORY); /* an exception could be caught */
    char *end = (char *)((had + pages) * WASM_PAGE);
    struct block *b = last_block;
    if (!b) {
        uintptr_t start = ((uintptr_t)&__heap_base + 15u) & ~(uintptr_t)15u;
        b = (struct block *)(start + STEP - HEADER);
        b->before = 0;
    }
    b->size = (uint32_t)(end - HEADER - (char *)b) | IN_USE;
    last_block = after(b);
    *(uint32_t *)&last_block->size = IN_USE;
    last_block->before = size_of(b);
    block_free(b);
    return true;
}

static void *large_get(size_t size)
{
    if (size > (size_t)1 << MEMORY_BITS) {
        (void)grow(size < SIZE_MAX / 2 ? size : SIZE_MAX / 2); /* the host sees it */
        return NULL;
    }
    uint32_t need = (uint32_t)((size + HEADER + STEP - 1) & ~(size_t)(STEP - 1));
    struct block *b = find_block(need);
    if (!b && (!grow(need) || !(b = find_block(need))))
        return NULL;
    list_take(b);
    b->size |= IN_USE;
    split(b, need);
    return contents(b);
}

/* Grows into the free block behind it, or shrinks. false: it must move. */
static bool large_resize(void *p, size_t size)
{
    struct block *b = block_of(p);
    if (size > (size_t)1 << MEMORY_BITS)
        return false;
    uint32_t need = (uint32_t)((size + HEADER + STEP - 1) & ~(size_t)(STEP - 1));
    if (need > size_of(b)) {
        struct block *next = after(b);
        if ((next->size & IN_USE) || size_of(b) + next->size < need)
            return false;
        list_take(next);
        b->size += next->size;
        after(b)->before = size_of(b);
    }
    split(b, need);
    return true;
}

/* ---- small objects ------------------------------------------------------ */

struct piece {
    struct piece *next;
};

static struct piece *free_pieces[CLASSES];
static char *fresh_at[CLASSES], *fresh_end[CLASSES];
/* Class + 1 of each region of the memory, 0 for all that is not ours. */
static uint8_t region_class[(size_t)1 << (MEMORY_BITS - REGION_BITS)];
static _Alignas(REGION) char prepared[PREPARED_REGIONS][REGION];
static char *regions_at = &prepared[0][0], *regions_end = &prepared[PREPARED_REGIONS][0];

#define REGIONS_AT_ONCE 16u

static char *new_region(void)
{
    if (regions_at == regions_end) {
        char *all = large_get(REGIONS_AT_ONCE * REGION);
        if (!all)
            return NULL;
        regions_at = (char *)(((uintptr_t)all + REGION - 1) & ~(uintptr_t)(REGION - 1));
        regions_end = regions_at + (REGIONS_AT_ONCE - 1) * REGION;
    }
    char *region = regions_at;
    regions_at += REGION;
    return region;
}

static inline size_t class_size(unsigned class)
{
    return class == ARENA_CLASS ? ARENA_MAX : (class + 1u) * STEP;
}

static __attribute__((noinline)) void *refill(unsigned class)
{
    size_t size = class_size(class);
    char *at = fresh_at[class];
    if (!at || at + size > fresh_end[class]) {
        at = new_region();
        if (!at)
            return NULL;
        region_class[(uintptr_t)at >> REGION_BITS] = (uint8_t)(class + 1u);
        fresh_end[class] = at + REGION;
    }
    fresh_at[class] = at + size;
    return at;
}

static inline unsigned class_at(const void *p)
{
    return region_class[(uintptr_t)p >> REGION_BITS];
}

/* ---- malloc and its family ---------------------------------------------- */

void *malloc(size_t size)
{
    unsigned class = (unsigned)((size - 1u) / STEP);
    if (size - 1u >= SMALL_MAX) {
        if (size - ARENA_MIN > ARENA_MAX - ARENA_MIN)
            return large_get(size ? size : 1);
        class = ARENA_CLASS;
    }
    struct piece *p = free_pieces[class];
    if (!p)
        return refill(class);
    free_pieces[class] = p->next;
    return p;
}

void free(void *p)
{
    if (!p)
        return;
    unsigned class = class_at(p);
    if (!class) {
        block_free(block_of(p));
        return;
    }
    struct piece *piece = p;
    piece->next = free_pieces[class - 1u];
    free_pieces[class - 1u] = piece;
}

void *calloc(size_t count, size_t each)
{
    size_t size;
    if (__builtin_mul_overflow(count, each, &size))
        return NULL;
    void *p = malloc(size);
    return p ? memset(p, 0, size) : NULL;
}

static size_t usable(const void *p)
{
    unsigned class = class_at(p);
    return class ? class_size(class - 1u) : size_of(block_of(p)) - HEADER;
}

void *realloc(void *p, size_t size)
{
    if (!p)
        return malloc(size);
    unsigned class = class_at(p);
    size_t had = usable(p);
    if (class ? size <= had && size > had / 2 : size > SMALL_MAX && large_resize(p, size))
        return p;
    void *fresh = malloc(size);
    if (!fresh)
        return NULL;
    memcpy(fresh, p, had < size ? had : size);
    free(p);
    return fresh;
}

/* ---- the runtime's ------------------------------------------------------ */

static void *js_heap_calloc(void *opaque, size_t count, size_t each)
{
    (void)opaque;
    return calloc(count, each);
}

static void *js_heap_malloc(void *opaque, size_t size)
{
    (void)opaque;
    return malloc(size);
}

static void js_heap_free(void *opaque, void *p)
{
    (void)opaque;
    free(p);
}

static void *js_heap_realloc(void *opaque, void *p, size_t size)
{
    (void)opaque;
    if (size == 0) {
        free(p);
        return NULL;
    }
    return realloc(p, size);
}

const JSMallocFunctions heap_functions = {js_heap_calloc, js_heap_malloc, js_heap_free,
                                          js_heap_realloc, usable};

void heap_prepare(void)
{
    (void)grow(PREPARED_BLOCKS);
}

/* ---- settled -------------------------------------------------------------- */

/* Blocks between others that would be used before the one at the end. */
#define SETTLED_MIN ((uint32_t)1 << 20)

void heap_settle(void)
{
    memset(free_pieces, 0, sizeof free_pieces);
    memset(fresh_at, 0, sizeof fresh_at);
    for (unsigned i = 0; i < LISTS; i++)
        for (struct block *b = lists[i], *next; b; b = next) {
            next = b->next;
            if (b->size < SETTLED_MIN) {
                list_take(b);
                b->size |= IN_USE;
            } else {
                memset(b + 1, 0, b->size - sizeof *b);
            }
        }
}
