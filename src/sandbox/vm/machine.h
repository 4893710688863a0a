/* vm/machine.h - one machine: an emulated computer in a world of the engine, on a thread
 * of its own. What is said on its control port is a stream of bytes here.
 *
 * Private to the room vm. Threads: safe.
 */
#pragma once
#include "base/base.h"
#include "engine/engine.h"

/* ---- first states of machines -------------------------------------------- */

/* The installed image: the emulator's module, kernel, root, disk, and the memory of a
 * machine that was booted, of one size of RAM; of other sizes made when first asked for
 * and kept in the cache. */
struct images;

/* `folder` as `make vm` fills it; `cache` NULL: only what is installed. Both are copied.
 * NULL and ERR_NOT_FOUND (none is there), ERR_INVALID (it is of another build, or
 * damaged), ERR_IO. */
struct images *images_open(struct engine *g, const char *folder, const char *cache,
                           struct err *e);
void images_close(struct images *i); /* no machine is open; NULL is fine */
SCOPED(images, images_close);

/* ---- machines --------------------------------------------------------------- */

/* Both on the machine's thread, never at the same time; they must not wait for long, nor
 * call machine_close(). */
struct machine_events {
    /* Output of the control port: in order, cut anywhere. */
    void (*said)(void *arg, struct str bytes);
    /* The last call, once, also after machine_stop(): why it runs no more, in words for an
     * agent. ERR_GUEST (panic, powered off, halted, a trap), ERR_LIMIT (computing time,
     * disk), ERR_MEMORY, or what machine_stop() was given. */
    void (*ended)(void *arg, const struct err *why);
    /* Now and then while it computes, and at its end: how long it did so far. false and
     * *why: it may not go on. May be NULL. */
    bool (*computed)(void *arg, uint64_t cpu_ns, struct err *why);
    void *arg;
};

struct machine_options {
    uint32_t ram_mb;       /* 64 .. 1024 */
    uint64_t disk_bytes;   /* that it may write; then its disk fails with ENOSPC or EIO */
    uint64_t cpu_ns;       /* computing time in all; UINT64_MAX: no limit */
    struct cancel *cancel; /* of the opening alone, which may have to boot; may be NULL */
};

struct machine;

/* A machine that goes on from where its image was baked; nothing was said to it yet (the
 * first has to be VM_RESUME), though its clock and its virtio-rng are this host's. NULL and
 * ERR_NOT_FOUND (no image of that size, and no cache), ERR_BUSY (no memory, no thread),
 * ERR_CANCELLED, ERR_TIMEOUT, ERR_IO. */
struct machine *machine_open(struct images *i, const struct machine_options *o,
                             const struct machine_events *events, struct err *e);
/* Puts bytes into the control port, in order; never waits, copies. Whoever speaks keeps to
 * the windows of abi/vm.h. Of a machine that has ended, nothing happens. */
void machine_send(struct machine *m, struct str bytes);
/* Ends it soon, from any thread, also from `said`: what it computes is cut off. `why` is
 * what `ended` gets, unless it has ended by itself. */
void machine_stop(struct machine *m, const struct err *why);
/* Stops it and waits for its thread. NULL is fine. Not on the machine's thread. */
void machine_close(struct machine *m);

struct machine_usage {
    uint64_t cpu_ns;       /* that its thread computed, up to this moment */
    uint64_t memory_bytes; /* pages of its own */
    uint64_t disk_bytes;   /* written, less what was discarded */
};
struct machine_usage machine_usage(struct machine *m); /* also when it has ended */
