/* vm/internal.h - the protocol with a machine, shared by the files of the room above
 * machine.h.
 *
 * Lock order: `vms.lock` (the table), `vm.lock` (the connection), machine.c's own. No
 * function outside of the room is called with one held. */
#pragma once
#include <pthread.h>

#include "abi/vm.h"
#include "vm/account.h"
#include "vm/commands.h"
#include "vm/frames.h"
#include "vm/keep.h"
#include "vm/machine.h"

#define SECOND_NS ((uint64_t)1000000000)

/* Times after which something is done about a machine. */
struct vm_timeouts {
    uint64_t start_ns;   /* until it has to report ready */
    uint64_t silence_ns; /* without a frame while it runs a command: then it is pinged */
    uint64_t answer_ns;  /* without a reply to that: then it is dropped */
    uint64_t kill_ns;    /* between SIGTERM and SIGKILL */
    uint64_t grace_ns;   /* from SIGKILL to the end of the command: then it is dropped */
    uint64_t spare_ns;   /* unused: then it may be stopped for another */
};

/* ---- a command under way -------------------------------------------------- */

/* Output that the caller has not taken yet. The order of bytes within a stream is kept;
 * the order of the two streams is exact for the first BATCH_RUNS runs. */
#define BATCH_RUNS 256u
struct batch {
    struct buf bytes[2]; /* of each stream */
    struct {
        enum vm_stream which;
        uint32_t n;
    } runs[BATCH_RUNS];
    size_t count;
};
void batch_init(struct batch *b);
void batch_done(struct batch *b);
/* ERR_BUSY: no memory. */
bool batch_put(struct batch *b, enum vm_stream which, struct str bytes, struct err *e);

/* In the list of its machine, under its lock. */
struct exec {
    struct exec *next;
    uint32_t id;
    pthread_cond_t changed;  /* any member below, its turn, or the end of its machine */
    void (*wake)(void *arg); /* for the same, with the lock held; NULL: none */
    void *wake_arg;
    struct batch printed;
    uint32_t uncredited; /* bytes printed and not credited, at most VM_WINDOW */
    bool beside;         /* another command ran at the same time */
    uint32_t untaken; /* bytes of input sent and not consumed, at most VM_INPUT_WINDOW */
    bool takes_input; /* begun with VM_EXEC_INPUT, and its input has not ended */
    bool cancelled;   /* its cancel fired, and SIGTERM was sent */
    uint64_t cancelled_ns;
    bool ended; /* with one of these: */
    struct vm_exit exit;
    bool refused;
    char refusal[200];
};

/* ---- sessions --------------------------------------------------------------- */

/* A command that waits for its turn in a session. */
struct turn {
    struct turn *next;
    struct exec *of;
};

struct session {
    struct session *next;
    char name[VM_SESSION_NAME_MAX + 1];
    uint32_t number; /* in the protocol */
    bool taken;      /* a command runs in it */
    struct turn *first, **last;
};

/* ---- a machine -------------------------------------------------------------- */

struct vm {
    struct vms *in;
    const struct vm_timeouts *timeouts;
    char handle[VM_HANDLE];
    char *owner;
    bool is_default;
    struct vm_options made_of; /* defaults filled in; no `cancel`, no `payer` */
    struct fuse *files;        /* what is mounted in it */
    struct account *account;   /* of the payer */
    uint64_t charged_ns;       /* CPU time charged to it; on the machine's thread only */
    int64_t started_ms;
    char before[256]; /* how the owner's last default machine ended; "" none */
    uint32_t past_id; /* commands up to that were of a machine that this is a copy of */
    char name[VM_NAME_MAX + 1];   /* it is kept under that; "": it is not */
    char origin[VM_NAME_MAX + 1]; /* of the copy that it continues from */
    int name_lock;         /* the name is this process' while it is open; -1: none */
    struct vm_shelf shelf; /* where it is kept; its texts are the machine's */

    /* Under vms.lock. */
    struct vm *next;
    unsigned holds;
    uint64_t freeze_ns; /* not to be frozen before that: it could not be */
    bool freeze;        /* the keeper is to freeze it */
    bool starting;      /* vm_start() has not returned yet */

    pthread_mutex_t lock;    /* guards all below */
    struct machine *machine; /* NULL: not yet, or not any more */
    bool over;               /* ended or ending: the connection is closed */
    bool stopped;            /* by us, not for an error */
    struct err why;
    struct frames frames;
    struct exec *execs;
    struct session *sessions;
    unsigned exec_count, session_count;
    uint32_t last_id, last_session;
    struct vm_mounted_at *mounts;
    unsigned unready; /* VM_READY still expected */
    unsigned copies;  /* being made; `ready` tells of a change */
    pthread_cond_t ready;
    bool reported_fresh;
    uint64_t last_frame_ns, asked_ns; /* last frame; VM_PING without reply, or 0 */
    uint64_t used_ns;                 /* end of the last command */
    struct machine_usage usage;       /* at its end */
};

/* request.c: false: ERR_INVALID, ERR_LIMIT. */
bool request_check(const struct vm_exec *of, struct err *e);

/* ---- port.c: the control port. With vm.lock held, unless said otherwise ------ */

void port_output(void *vm, struct str bytes);     /* machine_events, without the lock */
void port_ended(void *vm, const struct err *why); /* machine_events, without the lock */
void port_send(struct vm *m, const struct buf *frames);
/* Sends one frame. */
void port_send_frame(struct vm *m, uint32_t id, uint16_t verb, struct str payload);
void port_send_u32(struct vm *m, uint32_t id, uint16_t verb, uint32_t number);
/* Ends it, unless it has ended: all waits return why. `stopped`: not for an error. */
void port_end(struct vm *m, bool stopped, const struct err *why);
/* Pings a machine that is silent for long, drops a dead one; returns when to look
 * again. */
uint64_t port_check(struct vm *m);
/* Waits for all VM_READY still expected. ERR_TIMEOUT, ERR_CANCELLED, or why it ended. */
bool port_await_ready(struct vm *m, uint64_t until_ns, struct cancel *cancel,
                      struct err *e);
bool port_computed(void *vm, uint64_t cpu_ns,
                   struct err *why); /* machine_events, without the lock */
uint64_t port_cpu_ns(struct vm *m);  /* CPU time until now */
/* Sets the error by which it ended; `ran`: a command of the caller's may have run. */
bool port_over(struct vm *m, bool ran, struct err *e);

/* Wakes those that wait for it; with vm.lock held. */
void exec_wake(struct exec *x);

/* ---- exec.c ------------------------------------------------------------------- */

/* Frees commands without a caller that have ended; releases vms.lock, which is held,
 * meanwhile. Returns when to look again. */
uint64_t exec_look_left(struct vms *s);

/* ---- session.c. With vm.lock held --------------------------------------------- */

/* Queues for the session of that name, created if there is none. NULL and ERR_INVALID
 * (the name) or ERR_LIMIT. */
struct session *session_join(struct vm *m, struct str name, struct turn *t,
                             struct err *e);
bool session_has_turn(const struct session *s, const struct turn *t);
/* Leaves the queue; `taken`: it owns the session until session_leave(). */
void session_unjoin(struct session *s, struct turn *t, bool taken);
void session_leave(struct session *s);
/* One that the machine has already. */
void session_revive(struct vm *m, const char *name, uint32_t number);
void session_wake(struct vm *m); /* wakes all that wait */
void session_free_all(struct vm *m);

/* ---- mount.c ---------------------------------------------------------------------- */

/* VM_MOUNTED; with vm.lock held. false: nothing was asked. */
bool mounts_heard(struct vm *m, struct str payload);
void mounts_free_all(struct vm *m);
/* Appends the place of each, with a NUL. With vm.lock held, as the next one. */
void mounts_places(const struct vm *m, struct buf *out);
/* Frees a place that the machine remembers from before it was copied. */
void mounts_take_past(struct vm *m, struct str place);

/* ---- keyboard.c ----------------------------------------------------------------- */

/* Connects the keyboard to a command, until keyboard_detach(). Lockless; NULL is fine. */
void keyboard_attach(struct vm_keyboard *k, struct vm *m, struct exec *x);
void keyboard_detach(struct vm_keyboard *k);
/* Sends as much as there is room for; returns the bytes. With vm.lock held. */
size_t input_send(struct vm *m, struct exec *x, struct str bytes);
void input_end(struct vm *m, struct exec *x);

/* ---- table.c ------------------------------------------------------------------------ */

/* Appends the hint to a budget's error. Returns false. */
bool budget_refuse(const struct vm_budget *b, struct err *e);
/* A machine has ended, and the keeper has to join its thread. Without a lock. */
void vms_notice(struct vms *s);

/* ---- machines.c ------------------------------------------------------------------ */

/* Shorter waits, for tests; before the first machine. */
void vms_hurry(struct vms *s, const struct vm_timeouts *p);
