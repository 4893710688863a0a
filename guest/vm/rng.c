/* Virtio's entropy device (section 5.4). */
#include "vm/host.h"
#include "vm/kinds.h"

/* Of one request; the rest stays unfilled, as the standard allows. Linux asks for
 * less. */
#define REQUEST_MAX 4096u

static struct virtio device;

static void notify(struct virtio *v, uint32_t q)
{
    struct chain c;
    while (virtio_front(v, q, &c)) {
        uint32_t n = REQUEST_MAX;
        uint8_t *at = chain_next_write(&c, &n);
        if (at)
            host_entropy(at, n);
        virtio_give(v, q, &c);
    }
}

void rng_init(uint32_t place)
{
    static const struct virtio_kind kind = {.number = 4, .queues = 1, .notify = notify};
    virtio_add(&device, &kind, place);
}
