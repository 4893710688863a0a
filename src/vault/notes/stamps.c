/* The sum of a walk, 128 bits: each file adds a keyed hash of its own. */
#include "notes/stamps.h"

bool stamps_begin(struct stamps *s, struct db *db, struct err *e)
{
    *s = (struct stamps){0};
    scoped(query_end) struct query *q =
        db_query(db, "SELECT epoch, written, walked_at = written, walked FROM state", e);
    if (!q || !query_next(q, e))
        return e->code == ERR_NONE;
    struct str epoch = query_str(q, 0), known = query_bytes(q, 3);
    for (unsigned i = 0; i < 2; i++) {
        s->keys[i][0] = hash_fnv(HASH_FNV + i, epoch);
        s->keys[i][1] = hash_fnv(s->keys[i][0], epoch);
    }
    s->written = query_int(q, 1);
    s->has_known = query_int(q, 2) && known.n == sizeof s->known;
    if (s->has_known)
        memcpy(s->known, known.at, sizeof s->known);
    return true;
}

void stamps_add(struct stamps *s, struct str path, const struct os_stat *st)
{
    /* The path's hash stands for it, so that one text of fixed size is hashed twice. */
    for (unsigned i = 0; i < 2; i++) {
        uint64_t words[] = {hash_keyed(s->keys[i], path), st->size,
                            (uint64_t)st->mtime_ns, st->inode};
        s->sum[i] += hash_keyed(s->keys[i], (struct str){(char *)words, sizeof words});
    }
}

bool stamps_are_known(const struct stamps *s)
{
    return s->has_known && !memcmp(s->sum, s->known, sizeof s->sum);
}

void stamps_keep(const struct stamps *s, struct db *db)
{
    struct err ignored = {0};
    scoped(query_end) struct query *q = db_query(
        db, "UPDATE state SET walked = ?1, walked_at = ?2 WHERE written = ?2", &ignored);
    if (!q)
        return;
    query_bind_bytes(q, 1, (struct str){(const char *)s->sum, sizeof s->sum});
    query_bind_int(q, 2, s->written);
    (void)query_run(q, &ignored);
}

bool stamps_forget(struct db *db, struct err *e)
{
    return db_exec(db, "UPDATE state SET written = written + 1", e);
}
