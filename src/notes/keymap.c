/* A hash table with open addressing: a walk over a large vault asks it for every link. */
#include "notes/keymap.h"

void keymap_done(struct keymap *m)
{
    free(m->keys);
    free(m->slots);
    *m = (struct keymap){0};
}

/* Keys of SQLite count up: multiplied by the golden ratio they spread. */
static size_t slot_of(const struct keymap *m, int64_t key)
{
    size_t i = (size_t)(((uint64_t)key * 0x9e3779b97f4a7c15u) >> 32);
    for (;; i++) {
        uint32_t number = m->slots[i & (m->slot_count - 1)];
        if (!number || m->keys[number - 1] == key)
            return i & (m->slot_count - 1);
    }
}

size_t keymap_find(const struct keymap *m, int64_t key)
{
    if (!m->slot_count)
        return KEYMAP_NONE;
    uint32_t number = m->slots[slot_of(m, key)];
    return number ? number - 1 : KEYMAP_NONE;
}

static bool grow(struct keymap *m, struct err *e)
{
    size_t more = m->capacity ? 2 * m->capacity : 256;
    if (more > KEYMAP_MAX)
        return err_set(e, ERR_LIMIT, "more than %u notes would have to be looked at",
                       KEYMAP_MAX);
    int64_t *keys = reallocarray(m->keys, more, sizeof *keys);
    m->keys = keys ? keys : m->keys;
    uint32_t *slots = calloc(2 * more, sizeof *slots);
    if (!keys || !slots) {
        free(slots);
        return err_set(e, ERR_LIMIT, "no memory for a table of %zu notes", more);
    }
    free(m->slots);
    m->slots = slots;
    m->slot_count = 2 * more;
    m->capacity = more;
    for (size_t i = 0; i < m->count; i++)
        slots[slot_of(m, keys[i])] = (uint32_t)i + 1;
    return true;
}

size_t keymap_add(struct keymap *m, int64_t key, struct err *e)
{
    size_t known = keymap_find(m, key);
    if (known != KEYMAP_NONE)
        return known;
    if (m->count == m->capacity && !grow(m, e))
        return KEYMAP_NONE;
    m->keys[m->count] = key;
    m->slots[slot_of(m, key)] = (uint32_t)m->count + 1;
    return m->count++;
}
