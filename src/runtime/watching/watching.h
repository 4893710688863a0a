/* watching/watching.h - what tells of changes in vaults, whoever makes them.
 *
 * A thread, there only while somebody listens, watches the vaults that were followed, by
 * their numbers. Bursts are told together. Threads: safe. */
#pragma once
#include "base/base.h"

struct actions;
struct caller;
struct watching;

struct vault_change {
    const char *vault;       /* its id; NULL: which vaults there are */
    bool many;               /* anything in it */
    bool tools;              /* which tools there are or are listed, and nothing else */
    bool functions;          /* the same of its custom functions */
    bool came_or_went;       /* notes are new, gone, or have another id */
    bool types;              /* what describes its types */
    const struct str *notes; /* ids of notes that changed, came or went */
    size_t note_count;
};
typedef void vault_change_fn(void *arg, const struct vault_change *change);

#define WATCHED_MAX 64u /* vaults; the changes of more are not told */

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
