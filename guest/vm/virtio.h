/* guest/vm/virtio.h - what all of virtio's devices have in common: registers (virtio-mmio,
 * version 2), features, and queues of chains of buffers, with indirect descriptors and
 * EVENT_IDX.
 *
 * Everything that the guest gives (addresses, lengths, indices, how chains hang together) is
 * checked against RAM. What breaks the rules stops the device (DEVICE_NEEDS_RESET), and
 * nothing else happens.
 * Source: Virtual I/O Device (VIRTIO) Version 1.2, sections 2, 4.2 and 6.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define VIRTIO_BASE 0x10001000ull
#define VIRTIO_SIZE 0x1000ull /* distance between devices */
#define VIRTIO_LINE 1u        /* interrupt of the first device */

#define VIRTIO_PLACES 24u /* interrupts after these belong to other devices */

#define VIRTIO_QUEUES 6u
#define VIRTIO_QUEUE_SIZE 256u /* descriptors, at most; also of a chain */
#define VIRTIO_CONFIG_BYTES 64u

/* ---- devices ----------------------------------------------------------------------- */

struct virtio;

/* A kind of device. Its functions are called while the driver is ready (DRIVER_OK). */
struct virtio_kind {
    uint32_t number;   /* section 5 */
    uint32_t queues;   /* at most VIRTIO_QUEUES */
    uint64_t features; /* besides those of all devices */
    /* The guest has put something into queue `q`, or may have. */
    void (*notify)(struct virtio *v, uint32_t q);
    /* The next ones may be NULL. */
    void (*poll)(struct virtio *v);  /* at the beginning of each machine_run() */
    void (*reset)(struct virtio *v); /* forget the driver's state */
    /* The guest has written these bytes of the configuration; they are not stored. */
    void (*configure)(struct virtio *v, uint32_t offset, uint32_t size, uint64_t value);
};

struct virtio_queue {
    uint64_t parts[3]; /* addresses of descriptors, available ring, used ring */
    uint8_t *at[3];    /* their pointers, once the queue is ready */
    uint32_t size;
    bool ready;
    uint16_t seen; /* of the available ring */
    uint16_t used; /* of the used ring */
};

struct virtio {
    const struct virtio_kind *kind;
    uint32_t place;
    uint64_t features; /* beyond the kind's, that this one has */
    uint64_t accepted;
    uint32_t status, interrupts, generation;
    uint32_t offer_part, accept_part, chosen; /* register state */
    struct virtio_queue queues[VIRTIO_QUEUES];
    uint8_t
        config[VIRTIO_CONFIG_BYTES]; /* little-endian, as in the section of the kind */
};

/* Adds the device at its place (which gives address and interrupt); `v` must not move. */
void virtio_add(struct virtio *v, const struct virtio_kind *kind, uint32_t place);
void virtio_init(void); /* there are none */
void virtio_poll(void); /* calls `poll` of all */
bool virtio_is_live(
    const struct virtio *v); /* its driver is ready, and it is not broken */
bool virtio_has(const struct virtio *v, uint32_t feature);
/* Sets DEVICE_NEEDS_RESET after a violation: nothing moves until the guest resets the
 * device. */
void virtio_break(struct virtio *v);
/* Notifies the guest of a change of v->config. */
void virtio_reconfigured(struct virtio *v);

/* Little-endian numbers of `size` bytes. */
uint64_t virtio_get(const void *at, uint32_t size);
void virtio_put(void *at, uint32_t size, uint64_t value);

/* ---- chains ------------------------------------------------------------------------ */

/* The buffers of one request: first those to read, then those to write. */
struct chain {
    struct buffer {
        uint64_t address; /* all of it is RAM */
        uint32_t n;       /* not 0 */
    } buffers[VIRTIO_QUEUE_SIZE];
    uint32_t head;
    uint32_t readable, count; /* the first `readable` of `count` buffers */
    struct {
        uint32_t i, offset; /* position */
    } read, write;
    uint64_t to_read, to_write; /* bytes left */
    uint64_t written;
};

/* The first chain waiting in a queue, which stays there. false: there is none, or the
 * device is broken. */
bool virtio_front(struct virtio *v, uint32_t q, struct chain *c);
/* The same for the `i`-th waiting chain, which becomes the first after i were returned.
 * false: there are no more than i. */
bool virtio_peek(struct virtio *v, uint32_t q, uint32_t i, struct chain *c);
/* Requests a notification of the next chain, though some wait. */
void virtio_want_more(struct virtio *v, uint32_t q);
/* Returns that chain with the number of bytes written to it; interrupts if the guest
 * asked for that. */
void virtio_give(struct virtio *v, uint32_t q, const struct chain *c);

/* Reads at most n bytes; returns their number. */
uint32_t chain_read(struct chain *c, void *to, uint32_t n);
uint32_t chain_write(struct chain *c, const void *from, uint32_t n);
uint64_t chain_skip(struct chain *c, uint64_t n); /* skips bytes to read */
/* The next bytes in place, at most *n; sets *n to their number. They count as read or
 * written. NULL: there are none. */
const uint8_t *chain_next_read(struct chain *c, uint32_t *n);
uint8_t *chain_next_write(struct chain *c, uint32_t *n);
