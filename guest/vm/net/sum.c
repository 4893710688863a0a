/* The Internet checksum. Words are summed as they lie in memory, which gives the same sum with
 * its bytes in the same order. */
#include "vm/net/sum.h"

static uint64_t fold(uint64_t v)
{
    while (v >> 16)
        v = (v & 0xffff) + (v >> 16);
    return v;
}

void sum_add(struct sum *s, const void *from, uint32_t n)
{
    const uint8_t *at = from;
    uint64_t v = 0;
    bool odd = n & 1;
    for (; n >= 4; at += 4, n -= 4) {
        uint32_t word;
        __builtin_memcpy(&word, at, 4);
        v += word;
    }
    if (n >= 2) {
        uint16_t half;
        __builtin_memcpy(&half, at, 2);
        v += half;
        at += 2;
    }
    if (odd)
        v += *at;
    v = fold(v);
    /* Behind an odd number of bytes each is the other half of its word. */
    s->total += s->odd ? (v << 8 | v >> 8) & 0xffff : v;
    s->odd ^= odd;
}

uint16_t sum_value(const struct sum *s)
{
    uint16_t v = (uint16_t)fold(s->total);
    return (uint16_t)(v << 8 | v >> 8);
}

void sum_write(const struct sum *s, uint8_t *at)
{
    uint16_t v = (uint16_t)~sum_value(s);
    at[0] = (uint8_t)(v >> 8);
    at[1] = (uint8_t)v;
}
