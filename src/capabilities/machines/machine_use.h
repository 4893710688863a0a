/* machines/machine_use.h - the use of machines by one call. Private to machines.c and
 * machine_exec.c. */
#pragma once
#include "guard/guard.h"
#include "machines/internal.h"

/* One use of a machine, for the record and the counters. */
struct machine_operation {
    const char *call;    /* a constant: "vm.exec" */
    const char *machine; /* its handle; "" or NULL: none, or the default one */
    struct str command;  /* no pointer: none */
    enum err_code outcome;
    int exit_code;
    uint64_t wall_ns, cpu_ns;
    uint64_t input_bytes, stdout_bytes, stderr_bytes;
};
void machine_account(const struct tool_call *c, const struct machine_operation *d);

struct machine_use {
    const struct tool_call *call;
    const struct vm_policy *policy;
    enum permission word; /* the policy's about commands */
    struct vms *all;
    char owner[MACHINE_OWNER], payer[MACHINE_OWNER];
    bool
        network; /* was permitted: a machine that the call starts has it from its start */
    uint8_t mac[6]; /* of a machine that the call starts; zeros: the usual one */
};

/* `call`: "vm.exec". `word`: the policy's. false and *e, as permit_run(). */
bool machine_use_begin(struct machine_use *u, const struct tool_call *c, const char *call,
                       enum permission *word, struct err *e);
/* The machine of this handle, held; its network learns of the call's policy. NULL and *e, as
 * vm_find(). */
struct vm *machine_use_find(const struct machine_use *u, struct str handle,
                            struct err *e);
/* The same of one that runs already; none is started. */
struct vm *machine_use_running(const struct machine_use *u, struct str handle,
                               struct err *e);
/* What the policy gives a machine that the call starts. */
struct vm_options machine_use_options(const struct machine_use *u);
/* Starts one; its network is set here. NULL and *e, as vm_start(). */
struct vm *machine_use_start(const struct machine_use *u, struct vm_options *o,
                             struct err *e);
/* Writes it as the next value. */
void machine_put(const struct vm_info *m, struct json_writer *w);
/* Has the one that is meant a network already? */
bool machine_use_has_network(const struct machine_use *u, struct str handle);
/* A person is asked for what the policy does not simply allow; `commands` may be run. */
bool machine_use_permitted(const struct machine_use *u, enum permission commands,
                           bool network, const struct json *request, struct err *e);
/* Reads the option "network" of a call that starts a machine: true, false, or "allowed", which is
 * true where the policy allows it without asking. false and ERR_INVALID, with `undone`. */
bool machine_read_network(const struct machine_use *u, const struct json *v, bool *out,
                          const char *undone, struct err *e);
/* Reads "mac": six bytes as 02:00:00:00:00:01, of one station, and not the gateway's. */
bool machine_read_mac(const struct json *v, uint8_t out[static 6], const char *undone,
                      struct err *e);
/* The same as machine_use_permitted() for exposing a port. */
bool machine_use_exposes(const struct machine_use *u, const struct json *request,
                         struct err *e);
/* Shortens the command's time to that of the evaluation whose code calls, without waits for
 * persons. false and ERR_TIMEOUT: none is left. */
bool machine_fit_time(const struct tool_call *c, struct vm_exec *x, struct err *e);
/* Writes {port, hostPort, address, url} as the next value. */
void machine_port_put(const struct vm_port *p, const char *machine,
                      struct json_writer *w);
/* Answers a person of this computer (machine_person.c); a nearby_answer_fn of the room nearby. `vms`: all machines of
 * this process. */
#define MACHINE_TOPIC "machines"
void machine_person(void *vms, struct str request, struct buf *answer);
struct egress_proxy *machines_proxy(const struct actions *a);
/* A connection is over. */
void machine_count(struct actions *a, const struct vm_flow *f);
