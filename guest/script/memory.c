/* memcpy, memmove and memset without Wasm's bulk instructions.
 *
 * The host stops this guest by taking its memory away, and the next access traps.
 * memory.copy and memory.fill are performed by code of the host's own, where such
 * an access would end the whole process: so there must be none in this guest (the
 * bake checks), and these loops stand in their place, 64 bytes a step.
 */
#include <stddef.h>
#include <stdint.h>
#include <wasm_simd128.h>

/* Or clang would make each loop a call of the very function it is in. */
#define PLAIN __attribute__((no_builtin))

/* From the front; the ranges may overlap where `to` is the lower one. */
PLAIN static void copy_up(char *d, const char *s, size_t n)
{
    for (; n >= 64; n -= 64, d += 64, s += 64) {
        v128_t a = wasm_v128_load(s), b = wasm_v128_load(s + 16);
        v128_t c = wasm_v128_load(s + 32), e = wasm_v128_load(s + 48);
        wasm_v128_store(d, a);
        wasm_v128_store(d + 16, b);
        wasm_v128_store(d + 32, c);
        wasm_v128_store(d + 48, e);
    }
    for (; n >= 16; n -= 16, d += 16, s += 16)
        wasm_v128_store(d, wasm_v128_load(s));
    if (n >= 8) {
        wasm_v128_store64_lane(d, wasm_v128_load64_zero(s), 0);
        d += 8, s += 8, n -= 8;
    }
    for (; n > 0; n--)
        *d++ = *s++;
}

PLAIN void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    copy_up(to, from, n);
    return to;
}

PLAIN void *memmove(void *to, const void *from, size_t n)
{
    char *d = to;
    const char *s = from;
    if ((uintptr_t)d - (uintptr_t)s >= n) { /* no byte is read after it was written */
        copy_up(d, s, n);
        return to;
    }
    d += n, s += n;
    for (; n >= 64; n -= 64) {
        d -= 64, s -= 64;
        v128_t a = wasm_v128_load(s), b = wasm_v128_load(s + 16);
        v128_t c = wasm_v128_load(s + 32), e = wasm_v128_load(s + 48);
        wasm_v128_store(d + 48, e);
        wasm_v128_store(d + 32, c);
        wasm_v128_store(d + 16, b);
        wasm_v128_store(d, a);
    }
    for (; n > 0; n--)
        *--d = *--s;
    return to;
}

PLAIN void *memset(void *to, int value, size_t n)
{
    char *d = to;
    v128_t all = wasm_i8x16_splat((int8_t)value);
    for (; n >= 64; n -= 64, d += 64) {
        wasm_v128_store(d, all);
        wasm_v128_store(d + 16, all);
        wasm_v128_store(d + 32, all);
        wasm_v128_store(d + 48, all);
    }
    for (; n >= 16; n -= 16, d += 16)
        wasm_v128_store(d, all);
    for (; n > 0; n--)
        *d++ = (char)value;
    return to;
}
