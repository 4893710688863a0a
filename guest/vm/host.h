/* guest/vm/host.h - the machine's imports: time, entropy, channels, disks.
 *
 * In Wasm these are imports of module "host"; natively, outside.c and offline.c have them. None
 * blocks, and none calls the machine. Bytes are passed in the machine's memory, `at`
 * being an offset in it, and `n` at most HOST_BYTES_MAX. */
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

/* Nanoseconds of a monotonic clock. Only differences count: after machine_resume() it may
 * be another clock. */
HOST(now_ns) uint64_t host_now_ns(void);

/* Nanoseconds since 1970, as this computer's clock says; it may go back. */
HOST(wall_ns) uint64_t host_wall_ns(void);

/* Unpredictable bytes, different in every machine. */
HOST(entropy) void host_entropy(void *at, uint32_t n);

/* Reads from a channel: at most `n` bytes, 0: none now. */
HOST(read) uint32_t host_read(enum vm_channel channel, void *at, uint32_t n);
/* Writes to a channel; returns how many of `n` bytes were taken. The machine keeps the
 * rest and offers it again at the next machine_run(); the guest waits. So a slow reader
 * of VM_CONTROL slows its writers; VM_CONSOLE and VM_LOG have to take all, since Linux
 * waits for its terminal with interrupts off. */
HOST(write) uint32_t host_write(enum vm_channel channel, const void *at, uint32_t n);

enum host_disk_op {
    HOST_DISK_READ,
    HOST_DISK_WRITE,
    HOST_DISK_FLUSH,   /* offset, at and n are 0 */
    HOST_DISK_DISCARD, /* the bytes are not needed any more; `at` is 0 and n any size */
    HOST_DISK_ZERO,    /* they read as zeros from now on; `at` is 0 and n any size */
};
/* One whole request to a disk of machine_disk(). Offset and n are multiples of 512 and
 * within the disk; the host checks again. false: it failed, an I/O error in the guest. */
HOST(disk)
bool host_disk(uint32_t disk, enum host_disk_op op, uint64_t offset, void *at,
               uint64_t n);

/* The guest does not need these whole pages of RAM until it writes them: they may be
 * unmapped. They then read as zeros, or as in the image. */
HOST(give_back) void host_give_back(void *at, uint64_t n);

/* One request of FUSE to the host's file server: `n` bytes, at most VM_FILES_BYTES. The bytes of
 * the reply, which is at `to` and has at most `room`; 0: there is none. */
HOST(files) uint32_t host_files(const void *at, uint32_t n, void *to, uint32_t room);

/* ---- the machine's network: sockets of the host's, which abi/vm.h numbers ---------------- */

/* Begins a connection to 16 bytes of address (IPv4 as ::ffff:a.b.c.d). 0: VM_NET_OPENED,
 * VM_NET_FAILED or VM_NET_LOST will come, of UDP at once; or enum vm_net_refusal: then there is
 * nothing to close. */
HOST(net_connect)
int32_t host_net_connect(uint32_t id, enum vm_net_kind kind, const void *address,
                         uint32_t port);
/* How many of n bytes were taken; when fewer, VM_NET_WRITABLE will come. Of UDP one datagram, which
 * is always taken. VM_NET_GONE: it was reset. */
HOST(net_send) int32_t host_net_send(uint32_t id, const void *at, uint32_t n);
/* At most n bytes, 0: the end; of UDP one datagram, cut to n. VM_NET_NONE: VM_NET_READABLE will
 * come. VM_NET_GONE: it was reset. */
HOST(net_receive) int32_t host_net_receive(uint32_t id, void *at, uint32_t n);
HOST(net_shut) void host_net_shut(uint32_t id); /* nothing more is sent */
/* Ends it; `reset`: so that its peer sees that not all was taken. */
HOST(net_close) void host_net_close(uint32_t id, bool reset);
/* Asks for the addresses of a name: `type` is 1 (A) or 28 (AAAA). 0: VM_NET_READABLE will come, and
 * host_net_receive() then gives a struct vm_net_answer; net_close() ends it. */
HOST(net_resolve)
int32_t host_net_resolve(uint32_t id, const void *name, uint32_t n, uint32_t type);
/* What has happened, each once; how many of n. */
HOST(net_events) uint32_t host_net_events(struct vm_net_event *at, uint32_t n);
