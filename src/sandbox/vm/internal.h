/* vm/internal.h - how a machine is spoken with, shared by the files of the room above
 * machine.h.
 *
 * Locks: `vms.lock` (the table) before `vm.lock` (what is said) before machine.c's own.
 * Nobody outside of the room is called with one held.
 */
#pragma once
#include <pthread.h>

#include "abi/vm.h"
#include "vm/account.h"
#include "vm/frames.h"
#include "vm/keep.h"
#include "vm/machine.h"
#include "vm/vm.h"

#define SECOND_NS ((uint64_t)1000000000)

/* How long is waited before something is done about a machine. */
struct patience {
    uint64_t start_ns;   /* for it to say that it is ready */
    uint64_t silence_ns; /* of one that runs a command: then it is asked */
    uint64_t answer_ns;  /* for its answer: then it is dropped */
    uint64_t kill_ns;    /* between SIGTERM and SIGKILL */
    uint64_t grace_ns;   /* for the end of what was killed: then it is dropped */
    uint64_t spare_ns;   /* without use: then it makes place for another */
};

/* ---- a command under way -------------------------------------------------- */

/* Output that its caller has not taken yet. Bytes keep their order; which of the two
 * streams spoke first is exact for the first BATCH_RUNS turns. */
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

/* Under its machine's lock while it is in the list. */
struct exec {
    struct exec *next;
    uint32_t id;
    pthread_cond_t changed;  /* anything below, its turn, or its machine ended */
    void (*wake)(void *arg); /* the same, with the lock; NULL: nobody wants it */
    void *wake_arg;
    struct batch printed;
    uint32_t
        uncredited;   /* bytes printed for which no credit was given: at most VM_WINDOW */
    bool beside;      /* another command ran in the machine at the same time */
    uint32_t untaken; /* bytes of input sent and not taken: at most VM_INPUT_WINDOW */
    bool takes_input; /* it was begun with VM_EXEC_INPUT, and input has not ended */
    bool cancelled;   /* its cancel has fired, and SIGTERM is sent */
    uint64_t cancelled_ns;
    bool ended; /* one of these came: */
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
    uint32_t number; /* to the machine */
    bool taken;      /* a command runs in it */
    struct turn *first, **last;
};

/* ---- a machine -------------------------------------------------------------- */

struct vm {
    struct vms *in;
    const struct patience *patience;
    char handle[VM_HANDLE];
    char *owner;
    bool is_default;
    struct vm_options made_of; /* with the defaults filled in; no `cancel`, no `payer` */
    struct account *account;   /* the payer's */
    uint64_t charged_ns;       /* to it; of the machine's thread alone */
    int64_t started_ms;
    char before[256]; /* how the owner's default machine before it ended; "" none */

    /* Under vms.lock. */
    struct vm *next;
    unsigned holds;
    bool starting; /* its vm_start() has not returned */

    pthread_mutex_t lock;    /* of all below */
    struct machine *machine; /* NULL: not there yet, or not any more */
    bool over; /* it has ended, or is being ended: nothing is said to it or heard of it */
    bool stopped; /* by us, and not for what it did */
    struct err why;
    struct frames frames;
    struct exec *execs;
    struct session *sessions;
    unsigned exec_count, session_count;
    uint32_t last_id, last_session;
    unsigned unready; /* VM_READY that are to come */
    pthread_cond_t ready;
    bool told_fresh;
    uint64_t heard_ns, asked_ns; /* last frame; VM_PING that has no answer, or 0 */
    uint64_t used_ns;            /* the end of the last command */
    struct machine_usage usage;  /* at its end */
};

/* For waits with a limit in os_mono_ns(). */
void cond_init(pthread_cond_t *c);
/* false: it is later than that. UINT64_MAX: no limit. */
bool cond_wait_until(pthread_cond_t *c, pthread_mutex_t *lock, uint64_t until_ns);

/* ---- port.c: the control port. With vm.lock held, unless said otherwise ------ */

void port_said(void *vm, struct str bytes);       /* machine_events, without the lock */
void port_ended(void *vm, const struct err *why); /* machine_events, without the lock */
void port_send(struct vm *m, const struct buf *frames);
/* Sends one frame. */
void port_tell(struct vm *m, uint32_t id, uint16_t verb, struct str payload);
void port_tell_u32(struct vm *m, uint32_t id, uint16_t verb, uint32_t number);
/* Ends it, unless it has: all that wait hear why. `stopped`: not for what it did. */
void port_end(struct vm *m, bool stopped, const struct err *why);
/* Asks a machine that was silent for long, drops one that does not answer; answers when
 * to look again. */
uint64_t port_check(struct vm *m);
/* Waits for as many VM_READY as are to come. ERR_TIMEOUT, ERR_CANCELLED, or why it ended. */
bool port_await_ready(struct vm *m, uint64_t until_ns, struct cancel *cancel,
                      struct err *e);
bool port_computed(void *vm, uint64_t cpu_ns,
                   struct err *why); /* machine_events, without the lock */
uint64_t port_cpu_ns(struct vm *m);  /* that it computed so far */
/* Fails with why it ended; `ran`: something of the caller's may have run. */
bool port_over(struct vm *m, bool ran, struct err *e);

/* With vm.lock held: whoever waits for it looks again. */
void exec_wake(struct exec *x);

/* ---- exec.c ------------------------------------------------------------------- */

/* Ends those that nobody waits for any more, as far as they have ended; with vms.lock,
 * which is let go meanwhile. Answers when to look again. */
uint64_t exec_look_left(struct vms *s);

/* ---- session.c. With vm.lock held --------------------------------------------- */

/* Joins those who wait for the session of that name, making it where there is none. NULL
 * and ERR_INVALID (the name) or ERR_LIMIT. */
struct session *session_join(struct vm *m, struct str name, struct turn *t,
                             struct err *e);
bool session_has_turn(const struct session *s, const struct turn *t);
/* It waits no more; `taken`: the session is its own until session_leave(). */
void session_unjoin(struct session *s, struct turn *t, bool taken);
void session_leave(struct session *s);
void session_wake(struct vm *m); /* all that wait look again */
void session_free_all(struct vm *m);

/* ---- keyboard.c ----------------------------------------------------------------- */

/* Between these its functions reach the command. Without a lock; NULL is fine. */
void keyboard_attach(struct vm_keyboard *k, struct vm *m, struct exec *x);
void keyboard_detach(struct vm_keyboard *k);
/* With vm.lock held: as much as there is room for, at most. */
size_t input_send(struct vm *m, struct exec *x, struct str bytes);
void input_end(struct vm *m, struct exec *x);

/* ---- table.c ------------------------------------------------------------------------ */

/* Adds the hint to why a budget is used up. Answers false. */
bool budget_refuse(const struct vm_budget *b, struct err *e);
/* Without a lock: a machine has ended, and the keeper joins its thread. */
void vms_notice(struct vms *s);

/* ---- machines.c ------------------------------------------------------------------ */

/* For tests, before the first machine: whoever has to be waited for, for less long. */
void vms_hurry(struct vms *s, const struct patience *p);

/* Waits until the command has begun, and while it takes nothing and 256 KB wait for it.
 * false: the command has ended, or reads no more. */
bool vm_keyboard_type(struct vm_keyboard *k, struct str bytes);
