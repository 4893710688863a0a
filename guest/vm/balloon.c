/* Virtio's memory balloon (section 5.5), with free page reporting. */
#include "vm/host.h"
#include "vm/kinds.h"
#include "vm/ram.h"

/* The standard gives reporting queue 4; Linux counts only queues that are in use. */
enum { INFLATE = 0, DEFLATE = 1, QUEUES = 5 };
enum { FEATURE_ON_OOM = 2, FEATURE_REPORTING = 5 };
enum { CONFIG_WANTED = 0, CONFIG_ACTUAL = 4 };
#define PAGES_PER_MB (1048576u / RAM_PAGE)
/* Of one request. Linux sends at most 256; more would keep the machine busy. */
#define NUMBERS_MAX 4096u

static struct virtio device;

/* Releases the whole pages of a range, which may be anywhere and overlap others. */
static void give_back(uint64_t address, uint64_t n)
{
    uint64_t first = (address + RAM_PAGE - 1) & ~(uint64_t)(RAM_PAGE - 1);
    uint64_t end = (address + n) & ~(uint64_t)(RAM_PAGE - 1);
    uint8_t *at = end > first ? ram_at(first, end - first) : 0;
    if (!at)
        return;
    ram_written(first, end - first);
    host_give_back(at, end - first);
}

/* Page numbers of 4 bytes each. Runs, in either direction, are released as one. */
static void inflate(struct chain *c)
{
    uint8_t number[4];
    uint64_t first = 0, pages = 0;
    while (chain_read(c, number, sizeof number) == sizeof number) {
        uint64_t page = virtio_get(number, 4);
        if (pages && page == first + pages)
            pages++;
        else if (pages && page + 1 == first) {
            first--;
            pages++;
        } else {
            give_back(first * RAM_PAGE, pages * RAM_PAGE);
            first = page;
            pages = 1;
        }
    }
    give_back(first * RAM_PAGE, pages * RAM_PAGE);
}

static void reported(struct chain *c)
{
    for (uint32_t i = c->readable; i < c->count; i++)
        give_back(c->buffers[i].address, c->buffers[i].n);
}

static void notify(struct virtio *v, uint32_t q)
{
    struct chain c;
    while (virtio_front(v, q, &c)) {
        if (c.to_read > 4 * NUMBERS_MAX || c.to_write > ram_size()) {
            virtio_break(v);
            return;
        }
        if (q == INFLATE)
            inflate(&c);
        else if (q != DEFLATE)
            reported(&c);
        virtio_give(v, q, &c);
    }
}

static void configure(struct virtio *v, uint32_t offset, uint32_t size, uint64_t value)
{
    if (offset == CONFIG_ACTUAL && size == 4)
        virtio_put(v->config + CONFIG_ACTUAL, 4, value);
}

static void reset(struct virtio *v)
{
    virtio_put(v->config + CONFIG_ACTUAL, 4, 0);
}

void balloon_init(uint32_t place)
{
    static const struct virtio_kind kind = {
        .number = 5,
        .queues = QUEUES,
        .features = 1u << FEATURE_ON_OOM | 1u << FEATURE_REPORTING,
        .notify = notify,
        .reset = reset,
        .configure = configure,
    };
    virtio_add(&device, &kind, place);
}

void balloon_want(uint32_t mb)
{
    virtio_put(device.config + CONFIG_WANTED, 4, mb * PAGES_PER_MB);
    virtio_reconfigured(&device);
}
