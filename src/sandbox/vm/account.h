/* vm/account.h - what a caller's machines compute together, within a day.
 *
 * Counted by the hour: what was computed counts for 24 hours, and an account of which no
 * machine runs and nothing counts any more is forgotten. `now_ns` is os_mono_ns().
 *
 * Private to the room vm. Threads: safe.
 */
#pragma once
#include "base/base.h"

#define ACCOUNT_HOURS 24u
#define ACCOUNT_HOUR_NS ((uint64_t)3600 * 1000000000)

struct accounts;
struct accounts *accounts_new(void);
void accounts_free(struct accounts *a); /* none is held; NULL is fine */

/* The account of that name, made where there is none; held until account_leave(). */
struct account;
struct account *account_enter(struct accounts *a, struct str name, uint64_t now_ns);
void account_leave(struct account *k); /* NULL is fine */
void account_add(struct account *k, uint64_t cpu_ns, uint64_t now_ns);
/* ERR_LIMIT where `max_ns` (0: no limit) count, or more, in words for an agent. */
bool account_check(struct account *k, uint64_t max_ns, uint64_t now_ns, struct err *e);
