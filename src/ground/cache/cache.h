/* cache/cache.h - values that can be made again, by the hash of all that decides them.
 *
 * In memory the least recently used go first; on disk, where a cache has a folder, are more
 * of them, shared by all processes of the user, and the oldest files go first.
 * Threads: safe.
 */
#pragma once
#include "base/base.h"

/* The first member of each value. Values are shared and, but for their owner's own locks,
 * never changed. */
struct cached {
    atomic_uint held;
    size_t bytes;                  /* of memory, as the limits count it */
    void (*drop)(struct cached *); /* NULL: free() */
};
/* Held once, by the caller. */
void cached_init(struct cached *v, size_t bytes, void (*drop)(struct cached *));
void cached_release(const struct cached *v); /* NULL is fine */

#define CACHE_KEY 64u     /* bytes of a key, at most */
#define CACHE_FILE_KEY 65 /* of one with files: 64 hexadecimal digits and a NUL */

struct cache_limits {
    size_t entries, bytes; /* in memory; a look-up walks all entries */
    size_t one_bytes;      /* of one; what is larger is not kept. 0: `bytes` */
    /* `$XDG_CACHE_HOME/cloche/FOLDER`; where that cannot be had, there are no files. NULL:
     * in memory alone. */
    const char *folder;
    uint64_t disk_bytes; /* of all files, about: looked at now and then */
    size_t file_bytes;   /* of one; what is larger is not written */
};

struct cache;
struct cache *cache_new(const struct cache_limits *limits);
void cache_free(struct cache *c); /* values that are held outlive it; NULL is fine */

/* Held for the caller. NULL: it is not in memory. */
void *cache_find(struct cache *c, struct str key);
/* The cache holds it from now on, in the place of what had that key. */
void cache_put(struct cache *c, struct str key, const void *value);

/* Makes a value of what a file holds. NULL: it is none. */
typedef void *cache_read_fn(void *arg, struct str bytes);
/* cache_find(), and else what the file of that key holds; `*on_disk` tells which. */
void *cache_find_file(struct cache *c, const char key[static CACHE_FILE_KEY],
                      cache_read_fn *read, void *arg, bool *on_disk);
/* cache_put(), and writes the file: `bytes`, or none where they are empty. */
void cache_put_file(struct cache *c, const char key[static CACHE_FILE_KEY],
                    const void *value, struct str bytes);

/* Removes files of an open folder, the oldest by their time of modification first, until at
 * most `bytes` are left: files named by a key, with or without an ending. */
void cache_trim(int folder, uint64_t bytes);
