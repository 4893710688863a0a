/* record/internal.h - shared by the sources of this room. Private to the room. */
#pragma once
#include "base/base.h"

struct account_part;

/* Counts one changed thing by name; empty: without a name. */
void account_change(struct account_part *p, struct str name);
/* Appends the inside of a JSON object: the call's record in that vault, in at most
 * AUDIT_RECORD_MAX bytes with what the trail adds. Lists are shortened, the longest
 * first, and say how many rows are missing. */
void account_write(struct account_part *p, struct buf *out);
/* Appends its host calls in time as JSON, in at most TRAIL_BESIDE_MAX bytes: {"names": [...],
 * "steps": [[which of the names, its start in us, us it took, its outcome unless it
 * succeeded], ...], "left", "left_us": those left out}. Nothing where no code ran. */
void account_write_steps(struct account_part *p, struct buf *out);
/* The same before its first change: the intent to change, by `call`. */
void account_write_intent(const struct account_part *p, const char *call,
                          struct buf *out);
