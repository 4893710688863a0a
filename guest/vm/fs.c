/* Virtio's file system device (section 5.11): requests of FUSE, which the host answers at once. */
#include "vm/host.h"
#include "vm/kinds.h"

enum { HIGH = 0, REQUESTS = 1, QUEUES = 2 };
enum { CONFIG_TAG = 0, CONFIG_QUEUES = 36 };
#define TURN_MAX (8u << 20) /* bytes moved before other devices get their turn */

static struct virtio device;
static _Alignas(16) uint8_t request[VM_FILES_BYTES], reply[VM_FILES_BYTES];

/* A request that is longer than any, or a reply for which there is no room, comes back empty,
 * which the driver takes for an error. */
static void perform(struct chain *c)
{
    if (c->to_read > sizeof request)
        return;
    uint32_t n = chain_read(c, request, sizeof request);
    uint32_t room = c->to_write < sizeof reply ? (uint32_t)c->to_write : sizeof reply;
    uint32_t done = host_files(request, n, reply, room);
    chain_write(c, reply, done < room ? done : room);
}

static void notify(struct virtio *v, uint32_t q)
{
    struct chain c;
    for (uint64_t moved = 0; moved < TURN_MAX && virtio_front(v, q, &c);) {
        moved += c.to_read;
        perform(&c);
        moved += c.written;
        virtio_give(v, q, &c);
    }
}

/* Continues with what exceeded its turn. */
static void poll(struct virtio *v)
{
    notify(v, HIGH);
    notify(v, REQUESTS);
}

void fs_init(uint32_t place)
{
    static const struct virtio_kind kind = {
        .number = 26, .queues = QUEUES, .notify = notify, .poll = poll};
    virtio_add(&device, &kind, place);
    __builtin_memcpy(device.config + CONFIG_TAG, VM_FILES_TAG, sizeof VM_FILES_TAG - 1);
    virtio_put(device.config + CONFIG_QUEUES, 4, 1);
}
