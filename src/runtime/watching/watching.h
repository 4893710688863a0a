/* watching/watching.h - a subscription to changes in vaults, whoever makes them.
 *
 * A thread, which exists only while there is a subscriber, watches the vaults that were
 * followed, by their numbers. Bursts are reported as one change. Threads: safe. */
#pragma once
#include "base/base.h"

struct actions;
struct caller;
struct watching;

struct vault_change {
    const char *vault;       /* its id; NULL: the list of vaults */
    bool many;               /* anything may have changed */
    bool tools;              /* the tools that exist or are listed, and nothing else */
    bool functions;          /* the same of its custom functions */
    bool came_or_went;       /* notes were created or removed, or have another id */
    bool types;              /* descriptions of its types */
    const struct str *notes; /* ids of notes that changed, came or went */
    size_t note_count;
};
typedef void vault_change_fn(void *arg, const struct vault_change *change);

#define WATCHED_MAX 64u /* vaults; changes of further ones are not reported */

/* A number that changes with the actions that this caller is shown. */
typedef uint64_t watching_shown_fn(struct actions *a, const struct caller *who);
struct watching *watching_new(struct actions *a,
                              watching_shown_fn *shown); /* its vaults exist already */
void watching_free(struct watching *w);                  /* NULL is fine */

/* Calls `fn` on the thread. false and ERR_CONFLICT (another subscriber) or ERR_IO. */
bool watching_start(struct watching *w, vault_change_fn *fn, void *arg, struct err *e);
void watching_stop(struct watching *w); /* waits for the thread; no error without one */

/* Follows this vault: changes after the return are reported to the subscriber, also to
 * one that comes later. */
void watching_follow(struct watching *w, unsigned vault);
/* Reports a change of custom functions at once. */
void watching_functions(struct watching *w);
