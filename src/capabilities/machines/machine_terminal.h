/* machines/machine_terminal.h - commands that have a terminal with a name, into which their
 * caller types while they run.
 *
 * Threads: safe. Private to the room. */
#pragma once
#include "machines/internal.h"

#define TERMINAL_NAME_MAX 40u
#define TERMINALS_MAX 32u       /* of one caller, at a time */
#define TERMINAL_SIZE_MAX 1000u /* rows, and columns */

struct terminals *terminals_new(void);
void terminals_free(struct terminals *all); /* when none is open */

/* false and ERR_INVALID: letters, digits, "._-" are a name. */
bool terminal_name_check(struct str name, struct err *e);
/* Opens the caller's terminal of that name, for one command in this machine. NULL and *e: ERR_CONFLICT (it is open), ERR_LIMIT. */
struct terminal *terminal_open(struct terminals *all, const char *owner,
                               const struct vm *m, struct str name, struct err *e);
struct vm_keyboard *terminal_keyboard(struct terminal *t);
void terminal_close(struct terminal *t); /* after its command; NULL is fine */

/* Runs the command, and waits, as vm_exec(). It is hung up on, as timed out, when nothing was typed
 * or printed for idle_ns. */
bool terminal_run(struct terminal *t, struct vm *m, const struct vm_exec *x,
                  struct machine_live *live, uint64_t idle_ns, struct vm_result *r,
                  struct err *e);

struct terminal_input {
    struct str name, bytes;
    struct str machine;     /* a handle; empty: any */
    uint16_t rows, columns; /* 0: as they are */
};
/* *typed: how many bytes were taken; the rest is sent again when the command has read some. false
 * and ERR_NOT_FOUND. */
bool terminal_type(struct terminals *all, const char *owner,
                   const struct terminal_input *in, size_t *typed, struct err *e);
