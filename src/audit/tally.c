/* Names, each counted once. */
#include "audit/audit.h"

#define ROOM_LEAST 64u
#define ROOM_MOST ((size_t)1 << 19)

static uint64_t hash_of(struct str name)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < name.n; i++)
        hash = (hash ^ (unsigned char)name.at[i]) * 1099511628211u;
    return hash ? hash : 1;
}

/* Where it stands, or would. */
static uint64_t *place_of(uint64_t *seen, size_t room, uint64_t hash)
{
    size_t i = (hash ^ hash >> 32) & (room - 1);
    while (seen[i] && seen[i] != hash)
        i = (i + 1) & (room - 1);
    return &seen[i];
}

static bool grow(struct tally *t)
{
    size_t room = t->room ? 2 * t->room : ROOM_LEAST;
    uint64_t *seen = room > ROOM_MOST ? NULL : calloc(room, sizeof *seen);
    if (!seen)
        return false;
    for (size_t i = 0; i < t->room; i++)
        if (t->seen[i])
            *place_of(seen, room, t->seen[i]) = t->seen[i];
    free(t->seen);
    t->seen = seen;
    t->room = room;
    return true;
}

static void keep(struct tally *t, struct str name)
{
    struct str cut = str_cut(name, TALLY_NAME_MAX);
    size_t before = t->names.n;
    if (!t->names.ceiling)
        buf_init(&t->names, TALLY_NAMES);
    if (before + cut.n + 8 > TALLY_NAMES)
        return;
    buf_str(&t->names, cut);
    if (cut.n < name.n)
        buf_cstr(&t->names, "\u2026");
    if (buf_char(&t->names, '\0'))
        t->kept++;
    else
        t->names.n = before;
}

void tally_add(struct tally *t, struct str name)
{
    if (!name.n)
        return;
    uint64_t hash = hash_of(name);
    /* A name with a NUL in it is none that a list of names could tell. */
    if (memchr(name.at, '\0', name.n))
        name.n = strlen(name.at);
    bool fits = 2 * t->used < t->room || grow(t);
    uint64_t *place = fits ? place_of(t->seen, t->room, hash) : NULL;
    if (place && *place == hash)
        return;
    if (place) {
        *place = hash;
        t->used++;
    }
    t->count++;
    if (t->kept == t->count - 1)
        keep(t, name);
}

const char *tally_next(const struct tally *t, const char *name)
{
    const char *next = name ? name + strlen(name) + 1 : t->names.at;
    return t->names.n && next < t->names.at + t->names.n ? next : NULL;
}

void tally_done(struct tally *t)
{
    buf_done(&t->names);
    free(t->seen);
    *t = (struct tally){0};
}
