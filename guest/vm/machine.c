/* The machine: its parts, and its execution in slices, between which timer and channels
 * are checked. */
#include "vm/machine.h"
#include "vm/clock.h"
#include "vm/device.h"
#include "vm/fdt.h"
#include "vm/generation.h"
#include "vm/hart.h"
#include "vm/host.h"
#include "vm/kinds.h"
#include "vm/net/lan.h"
#include "vm/plic.h"
#include "vm/ram.h"
#include "vm/sbi.h"
#include "vm/uart.h"

/* The places of virtio devices: part of every image, so they never change. */
enum place {
    PLACE_CONSOLE,
    PLACE_DISK_0,
    PLACE_DISK_1,
    PLACE_RNG,
    PLACE_BALLOON,
    PLACE_DISK_2,
    PLACE_DISK_3,
    PLACE_NET,
    PLACE_FS
};
static const uint8_t disk_places[MACHINE_DISKS] = {PLACE_DISK_0, PLACE_DISK_1,
                                                   PLACE_DISK_2, PLACE_DISK_3};

static const uint8_t usual_mac[6] = LAN_MACHINE_MAC;

/* Between two looks at the timer: about a tenth of a millisecond. */
#define SLICE 20000u
/* Traps without an instruction between them. No round has a smaller budget, or a machine
 * at its limit would not be detected. */
#define STUCK 1000u
#define TREE_AT RAM_BASE /* the kernel follows it */

static struct {
    uint32_t places;   /* a bit a place with a device */
    enum vm_pause end; /* VM_RAN: it has not ended */
    const char *reason;
} machine;

/* ---- initialisation ---------------------------------------------------------------- */

void machine_init(uint8_t *ram, uint64_t ram_bytes)
{
    machine.places = 1u << PLACE_CONSOLE | 1u << PLACE_RNG | 1u << PLACE_BALLOON |
                     1u << PLACE_NET | 1u << PLACE_FS;
    machine.end = VM_RAN;
    machine.reason = "";
    ram_init(&the_hart, ram, ram_bytes);
    hart_reset(&the_hart, RAM_BASE);
    clock_init(&the_hart);
    sbi_init(true);
    devices_init();
    virtio_init();
    plic_init(&the_hart);
    uart_init();
    generation_init();
    console_init(PLACE_CONSOLE);
    rng_init(PLACE_RNG);
    balloon_init(PLACE_BALLOON);
    net_init(PLACE_NET, usual_mac);
    fs_init(PLACE_FS);
    lan_init(usual_mac);
}

void machine_disk(uint32_t n, uint64_t bytes, bool read_only)
{
    if (n >= MACHINE_DISKS)
        return;
    blk_init(disk_places[n], n, bytes, read_only);
    machine.places |= 1u << disk_places[n];
}

void machine_count_time(void)
{
    clock_count();
}

static bool fail(const char *reason)
{
    machine.end = VM_FAILED;
    machine.reason = reason;
    return false;
}

static void start(uint64_t entry, const char *arguments)
{
    const struct fdt f = {
        .ram_bytes = ram_size(), .virtio = machine.places, .arguments = arguments};
    fdt_write(&f, ram_at(TREE_AT, FDT_MAX));
    the_hart.pc = entry;
    /* As firmware leaves it: Linux without a PMU never enables `time`. */
    the_hart.scounteren = 7;
    the_hart.x[10] = 0; /* number of the hart */
    the_hart.x[11] = TREE_AT;
}

void machine_start(uint64_t entry)
{
    start(entry, "");
}

bool machine_boot(uint64_t bytes, const char *arguments)
{
    /* Documentation/arch/riscv/boot-image-header.rst */
    const uint8_t *image = ram_at(RAM_BASE + MACHINE_KERNEL, 64);
    if (!image || bytes < 64 || bytes > ram_size() - MACHINE_KERNEL ||
        __builtin_memcmp(image + 56, "RSC\x05", 4) != 0)
        return fail("what was loaded is not an Image of Linux for RISC-V");
    if (virtio_get(image + 16, 8) > ram_size() - MACHINE_KERNEL)
        return fail("the kernel needs more memory than the machine has");
    if (__builtin_strlen(arguments) >= MACHINE_ARGUMENTS_MAX)
        return fail("the kernel's command line is longer than 1,023 bytes");
    start(RAM_BASE + MACHINE_KERNEL, arguments);
    return true;
}

/* ---- execution --------------------------------------------------------------------- */

/* Whether the SBI was asked for an end, or the hart cannot continue. */
static enum vm_pause look(uint64_t retired_before)
{
    bool stuck = the_hart.left <= 0 && the_hart.retired == retired_before;
    if (sbi_ended() != SBI_RUNS)
        machine.end = sbi_ended() == SBI_REBOOT ? VM_REBOOT : VM_OFF;
    else if (the_hart.waiting && !the_hart.sie)
        fail("its processor waits for interrupts, and all of them are switched off");
    else if (!the_hart.waiting && stuck)
        fail("its kernel's trap handler is not where its processor could run it");
    return machine.end;
}

/* Ends a wait when an enabled interrupt is pending. false: it still waits. */
static bool wake(void)
{
    if (the_hart.waiting && !(the_hart.sip & the_hart.sie) && clock_leap(&the_hart))
        clock_check(&the_hart);
    the_hart.waiting = the_hart.waiting && !(the_hart.sip & the_hart.sie);
    return !the_hart.waiting;
}

enum vm_pause machine_run(uint64_t limit)
{
    if (machine.end != VM_RAN)
        return machine.end;
    virtio_poll();
    enum vm_pause pause = VM_RAN;
    for (uint64_t first = the_hart.retired, done = 0; done < limit;
         done = the_hart.retired - first) {
        clock_check(&the_hart);
        if (!wake()) {
            pause = VM_IDLE;
            break;
        }
        uint64_t before = the_hart.retired, left = limit - done;
        left = left < SLICE ? left : SLICE;
        hart_run(&the_hart, left > STUCK ? left : STUCK);
        pause = look(before);
        if (pause != VM_RAN)
            break;
    }
    clock_pause();
    return pause;
}

uint64_t machine_wake_ns(void)
{
    uint64_t timer = clock_due_ns(&the_hart), network = lan_due_ns();
    return timer < network ? timer : network;
}

const char *machine_reason(void)
{
    return machine.reason;
}

/* ---- external events --------------------------------------------------------------- */

void machine_resume(void)
{
    clock_resume();
    generation_renew();
    if (lan.ways)
        machine_network(0, lan.mac);
}

void machine_forget(void)
{
    code_forget();
    tlb_flush(&the_hart);
}

uint64_t machine_retired(void)
{
    return the_hart.retired;
}

void machine_resize(uint16_t rows, uint16_t columns)
{
    console_resize(rows, columns);
}

void machine_balloon(uint32_t mb)
{
    balloon_want(mb);
}

void machine_network(uint32_t ways, const uint8_t mac[6])
{
    if (ways)
        net_switch(true);
    lan_switch(ways, mac);
    if (!ways)
        net_switch(false);
}
