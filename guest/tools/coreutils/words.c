/* Lines and words of plain ASCII, sixteen bytes at a time: wc would look at each by itself.
 * Included in its source. */
#include <wasm_simd128.h>

#define PLAIN_BLOCK 16

/* How many of the `n` bytes, in whole blocks up to the first that is not ASCII, were counted.
 * A word begins with a byte that is no white space behind one that is. */
static idx_t plain_words(char const *at, idx_t n, intmax_t *lines, intmax_t *words,
                         bool *in_word)
{
    idx_t done = 0;
    uint32_t inside = *in_word;
    for (; n - done >= PLAIN_BLOCK; done += PLAIN_BLOCK) {
        v128_t bytes = wasm_v128_load(at + done);
        if (wasm_i8x16_bitmask(bytes))
            break;
        v128_t control = wasm_u8x16_lt(wasm_i8x16_sub(bytes, wasm_i8x16_splat('\t')),
                                       wasm_i8x16_splat('\r' - '\t' + 1));
        v128_t space = wasm_i8x16_eq(bytes, wasm_i8x16_splat(' '));
        v128_t newline = wasm_i8x16_eq(bytes, wasm_i8x16_splat('\n'));
        uint32_t black = wasm_i8x16_bitmask(wasm_v128_or(control, space)) ^ 0xffff;
        *lines += __builtin_popcount(wasm_i8x16_bitmask(newline));
        *words += __builtin_popcount(black & ~(black << 1 | inside));
        inside = black >> (PLAIN_BLOCK - 1);
    }
    *in_word = inside;
    return done;
}
