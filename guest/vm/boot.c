/* Runs a whole machine. */
#include "vm/boot.h"
#include "vm/bare.h"
#include "vm/elf.h"
#include "vm/host.h"
#include "vm/outside.h"
#include "vm/ram.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define SLICE 200000u /* instructions between two looks at an ELF's `tohost` */

static int unfit(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s; nothing was run\n", what, why);
    return BARE_UNFIT;
}

static const char *load_image(const uint8_t *file, size_t n, const struct boot *b)
{
    uint8_t *at = ram_at(RAM_BASE + MACHINE_KERNEL, n);
    if (!at)
        return "it is larger than RAM";
    memcpy(at, file, n);
    return machine_boot(n, b->arguments) ? NULL : machine_reason();
}

/* *tohost: where an ELF writes its exit value; NULL for an Image. */
static const char *load(const struct boot *b, const volatile uint64_t **tohost)
{
    size_t n = 0;
    uint8_t *file = bare_read(b->kernel, &n);
    if (!file)
        return strerror(errno);
    const char *wrong;
    struct program p;
    *tohost = NULL;
    if (n < 4 || memcmp(file, "\177ELF", 4) != 0)
        wrong = load_image(file, n, b);
    else if (!(wrong = elf_load(file, n, &p))) {
        machine_start(p.entry);
        *tohost = (const void *)ram_at(p.tohost, 8);
    }
    free(file);
    return wrong;
}

static int run(const struct boot *b, const volatile uint64_t *tohost)
{
    for (;;) {
        enum vm_pause pause = machine_run(SLICE);
        if (tohost && *tohost)
            return *tohost >> 1 > 255 ? 255 : (int)(*tohost >> 1);
        if (pause == VM_FAILED)
            fprintf(stderr, "vm-native: the machine failed: %s\n", machine_reason());
        if (pause > VM_IDLE)
            return pause == VM_OFF ? 0 : (int)pause;
        if (b->most && machine_retired() >= b->most)
            return BARE_NO_END;
        if (pause == VM_IDLE)
            outside_wait(machine_wake_ns());
    }
}

static const char *add_disks(const struct boot *b, const char **which)
{
    for (uint32_t i = 0; i < MACHINE_DISKS; i++) {
        uint64_t bytes;
        if (!b->disks[i])
            continue;
        *which = b->disks[i];
        const char *wrong = outside_disk(i, b->disks[i], i != 1, &bytes);
        if (wrong)
            return wrong;
        machine_disk(i, bytes, i != 1);
    }
    return NULL;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int boot_run(const struct boot *b)
{
    uint64_t bytes = (uint64_t)b->ram_mb << 20;
    uint8_t *ram = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (ram == MAP_FAILED)
        return unfit(b->kernel, "there is not enough memory for the machine's RAM");
    if (b->counted)
        outside_repeat();
    machine_init(ram, bytes);
    if (b->counted)
        machine_count_time();
    const char *which = b->control,
               *wrong = b->control ? outside_control(b->control) : NULL;
    if (!wrong)
        wrong = add_disks(b, &which);
    if (wrong)
        return unfit(which, wrong);
    const volatile uint64_t *tohost = NULL;
    if ((wrong = load(b, &tohost)))
        return unfit(b->kernel, wrong);

    outside_terminal();
    double start = seconds();
    int status = run(b, tohost);
    double took = seconds() - start;
    if (b->speed)
        fprintf(stderr, "%" PRIu64 " instructions, %.0f MIPS\n", machine_retired(),
                (double)machine_retired() / took / 1e6);
    return status;
}
