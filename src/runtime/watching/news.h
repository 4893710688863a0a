/* watching/news.h - what has changed in one vault since it was looked at last, whoever
 * changed it.
 *
 * Remembers of each note its path, its id and a part of its hash. What the system tells of
 * (inotify) says which notes to look at; where it tells nothing, or of much, all of them
 * are compared by the index.
 * Threads: one at a time. Private to the room.
 */
#pragma once
#include "base/base.h"

struct news;
struct vault;
struct vault_change;

#define NEWS_IDS_MAX 256u      /* that are named; of more only this is told */
#define NEWS_NOTES_MAX 200000u /* of a vault with more nothing is named */
/* From now on nothing is missed; `path` is the vault's folder. Quick: no note is read.
 * NULL and *e. */
struct news *news_open(const char *path, struct err *e);
/* Looks for the first time; false and *e. What changed since news_open() may have been
 * read already: the next look tells of it, and rather of too much than of too little. */
bool news_begin(struct news *n, struct vault *v, struct err *e);
void news_close(struct news *n); /* NULL is fine */
SCOPED(news, news_close);
/* Can be read from when there may be something new; -1: only looking tells. */
int news_fd(const struct news *n);
/* What is new, if anything: *any. The strings in `out` are good until the next look; its
 * `vault` is the caller's to fill in. false and *e: nothing is known any more, and it is
 * to be opened anew. */
bool news_look(struct news *n, struct vault_change *out, bool *any, struct err *e);
