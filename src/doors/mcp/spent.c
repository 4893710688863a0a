#include "mcp/spent.h"

/* Few are kept at a time: they are looked through. */
struct spent_one {
    unsigned char id[SPENT_ID];
    uint64_t principal; /* its hash */
    int64_t until_ms;
};

void spent_init(struct spent *s)
{
    *s = (struct spent){0};
    pthread_mutex_init(&s->lock, NULL);
}

void spent_done(struct spent *s)
{
    free(s->at);
    pthread_mutex_destroy(&s->lock);
}

static void forget_old(struct spent *s, int64_t now_ms)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++)
        if (s->at[i].until_ms > now_ms)
            s->at[kept++] = s->at[i];
    s->count = kept;
}

static bool take_locked(struct spent *s, const struct spent_one *one, int64_t now_ms,
                        struct err *e)
{
    size_t mine = 0;
    forget_old(s, now_ms);
    for (size_t i = 0; i < s->count; i++) {
        if (!memcmp(s->at[i].id, one->id, SPENT_ID))
            return err_set(e, ERR_INVALID, "was used already");
        mine += s->at[i].principal == one->principal;
    }
    struct err full = {0};
    if (!share_fits(mine, s->count, SPENT_MAX) ||
        !array_fit(s->at, s->capacity, s->count, &full))
        return err_set(e, ERR_BUSY, "is one of too many within ten minutes");
    s->at[s->count++] = *one;
    return true;
}

bool spent_take(struct spent *s, const unsigned char id[static SPENT_ID],
                const char *principal, int64_t now_ms, int64_t until_ms, struct err *e)
{
    struct spent_one one = {.principal = hash_fnv(HASH_FNV, str_of(principal)),
                            .until_ms = until_ms};
    memcpy(one.id, id, SPENT_ID);
    pthread_mutex_lock(&s->lock);
    bool fresh = take_locked(s, &one, now_ms, e);
    pthread_mutex_unlock(&s->lock);
    return fresh;
}
