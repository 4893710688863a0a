/* guest/vm/boot.h - a whole machine on this computer: Linux, or a program that wants devices.
 * Only of build/vm-native.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "vm/machine.h"

struct boot {
    const char
        *kernel; /* an Image, or an ELF as for --bare, which then has all devices */
    const char *disks[MACHINE_DISKS]; /* files; the second may be written, others not */
    const char *arguments, *control;
    uint64_t most; /* instructions; 0: no limit */
    uint32_t ram_mb;
    bool counted; /* the same each time: time by instructions, entropy that repeats */
    bool speed;   /* how fast it was, to standard error */
};

/* Runs it until it switches itself off (0), reboots (3), fails (4, with the reason on standard
 * error), has an answer (an ELF's, as of bare.h), or BARE_NO_END, BARE_UNFIT. */
int boot_run(const struct boot *b);
