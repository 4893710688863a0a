/* vm/kept.h - machines that are kept, for the maintenance of all machines.
 *
 * Private to the room vm. */
#pragma once
#include "vm/copies.h"
#include "vm/table.h"

/* Freezes those whose `freeze` is set. With the lock, which is released meanwhile. */
void kept_freeze_due(struct vms *s);
/* Freezes all, as they are. Without the lock. */
void kept_freeze_all(struct vms *s);
