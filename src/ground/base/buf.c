#include <stdio.h>

#include "base/base.h"

struct buf buf_of(size_t ceiling)
{
    /* Less than SIZE_MAX, so that a NUL behind it is no overflow. */
    return (struct buf){.ceiling = ceiling < SIZE_MAX ? ceiling : SIZE_MAX - 1};
}

void buf_init(struct buf *b, size_t ceiling)
{
    *b = buf_of(ceiling);
}

void buf_done(struct buf *b)
{
    free(b->at);
    *b = (struct buf){0};
}

void buf_clear(struct buf *b)
{
    b->n = 0;
    b->failed = false;
}

char *buf_room(struct buf *b, size_t n)
{
    if (b->failed || n > b->ceiling - b->n) {
        b->failed = true;
        return NULL;
    }
    /* A byte more than counted, for buf_cz(). */
    if (b->n + n >= b->capacity) {
        size_t want = b->capacity ? b->capacity * 2 : 256;
        if (want < b->n + n + 1)
            want = b->n + n + 1;
        if (want > b->ceiling + 1)
            want = b->ceiling + 1;
        char *grown = realloc(b->at, want);
        if (!grown) {
            b->failed = true;
            return NULL;
        }
        b->at = grown;
        b->capacity = want;
    }
    return b->at + b->n;
}

bool buf_put(struct buf *b, const void *at, size_t n)
{
    char *room = buf_room(b, n);
    if (!room)
        return false;
    if (n)
        memcpy(room, at, n);
    b->n += n;
    return true;
}

bool buf_str(struct buf *b, struct str s)
{
    return buf_put(b, s.at, s.n);
}

bool buf_cstr(struct buf *b, const char *s)
{
    return buf_put(b, s, strlen(s));
}

bool buf_char(struct buf *b, char c)
{
    return buf_put(b, &c, 1);
}

bool buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    /* Most fit in what there is, and are written once. */
    size_t left = b->failed ? 0 : b->capacity - b->n;
    int n = vsnprintf(left ? b->at + b->n : NULL, left, fmt, ap);
    va_end(ap);
    char *room = n < 0 ? NULL : buf_room(b, (size_t)n);
    if (room && (size_t)n < left) {
        b->n += (size_t)n;
    } else if (room) {
        (void)vsnprintf(room, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    va_end(again);
    return room != NULL;
}

const char *buf_cz(struct buf *b)
{
    if (!b->at)
        return "";
    b->at[b->n] = '\0';
    return b->at;
}

struct str buf_view(const struct buf *b)
{
    return (struct str){b->at ? b->at : "", b->n};
}

bool buf_check(const struct buf *b, const char *what, struct err *e)
{
    return b->failed
               ? err_set(e, ERR_LIMIT, "%s is larger than %zu bytes", what, b->ceiling)
               : true;
}
