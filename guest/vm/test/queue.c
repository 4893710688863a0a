/* A driver's side of virtio. */
#include "queue.h"

uint64_t virtio_begin(unsigned place, uint64_t wanted)
{
    put(place, STATUS, 0);
    put(place, STATUS, ACKNOWLEDGE | DRIVER);
    uint64_t offered = 0;
    for (unsigned part = 0; part < 2; part++) {
        put(place, OFFERED_PART, part);
        offered |= (uint64_t)get(place, OFFERED) << 32 * part;
    }
    for (unsigned part = 0; part < 2; part++) {
        put(place, ACCEPTED_PART, part);
        put(place, ACCEPTED, (uint32_t)((offered & wanted) >> 32 * part));
    }
    put(place, STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK);
    return offered;
}

void virtio_ready(unsigned place)
{
    put(place, STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK);
}

void queue_tell(unsigned place, unsigned number, unsigned size, const uint64_t parts[3])
{
    put(place, QUEUE, number);
    put(place, QUEUE_SIZE, size);
    for (unsigned i = 0; i < 3; i++) {
        put(place, PARTS + 16 * i, (uint32_t)parts[i]);
        put(place, PARTS + 16 * i + 4, (uint32_t)(parts[i] >> 32));
    }
    put(place, QUEUE_READY, 1);
}

struct queue queue_make(unsigned place, unsigned number, unsigned size)
{
    struct queue q = {.place = place,
                      .number = number,
                      .size = size,
                      .table = fresh_pages(1),
                      .available = fresh_pages(1),
                      .used = fresh_pages(1)};
    queue_tell(place, number, size,
               (uint64_t[]){(uint64_t)q.table, (uint64_t)q.available, (uint64_t)q.used});
    return q;
}

void queue_set(struct queue *q, unsigned i, const volatile void *at, uint32_t n,
               uint16_t flags, uint16_t next)
{
    q->table[i].at = (uint64_t)at;
    q->table[i].n = n;
    q->table[i].flags = flags;
    q->table[i].next = next;
}

void queue_put(struct queue *q, uint16_t head)
{
    q->available->ring[q->available->index % q->size] = head;
    q->available->index++;
    put(q->place, NOTIFY, q->number);
}
