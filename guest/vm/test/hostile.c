/* A hostile driver that knows the layout of virtio's queues: registers, chains and rings
 * are random, most of them nearly right. The machine survives all of it.
 *
 * Buffers are in an arena, so that this program survives; with an odd seed they are
 * anywhere, which may end it in any way. */
#include "queue.h"

#define ROUNDS 100u
#define ARENA_PAGES 64u
#define RAM_END (0x80000000ull + (64ull << 20))

static uint8_t *arena;

static bool one_in(unsigned n)
{
    return any() % n == 0;
}

/* A number that a device may fail to check. */
static uint64_t odd_number(void)
{
    static const uint64_t list[] = {
        0,     1,     2,          3,          7,          8,     15,        16,   17,
        255,   256,   257,        511,        512,        513,   4095,      4096, 4097,
        65535, 65536, 0x7fffffff, 0x80000000, 0xffffffff, ~0ull, 1ull << 63};
    return one_in(4) ? any() >> any() % 64 : list[any() % (sizeof list / sizeof *list)];
}

static uint64_t address(void)
{
    uint64_t in = (uint64_t)arena + any() % (ARENA_PAGES * PAGE);
    if (one_in(2))
        return in & ~15ull;
    if (one_in(10))
        return RAM_END - odd_number() % 64;
    if (one_in(20))
        return odd_number();
    if (seed() & 1 && one_in(20))
        return 0x80000000ull + any() % (64ull << 20);
    return in;
}

/* ---- chains ------------------------------------------------------------------------ */

static uint32_t length(void)
{
    return one_in(10) ? (uint32_t)odd_number() : (uint32_t)(any() % 2048 + 1);
}

static void fill_table(volatile struct descriptor *table, unsigned size, bool inner)
{
    for (unsigned i = 0; i < size; i++) {
        table[i].at = address();
        table[i].n = length();
        table[i].flags = (uint16_t)(one_in(10) ? any() : any() % 4);
        if (!inner && one_in(5)) {
            table[i].flags = INDIRECT;
            table[i].n = one_in(4) ? table[i].n : (uint32_t)(any() % 20 * 16);
        }
        table[i].next = (uint16_t)(one_in(20) ? any() : (i + 1) % size);
    }
}

/* Writes requests to a disk, or messages to the console, where buffers may be. */
static void fill_heads(void)
{
    static const uint8_t types[] = {0, 1, 4, 8, 11, 13, 99};
    for (unsigned i = 0; i < 32; i++) {
        volatile uint64_t *at = (void *)(arena + any() % (ARENA_PAGES * PAGE / 16) * 16);
        at[0] = one_in(2) ? types[any() % sizeof types]
                          : any() % 3 | any() % 9 << 32 | any() % 2 << 48;
        at[1] = one_in(2) ? any() % 3000 : odd_number();
    }
}

/* A valid request with random damage, so that devices do something. */
static void nearly_right(struct queue *q)
{
    uint64_t head = (uint64_t)arena + any() % 1000 * 16,
             status = (uint64_t)arena + any() % 64000;
    queue_set(q, 0, (void *)head, 16, NEXT, 1);
    queue_set(q, 1, (void *)address(), length(),
              (uint16_t)(NEXT | (one_in(2) ? WRITE : 0)), 2);
    queue_set(q, 2, (void *)status, 1, WRITE, 0);
    if (one_in(3)) {
        volatile struct descriptor *d = &q->table[any() % 3];
        d->n = (uint32_t)odd_number();
    }
    ((volatile uint64_t *)head)[0] = any() % 14;
    ((volatile uint64_t *)head)[1] = any() % 2100;
}

/* ---- registers --------------------------------------------------------------------- */

static void touch_register(unsigned place)
{
    static const uint16_t at[] = {
        OFFERED_PART, ACCEPTED,        ACCEPTED_PART, QUEUE, QUEUE_SIZE, QUEUE_READY,
        NOTIFY,       INTERRUPTS_DONE, STATUS,        PARTS, PARTS + 4,  PARTS + 16,
        PARTS + 36,   CONFIG,          CONFIG + 4,    0xfc,  0xffc};
    uint64_t a = VIRTIO(place) + (one_in(4) ? any() % 0xff8 & ~7ull
                                            : at[any() % (sizeof at / sizeof *at)]);
    switch (any() % 6) {
    case 0:
        *(volatile uint8_t *)a = (uint8_t)any();
        break;
    case 1:
        *(volatile uint16_t *)(a & ~1ull) = (uint16_t)any();
        break;
    case 2:
        *(volatile uint64_t *)(a & ~7ull) = any();
        break;
    case 3:
        (void)*(volatile uint64_t *)(a & ~7ull);
        break;
    default:
        *(volatile uint32_t *)a = (uint32_t)odd_number();
    }
}

/* Wrong values in the PLIC or the UART, and unknown calls of the SBI. */
static void touch_others(void)
{
    uint64_t plic = 0x0c000000 + any() % 0x3ffff8;
    switch (any() % 4) {
    case 0:
        *(volatile uint32_t *)(plic & ~3ull) = (uint32_t)odd_number();
        break;
    case 1:
        (void)*(volatile uint32_t *)(plic & ~3ull);
        break;
    case 2:
        *(volatile uint8_t *)(0x10000001 + any() % 255) = (uint8_t)any();
        break;
    default: {
        static const uint32_t extensions[] = {0x10,       0x54494d45, 0x735049,
                                              0x52464e43, 0x504d55,   0x99};
        sbi(extensions[any() % 6], any() % 8, odd_number(), odd_number(), odd_number());
        sbi(0x4442434e, 0, 0, odd_number(), odd_number());
    }
    }
}

static unsigned any_place(void)
{
    static const uint8_t places[] = {CONSOLE, DISK_0, DISK_1, RNG, BALLOON, NET};
    return places[any() % sizeof places];
}

static void round_of(unsigned place)
{
    virtio_begin(place, one_in(4) ? any() | F_VERSION_1 : ~0ull);
    unsigned size = 1u << any() % 9;
    struct queue q = {.place = place, .number = (unsigned)any() % 6, .size = size};
    q.table = (void *)(arena + any() % 16 * PAGE);
    q.available = (void *)(arena + (16 + any() % 16) * PAGE);
    q.used = (void *)(arena + (32 + any() % 16) * PAGE);
    uint64_t parts[] = {(uint64_t)q.table, (uint64_t)q.available, (uint64_t)q.used};
    if (one_in(20))
        parts[any() % 3] = address();
    q.available->index = 0;
    for (unsigned number = 0; number < 6; number++)
        queue_tell(place, one_in(50) ? (unsigned)odd_number() : number,
                   one_in(50) ? (unsigned)odd_number() : size, parts);
    virtio_ready(place);
    for (unsigned i = 0; i < 16; i++) {
        fill_heads();
        fill_table(q.table, size, false);
        for (unsigned k = 0; k < 4; k++)
            fill_table((void *)(arena + any() % (ARENA_PAGES - 1) * PAGE), 20, true);
        if (size >= 4 && one_in(2))
            nearly_right(&q);
        if (one_in(30))
            q.available->index = (uint16_t)any();
        q.available->flags = any() & 1;
        q.number = (unsigned)any() % 6;
        queue_put(&q, (uint16_t)(one_in(30) ? any() : one_in(2) ? 0 : any() % size));
        if (one_in(4))
            touch_register(any_place());
    }
    touch_others();
}

void tests(void)
{
    test("a hostile driver");
    arena = fresh_pages(ARENA_PAGES);
    for (unsigned i = 0; i < ROUNDS; i++)
        round_of(any_place());
}
