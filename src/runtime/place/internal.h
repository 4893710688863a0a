/* place/internal.h - what the sources of this room share. Private to the room. */
#pragma once
#include "base/base.h"

struct grant;
struct vault_set;

/* All vaults that can be reached, by numbers from 1 on which never change their
 * meaning. Threads: safe. */

/* Is it one of those that are granted? Also of 0 where all are. */
bool vault_set_reaches(struct vault_set *s, unsigned number, const struct grant *g);
