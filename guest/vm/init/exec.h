/* vm/init/exec.h - commands under way, from their first VM_TEXT to their VM_EXIT.
 *
 * Private to exec.c, stream.c and main.c.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "abi/vm.h"
#include "vm/init/shell.h"
#include "vm/init/source.h"

struct output {
    struct source source; /* closed: its end was reached */
    uint16_t verb;        /* VM_OUT or VM_ERR */
    bool counted;         /* `left` bytes are still of the command's */
    uint32_t left;
};

struct input {
    struct source source;
    uint8_t *bytes; /* VM_INPUT_WINDOW, once something came */
    uint32_t at, n;
    bool ends, is_terminal;
};

enum exec_stage { EXEC_GOES, EXEC_TERMINATED, EXEC_KILLED, EXEC_GIVEN_UP };

struct exec {
    uint32_t id;
    /* LINGERS: it has ended, but not all that it started, and that has to.
     * ENDS: only its outputs have not. */
    enum { EXEC_FREE, EXEC_TEXT, EXEC_QUEUED, EXEC_RUNS, EXEC_LINGERS, EXEC_ENDS } state;
    uint64_t turn; /* the order in which they came */
    struct vm_exec_head head;
    char *rest; /* cwd with a NUL, env */
    uint32_t cwd_length, env_length;
    char *text; /* up to ORDER_TEXT_MAX of it */
    int file;   /* in memory, of a longer one; -1: there is none */
    uint32_t text_length;
    bool has_nul;
    unsigned tries;
    struct session *session;
    struct output out, err;
    struct input in;
    uint32_t window; /* bytes that may yet be sent */
    enum exec_stage stage;
    bool condemned; /* by the host: nothing of it may be left */
    uint64_t kill_ns;
    uint64_t began_ns, due_ns; /* due: of the next stage, or of the outputs' release */
    uint32_t ooms;             /* of its leaf when it began */
    struct vm_exit exit;
};

/* ---- exec.c ------------------------------------------------------------------------------ */

void execs_open(const char *library);
/* A frame of the host's for an exec, or VM_CLOSE. */
void execs_frame(const struct vm_frame *f, const uint8_t *payload);
/* When something is due next, UINT64_MAX: nothing is; and doing what is. */
uint64_t execs_due(void);
void execs_tick(void);
/* Ends every session and all that runs. */
void execs_end_all(void);
/* An output has come to its end. */
void exec_output_ended(struct exec *x);

/* ---- stream.c ---------------------------------------------------------------------------- */

/* Makes what the command is given: stdout, stderr, stdin, which the caller closes (-1: none
 * is given). */
bool streams_open(struct exec *x, int given[3]);
void streams_close(struct exec *x);
void stream_credit(struct exec *x, uint32_t bytes);
void stream_input(struct exec *x, const uint8_t *bytes, uint32_t n); /* 0: its end */
void stream_resize(struct exec *x, uint16_t rows, uint16_t columns);
/* Takes what is there already. */
void streams_drain(struct exec *x);
/* The command has ended, but not its outputs: what they hold now is the last of them. */
void streams_release(struct exec *x);
