/* Virtio's queues. The registers are in mmio.c. */
#include "vm/virtio.h"
#include "vm/mmio.h"
#include "vm/ram.h"

#define DESCRIPTOR 16u /* bytes: address 8, length 4, flags 2, next 2 */
enum { FLAG_NEXT = 1, FLAG_WRITE = 2, FLAG_INDIRECT = 4 };
#define NO_INTERRUPT 1u /* flag of the available ring */

uint64_t virtio_get(const void *at, uint32_t size)
{
    const uint8_t *p = at;
    uint64_t v = 0;
    for (uint32_t i = 0; i < size; i++)
        v |= (uint64_t)p[i] << 8 * i;
    return v;
}

void virtio_put(void *at, uint32_t size, uint64_t value)
{
    uint8_t *p = at;
    for (uint32_t i = 0; i < size; i++)
        p[i] = (uint8_t)(value >> 8 * i);
}

/* ---- rings ------------------------------------------------------------------------- */

static uint16_t get16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

/* A queue's own parts are written like any other RAM. */
static void put_part(struct virtio_queue *q, enum queue_part part, uint32_t offset,
                     uint32_t size, uint64_t value)
{
    ram_written(q->parts[part] + offset, size);
    virtio_put(q->at[part] + offset, size, value);
}

static uint16_t available(const struct virtio_queue *q)
{
    return get16(q->at[AVAILABLE] + 2);
}

/* Requests a notification of the next buffer after those that are there. */
static void expect(const struct virtio *v, struct virtio_queue *q)
{
    uint16_t next = available(q);
    if (virtio_has(v, VIRTIO_EVENT_IDX) && get16(q->at[USED] + 4 + 8 * q->size) != next)
        put_part(q, USED, 4 + 8 * q->size, 2, next);
}

/* Whether the guest asked for an interrupt at this index of `used`. */
static bool is_wanted(const struct virtio *v, const struct virtio_queue *q)
{
    if (!virtio_has(v, VIRTIO_EVENT_IDX))
        return !(get16(q->at[AVAILABLE]) & NO_INTERRUPT);
    return q->used == (uint16_t)(get16(q->at[AVAILABLE] + 4 + 2 * q->size) + 1);
}

/* ---- chains ------------------------------------------------------------------------ */

struct descriptor {
    uint64_t address;
    uint32_t n;
    uint16_t flags, next;
};

static struct descriptor descriptor_at(const uint8_t *table, uint32_t i)
{
    const uint8_t *at = table + (uint64_t)i * DESCRIPTOR;
    return (struct descriptor){virtio_get(at, 8), (uint32_t)virtio_get(at + 8, 4),
                               get16(at + 12), get16(at + 14)};
}

/* false: malformed. */
static bool add_buffer(struct chain *c, const struct descriptor *d)
{
    bool writes = d->flags & FLAG_WRITE;
    if (c->count == VIRTIO_QUEUE_SIZE || !d->n || !ram_at(d->address, d->n) ||
        (!writes && c->count > c->readable))
        return false;
    c->buffers[c->count++] = (struct buffer){d->address, d->n};
    c->readable += !writes;
    *(writes ? &c->to_write : &c->to_read) += d->n;
    return true;
}

/* Follows the chain that begins at descriptor `i` of a table of `size`. A loop exceeds
 * the number of buffers allowed. */
static bool follow(struct chain *c, const uint8_t *table, uint32_t size, uint32_t i,
                   bool may_indirect)
{
    for (uint32_t steps = 0; steps < size && i < size; steps++) {
        struct descriptor d = descriptor_at(table, i);
        if (d.flags & FLAG_INDIRECT) {
            uint32_t entries = d.n / DESCRIPTOR;
            const uint8_t *inner = ram_at(d.address, d.n);
            return may_indirect && !(d.flags & (FLAG_NEXT | FLAG_WRITE)) && inner &&
                   entries && d.n % DESCRIPTOR == 0 && entries <= VIRTIO_QUEUE_SIZE &&
                   follow(c, inner, entries, 0, false);
        }
        if (!add_buffer(c, &d))
            return false;
        if (!(d.flags & FLAG_NEXT))
            return true;
        i = d.next;
    }
    return false;
}

bool virtio_front(struct virtio *v, uint32_t number, struct chain *c)
{
    return virtio_peek(v, number, 0, c);
}

void virtio_want_more(struct virtio *v, uint32_t number)
{
    struct virtio_queue *q = &v->queues[number];
    if (virtio_is_live(v) && q->ready)
        expect(v, q);
}

bool virtio_peek(struct virtio *v, uint32_t number, uint32_t i, struct chain *c)
{
    struct virtio_queue *q = &v->queues[number];
    if (!virtio_is_live(v) || !q->ready)
        return false;
    uint16_t waiting = (uint16_t)(available(q) - q->seen);
    if (i >= waiting) {
        expect(v, q);
        return false;
    }
    c->head = get16(q->at[AVAILABLE] + 4 + 2 * ((uint16_t)(q->seen + i) % q->size));
    c->count = c->readable = 0;
    c->to_read = c->to_write = c->written = 0;
    if (waiting > q->size || !follow(c, q->at[DESCRIPTORS], q->size, c->head,
                                     virtio_has(v, VIRTIO_INDIRECT))) {
        virtio_break(v);
        return false;
    }
    c->read.i = c->read.offset = c->write.offset = 0;
    c->write.i = c->readable;
    return true;
}

void virtio_give(struct virtio *v, uint32_t number, const struct chain *c)
{
    struct virtio_queue *q = &v->queues[number];
    uint32_t entry = 4 + 8 * (q->used % q->size);
    put_part(q, USED, entry, 4, c->head);
    put_part(q, USED, entry + 4, 4, c->written);
    q->seen++;
    q->used++;
    put_part(q, USED, 2, 2, q->used);
    if (is_wanted(v, q))
        mmio_interrupt(v, INTERRUPT_USED);
}

/* ---- bytes of chains --------------------------------------------------------------- */

const uint8_t *chain_next_read(struct chain *c, uint32_t *n)
{
    if (c->read.i == c->readable || !*n)
        return 0;
    const struct buffer *b = &c->buffers[c->read.i];
    const uint8_t *at = ram_at(b->address, b->n) + c->read.offset;
    uint32_t left = b->n - c->read.offset;
    *n = *n < left ? *n : left;
    c->to_read -= *n;
    c->read.offset += *n;
    if (c->read.offset == b->n) {
        c->read.i++;
        c->read.offset = 0;
    }
    return at;
}

uint8_t *chain_next_write(struct chain *c, uint32_t *n)
{
    if (c->write.i == c->count || !*n)
        return 0;
    const struct buffer *b = &c->buffers[c->write.i];
    uint8_t *at = ram_at(b->address, b->n) + c->write.offset;
    uint32_t left = b->n - c->write.offset;
    *n = *n < left ? *n : left;
    ram_written(b->address + c->write.offset, *n);
    c->to_write -= *n;
    c->written += *n;
    c->write.offset += *n;
    if (c->write.offset == b->n) {
        c->write.i++;
        c->write.offset = 0;
    }
    return at;
}

uint32_t chain_read(struct chain *c, void *to, uint32_t n)
{
    uint32_t done = 0, part = n;
    for (const uint8_t *at; (at = chain_next_read(c, &part)); part = n - done) {
        __builtin_memcpy((uint8_t *)to + done, at, part);
        done += part;
    }
    return done;
}

uint32_t chain_write(struct chain *c, const void *from, uint32_t n)
{
    uint32_t done = 0, part = n;
    for (uint8_t *at; (at = chain_next_write(c, &part)); part = n - done) {
        __builtin_memcpy(at, (const uint8_t *)from + done, part);
        done += part;
    }
    return done;
}

uint64_t chain_skip(struct chain *c, uint64_t n)
{
    uint64_t done = 0;
    while (done < n) {
        uint32_t part = n - done < UINT32_MAX ? (uint32_t)(n - done) : UINT32_MAX;
        if (!chain_next_read(c, &part))
            break;
        done += part;
    }
    return done;
}
