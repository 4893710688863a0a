/* guest/vm/kinds.h - the virtio devices that there are. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "vm/virtio.h"

/* console.c: a terminal (port 0, hvc0 to Linux) on VM_CONSOLE, and port 1, which Linux calls by
 * VM_PORT_NAME, on VM_CONTROL. What nobody inside reads stays outside: host_read() is only
 * asked when there is room; what nobody outside takes stays in the guest's queue. */
void console_init(uint32_t place);
void console_resize(uint16_t rows, uint16_t columns);

/* blk.c: disk `number` of the host's. */
void blk_init(uint32_t place, uint32_t number, uint64_t bytes, bool read_only);

/* rng.c: host_entropy() for the kernel. */
void rng_init(uint32_t place);

/* balloon.c: pages that the guest can do without go back to the host: those that it reports as
 * free, and those that it is asked for. */
void balloon_init(uint32_t place);
void balloon_want(uint32_t mb);
