/* Virtio-mmio: the registers of a device, its status, and the setup of its queues. */
#include "vm/mmio.h"
#include "vm/device.h"
#include "vm/plic.h"
#include "vm/ram.h"

enum mmio_register {
    MAGIC = 0x00,
    VERSION = 0x04,
    DEVICE = 0x08,
    VENDOR = 0x0c,
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
    QUEUE_PARTS = 0x80, /* two words each, 16 bytes apart */
    SHARED_BYTES = 0xb0,
    SHARED_BYTES_HIGH = 0xb4,
    SHARED_BASE = 0xb8,
    SHARED_BASE_HIGH = 0xbc,
    GENERATION = 0xfc,
    CONFIG = 0x100,
};
#define MAGIC_VALUE 0x74726976u  /* "virt" */
#define VENDOR_VALUE 0x6c636f63u /* "cocl": drivers ignore it */

enum { DRIVER_OK = 4, FEATURES_OK = 8, NEEDS_RESET = 64 };

static struct virtio *devices[VIRTIO_PLACES];

static uint64_t offered(const struct virtio *v)
{
    return v->kind->features | v->features | 1ull << VIRTIO_INDIRECT |
           1ull << VIRTIO_EVENT_IDX | 1ull << VIRTIO_VERSION_1;
}

bool virtio_has(const struct virtio *v, uint32_t feature)
{
    return v->accepted >> feature & 1;
}

bool virtio_is_live(const struct virtio *v)
{
    return (v->status & (DRIVER_OK | NEEDS_RESET)) == DRIVER_OK;
}

void mmio_interrupt(struct virtio *v, uint32_t why)
{
    v->interrupts |= why;
    plic_line(VIRTIO_LINE + v->place, v->interrupts);
}

void virtio_break(struct virtio *v)
{
    v->status |= NEEDS_RESET;
    mmio_interrupt(v, INTERRUPT_CONFIG);
}

void virtio_reconfigured(struct virtio *v)
{
    v->generation++;
    if (virtio_is_live(v))
        mmio_interrupt(v, INTERRUPT_CONFIG);
}

static void reset(struct virtio *v)
{
    v->accepted = 0;
    v->status = v->interrupts = 0;
    v->offer_part = v->accept_part = v->chosen = 0;
    __builtin_memset(v->queues, 0, sizeof v->queues);
    if (v->kind->reset)
        v->kind->reset(v);
    plic_line(VIRTIO_LINE + v->place, false);
}

/* ---- queues ------------------------------------------------------------------------ */

static struct virtio_queue *chosen(struct virtio *v)
{
    return v->chosen < v->kind->queues ? &v->queues[v->chosen] : 0;
}

/* Its three parts have to be aligned, and entirely in RAM. */
static bool is_sound(struct virtio_queue *q)
{
    if (!q->size || q->size > VIRTIO_QUEUE_SIZE || q->size & (q->size - 1))
        return false;
    const uint32_t bytes[] = {16 * q->size, 6 + 2 * q->size, 6 + 8 * q->size};
    static const uint32_t alignment[] = {16, 2, 4};
    for (unsigned i = 0; i < 3; i++) {
        q->at[i] = ram_at(q->parts[i], bytes[i]);
        if (!q->at[i] || q->parts[i] & (alignment[i] - 1))
            return false;
    }
    return true;
}

static void make_ready(struct virtio *v, bool ready)
{
    struct virtio_queue *q = chosen(v);
    if (!q || q->ready == ready)
        return;
    q->seen = q->used = 0;
    if (ready && !is_sound(q))
        virtio_break(v);
    else
        q->ready = ready;
}

static void write_part(struct virtio *v, uint32_t offset, uint32_t value)
{
    struct virtio_queue *q = chosen(v);
    uint32_t i = (offset - QUEUE_PARTS) / 16, word = offset % 16 / 4;
    if (!q || q->ready || word > 1)
        return;
    uint64_t keep = word ? UINT32_MAX : ~(uint64_t)UINT32_MAX;
    q->parts[i] = (q->parts[i] & keep) | (uint64_t)value << 32 * word;
}

static void notify(struct virtio *v, uint32_t q)
{
    if (virtio_is_live(v) && q < v->kind->queues && v->queues[q].ready)
        v->kind->notify(v, q);
}

/* ---- registers --------------------------------------------------------------------- */

/* Bits are added one after the other; 0 resets. Unknown features, or a driver older than
 * 1.0, are refused: FEATURES_OK stays clear, which the driver checks. */
static void write_status(struct virtio *v, uint32_t value)
{
    if (!value) {
        reset(v);
        return;
    }
    bool fits = !(v->accepted & ~offered(v)) && virtio_has(v, VIRTIO_VERSION_1);
    if (!fits && !(v->status & FEATURES_OK))
        value &= ~(uint32_t)FEATURES_OK;
    bool was_live = virtio_is_live(v);
    v->status |= value & 0xff & ~(uint32_t)NEEDS_RESET;
    if (!(v->status & FEATURES_OK))
        v->status &= ~(uint32_t)DRIVER_OK;
    /* Requests that were queued before are handled now. */
    for (uint32_t q = 0; !was_live && q < v->kind->queues; q++)
        notify(v, q);
}

static void accept(struct virtio *v, uint32_t value)
{
    if (v->status & FEATURES_OK || v->accept_part > 1)
        return;
    uint64_t keep = v->accept_part ? UINT32_MAX : ~(uint64_t)UINT32_MAX;
    v->accepted = (v->accepted & keep) | (uint64_t)value << 32 * v->accept_part;
}

static uint64_t read_config(const struct virtio *v, uint32_t offset, uint32_t size)
{
    return offset <= VIRTIO_CONFIG_BYTES - size ? virtio_get(v->config + offset, size)
                                                : 0;
}

static uint64_t read_register(void *self, uint64_t offset, uint32_t size)
{
    struct virtio *v = self;
    if (offset >= CONFIG)
        return read_config(v, (uint32_t)offset - CONFIG, size);
    if (size != 4)
        return 0;
    const struct virtio_queue *q = chosen(v);
    switch (offset) {
    case MAGIC:
        return MAGIC_VALUE;
    case VERSION:
        return 2;
    case DEVICE:
        return v->kind->number;
    case VENDOR:
        return VENDOR_VALUE;
    case OFFERED:
        return v->offer_part < 2 ? (uint32_t)(offered(v) >> 32 * v->offer_part) : 0;
    case QUEUE_MOST:
        return q ? VIRTIO_QUEUE_SIZE : 0;
    case QUEUE_READY:
        return q && q->ready;
    case INTERRUPTS:
        return v->interrupts;
    case STATUS:
        return v->status;
    case SHARED_BYTES: /* no shared memory */
    case SHARED_BYTES_HIGH:
    case SHARED_BASE:
    case SHARED_BASE_HIGH:
        return UINT32_MAX;
    case GENERATION:
        return v->generation;
    default:
        return 0;
    }
}

static void write_queue(struct virtio *v, uint32_t offset, uint32_t value)
{
    struct virtio_queue *q = chosen(v);
    if (offset == QUEUE_SIZE && q && !q->ready)
        q->size = value;
    else if (offset == QUEUE_READY)
        make_ready(v, value & 1);
    else if (offset >= QUEUE_PARTS && offset < QUEUE_PARTS + 3 * 16)
        write_part(v, offset, value);
}

static void write_register(void *self, uint64_t offset, uint32_t size, uint64_t wide)
{
    struct virtio *v = self;
    uint32_t value = (uint32_t)wide;
    if (offset >= CONFIG) {
        if (v->kind->configure && virtio_is_live(v))
            v->kind->configure(v, (uint32_t)offset - CONFIG, size, wide);
        return;
    }
    if (size != 4)
        return;
    switch (offset) {
    case OFFERED_PART:
        v->offer_part = value;
        return;
    case ACCEPTED:
        accept(v, value);
        return;
    case ACCEPTED_PART:
        v->accept_part = value;
        return;
    case QUEUE:
        v->chosen = value;
        return;
    case NOTIFY:
        notify(v, value);
        return;
    case INTERRUPTS_DONE:
        v->interrupts &= ~value;
        plic_line(VIRTIO_LINE + v->place, v->interrupts);
        return;
    case STATUS:
        write_status(v, value);
        return;
    default:
        write_queue(v, (uint32_t)offset, value);
    }
}

void virtio_init(void)
{
    __builtin_memset(devices, 0, sizeof devices);
}

void virtio_add(struct virtio *v, const struct virtio_kind *kind, uint32_t place)
{
    *v = (struct virtio){.kind = kind, .place = place};
    devices[place] = v;
    device_add(&(struct device){.base = VIRTIO_BASE + place * VIRTIO_SIZE,
                                .size = VIRTIO_SIZE,
                                .self = v,
                                .read = read_register,
                                .write = write_register});
}

void virtio_poll(void)
{
    for (uint32_t i = 0; i < VIRTIO_PLACES; i++)
        if (devices[i] && devices[i]->kind->poll && virtio_is_live(devices[i]))
            devices[i]->kind->poll(devices[i]);
}
