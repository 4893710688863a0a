/* guest/vm/kinds.h - the kinds of virtio devices. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "vm/virtio.h"

/* console.c: a terminal (port 0, hvc0 to Linux) on VM_CONSOLE, and port 1, which Linux
 * calls by VM_PORT_NAME, on VM_CONTROL. Input stays with the host until there is room:
 * host_read() is called only then; output that the host does not take stays in the
 * guest's queue. */
void console_init(uint32_t place);
void console_resize(uint16_t rows, uint16_t columns);

/* blk.c: disk `number` of the host. */
void blk_init(uint32_t place, uint32_t number, uint64_t bytes, bool read_only);

/* rng.c: host_entropy() for the kernel. */
void rng_init(uint32_t place);

/* balloon.c: returns pages to the host: those that the guest reports as free, and those
 * that the balloon takes. */
void balloon_init(uint32_t place);
void balloon_want(uint32_t mb);

/* fs.c: the host's file server, as the file system with the tag VM_FILES_TAG. */
void fs_init(uint32_t place);

/* net.c: a network card whose cable ends in net/lan.c. Its link is down until it is switched on;
 * `mac` is shown in its configuration, which the driver reads when it begins. */
void net_init(uint32_t place, const uint8_t mac[6]);
void net_switch(bool on);
