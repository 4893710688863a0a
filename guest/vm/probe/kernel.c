/* A kernel for tests of src/vm: it speaks the frames of abi/vm.h as the machine's init does,
 * and what it is told to execute are words of its own:
 *
 *   off, reboot, panic    ends that way
 *   halt, spin, astray    stops; computes for ever; traps where nothing is
 *   print TEXT            TEXT on standard output
 *   flood N               N bytes on standard output
 *   touch N               writes to N pages of RAM, and says N
 *   write N BYTE          N sectors of the writable disk, each full of BYTE: "ok" or "failed"
 *   read N                the first byte of the N-th sector, as a number
 *   entropy               16 hexadecimal digits of virtio's
 *   time                  the `time` register
 *
 * Anything else is "true". It has no interrupts but those that wake it, and no memory but
 * what stands here.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/vm.h"

/* ---- beginning -------------------------------------------------------------------------- */

__asm__(".section .head,\"ax\"\n"
        ".global _start\n"
        "_start: j 1f\n.balign 8\n"
        ".dword 0x200000\n"     /* load offset */
        ".dword end - _start\n" /* size */
        ".dword 0\n.word 2, 0\n.dword 0, 0x5643534952\n.word 0x05435352, 0\n"
        "1: la sp, stack + 65536\n"
        "call run\n"
        ".text\n");
uint8_t stack[65536] __attribute__((aligned(16)));

void *memcpy(void *to, const void *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((volatile uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    return to;
}

void *memset(void *to, int byte, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((volatile uint8_t *)to)[i] = (uint8_t)byte;
    return to;
}

static void sbi(uint64_t extension, uint64_t function, uint64_t a)
{
    register uint64_t a0 __asm__("a0") = a, a1 __asm__("a1") = 0;
    register uint64_t a6 __asm__("a6") = function, a7 __asm__("a7") = extension;
    __asm__ volatile("ecall" : "+r"(a0), "+r"(a1) : "r"(a6), "r"(a7) : "memory");
}

static void print(const char *text)
{
    while (*text)
        sbi(0x4442434e, 2, (uint8_t)*text++); /* DBCN: one byte */
}

/* ---- virtio ------------------------------------------------------------------------------ */

#define QUEUE_SIZE 8u
#define PLACE(n) (0x10001000u + (n) * 0x1000u)
enum { CONSOLE, ROOT, DISK, RNG };

struct queue {
    uint32_t place, number;
    struct {
        uint64_t address;
        uint32_t n;
        uint16_t flags, next;
    } descriptors[QUEUE_SIZE] __attribute__((aligned(16)));
    struct {
        uint16_t flags, index, ring[QUEUE_SIZE], event;
    } available;
    struct {
        uint16_t flags, index;
        struct {
            uint32_t id, n;
        } ring[QUEUE_SIZE];
        uint16_t event;
    } used __attribute__((aligned(4)));
    uint16_t seen;
};

static volatile uint32_t *reg(uint32_t place, uint32_t offset)
{
    return (volatile uint32_t *)(uintptr_t)(PLACE(place) + offset);
}

static void begin(uint32_t place, uint32_t low_features)
{
    *reg(place, 0x70) = 0;
    *reg(place, 0x70) = 1 | 2;
    *reg(place, 0x24) = 0;
    *reg(place, 0x20) = low_features;
    *reg(place, 0x24) = 1;
    *reg(place, 0x20) = 1; /* VERSION_1 */
    *reg(place, 0x70) = 1 | 2 | 8;
}

static void put_address(uint32_t place, uint32_t offset, const void *at)
{
    *reg(place, offset) = (uint32_t)(uintptr_t)at;
    *reg(place, offset + 4) = (uint32_t)((uint64_t)(uintptr_t)at >> 32);
}

static void add_queue(struct queue *q, uint32_t place, uint32_t number)
{
    q->place = place;
    q->number = number;
    *reg(place, 0x30) = number;
    *reg(place, 0x38) = QUEUE_SIZE;
    put_address(place, 0x80, q->descriptors);
    put_address(place, 0x90, &q->available);
    put_address(place, 0xa0, &q->used);
    *reg(place, 0x44) = 1;
}

static void offer(struct queue *q, uint16_t head)
{
    q->available.ring[q->available.index % QUEUE_SIZE] = head;
    __asm__ volatile("fence" ::: "memory");
    q->available.index++;
    __asm__ volatile("fence" ::: "memory");
    *reg(q->place, 0x50) = q->number;
}

/* Waits for the device, idle: an interrupt wakes. *n: bytes that it wrote. */
static void take(struct queue *q, uint32_t *n)
{
    for (;;) {
        __asm__ volatile("fence" ::: "memory");
        if (*(volatile uint16_t *)&q->used.index != q->seen)
            break;
        __asm__ volatile("wfi");
        for (uint32_t i = CONSOLE; i <= RNG; i++)
            *reg(i, 0x64) = 3;
        volatile uint32_t *claim = (volatile uint32_t *)0x0c200004u;
        for (uint32_t line; (line = *claim) != 0;)
            *claim = line;
    }
    *n = q->used.ring[q->seen++ % QUEUE_SIZE].n;
}

/* Exchanges one buffer. */
static uint32_t pass(struct queue *q, const void *at, uint32_t n, bool device_writes)
{
    q->descriptors[0].address = (uintptr_t)at;
    q->descriptors[0].n = n;
    q->descriptors[0].flags = device_writes ? 2 : 0;
    offer(q, 0);
    take(q, &n);
    return n;
}

/* ---- its devices -------------------------------------------------------------------------- */

static struct queue control_rx, control_tx, rx, tx, disk, rng;

static void set_up(void)
{
    volatile uint32_t *plic = (volatile uint32_t *)0x0c000000u;
    for (uint32_t line = 1; line <= 5; line++)
        plic[line] = 1;
    *(volatile uint32_t *)0x0c002000u = 0x3e; /* lines 1 to 5 */
    *(volatile uint32_t *)0x0c200000u = 0;
    __asm__ volatile("csrs sie, %0" ::"r"(1 << 9));
    begin(CONSOLE, 1u << 1); /* MULTIPORT */
    add_queue(&control_rx, CONSOLE, 2);
    add_queue(&control_tx, CONSOLE, 3);
    add_queue(&rx, CONSOLE, 4);
    add_queue(&tx, CONSOLE, 5);
    *reg(CONSOLE, 0x70) = 1 | 2 | 4 | 8;
    begin(DISK, 0);
    add_queue(&disk, DISK, 0);
    *reg(DISK, 0x70) = 1 | 2 | 4 | 8;
    begin(RNG, 0);
    add_queue(&rng, RNG, 0);
    *reg(RNG, 0x70) = 1 | 2 | 4 | 8;
    static const uint16_t open[] = {1, 0, 6, 1}; /* port 1: PORT_OPEN */
    pass(&control_tx, open, sizeof open, false);
}

static uint64_t entropy(void)
{
    uint64_t out = 0;
    pass(&rng, &out, sizeof out, true);
    return out;
}

/* Reads or writes one sector. */
static bool move(uint64_t sector, uint8_t *bytes, bool writes)
{
    static struct {
        uint32_t type, zero;
        uint64_t sector;
    } head;
    static uint8_t status;
    uint32_t n;
    head.type = writes;
    head.sector = sector;
    status = 0xff;
    disk.descriptors[0] =
        (typeof(disk.descriptors[0])){(uintptr_t)&head, sizeof head, 1, 1};
    disk.descriptors[1] = (typeof(disk.descriptors[0])){(uintptr_t)bytes, 512,
                                                        (uint16_t)(writes ? 1 : 3), 2};
    disk.descriptors[2] = (typeof(disk.descriptors[0])){(uintptr_t)&status, 1, 2, 0};
    offer(&disk, 0);
    take(&disk, &n);
    return *(volatile uint8_t *)&status == 0;
}

/* ---- frames -------------------------------------------------------------------------------- */

static uint8_t in[65536];
static uint32_t in_at, in_end;

static void hear(void *to, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (in_at == in_end) {
            in_end = pass(&rx, in, sizeof in, true);
            in_at = 0;
        }
        ((volatile uint8_t *)to)[i] = in[in_at++];
    }
}

static void say(uint32_t id, uint16_t verb, const void *payload, uint32_t n)
{
    struct vm_frame f = {.length = n, .id = id, .verb = verb};
    pass(&tx, &f, sizeof f, false);
    if (n)
        pass(&tx, payload, n, false);
}

/* ---- words ---------------------------------------------------------------------------------- */

static char text[4096];
static uint32_t text_n;

static bool is(const char *word, const char **rest)
{
    const char *t = text;
    while (*word && *t == *word)
        t++, word++;
    if (*word || (*t && *t != ' '))
        return false;
    *rest = *t ? t + 1 : t;
    return true;
}

static uint64_t number(const char **at)
{
    uint64_t n = 0;
    while (**at >= '0' && **at <= '9')
        n = n * 10 + (uint64_t)(*(*at)++ - '0');
    while (**at == ' ')
        (*at)++;
    return n;
}

static void say_text(uint32_t id, const char *t)
{
    uint32_t n = 0;
    while (t[n])
        n++;
    say(id, VM_OUT, t, n);
}

static void say_number(uint32_t id, uint64_t n, uint32_t base)
{
    static char digits[32];
    char *at = digits + sizeof digits - 1;
    do
        *--at = "0123456789abcdef"[n % base];
    while (n /= base);
    say_text(id, at);
}

static void flood(uint32_t id, uint64_t n)
{
    static uint8_t bytes[32768];
    for (uint32_t part; n; n -= part) {
        part = n < sizeof bytes ? (uint32_t)n : sizeof bytes;
        say(id, VM_OUT, bytes, part);
    }
}

static void use_disk(uint32_t id, bool writes, const char *rest)
{
    static uint8_t sector[512];
    uint64_t n = number(&rest);
    if (!writes) {
        if (move(n, sector, false))
            say_number(id, *(volatile uint8_t *)sector, 10);
        return;
    }
    memset(sector, (int)number(&rest), sizeof sector);
    bool ok = true;
    for (uint64_t i = 0; i < n && ok; i++)
        ok = move(i, sector, true);
    say_text(id, ok ? "ok" : "failed");
}

static void touch(uint32_t id, uint64_t pages)
{
    for (uint64_t i = 0; i < pages; i++)
        *(volatile uint8_t *)(uintptr_t)(0x81000000u + i * 4096) = 1;
    say_number(id, pages, 10);
}

static volatile uint8_t *page_of(const char **rest)
{
    return (volatile uint8_t *)(uintptr_t)(0x81000000u + number(rest) * 4096);
}

/* poke PAGE BYTE, peek PAGE */
static void use_memory(uint32_t id, bool writes, const char *rest)
{
    volatile uint8_t *page = page_of(&rest);
    uint8_t byte = (uint8_t)number(&rest);
    for (uint32_t i = 0; writes && i < 4096; i++)
        page[i] = byte;
    say_number(id, page[4095], 10);
}

static void end(const char *rest)
{
    if (is("off", &rest))
        sbi(0x53525354, 0, 0);
    if (is("reboot", &rest))
        sbi(0x53525354, 0, 1);
    if (is("panic", &rest)) {
        print("\nKernel panic - not syncing: it was told to\nand more\n");
        sbi(0x53525354, 0, 1);
    }
    if (is("halt", &rest))
        for (;;)
            __asm__ volatile("csrw sie, zero\n wfi");
    if (is("spin", &rest))
        for (;;)
            __asm__ volatile("nop");
    if (is("astray", &rest))
        __asm__ volatile("csrw stvec, zero\n .word 0");
}

static void execute(uint32_t id)
{
    const char *rest = text;
    end(rest);
    if (is("print", &rest))
        say_text(id, rest);
    else if (is("flood", &rest))
        flood(id, number(&rest));
    else if (is("touch", &rest))
        touch(id, number(&rest));
    else if (is("poke", &rest))
        use_memory(id, true, rest);
    else if (is("peek", &rest))
        use_memory(id, false, rest);
    else if (is("write", &rest))
        use_disk(id, true, rest);
    else if (is("read", &rest))
        use_disk(id, false, rest);
    else if (is("entropy", &rest))
        say_number(id, entropy(), 16);
    else if (is("time", &rest)) {
        uint64_t now;
        __asm__ volatile("rdtime %0" : "=r"(now));
        say_number(id, now, 10);
    }
    struct vm_exit x = {0};
    say(id, VM_EXIT, &x, sizeof x);
}

void run(void)
{
    static uint8_t payload[65536];
    set_up();
    say(0, VM_READY, NULL, 0);
    for (;;) {
        struct vm_frame f;
        hear(&f, sizeof f);
        hear(payload, f.length);
        if (f.verb == VM_RESUME || f.verb == VM_QUIESCE)
            say(0, VM_READY, NULL, 0);
        for (uint32_t i = 0; f.verb == VM_TEXT && i < f.length; i++)
            if (text_n + 1 < sizeof text)
                text[text_n++] = (char)payload[i];
        if (f.verb != VM_EXEC)
            continue;
        text[text_n] = 0;
        text_n = 0;
        execute(f.id);
    }
}
