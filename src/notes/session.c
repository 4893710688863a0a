#include "notes/session.h"

#include "notes/index.h"
#include "notes/linkindex.h"
#include "notes/name.h"

/* ---- one note ------------------------------------------------------------ */

/* Its row, and what it says. Its words stay: nobody searches in a session. */
static bool drop(struct linker *l, const char *path, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(l->db, "SELECT key, path, uid, title FROM notes WHERE path = ?", e);
    if (!q)
        return false;
    query_bind_cstr(q, 1, path);
    if (!query_next(q, e))
        return e->code == ERR_NONE;
    int64_t key = query_int(q, 0);
    return linker_touch(l, query_str(q, 1), query_str(q, 2), query_str(q, 3), e) &&
           linker_drop(l, key, e) &&
           index_run_with_key(l->db, "DELETE FROM notes WHERE key = ?", key, e);
}

static bool insert(struct db *db, const struct note *n, int64_t *key, struct err *e)
{
    scoped_buf struct buf id;
    buf_init(&id, PATH_MAX + 8);
    name_put_id(n->path, &id);
    /* A key that no note has had: words of others hang on those. */
    scoped(query_end) struct query *q = db_query(
        db,
        "INSERT INTO notes(key, path, id, uid, type, stem, title, created, updated, size,"
        " mtime_ns, inode, racy, state, hash, tags, metadata)"
        " SELECT coalesce(max(key), 0) + 1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, 0, 0, 1,"
        " ?9, '', '[]', '{}' FROM notes",
        e);
    if (!q)
        return false;
    index_bind_note(q, n, buf_view(&id));
    query_bind_int(q, 9, INDEX_GOOD);
    if (!query_run(q, e))
        return false;
    *key = db_last_id(db);
    return true;
}

static bool add(struct linker *l, struct change *c, const char *path, struct err *e)
{
    struct note n;
    bool found;
    int64_t key;
    struct err why = {0};
    if (!change_read(c, path, &n, &found, &why)) {
        /* One that is too large, or not to be read, is known by its name. */
        n = (struct note){.path = str_of(path), .title = name_stem(str_of(path))};
        return insert(l->db, &n, &key, e) && linker_touch(l, n.path, n.uid, n.title, e);
    }
    return !found ||
           (insert(l->db, &n, &key, e) && linker_touch(l, n.path, n.uid, n.title, e) &&
            linker_write(l, key, &n, NULL, STR("[]"), e));
}

/* ---- all that is new ----------------------------------------------------- */

struct learning {
    struct linker linker;
    struct change *c;
    bool any;
};

static bool forget_old(void *arg, const char *known, const char *now, struct err *e)
{
    struct learning *x = arg;
    (void)now;
    x->any = true;
    return !known || drop(&x->linker, known, e);
}

static bool add_new(void *arg, const char *known, const char *now, struct err *e)
{
    struct learning *x = arg;
    (void)known;
    return !now || add(&x->linker, x->c, now, e);
}

/* First all that goes: two notes may have changed places. */
static bool learn(struct change *c, struct db *db, struct err *e)
{
    struct learning x = {.c = c};
    linker_init(&x.linker, db);
    bool ok = change_news(c, forget_old, &x, e) && change_news(c, add_new, &x, e) &&
              (!x.any || linker_settle(&x.linker, e));
    linker_done(&x.linker);
    if (ok)
        change_told(c);
    return ok;
}

/* ---- sessions ------------------------------------------------------------ */

struct session {
    struct change *c;
    session_work *work;
    void *arg;
    bool began;
};

static bool run(struct db *db, void *arg, struct err *e)
{
    struct session *s = arg;
    /* What the change has done by then cannot be done again. */
    if (s->began)
        return err_set(e, ERR_BUSY,
                       "the index was damaged and is made anew; nothing was "
                       "changed, try again");
    s->began = true;
    scoped_transaction struct transaction t = {0};
    if (!db_begin(&t, db, e))
        return false;
    change_set_index(s->c, db);
    bool ok = s->work(s->arg, e);
    change_set_index(s->c, NULL);
    return ok;
}

bool session_run(struct vault *v, struct change *c, session_work *work, void *arg,
                 struct err *e)
{
    struct session s = {c, work, arg, false};
    return index_use(v->index, run, &s, e);
}

/* What the work writes is undone, as index_use()'s callers do it. */
static bool use(struct change *c, struct db *db, index_work *work, void *arg,
                struct err *e)
{
    struct err ignored = {0};
    if (!learn(c, db, e) || !db_exec(db, "SAVEPOINT step", e))
        return false;
    bool ok = work(db, arg, e);
    bool undone = db_exec(db, "ROLLBACK TO step; RELEASE step", ok ? e : &ignored);
    return ok && undone;
}

bool session_use(struct vault *v, struct change *c, index_work *work, void *arg,
                 struct err *e)
{
    struct db *db = change_index(c);
    return db ? use(c, db, work, arg, e) : index_use(v->index, work, arg, e);
}
