/* record/internal.h - what the sources of this room share. Private to the room. */
#pragma once
#include "base/base.h"

struct account_part;

/* This was changed; empty: something without a name. */
void account_change(struct account_part *p, struct str name);
/* The inside of a JSON object: what the call came to there, in at most AUDIT_RECORD_MAX
 * bytes with what the trail adds. Lists are shortened, the longest first, and say how many
 * more there were. */
void account_write(struct account_part *p, struct buf *out);
/* The same before its first change: that it will make one, by `call`. */
void account_write_intent(const struct account_part *p, const char *call,
                          struct buf *out);
