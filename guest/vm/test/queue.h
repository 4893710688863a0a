/* guest/vm/test/queue.h - the driver's side of virtio, minimal. */
#pragma once
#include "check.h"

#define VIRTIO(place) (0x10001000ull + (place) * 0x1000ull)
enum { CONSOLE, DISK_0, DISK_1, RNG, BALLOON, NET = 7, FILES };
enum {
    MAGIC = 0,
    VERSION = 4,
    ID = 8,
    OFFERED = 0x10,
    OFFERED_PART = 0x14,
    ACCEPTED = 0x20,
    ACCEPTED_PART = 0x24,
    QUEUE = 0x30,
    QUEUE_MOST = 0x34,
    QUEUE_SIZE = 0x38,
    QUEUE_READY = 0x44,
    NOTIFY = 0x50,
    INTERRUPTS = 0x60,
    INTERRUPTS_DONE = 0x64,
    STATUS = 0x70,
    PARTS = 0x80,
    CONFIG = 0x100
};
enum { ACKNOWLEDGE = 1, DRIVER = 2, DRIVER_OK = 4, FEATURES_OK = 8, NEEDS_RESET = 64 };
enum { NEXT = 1, WRITE = 2, INDIRECT = 4 };
#define F_INDIRECT (1ull << 28)
#define F_EVENT_IDX (1ull << 29)
#define F_VERSION_1 (1ull << 32)

static inline uint32_t get(unsigned place, unsigned at)
{
    return *(volatile uint32_t *)(VIRTIO(place) + at);
}
static inline void put(unsigned place, unsigned at, uint32_t value)
{
    *(volatile uint32_t *)(VIRTIO(place) + at) = value;
}

struct descriptor {
    uint64_t at;
    uint32_t n;
    uint16_t flags, next;
};
struct used {
    uint16_t flags, index;
    struct {
        uint32_t head, n;
    } ring[];
};
struct available {
    uint16_t flags, index;
    uint16_t ring[];
};
struct queue {
    unsigned place, number, size;
    volatile struct descriptor *table;
    volatile struct available *available;
    volatile struct used *used;
};

/* Resets the device, and accepts the features of `wanted` that it has. */
uint64_t virtio_begin(unsigned place, uint64_t wanted);
void virtio_ready(unsigned place);
/* Sets the addresses of a queue's three parts, and marks it ready. */
void queue_tell(unsigned place, unsigned number, unsigned size, const uint64_t parts[3]);
struct queue queue_make(unsigned place, unsigned number, unsigned size);
void queue_set(struct queue *q, unsigned i, const volatile void *at, uint32_t n,
               uint16_t flags, uint16_t next);
/* Makes the chain at descriptor `head` available, and notifies. */
void queue_put(struct queue *q, uint16_t head);
