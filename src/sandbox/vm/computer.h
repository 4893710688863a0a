/* vm/computer.h - the emulated computer in its world: calls the emulator's exports,
 * implements its imports (guest/vm/host.h).
 *
 * Private to the room vm. Threads: one at a time. */
#pragma once
#include "abi/vm.h"
#include "base/base.h"
#include "engine/copies.h"
#include "vm/disk.h"
#include "vm/network.h"

#define COMPUTER_DISKS 2u /* the root, which is read-only, and the machine's own */

/* The host's end of its control port. Called on its thread, while it runs. */
struct computer_wires {
    /* Copies at most `n` bytes of what was sent to it; 0: none now. */
    size_t (*read)(void *arg, char *to, size_t n);
    void (*write)(void *arg, struct str bytes);
    void *arg;
};

struct computer_options {
    struct module *module;              /* outlives it */
    struct disk *disks[COMPUTER_DISKS]; /* borrowed */
    uint64_t memory_bytes;              /* linear memory, see abi/vm.h */
    uint64_t cpu_ns;                    /* CPU time in all; 0: no limit */
    struct cancel *cancel;              /* stops it at once; may be NULL */
    struct computer_wires wires;
    struct network *network; /* borrowed; NULL: it has none */
    struct fuse *files;      /* the same */
    bool foreseeable;        /* its entropy is always the same, for images */
};

/* The imports of a module of the emulator. */
const struct engine_import *computer_imports(size_t *count);

struct computer;
/* NULL and ERR_BUSY (out of memory), ERR_CANCELLED, ERR_IO. */
struct computer *computer_open(const struct computer_options *o, struct err *e);
void computer_close(struct computer *c); /* NULL is fine */
SCOPED(computer, computer_close);

/* Boots: `kernel` is an Image. ERR_INVALID: another format, or too large. */
bool computer_boot(struct computer *c, uint32_t ram_mb, struct str kernel,
                   const char *arguments, struct err *e);
/* The same with a bare program at the beginning of RAM. For tests. */
bool computer_start(struct computer *c, uint32_t ram_mb, struct str program,
                    struct err *e);
/* Continues from an image; its clock is set to the host's. */
bool computer_resume(struct computer *c, struct err *e);
/* Connects its network card, to a network with these ways (enum lan_ways); 0: disconnects it. */
bool computer_connect(struct computer *c, uint32_t ways, const uint8_t mac[6],
                      struct err *e);
/* As world_copy() and world_show(). */
struct memory_copy *computer_copy(struct computer *c, struct err *e);
bool computer_show(struct computer *c, struct memory_copy *from, struct err *e);

#define COMPUTER_RUNS 0ull /* runnable at once */
/* Runs about that many instructions. *wake_ns: COMPUTER_RUNS, or it is idle until then
 * (os_mono_ns(); UINT64_MAX: for ever) or until there is input. false: it ended.
 * ERR_GUEST with a message for an agent; ERR_LIMIT: its CPU time; ERR_CANCELLED. */
bool computer_run(struct computer *c, uint64_t instructions, uint64_t *wake_ns,
                  struct err *e);

/* Zeroes memory that is not in use, before a copy. */
bool computer_zero_unused(struct computer *c, struct err *e);
struct str computer_memory(struct computer *c);
/* The end of its console output: printable text, borrowed until it runs. */
struct str computer_console(struct computer *c);

struct computer_usage {
    uint64_t cpu_ns, instructions;
    uint64_t memory_bytes; /* private pages; 0 where the system does not say */
};
struct computer_usage computer_usage(struct computer *c);
