/* Hash functions, and a hash table with open addressing. */
#include <sys/random.h>

#include "base/base.h"

uint64_t hash_fnv(uint64_t hash, struct str bytes)
{
    for (size_t i = 0; i < bytes.n; i++)
        hash = (hash ^ (unsigned char)bytes.at[i]) * 1099511628211u;
    return hash;
}

static uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static inline __attribute__((always_inline)) void mix(uint64_t v[static 4])
{
    v[0] += v[1], v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32) + v[3];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

static inline __attribute__((always_inline)) void take_word(uint64_t v[static 4],
                                                            uint64_t word)
{
    v[3] ^= word;
    mix(v);
    mix(v);
    v[0] ^= word;
}

uint64_t hash_keyed(const uint64_t key[static 2], struct str bytes)
{
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
                     key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u};
    uint64_t word, last = 0;
    size_t at = 0;
    for (; bytes.n - at >= sizeof word; at += sizeof word) {
        memcpy(&word, bytes.at + at, sizeof word);
        take_word(v, word);
    }
    if (at < bytes.n)
        memcpy(&last, bytes.at + at, bytes.n - at);
    last |= (uint64_t)bytes.n << 56;
    take_word(v, last);
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++)
        mix(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void map_done(struct map *m)
{
    free(m->texts);
    free(m->marks);
    free(m->slots);
    *m = (struct map){0};
}

/* Where the key's number is, or would be. Numbers count up: multiplied by the golden ratio
 * they spread. */
static uint32_t *slot_of(const struct map *m, const struct str *text, uint64_t mark)
{
    for (size_t i = (size_t)((mark * 0x9e3779b97f4a7c15u) >> 32);; i++) {
        uint32_t *slot = &m->slots[i & (m->slot_count - 1)];
        if (!*slot || (m->marks[*slot - 1] == mark &&
                       (!text || str_eq(m->texts[*slot - 1], *text))))
            return slot;
    }
}

static size_t map_find_slot(const struct map *m, const struct str *text, uint64_t mark)
{
    uint32_t number = m->slot_count ? *slot_of(m, text, mark) : 0;
    return number ? number - 1 : MAP_NONE;
}

/* Twice the slots that are needed, at least. */
static bool grow(struct map *m, bool texts, struct err *e)
{
    size_t more = m->capacity ? 2 * m->capacity : 64;
    if (more > MAP_MAX)
        return err_set(e, ERR_LIMIT, "a table would need more than %u entries", MAP_MAX);
    must(m->capacity || getentropy(m->seed, sizeof m->seed) == 0);
    struct str *keys = texts ? reallocarray(m->texts, more, sizeof *keys) : NULL;
    m->texts = keys ? keys : m->texts;
    uint64_t *marks = reallocarray(m->marks, more, sizeof *marks);
    m->marks = marks ? marks : m->marks;
    uint32_t *slots = calloc(2 * more, sizeof *slots);
    if ((texts && !keys) || !marks || !slots) {
        free(slots);
        return err_set(e, ERR_LIMIT, "no memory for a table of %zu entries", more);
    }
    free(m->slots);
    m->slots = slots;
    m->slot_count = 2 * more;
    m->capacity = more;
    for (size_t i = 0; i < m->count; i++)
        *slot_of(m, texts ? &keys[i] : NULL, marks[i]) = (uint32_t)i + 1;
    return true;
}

static bool fit(struct map *m, bool texts, struct err *e)
{
    return m->count < m->capacity || grow(m, texts, e);
}

static size_t map_add_row(struct map *m, const struct str *text, uint64_t mark)
{
    uint32_t *slot = slot_of(m, text, mark);
    if (!*slot) {
        if (text)
            m->texts[m->count] = *text;
        m->marks[m->count] = mark;
        *slot = (uint32_t)++m->count;
    }
    return *slot - 1;
}

size_t map_find(const struct map *m, struct str key)
{
    return map_find_slot(m, &key, hash_keyed(m->seed, key));
}

size_t map_find_int(const struct map *m, int64_t key)
{
    return map_find_slot(m, NULL, (uint64_t)key);
}

size_t map_find_hash(const struct map *m, struct str key)
{
    return map_find_slot(m, NULL, hash_keyed(m->seed, key));
}

size_t map_add(struct map *m, struct str key, struct err *e)
{
    return fit(m, true, e) ? map_add_row(m, &key, hash_keyed(m->seed, key)) : MAP_NONE;
}

size_t map_add_int(struct map *m, int64_t key, struct err *e)
{
    return fit(m, false, e) ? map_add_row(m, NULL, (uint64_t)key) : MAP_NONE;
}

size_t map_add_hash(struct map *m, struct str key, struct err *e)
{
    return fit(m, false, e) ? map_add_row(m, NULL, hash_keyed(m->seed, key)) : MAP_NONE;
}
