/* abi/vm.h - what the host, the emulated machine (guest/vm) and the program that is PID 1 in
 * it (guest/vm/init) share: how memory is laid out, and the frames on the control port.
 *
 * Everything that comes from the guest is untrusted: the host checks each length and number,
 * and drops a machine that breaks the rules. Init does likewise: bytes that are no frame, or
 * more than it gave leave for, end the machine (a line on the console says why).
 */
#pragma once
#include <stdint.h>

#include "abi/plan.h"

/* ---- the emulator's linear memory ------------------------------------------------------- */

/* The emulator's own data lies below; RAM begins here and is all that follows. A module has
 * room for the largest RAM; what a machine does not use is never touched. The whole linear
 * memory between two calls is the state of the machine: there are no mutable globals but
 * the stack pointer, which is back at its beginning. */
#define VM_RAM_AT 0x04000000u /* 64 MiB: decoded code needs room */
#define VM_RAM_MIN_MB 64u
#define VM_RAM_MAX_MB 1024u
#define VM_RAM_DEFAULT_MB 512u

/* ---- imports of the emulator, module "host" (guest/vm/host.h declares them in C) --------- */
/* channel numbers of host.read and host.write */
enum vm_channel { VM_CONSOLE = 0, VM_CONTROL = 1, VM_LOG = 2 };
/* why vm_run() came back */
enum vm_pause {
    VM_RAN = 0,    /* its instructions are used up */
    VM_IDLE = 1,   /* waits for an interrupt: until vm_wake_ns(), or for input */
    VM_OFF = 2,    /* powered off, by the SBI */
    VM_REBOOT = 3, /* wanted to start anew */
    VM_FAILED = 4, /* panic, or a state that cannot go on; vm_reason() has words */
};

/* ---- files of the host ------------------------------------------------------------------ */

#define VM_FILES_TAG "cloche" /* of virtio-fs */
/* Bytes of one request, or of its reply: 512 KiB of data, and heads. */
#define VM_FILES_BYTES ((512u << 10) + 4096u)
/* Where init mounts it: a folder for each mount, by its number, which is bound to its place. */
#define VM_FILES_AT "/run/cloche/mounts"

/* ---- the machine's network: sockets of the host ------------------------------------------ */

/* The machine chooses a socket's number, below VM_NET_INBOUND, and may use it anew once it has
 * closed it. The host chooses those from there on, of connections to the machine. */
#define VM_NET_IDS 512u
#define VM_NET_INBOUND 448u
enum vm_net_kind {
    VM_NET_TCP = 0,
    VM_NET_UDP = 1,
    /* ICMP's echo, or ICMPv6's; its port is 0. A message, either way, is a sequence number (2 bytes,
     * the higher one first) and the data: an echo that is sent, and the reply that came. */
    VM_NET_ECHO = 2,
};
/* Why net_connect() or net_resolve() does not begin. */
enum vm_net_refusal {
    VM_NET_DENIED = -1, /* by the policy */
    VM_NET_FULL = -2,   /* too many, or too much, already */
    VM_NET_UNREACHABLE = -3,
};
/* Of net_send() and net_receive(). */
enum vm_net_result { VM_NET_NONE = -1, VM_NET_GONE = -2 };
/* A bit each. */
enum vm_net_events {
    VM_NET_OPENED = 1 << 0, /* the connection is there */
    VM_NET_FAILED = 1 << 1, /* it will not be: refused. Of UDP: nobody took a datagram */
    VM_NET_READABLE = 1 << 2, /* behind VM_NET_NONE */
    VM_NET_WRITABLE = 1 << 3, /* behind a net_send() that took less than all */
    VM_NET_LOST = 1 << 4,     /* it will not be: no way there, or no answer */
    /* A new connection to the machine's port that is in bits 16 to 31. The machine connects to it,
     * or closes it. */
    VM_NET_ACCEPTED = 1 << 5,
    /* Of UDP: its way takes packets of no more than the bytes that are in bits 16 to 31, IP's header
     * with them; what is longer, and may not be cut up, is lost. */
    VM_NET_NARROW = 1 << 6,
};
struct vm_net_event {
    uint32_t id;
    uint32_t events; /* enum vm_net_events */
};
#define VM_NET_ADDRESSES 16u
/* What net_receive() gives for net_resolve(), then `text_n` bytes that say why, if it was refused. */
struct vm_net_answer {
    uint32_t status; /* RCODE of DNS: 0, 2 (SERVFAIL), 3 (NXDOMAIN) or 5 (REFUSED) */
    uint32_t ttl_s;
    uint32_t count; /* addresses; IPv4 as ::ffff:a.b.c.d */
    uint32_t text_n;
    uint8_t addresses[VM_NET_ADDRESSES][16];
};

/* ---- the control port: frames, both ways ------------------------------------------------ */

#define VM_PORT_NAME "cloche.control" /* of virtio's console */

/* Little-endian, 12 bytes, then `length` bytes of payload. */
struct vm_frame {
    uint32_t length; /* of the payload, at most VM_FRAME_MAX */
    uint32_t
        id; /* of the exec, chosen by the host and not used twice; 0: of the machine */
    uint16_t verb;
    uint16_t zero;
};
#define VM_FRAME_MAX 65536u
#define VM_COMMAND_MAX \
    (1u << 20) /* bytes of a command: it comes in several VM_TEXT frames */
#define VM_SESSIONS_MAX 32u
#define VM_EXECS_MAX \
    64u /* at once, over all sessions, those that wait for theirs included */
/* Output that an exec may have under way before the host has given credit. */
#define VM_WINDOW (256u << 10)
/* Input that the host may have under way before VM_INPUT_TAKEN. */
#define VM_INPUT_WINDOW (256u << 10)

enum vm_verb {
    /* host -> init */
    VM_RESUME = 1, /* struct vm_resume: answered by VM_READY. First after each start */
    VM_TEXT,       /* id; bytes of the command, in order, before its VM_EXEC */
    VM_EXEC,    /* id; struct vm_exec_head, then cwd, then env "K=V" each with its NUL */
    VM_INPUT,   /* id; bytes for standard input; none: its end */
    VM_SIGNAL,  /* id; u32 signal for all of it */
    VM_RESIZE,  /* id; u16 rows, u16 columns */
    VM_CREDIT,  /* id; u32 bytes that the host has taken */
    VM_CLOSE,   /* id 0; u32 session: ends it and all that runs in it; VM_READY */
    VM_QUIESCE, /* sync, drop what is cheap to have again; VM_READY */
    VM_PING,    /* u64, any: VM_PONG with the same. Answered whatever runs */
    VM_POWER_OFF, /* ends everything, writes what is unwritten, powers off */
    VM_MOUNT,     /* struct vm_mount_head, then the place, an absolute path: VM_MOUNTED */
    VM_UNMOUNT,   /* the same: VM_MOUNTED */
    /* init -> host */
    VM_READY = 64, /* id 0. Also once by itself, when it has booted */
    VM_STARTED, /* id: it is its turn. Comes with what is said next of it at the latest */
    VM_OUT,     /* id; bytes of standard output (of both, with a terminal) */
    VM_ERR,     /* id; bytes of standard error */
    VM_INPUT_TAKEN, /* id; u32 bytes of input that were written: credit for the host */
    VM_EXIT,        /* id; struct vm_exit: last frame of that id */
    VM_REFUSED,     /* id; text: it was not begun. Last frame of that id */
    VM_PONG,
    VM_MOUNTED, /* id 0; struct vm_mounted */
};
/* A command that was sent SIGTERM or SIGKILL leaves nothing in the background: what there
 * is of it then is killed within a second.
 * VM_INPUT, VM_SIGNAL, VM_RESIZE and VM_CREDIT for an id that has ended are ignored: they
 * may have crossed its last frame. */

/* Behind it may stand certificates in PEM, at most VM_CERTIFICATES_MAX bytes: what runs in
 * the machine trusts them besides those of the image. */
struct vm_resume {
    uint64_t wall_ns; /* since 1970, for CLOCK_REALTIME */
    uint8_t entropy[64];
    uint64_t
        machine; /* a number of this machine's own, for its host name and machine id */
    uint64_t disk_bytes; /* that it may write to its disk; 0: all that is there */
    uint8_t network;     /* enum lan_ways; 0: it has none. Its addresses are to be set */
    uint8_t mac[6];      /* of its card, if it has one */
    uint8_t zero;
};
#define VM_CERTIFICATES_MAX (VM_FRAME_MAX - (uint32_t)sizeof(struct vm_resume))

struct vm_mount_head {
    uint32_t number;    /* the folder of VM_FILES_AT */
    uint32_t read_only; /* 1: it is */
};
struct vm_mounted {
    uint32_t number;
    uint32_t failed; /* errno; 0: done */
};

enum vm_exec_flags {
    VM_EXEC_PTY = 1 << 0,   /* a terminal: stdin, stdout and stderr are one. Without a
                               command: an interactive shell */
    VM_EXEC_INPUT = 1 << 1, /* input frames will come; else it reads from /dev/null */
    VM_EXEC_APART = 1 << 2, /* a process of its own (bash -c), not the session's shell;
                               implied by a terminal */
};
struct vm_exec_head {
    uint32_t
        session; /* 1 and up: a long-lived shell, made when first named. Its execs wait
                         for each other, but those apart, which need none (0 will do) */
    uint32_t flags;
    uint32_t
        timeout_ms; /* 0: none; from its turn on. SIGTERM to all of it, SIGKILL a second
                            later */
    uint16_t rows, columns;
    uint32_t cwd_length; /* then the path; 0: where the session is; apart: /root */
    uint32_t env_length; /* then the variables, for this command alone */
};

enum vm_exit_flags {
    VM_EXIT_TIMEOUT = 1 << 0,
    VM_EXIT_SIGNAL = 1 << 1, /* status is the number of the signal that ended its process,
                                which is the shell (with VM_EXIT_SHELL) or stood apart */
    VM_EXIT_SHELL = 1 << 2,  /* the session's shell ended with it; the next exec has a
                                fresh one */
    VM_EXIT_HELD = 1 << 3,   /* something in the background kept its outputs open; what it
                                writes from now on is thrown away */
    VM_EXIT_OOM = 1 << 4,    /* something of it was killed because memory ran out */
};
struct vm_exit {
    uint32_t status; /* 0..255, as the shell says it; see VM_EXIT_SIGNAL */
    uint32_t flags;  /* enum vm_exit_flags */
    uint64_t wall_ns,
        cpu_ns; /* that it took, from its turn on; cpu of all its processes */
};
