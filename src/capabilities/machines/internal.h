/* machines/internal.h - commands in machines, and their output.
 *
 * Each asks guard whether the caller may use a machine and, if the policy says so, the
 * user, before a command runs. Threads: safe, but for a tool_call, which belongs to one.
 * Private to the room. */
#pragma once
#include "calls/calls.h"
#include "machines/machine_mounts.h"
#include "programs/programs.h"
#include "record/record.h"
#include "vm/commands.h"
#include "json/json.h"

struct tool_call;
struct tool_command;
struct tool_outcome;
struct tool_stage;

/* Ceilings of one caller's machines. */
struct vm_policy {
    enum permission permission[2]; /* the user's policy's, the vault's; usual: always */
    uint32_t machines, ram_mb, total_ram_mb, disk_mb, cpu_seconds, timeout_ms,
        idle_minutes;
    enum permission network[2], expose[2], calls[2]; /* as `permission` */
    uint32_t network_mb, network_kbps, connections, new_connections;
    uint32_t tcp_idle_minutes, udp_idle_seconds;
    uint32_t snapshots, snapshot_mb;
};
extern const struct policy_group machines_policy;
/* May it be used for `call` ("vm.exec")? */
struct permit_use machine_permission(const struct policy *p, const char *call);
/* For capability.use: commands, the network, exposed ports. */
bool machine_use_listed(const struct policy *p, size_t at, struct permit_use *out);
/* May its machine have a network? May a port of it be exposed? */
struct permit_use machine_network_permission(const struct policy *p, const char *call);
struct permit_use machine_expose_permission(const struct policy *p, const char *call);
/* May programs of its commands call back? */
struct permit_use machine_calls_permission(const struct policy *p, const char *call);

/* All machines of this process, created at first use. NULL and *e: no engine. */
struct vms *actions_machines(struct actions *a, struct err *e);
/* Is one installed? false and why not. */
bool machines_ready(struct actions *a, struct err *e);
bool machines_installed(struct actions *a); /* whether there is an image */
void *machines_open(struct actions *a);
void machines_close(void *own);
void machines_metrics(struct actions *a, struct buf *out);
struct terminals;
struct terminals *machines_terminals(struct actions *a);
/* The owner of the machines that this caller starts, for the room vm, and the payer: the
 * credential, whatever its sessions. */
#define MACHINE_OWNER 65u
void machine_owner(const struct caller *who, char out[static MACHINE_OWNER]);
void machine_payer(const struct caller *who, char out[static MACHINE_OWNER]);
/* Each reads the options of its host call (docs/machine.md) and writes one object. false
 * and *e: nothing ran, and no machine was made without saying so. Unknown keys are
 * ERR_INVALID. */
typedef bool machine_fn(const struct tool_call *c, const struct json *options,
                        struct json_writer *out, struct err *e);
machine_fn machines_start, machines_stop, machines_expose, machines_apply;
/* Runs a command; *success: it ran to its own end, whatever its exit code. */
bool machines_exec(const struct tool_call *c, const struct json *options,
                   struct json_writer *out, bool *success, struct err *e);
struct calling;

/* The same without a thread that waits, by calling_wait(). Copies `c`, not its arena. */
bool machines_exec_begin(struct calling *x, const struct tool_call *c,
                         const struct json *options, struct buf *out, struct err *e);
/* An array. */
bool machines_list(const struct tool_call *c, struct json_writer *out, struct err *e);
/* Records a command that was refused before it came here. */
void machines_refused(const struct tool_call *c, const struct json *options,
                      enum err_code outcome);

#define MACHINE_ENV_MAX 256u
#define MACHINE_OUTPUT_MAX \
    ((uint64_t)16 << 20) /* the most that may be asked for, of each stream */

/* A command as it was asked for, in the call's arena; `most_ms`: the longest it may run. */
struct machine_order {
    struct vm_exec exec;
    struct str machine;  /* its handle; empty: the default one */
    bool network;        /* it is to have a network */
    bool calls;          /* its programs may call back (machine_guest.h) */
    struct str terminal; /* the name of its terminal (machine_terminal.h); empty: none */
    struct str staged;   /* its files, as a tar archive; empty: none */
    const struct json *files; /* the same as they were given */
    struct machine_mounts mounts;
    const char *env[MACHINE_ENV_MAX];
};
bool read_flag(const char *key, const struct json *v, bool *out, const char *undone,
               struct err *e);
bool machine_order_read(struct machine_order *o, const struct tool_call *c,
                        uint32_t most_ms, const struct json *options, struct err *e);
/* machine_stage.c: reads `files` of a command, after `cwd`; writes them into the machine before
 * it begins. false and *e: the command must not run. */
bool machine_stage_read(struct machine_order *o, const struct tool_call *c,
                        const struct json *files, struct err *e);
bool machine_stage(const struct machine_order *o, const struct tool_call *c, struct vm *m,
                   struct err *e);
struct machine_running;
/* Writes {success, stdout, stderr, exitCode, ...} as the next value. `failed`: why the
 * machine failed meanwhile, or no error. true: the command ran to its own end. */
bool machine_result_write(const struct vm_result *r, const struct vm_info *m,
                          const struct err *failed, const struct machine_running *running,
                          const struct machine_mounts *mounts, struct json_writer *out);

/* Output sent to a client that waits: log messages {stream, offset, text | base64} of the
 * logger "vm", and, of a plain call, progress. Characters are never split; `offset` is the
 * number of the stream's bytes before these, also of those in messages left out. More than
 * 80 messages a second are gathered into fewer. */
struct machine_live {
    const struct tool_call *call;
    struct buf waits[2]; /* of stdout and stderr: the beginning of a character, and what
                          * came too often */
    uint64_t bytes, offset[2], since_ns;
    double left; /* messages that may be sent now */
};
void machine_live_output(void *live, enum vm_stream which, struct str bytes);
/* Sends what waits, if it may be sent now; when to do so again, of os_mono_ns(), or UINT64_MAX. */
uint64_t machine_live_flush(struct machine_live *l);
void machine_live_end(struct machine_live *l); /* sends what waits, and frees it */

/* Runs tools that are commands, each in a machine of its own (machine_tools.c). */
extern const struct tool_runner machine_tool_runner;
/* Runs a stage of a pipeline in the caller's own machine (machine_pipe.c). */
bool machine_pipe_read(const struct tool_call *c, const struct json *options,
                       struct tool_stage *out, struct err *e);
bool machine_pipe_run(const struct tool_call *call, const struct tool_command *c,
                      struct tool_outcome *out, struct err *e);

/* Their calls, in audit records. */
extern const struct account_list machines_record;
extern const struct host_call_group vm_calls;
extern const struct route_group vm_routes;
