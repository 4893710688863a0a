/* base/map.h - a part of base/base.h, which includes it.
 *
 * Keys to small numbers, in the order in which they came: what belongs to a key stands in an
 * array of the caller's. A map has texts, numbers or hashes as its keys, and one kind alone.
 * Texts may be a stranger's: their hash is keyed, so that none are slow.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct err;
struct str;

#define MAP_MAX (16u << 20) /* keys */
#define MAP_NONE SIZE_MAX

/* All zeros: empty. Threads: one. */
struct map {
    size_t count, capacity;
    struct str *texts;   /* by number; borrowed. NULL: keys are no texts */
    union {              /* by number */
        uint64_t *marks; /* a text's hash, or the key itself */
        int64_t *ints;
    };
    uint32_t *slots;   /* number + 1, 0 for a free one */
    size_t slot_count; /* a power of two */
    uint64_t seed[2];
};
void map_done(struct map *m);
#define scoped_map __attribute__((cleanup(map_done)))

/* The key's number; MAP_NONE: it has none. */
size_t map_find(const struct map *m, struct str key);
size_t map_find_int(const struct map *m, int64_t key);
size_t map_find_hash(const struct map *m, struct str key);
/* The same; a new key gets the next number, and a text must outlast the map. MAP_NONE and
 * ERR_LIMIT: too many. map_add_hash() keeps 64 bits of the text's hash, and nothing of it. */
size_t map_add(struct map *m, struct str key, struct err *e);
size_t map_add_int(struct map *m, int64_t key, struct err *e);
size_t map_add_hash(struct map *m, struct str key, struct err *e);

/* SipHash-2-4: for tables, with a key of os_random(). */
uint64_t hash_keyed(const uint64_t key[static 2], struct str bytes);
/* FNV-1a goes on from `hash`, or begins with HASH_FNV. For what no stranger gains by choosing,
 * and for what is written down. */
#define HASH_FNV 14695981039346656037u
uint64_t hash_fnv(uint64_t hash, struct str bytes);
