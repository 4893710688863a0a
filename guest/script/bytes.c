#include <stdlib.h>
#include <string.h>

#include "script/guest.h"

bool bytes_put(struct bytes *b, const void *at, size_t n)
{
    if (b->failed)
        return false;
    if (n > b->ceiling - b->n) {
        /* What fits is kept: it may be shown. */
        (void)bytes_put(b, at, b->ceiling - b->n);
        b->failed = true;
        return false;
    }
    if (b->n + n > b->capacity) {
        size_t want = b->capacity ? b->capacity * 2 : 256;
        while (want < b->n + n)
            want *= 2;
        char *grown = realloc(b->at, want);
        if (!grown) {
            b->failed = true;
            return false;
        }
        b->at = grown;
        b->capacity = want;
    }
    if (n)
        memcpy(b->at + b->n, at, n);
    b->n += n;
    return true;
}

bool bytes_text(struct bytes *b, const char *text)
{
    return bytes_put(b, text, strlen(text));
}

void bytes_drop(struct bytes *b)
{
    free(b->at);
    *b = (struct bytes){.ceiling = b->ceiling};
}

void bytes_pad(struct bytes *b)
{
    static const char zeros[8];
    bytes_put(b, zeros, SCRIPT_PAD(b->n) - b->n);
}
