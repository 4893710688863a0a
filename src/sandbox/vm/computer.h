/* vm/computer.h - the emulated computer in its world: what the emulator exports is called,
 * what it imports (guest/vm/host.h) is answered.
 *
 * Private to the room vm. Threads: one at a time.
 */
#pragma once
#include "abi/vm.h"
#include "base/base.h"
#include "engine/engine.h"
#include "vm/disk.h"

#define COMPUTER_DISKS 2u /* the root, which nobody writes, and the machine's own */

/* The other end of its control port. Called while it runs, on that thread. */
struct computer_wires {
    /* At most `n` bytes of what was sent to it; 0: none now. */
    size_t (*hear)(void *arg, char *to, size_t n);
    void (*said)(void *arg, struct str bytes);
    void *arg;
};

struct computer_options {
    struct module *module;              /* outlives it */
    struct disk *disks[COMPUTER_DISKS]; /* borrowed */
    uint64_t memory_bytes;              /* of linear memory, see abi/vm.h */
    uint64_t cpu_ns;                    /* computing time in all; 0: no limit */
    struct cancel *cancel;              /* ends what it computes at once; may be NULL */
    struct computer_wires wires;
    bool foreseeable; /* its entropy is the same each time: for images */
};

/* The imports that a module of the emulator is opened with. */
const struct engine_import *computer_imports(size_t *count);

struct computer;
/* NULL and ERR_BUSY (no memory to be had), ERR_CANCELLED, ERR_IO. */
struct computer *computer_open(const struct computer_options *o, struct err *e);
void computer_close(struct computer *c); /* NULL is fine */
SCOPED(computer, computer_close);

/* Begins anew: `kernel` is an Image. ERR_INVALID: it is none, or too large. */
bool computer_boot(struct computer *c, uint32_t ram_mb, struct str kernel,
                   const char *arguments, struct err *e);
/* The same with a bare program at the beginning of RAM. For tests. */
bool computer_start(struct computer *c, uint32_t ram_mb, struct str program,
                    struct err *e);
/* Goes on from an image: its clock continues with this host's. */
bool computer_resume(struct computer *c, struct err *e);

#define COMPUTER_RUNS 0ull /* run it again */
/* Runs about that many instructions. *wake_ns: COMPUTER_RUNS, or it has nothing to do until
 * then (os_mono_ns()), UINT64_MAX being for ever, or until there is something to hear. false:
 * it ended. ERR_GUEST says how, in words for an agent; ERR_LIMIT: its computing time;
 * ERR_CANCELLED. */
bool computer_run(struct computer *c, uint64_t instructions, uint64_t *wake_ns,
                  struct err *e);

/* Leaves as little as possible in memory that is not zero, before it is copied. */
bool computer_settle(struct computer *c, struct err *e);
struct str computer_memory(struct computer *c);
/* Its last words on the console: printable text, borrowed until it runs. */
struct str computer_console(struct computer *c);

struct computer_usage {
    uint64_t cpu_ns, instructions;
    uint64_t memory_bytes; /* pages of its own; 0 where the system does not tell */
};
struct computer_usage computer_usage(struct computer *c);
