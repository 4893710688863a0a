/* notes/keymap.h - keys of notes to small numbers, in the order in which they came.
 *
 * Threads: one. Private to the room notes.
 */
#pragma once
#include "base/base.h"

#define KEYMAP_MAX (4u << 20) /* keys */
#define KEYMAP_NONE SIZE_MAX

struct keymap {
    int64_t *keys; /* by number */
    size_t count;
    size_t capacity;
    uint32_t *slots;   /* number + 1, 0 for a free one */
    size_t slot_count; /* a power of two */
};

void keymap_done(struct keymap *m); /* a zeroed one is empty and fine */
#define scoped_keymap __attribute__((cleanup(keymap_done)))

/* The key's number; KEYMAP_NONE: it has none. */
size_t keymap_find(const struct keymap *m, int64_t key);
/* The same; a new key gets the next number. KEYMAP_NONE and ERR_LIMIT: too many. */
size_t keymap_add(struct keymap *m, int64_t key, struct err *e);
