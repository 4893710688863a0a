/* vm/vm.h - Linux machines: RISC-V computers emulated in Wasm (guest/vm), each in a world
 * of its own on a thread of its own.
 *
 * A machine begins as a private mapping of the image of a booted one, so it is ready in
 * milliseconds. Commands run in its long-lived shells, several at once; their exit status
 * is apart from their output. A machine reaches nothing outside but by its network, and
 * damage that its programs do stays in it: the machine is dropped, the call returns the
 * reason, and the next call gets a new machine.
 *
 * Permissions are checked above this room; here are limits only. An owner is any text,
 * and finds only his own machines.
 *
 * Threads: safe. A call that blocks, blocks its caller alone. */
#pragma once
#include "abi/vm.h" /* sizes of RAM, of a command; sessions and commands at once */
#include "base/base.h"
#include "engine/engine.h"

/* ---- all machines of a process ------------------------------------------- */

#define VM_MACHINES_DEFAULT 16u                         /* of all owners */
#define VM_PER_OWNER_DEFAULT 4u                         /* of one owner */
#define VM_IDLE_DEFAULT_NS ((uint64_t)900 * 1000000000) /* unused, until it is stopped */
#define VM_OWNER_MAX 512u                               /* bytes of an owner's text */

struct vms;

/* Whether the folder that `make vm` fills has a machine. */
bool vm_is_installed(const char *folder);

/* Zero means the default. */
struct vms_options {
    struct engine *engine; /* outlives the table */
    const char *image;     /* the folder that `make vm` filled */
    /* for images of other sizes of RAM; NULL: those sizes are refused */
    const char *cache;
    const char *copies; /* the folder of saved copies (copies.h); NULL: there is none */
    bool certificates;  /* machines trust those of the configuration (certificates.h) */
    unsigned machines_max; /* running, of all owners */
    unsigned per_owner;    /* running, if no budget says otherwise */
    /* of all that run: a start that would exceed it waits. Default: three quarters of the
     * memory of this computer, or of this process' group */
    uint64_t ram_bytes;
    uint64_t wait_ns; /* how long a start waits before ERR_BUSY; 5 s */
};

/* Opens nothing yet: the first start reports a missing image. */
struct vms *vms_open(const struct vms_options *o);
/* Stops all; NULL is fine. No call is under way, none held. */
void vms_close(struct vms *s);
SCOPED(vms, vms_close);
/* Whether an image is installed. false and the error of vm_start(). */
bool vms_ready(struct vms *s, struct err *e);

/* ---- a machine ------------------------------------------------------------ */

#define VM_DISK_MAX \
    ((uint64_t)2 << 30) /* bytes of written blocks: the size it is formatted with */
#define VM_DISK_DEFAULT VM_DISK_MAX
#define VM_CPU_DEFAULT_NS ((uint64_t)3600 * 1000000000) /* CPU time in all */
#define VM_HANDLE 26u /* "vm_", 22 characters of base64url, and a NUL */

/* The payer of a machine, who may have several owners, and the limits of all machines of
 * that payer. Zero: no limit. */
struct vm_budget {
    struct str payer;  /* empty: the owner */
    unsigned machines; /* running */
    uint32_t ram_mb;   /* of those together */
    uint64_t cpu_ns;   /* CPU time together, within 24 hours, counted by the hour */
    const char *hint;  /* a constant, added to errors about it; may be NULL */
};

/* Where a payer's copies are saved, and how many of them. Zero: no limit. */
struct vm_shelf {
    struct str payer; /* a word of letters and digits */
    const char *label;
    unsigned count;
    uint64_t bytes;   /* together */
    const char *hint; /* as of struct vm_budget */
};
#define VM_NAME_MAX 64u
#define VM_LABEL_MAX 63u

/* ---- its network ---------------------------------------------------------- */

#define VM_PROXY_PORT 3128u
#define VM_MARK 80u
/* Whom a machine wants to reach. */
struct vm_peer {
    enum vm_net_kind kind;
    const char *const *names; /* that the machine asked for, and that led here */
    size_t name_count;
    uint8_t address[16]; /* IPv4 as ::ffff:a.b.c.d; 127.0.0.1 is this computer */
    uint16_t port;       /* of an echo 0 */
    /* Of whoever allows it: then may_speak() is asked for the server that first bytes name. */
    enum vm_speaks { VM_SPEAKS_ANYTHING, VM_SPEAKS_TLS, VM_SPEAKS_HTTP } speaks;
    bool again;         /* it is connected already: may it stay? */
    char mark[VM_MARK]; /* whoever allows it may write a text, told with the flow */
};

enum vm_flow_end {
    VM_FLOW_ENDED,
    VM_FLOW_RESET,   /* by either end */
    VM_FLOW_FAILED,  /* it came to no connection */
    VM_FLOW_REFUSED, /* by the rules, also while it was open: `why` */
    VM_FLOW_LIMIT,   /* too many connections, or bytes */
    VM_FLOW_IDLE,    /* nothing went through it for too long */
};
/* A connection that is over. */
struct vm_flow {
    enum vm_net_kind kind;
    bool inbound;     /* to the machine's `port`, from `address` */
    bool upgraded;    /* from HTTP to another protocol (101) */
    const char *name; /* "": none led there */
    uint8_t address[16];
    uint16_t port;
    enum vm_flow_end end;
    char why[sizeof((struct err){0}.msg)];
    char mark[VM_MARK];
    uint64_t began_ns; /* os_mono_ns() */
    uint64_t sent_bytes, received_bytes;
};

/* Who may be reached. Its functions are called on the machine's thread at any time while it runs,
 * and have to be quick. What a rule refuses with ERR_NOT_FOUND looks like no network at all. Of
 * open connections the rules are asked again each second. */
struct vm_network {
    /* May the addresses of that name be asked for? Any bytes but NUL. false and *why. */
    bool (*may_resolve)(void *arg, const char *name, struct err *why);
    bool (*may_connect)(void *arg, struct vm_peer *p, struct err *why);
    bool (*may_speak)(void *arg, const struct vm_peer *p, const char *name,
                      struct err *why);
    /* May somebody connect to that exposed port of the machine, or stay connected (`mark` is NULL
     * then)? NULL: nobody may. */
    bool (*may_accept)(void *arg, uint16_t port, char mark[VM_MARK], struct err *why);
    /* Serves a connection to port VM_PROXY_PORT of the gateway, whose other end is this stream
     * socket, and closes it. false: it is not taken. NULL: there is no proxy. */
    bool (*proxy)(void *arg, int fd);
    void (*tell)(void *arg, const struct vm_flow *f); /* may be NULL */
    /* As often as one another: while a machine has it. NULL: it outlives all machines. */
    void (*hold)(void *arg);
    void (*let_go)(void *arg); /* calls nothing of this room */
    void *arg;
    /* Of all machines of a payer together (struct vm_budget); read at each use. */
    _Atomic unsigned connections_max; /* open */
    _Atomic uint64_t bytes_max;       /* both ways, within 24 hours */
    /* Of this machine. */
    _Atomic uint64_t rate_max;   /* bytes a second, both ways; 0: no limit */
    _Atomic unsigned per_second; /* connections begun in a second */
    _Atomic uint64_t idle_ns; /* of TCP without a byte, until it is ended; 0: an hour */
    _Atomic uint64_t
        idle_udp_ns; /* the same of UDP and echoes; 0: a minute, and at most that */
    uint8_t mac[6];  /* zeros: 02:00:00:00:00:01 */
};

#define VM_PORTS_MAX 8u /* exposed, of a machine */
#define VM_PORT_ADDRESS 16u
/* A port of a machine, exposed at a loopback address of this computer. */
struct vm_port {
    uint16_t port;      /* the machine's */
    uint16_t host_port; /* 0: one that is free */
    /* "": one that this machine alone uses; "localhost": 127.0.0.1, and ::1 if there is IPv6 */
    char address[VM_PORT_ADDRESS];
};

/* The settings of a new machine. Zero means the default. */
struct vm_options {
    /* a size other than the image's is booted at first use, and cached */
    uint32_t ram_mb;
    uint64_t disk_bytes; /* written over the image; freed with the machine */
    uint64_t cpu_ns;     /* CPU time in all, until it is stopped. UINT64_MAX: no limit */
    uint64_t idle_ns; /* time without a command, until it is stopped; UINT64_MAX: never */
    struct vm_budget budget;
    const struct vm_network *network; /* NULL: it has none */
    struct cancel *cancel;            /* of the start; may be NULL */
    struct vm_copy
        *from;          /* it continues from this copy (copies.h), with its size of RAM */
    const char *origin; /* what that is called, in struct vm_info; NULL: "" */
    const struct vm_shelf *shelf; /* of a machine that is kept; else not read */
};

struct vm;

/* Starts a machine, held for the caller. NULL and ERR_NOT_FOUND (no image is installed),
 * ERR_INVALID (an option), ERR_LIMIT (the budget, though unused machines of the payer's
 * other owners were stopped, or 16 sizes of RAM already), ERR_BUSY (no place, though
 * unused machines were stopped), ERR_CANCELLED, ERR_TIMEOUT or ERR_GUEST (it did not come
 * up), ERR_IO. */
struct vm *vm_start(struct vms *s, struct str owner, const struct vm_options *o,
                    struct err *e);
/* In an owner's place, for the person alone; an empty text is an owner that has nothing. */
#define VM_ANYBODY ((struct str){NULL, 0})

/* The owner's machine of that handle, held for the caller. Empty: the owner's default
 * machine, started with `o` (NULL: the defaults) if none runs; callers meanwhile wait for
 * it. NULL and ERR_NOT_FOUND (none, another owner's, or ended: the message says how), or
 * as vm_start(). VM_ANYBODY finds a handle of anyone's. */
struct vm *vm_find(struct vms *s, struct str owner, struct str handle,
                   const struct vm_options *o, struct err *e);
/* Releases the hold; the machine goes on. NULL is fine. */
void vm_release(struct vm *m);
SCOPED(vm, vm_release);
/* Exposes a port until vm_unexpose() or the machine's end, and fills in what *p leaves open. Who
 * connects there is connected to the port of the machine, as the network's may_accept() allows; the
 * server in the machine has to listen at 0.0.0.0. false and ERR_INVALID, ERR_CONFLICT (exposed
 * already), ERR_LIMIT, ERR_BUSY (something else listens there), ERR_DENIED, ERR_NOT_FOUND (it has no
 * network card), or as vm_find() if it has ended. */
bool vm_expose(struct vm *m, struct vm_port *p, struct err *e);
/* Connections stay until they end. false: it was not exposed. */
bool vm_unexpose(struct vm *m, uint16_t port);
/* Ends it at once. Its commands fail with ERR_CANCELLED. No effect if it has ended. */
void vm_stop(struct vm *m);
const char *vm_handle(const struct vm *m);                  /* while it is held */
const struct vm_network *vm_network_of(const struct vm *m); /* the same; NULL: none */

enum vm_state { VM_STATE_RUNNING, VM_STATE_STOPPED, VM_STATE_FAILED };
const char *vm_state_name(enum vm_state s); /* "running", "stopped", "failed" */
struct vm_info {
    char handle[VM_HANDLE];
    char name[VM_NAME_MAX + 1]; /* of one that is kept (copies.h); else "" */
    char origin[VM_NAME_MAX + 1];
    enum vm_state state;
    bool is_default;
    char reason[256]; /* why it ended; else "" */
    uint32_t ram_mb;
    int64_t started_ms;          /* since 1970 */
    uint64_t idle_ns;            /* since its last command; 0: one runs */
    uint64_t idle_max_ns;        /* until it is stopped; UINT64_MAX: never */
    uint64_t cpu_ns, cpu_max_ns; /* used; allowed (UINT64_MAX: no limit) */
    uint64_t memory_bytes;       /* its own on the host: private pages, and its share of
                            * those that copies and it have in common */
    uint64_t disk_bytes;         /* written */
    struct vm_port ports[VM_PORTS_MAX]; /* exposed now */
    size_t port_count;
    unsigned execs, sessions;         /* now */
    const struct vm_network *network; /* while the machine is held, or `each` runs */
};
void vm_get_info(struct vm *m, struct vm_info *out);
/* Calls `each` for the owner's machines, recently ended ones included, in the order of
 * their starts; VM_ANYBODY: all owners'. `each` must not call into this room. */
typedef void vm_info_fn(void *arg, const struct vm_info *info);
void vm_list(struct vms *s, struct str owner, vm_info_fn *each, void *arg);

/* All running machines, of all owners. */
struct vms_totals {
    unsigned machines;
    uint64_t ram_bytes;    /* their RAM */
    uint64_t memory_bytes; /* used on the host */
};
struct vms_totals vms_total(struct vms *s);
