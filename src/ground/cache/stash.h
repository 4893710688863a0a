/* cache/stash.h - what can be made again, kept as files in the user's cache folder.
 *
 * A file begins with our own checksum over its key and the rest: one that is cut, damaged
 * or another's is as good as none, so that writing needs neither locks nor an fsync, and
 * any number of processes share a folder. Files go oldest first.
 * Threads: safe.
 */
#pragma once
#include "cache/cache.h"

struct stash_limits {
    uint64_t disk_bytes; /* of all files, about: looked at now and then */
    size_t file_bytes;   /* of one; what is larger is not kept */
};

struct stash;
/* `$XDG_CACHE_HOME/cloche/NAME`, 0700. Where that cannot be had, nothing is kept. */
struct stash *stash_open(const char *name, const struct stash_limits *limits);
/* An open folder, which it takes over; -1: nothing is kept. */
struct stash *stash_at(int folder, const struct stash_limits *limits);
void stash_close(struct stash *s); /* NULL is fine */
SCOPED(stash, stash_close);

/* Appends what was put there under that key. false: it is not there, or not sound, or too
 * much for the buf. */
bool stash_get(struct stash *s, const char *key, struct buf *out);
void stash_put(struct stash *s, const char *key, struct str what);
/* Removes files, oldest first, until those that are left fit. stash_put() does it now and
 * then. */
void stash_prune(struct stash *s);
