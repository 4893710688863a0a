/* watching/news.h - changes of one vault since the last look, whoever made them.
 *
 * Keeps the path, id and part of the hash of each note. Notices of the system (inotify)
 * select the notes to look at; without them, or with too many, all notes are compared by
 * the index. Threads: one at a time. Private to the room. */
#pragma once
#include "base/base.h"

struct news;
struct vault;
struct vault_change;

#define NEWS_IDS_MAX 256u      /* notes named in a change; beyond that only `many` */
#define NEWS_NOTES_MAX 200000u /* notes of a vault; in a larger one none is named */
/* Begins to collect notices; `path` is the vault's folder. Reads no note. NULL and *e. */
struct news *news_open(const char *path, struct err *e);
/* Takes the first snapshot; false and *e. A change since news_open() may be in it
 * already: the next look reports it again rather than miss one. */
bool news_begin(struct news *n, struct vault *v, struct err *e);
void news_close(struct news *n); /* NULL is fine */
SCOPED(news, news_close);
/* Readable when there may be changes; -1: only news_look() tells. */
int news_fd(const struct news *n);
/* Changes since the last look, if any: *any. The strings in `out` are valid until the
 * next look; the caller sets its `vault`. false and *e: the state is lost; open it
 * again. */
bool news_look(struct news *n, struct vault_change *out, bool *any, struct err *e);
