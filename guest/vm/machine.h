/* guest/vm/machine.h - the whole machine, for whoever drives it: wasm.c and native.c.
 *
 * There is one machine, and all its state is in static memory and in RAM. Between two calls
 * nothing of it is elsewhere: a copy of that memory is a copy of the machine, and goes on
 * with machine_resume().
 *
 *   machine_init(), machine_disk()..., an Image to MACHINE_KERNEL in RAM, machine_boot(),
 *   then machine_run() again and again. Input needs no notice: each run looks for it.
 *
 * Physical addresses: PLIC 0x0c000000, UART 0x10000000, virtio-mmio 0x10001000 + n * 0x1000
 * with interrupt 1 + n, generation 0x10100000, RAM 0x80000000.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/plan.h"
#include "abi/vm.h"

#define MACHINE_DISKS 4u         /* at most; the guest sees the n-th as /dev/vda and on */
#define MACHINE_KERNEL 0x200000u /* offset in RAM of the Image */
#define MACHINE_ARGUMENTS_MAX 1024u /* bytes of a kernel's command line, with its NUL */

/* Initialises a machine that is off. `ram`: zeros, whole pages, VM_RAM_MIN_MB ..
 * VM_RAM_MAX_MB. */
void machine_init(uint8_t *ram, uint64_t ram_bytes);

/* Connects disk `n` of that many bytes, whole sectors of 512, before the start. */
void machine_disk(uint32_t n, uint64_t bytes, bool read_only);

/* For reproducible images, before the start: the clock counts instructions, and skips
 * idle time if a timer is set. Until machine_resume(). */
void machine_count_time(void);

/* Starts the kernel, `bytes` of an Image at MACHINE_KERNEL in RAM (Linux's header is
 * checked), with `arguments` as its command line. false: see machine_reason(). */
bool machine_boot(uint64_t bytes, const char *arguments);
/* Starts a program without a kernel's header at `entry`, with the same devices and SBI. */
void machine_start(uint64_t entry);

/* Runs about `limit` instructions (the last round may exceed it by a page of code).
 * VM_OFF, VM_REBOOT and VM_FAILED are final: further runs return the same. VM_IDLE: run
 * it again at machine_wake_ns(), or as soon as host_read() has input, or host_write()
 * takes what it refused. */
enum vm_pause machine_run(uint64_t limit);
/* When an idle machine's timer is due, on host_now_ns(); UINT64_MAX: none is set. */
uint64_t machine_wake_ns(void);
const char *machine_reason(void); /* after VM_FAILED: one sentence for people */

/* Continues a copy of the memory as a machine of its own: guest time goes on from the
 * pause by this host's clock; the guest's kernel is told that it is another machine, and
 * mixes in fresh entropy before it runs anything (vmgenid). Its network is disconnected:
 * what was connected over it is reset. */
void machine_resume(void);
/* Drops caches (decoded code, translations) and zeroes them, which makes the image
 * smaller. */
void machine_forget(void);

uint64_t machine_retired(void);                       /* instructions, since the start */
void machine_resize(uint16_t rows, uint16_t columns); /* the console's terminal */
/* Asks the guest to give up this many MB of its RAM (balloon). */
void machine_balloon(uint32_t mb);
/* Connects the network, with these ways (enum lan_ways), or disconnects it (0); initially
 * disconnected. `mac` is the machine's address, which its init has to set (the driver has
 * read the default); frames with another are dropped. */
void machine_network(uint32_t ways, const uint8_t mac[6]);
