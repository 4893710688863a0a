/* machines/machine_use.h - one call that has to do with machines. Private to machines.c and
 * machine_exec.c. */
#pragma once
#include "guard/guard.h"
#include "machines/internal.h"

/* Something was done with a machine: for the record and the counters. */
struct machine_deed {
    const char *call;    /* a constant: "vm.exec" */
    const char *machine; /* its handle; "" or NULL: none, or the default one */
    struct str command;  /* without a pointer: it is none */
    enum err_code outcome;
    int exit_code;
    uint64_t wall_ns, cpu_ns;
    uint64_t input_bytes, stdout_bytes, stderr_bytes;
};
void machine_account(const struct tool_call *c, const struct machine_deed *d);

struct machine_use {
    const struct tool_call *call;
    const struct policy *policy;
    struct vms *all;
    char owner[MACHINE_OWNER], payer[MACHINE_OWNER];
};

/* `call`: "vm.exec". `word`: the policy's. false and *e, as permit_machine(). */
bool machine_use_begin(struct machine_use *u, const struct tool_call *c, const char *call,
                       enum permission *word, struct err *e);
/* The one that is meant, held. NULL and *e, as vm_find(). */
struct vm *machine_use_find(const struct machine_use *u, struct str handle,
                            struct err *e);
