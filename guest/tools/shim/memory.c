/* Memory: Doug Lea's allocator, as wasi-libc has it. That of zig's C library rounds large
 * blocks up to powers of two (xz -9 would need 1.4 GB instead of 0.7), answers NULL for a
 * realloc() to 0 bytes, which programs take for a lack of memory, and lets sizes near 2^32
 * wrap around. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HAVE_MMAP            0
#define MORECORE_CANNOT_TRIM 1
#define DEFAULT_GRANULARITY  ((size_t)256 << 10)
#define MALLOC_ALIGNMENT     16
#define ABORT                __builtin_trap()
#define LACKS_TIME_H         1
#define NO_MALLINFO          1
#define NO_MALLOC_STATS      1
#define USE_DL_PREFIX        1
#define DLMALLOC_EXPORT      static inline
static size_t dlmalloc_usable_size(void *);
#include "dlmalloc/src/malloc.c"

/* All that zig's C library has of these: one of its own among them would take our blocks for
 * its blocks. */

void *malloc(size_t n)
{
    return dlmalloc(n);
}

void free(void *p)
{
    dlfree(p);
}

void *calloc(size_t count, size_t n)
{
    return dlcalloc(count, n);
}

void *realloc(void *p, size_t n)
{
    return dlrealloc(p, n);
}

void *reallocarray(void *p, size_t count, size_t n)
{
    size_t all;
    if (!__builtin_mul_overflow(count, n, &all))
        return dlrealloc(p, all);
    errno = ENOMEM;
    return NULL;
}

int posix_memalign(void **out, size_t alignment, size_t n)
{
    return dlposix_memalign(out, alignment, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    return dlmemalign(alignment, n);
}

void *memalign(size_t alignment, size_t n)
{
    return dlmemalign(alignment, n);
}

void *valloc(size_t n)
{
    return dlvalloc(n);
}

size_t malloc_usable_size(void *p)
{
    return dlmalloc_usable_size(p);
}
