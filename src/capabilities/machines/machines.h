/* machines/machines.h - Linux machines: to MCP clients as vm_start, vm_exec and the like,
 * to code as vm.*, to REST. A machine is its caller's: the credential's, and within that
 * the client session's; no other finds it. Threads: safe. */
#pragma once
#include "capability/capability.h"

extern const struct capability machines_capability;
/* What evaluate_note_code says of them, where they are installed. */
#define TELLS_OF_MACHINE "vm.exec('ls | wc'): Linux; "
/* Is an image installed? false and why not. */
bool machines_ready(struct actions *a, struct err *e);
