/* Strings and bytes: UTF-8 in, UTF-8 out, and nothing that a program sees is ever broken. */
#include <string.h>

#include "javascript.h"

static const char REPLACEMENT[3] = {'\xef', '\xbf', '\xbd'};

/* How many bytes at `at` are one character, or, with *whole false, the longest beginning of
 * one (at least 1): the Unicode Standard's "maximal subpart", table 3-7. */
static size_t sequence(const unsigned char *at, size_t n, bool *whole)
{
    unsigned char first = at[0], low = 0x80, high = 0xbf;
    size_t need = first < 0x80   ? 1
                  : first < 0xc2 ? 0
                  : first < 0xe0 ? 2
                  : first < 0xf0 ? 3
                  : first < 0xf5 ? 4
                                 : 0;
    *whole = need == 1;
    if (need <= 1)
        return 1;
    if (first == 0xe0)
        low = 0xa0;
    if (first == 0xed)
        high = 0x9f;
    if (first == 0xf0)
        low = 0x90;
    if (first == 0xf4)
        high = 0x8f;
    size_t i = 1;
    while (i < need && i < n && at[i] >= low && at[i] <= high) {
        low = 0x80;
        high = 0xbf;
        i++;
    }
    *whole = i == need;
    return i;
}

JSValue text_decode(JSContext *ctx, const char *bytes, size_t n)
{
    const unsigned char *at = (const unsigned char *)bytes;
    size_t broken = 0;
    bool whole;
    for (size_t i = 0, k; i < n; i += k) {
        k = sequence(at + i, n - i, &whole);
        broken += !whole;
    }
    if (broken == 0)
        return JS_NewStringLen(ctx, bytes, n);
    char *clean = js_malloc(ctx, n + broken * sizeof REPLACEMENT);
    if (!clean)
        return JS_EXCEPTION;
    size_t out = 0;
    for (size_t i = 0, k; i < n; i += k) {
        k = sequence(at + i, n - i, &whole);
        memcpy(clean + out, whole ? bytes + i : REPLACEMENT,
               whole ? k : sizeof REPLACEMENT);
        out += whole ? k : sizeof REPLACEMENT;
    }
    JSValue text = JS_NewStringLen(ctx, clean, out);
    js_free(ctx, clean);
    return text;
}

char *text_encode(JSContext *ctx, JSValueConst text, size_t *n)
{
    const char *bytes = JS_ToCStringLen(ctx, n, text);
    if (!bytes)
        return NULL;
    char *copy = js_malloc(ctx, *n + 1);
    if (copy) {
        memcpy(copy, bytes, *n + 1);
        /* QuickJS writes a lone surrogate as if it were a character. */
        for (size_t i = 0; i + 2 < *n; i++)
            if (copy[i] == '\xed' && (unsigned char)copy[i + 1] >= 0xa0)
                memcpy(copy + i, REPLACEMENT, sizeof REPLACEMENT);
    }
    JS_FreeCString(ctx, bytes);
    return copy;
}
