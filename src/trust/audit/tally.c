/* Names, each counted once. */
#include "audit/audit.h"

#define TOLD_APART ((size_t)1 << 18)

static void tally_keep_name(struct tally *t, struct str name)
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
    struct err full = {0};
    size_t before = t->seen.count;
    if (before < TOLD_APART ? map_add_hash(&t->seen, name, &full) < before
                            : map_find_hash(&t->seen, name) != MAP_NONE)
        return;
    /* A name with a NUL in it cannot be stored in a list of names. */
    if (memchr(name.at, '\0', name.n))
        name.n = strlen(name.at);
    t->count++;
    if (t->kept == t->count - 1)
        tally_keep_name(t, name);
}

const char *tally_next(const struct tally *t, const char *name)
{
    const char *next = name ? name + strlen(name) + 1 : t->names.at;
    return t->names.n && next < t->names.at + t->names.n ? next : NULL;
}

void tally_done(struct tally *t)
{
    buf_done(&t->names);
    map_done(&t->seen);
    *t = (struct tally){0};
}
