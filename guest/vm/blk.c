/* Virtio's block devices (section 5.2). Requests are done at once: the host does not
 * block. */
#include "vm/host.h"
#include "vm/kinds.h"
#include "vm/machine.h"

#define SECTOR 512u
enum {
    FEATURE_SIZE_MAX = 1,
    FEATURE_SEG_MAX = 2,
    FEATURE_READ_ONLY = 5,
    FEATURE_BLOCK = 6,
    FEATURE_FLUSH = 9,
    FEATURE_DISCARD = 13,
    FEATURE_ZERO = 14
};
enum {
    TYPE_IN = 0,
    TYPE_OUT = 1,
    TYPE_FLUSH = 4,
    TYPE_ID = 8,
    TYPE_DISCARD = 11,
    TYPE_ZERO = 13
};
enum status { OK = 0, IO_ERROR = 1, NOT_SUPPORTED = 2 };

/* Limits of a request: 126 parts of 64 KiB. Larger ones are errors. */
#define PART_MAX 65536u
#define PARTS_MAX 126u
#define REQUEST_MAX ((uint64_t)PART_MAX * PARTS_MAX)
#define TURN_MAX (8u << 20)      /* bytes moved before other devices get their turn */
#define RANGES_MAX 16u           /* of one discard */
#define RANGE_SECTORS_MAX 65536u /* of each */
#define BLOCK 4096u              /* preferred size */

static struct disk {
    struct virtio device;
    uint32_t number;
    uint64_t sectors;
    bool read_only;
} disks[MACHINE_DISKS];

static bool is_within(const struct disk *d, uint64_t sector, uint64_t bytes)
{
    return sector <= d->sectors && bytes <= (d->sectors - sector) * SECTOR;
}

/* ---- requests ---------------------------------------------------------------------- */

/* Buffers may be cut anywhere, the host's requests may not. A kernel's are whole sectors
 * and go straight to RAM; others go through here. */
static bool move_sector(const struct disk *d, struct chain *c, bool writes,
                        uint64_t offset)
{
    uint8_t sector[SECTOR];
    if (writes)
        return chain_read(c, sector, SECTOR) == SECTOR &&
               host_disk(d->number, HOST_DISK_WRITE, offset, sector, SECTOR);
    return host_disk(d->number, HOST_DISK_READ, offset, sector, SECTOR) &&
           chain_write(c, sector, SECTOR) == SECTOR;
}

/* The number of whole sectors in the next piece of RAM. */
static uint32_t whole(const struct chain *c, bool writes, uint64_t left)
{
    uint32_t i = writes ? c->read.i : c->write.i;
    uint32_t offset = writes ? c->read.offset : c->write.offset;
    uint64_t n = c->buffers[i].n - offset;
    n = n < left ? n : left;
    n = n < HOST_BYTES_MAX ? n : HOST_BYTES_MAX;
    return (uint32_t)(n / SECTOR * SECTOR);
}

static enum status move(struct disk *d, struct chain *c, bool writes, uint64_t sector,
                        uint64_t bytes)
{
    if (bytes % SECTOR || bytes > REQUEST_MAX || !is_within(d, sector, bytes) ||
        (writes && d->read_only))
        return IO_ERROR;
    uint64_t offset = sector * SECTOR;
    for (uint64_t end = offset + bytes; offset < end;) {
        uint32_t n = whole(c, writes, end - offset);
        if (!n) {
            if (!move_sector(d, c, writes, offset))
                return IO_ERROR;
            offset += SECTOR;
            continue;
        }
        void *at =
            writes ? (void *)(uintptr_t)chain_next_read(c, &n) : chain_next_write(c, &n);
        if (!host_disk(d->number, writes ? HOST_DISK_WRITE : HOST_DISK_READ, offset, at,
                       n))
            return IO_ERROR;
        offset += n;
    }
    return OK;
}

/* Discards or zeroes one range of up to RANGES_MAX. */
static enum status clear_range(struct disk *d, struct chain *c, uint32_t type)
{
    uint8_t range[16]; /* sector 8, sectors 4, flags 4 */
    chain_read(c, range, sizeof range);
    uint64_t sector = virtio_get(range, 8), bytes = virtio_get(range + 8, 4) * SECTOR;
    uint64_t flags = virtio_get(range + 12, 4);
    if (flags & ~1ull || (type == TYPE_DISCARD && flags))
        return NOT_SUPPORTED;
    if (!is_within(d, sector, bytes) || bytes > (uint64_t)RANGE_SECTORS_MAX * SECTOR)
        return IO_ERROR;
    enum host_disk_op op = type == TYPE_DISCARD ? HOST_DISK_DISCARD : HOST_DISK_ZERO;
    return !bytes || host_disk(d->number, op, sector * SECTOR, 0, bytes) ? OK : IO_ERROR;
}

static enum status clear(struct disk *d, struct chain *c, uint32_t type)
{
    uint64_t n = c->to_read;
    if (d->read_only || !n || n % 16 || n / 16 > RANGES_MAX)
        return IO_ERROR;
    enum status s = OK;
    for (n /= 16; n && s == OK; n--)
        s = clear_range(d, c, type);
    return s;
}

static enum status identify(const struct disk *d, struct chain *c)
{
    char id[20] = "cloche-a"; /* padded with zeros */
    id[7] = (char)('a' + d->number);
    chain_write(c, id, sizeof id);
    return OK;
}

static enum status perform(struct disk *d, struct chain *c)
{
    uint8_t head[16]; /* type 4, reserved 4, sector 8 */
    if (chain_read(c, head, sizeof head) != sizeof head)
        return IO_ERROR;
    uint32_t type = (uint32_t)virtio_get(head, 4);
    uint64_t sector = virtio_get(head + 8, 8);
    switch (type) {
    case TYPE_IN:
        return move(d, c, false, sector, c->to_write - 1);
    case TYPE_OUT:
        return move(d, c, true, sector, c->to_read);
    case TYPE_FLUSH:
        return host_disk(d->number, HOST_DISK_FLUSH, 0, 0, 0) ? OK : IO_ERROR;
    case TYPE_ID:
        return c->to_write - 1 < 20 ? IO_ERROR : identify(d, c);
    case TYPE_DISCARD:
    case TYPE_ZERO:
        return clear(d, c, type);
    default:
        return NOT_SUPPORTED;
    }
}

/* The status is the last writable byte, wherever the data ended. */
static void finish(struct virtio *v, uint32_t q, struct chain *c, uint8_t status)
{
    while (c->to_write > 1) {
        uint32_t n = (uint32_t)(c->to_write - 1);
        chain_next_write(c, &n);
    }
    chain_write(c, &status, 1);
    virtio_give(v, q, c);
}

static void notify(struct virtio *v, uint32_t q)
{
    struct disk *d = (struct disk *)v; /* its first member */
    struct chain c;
    for (uint64_t moved = 0; moved < TURN_MAX && virtio_front(v, q, &c);) {
        if (!c.to_write || c.to_write > REQUEST_MAX + 1 || c.to_read > REQUEST_MAX + 16) {
            virtio_break(v);
            return;
        }
        moved += c.to_read + c.to_write;
        finish(v, q, &c, (uint8_t)perform(d, &c));
    }
}

/* Continues a request that exceeded its turn. */
static void poll(struct virtio *v)
{
    notify(v, 0);
}

/* ---- the device -------------------------------------------------------------------- */

static void configure(struct disk *d)
{
    uint8_t *at = d->device.config;
    virtio_put(at, 8, d->sectors);
    virtio_put(at + 8, 4, PART_MAX);
    virtio_put(at + 12, 4, PARTS_MAX);
    virtio_put(at + 20, 4, SECTOR);
    virtio_put(at + 34, 2, 1); /* queues */
    virtio_put(at + 36, 4, RANGE_SECTORS_MAX);
    virtio_put(at + 40, 4, RANGES_MAX);
    virtio_put(at + 44, 4, BLOCK / SECTOR);
    virtio_put(at + 48, 4, RANGE_SECTORS_MAX);
    virtio_put(at + 52, 4, RANGES_MAX);
    at[56] = 1; /* discarding may zero */
}

void blk_init(uint32_t place, uint32_t number, uint64_t bytes, bool read_only)
{
    static const struct virtio_kind kind = {
        .number = 2,
        .queues = 1,
        .features = 1u << FEATURE_SIZE_MAX | 1u << FEATURE_SEG_MAX | 1u << FEATURE_BLOCK |
                    1u << FEATURE_FLUSH,
        .notify = notify,
        .poll = poll,
    };
    struct disk *d = &disks[number];
    virtio_add(&d->device, &kind, place);
    d->number = number;
    d->sectors = bytes / SECTOR;
    d->read_only = read_only;
    d->device.features =
        read_only ? 1u << FEATURE_READ_ONLY : 1u << FEATURE_DISCARD | 1u << FEATURE_ZERO;
    configure(d);
}
