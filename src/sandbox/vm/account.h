/* vm/account.h - what a payer's machines use together: CPU time and bytes of their networks
 * within a day, and connections now.
 *
 * Counted by the hour: use counts for 24 hours; an account without running machines and
 * without use in that time is removed. `now_ns` is os_mono_ns().
 *
 * Private to the room vm. Threads: safe. */
#pragma once
#include "base/base.h"

#define ACCOUNT_HOURS 24u
#define ACCOUNT_HOUR_NS ((uint64_t)3600 * 1000000000)

struct accounts;
struct accounts *accounts_new(void);
void accounts_free(struct accounts *a); /* none is held; NULL is fine */

/* The account of that name, created if there is none; held until account_leave(). */
struct account;
struct account *account_enter(struct accounts *a, struct str name, uint64_t now_ns);
void account_leave(struct account *k); /* NULL is fine */
void account_add(struct account *k, uint64_t cpu_ns, uint64_t now_ns);
/* ERR_LIMIT, with a message for an agent, if `max_ns` (0: no limit) or more are used. */
bool account_check(struct account *k, uint64_t max_ns, uint64_t now_ns, struct err *e);
/* Bytes that went through their networks, both ways. */
void account_add_bytes(struct account *k, uint64_t n, uint64_t now_ns);
uint64_t account_bytes(struct account *k, uint64_t now_ns);
/* One more connection; false: `most` are there. */
bool account_connect(struct account *k, unsigned most);
void account_disconnect(struct account *k);
