/* actions/watching.h - what tells of changes in vaults.
 *
 * A thread, there only while somebody listens, watches the vaults that were followed, by
 * their numbers. Bursts are told together.
 * Threads: safe. Private to the room actions.
 */
#pragma once
#include "actions/internal.h"

#define WATCHED_MAX 64u /* vaults; the changes of more are not told */

struct watching;
/* Another number when other actions are shown to this caller. */
typedef uint64_t watching_shown_fn(struct actions *a, const struct caller *who);
struct watching *watching_new(struct actions *a,
                              watching_shown_fn *shown); /* its vaults are there */
void watching_free(struct watching *w);                  /* NULL is fine */
/* `fn` is called from the thread. false and ERR_CONFLICT (somebody listens already) or
 * ERR_IO. */
bool watching_start(struct watching *w, vault_change_fn *fn, void *arg, struct err *e);
void watching_stop(struct watching *w); /* waits for the thread; without one is fine */
/* This vault is one of them: what changes once this has returned is told, where somebody
 * listens, now or later. */
void watching_follow(struct watching *w, unsigned vault);
/* Custom functions were changed here: told at once rather than soon. */
void watching_functions(struct watching *w);
