/* vm/vm.h - Linux machines: RISC-V computers emulated in Wasm (guest/vm), each a world of
 * its own on a thread of its own.
 *
 * A machine begins as a private mapping of an image that was booted when it was built, so
 * one is ready in milliseconds. Commands run in long-lived shells inside of it, several at
 * once; how they end is told apart from what they print. What runs in a machine reaches
 * nothing outside, and whatever it does to the machine costs that machine alone: it is
 * dropped, the call says what happened, and the next one finds a fresh machine.
 *
 * Who may have machines is decided above; here only limits hold. Owners are any texts, and
 * an owner's machines are found by no other.
 *
 * Threads: safe. What blocks, blocks its caller alone.
 */
#pragma once
#include "abi/vm.h" /* sizes of RAM, of a command; sessions and commands at once */
#include "base/base.h"
#include "engine/engine.h"

/* ---- all machines of a process ------------------------------------------- */

#define VM_MACHINES_DEFAULT 16u                         /* of all owners */
#define VM_PER_OWNER_DEFAULT 4u                         /* of one */
#define VM_IDLE_DEFAULT_NS ((uint64_t)900 * 1000000000) /* without use, then stopped */
#define VM_OWNER_MAX 512u                               /* bytes of an owner's text */

struct vms;

/* Is there a machine in the folder that `make vm` filled? */
bool vm_is_installed(const char *folder);

/* Zero means the default. */
struct vms_options {
    struct engine *engine; /* outlives them */
    const char *image;     /* the folder that `make vm` filled */
    const char *cache;     /* where images of other sizes of RAM are kept; NULL: such
                              machines are refused */
    unsigned machines_max; /* at once, of all owners */
    unsigned per_owner;    /* at once, where no budget says otherwise */
    uint64_t ram_bytes;    /* of those that run together: a further one that would pass it
                              waits for a place. By itself three quarters of what this
                              computer, or this process' group, has */
    uint64_t wait_ns;      /* how long a start waits for a place before ERR_BUSY; 5 s */
};

/* Looks at nothing yet: that no image is installed is told by the first start. */
struct vms *vms_open(const struct vms_options *o);
void vms_close(
    struct vms *s); /* stops all; NULL is fine. No call is under way, none held */
SCOPED(vms, vms_close);
/* Is an image installed? false and what vm_start() would fail with. */
bool vms_ready(struct vms *s, struct err *e);

/* ---- a machine ------------------------------------------------------------ */

#define VM_DISK_MAX \
    ((uint64_t)2 << 30) /* bytes that it may write: so large it is formatted */
#define VM_DISK_DEFAULT VM_DISK_MAX
#define VM_CPU_DEFAULT_NS ((uint64_t)3600 * 1000000000) /* computing time in all */
#define VM_HANDLE 26u /* "vm_", 22 characters of base64url, and a NUL */

/* The payer of a machine, which may be several owners together, and what all machines of
 * that payer may be and do. Zero: no limit. */
struct vm_budget {
    struct str payer;  /* empty: the owner */
    unsigned machines; /* at once */
    uint32_t ram_mb;   /* at once, together */
    uint64_t cpu_ns;   /* computing time together, within 24 hours, counted by the hour */
    const char *hint;  /* a constant, told with what was used up; may be NULL */
};

/* The settings of a new machine. Zero means the default. */
struct vm_options {
    uint32_t ram_mb;     /* another than the image's is booted at first use, and kept */
    uint64_t disk_bytes; /* of its own: over the image, gone with it */
    uint64_t cpu_ns; /* computing time in all; then it is stopped. UINT64_MAX: no limit */
    uint64_t
        idle_ns; /* it is stopped when it ran nothing for so long; UINT64_MAX: never */
    struct vm_budget budget;
    struct cancel *cancel; /* of the start; may be NULL */
};

struct vm;

/* A new machine that is ready, held for the caller. NULL and ERR_NOT_FOUND (no image is
 * installed), ERR_INVALID (an option), ERR_LIMIT (the budget, of which machines of the
 * payer's other owners that were not used for a while make place, or there were 16 sizes of
 * RAM already), ERR_BUSY (no place, though machines that nobody had used for a while were
 * stopped), ERR_CANCELLED, ERR_TIMEOUT or ERR_GUEST (it did not come up), ERR_IO. */
struct vm *vm_start(struct vms *s, struct str owner, const struct vm_options *o,
                    struct err *e);
/* The owner's machine of that handle, held for the caller. Empty: the owner's default one,
 * which is made, of `o` (NULL: the defaults), where there is none that runs; who comes
 * meanwhile waits for it. NULL and ERR_NOT_FOUND (there is none, it is another's, or it
 * has ended: then the message says how), or as vm_start(). */
struct vm *vm_find(struct vms *s, struct str owner, struct str handle,
                   const struct vm_options *o, struct err *e);
/* Gives the hold back; the machine goes on. NULL is fine. */
void vm_release(struct vm *m);
SCOPED(vm, vm_release);
/* Ends it at once. What runs in it fails with ERR_CANCELLED. Fine if it has ended. */
void vm_stop(struct vm *m);
const char *vm_handle(const struct vm *m); /* while it is held */

enum vm_state { VM_STATE_RUNNING, VM_STATE_STOPPED, VM_STATE_FAILED };
const char *vm_state_name(enum vm_state s); /* "running", "stopped", "failed" */

struct vm_info {
    char handle[VM_HANDLE];
    enum vm_state state;
    bool is_default;
    char reason[256]; /* why it does not run any more; else "" */
    uint32_t ram_mb;
    int64_t started_ms;          /* since 1970 */
    uint64_t idle_ns;            /* since something ran in it; 0: something runs */
    uint64_t idle_max_ns;        /* when it is stopped; UINT64_MAX: never */
    uint64_t cpu_ns, cpu_max_ns; /* computed; allowed (UINT64_MAX: without limit) */
    uint64_t memory_bytes;       /* of the host, this machine's alone */
    uint64_t disk_bytes;         /* written */
    unsigned execs, sessions;    /* now */
};
void vm_look(struct vm *m, struct vm_info *out);
/* The owner's machines, those that ended last among them, in the order of their start.
 * `each` must not call into this room. */
typedef void vm_info_fn(void *arg, const struct vm_info *info);
void vm_list(struct vms *s, struct str owner, vm_info_fn *each, void *arg);

/* All that run, of all owners. */
struct vms_totals {
    unsigned machines;
    uint64_t ram_bytes;    /* that they may take */
    uint64_t memory_bytes; /* that they have taken of the host */
};
struct vms_totals vms_total(struct vms *s);

/* ---- commands -------------------------------------------------------------- */

#define VM_TIMEOUT_DEFAULT_NS ((uint64_t)60 * 1000000000)
#define VM_TIMEOUT_MAX_NS ((uint64_t)24 * 3600 * 1000000000)
#define VM_OUTPUT_DEFAULT ((uint64_t)1 << 20) /* bytes kept of stdout, and of stderr */
#define VM_OUTPUT_MAX ((uint64_t)64 << 20)
#define VM_ENV_BYTES ((size_t)60 << 10) /* of cwd and env together */
#define VM_SESSION_NAME_MAX 40u         /* bytes of a session's name */

enum vm_stream { VM_STREAM_OUT, VM_STREAM_ERR };

/* Input typed while a command runs: bytes for its standard input, its end, the size of
 * the terminal, signals; from any thread. Made before the command, and of use for one. */
struct vm_keyboard;
struct vm_keyboard *vm_keyboard_new(void);
void vm_keyboard_free(struct vm_keyboard *k); /* after its command; NULL is fine */
SCOPED(vm_keyboard, vm_keyboard_free);
/* As many of the bytes as there is room for now, without waiting; 0 too once it ended. */
size_t vm_keyboard_offer(struct vm_keyboard *k, struct str bytes);
void vm_keyboard_end(struct vm_keyboard *k); /* no more bytes will come */
void vm_keyboard_resize(struct vm_keyboard *k, uint16_t rows, uint16_t columns);
void vm_keyboard_signal(struct vm_keyboard *k, int number); /* Linux's, to all of it */

/* A command. Zero and NULL mean the default. All is borrowed for the call. */
struct vm_exec {
    struct str command; /* given to bash: any bytes without a NUL */
    /* A name of letters, digits, "._-"; empty: "default". The long-lived shell that it runs
     * in; commands of one wait for each other. */
    struct str session;
    bool apart; /* in a process of its own instead, which knows no session */
    /* For this command alone. */
    const char *cwd;
    const char *const *env; /* "NAME=value" */
    size_t env_count;
    struct str input; /* standard input; without a pointer: /dev/null. Or by `keyboard` */
    /* Its turn in the session included; at most VM_TIMEOUT_MAX_NS. UINT64_MAX: none, for a
     * person's terminal. */
    uint64_t timeout_ns;
    /* Kept of stdout, and of stderr: of more, the first and the last part with a mark
     * between. Or, `unkept`, nothing: `output` gets it all. */
    uint64_t output_bytes;
    bool unkept;
    bool pty; /* a terminal: stdin, stdout and stderr are one. Implies apart */
    uint16_t rows, columns; /* of it; 24 and 80 */
    /* Receives output as it is printed, on the caller's thread. A slow one holds up this
     * command alone. */
    void (*output)(void *arg, enum vm_stream which, struct str bytes);
    void *output_arg;
    /* SIGTERM for all of it, SIGKILL a second later. Nobody else waits for it meanwhile. */
    struct cancel *cancel;
    struct vm_keyboard *keyboard;
};

/* Appends a word, behind a space where it is not the first, so that bash reads it back as it
 * is, whatever is in it. */
void vm_put_word(struct buf *command, struct str word);

struct vm_result {
    struct buf stdout_bytes, stderr_bytes; /* unaltered: the first part and the last */
    uint64_t stdout_lost, stderr_lost;     /* bytes between them that are not kept */
    size_t stdout_gap, stderr_gap;         /* where: bytes of the first part */
    int exit_code;                         /* 128+n of signal n, as a shell says */
    bool timed_out, cancelled;
    bool shell_ended; /* the session's: the next command has a new one */
    bool held; /* what it left in the background kept its outputs, and was let go */
    bool out_of_memory; /* the machine's memory ran out meanwhile */
    bool fresh;         /* first of its machine, though the owner had one before */
    char before[256];   /* when fresh: how that one ended */
    uint64_t wall_ns;   /* as the machine tells */
    /* CPU time that this computer spent on the machine meanwhile. Where others ran in it
     * at the same time, no more of it than the machine says that its processes had. */
    uint64_t cpu_ns;
};
void vm_result_done(struct vm_result *r); /* one of zeros is fine */

/* Runs it, and waits. true: it ran, whatever its exit code, also when it was out of time or
 * cancelled while it ran. false and *e: ERR_INVALID, ERR_LIMIT (size of the command, too
 * many sessions or commands at once: nothing ran), ERR_BUSY (its session was not free
 * within the time, or the machine has no room for it: nothing ran), ERR_CANCELLED (before
 * it ran, or the machine was stopped), ERR_GUEST, ERR_LIMIT (the machine failed, or used up
 * what it may: what happened; it has ended). The result is to be ended in any case, and
 * holds what was printed until then. */
bool vm_exec(struct vm *m, const struct vm_exec *x, struct vm_result *r, struct err *e);
/* The same without a thread that waits. `wake` is called whenever it is time to look, with
 * locks of this room held: it calls nothing here. NULL and *e: nothing is to be ended. All
 * of `x` is borrowed until vm_exec_end(). */
struct vm_command;
struct vm_command *vm_exec_begin(struct vm *m, const struct vm_exec *x,
                                 void (*wake)(void *arg), void *arg, struct err *e);
/* Goes on with it; its output is told on this thread, one at a time. false: it is not
 * over; look again when it wakes, or when os_mono_ns() is *look_ns. */
bool vm_exec_look(struct vm_command *c, uint64_t *look_ns);
/* As vm_exec(), and frees it; wakes no more. One that is not over is called off, and ends
 * by itself soon: the result is what was printed until now. */
bool vm_exec_end(struct vm_command *c, struct vm_result *r, struct err *e);
/* Ends the session's shell and all that runs in it. ERR_NOT_FOUND, or as vm_exec(). */
bool vm_session_close(struct vm *m, struct str session, struct err *e);
