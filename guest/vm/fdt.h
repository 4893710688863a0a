/* guest/vm/fdt.h - the device tree: what a kernel is told of the machine. */
#pragma once
#include <stdint.h>

struct fdt {
    uint64_t ram_bytes;
    uint32_t virtio;       /* a bit a place that has a device */
    const char *arguments; /* of the kernel */
};
#define FDT_MAX 16384u /* bytes */

/* Writes it to `at`, which has room for FDT_MAX, with a seed of random numbers. How many bytes
 * it has, at most FDT_MAX. */
uint32_t fdt_write(const struct fdt *f, uint8_t *at);
