/* The guest's heap. A pattern and the memory to match it are a handful of blocks, mostly of
 * growing sizes: free blocks form one list, the first that fits and is not far too large is
 * taken, and a block at the end of the heap goes back to it.
 *
 * Memory that the host refuses ends the world, so growing needs no second plan. */
#include <stdint.h>
#include <stdlib.h>

#define BLOCK_MAX ((size_t)1 << 26) /* beyond any limit, and no sum below can wrap */
#define STEP 16u
#define WASM_PAGE ((size_t)65536)
#define GROWTH ((size_t)1 << 20)

struct block {
    size_t size; /* of the contents */
    struct block *next;
    char pad[STEP - sizeof(size_t) - sizeof(struct block *)];
};
_Static_assert(sizeof(struct block) == STEP, "contents are aligned to 16 bytes");

extern char __heap_base;
static char *heap_end; /* NULL: nothing was asked for yet */
static struct block *unused;

static char *end_of(const struct block *b)
{
    return (char *)(uintptr_t)b + STEP + b->size;
}

static void *from_unused(size_t size)
{
    for (struct block **at = &unused; *at; at = &(*at)->next) {
        struct block *b = *at;
        if (b->size < size || b->size / 8 > size)
            continue;
        *at = b->next;
        return b + 1;
    }
    return NULL;
}

static struct block *from_end(size_t size)
{
    if (!heap_end)
        heap_end =
            (char *)(((uintptr_t)&__heap_base + STEP - 1) & ~(uintptr_t)(STEP - 1));
    uintptr_t need = (uintptr_t)heap_end + STEP + size;
    uintptr_t have = (uintptr_t)__builtin_wasm_memory_size(0) * WASM_PAGE;
    if (need > have) {
        size_t more = need - have > GROWTH ? need - have : GROWTH;
        if (__builtin_wasm_memory_grow(0, (more + WASM_PAGE - 1) / WASM_PAGE) == SIZE_MAX)
            __builtin_trap();
    }
    struct block *b = (struct block *)heap_end;
    heap_end += STEP + size;
    b->size = size;
    return b;
}

void *malloc(size_t size)
{
    if (size > BLOCK_MAX)
        return NULL;
    size = size ? (size + STEP - 1) & ~(size_t)(STEP - 1) : STEP;
    void *p = from_unused(size);
    return p ? p : from_end(size) + 1;
}

void free(void *p)
{
    struct block *b = p;
    if (!b--)
        return;
    if (end_of(b) == heap_end) {
        heap_end = (char *)b;
        return;
    }
    b->next = unused;
    unused = b;
}
