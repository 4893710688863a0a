/* guest/vm/fdt.h - the device tree, which describes the machine to the kernel. */
#pragma once
#include <stdint.h>

struct fdt {
    uint64_t ram_bytes;
    uint32_t virtio;       /* a bit a place that has a device */
    const char *arguments; /* of the kernel */
};
#define FDT_MAX 16384u /* bytes */

/* Writes the device tree, with a random seed, to `at`, which has room for FDT_MAX.
 * Returns its bytes, at most FDT_MAX. */
uint32_t fdt_write(const struct fdt *f, uint8_t *at);
