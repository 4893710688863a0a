/* place/internal.h - shared by the sources of this room. Private to the room. */
#pragma once
#include "base/base.h"

struct grant;
struct vault_set;

/* All vaults that can be reached, by numbers from 1 that never change their meaning.
 * Threads: safe. */

/* Whether the grant includes this vault. True for 0 where it includes all. */
bool vault_set_reaches(struct vault_set *s, unsigned number, const struct grant *g);
