/* Searching and comparing memory sixteen bytes a step, which is what text tools spend their
 * time with. No load reaches beyond the range, or, where there is no end, beyond the block
 * of sixteen in which the byte is. */
#include <stdint.h>
#include <string.h>
#include <wasm_simd128.h>

/* Or clang would make each loop a call of the very function it is in. */
#define PLAIN __attribute__((no_builtin))
#define STEP  16

static unsigned found(v128_t block, v128_t wanted)
{
    return wasm_i8x16_bitmask(wasm_i8x16_eq(block, wanted));
}

PLAIN void *memchr(const void *from, int c, size_t n)
{
    const uint8_t *at = from;
    v128_t wanted = wasm_i8x16_splat((int8_t)c);
    for (; n >= 4 * STEP; at += 4 * STEP, n -= 4 * STEP) {
        v128_t a = wasm_i8x16_eq(wasm_v128_load(at), wanted);
        v128_t b = wasm_i8x16_eq(wasm_v128_load(at + STEP), wanted);
        v128_t d = wasm_i8x16_eq(wasm_v128_load(at + 2 * STEP), wanted);
        v128_t e = wasm_i8x16_eq(wasm_v128_load(at + 3 * STEP), wanted);
        if (wasm_v128_any_true(wasm_v128_or(wasm_v128_or(a, b), wasm_v128_or(d, e))))
            break;
    }
    for (; n >= STEP; at += STEP, n -= STEP) {
        unsigned bits = found(wasm_v128_load(at), wanted);
        if (bits)
            return (void *)(at + __builtin_ctz(bits));
    }
    for (; n > 0; at++, n--)
        if (*at == (uint8_t)c)
            return (void *)at;
    return NULL;
}

PLAIN void *memrchr(const void *from, int c, size_t n)
{
    const uint8_t *start = from, *end = start + n;
    v128_t wanted = wasm_i8x16_splat((int8_t)c);
    for (; end - start >= STEP; end -= STEP) {
        unsigned bits = found(wasm_v128_load(end - STEP), wanted);
        if (bits)
            return (void *)(end - STEP + 31 - __builtin_clz(bits));
    }
    while (end > start)
        if (*--end == (uint8_t)c)
            return (void *)end;
    return NULL;
}

/* The caller knows that it is there. */
PLAIN void *rawmemchr(const void *from, int c)
{
    const uint8_t *at = from;
    v128_t wanted = wasm_i8x16_splat((int8_t)c);
    uintptr_t ahead = (uintptr_t)at % STEP;
    at -= ahead;
    unsigned bits = found(wasm_v128_load(at), wanted) >> ahead << ahead;
    while (!bits)
        bits = found(wasm_v128_load(at += STEP), wanted);
    return (void *)(at + __builtin_ctz(bits));
}

PLAIN size_t strlen(const char *s)
{
    return (size_t)((const char *)rawmemchr(s, 0) - s);
}

PLAIN int memcmp(const void *left, const void *right, size_t n)
{
    const uint8_t *l = left, *r = right;
    for (; n >= STEP; l += STEP, r += STEP, n -= STEP) {
        unsigned same = found(wasm_v128_load(l), wasm_v128_load(r));
        if (same != 0xffff) {
            unsigned i = (unsigned)__builtin_ctz(~same);
            return l[i] - r[i];
        }
    }
    for (; n > 0; l++, r++, n--)
        if (*l != *r)
            return *l - *r;
    return 0;
}
