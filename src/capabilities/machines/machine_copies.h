/* machines/machine_copies.h - copies of machines. Private to the room. */
#pragma once
#include "machines/machine_use.h"
#include "vm/copies.h"

/* The folder of all callers' copies; NULL: there is none. The caller frees. */
char *machine_copies_folder(void);
/* Where this caller's copies are saved. Borrows from `u`. */
void machine_shelf(const struct machine_use *u, struct vm_shelf *out);
bool machine_may_save(const struct machine_use *u, struct err *e);
/* A further machine begins with the caller's snapshot "default", if there is one, of this size
 * of RAM (0: of any): sets o->from, which the caller drops. */
bool machine_from_default(const struct machine_use *u, uint32_t ram_mb,
                          struct vm_options *o, struct err *e);
/* As host calls; see internal.h. */
machine_fn machines_snapshot, machines_restore, machines_fork, machines_snapshots;
extern const struct host_call_group vm_copy_calls;
extern const struct action_group vm_copy_actions;
