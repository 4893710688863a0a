#include "notes/canvasindex.h"

#include "notes/index.h"
#include "notes/linkindex.h"
#include "notes/name.h"

#define RACY_NS 2000000000 /* as in sync.c */

bool canvases_add(struct canvases *c, struct str path, struct err *e)
{
    if (!c->arena)
        c->arena = arena_new(ARENA_VAULT);
    const char *copy = arena_copy(c->arena, path.at, path.n, e);
    if (!copy || !array_fit(c->all, c->capacity, c->count, e))
        return false;
    c->all[c->count++] = copy;
    return true;
}

bool canvases_add_known(struct canvases *c, struct db *db, const char *name,
                        struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db,
                 "SELECT path FROM canvases WHERE ?1 IS NULL OR path = ?1"
                 " OR (path > ?1 || '/' AND path < ?1 || '0')",
                 e);
    if (!q)
        return false;
    if (name)
        query_bind_cstr(q, 1, name);
    while (query_next(q, e))
        if (!canvases_add(c, query_str(q, 0), e))
            return false;
    return e->code == ERR_NONE;
}

void canvases_done(struct canvases *c)
{
    arena_free(c->arena);
    free(c->all);
    *c = (struct canvases){0};
}

/* ---- one canvas ---------------------------------------------------------- */

struct canvas_row {
    int64_t key; /* 0: there is none */
    bool current;
    char hash[HASH_SIZE];
};

/* What the index knows of it; `st` NULL: the file is not there. */
static bool find_row(struct db *db, const char *path, const struct os_stat *st,
                     struct canvas_row *r, struct err *e)
{
    *r = (struct canvas_row){0};
    scoped(query_end) struct query *q = db_query(
        db, "SELECT key, size, mtime_ns, inode, racy, hash FROM canvases WHERE path = ?",
        e);
    if (!q)
        return false;
    query_bind_cstr(q, 1, path);
    if (!query_next(q, e)) {
        r->current = !st;
        return e->code == ERR_NONE;
    }
    struct str hash = query_str(q, 5);
    r->key = query_int(q, 0);
    r->current = st && (uint64_t)query_int(q, 1) == st->size &&
                 query_int(q, 2) == st->mtime_ns &&
                 (uint64_t)query_int(q, 3) == st->inode && !query_int(q, 4) && hash.n;
    if (hash.n < sizeof r->hash)
        memcpy(r->hash, hash.at, hash.n);
    return true;
}

static bool look(struct vault *v, struct db *db, const char *path, bool *there,
                 struct os_stat *st, struct canvas_row *r, struct err *e)
{
    struct err none = {0};
    *there = name_is_canvas(str_of(path)) && os_stat_beneath(v->dir, path, st, &none) &&
             st->is_file;
    return find_row(db, path, *there ? st : NULL, r, e);
}

static bool drop_canvas(struct linker *l, int64_t key, struct err *e)
{
    return !key ||
           (linker_forget(l, -key, e) &&
            index_run_with_key(l->db, "DELETE FROM canvases WHERE key = ?", key, e));
}

static bool put_row(struct db *db, const char *path, const struct os_stat *st,
                    const char *hash, int64_t *key, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db,
                 "INSERT INTO canvases(path, size, mtime_ns, inode, racy, hash)"
                 " VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT(path) DO UPDATE SET"
                 " size = ?2, mtime_ns = ?3, inode = ?4, racy = ?5, hash = ?6",
                 e);
    if (!q)
        return false;
    query_bind_cstr(q, 1, path);
    query_bind_int(q, 2, (int64_t)st->size);
    query_bind_int(q, 3, st->mtime_ns);
    query_bind_int(q, 4, (int64_t)st->inode);
    query_bind_int(q, 5, os_real_ms() * 1000000 - st->mtime_ns < RACY_NS);
    query_bind_cstr(q, 6, hash);
    if (!query_run(q, e))
        return false;
    *key = *key ? *key : db_last_id(db);
    return true;
}

static bool refresh_canvas(struct vault *v, struct linker *l, const char *path,
                           bool *changed, struct err *e)
{
    struct os_stat st;
    struct canvas_row r;
    bool there;
    if (!look(v, l->db, path, &there, &st, &r, e))
        return false;
    if (r.current)
        return true;
    *changed = *changed || !there;
    if (!there)
        return drop_canvas(l, r.key, e);
    scoped_buf struct buf bytes = buf_of(NOTE_SIZE_MAX + 4096);
    scoped(arena_free) struct arena *a = arena_new(ARENA_FILE);
    struct err unread = {0};
    struct note n = {.path = str_of(path)};
    bool found = false, ok = vault_read(v, path, &bytes, &st, &found, &unread) && found;
    if (ok && !note_parse(v, str_of(path), buf_view(&bytes), &st, a, &n, e))
        return false;
    bool same = r.key && ok && !strcmp(r.hash, n.hash);
    *changed = *changed || !same;
    return (same || !r.key || linker_forget(l, -r.key, e)) &&
           put_row(l->db, path, &st, n.hash, &r.key, e) &&
           (same || !ok || linker_write(l, -r.key, &n, NULL, STR("[]"), e));
}

/* ---- many ---------------------------------------------------------------- */

static bool keep_stale(struct canvases *c, struct vault *v, struct db *db, struct err *e)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++) {
        struct os_stat st;
        struct canvas_row r;
        bool there;
        if (!look(v, db, c->all[i], &there, &st, &r, e))
            return false;
        if (!r.current)
            c->all[kept++] = c->all[i];
    }
    c->count = kept;
    return true;
}

bool canvases_refresh(struct canvases *c, struct vault *v, struct db *db, struct err *e)
{
    if (!c->count || !keep_stale(c, v, db, e) || !c->count)
        return e->code == ERR_NONE;
    scoped_transaction struct transaction t = {0};
    struct linker l;
    linker_init(&l, db);
    bool changed = false, ok = db_begin(&t, db, e);
    for (size_t i = 0; ok && i < c->count; i++)
        ok = vault_goes_on(v, e) && refresh_canvas(v, &l, c->all[i], &changed, e);
    ok = ok && linker_settle(&l, e);
    linker_done(&l);
    return ok && (!changed || db_exec(db, "UPDATE state SET version = version + 1", e)) &&
           db_commit(&t, e);
}
