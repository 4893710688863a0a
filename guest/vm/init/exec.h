/* vm/init/exec.h - running commands, from their first VM_TEXT to their VM_EXIT.
 *
 * Private to exec.c, stream.c and main.c. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "abi/vm.h"
#include "vm/init/shell.h"
#include "vm/init/source.h"

struct output {
    struct source source; /* closed at end of file */
    uint16_t verb;        /* VM_OUT or VM_ERR */
    bool counted;         /* `left` bytes still belong to the command */
    uint32_t left;
};

struct input {
    struct source source;
    uint8_t *bytes; /* VM_INPUT_WINDOW, once there was input */
    uint32_t at, n;
    bool ends, is_terminal;
};

enum exec_stage { EXEC_GOES, EXEC_TERMINATED, EXEC_KILLED, EXEC_GIVEN_UP };

struct exec {
    uint32_t id;
    /* LINGERS: its shell is done, but not all its processes, which have to end. ENDS:
     * only its outputs are still open. */
    enum { EXEC_FREE, EXEC_TEXT, EXEC_QUEUED, EXEC_RUNS, EXEC_LINGERS, EXEC_ENDS } state;
    uint64_t turn; /* order of arrival */
    struct vm_exec_head head;
    char *rest; /* cwd with a NUL, env */
    uint32_t cwd_length, env_length;
    char *text; /* up to ORDER_TEXT_MAX of it */
    int file;   /* memory file of a longer text; -1: none */
    uint32_t text_length;
    bool has_nul;
    unsigned tries;
    struct session *session;
    struct output out, err;
    struct input in;
    uint32_t window; /* credit in bytes */
    enum exec_stage stage;
    bool condemned; /* by the host: all of it has to end */
    uint64_t kill_ns;
    /* due: time of the next stage, or of the outputs' release */
    uint64_t began_ns, due_ns;
    uint32_t ooms; /* of its leaf when it began */
    struct vm_exit exit;
};

/* ---- exec.c ------------------------------------------------------------------------------ */

void execs_open(const char *library);
/* Handles a frame of the host for an exec, or VM_CLOSE. */
void execs_frame(const struct vm_frame *f, const uint8_t *payload);
/* When something is due next (UINT64_MAX: nothing); and handling it. */
uint64_t execs_due(void);
void execs_tick(void);
/* Ends all sessions and commands. */
void execs_end_all(void);
/* An output reached its end of file. */
void exec_output_ended(struct exec *x);

/* ---- stream.c ---------------------------------------------------------------------------- */

/* Opens the command's descriptors: stdout, stderr, stdin, which the caller closes (-1:
 * none). */
bool streams_open(struct exec *x, int given[3]);
void streams_close(struct exec *x);
void stream_credit(struct exec *x, uint32_t bytes);
void stream_input(struct exec *x, const uint8_t *bytes, uint32_t n); /* 0: its end */
void stream_resize(struct exec *x, uint16_t rows, uint16_t columns);
/* Reads what is there already. */
void streams_drain(struct exec *x);
/* The command has ended, but its outputs are open: reads what they hold now as the last
 * of them. */
void streams_release(struct exec *x);
