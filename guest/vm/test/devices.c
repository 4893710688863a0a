/* Virtio's registers and queues, and the behaviour of each device. The second disk has 1
 * MiB, in which each sector has its number; the first is the same, and read-only. */
#include "queue.h"

#define SECTORS 2048u
#define ALL (F_VERSION_1 | F_INDIRECT | F_EVENT_IDX)

/* ---- registers --------------------------------------------------------------------- */

static void registers(void)
{
    static const uint32_t ids[] = {3, 2, 2, 4, 5};
    test("what each place has");
    for (unsigned i = 0; i < 5; i++) {
        CHECK(get(i, MAGIC), 0x74726976);
        CHECK(get(i, VERSION), 2);
        CHECK(get(i, ID), ids[i]);
    }
    test("a driver has to know version 1, and nothing that is not offered");
    virtio_begin(RNG, 0);
    CHECK(get(RNG, STATUS) & FEATURES_OK, 0);
    virtio_begin(RNG, F_VERSION_1);
    CHECK(get(RNG, STATUS) & FEATURES_OK, FEATURES_OK);
    put(RNG, STATUS, 0);
    put(RNG, STATUS, ACKNOWLEDGE | DRIVER);
    put(RNG, ACCEPTED_PART, 1);
    put(RNG, ACCEPTED, 1 | 1 << 9);
    put(RNG, STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK);
    CHECK(get(RNG, STATUS) & FEATURES_OK, 0);
    put(RNG, STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK);
    CHECK(get(RNG, STATUS) & DRIVER_OK, 0);
    test("queues that are not there");
    put(RNG, QUEUE, 1);
    CHECK(get(RNG, QUEUE_MOST), 0);
    put(RNG, QUEUE_READY, 1);
    CHECK(get(RNG, QUEUE_READY), 0);
}

static void wrong_queue(const char *name, unsigned size, uint64_t table,
                        uint64_t available, uint64_t used)
{
    test(name);
    virtio_begin(RNG, ALL);
    queue_tell(RNG, 0, size, (uint64_t[]){table, available, used});
    CHECK(get(RNG, QUEUE_READY), 0);
    CHECK(get(RNG, STATUS) & NEEDS_RESET, NEEDS_RESET);
}

static void wrong_queues(void)
{
    uint64_t good = (uint64_t)fresh_pages(4), end = 0x80000000ull + (64 << 20);
    wrong_queue("a queue of 0", 0, good, good + PAGE, good + 2 * PAGE);
    wrong_queue("a queue of 3", 3, good, good + PAGE, good + 2 * PAGE);
    wrong_queue("a queue of 512", 512, good, good + PAGE, good + 2 * PAGE);
    wrong_queue("a table that is not aligned", 8, good + 8, good + PAGE, good + 2 * PAGE);
    wrong_queue("a ring that is not aligned", 8, good, good + PAGE + 1, good + 2 * PAGE);
    wrong_queue("a used ring that is not aligned", 8, good, good + PAGE,
                good + 2 * PAGE + 2);
    wrong_queue("a table that is not RAM", 8, 0x1000, good + PAGE, good + 2 * PAGE);
    wrong_queue("a table over the end of RAM", 8, end - 112, good + PAGE,
                good + 2 * PAGE);
    wrong_queue("a used ring over the end of RAM", 8, good, good + PAGE, end - 64);
    wrong_queue("a ring at the end of addresses", 8, good, ~1ull, good + 2 * PAGE);
}

/* ---- chains ------------------------------------------------------------------------ */

static struct queue rng;

static void begin_rng(void)
{
    virtio_begin(RNG, ALL);
    rng = queue_make(RNG, 0, 8);
    virtio_ready(RNG);
}

/* The chain of descriptor 0 is malformed: nothing is used until a reset. */
static void refused(const char *name)
{
    test(name);
    queue_put(&rng, 0);
    CHECK(get(RNG, STATUS) & NEEDS_RESET, NEEDS_RESET);
    CHECK(get(RNG, INTERRUPTS), 2);
    CHECK(rng.used->index, 0);
    put(RNG, NOTIFY, 0);
    CHECK(rng.used->index, 0);
    begin_rng();
    CHECK(get(RNG, STATUS) & NEEDS_RESET, 0);
}

static void wrong_chains(void)
{
    uint8_t *page = fresh_pages(1);
    begin_rng();
    queue_set(&rng, 0, (void *)0x40000000, 16, WRITE, 0);
    refused("a buffer that is not RAM");
    queue_set(&rng, 0, (void *)(0x80000000 + (64 << 20) - 8), 16, WRITE, 0);
    refused("a buffer over the end of RAM");
    queue_set(&rng, 0, page, 0, WRITE, 0);
    refused("a buffer of nothing");
    queue_set(&rng, 0, page, 0xffffffff, WRITE, 0);
    refused("a buffer of 4 GiB");
    queue_set(&rng, 0, page, 16, WRITE | NEXT, 8);
    refused("a next one that is not in the table");
    queue_set(&rng, 0, page, 16, WRITE | NEXT, 0);
    refused("a chain that follows itself");
    queue_set(&rng, 0, page, 16, WRITE | NEXT, 1);
    queue_set(&rng, 1, page, 16, WRITE | NEXT, 0);
    refused("a loop of two");
    queue_set(&rng, 0, page, 16, WRITE | NEXT, 1);
    queue_set(&rng, 1, page, 16, 0, 0);
    refused("what is to be read behind what is to be written");
    struct descriptor *inner = (void *)page;
    queue_set(&rng, 0, inner, 16, INDIRECT, 0);
    inner[0] = (struct descriptor){(uint64_t)inner, 16, INDIRECT, 0};
    refused("an indirect table in an indirect table");
    queue_set(&rng, 0, inner, 24, INDIRECT, 0);
    refused("an indirect table of one and a half");
    queue_set(&rng, 0, inner, 0, INDIRECT, 0);
    refused("an indirect table of none");
    queue_set(&rng, 0, inner, 16, INDIRECT | NEXT, 1);
    refused("an indirect table that goes on");
    queue_set(&rng, 0, inner, 1 << 20, INDIRECT, 0);
    refused("an indirect table of 65,536");
    queue_set(&rng, 0, inner, 16, INDIRECT, 0);
    inner[0] = (struct descriptor){(uint64_t)page, 16, NEXT | WRITE, 1};
    refused("an indirect table whose chain leaves it");
    rng.available->ring[0] = 8;
    queue_set(&rng, 0, page, 16, WRITE, 0);
    rng.available->index = 0;
    test("a head that is not in the table");
    rng.available->index = 1;
    put(RNG, NOTIFY, 0);
    CHECK(get(RNG, STATUS) & NEEDS_RESET, NEEDS_RESET);
    begin_rng();
    test("more available than there can be");
    queue_set(&rng, 0, page, 16, WRITE, 0);
    rng.available->index = 9;
    put(RNG, NOTIFY, 0);
    CHECK(get(RNG, STATUS) & NEEDS_RESET, NEEDS_RESET);
    begin_rng();
}

static void good_chains(void)
{
    uint64_t *page = fresh_pages(1), *code = fresh_pages(1);
    test("entropy");
    queue_set(&rng, 0, page, 64, WRITE, 0);
    queue_put(&rng, 0);
    CHECK(rng.used->index, 1);
    CHECK(rng.used->ring[0].n, 64);
    CHECK(page[0] && page[7] && page[0] != page[1], true);
    CHECK(page[8], 0);
    CHECK(get(RNG, INTERRUPTS), 1);
    put(RNG, INTERRUPTS_DONE, 1);
    CHECK(get(RNG, INTERRUPTS), 0);
    test("entropy by an indirect table");
    struct descriptor *inner = fresh_pages(1);
    inner[0] = (struct descriptor){(uint64_t)(page + 16), 8, NEXT | WRITE, 1};
    inner[1] = (struct descriptor){(uint64_t)(page + 32), 8, WRITE, 0};
    queue_set(&rng, 3, inner, 32, INDIRECT, 0);
    queue_put(&rng, 3);
    CHECK(rng.used->index, 2);
    CHECK(rng.used->ring[1].head, 3);
    CHECK(rng.used->ring[1].n <= 16 && page[16], true);
    test("interrupts come where they are wanted (EVENT_IDX)");
    put(RNG, INTERRUPTS_DONE, 3);
    volatile uint16_t *event = &rng.available->ring[rng.size];
    *event = 3; /* the one after the next */
    queue_put(&rng, 0);
    CHECK(get(RNG, INTERRUPTS), 0);
    queue_put(&rng, 0);
    CHECK(get(RNG, INTERRUPTS), 1);
    CHECK(*(volatile uint16_t *)&rng.used->ring[rng.size],
          4); /* and it waits for the next */
    test("a buffer on code that was run");
    static const uint32_t li[] = {0x02a00513, 0x00008067};
    __builtin_memcpy(code, li, 8);
    __asm__ volatile("fence.i" ::: "memory");
    CHECK(((uint64_t (*)(void))code)(), 42);
    virtio_begin(DISK_1, ALL);
    struct queue disk = queue_make(DISK_1, 0, 8);
    virtio_ready(DISK_1);
    uint64_t *head = fresh_pages(1);
    volatile uint8_t *status = (void *)(head + 8);
    uint32_t *sector = fresh_pages(1);
    head[0] = 1; /* writes */
    head[1] = 7;
    sector[0] = 0x02b00513; /* li a0, 43; ret */
    sector[1] = 0x00008067;
    queue_set(&disk, 0, head, 16, NEXT, 1);
    queue_set(&disk, 1, sector, 512, NEXT, 2);
    queue_set(&disk, 2, status, 1, WRITE, 0);
    *status = 9;
    queue_put(&disk, 0);
    CHECK(*status, 0);
    head[0] = 0; /* reads, over the code */
    queue_set(&disk, 1, code, 512, NEXT | WRITE, 2);
    queue_put(&disk, 0);
    CHECK(((uint64_t (*)(void))code)(), 43);
}

/* ---- disks ------------------------------------------------------------------------- */

static struct queue disk;
static uint64_t *request;
static uint8_t *data;

static void begin_disk(unsigned place)
{
    virtio_begin(place, ~0ull);
    disk = queue_make(place, 0, 16);
    virtio_ready(place);
    request = fresh_pages(1);
    data = fresh_pages(16);
}

/* Returns the request's status. */
static unsigned ask(uint32_t type, uint64_t sector, uint32_t n, bool gives)
{
    volatile uint8_t *status = (uint8_t *)request + 64;
    *status = 99;
    request[0] = type;
    request[1] = sector;
    queue_set(&disk, 0, request, 16, NEXT, n ? 1 : 2);
    queue_set(&disk, 1, data, n, (gives ? 0 : WRITE) | NEXT, 2);
    queue_set(&disk, 2, status, 1, WRITE, 0);
    queue_put(&disk, 0);
    return *status;
}

static void range(uint64_t sector, uint32_t n, uint32_t flags)
{
    __builtin_memcpy(data, &sector, 8);
    __builtin_memcpy(data + 8, &n, 4);
    __builtin_memcpy(data + 12, &flags, 4);
}

static void disks(void)
{
    enum { IN = 0, OUT = 1, FLUSH = 4, IDENTITY = 8, DISCARD = 11, ZEROES = 13 };
    test("a disk");
    begin_disk(DISK_1);
    CHECK(get(DISK_1, CONFIG), SECTORS);
    CHECK(ask(IN, 5, 1024, false), 0);
    CHECK(*(uint32_t *)data, 5);
    CHECK(*(uint32_t *)(data + 512), 6);
    CHECK(disk.used->ring[0].n, 1025);
    data[0] = 200;
    CHECK(ask(OUT, 9, 512, true), 0);
    data[0] = 0;
    CHECK(ask(IN, 9, 512, false), 0);
    CHECK(data[0], 200);
    CHECK(ask(FLUSH, 0, 0, false), 0);
    CHECK(ask(IDENTITY, 0, 20, false), 0);
    CHECK(data[0], 'c');
    test("its end");
    CHECK(ask(IN, SECTORS - 1, 512, false), 0);
    CHECK(ask(IN, SECTORS - 1, 1024, false), 1);
    CHECK(ask(IN, SECTORS, 512, false), 1);
    CHECK(ask(OUT, ~0ull, 512, true), 1);
    CHECK(ask(IN, 1ull << 55, 512, false), 1);
    test("requests that make no sense");
    CHECK(ask(IN, 0, 100, false), 1);
    CHECK(ask(77, 0, 512, false), 2);
    CHECK(ask(IDENTITY, 0, 5, false), 1);
    test("buffers that are cut anywhere");
    volatile uint8_t *status = (uint8_t *)request + 64;
    request[0] = IN;
    request[1] = 3;
    queue_set(&disk, 0, request, 5, NEXT, 1);
    queue_set(&disk, 1, (uint8_t *)request + 5, 11, NEXT, 2);
    queue_set(&disk, 2, data + 1, 300, NEXT | WRITE, 3);
    queue_set(&disk, 3, data + 1000, 724, NEXT | WRITE, 4);
    queue_set(&disk, 4, status, 1, WRITE, 0);
    queue_put(&disk, 0);
    CHECK(*status, 0);
    CHECK(data[1], 3);
    CHECK(*(uint32_t *)(data + 1000 + 512 - 300), 4);
    test("many large requests have several turns");
    struct queue *q = &disk;
    uint16_t before = q->used->index;
    request[0] = IN;
    request[1] = 0;
    for (unsigned i = 1; i < 15; i++)
        queue_set(q, i, (void *)0x82000000, i < 14 ? 65536 : 1,
                  i < 14 ? NEXT | WRITE : WRITE, (uint16_t)(i + 1));
    queue_set(q, 0, request, 16, NEXT, 1);
    for (unsigned i = 0; i < 16; i++)
        q->available->ring[(q->available->index + i) % q->size] = 0;
    q->available->index += 16;
    while ((uint16_t)(q->used->index - before) != 16)
        put(DISK_1, NOTIFY, 0);
    CHECK(*(uint32_t *)(0x82000000 + 512 * 127), 1663);
    test("discarding and zeros");
    range(20, 2, 0);
    CHECK(ask(DISCARD, 0, 16, true), 0);
    range(22, 2, 1);
    CHECK(ask(ZEROES, 0, 16, true), 0);
    for (unsigned i = 22; i < 24; i++) {
        CHECK(ask(IN, i, 512, false), 0);
        CHECK(*(uint32_t *)data, 0);
    }
    CHECK(ask(IN, 24, 512, false), 0);
    CHECK(*(uint32_t *)data, 24);
    range(SECTORS - 1, 2, 0);
    CHECK(ask(DISCARD, 0, 16, true), 1);
    range(0, 1, 1);
    CHECK(ask(DISCARD, 0, 16, true), 2);
    range(0, 1, 2);
    CHECK(ask(ZEROES, 0, 16, true), 2);
    CHECK(ask(DISCARD, 0, 15, true), 1);
    CHECK(ask(DISCARD, 0, 17 * 16, true), 1);
    test("a read-only disk");
    begin_disk(DISK_0);
    CHECK(ask(IN, 5, 512, false), 0);
    CHECK(*(uint32_t *)data, 5);
    CHECK(ask(OUT, 5, 512, true), 1);
    range(5, 1, 0);
    CHECK(ask(DISCARD, 0, 16, true), 1);
    CHECK(ask(ZEROES, 0, 16, true), 1);
    test("a request that is longer than the disk says it takes");
    for (unsigned i = 1; i < 10; i++)
        queue_set(&disk, i, (void *)0x81000000, 1 << 20, NEXT | WRITE, (uint16_t)(i + 1));
    queue_set(&disk, 0, request, 16, NEXT, 1);
    queue_set(&disk, 10, data, 1, WRITE, 0);
    queue_put(&disk, 0);
    CHECK(get(DISK_0, STATUS) & NEEDS_RESET, NEEDS_RESET);
    begin_disk(DISK_0);
    test("a request without room for its status");
    queue_set(&disk, 0, request, 16, 0, 0);
    queue_put(&disk, 0);
    CHECK(get(DISK_0, STATUS) & NEEDS_RESET, NEEDS_RESET);
}

/* ---- console ----------------------------------------------------------------------- */

static void hear(struct queue *q, unsigned i, uint32_t port, uint32_t event,
                 uint64_t *message)
{
    CHECK(q->used->ring[i].n >= 8, true);
    CHECK(message[0], port | (uint64_t)event << 32 | 1ull << 48);
}

static void console(void)
{
    enum {
        READY = 0,
        ADD = 1,
        PORT_READY = 3,
        IS_CONSOLE = 4,
        RESIZE = 5,
        OPEN = 6,
        NAME = 7
    };
    test("the console's ports say who they are");
    virtio_begin(CONSOLE, ~0ull);
    struct queue in = queue_make(CONSOLE, 2, 8), out = queue_make(CONSOLE, 3, 8);
    struct queue send = queue_make(CONSOLE, 1, 8);
    virtio_ready(CONSOLE);
    uint64_t *heard = fresh_pages(1), *said = fresh_pages(1);
    for (unsigned i = 0; i < 8; i++) {
        queue_set(&in, i, heard + 8 * i, 64, WRITE, 0);
        queue_put(&in, (uint16_t)i);
    }
    queue_set(&out, 0, said, 8, 0, 0);
    said[0] = (uint64_t)READY << 32 | 1ull << 48;
    queue_put(&out, 0);
    CHECK(in.used->index, 2);
    hear(&in, 0, 0, ADD, heard);
    hear(&in, 1, 1, ADD, heard + 8);
    said[0] = 0 | (uint64_t)PORT_READY << 32 | 1ull << 48;
    queue_put(&out, 0);
    CHECK(in.used->index, 5);
    hear(&in, 2, 0, IS_CONSOLE, heard + 16);
    hear(&in, 3, 0, RESIZE, heard + 24);
    CHECK(heard[25] & 0xffffffff, 80 | 24 << 16);
    hear(&in, 4, 0, OPEN, heard + 32);
    said[0] = 1 | (uint64_t)PORT_READY << 32 | 1ull << 48;
    queue_put(&out, 0);
    CHECK(in.used->index, 7);
    hear(&in, 5, 1, OPEN, heard + 40);
    hear(&in, 6, 1, NAME, heard + 48);
    CHECK(__builtin_memcmp(heard + 49, "cloche.control", 14), 0);
    test("messages that make no sense");
    said[0] = 77 | (uint64_t)PORT_READY << 32 | 1ull << 48;
    queue_put(&out, 0);
    said[0] = 1 | 99ull << 32 | 1ull << 48;
    queue_put(&out, 0);
    queue_set(&out, 0, said, 3, 0, 0);
    queue_put(&out, 0);
    CHECK(out.used->index, 6);
    CHECK(get(CONSOLE, STATUS) & NEEDS_RESET, 0);
    test("what is said on the terminal comes out");
    static const char words[] = "this was said on port 0\n";
    queue_set(&send, 0, words, 5, NEXT, 1);
    queue_set(&send, 1, words + 5, sizeof words - 6, 0, 0);
    queue_put(&send, 0);
    CHECK(send.used->index, 1);
    test("what a slow host has not taken waits, in order");
    struct queue control = queue_make(CONSOLE, 5, 8), from = queue_make(CONSOLE, 4, 8);
    static const char piece[] = "this was said on port 1, in two pieces; ",
                      too[] = "and this too\n";
    queue_set(&control, 0, piece, 20, NEXT, 1);
    queue_set(&control, 1, piece + 20, sizeof piece - 21, 0, 0);
    queue_set(&control, 2, too, sizeof too - 1, 0, 0);
    queue_put(&control, 0);
    CHECK(control.used->index, 0);
    queue_put(&control, 2);
    for (unsigned i = 0; i < 100000000 && control.used->index < 2; i++)
        ;
    CHECK(control.used->index, 2);
    test("a port that nobody has open is given nothing");
    static char got[16];
    queue_set(&from, 0, got, sizeof got, WRITE, 0);
    queue_put(&from, 0);
    for (unsigned i = 0; i < 1000000; i++)
        __asm__ volatile("");
    CHECK(from.used->index, 0);
    said[0] = 1 | (uint64_t)OPEN << 32 | 1ull << 48;
    queue_set(&out, 0, said, 8, 0, 0);
    queue_put(&out, 0);
    for (unsigned i = 0; i < 100000000 && !from.used->index; i++)
        ;
    CHECK(from.used->index, 1);
    CHECK(from.used->ring[0].n, 5);
    CHECK(got[4], 'x');
    test("more at once than any kernel says");
    for (unsigned i = 0; i < 5; i++)
        queue_set(&send, i, (void *)0x81000000, 65536, i < 4 ? NEXT : 0,
                  (uint16_t)(i + 1));
    queue_put(&send, 0);
    CHECK(get(CONSOLE, STATUS) & NEEDS_RESET, NEEDS_RESET);
}

/* ---- balloon ----------------------------------------------------------------------- */

static void balloon(void)
{
    test("pages that are reported free may be zeros");
    virtio_begin(BALLOON, ~0ull);
    struct queue inflate = queue_make(BALLOON, 0, 8), report = queue_make(BALLOON, 2, 8);
    virtio_ready(BALLOON);
    uint8_t *page = fresh_pages(4);
    for (unsigned i = 0; i < 4 * PAGE; i++)
        page[i] = 7;
    queue_set(&report, 0, page + 100, 2 * PAGE, WRITE, 0); /* one whole page in it */
    queue_put(&report, 0);
    CHECK(report.used->index, 1);
    CHECK(page[PAGE - 1], 7);
    CHECK(page[PAGE], 0);
    CHECK(page[2 * PAGE - 1], 0);
    CHECK(page[2 * PAGE], 7);
    test("pages of the balloon");
    static uint32_t numbers[3];
    numbers[0] = (uint32_t)((uint64_t)page / PAGE) + 3;
    numbers[1] = 5; /* not RAM */
    numbers[2] = ~0u;
    queue_set(&inflate, 0, numbers, sizeof numbers, 0, 0);
    queue_put(&inflate, 0);
    CHECK(inflate.used->index, 1);
    CHECK(page[3 * PAGE], 0);
    CHECK(get(BALLOON, STATUS) & NEEDS_RESET, 0);
    put(BALLOON, CONFIG + 4, 1);
    CHECK(get(BALLOON, CONFIG + 4), 1);
    put(BALLOON, CONFIG, 1);
    CHECK(get(BALLOON, CONFIG), 0);
    test("more at once than any kernel gives back");
    queue_set(&inflate, 0, (void *)0x81000000, 16385, 0, 0);
    queue_put(&inflate, 0);
    CHECK(get(BALLOON, STATUS) & NEEDS_RESET, NEEDS_RESET);
}

/* ---- net --------------------------------------------------------------------------- */

#define NET_HEADER 12u
static const uint8_t machine_mac[6] = {2, 0, 0, 0, 0, 1};
static const uint8_t gateway_mac[6] = {0x5a, 0x94, 0xef, 0xe4, 0x0c, 0xdd};
static const uint8_t machine_ip[4] = {192, 168, 127, 3},
                     gateway_ip[4] = {192, 168, 127, 1};

static struct queue net_rx, net_tx;

static void begin_net(uint64_t wanted)
{
    virtio_begin(NET, wanted);
    net_rx = queue_make(NET, 0, 64);
    net_tx = queue_make(NET, 1, 8);
    virtio_ready(NET);
}

/* Buffer i of the receive queue, of n bytes. */
static uint8_t *net_buffer(unsigned i, uint32_t n)
{
    uint8_t *at = fresh_pages(1);
    queue_set(&net_rx, i, at, n, WRITE, 0);
    queue_put(&net_rx, (uint16_t)i);
    return at;
}

static void net_send(uint8_t *frame, uint32_t n)
{
    queue_set(&net_tx, 0, frame, n, 0, 0);
    queue_put(&net_tx, 0);
}

static uint8_t *ethernet(uint8_t *frame, unsigned type)
{
    __builtin_memcpy(frame + NET_HEADER, gateway_mac, 6);
    __builtin_memcpy(frame + NET_HEADER + 6, machine_mac, 6);
    frame[NET_HEADER + 12] = (uint8_t)(type >> 8);
    frame[NET_HEADER + 13] = (uint8_t)type;
    return frame + NET_HEADER + 14;
}

static uint32_t ask_arp(uint8_t *frame)
{
    uint8_t *at = ethernet(frame, 0x806);
    static const uint8_t head[] = {0, 1, 8, 0, 6, 4, 0, 1};
    __builtin_memcpy(at, head, 8);
    __builtin_memcpy(at + 8, machine_mac, 6);
    __builtin_memcpy(at + 14, machine_ip, 4);
    __builtin_memcpy(at + 24, gateway_ip, 4);
    return NET_HEADER + 14 + 28;
}

static void put_sum(uint8_t *at, const uint8_t *from, uint32_t n)
{
    uint32_t s = 0;
    at[0] = at[1] = 0;
    for (uint32_t i = 0; i < n; i++)
        s += i & 1 ? from[i] : (uint32_t)from[i] << 8;
    while (s >> 16)
        s = (s & 0xffff) + (s >> 16);
    at[0] = (uint8_t)(~s >> 8);
    at[1] = (uint8_t)~s;
}

/* Composes an echo request to the gateway with n bytes after its header. */
static uint32_t ask_echo(uint8_t *frame, uint32_t n)
{
    uint8_t *at = ethernet(frame, 0x800), *echo = at + 20;
    static const uint8_t head[] = {0x45, 0, 0, 0, 0, 0, 0, 0, 64, 1};
    __builtin_memcpy(at, head, sizeof head);
    at[2] = (uint8_t)((28 + n) >> 8);
    at[3] = (uint8_t)(28 + n);
    __builtin_memcpy(at + 12, machine_ip, 4);
    __builtin_memcpy(at + 16, gateway_ip, 4);
    put_sum(at + 10, at, 20);
    echo[0] = 8;
    for (uint32_t i = 0; i < n; i++)
        echo[8 + i] = (uint8_t)(i * 7);
    put_sum(echo + 2, echo, 8 + n);
    return NET_HEADER + 14 + 28 + n;
}

static void net_answers(void)
{
    uint8_t *frame = fresh_pages(2);
    begin_net(~0ull);
    test("the card's configuration: its address, and a link that is up");
    CHECK(get(NET, CONFIG), 0x00000002);
    CHECK(get(NET, CONFIG + 4), 0x00010100);
    test("who has the gateway's address");
    uint8_t *got = net_buffer(0, 2048);
    net_send(frame, ask_arp(frame));
    CHECK(net_tx.used->index, 1);
    CHECK(net_rx.used->index, 1);
    CHECK(net_rx.used->ring[0].n, NET_HEADER + 14 + 28);
    CHECK(got[10], 1);
    CHECK(__builtin_memcmp(got + NET_HEADER, machine_mac, 6), 0);
    CHECK(__builtin_memcmp(got + NET_HEADER + 14 + 8, gateway_mac, 6), 0);
    test("an answer in as many buffers as it needs");
    uint8_t *parts[4];
    for (unsigned i = 0; i < 4; i++)
        parts[i] = net_buffer(i, 512);
    net_send(frame, ask_echo(frame, 900));
    CHECK(net_rx.used->index, 3);
    CHECK(net_rx.used->ring[1].n, 512);
    CHECK(net_rx.used->ring[2].n, NET_HEADER + 42 + 900 - 512);
    CHECK(parts[0][10], 2);
    CHECK(parts[1][0], (uint8_t)((512 - NET_HEADER - 42) * 7));
    test("too few buffers: nothing of it comes");
    net_send(frame, ask_echo(frame, 1400));
    CHECK(net_rx.used->index, 3);
    CHECK(get(NET, STATUS) & NEEDS_RESET, 0);
}

static void net_ignores(void)
{
    uint8_t *frame = fresh_pages(2);
    begin_net(~0ull);
    for (unsigned i = 0; i < 8; i++)
        net_buffer(i, 2048);
    test("what is wrong about a frame is answered by nothing");
    uint32_t n = ask_echo(frame, 100);
    net_send(frame, 4);
    net_send(frame, NET_HEADER);
    net_send(frame, NET_HEADER + 13);
    net_send(frame, n - 1);
    frame[n - 1] ^= 1; /* its sum */
    net_send(frame, n);
    n = ask_echo(frame, 100);
    frame[NET_HEADER + 6 + 5] ^= 1; /* another's MAC */
    net_send(frame, n);
    n = ask_echo(frame, 100);
    frame[NET_HEADER + 14 + 6] = 0x20; /* a fragment */
    put_sum(frame + NET_HEADER + 14 + 10, frame + NET_HEADER + 14, 20);
    net_send(frame, n);
    n = ask_echo(frame, 100);
    frame[NET_HEADER + 14 + 15] = 4; /* another's address */
    put_sum(frame + NET_HEADER + 14 + 10, frame + NET_HEADER + 14, 20);
    net_send(frame, n);
    CHECK(net_tx.used->index, 8);
    CHECK(net_rx.used->index, 0);
    test("and the next that is right is answered");
    net_send(frame, ask_echo(frame, 100));
    CHECK(net_rx.used->index, 1);
    test("a buffer that has no room for a frame's header");
    begin_net(~0ull);
    net_buffer(0, NET_HEADER);
    net_send(frame, ask_echo(frame, 100));
    CHECK(get(NET, STATUS) & NEEDS_RESET, NEEDS_RESET);
}

/* ---- files ------------------------------------------------------------------------- */

/* The host here answers every request with ENOSYS and its number. */
static void files(void)
{
    static uint32_t request[10] = {40, 1, 0x1234, 0x5678};
    static volatile uint32_t reply[32];
    test("the tag, and one queue of requests");
    CHECK(get(FILES, ID), 26);
    CHECK(get(FILES, CONFIG), 0x636f6c63);
    CHECK(get(FILES, CONFIG + 36), 1);
    virtio_begin(FILES, ALL);
    struct queue high = queue_make(FILES, 0, 8), requests = queue_make(FILES, 1, 8);
    virtio_ready(FILES);
    test("a reply comes at once, also into buffers that are cut anywhere");
    queue_set(&requests, 0, request, 7, NEXT, 1);
    queue_set(&requests, 1, (const char *)request + 7, 33, NEXT, 2);
    queue_set(&requests, 2, reply, 5, NEXT | WRITE, 3);
    queue_set(&requests, 3, (const volatile char *)reply + 5, 100, WRITE, 0);
    queue_put(&requests, 0);
    CHECK(requests.used->index, 1);
    CHECK(requests.used->ring[0].n, 16);
    CHECK(reply[0], 16);
    CHECK(reply[1], (uint32_t)-38);
    CHECK(reply[2], 0x1234);
    CHECK(reply[3], 0x5678);
    test(
        "a request that is too short, and one without room for a reply, come back empty");
    queue_set(&requests, 0, request, 39, NEXT, 2);
    queue_set(&requests, 2, reply, 100, WRITE, 0);
    queue_put(&requests, 0);
    CHECK(requests.used->ring[1].n, 0);
    queue_set(&requests, 0, request, 40, NEXT, 2);
    queue_set(&requests, 2, reply, 15, WRITE, 0);
    queue_put(&requests, 0);
    CHECK(requests.used->ring[2].n, 0);
    queue_set(&requests, 0, request, 40, 0, 0);
    queue_put(&requests, 0);
    CHECK(requests.used->ring[3].n, 0);
    test("a request that is longer than any comes back empty");
    queue_set(&requests, 0, (void *)0x80000000, (512 << 10) + 4097, NEXT, 2);
    queue_set(&requests, 2, reply, 100, WRITE, 0);
    queue_put(&requests, 0);
    CHECK(requests.used->ring[4].n, 0);
    test("the other queue is served as well");
    queue_set(&high, 0, request, 40, 0, 0);
    queue_put(&high, 0);
    CHECK(high.used->index, 1);
    CHECK(get(FILES, STATUS) & NEEDS_RESET, 0);
}

void tests(void)
{
    registers();
    wrong_queues();
    wrong_chains();
    good_chains();
    disks();
    console();
    balloon();
    net_answers();
    net_ignores();
    files();
}
