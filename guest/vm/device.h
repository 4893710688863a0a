/* guest/vm/device.h - what stands at a physical address that is not RAM.
 *
 * A device is registers: a range of addresses, and two functions. The machine adds each once
 * (machine.c), and the device tree (fdt.c) says where they are.
 *
 * Most devices are virtio's: those know no registers at all, but queues (virtio.h). To add
 * one, as a network card or a shared folder (9p):
 *   1. write x.c with a `struct virtio_kind`: its number, features, configuration bytes, and
 *      what to do when the guest has put buffers in a queue (`notify`). Take a chain with
 *      virtio_take(), read and write it with chain_read() and chain_write(), give it back
 *      with virtio_give(). What cannot be answered at once is left in its queue.
 *   2. where something may arrive from outside, or what was refused outside may go on, give
 *      it `poll`: it is called at the beginning of each machine_run(). A card's frames come
 *      and go through channels of their own in host.h.
 *   3. list it in machine.c's table of virtio devices: address, interrupt and device tree
 *      follow from its place there. Places are part of the baked images: append only.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct device {
    uint64_t base, size;
    void *self;
    /* 1, 2, 4 or 8 bytes at an offset that is a multiple of that. */
    uint64_t (*read)(void *self, uint64_t offset, uint32_t size);
    void (*write)(void *self, uint64_t offset, uint32_t size, uint64_t value);
};
#define DEVICES_MAX 32u

void devices_init(void); /* none */
void device_add(const struct device *d);

/* Accesses a device's register, naturally aligned. false: no device at that address. */
bool device_read(uint64_t address, uint32_t size, uint64_t *out);
bool device_write(uint64_t address, uint32_t size, uint64_t value);
