/* guest/vm/host.h - all that the machine asks of the world around it: time, chance, what goes
 * in and out of its channels, its disks.
 *
 * In Wasm these are the imports of module "host"; natively, native.c has them. None waits,
 * and none calls the machine. Where bytes are passed they lie in the machine's memory, `at`
 * being an offset in it, and `n` is at most HOST_BYTES_MAX.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "abi/vm.h"

#ifdef __wasm__
#define HOST(name) __attribute__((import_module("host"), import_name(#name))) extern
#else
#define HOST(name) extern
#endif

#define HOST_BYTES_MAX (1u << 20) /* in one call */

/* Nanoseconds of a clock that never goes back. Only differences count: between two runs of
 * a machine (machine_resume()) it may be any other clock. */
HOST(now_ns) uint64_t host_now_ns(void);

/* Bytes that nobody can foretell, fresh in every machine. */
HOST(entropy) void host_entropy(void *at, uint32_t n);

/* Takes what has come for a channel: at most `n` bytes, 0: none now. */
HOST(read) uint32_t host_read(enum vm_channel channel, void *at, uint32_t n);
/* Gives what the machine says: how many bytes of `n` were taken. When fewer, the machine keeps
 * the rest, the guest waits, and it is offered anew at the next machine_run(). Of VM_CONTROL
 * that is how a slow reader holds its writers up; VM_CONSOLE and VM_LOG have to take all, since
 * Linux waits for its terminal with interrupts off. */
HOST(write) uint32_t host_write(enum vm_channel channel, const void *at, uint32_t n);

enum host_disk_op {
    HOST_DISK_READ,
    HOST_DISK_WRITE,
    HOST_DISK_FLUSH,   /* offset, at and n are 0 */
    HOST_DISK_DISCARD, /* the bytes are not needed any more; `at` is 0 and n any size */
    HOST_DISK_ZERO,    /* they read as zeros from now on; `at` is 0 and n any size */
};
/* One whole request to a disk of machine_disk(). Offset and n are multiples of 512, and lie
 * within the disk (as it was told to the machine: whoever answers checks again). false: it
 * failed, which the guest sees as an I/O error. */
HOST(disk)
bool host_disk(uint32_t disk, enum host_disk_op op, uint64_t offset, void *at,
               uint64_t n);

/* The guest does not need these whole pages of RAM any more until it writes them: they may
 * be unmapped. They then hold zeros, or what they held in the image; nothing else. */
HOST(give_back) void host_give_back(void *at, uint64_t n);
