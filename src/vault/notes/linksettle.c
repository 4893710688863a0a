/* Resolving names, and storing the outcome in the index. */
#include <limits.h>

#include "notes/index.h"
#include "notes/linkquery.h"
#include "notes/name.h"

/* ---- what a name means -------------------------------------------------- */

struct meaning {
    struct linker *linker;
    int64_t note;
};

/* Of several notes the one with the shortest path, then the first by path. */
static bool comes_before(struct str path, struct str other)
{
    if (path.n != other.n)
        return path.n < other.n;
    return memcmp(path.at, other.at, path.n) < 0;
}

static enum name_outcome names_look_up(void *arg, enum resolve_way way, struct str name,
                                       struct err *e)
{
    struct meaning *m = arg;
    struct query *q = linker_query(m->linker, (enum linker_query)(BY_NAME + way), e);
    if (!q)
        return NAME_MISSING;
    scoped_buf struct buf key = buf_of(FOLD_KEY_MAX);
    resolve_bind(q, way, name, &key);
    char best[PATH_MAX];
    size_t n = 0, count = 0;
    for (; query_next(q, e); count++) {
        struct str path = query_str(q, 1);
        if (path.n > sizeof best || (count && !comes_before(path, (struct str){best, n})))
            continue;
        m->note = query_int(q, 0);
        memcpy(best, path.at, n = path.n);
    }
    query_again(q);
    if (way == RESOLVE_UID && count > 1)
        m->note = 0; /* a copied file: nobody knows which of them is meant */
    return !count || e->code ? NAME_MISSING : count > 1 ? NAME_SEVERAL : NAME_FOUND;
}

enum name_outcome linker_find(struct linker *l, struct str name, int64_t *note,
                              struct err *e)
{
    struct meaning m = {l, 0};
    enum name_outcome found = resolve_file(names_look_up, &m, name, e);
    if (!found && !e->code)
        found = resolve_name(names_look_up, &m, name, RESOLVE_WAYS, e);
    if (found)
        *note = m.note;
    return found;
}

static enum name_outcome find_either(struct linker *l, struct str text, struct str other,
                                     int64_t *note, struct err *e)
{
    *note = 0;
    enum name_outcome found = linker_find(l, text, note, e);
    if (found == NAME_MISSING && other.n)
        found = linker_find(l, other, note, e);
    return found;
}

bool linker_meaning(struct linker *l, struct str text, struct str other, int64_t *note,
                    struct err *e)
{
    (void)find_either(l, text, other, note, e);
    return e->code == ERR_NONE;
}

/* ---- settling ----------------------------------------------------------- */

#define CHUNK 1000

struct unsettled {
    int64_t key, note; /* as it was: 0 for none */
    struct str text, other;
    enum name_outcome outcome;
};

static bool is_used(struct linker *l, int64_t name, struct err *e)
{
    struct query *q = l->fresh ? NULL : linker_query(l, IS_USED, e);
    if (!q)
        return l->fresh;
    query_bind_int(q, 1, name);
    bool used = query_next(q, e) && query_int(q, 0);
    query_again(q);
    return used;
}

static bool mark_broken(struct linker *l, int64_t name, bool broken, struct err *e)
{
    if (broken)
        return linker_run_with(l, ADD_BROKEN, name, e);
    return l->fresh || linker_run_with(l, DROP_BROKEN, name, e);
}

static bool settle_name(struct linker *l, const struct unsettled *u, void *arg,
                        struct err *e)
{
    (void)arg;
    int64_t note;
    if (!is_used(l, u->key, e))
        return e->code == ERR_NONE && linker_run_with(l, DROP_NAME, u->key, e) &&
               linker_run_with(l, DROP_BROKEN, u->key, e);
    enum name_outcome found = find_either(l, u->text, u->other, &note, e);
    if (e->code || !mark_broken(l, u->key, !note, e))
        return false;
    if (note == u->note && found == u->outcome)
        return true;
    struct query *q = linker_query(l, SET_NAME, e);
    if (!q)
        return false;
    query_bind_int(q, 1, u->key);
    if (note)
        query_bind_int(q, 2, note);
    query_bind_int(q, 3, found);
    l->tree_open = true;
    return linker_run(q, e) && (l->fresh || l->tree_waits || note == u->note ||
                                linker_run_with(l, REOPEN_SUBNOTES, u->key, e));
}

/* Reads the next names that are to be settled, beginning behind the key `after`. */
static size_t read_chunk(struct linker *l, bool all, int64_t after, struct arena *a,
                         struct unsettled *out, struct err *e)
{
    static const char *const which[] = {
        "SELECT n.key, n.note, n.text, n.other, n.outcome FROM unsettled u"
        " JOIN names n ON n.key = u.name WHERE u.name > ?1 ORDER BY u.name LIMIT ?2",
        "SELECT key, note, text, other, outcome FROM names WHERE key > ?1"
        " ORDER BY key LIMIT ?2",
    };
    scoped(query_end) struct query *q = db_query(l->db, which[all], e);
    if (!q)
        return 0;
    query_bind_int(q, 1, after);
    query_bind_int(q, 2, CHUNK);
    size_t n = 0;
    for (; n < CHUNK && query_next(q, e); n++) {
        struct str text = query_str(q, 2), other = query_str(q, 3);
        out[n] = (struct unsettled){query_int(q, 0),
                                    query_int(q, 1),
                                    {arena_copy(a, text.at, text.n, e), text.n},
                                    {arena_copy(a, other.at, other.n, e), other.n},
                                    (enum name_outcome)query_int(q, 4)};
    }
    return e->code ? 0 : n;
}

typedef bool unsettled_fn(struct linker *l, const struct unsettled *u, void *arg,
                          struct err *e);
/* Visits the names that are to be settled, or all names. */
static bool each_name(struct linker *l, bool all, unsettled_fn *each, void *arg,
                      struct err *e)
{
    int64_t after = INT64_MIN;
    struct unsettled *chunk = mem_new(CHUNK * sizeof *chunk);
    size_t n = CHUNK;
    while (n == CHUNK && !e->code) {
        scoped(arena_free) struct arena *a = arena_new(ARENA_FILE);
        n = read_chunk(l, all, after, a, chunk, e);
        for (size_t i = 0; i < n && !e->code; i++)
            (void)each(l, &chunk[i], arg, e);
        after = n ? chunk[n - 1].key : after;
    }
    free(chunk);
    return e->code == ERR_NONE;
}

static bool index_ask(struct linker *l, const char *sql, bool *yes, struct err *e)
{
    scoped(query_end) struct query *q = db_query(l->db, sql, e);
    *yes = q && query_next(q, e) && query_int(q, 0);
    return e->code == ERR_NONE;
}

bool linker_is_settled(struct linker *l, bool *settled, struct err *e)
{
    bool open;
    if (!index_ask(
            l,
            "SELECT (SELECT relink FROM state) OR EXISTS(SELECT 1 FROM unsettled) OR"
            " EXISTS(SELECT 1 FROM subnotes WHERE state <> 1 AND state = 0)",
            &open, e))
        return false;
    *settled = !open;
    return true;
}

bool linker_settle(struct linker *l, struct err *e)
{
    bool all;
    if (!index_ask(l, "SELECT relink FROM state", &all, e) ||
        !each_name(l, all, settle_name, NULL, e) ||
        (!l->tree_waits && !tree_settle(l->db, all, e)))
        return false;
    l->fresh = false;
    return db_exec(l->db, "DELETE FROM unsettled; UPDATE state SET relink = 0", e);
}

bool linker_settle_tree(struct linker *l, struct err *e)
{
    if (!l->tree_open)
        return true;
    l->tree_open = false;
    return tree_settle(l->db, true, e);
}

/* ---- another name for a note --------------------------------------------- */

static bool rename_row(struct linker *l, int64_t note, struct str path, struct str title,
                       struct err *e)
{
    struct note_keys keys;
    scoped_buf struct buf id = buf_of(PATH_MAX + 8), text = buf_of(NOTE_KEYS_MAX);
    name_put_id(path, &id);
    note_keys(buf_view(&id), title, &text, &keys);
    scoped(query_end) struct query *q =
        db_query(l->db,
                 "UPDATE notes SET path = ?2, id = ?3, type = ?4, stem = ?5, title = ?6,"
                 " id_key = ?7, stem_key = ?8, title_key = ?9 WHERE key = ?1",
                 e);
    if (!q)
        return false;
    query_bind_int(q, 1, note);
    query_bind_str(q, 2, path);
    query_bind_str(q, 3, buf_view(&id));
    query_bind_str(q, 4, name_type(path));
    query_bind_str(q, 5, name_stem(path));
    query_bind_str(q, 6, title);
    query_bind_str(q, 7, keys.id);
    query_bind_str(q, 8, keys.stem);
    query_bind_str(q, 9, keys.title);
    return query_run(q, e);
}

/* Both by what the note is called now and by what it will be. */
static bool touch_row(struct linker *l, int64_t note, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(l->db, "SELECT path, uid, title FROM notes WHERE key = ?", e);
    if (!q)
        return false;
    query_bind_int(q, 1, note);
    return query_next(q, e) &&
           linker_touch(l, query_str(q, 0), query_str(q, 1), query_str(q, 2), e);
}

struct telling {
    linker_changed *changed;
    void *arg;
};

static bool tell_changed(struct linker *l, const struct unsettled *u, void *arg,
                         struct err *e)
{
    const struct telling *t = arg;
    int64_t now = 0;
    if (!is_used(l, u->key, e) || !linker_meaning(l, u->text, u->other, &now, e))
        return e->code == ERR_NONE;
    return now == u->note || t->changed(t->arg, u->key, u->text, u->note, now, e);
}

bool linker_rename(struct linker *l, int64_t note, struct str path, struct str title,
                   linker_changed *changed, void *arg, struct err *e)
{
    struct telling t = {changed, arg};
    return touch_row(l, note, e) && rename_row(l, note, path, title, e) &&
           touch_row(l, note, e) && each_name(l, false, tell_changed, &t, e);
}
