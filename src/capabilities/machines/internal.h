/* machines/internal.h - commands in machines, and what they print.
 *
 * Who may use a machine at all is asked of guard, and of a person where the policy says
 * so, before a command runs. Threads: safe, but for a tool_call, which belongs to one.
 * Private to the room. */
#pragma once
#include "calls/calls.h"
#include "record/record.h"
#include "tools_api/tools_api.h"
#include "vm/vm.h"
#include "json/json.h"

struct tool_call;

/* All machines of this process, made when first needed. NULL and *e: there is no engine. */
struct vms *actions_machines(struct actions *a, struct err *e);
bool machines_installed(struct actions *a); /* is there an image? */
void *machines_open(struct actions *a);
void machines_close(void *own);
void machines_metrics(struct actions *a, struct buf *out);
/* The owner of what this caller starts, as src/sandbox/vm knows it, and who pays for it: the
 * credential, whatever its sessions. */
#define MACHINE_OWNER 65u
void machine_owner(const struct caller *who, char out[static MACHINE_OWNER]);
void machine_payer(const struct caller *who, char out[static MACHINE_OWNER]);
/* Each reads the options of its host call (docs/machine.md) and writes one object. false
 * and *e: nothing ran, and no machine was made that is not told of. Keys that it does not
 * know are ERR_INVALID. */
typedef bool machine_fn(const struct tool_call *c, const struct json *options,
                        struct json_writer *out, struct err *e);
machine_fn machines_start, machines_stop;
/* The same for a command; *success: it ran to its own end, whatever its exit code. */
bool machines_exec(const struct tool_call *c, const struct json *options,
                   struct json_writer *out, bool *success, struct err *e);
struct calling;

/* The same for code, as calling_wait() wants it: waits without a thread. `c` is copied, but for
 * its arena. */
bool machines_exec_begin(struct calling *x, const struct tool_call *c,
                         const struct json *options, struct buf *out, struct err *e);
/* An array. */
bool machines_list(const struct tool_call *c, struct json_writer *out, struct err *e);
/* A command was refused before it came here: for the record. */
void machines_refused(const struct tool_call *c, const struct json *options,
                      enum err_code outcome);

#define MACHINE_ENV_MAX 256u
#define MACHINE_OUTPUT_MAX \
    ((uint64_t)16 << 20) /* that may be asked for, of each stream */

/* A command as it was asked for, in the call's arena. */
struct machine_order {
    struct vm_exec exec;
    struct str machine; /* its handle; empty: the default one */
    const char *env[MACHINE_ENV_MAX];
};
bool machine_order_read(struct machine_order *o, const struct tool_call *c,
                        const struct json *options, struct err *e);
/* {success, stdout, stderr, exitCode, ...} as the writer's next value. `failed`: what the
 * machine failed of meanwhile, or no code. true: it ran to its own end. */
bool machine_result_write(const struct vm_result *r, const struct vm_info *m,
                          const struct err *failed, struct json_writer *out);

/* Told to whoever waits: log messages {stream, text | base64} of the logger "vm", and of a
 * plain call progress. Characters are never cut in two. */
struct machine_live {
    const struct tool_call *call;
    struct machine_held {
        char at[4];
        size_t n;
    } held[2]; /* the beginning of a character, of stdout and stderr */
    uint64_t bytes;
};
void machine_live_output(void *live, enum vm_stream which, struct str bytes);
void machine_live_end(struct machine_live *l); /* tells what is held */

/* What was done with them, in records of the audit. */
extern const struct account_list machines_record;
extern const struct host_call_group vm_calls;
