/* The machine with a test host: bare programs of guest/vm/test, hostile ones with many
 * seeds (under the sanitizers in MODE=asan), and the effects that a host sees. */
#include "vm/device.h"
#include "vm/elf.h"
#include "vm/generation.h"
#include "vm/host.h"
#include "vm/machine.h"
#include "vm/plic.h"
#include "vm/ram.h"
#include "vm/virtio.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define RAM_BYTES (64u << 20)
#define SECTORS 2048u
#define FOLDER "build/guest/vm/test/"

/* ---- the test host ----------------------------------------------------------------- */

static struct {
    uint8_t *ram;
    uint64_t now_ns, step_ns;
    uint8_t disks[2][SECTORS * 512];
    bool disks_fail;
    char said[65536]; /* on VM_LOG and the console */
    size_t said_n;
    char heard[256]; /* on VM_CONTROL */
    size_t heard_n;
    uint64_t chance;
} host;

uint64_t host_now_ns(void)
{
    return host.now_ns += host.step_ns; /* time goes on with each look */
}

uint64_t host_wall_ns(void)
{
    return 0;
}

void host_entropy(void *at, uint32_t n)
{
    assert_in_range(n, 1, HOST_BYTES_MAX);
    for (uint32_t i = 0; i < n; i++) {
        host.chance = host.chance * 6364136223846793005u + 1442695040888963407u;
        ((uint8_t *)at)[i] = (uint8_t)(host.chance >> 56);
    }
}

uint32_t host_read(enum vm_channel channel, void *at, uint32_t n)
{
    (void)channel;
    memset(at, 'x', n);
    return n > 5 ? 5 : n;
}

uint32_t host_write(enum vm_channel channel, const void *at, uint32_t n)
{
    assert_in_range(n, 1, HOST_BYTES_MAX);
    if (channel == VM_CONTROL) { /* a little at a time */
        uint32_t took = n > 7 ? 7 : n - n / 2;
        if (host.heard_n + took < sizeof host.heard)
            memcpy(host.heard + host.heard_n, at, took);
        host.heard_n += took;
        return took;
    }
    size_t room = sizeof host.said - 1 - host.said_n;
    memcpy(host.said + host.said_n, at, n < room ? n : room);
    host.said_n += n < room ? n : room;
    return n;
}

bool host_disk(uint32_t disk, enum host_disk_op op, uint64_t offset, void *at, uint64_t n)
{
    assert_in_range(disk, 0, 1);
    assert_true(offset % 512 == 0 && n % 512 == 0 && offset <= sizeof host.disks[0] &&
                n <= sizeof host.disks[0] - offset);
    assert_true(op == HOST_DISK_READ || op == HOST_DISK_FLUSH || disk == 1);
    assert_true((op != HOST_DISK_READ && op != HOST_DISK_WRITE) || n <= HOST_BYTES_MAX);
    if (host.disks_fail)
        return false;
    uint8_t *here = host.disks[disk] + offset;
    if (op == HOST_DISK_READ)
        memcpy(at, here, n);
    else if (op == HOST_DISK_WRITE)
        memcpy(here, at, n);
    else
        memset(here, 0, n);
    return true;
}

void host_give_back(void *at, uint64_t n)
{
    uint8_t *p = at;
    assert_true(p >= host.ram && n % 4096 == 0 && (uint64_t)(p - host.ram) % 4096 == 0 &&
                n <= RAM_BYTES - (uint64_t)(p - host.ram));
    memset(at, 0, n);
}

/* ---- programs ---------------------------------------------------------------------- */

/* Starts a machine with a program of guest/vm/test, whose random numbers follow from
 * `seed`. Returns the address of `tohost`. */
static const volatile uint64_t *begin(const char *name, uint64_t seed)
{
    char path[128];
    snprintf(path, sizeof path, FOLDER "%s.elf", name);
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s: it was not built", path);
    static uint8_t file[1 << 20];
    size_t n = fread(file, 1, sizeof file, f);
    fclose(f);
    static const char mark[16] = "SEED-of-a-test:";
    uint8_t *at = memmem(file, n, mark, sizeof mark);
    assert_non_null(at);
    memcpy(at + sizeof mark, &seed, sizeof seed);

    if (host.ram)
        munmap(host.ram, RAM_BYTES);
    host.ram =
        mmap(NULL, RAM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(host.ram, MAP_FAILED);
    host.said_n = host.heard_n = 0;
    host.disks_fail = false;
    host.step_ns = 1000;
    host.chance = seed;
    for (uint32_t i = 0; i < SECTORS; i++)
        for (int d = 0; d < 2; d++) {
            memset(host.disks[d] + 512 * i, 0, 512);
            memcpy(host.disks[d] + 512 * i, &i, 4);
        }
    machine_init(host.ram, RAM_BYTES);
    machine_disk(0, sizeof host.disks[0], true);
    machine_disk(1, sizeof host.disks[1], false);
    static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
    machine_network(LAN_WAY_V4, mac);
    struct program p;
    assert_null(elf_load(file, n, &p));
    machine_start(p.entry);
    return (const void *)ram_at(p.tohost, 8);
}

static const char *said(void)
{
    host.said[host.said_n] = 0;
    return host.said;
}

/* Runs until the program has ended, or `most` instructions. */
static enum vm_pause run(const volatile uint64_t *tohost, uint64_t most)
{
    enum vm_pause p = VM_RAN;
    while (!*tohost && p <= VM_IDLE && machine_retired() < most)
        if ((p = machine_run(200000)) == VM_IDLE) {
            uint64_t due = machine_wake_ns();
            if (due == UINT64_MAX)
                break;
            host.now_ns = due > host.now_ns ? due : host.now_ns;
        }
    return p;
}

static void passes(const char *name)
{
    const volatile uint64_t *tohost = begin(name, 1);
    run(tohost, 2000000000);
    if (*tohost != 1)
        fail_msg("%s: %s%s", name, *tohost ? "" : "it did not end; ", said());
}

static void memory_is_seen_as_sv39_says(void **state)
{
    (void)state;
    passes("mmu");
}

static void traps_interrupts_and_the_sbi_are_as_the_manuals_say(void **state)
{
    (void)state;
    passes("traps");
}

static void devices_do_what_virtio_says(void **state)
{
    (void)state;
    passes("devices");
    assert_non_null(strstr(said(), "this was said on port 0\n"));
    assert_int_equal(host.heard_n, 53);
    assert_memory_equal(host.heard,
                        "this was said on port 1, in two pieces; and this too\n", 53);
}

static void a_hostile_driver_harms_nobody(void **state)
{
    (void)state;
    const char *seeds = getenv("CLOCHE_SEEDS");
    for (uint64_t seed = 2, n = seeds ? strtoull(seeds, NULL, 10) : 12; n; n--, seed++) {
        const volatile uint64_t *tohost = begin("hostile", seed);
        host.disks_fail = seed % 5 == 0;
        enum vm_pause p = run(tohost, 400000000);
        /* With an odd seed it may have destroyed itself. */
        if (seed % 2 == 0 && (*tohost != 1 || p > VM_IDLE))
            fail_msg("seed %ju: ended %d, after %ju instructions: %s %s", (uintmax_t)seed,
                     (int)*tohost, (uintmax_t)machine_retired(), said(),
                     machine_reason());
    }
}

/* ---- effects on the host ----------------------------------------------------------- */

static void start_code(const uint32_t *code, size_t bytes)
{
    begin("traps", 1);
    memcpy(ram_at(RAM_BASE + 0x10000, bytes), code, bytes);
    machine_start(RAM_BASE + 0x10000);
}

static void a_processor_that_can_never_go_on_is_a_failure(void **state)
{
    (void)state;
    static const uint32_t halt[] = {0x10401073, 0x10500073}; /* csrw sie, zero; wfi */
    start_code(halt, sizeof halt);
    assert_int_equal(machine_run(1000000), VM_FAILED);
    assert_non_null(strstr(machine_reason(), "interrupts"));
    assert_int_equal(machine_run(1000000), VM_FAILED);
    static const uint32_t nowhere[] = {0x10501073, 0}; /* csrw stvec, zero; illegal */
    start_code(nowhere, sizeof nowhere);
    assert_int_equal(machine_run(1000000), VM_FAILED);
    assert_non_null(strstr(machine_reason(), "handler"));
}

/* However few instructions a run has left at that moment. */
static void it_is_found_out_at_every_moment(void **state)
{
    (void)state;
    static const uint32_t nowhere[] = {0x10501073, 0}; /* csrw stvec, zero; illegal */
    for (uint64_t limit = 1; limit < 40; limit++) {
        start_code(nowhere, sizeof nowhere);
        enum vm_pause p = VM_RAN;
        for (unsigned i = 0; i < 100 && p == VM_RAN; i++)
            p = machine_run(limit);
        assert_int_equal(p, VM_FAILED);
    }
}

static void what_is_no_kernel_is_refused(void **state)
{
    (void)state;
    begin("traps", 1);
    assert_false(machine_boot(4096, ""));
    assert_non_null(strstr(machine_reason(), "Image"));
    uint8_t *image = ram_at(RAM_BASE + MACHINE_KERNEL, 64);
    memcpy(image + 56, "RSC\x05", 4);
    memset(image + 16, 0x7f, 8); /* its size */
    assert_false(machine_boot(4096, ""));
    assert_non_null(strstr(machine_reason(), "memory"));
    memset(image + 16, 0, 8);
    char *arguments = calloc(1, MACHINE_ARGUMENTS_MAX + 1);
    memset(arguments, 'a', MACHINE_ARGUMENTS_MAX);
    assert_false(machine_boot(4096, arguments));
    arguments[MACHINE_ARGUMENTS_MAX - 1] = 0;
    assert_true(machine_boot(4096, arguments));
    free(arguments);
    assert_false(machine_boot(UINT64_MAX, ""));
}

/* wfi until stimecmp = time + a0 * 100 ns, then `time` to a1, again and again. */
static const uint32_t sleeper[] = {
    0x02000293, /* li t0, 32 */
    0x10429073, /* csrw sie, t0 */
    0x000f4537, /* li a0, 0xf4000: a tenth of a second, in units of 100 ns */
    0xc01022f3, /* csrr t0, time */
    0x00a282b3, /* add t0, t0, a0 */
    0x14d29073, /* csrw stimecmp, t0 */
    0x10500073, /* wfi */
    0xc01025f3, /* csrr a1, time */
    0x800202b7, /* lui t0, 0x80020 */
    0x02029293, /* slli t0, t0, 32 */
    0x0202d293, /* srli t0, t0, 32 */
    0x00b2b023, /* sd a1, 0(t0) */
    0xfddff06f, /* j to `time` */
};

static uint64_t told_time(void)
{
    uint64_t t;
    memcpy(&t, ram_at(RAM_BASE + 0x20000, 8), 8);
    return t;
}

static void a_sleeping_machine_is_idle_until_its_timer(void **state)
{
    (void)state;
    host.now_ns = 5000000000;
    start_code(sleeper, sizeof sleeper);
    assert_int_equal(machine_run(1000000), VM_IDLE);
    uint64_t due = machine_wake_ns();
    assert_in_range(due, 5090000000, 5110000000);
    assert_int_equal(machine_run(1000000), VM_IDLE);
    assert_int_equal(told_time(), 0);
    host.now_ns = due;
    assert_int_equal(machine_run(1000000), VM_IDLE);
    assert_in_range(told_time(), 990000, 1010000);
}

static void a_copy_of_a_machine_goes_on_where_it_stood(void **state)
{
    (void)state;
    host.now_ns = 5000000000;
    start_code(sleeper, sizeof sleeper);
    assert_int_equal(machine_run(1000000), VM_IDLE);
    host.now_ns = 17; /* of another computer */
    machine_resume();
    assert_int_equal(machine_run(1000000), VM_IDLE);
    assert_int_equal(told_time(), 0);
    uint64_t due = machine_wake_ns();
    assert_in_range(due, 90000000, 110000000);
    host.now_ns = due;
    machine_run(1000000);
    assert_in_range(told_time(), 990000, 1010000);
}

static uint64_t word(uint64_t address, uint32_t size)
{
    uint64_t value = 0;
    assert_true(device_read(address, size, &value));
    return value;
}

static void a_copy_of_a_machine_is_told_that_it_is_one(void **state)
{
    (void)state;
    start_code(sleeper, sizeof sleeper);
    machine_run(1000000);
    uint64_t low = word(GENERATION_BASE, 8), high = word(GENERATION_BASE + 8, 8);
    uint64_t pending = PLIC_BASE + 0x1000;
    assert_false(word(pending, 4) >> GENERATION_LINE & 1);
    machine_resume();
    assert_true(word(GENERATION_BASE, 8) != low && word(GENERATION_BASE + 8, 8) != high);
    assert_true(word(pending, 4) >> GENERATION_LINE & 1);
}

static void what_the_host_asks_of_devices_is_in_their_configuration(void **state)
{
    (void)state;
    begin("traps", 1);
    uint64_t console = VIRTIO_BASE + 0x100,
             balloon = VIRTIO_BASE + 4 * VIRTIO_SIZE + 0x100;
    assert_int_equal(word(console, 4), 80 | 24 << 16);
    machine_resize(50, 132);
    assert_int_equal(word(console, 4), 132 | 50 << 16);
    assert_int_equal(word(balloon, 4), 0);
    uint64_t generation = word(balloon - 4, 4);
    machine_balloon(32);
    assert_int_equal(word(balloon, 4), 32 * 256);
    assert_int_not_equal(word(balloon - 4, 4), generation);
}

static void a_network_is_a_link_that_is_up(void **state)
{
    (void)state;
    static const uint8_t mac[6] = {2, 3, 4, 5, 6, 7};
    begin("traps", 1);
    uint64_t net = VIRTIO_BASE + 7 * VIRTIO_SIZE + 0x100;
    assert_int_equal(word(net + 6, 2), 1);
    uint64_t generation = word(net - 4, 4);
    machine_network(0, mac);
    assert_int_equal(word(net + 6, 2), 0);
    assert_int_not_equal(word(net - 4, 4), generation);
    machine_network(LAN_WAY_V4, mac);
    assert_int_equal(word(net + 6, 2), 1);
    machine_resume(); /* as another machine, which may have none */
    assert_int_equal(word(net + 6, 2), 0);
    machine_init(host.ram, RAM_BYTES);
    assert_int_equal(word(net + 6, 2), 0);
}

static void counted_time_is_the_same_each_time(void **state)
{
    (void)state;
    uint64_t first = 0, retired = 0;
    for (int i = 0; i < 2; i++) {
        host.now_ns = 5000000000u * (unsigned)(i + 1);
        start_code(sleeper, sizeof sleeper);
        host.step_ns = i ? 1000 : 7;
        machine_count_time();
        assert_int_equal(machine_run(10000), VM_RAN); /* idle time is skipped */
        assert_int_not_equal(told_time(), 0);
        assert_true(!i || (told_time() == first && machine_retired() == retired));
        first = told_time();
        retired = machine_retired();
    }
}

static void what_was_decoded_can_be_forgotten(void **state)
{
    (void)state;
    const volatile uint64_t *tohost = begin("traps", 1);
    for (int i = 0; i < 200 && !*tohost; i++) {
        machine_run(1000);
        machine_forget();
    }
    run(tohost, 2000000000);
    if (*tohost != 1)
        fail_msg("%s", said());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_seen_as_sv39_says),
        cmocka_unit_test(traps_interrupts_and_the_sbi_are_as_the_manuals_say),
        cmocka_unit_test(devices_do_what_virtio_says),
        cmocka_unit_test(a_hostile_driver_harms_nobody),
        cmocka_unit_test(a_processor_that_can_never_go_on_is_a_failure),
        cmocka_unit_test(it_is_found_out_at_every_moment),
        cmocka_unit_test(what_is_no_kernel_is_refused),
        cmocka_unit_test(a_sleeping_machine_is_idle_until_its_timer),
        cmocka_unit_test(a_copy_of_a_machine_goes_on_where_it_stood),
        cmocka_unit_test(a_copy_of_a_machine_is_told_that_it_is_one),
        cmocka_unit_test(what_the_host_asks_of_devices_is_in_their_configuration),
        cmocka_unit_test(a_network_is_a_link_that_is_up),
        cmocka_unit_test(counted_time_is_the_same_each_time),
        cmocka_unit_test(what_was_decoded_can_be_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
