/* vm/commands.h - commands that run in a machine, their sessions, input and results.
 *
 * Threads: safe. What blocks, blocks its caller alone.
 */
#pragma once
#include "vm/vm.h"

#define VM_TIMEOUT_DEFAULT_NS ((uint64_t)60 * 1000000000)
#define VM_TIMEOUT_MAX_NS ((uint64_t)24 * 3600 * 1000000000)
#define VM_OUTPUT_DEFAULT \
    ((uint64_t)1 << 20) /* bytes kept of each of stdout and stderr */
#define VM_OUTPUT_MAX ((uint64_t)64 << 20)
#define VM_ENV_BYTES ((size_t)60 << 10) /* of cwd and env together */
#define VM_SESSION_NAME_MAX 40u         /* bytes of a session's name */

enum vm_stream { VM_STREAM_OUT, VM_STREAM_ERR };

/* Input typed while a command runs: bytes for its standard input, their end, the size of
 * the terminal, signals; from any thread. Created before the command, and used for
 * one. */
struct vm_keyboard;
struct vm_keyboard *vm_keyboard_new(void);
void vm_keyboard_free(struct vm_keyboard *k); /* after its command; NULL is fine */
SCOPED(vm_keyboard, vm_keyboard_free);
/* Takes as many bytes as there is room for, without waiting; returns their number, 0 also
 * after the end. */
size_t vm_keyboard_offer(struct vm_keyboard *k, struct str bytes);
/* Takes all of them. Waits until the command has begun, and while 256 KB are queued and none
 * consumed. false: the command has ended, or reads no more, or vm_keyboard_end(). */
bool vm_keyboard_type(struct vm_keyboard *k, struct str bytes);
void vm_keyboard_end(struct vm_keyboard *k); /* no more bytes will come */
void vm_keyboard_resize(struct vm_keyboard *k, uint16_t rows, uint16_t columns);
void vm_keyboard_signal(struct vm_keyboard *k, int number); /* Linux's, to all of it */

/* A command. Zero and NULL mean the default. All is borrowed for the call. */
struct vm_exec {
    struct str command; /* for bash: any bytes but NUL */
    /* The name of the long-lived shell to run in: letters, digits, "._-"; empty:
     * "default". Commands of one session wait for each other. */
    struct str session;
    bool apart; /* in a process of its own instead, without a session */
    /* For this command alone. */
    const char *cwd;
    const char *const *env; /* "NAME=value" */
    size_t env_count;
    struct str input; /* standard input; no pointer: /dev/null. Or by `keyboard` */
    /* With the wait for the session; at most VM_TIMEOUT_MAX_NS. UINT64_MAX: none. */
    uint64_t timeout_ns;
    /* Bytes kept of each of stdout and stderr: of longer output the first and the last
     * part. With `unkept` nothing: `output` gets it all. */
    uint64_t output_bytes;
    bool unkept;
    bool pty; /* a terminal: stdin, stdout and stderr are one. Implies apart */
    uint16_t rows, columns; /* of it; 24 and 80 */
    /* Receives output as it is printed, on the caller's thread. A slow one delays this
     * command alone. */
    void (*output)(void *arg, enum vm_stream which, struct str bytes);
    void *output_arg;
    /* Sends SIGTERM to the whole command (of a terminal SIGHUP before it), SIGKILL a
     * second later. Only this call waits. */
    struct cancel *cancel;
    struct vm_keyboard *keyboard;
};

/* Appends a word, after a space if it is not the first, quoted for bash. */
void vm_put_word(struct buf *command, struct str word);

struct vm_result {
    struct buf stdout_bytes, stderr_bytes; /* unaltered: the first part and the last */
    uint64_t stdout_lost, stderr_lost;     /* bytes left out between them */
    size_t stdout_gap, stderr_gap;         /* bytes of the first part */
    int exit_code;                         /* 128+n for signal n, as in a shell */
    bool timed_out, cancelled;
    bool shell_ended; /* the session's shell: the next command gets a new one */
    bool held;        /* background processes kept its outputs open, and were detached */
    bool out_of_memory; /* the machine ran out of memory meanwhile */
    bool fresh; /* the first command of its machine, though the owner had one before */
    char before[256]; /* when fresh: how that machine ended */
    uint64_t wall_ns; /* as the machine tells */
    /* The host's CPU time for the machine meanwhile. If other commands ran at the same
     * time, at most what the machine says of this command's processes. */
    uint64_t cpu_ns;
};
void vm_result_done(struct vm_result *r); /* one of zeros is fine */

/* Runs it and waits. true: it ran, whatever its exit code, also if it timed out or was
 * cancelled. false and *e: ERR_INVALID, ERR_LIMIT (size of the command, too many sessions
 * or commands: nothing ran), ERR_BUSY (the session was not free in time, or the machine
 * has no room: nothing ran), ERR_CANCELLED (before it ran, or the machine was stopped),
 * ERR_GUEST, ERR_LIMIT (the machine failed, or exceeded a limit: it has ended). The
 * caller frees the result in any case; it has the output until then. */
bool vm_exec(struct vm *m, const struct vm_exec *x, struct vm_result *r, struct err *e);
/* The same without a thread that waits. `wake` is called when vm_exec_look() has work,
 * with locks of this room held: it must not call into it. NULL and *e: there is nothing
 * to end. Borrows all of `x` until vm_exec_end(). */
struct vm_command;
struct vm_command *vm_exec_begin(struct vm *m, const struct vm_exec *x,
                                 void (*wake)(void *arg), void *arg, struct err *e);
/* Continues it; passes output on this thread, one at a time. false: still running; look
 * again when woken, or at *look_ns of os_mono_ns(). */
bool vm_exec_look(struct vm_command *c, uint64_t *look_ns);
/* As vm_exec(), and frees it; no wakes afterwards. A command that still runs is cancelled
 * and ends by itself: the result has the output until now. */
bool vm_exec_end(struct vm_command *c, struct vm_result *r, struct err *e);
/* Ends the session's shell and all its processes. ERR_NOT_FOUND, or as vm_exec(). */
bool vm_session_close(struct vm *m, struct str session, struct err *e);
