/* vm/bake.h - boots a machine, warms it, and lets it come to rest where it can be copied.
 *
 * It runs by a clock that counts its instructions, with entropy that is the same each time,
 * so that the same image comes of the same parts.
 *
 * Private to the room vm.
 */
#pragma once
#include "vm/computer.h"

struct bake {
    struct module *module; /* the emulator as it was built */
    uint32_t ram_mb;
    struct str kernel;
    struct disk *disks[COMPUTER_DISKS];
    struct cancel *cancel; /* may be NULL */
};
/* The computer at rest: to be looked at, copied and closed. NULL and ERR_GUEST (with its
 * last words), ERR_TIMEOUT, ERR_CANCELLED, ERR_INVALID, ERR_BUSY. */
struct computer *bake_machine(const struct bake *b, struct err *e);
