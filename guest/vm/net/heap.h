/* guest/vm/net/heap.h - memory for lwIP: blocks of 64 bytes to 128 KiB out of one piece of 8 MiB,
 * of which what was never used is never touched.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define HEAP_BYTES ((size_t)8 << 20)
/* Kept for what the machine acknowledges, and for what lwIP says by itself. */
#define HEAP_RESERVE ((size_t)1 << 20)
#define HEAP_BLOCK_MAX ((size_t)128 << 10)

void heap_init(void);     /* all of it is free */
void *heap_get(size_t n); /* NULL: there is none */
void *heap_zeros(size_t count, size_t n);
void heap_free(void *block);         /* NULL is fine */
size_t heap_size(const void *block); /* what it takes up */
size_t heap_used(void);              /* by all */
