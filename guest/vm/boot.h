/* guest/vm/boot.h - a whole machine on this computer: Linux, or a program that needs
 * devices. Only of build/vm-native. */
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
    bool counted; /* reproducible: time counts instructions, entropy repeats */
    bool speed;   /* prints its speed to standard error */
};

/* Runs it until it powers off (0), reboots (3), fails (4, with the reason on standard
 * error), has an exit value (an ELF's, as of bare.h), or BARE_NO_END, BARE_UNFIT. */
int boot_run(const struct boot *b);
