/* guest/vm/mmio.h - the parts of virtio's registers that queues use. */
#pragma once
#include "vm/virtio.h"

enum queue_part { DESCRIPTORS, AVAILABLE, USED };

/* Feature bits of all devices. */
enum { VIRTIO_INDIRECT = 28, VIRTIO_EVENT_IDX = 29, VIRTIO_VERSION_1 = 32 };

enum { INTERRUPT_USED = 1, INTERRUPT_CONFIG = 2 };
void mmio_interrupt(struct virtio *v, uint32_t why);
