/* guest/vm/net/sum.h - the Internet checksum (RFC 1071). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Of bytes in several pieces, of any lengths. Begins as zeros. */
struct sum {
    uint64_t total;
    bool odd; /* so many bytes so far */
};
void sum_add(struct sum *s, const void *at, uint32_t n);
uint16_t sum_value(const struct sum *s); /* not complemented */
void sum_write(const struct sum *s,
               uint8_t *at); /* complemented, in the order of the network */
