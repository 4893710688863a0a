/* A hash table with open addressing. */
#include "notes/strmap.h"

#include "os/os.h"

void strmap_done(struct strmap *m)
{
    free(m->keys);
    free(m->hashes);
    free(m->slots);
    *m = (struct strmap){0};
}

/* Where the key's number is, or would be. */
static size_t slot_of(const struct strmap *m, struct str key, uint64_t hash)
{
    for (size_t i = (size_t)hash;; i++) {
        uint32_t number = m->slots[i & (m->slot_count - 1)];
        if (!number ||
            (m->hashes[number - 1] == hash && str_eq(m->keys[number - 1], key)))
            return i & (m->slot_count - 1);
    }
}

static size_t number_at(const struct strmap *m, size_t slot)
{
    return m->slots[slot] ? m->slots[slot] - 1 : STRMAP_NONE;
}

size_t strmap_find(const struct strmap *m, struct str key)
{
    if (!m->slot_count)
        return STRMAP_NONE;
    return number_at(m, slot_of(m, key, crypto_table_hash(m->seed, key)));
}

/* Twice the slots that are needed, at least. */
static bool grow(struct strmap *m, struct err *e)
{
    size_t more = m->capacity ? 2 * m->capacity : 64;
    if (more > STRMAP_MAX)
        return err_set(e, ERR_LIMIT, "more than %u names are to be compared", STRMAP_MAX);
    if (!m->capacity)
        os_random(m->seed, sizeof m->seed);
    struct str *keys = reallocarray(m->keys, more, sizeof *keys);
    m->keys = keys ? keys : m->keys;
    uint64_t *hashes = reallocarray(m->hashes, more, sizeof *hashes);
    m->hashes = hashes ? hashes : m->hashes;
    uint32_t *slots = calloc(2 * more, sizeof *slots);
    if (!keys || !hashes || !slots) {
        free(slots);
        return err_set(e, ERR_LIMIT, "no memory for a table of %zu names", more);
    }
    free(m->slots);
    m->slots = slots;
    m->slot_count = 2 * more;
    m->capacity = more;
    for (size_t i = 0; i < m->count; i++)
        slots[slot_of(m, keys[i], hashes[i])] = (uint32_t)i + 1;
    return true;
}

size_t strmap_add(struct strmap *m, struct str key, struct err *e)
{
    if (m->count == m->capacity && !grow(m, e))
        return STRMAP_NONE;
    uint64_t hash = crypto_table_hash(m->seed, key);
    size_t slot = slot_of(m, key, hash);
    if (m->slots[slot])
        return number_at(m, slot);
    m->keys[m->count] = key;
    m->hashes[m->count] = hash;
    m->slots[slot] = (uint32_t)m->count + 1;
    return m->count++;
}
