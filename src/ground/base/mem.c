#include <stdio.h>

#include "base/base.h"

void *mem_new(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    must(p != NULL);
    return p;
}

bool mem_fit(void *array, size_t *capacity, size_t n, size_t size, struct err *e)
{
    void *at;
    if (n < *capacity)
        return true;
    memcpy(&at, array, sizeof at); /* a pointer, of whatever type */
    size_t more = n < 8 ? 16 : 2 * n;
    if (!(at = reallocarray(at, more, size)))
        return err_set(e, ERR_LIMIT, "no memory for a list of %zu", more);
    memcpy(array, &at, sizeof at);
    *capacity = more;
    return true;
}

char *mem_strdup(const char *s)
{
    char *copy = strdup(s);
    must(copy != NULL);
    return copy;
}

/* ---- arenas ------------------------------------------------------------- */

#define ARENA_CHUNK ((size_t)16 * 1024)
#define ARENA_ALIGN ((size_t)16)

struct chunk {
    struct chunk *next;
    size_t used, size;
    _Alignas(16) unsigned char bytes[];
};

struct arena {
    struct chunk *chunks; /* the first is the one being filled */
    size_t left;          /* bytes below the ceiling */
};

struct arena *arena_new(size_t ceiling)
{
    struct arena *a = mem_new(sizeof *a);
    a->left = ceiling;
    return a;
}

void arena_free(struct arena *a)
{
    if (!a)
        return;
    for (struct chunk *c = a->chunks, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(a);
}

static struct chunk *chunk_new(size_t size)
{
    struct chunk *c = size <= SIZE_MAX - sizeof *c ? malloc(sizeof *c + size) : NULL;
    if (c)
        *c = (struct chunk){.size = size};
    return c;
}

void *arena_get(struct arena *a, size_t size, struct err *e)
{
    size_t need = size <= SIZE_MAX - ARENA_ALIGN
                      ? (size + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1)
                      : SIZE_MAX;
    if (need > a->left) {
        err_set(e, ERR_LIMIT,
                "this request needs more working memory than it "
                "may have (%zu bytes more)",
                size);
        return NULL;
    }
    struct chunk *c = a->chunks;
    size_t room = need > ARENA_CHUNK ? need : ARENA_CHUNK;
#ifdef __SANITIZE_ADDRESS__
    c = NULL; /* one allocation each, so that the sanitizer sees overruns */
    room = size;
#endif
    if (!c || need > c->size - c->used) {
        struct chunk *fresh = chunk_new(room);
        if (!fresh) {
            err_set(e, ERR_LIMIT, "out of memory for %zu bytes", size);
            return NULL;
        }
        /* A large block goes behind, so that the rest of a half-filled chunk
         * stays usable. */
        if (a->chunks && need > ARENA_CHUNK) {
            fresh->next = a->chunks->next;
            a->chunks->next = fresh;
        } else {
            fresh->next = a->chunks;
            a->chunks = fresh;
        }
        c = fresh;
    }
    void *p = c->bytes + c->used;
    c->used += need;
    a->left -= need;
    memset(p, 0, size);
    return p;
}

char *arena_copy(struct arena *a, const void *at, size_t n, struct err *e)
{
    char *p = arena_get(a, n < SIZE_MAX ? n + 1 : n, e);
    if (p && n)
        memcpy(p, at, n);
    return p;
}

char *arena_printf(struct arena *a, struct err *e, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *p = n < 0 ? NULL : arena_get(a, (size_t)n + 1, e);
    if (p)
        (void)vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}
