/* A buddy allocator: each block is a power of two, aligned to itself, and joins the other half of
 * what it was cut from when both are free. What is known of a block lies outside of it. */
#include "vm/net/heap.h"

#include <stdint.h>

#define LEAST 6u /* 64 bytes */
#define MOST 17u /* HEAP_BLOCK_MAX */
#define TOP 23u  /* HEAP_BYTES */
#define LEAVES (1u << (TOP - LEAST))
enum { INSIDE = 0, TAKEN = 0x40, FREE = 0x80 }; /* with the order */

struct hole {
    struct hole *next, *before;
};
static _Alignas(1 << MOST) uint8_t bytes[HEAP_BYTES];
static uint8_t state[LEAVES];       /* of the block that begins there */
static struct hole holes[MOST + 1]; /* a ring each */
static uint32_t fresh;              /* leaves behind this one were never used */
static size_t used;

static void link_hole(uint32_t leaf, unsigned order)
{
    struct hole *h = (struct hole *)(bytes + ((size_t)leaf << LEAST)), *r = &holes[order];
    h->next = r->next;
    h->before = r;
    r->next->before = h;
    r->next = h;
    state[leaf] = (uint8_t)(FREE | order);
}

static uint32_t unlink_hole(struct hole *h)
{
    h->next->before = h->before;
    h->before->next = h->next;
    uint32_t leaf = (uint32_t)(((uint8_t *)h - bytes) >> LEAST);
    state[leaf] = INSIDE;
    return leaf;
}

void heap_init(void)
{
    for (unsigned i = 0; i <= MOST; i++)
        holes[i].next = holes[i].before = &holes[i];
    for (uint32_t i = 0; i < fresh; i++)
        state[i] = INSIDE;
    fresh = 0;
    used = 0;
}

/* A block of the largest size or smaller; UINT32_MAX: there is none. */
static uint32_t find(unsigned order)
{
    for (unsigned o = order; o <= MOST; o++)
        if (holes[o].next != &holes[o]) {
            uint32_t leaf = unlink_hole(holes[o].next);
            for (; o > order; o--)
                link_hole(leaf + (1u << (o - 1 - LEAST)), o - 1);
            return leaf;
        }
    if (fresh == LEAVES)
        return UINT32_MAX;
    uint32_t leaf = fresh;
    fresh += 1u << (MOST - LEAST);
    for (unsigned o = MOST; o > order; o--)
        link_hole(leaf + (1u << (o - 1 - LEAST)), o - 1);
    return leaf;
}

void *heap_get(size_t n)
{
    unsigned order = LEAST;
    while (order < MOST && (size_t)1 << order < n)
        order++;
    uint32_t leaf = n <= HEAP_BLOCK_MAX && holes[LEAST].next ? find(order) : UINT32_MAX;
    if (leaf == UINT32_MAX)
        return NULL;
    state[leaf] = (uint8_t)(TAKEN | order);
    used += (size_t)1 << order;
    return bytes + ((size_t)leaf << LEAST);
}

void *heap_zeros(size_t count, size_t n)
{
    void *at = count && n > HEAP_BLOCK_MAX / count ? NULL : heap_get(count * n);
    if (at)
        __builtin_memset(at, 0, count * n);
    return at;
}

void heap_free(void *block)
{
    if (!block)
        return;
    uint32_t leaf = (uint32_t)(((uint8_t *)block - bytes) >> LEAST);
    unsigned order = state[leaf] & 31;
    used -= (size_t)1 << order;
    state[leaf] = INSIDE;
    for (; order < MOST; order++) {
        uint32_t other = leaf ^ 1u << (order - LEAST);
        if (state[other] != (FREE | order))
            break;
        unlink_hole((struct hole *)(bytes + ((size_t)other << LEAST)));
        leaf = leaf < other ? leaf : other;
    }
    link_hole(leaf, order);
}

size_t heap_size(const void *block)
{
    uint32_t leaf = (uint32_t)(((const uint8_t *)block - bytes) >> LEAST);
    return (size_t)1 << (state[leaf] & 31);
}

size_t heap_used(void)
{
    return used;
}
