/* actions/machine_use.h - one call that has to do with machines. Private to machines.c and
 * machine_exec.c. */
#pragma once
#include "actions/machines.h"

struct machines;
struct machine_use {
    const struct tool_call *call;
    const struct policy *policy;
    struct machines *machines;
    char owner[MACHINE_OWNER], payer[MACHINE_OWNER];
};
/* `call`: "vm.exec". `word`: the policy's. false and *e, as permit_machine(). */
bool machine_use_begin(struct machine_use *u, const struct tool_call *c, const char *call,
                       enum permission *word, struct err *e);
/* The one that is meant, held. NULL and *e, as vm_find(). */
struct vm *machine_use_find(const struct machine_use *u, struct str handle,
                            struct err *e);
