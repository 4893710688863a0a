/* vm/shelf.h - names of machines that are kept.
 *
 * Private to the room vm. */
#pragma once
#include "vm/copies.h"
#include "vm/table.h"

/* The name is this process' until the descriptor is closed. -1 and ERR_BUSY: another has it;
 * ERR_NOT_FOUND, ERR_IO. */
int shelf_lock_name(const struct vms *s, struct str payer, struct str name,
                    struct err *e);
