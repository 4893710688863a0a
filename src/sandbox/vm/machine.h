/* vm/machine.h - one machine: an emulated computer in a world of the engine, on a thread
 * of its own. Its control port is a byte stream here.
 *
 * Private to the room vm. Threads: safe. */
#pragma once
#include "abi/vm.h"
#include "base/base.h"
#include "engine/engine.h"
#include "vm/vm.h"

/* ---- images -------------------------------------------------------------- */

/* The installed image: the emulator's module, kernel, root, disk, and the memory of a
 * booted machine of one size of RAM; images of other sizes are made at first use and
 * cached. */
struct images;

/* `folder` as `make vm` fills it; `cache` NULL: only the installed image. Copies both.
 * NULL and ERR_NOT_FOUND (no image), ERR_INVALID (of another build, or damaged),
 * ERR_IO. */
struct images *images_open(struct engine *g, const char *folder, const char *cache,
                           struct err *e);
void images_close(struct images *i); /* no machine is open; NULL is fine */
SCOPED(images, images_close);

/* ---- machines --------------------------------------------------------------- */

/* Called on the machine's thread, one at a time; they must not block for long, nor call
 * machine_close(). */
struct machine_events {
    /* Output of the control port: in order, in pieces of any size. */
    void (*output)(void *arg, struct str bytes);
    /* The last call, exactly one, also after machine_stop(): the reason, with a message
     * for an agent. ERR_GUEST (panic, powered off, halted, a trap), ERR_LIMIT (CPU time,
     * disk), ERR_MEMORY, or the error given to machine_stop(). */
    void (*ended)(void *arg, const struct err *why);
    /* CPU time so far; now and then, and at its end. false and *why: stop it. Or NULL. */
    bool (*computed)(void *arg, uint64_t cpu_ns, struct err *why);
    void *arg;
};

struct machine_options {
    uint32_t ram_mb; /* 64 .. 1024 */
    /* of written blocks; beyond that its disk fails with ENOSPC or EIO */
    uint64_t disk_bytes;
    uint64_t cpu_ns;                  /* CPU time in all; UINT64_MAX: no limit */
    const struct vm_network *network; /* outlives it; NULL: it has none */
    struct account *account;          /* of its network; the same */
    struct fuse *files;               /* its mounts; the same */
    struct cancel *cancel;     /* of the opening only, which may boot; may be NULL */
    struct machine_copy *from; /* it continues from that; NULL: from its image */
};

struct machine;

/* A machine at one moment. It never changes, and ends before its images. Threads: safe. */
struct machine_copy {
    atomic_int users;
    const struct baked *of; /* of the image, which is of its size of RAM */
    struct memory_copy *memory;
    struct disk_copy *disk;
    struct buf inbox; /* sent to it, and not read yet */
};
struct machine_copy *machine_copy_new(void); /* one user, and nothing else */
struct machine_copy *machine_copy_hold(struct machine_copy *c);
void machine_copy_drop(struct machine_copy *c); /* NULL is fine */
SCOPED(machine_copy, machine_copy_drop);

/* A machine that continues from its image or a copy; the first message to it has to be VM_RESUME.
 * Its clock and its virtio-rng are this host's. NULL and ERR_NOT_FOUND (no image of that
 * size, and no cache), ERR_BUSY (no memory, no thread), ERR_CANCELLED, ERR_TIMEOUT,
 * ERR_IO. */
struct machine *machine_open(struct images *i, const struct machine_options *o,
                             const struct machine_events *events, struct err *e);
/* Copies bytes into the control port, in order; never blocks. The caller keeps to the
 * windows of abi/vm.h. No effect on a machine that has ended. */
void machine_send(struct machine *m, struct str bytes);
/* Stops it soon, from any thread, also from `output`; its computation is interrupted.
 * `ended` gets `why`, unless it has ended by itself. */
void machine_stop(struct machine *m, const struct err *why);
/* Copies it, between two of its steps; it goes on. `with` is called at that moment, on its
 * thread; may be NULL. NULL and ERR_BUSY (no memory), ERR_IO, or why it has ended. */
struct machine_copy *machine_copy(struct machine *m, void (*with)(void *arg), void *arg,
                                  struct err *e);
/* Stops it and joins its thread. NULL is fine. Not on the machine's thread. */
void machine_close(struct machine *m);

/* As vm_expose(), vm_unexpose(), and the ports of struct vm_info; of one that has ended there are none. */
bool machine_expose(struct machine *m, struct vm_port *p, struct err *e);
bool machine_unexpose(struct machine *m, uint16_t port);
size_t machine_ports(struct machine *m, struct vm_port out[static VM_PORTS_MAX]);

struct machine_usage {
    uint64_t cpu_ns;       /* CPU time of its thread until now */
    uint64_t memory_bytes; /* private pages */
    uint64_t disk_bytes;   /* written, less what was discarded */
};
struct machine_usage machine_usage(struct machine *m); /* also when it has ended */
