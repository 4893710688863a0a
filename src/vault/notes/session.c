#include "notes/session.h"

#include <limits.h>

#include "notes/index.h"
#include "notes/linkindex.h"
#include "notes/linktext.h"
#include "notes/name.h"

/* ---- one note ------------------------------------------------------------ */

/* Its row, and what it says. Its words stay: nobody searches in a session. */
static bool session_drop_note(struct linker *l, const char *path, struct err *e)
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
    struct note_keys keys;
    scoped_buf struct buf id = buf_of(PATH_MAX + 8), text = buf_of(NOTE_KEYS_MAX);
    name_put_id(n->path, &id);
    note_keys(buf_view(&id), n->title, &text, &keys);
    /* A key that no note has had: words of others hang on those. */
    scoped(query_end) struct query *q = db_query(
        db,
        "INSERT INTO notes(key, path, id, uid, type, stem, title, created, updated,"
        " id_key, stem_key, title_key, size, mtime_ns, inode, racy, state, hash, tags,"
        " metadata)"
        " SELECT coalesce(max(key), 0) + 1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,"
        " 0, 0, 0, 1, ?12, '', '[]', '{}' FROM notes",
        e);
    if (!q)
        return false;
    index_bind_note(q, n, buf_view(&id), &keys);
    query_bind_int(q, 12, INDEX_GOOD);
    if (!query_run(q, e))
        return false;
    *key = db_last_id(db);
    return true;
}

static bool session_add_note(struct linker *l, struct change *c, const char *path,
                             struct err *e)
{
    struct note n;
    bool found;
    int64_t key;
    struct err why = {0};
    if (!change_read(c, path, &n, &found, &why)) {
        /* A note that is too large, or not to be read, is known by its name. */
        n = (struct note){.path = str_of(path), .title = name_stem(str_of(path))};
        return insert(l->db, &n, &key, e) && linker_touch(l, n.path, n.uid, n.title, e);
    }
    return !found ||
           (insert(l->db, &n, &key, e) && linker_touch(l, n.path, n.uid, n.title, e) &&
            linker_write(l, key, &n, NULL, STR("[]"), e));
}

/* ---- the links of a note that stays --------------------------------------- */

/* Does the row call the note by the slot's name? */
static bool row_is_of_slot(struct query *q, const struct linkslot *s, struct buf *text,
                           struct buf *other)
{
    linkslot_name(s, str_of(s->text->note->to), text, other);
    return query_int(q, 0) == s->number && str_eq(query_str(q, 1), buf_view(text)) &&
           str_eq(query_str(q, 2), buf_view(other));
}

/* The next slot that has a row, from `i` on. */
static struct linkslot *next_slot(const struct linktext *t, bool subnotes, size_t *i)
{
    while (*i < t->count) {
        struct linkslot *s = &t->slots[(*i)++];
        if (s->subnote == subnotes && s->number != LINKSLOT_NONE)
            return s;
    }
    return NULL;
}

/* Gathers the slots whose rows say something else, by their `todo`. *all: the rows are
 * others altogether. */
static bool compare_rows(struct linker *l, struct linktext *t, bool subnotes, bool *all,
                         struct err *e)
{
    scoped(query_end) struct query *q = db_query(
        l->db,
        subnotes ? "SELECT s.position, n.text, n.other FROM subnotes s"
                   " LEFT JOIN names n ON n.key = s.name WHERE s.parent = ?1 ORDER BY 1"
                 : "SELECT l.number, n.text, n.other FROM links l"
                   " LEFT JOIN names n ON n.key = l.name WHERE l.source = ?1 ORDER BY 1",
        e);
    if (!q)
        return false;
    query_bind_int(q, 1, t->key);
    scoped_buf struct buf text, other;
    buf_init(&text, PATH_MAX);
    buf_init(&other, PATH_MAX);
    size_t i = 0;
    bool odd = false;
    while (!odd && query_next(q, e)) {
        struct linkslot *s = next_slot(t, subnotes, &i);
        bool same = s && row_is_of_slot(q, s, &text, &other);
        /* Between an address and a name more differs than the name. */
        odd = !s || query_int(q, 0) != s->number ||
              (!same && (!text.n || !query_str(q, 1).n));
        if (odd || same)
            continue;
        s->todo = t->todo;
        t->todo = s;
    }
    *all = *all || odd || next_slot(t, subnotes, &i);
    return e->code == ERR_NONE;
}

static bool rename_rows(struct linker *l, struct linktext *t, struct err *e)
{
    scoped_buf struct buf text, other;
    buf_init(&text, PATH_MAX);
    buf_init(&other, PATH_MAX);
    for (struct linkslot *s = t->todo; s; s = s->todo) {
        struct link link = linkslot_link(s);
        linkslot_name(s, str_of(t->note->to), &text, &other);
        if (s->subnote ? !linker_rename_subnote(l, t->key, s->number, buf_view(&text), e)
                       : !linker_rename_link(l, t->key, s->number, &link, buf_view(&text),
                                             buf_view(&other), e))
            return false;
    }
    return true;
}

bool session_index_links(struct linker *l, struct linktext *t, struct err *e)
{
    bool all = false;
    t->todo = NULL;
    if (!compare_rows(l, t, false, &all, e) || !compare_rows(l, t, true, &all, e))
        return false;
    bool ok;
    if (all) {
        const struct note *note = entry_parse(t->c, t->note, e);
        ok = note && linker_forget(l, t->key, e) &&
             linker_write(l, t->key, note, NULL, STR("[]"), e);
    } else {
        ok = rename_rows(l, t, e);
    }
    t->todo = NULL;
    return ok;
}

/* Updates the columns of the note itself. */
static bool refresh_row(struct linker *l, const struct note *n, int64_t *key,
                        struct err *e)
{
    *key = 0;
    scoped(query_end) struct query *q =
        db_query(l->db, "SELECT key, path, uid, title FROM notes WHERE path = ?", e);
    if (!q)
        return false;
    query_bind_str(q, 1, n->path);
    if (!query_next(q, e))
        return e->code == ERR_NONE;
    *key = query_int(q, 0);
    if (str_eq(query_str(q, 2), n->uid) && str_eq(query_str(q, 3), n->title))
        return true;
    scoped(query_end) struct query *set = db_query(
        l->db, "UPDATE notes SET uid = ?2, title = ?3, title_key = ?4 WHERE key = ?1", e);
    scoped_buf struct buf folded = buf_of(FOLD_KEY_MAX);
    if (!set || !linker_touch(l, query_str(q, 1), query_str(q, 2), query_str(q, 3), e))
        return false;
    query_again(q); /* a row of what is changed now */
    query_bind_int(set, 1, *key);
    if (n->uid.n)
        query_bind_str(set, 2, n->uid);
    query_bind_str(set, 3, n->title);
    query_bind_str(set, 4, fold_key(n->title, &folded));
    return query_run(set, e) && linker_touch(l, n->path, n->uid, n->title, e);
}

/* A note that stays where it is keeps its row. *known false: it has none, or cannot be
 * read any more. */
static bool session_refresh(struct linker *l, struct change *c, const char *path,
                            bool *known, struct err *e)
{
    struct note n;
    bool found;
    int64_t key;
    struct err why = {0};
    *known = false;
    if (!change_read(c, path, &n, &found, &why) || !found)
        return true;
    struct linktext *t = linktext_open(c->texts, entry_at(c, path), e);
    if (!t || !refresh_row(l, &n, &key, e))
        return false;
    t->key = key;
    *known = key != 0;
    return !key || (linker_aliases(l, key, &n, e) && session_index_links(l, t, e));
}

/* ---- all that is new ----------------------------------------------------- */

struct learning {
    struct linker *linker;
    struct change *c;
    bool any;
};

static bool stays(const char *known, const char *now)
{
    return known && now && !strcmp(known, now);
}

static bool forget_old(void *arg, const char *known, const char *now, struct err *e)
{
    struct learning *x = arg;
    x->any = true;
    return !known || stays(known, now) || session_drop_note(x->linker, known, e);
}

static bool add_new(void *arg, const char *known, const char *now, struct err *e)
{
    struct learning *x = arg;
    bool done = false;
    if (!now || !vault_goes_on(x->c->v, e))
        return !now;
    if (stays(known, now) && !session_refresh(x->linker, x->c, now, &done, e))
        return false;
    if (done)
        return true;
    return (!stays(known, now) || session_drop_note(x->linker, known, e)) &&
           session_add_note(x->linker, x->c, now, e);
}

bool session_learn(struct change *c, struct err *e)
{
    struct learning x = {.linker = c->linker, .c = c};
    if (!c->index || !c->news)
        return true;
    /* First all that goes: two notes may have changed places. */
    bool ok = change_news(c, forget_old, &x, e) && change_news(c, add_new, &x, e) &&
              (!x.any || linker_settle(c->linker, e));
    if (ok)
        change_told(c);
    return ok;
}

bool session_moved(struct change *c, const char *path, int64_t key, struct err *e)
{
    if (!key)
        return true; /* it is learnt of like others */
    struct entry *n = entry_at(c, path);
    struct linktext *t = n ? linktext_open(c->texts, n, e) : NULL;
    if (!t)
        return false;
    t->key = key;
    if (!session_index_links(c->linker, t, e) || !linker_settle(c->linker, e))
        return false;
    change_told(c);
    return true;
}

bool session_settle_tree(struct change *c, struct err *e)
{
    return !c->index || (session_learn(c, e) && linker_settle_tree(c->linker, e));
}

/* ---- sessions ------------------------------------------------------------ */

struct session {
    struct change *c;
    session_work *work;
    void *arg;
    bool began;
};

static bool work_within(struct session *s, struct db *db, struct err *e)
{
    struct change *c = s->c;
    struct linker linker;
    linker_init(&linker, db);
    linker.tree_waits = true;
    c->index = db;
    c->linker = &linker;
    c->texts = linktexts_new(c, true);
    bool ok = s->work(s->arg, e) && linktexts_write(c->texts, e);
    linktexts_free(c->texts);
    linker_done(&linker);
    c->index = NULL;
    c->linker = NULL;
    c->texts = NULL;
    return ok;
}

static bool session_run_work(struct db *db, void *arg, struct err *e)
{
    struct session *s = arg;
    /* The change's work up to here cannot be done again. */
    if (s->began)
        return err_set(e, ERR_BUSY,
                       "the index was damaged and is being rebuilt; nothing was "
                       "changed, try again");
    s->began = true;
    scoped_transaction struct transaction t = {0};
    return db_begin(&t, db, e) && work_within(s, db, e);
}

bool session_run(struct vault *v, struct change *c, session_work *work, void *arg,
                 struct err *e)
{
    struct session s = {c, work, arg, false};
    return index_use(v, session_run_work, &s, e);
}

/* The work's writes are undone, as index_use()'s callers do it. */
static bool use(struct change *c, struct db *db, index_work *work, void *arg,
                struct err *e)
{
    struct err ignored = {0};
    if (!session_learn(c, e) || !db_exec(db, "SAVEPOINT step", e))
        return false;
    bool ok = work(db, arg, e);
    bool undone = db_exec(db, "ROLLBACK TO step; RELEASE step", ok ? e : &ignored);
    return ok && undone;
}

bool session_use(struct vault *v, struct change *c, index_work *work, void *arg,
                 struct err *e)
{
    return c->index ? use(c, c->index, work, arg, e) : index_use(v, work, arg, e);
}
