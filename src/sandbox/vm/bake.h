/* vm/bake.h - boots and warms up a machine and leaves it idle, so that its memory can
 * become an image.
 *
 * Its clock counts instructions and its entropy is always the same, so that the same
 * parts give the same image.
 *
 * Private to the room vm. */
#pragma once
#include "vm/computer.h"

struct bake {
    struct module *module; /* the emulator, as built */
    uint32_t ram_mb;
    struct str kernel;
    struct disk *disks[COMPUTER_DISKS];
    struct cancel *cancel; /* may be NULL */
};
/* The idle computer, to be copied and closed. NULL and ERR_GUEST (with the end of its
 * console), ERR_TIMEOUT, ERR_CANCELLED, ERR_INVALID, ERR_BUSY. */
struct computer *bake_machine(const struct bake *b, struct err *e);
