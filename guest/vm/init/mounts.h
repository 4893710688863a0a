/* vm/init/mounts.h - folders of the host: one file system of virtio-fs, whose folders are bound
 * to their places. */
#pragma once
#include "abi/vm.h"

/* VM_MOUNT or VM_UNMOUNT; says VM_MOUNTED. */
void mounts_frame(const struct vm_frame *f, const uint8_t *payload);
