/* Writing links into the index, and finding out what they lead to. */
#include "notes/linkindex.h"

#include <limits.h>

#include "notes/linkname.h"
#include "notes/name.h"

/* ---- statements, kept open ---------------------------------------------- */

enum which {
    FIND_NAME,
    ADD_NAME,
    TOUCH_NAME,
    ADD_LINK,
    ADD_SUBNOTE,
    ADD_TAGS,
    DROP_TAGS,
    TOUCH_TEXT,
    TOUCH_OTHER,
    TOUCH_LINKED,
    TOUCH_SUBNOTES,
    DROP_LINKS,
    DROP_SUBNOTES,
    DROP_MEANING,
    REOPEN_CYCLES,
    BY_NAME, /* of enum resolve_way */
    BY_NAME_LAST = BY_NAME + RESOLVE_WAYS - 1,
    IS_USED,
    SET_NAME,
    REOPEN_SUBNOTES,
    DROP_NAME,
    ADD_BROKEN,
    DROP_BROKEN,
    RENAME_LINK,
    RENAME_SUBNOTE,
    WHICH_COUNT,
};
_Static_assert(WHICH_COUNT <= LINKER_QUERIES, "room for each");

#define NAMES_OF_A_NOTE "(?1, ?2, ?3, ?4, ?5, ?6)"

static const char *const texts[WHICH_COUNT] = {
    /* The index knows no case; two names that differ in it may mean two notes. */
    [FIND_NAME] = "SELECT key FROM names WHERE text = ?1 AND other = ?2"
                  " AND text = ?1 COLLATE BINARY AND other = ?2 COLLATE BINARY",
    [ADD_NAME] = "INSERT INTO names(text, other, outcome) VALUES(?1, ?2, 0)",
    [TOUCH_NAME] = "INSERT OR IGNORE INTO unsettled VALUES(?1)",
    [ADD_LINK] =
        "INSERT INTO links(source, number, line, kind, file, name, target, label,"
        " domain) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [ADD_SUBNOTE] = "INSERT INTO subnotes(parent, position, name, state)"
                    " VALUES(?1, ?2, ?3, ?4)",
    [ADD_TAGS] = "INSERT OR IGNORE INTO tags SELECT value, ?1 FROM json_each(?2)",
    /* It may be a stranger's index, where no JSON stands. */
    [DROP_TAGS] = "DELETE FROM tags WHERE note = ?1 AND tag IN"
                  " (SELECT j.value FROM notes n, json_each("
                  "CASE WHEN json_valid(n.tags) THEN n.tags ELSE '[]' END) j"
                  " WHERE n.key = ?1)",
    [TOUCH_TEXT] = "INSERT OR IGNORE INTO unsettled"
                   " SELECT key FROM names WHERE text IN " NAMES_OF_A_NOTE,
    [TOUCH_OTHER] = "INSERT OR IGNORE INTO unsettled SELECT key FROM names"
                    " WHERE other <> '' AND other IN " NAMES_OF_A_NOTE,
    [TOUCH_LINKED] = "INSERT OR IGNORE INTO unsettled SELECT name FROM links"
                     " WHERE source = ?1 AND name IS NOT NULL",
    [TOUCH_SUBNOTES] = "INSERT OR IGNORE INTO unsettled SELECT name FROM subnotes"
                       " WHERE parent = ?1",
    [DROP_LINKS] = "DELETE FROM links WHERE source = ?1",
    [DROP_SUBNOTES] = "DELETE FROM subnotes WHERE parent = ?1",
    [DROP_MEANING] = "UPDATE names SET note = NULL WHERE note = ?1",
    [REOPEN_CYCLES] = "UPDATE subnotes SET state = 0 WHERE state <> 1 AND state = 2",
    [BY_NAME + RESOLVE_PATH] = RESOLVE_SQL("key", PATH, "LIMIT 2"),
    [BY_NAME + RESOLVE_UID] = RESOLVE_SQL("key", UID, "LIMIT 2"),
    [BY_NAME + RESOLVE_TITLE] = RESOLVE_SQL("key", TITLE, "LIMIT 2"),
    [BY_NAME + RESOLVE_STEM] = RESOLVE_SQL("key", STEM, "LIMIT 2"),
    [BY_NAME + RESOLVE_ID_ANYCASE] = RESOLVE_SQL("key", ID_ANYCASE, "LIMIT 2"),
    [BY_NAME + RESOLVE_TITLE_ANYCASE] = RESOLVE_SQL("key", TITLE_ANYCASE, "LIMIT 2"),
    [BY_NAME + RESOLVE_STEM_ANYCASE] = RESOLVE_SQL("key", STEM_ANYCASE, "LIMIT 2"),
    [IS_USED] = "SELECT EXISTS(SELECT 1 FROM links WHERE name = ?1)"
                " OR EXISTS(SELECT 1 FROM subnotes WHERE name = ?1)",
    [SET_NAME] = "UPDATE names SET note = ?2, outcome = ?3 WHERE key = ?1",
    [REOPEN_SUBNOTES] = "UPDATE subnotes SET state = 0 WHERE parent IN"
                        " (SELECT parent FROM subnotes WHERE name = ?1)",
    [ADD_BROKEN] = "INSERT OR IGNORE INTO broken VALUES(?1)",
    [DROP_BROKEN] = "DELETE FROM broken WHERE name = ?1",
    [DROP_NAME] = "DELETE FROM names WHERE key = ?1",
    [RENAME_LINK] = "UPDATE links SET name = ?3, target = ?4, file = ?5"
                    " WHERE source = ?1 AND number = ?2",
    [RENAME_SUBNOTE] = "UPDATE subnotes SET name = ?3, state = 0"
                       " WHERE parent = ?1 AND position = ?2",
};

void linker_init(struct linker *l, struct db *db)
{
    *l = (struct linker){.db = db};
}

void linker_done(struct linker *l)
{
    for (size_t i = 0; i < WHICH_COUNT; i++) {
        query_end(l->open[i]);
        l->open[i] = NULL;
    }
}

/* Ready to be bound. NULL and *e. */
static struct query *statement(struct linker *l, enum which w, struct err *e)
{
    if (l->open[w])
        query_again(l->open[w]);
    else
        l->open[w] = db_query(l->db, texts[w], e);
    return l->open[w];
}

/* Statements that stand on a row would keep the transaction from ending. */
static bool run(struct query *q, struct err *e)
{
    bool ok = query_run(q, e);
    query_again(q);
    return ok;
}

static bool run_with(struct linker *l, enum which w, int64_t key, struct err *e)
{
    struct query *q = statement(l, w, e);
    if (!q)
        return false;
    query_bind_int(q, 1, key);
    return run(q, e);
}

/* ---- names -------------------------------------------------------------- */

/* The key of the name, which is added where it is new. 0 and *e. */
static int64_t name_key(struct linker *l, struct str text, struct str other,
                        struct err *e)
{
    struct query *q = statement(l, FIND_NAME, e);
    if (!q)
        return 0;
    query_bind_str(q, 1, text);
    query_bind_str(q, 2, other);
    int64_t key = query_next(q, e) ? query_int(q, 0) : 0;
    query_again(q);
    if (key || e->code || !(q = statement(l, ADD_NAME, e)))
        return key;
    query_bind_str(q, 1, text);
    query_bind_str(q, 2, other);
    key = run(q, e) ? db_last_id(l->db) : 0;
    return key && (l->bulk || run_with(l, TOUCH_NAME, key, e)) ? key : 0;
}

/* ---- links -------------------------------------------------------------- */

struct writing {
    struct linker *linker;
    struct str from;
    int64_t source, number;
    struct buf text, other; /* the names of the link */
    struct buf domain;
    struct err *e;
};

static void bind_unless(struct query *q, int i, struct str s, struct str same)
{
    if (!str_eq(s, same))
        query_bind_str(q, i, s);
}

static void write_link(void *arg, const struct link *link)
{
    struct writing *w = arg;
    int64_t name = 0;
    struct str said = STR("");
    if (w->e->code)
        return;
    buf_clear(&w->domain);
    if (link->kind == LINK_EXTERNAL) {
        link_put_host(link->target, &w->domain);
    } else {
        link_name(link, w->from, &w->text, &w->other);
        said = buf_view(&w->text);
        if (!said.n || !(name = name_key(w->linker, said, buf_view(&w->other), w->e)))
            return;
    }
    struct query *q = statement(w->linker, ADD_LINK, w->e);
    if (!q)
        return;
    query_bind_int(q, 1, w->source);
    query_bind_int(q, 2, w->number++);
    query_bind_int(q, 3, (int64_t)link->line);
    query_bind_int(q, 4, link->kind);
    query_bind_int(q, 5, name && link_is_file(link->kind, said));
    if (name)
        query_bind_int(q, 6, name);
    bind_unless(q, 7, link->target, said);
    bind_unless(q, 8, link->label, link->target);
    if (w->domain.n && !w->domain.failed)
        query_bind_str(q, 9, buf_view(&w->domain));
    (void)run(q, w->e);
}

/* ---- subnotes ----------------------------------------------------------- */

static bool write_subnote(struct linker *l, int64_t parent, int64_t position,
                          const struct json *entry, struct err *e)
{
    scoped_buf struct buf text;
    buf_init(&text, PATH_MAX);
    if (!subnote_name(entry, &text))
        return true;
    int64_t name = name_key(l, buf_view(&text), STR(""), e);
    l->tree_open = true;
    struct query *q = name ? statement(l, ADD_SUBNOTE, e) : NULL;
    if (!q)
        return false;
    query_bind_int(q, 1, parent);
    query_bind_int(q, 2, position);
    query_bind_int(q, 3, name);
    query_bind_int(q, 4, l->bulk ? SUBNOTE_GOOD : SUBNOTE_NEW);
    return run(q, e);
}

static bool write_subnotes(struct linker *l, int64_t key, const struct note *n,
                           struct err *e)
{
    const struct json *all = json_get(n->front.yml.all, SUBNOTES_KEY);
    if (json_is(all, JSON_STRING))
        return write_subnote(l, key, 0, all, e);
    struct json_iter it = json_iter(json_is(all, JSON_ARRAY) ? all : NULL);
    for (int64_t i = 0; i < SUBNOTES_MAX && json_next(&it); i++)
        if (!write_subnote(l, key, i, it.value, e))
            return false;
    return true;
}

/* ---- other names -------------------------------------------------------- */

bool linker_rename_link(struct linker *l, int64_t source, int64_t number,
                        const struct link *link, struct str text, struct str other,
                        struct err *e)
{
    int64_t name = name_key(l, text, other, e);
    struct query *q = name ? statement(l, RENAME_LINK, e) : NULL;
    if (!q)
        return false;
    query_bind_int(q, 1, source);
    query_bind_int(q, 2, number);
    query_bind_int(q, 3, name);
    bind_unless(q, 4, link->target, text);
    query_bind_int(q, 5, link_is_file(link->kind, text));
    return run(q, e);
}

bool linker_rename_subnote(struct linker *l, int64_t parent, int64_t position,
                           struct str text, struct err *e)
{
    int64_t name = name_key(l, text, STR(""), e);
    l->tree_open = true;
    struct query *q = name ? statement(l, RENAME_SUBNOTE, e) : NULL;
    if (!q)
        return false;
    query_bind_int(q, 1, parent);
    query_bind_int(q, 2, position);
    query_bind_int(q, 3, name);
    return run(q, e);
}

/* ---- what a note says, and how it is called ----------------------------- */

static bool write_tags(struct linker *l, int64_t key, struct str tags, struct err *e)
{
    if (tags.n <= 2)
        return true;
    struct query *q = statement(l, ADD_TAGS, e);
    if (!q)
        return false;
    query_bind_int(q, 1, key);
    query_bind_str(q, 2, tags);
    return run(q, e);
}

bool linker_drop_tags(struct linker *l, int64_t note, struct err *e)
{
    return run_with(l, DROP_TAGS, note, e);
}

bool linker_write(struct linker *l, int64_t key, const struct note *n,
                  const struct link_list *links, struct str tags, struct err *e)
{
    struct writing w = {.linker = l, .from = n->path, .source = key, .e = e};
    buf_init(&w.text, PATH_MAX);
    buf_init(&w.other, PATH_MAX);
    buf_init(&w.domain, 1024);
    if (!links)
        markdown_links(n->front.body, write_link, &w);
    for (size_t k = 0; links && k < links->count; k++)
        write_link(&w, &links->all[k]);
    buf_done(&w.text);
    buf_done(&w.other);
    buf_done(&w.domain);
    return e->code == ERR_NONE && write_subnotes(l, key, n, e) &&
           write_tags(l, key, tags, e);
}

bool linker_forget(struct linker *l, int64_t note, struct err *e)
{
    bool told = l->bulk || (run_with(l, TOUCH_LINKED, note, e) &&
                            run_with(l, TOUCH_SUBNOTES, note, e));
    if (!told || !run_with(l, DROP_LINKS, note, e) ||
        !run_with(l, DROP_SUBNOTES, note, e))
        return false;
    l->tree_open = true;
    if (l->tree_waits)
        return true;
    /* With what goes, a cycle may be open again. */
    struct query *q = statement(l, REOPEN_CYCLES, e);
    return q && run(q, e);
}

bool linker_drop(struct linker *l, int64_t note, struct err *e)
{
    return linker_forget(l, note, e) && run_with(l, DROP_MEANING, note, e);
}

bool linker_clear(struct linker *l, struct err *e)
{
    l->fresh = true;
    return db_exec(l->db,
                   "DELETE FROM links; DELETE FROM subnotes; DELETE FROM names;"
                   "DELETE FROM unsettled; DELETE FROM broken; DELETE FROM tags",
                   e);
}

bool linker_touch(struct linker *l, struct str path, struct str uid, struct str title,
                  struct err *e)
{
    static const enum which both[] = {TOUCH_TEXT, TOUCH_OTHER};
    if (l->bulk)
        return true;
    struct str bare = {path.at, path.n - (str_ends(path, ".md") ? 3 : 0)};
    scoped_buf struct buf id;
    buf_init(&id, PATH_MAX + 8);
    name_put_id(path, &id);
    for (size_t i = 0; i < LENGTH(both); i++) {
        struct query *q = statement(l, both[i], e);
        if (!q)
            return false;
        query_bind_str(q, 1, bare);
        query_bind_str(q, 2, buf_view(&id));
        query_bind_str(q, 3, name_stem(path));
        query_bind_str(q, 4, name_file(path));
        query_bind_str(q, 5, title);
        query_bind_str(q, 6, uid.n ? uid : title);
        if (!run(q, e))
            return false;
    }
    return true;
}

/* ---- what a name means -------------------------------------------------- */

struct meaning {
    struct linker *linker;
    int64_t note;
};

static enum name_outcome look(void *arg, enum resolve_way way, struct str name,
                              struct err *e)
{
    struct meaning *m = arg;
    struct query *q = statement(m->linker, (enum which)(BY_NAME + way), e);
    if (!q)
        return NAME_MISSING;
    query_bind_str(q, 1, name);
    enum name_outcome found = NAME_MISSING;
    if (query_next(q, e)) {
        m->note = query_int(q, 0);
        found = query_next(q, e) ? NAME_SEVERAL : NAME_FOUND;
    }
    query_again(q);
    return found;
}

enum name_outcome linker_find(struct linker *l, struct str name, int64_t *note,
                              struct err *e)
{
    struct meaning m = {l, 0};
    enum name_outcome found = resolve_file(look, &m, name, e);
    if (!found && !e->code)
        found = resolve_name(look, &m, name, true, e);
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
    if (found != NAME_FOUND)
        *note = 0;
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
    struct query *q = l->fresh ? NULL : statement(l, IS_USED, e);
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
        return run_with(l, ADD_BROKEN, name, e);
    return l->fresh || run_with(l, DROP_BROKEN, name, e);
}

static bool settle_name(struct linker *l, const struct unsettled *u, struct err *e)
{
    int64_t note;
    if (!is_used(l, u->key, e))
        return e->code == ERR_NONE && run_with(l, DROP_NAME, u->key, e) &&
               run_with(l, DROP_BROKEN, u->key, e);
    enum name_outcome found = find_either(l, u->text, u->other, &note, e);
    if (e->code || !mark_broken(l, u->key, found != NAME_FOUND, e))
        return false;
    if (note == u->note && found == u->outcome)
        return true;
    struct query *q = statement(l, SET_NAME, e);
    if (!q)
        return false;
    query_bind_int(q, 1, u->key);
    if (note)
        query_bind_int(q, 2, note);
    query_bind_int(q, 3, found);
    l->tree_open = true;
    return run(q, e) && (l->fresh || l->tree_waits || note == u->note ||
                         run_with(l, REOPEN_SUBNOTES, u->key, e));
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

static bool settle_names(struct linker *l, bool all, struct err *e)
{
    int64_t after = INT64_MIN;
    struct unsettled *chunk = mem_new(CHUNK * sizeof *chunk);
    size_t n = CHUNK;
    while (n == CHUNK && !e->code) {
        scoped(arena_free) struct arena *a = arena_new((size_t)64 << 20);
        n = read_chunk(l, all, after, a, chunk, e);
        for (size_t i = 0; i < n && !e->code; i++)
            (void)settle_name(l, &chunk[i], e);
        after = n ? chunk[n - 1].key : after;
    }
    free(chunk);
    return e->code == ERR_NONE;
}

static bool ask(struct linker *l, const char *sql, bool *yes, struct err *e)
{
    scoped(query_end) struct query *q = db_query(l->db, sql, e);
    *yes = q && query_next(q, e) && query_int(q, 0);
    return e->code == ERR_NONE;
}

bool linker_is_settled(struct linker *l, bool *settled, struct err *e)
{
    bool open;
    if (!ask(l,
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
    if (!ask(l, "SELECT relink FROM state", &all, e) || !settle_names(l, all, e) ||
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
    scoped_buf struct buf id;
    buf_init(&id, PATH_MAX + 8);
    name_put_id(path, &id);
    scoped(query_end) struct query *q =
        db_query(l->db,
                 "UPDATE notes SET path = ?2, id = ?3, type = ?4, stem = ?5, title = ?6"
                 " WHERE key = ?1",
                 e);
    if (!q)
        return false;
    query_bind_int(q, 1, note);
    query_bind_str(q, 2, path);
    query_bind_str(q, 3, buf_view(&id));
    query_bind_str(q, 4, name_type(path));
    query_bind_str(q, 5, name_stem(path));
    query_bind_str(q, 6, title);
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

static bool tell_changed(struct linker *l, const struct unsettled *u,
                         linker_changed *changed, void *arg, struct err *e)
{
    int64_t now = 0;
    if (!is_used(l, u->key, e) || !linker_meaning(l, u->text, u->other, &now, e))
        return e->code == ERR_NONE;
    return now == u->note || changed(arg, u->key, u->text, u->note, now, e);
}

bool linker_rename(struct linker *l, int64_t note, struct str path, struct str title,
                   linker_changed *changed, void *arg, struct err *e)
{
    if (!touch_row(l, note, e) || !rename_row(l, note, path, title, e) ||
        !touch_row(l, note, e))
        return false;
    int64_t after = INT64_MIN;
    struct unsettled *chunk = mem_new(CHUNK * sizeof *chunk);
    for (size_t n = CHUNK; n == CHUNK && !e->code;) {
        scoped(arena_free) struct arena *a = arena_new((size_t)64 << 20);
        n = read_chunk(l, false, after, a, chunk, e);
        for (size_t i = 0; i < n && !e->code; i++)
            (void)tell_changed(l, &chunk[i], changed, arg, e);
        after = n ? chunk[n - 1].key : after;
    }
    free(chunk);
    return e->code == ERR_NONE;
}
