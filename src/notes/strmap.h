/* notes/strmap.h - texts to small numbers, in the order in which they came.
 *
 * The texts may be a stranger's: the hash is keyed, so that none are slow.
 *
 * Threads: one. Private to the room notes.
 */
#pragma once
#include "base/base.h"
#include "crypto/crypto.h"

#define STRMAP_MAX (16u << 20) /* texts */
#define STRMAP_NONE SIZE_MAX

struct strmap {
    struct str *keys; /* by number; borrowed */
    size_t count;
    size_t capacity;
    uint64_t *hashes;  /* by number */
    uint32_t *slots;   /* number + 1, 0 for a free one */
    size_t slot_count; /* a power of two */
    unsigned char seed[CRYPTO_TABLE_KEY];
};

void strmap_done(struct strmap *m); /* a zeroed one is empty and fine */
#define scoped_strmap __attribute__((cleanup(strmap_done)))

/* The text's number; STRMAP_NONE: it has none. */
size_t strmap_find(const struct strmap *m, struct str key);
/* The same; a new text, which must outlast the map, gets the next number. STRMAP_NONE and
 * ERR_LIMIT: too many. */
size_t strmap_add(struct strmap *m, struct str key, struct err *e);
