/* vm/init/mounts.h - folders of the host: one file system of virtio-fs, whose folders are bound
 * to their places. */
#pragma once
#include <stdbool.h>

#include "abi/vm.h"

/* VM_MOUNT or VM_UNMOUNT; says VM_MOUNTED. Only a machine of its own mounts anything; a program
 * answers ENOSYS. */
void mounts_frame(const struct vm_frame *f, const uint8_t *payload, bool own_machine);
