/* vm/lookup.h - resolves a name by this computer's resolver, on a thread of its own,
 * since that blocks. Private to the room vm. */
#pragma once
#include "abi/vm.h"
#include "base/base.h"

struct lookup;
/* `type`: 1 or 28. Writes to the eventfd `tell` (duplicated) when done. NULL: no
 * thread. */
struct lookup *lookup_begin(const char *name, uint32_t type, int tell);
bool lookup_done(struct lookup *l, struct vm_net_answer *out);
void lookup_free(struct lookup *l); /* also while it runs; NULL is fine */
