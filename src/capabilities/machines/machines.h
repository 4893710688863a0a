/* machines/machines.h - the capability of Linux machines: vm_start, vm_exec and others
 * for MCP clients, vm.* in code, REST. A machine belongs to a credential and, within it,
 * to the client session; no other caller finds it. Threads: safe. */
#pragma once
#include "capability/capability.h"

extern const struct capability machines_capability;
