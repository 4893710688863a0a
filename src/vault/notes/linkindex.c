/* Writing links into the index. */
#include "notes/linkindex.h"

#include <limits.h>

#include "notes/aliases.h"
#include "notes/canvas.h"
#include "notes/fold.h"
#include "notes/frontlinks.h"
#include "notes/linkname.h"
#include "notes/linkquery.h"
#include "notes/name.h"

/* ---- statements, kept open ---------------------------------------------- */

#define NAMES_OF_A_NOTE "(?1, ?2, ?3, ?4, ?5, ?6)"
#define NAMES_AT_ONCE 6

static const char *const texts[LINKER_QUERIES] = {
    /* Two names that differ in case alone may mean two notes. */
    [FIND_NAME] =
        "SELECT key FROM names WHERE text_key = ?3 AND text = ?1 AND other = ?2",
    [ADD_NAME] = "INSERT INTO names(text, other, text_key, other_key, outcome)"
                 " VALUES(?1, ?2, ?3, ?4, 0)",
    [TOUCH_NAME] = "INSERT OR IGNORE INTO unsettled VALUES(?1)",
    [ADD_LINK] =
        "INSERT INTO links(source, number, line, kind, file, name, target, label,"
        " domain, fragment) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [ADD_SUBNOTE] = "INSERT INTO subnotes(parent, position, name, state)"
                    " VALUES(?1, ?2, ?3, ?4)",
    [ADD_TAGS] = "INSERT OR IGNORE INTO tags SELECT value, ?1 FROM json_each(?2)",
    /* It may be a stranger's index, where no JSON stands. */
    [DROP_TAGS] = "DELETE FROM tags WHERE note = ?1 AND tag IN"
                  " (SELECT j.value FROM notes n, json_each("
                  "CASE WHEN json_valid(n.tags) THEN n.tags ELSE '[]' END) j"
                  " WHERE n.key = ?1)",
    [ADD_ALIAS] = "INSERT INTO aliases(note, position, text, text_key)"
                  " VALUES(?1, ?2, ?3, ?4)",
    [TOUCH_ALIASES] =
        "INSERT OR IGNORE INTO unsettled SELECT n.key FROM aliases a"
        " JOIN names n ON n.text_key = a.text_key WHERE a.note = ?1 UNION"
        " SELECT n.key FROM aliases a JOIN names n ON n.other_key = a.text_key"
        " AND n.other_key <> '' WHERE a.note = ?1",
    [DROP_ALIASES] = "DELETE FROM aliases WHERE note = ?1",
    [TOUCH_TEXT] = "INSERT OR IGNORE INTO unsettled"
                   " SELECT key FROM names WHERE text_key IN " NAMES_OF_A_NOTE,
    [TOUCH_OTHER] = "INSERT OR IGNORE INTO unsettled SELECT key FROM names"
                    " WHERE other_key <> '' AND other_key IN " NAMES_OF_A_NOTE,
    [TOUCH_LINKED] = "INSERT OR IGNORE INTO unsettled SELECT name FROM links"
                     " WHERE source = ?1 AND name IS NOT NULL",
    [TOUCH_SUBNOTES] = "INSERT OR IGNORE INTO unsettled SELECT name FROM subnotes"
                       " WHERE parent = ?1",
    [DROP_LINKS] = "DELETE FROM links WHERE source = ?1",
    [DROP_SUBNOTES] = "DELETE FROM subnotes WHERE parent = ?1",
    [DROP_MEANING] = "UPDATE names SET note = NULL WHERE note = ?1",
    [REOPEN_CYCLES] = "UPDATE subnotes SET state = 0 WHERE state <> 1 AND state = 2",
    [BY_NAME + RESOLVE_PATH] = RESOLVE_SQL("key, path", PATH, ""),
    [BY_NAME + RESOLVE_UID] = RESOLVE_SQL("key, path", UID, ""),
    [BY_NAME + RESOLVE_TITLE] = RESOLVE_SQL("key, path", TITLE, ""),
    [BY_NAME + RESOLVE_STEM] = RESOLVE_SQL("key, path", STEM, ""),
    [BY_NAME + RESOLVE_ID_ANYCASE] = RESOLVE_SQL("key, path", ID_ANYCASE, ""),
    [BY_NAME + RESOLVE_TITLE_ANYCASE] = RESOLVE_SQL("key, path", TITLE_ANYCASE, ""),
    [BY_NAME + RESOLVE_STEM_ANYCASE] = RESOLVE_SQL("key, path", STEM_ANYCASE, ""),
    [BY_NAME + RESOLVE_ALIAS] = RESOLVE_SQL("key, path", ALIAS, ""),
    [BY_NAME + RESOLVE_TAIL] = RESOLVE_SQL("key, path", TAIL, ""),
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
    *l = (struct linker){.db = db, .open = mem_new(LINKER_QUERIES * sizeof *l->open)};
}

void linker_done(struct linker *l)
{
    for (size_t i = 0; l->open && i < LINKER_QUERIES; i++)
        query_end(l->open[i]);
    free(take(l->open));
}

struct query *linker_query(struct linker *l, enum linker_query w, struct err *e)
{
    if (l->open[w])
        query_again(l->open[w]);
    else
        l->open[w] = db_query(l->db, texts[w], e);
    return l->open[w];
}

bool linker_run(struct query *q, struct err *e)
{
    bool ok = query_run(q, e);
    query_again(q);
    return ok;
}

bool linker_run_with(struct linker *l, enum linker_query w, int64_t key, struct err *e)
{
    struct query *q = linker_query(l, w, e);
    if (!q)
        return false;
    query_bind_int(q, 1, key);
    return linker_run(q, e);
}

/* ---- names -------------------------------------------------------------- */

/* The key of the name, which is added where it is new. 0 and *e. */
static int64_t name_key(struct linker *l, struct str text, struct str other,
                        struct err *e)
{
    struct query *q = linker_query(l, FIND_NAME, e);
    if (!q)
        return 0;
    scoped_buf struct buf text_key = buf_of(FOLD_KEY_MAX),
                          other_key = buf_of(FOLD_KEY_MAX);
    query_bind_str(q, 1, text);
    query_bind_str(q, 2, other);
    query_bind_str(q, 3, fold_key(text, &text_key));
    int64_t key = query_next(q, e) ? query_int(q, 0) : 0;
    query_again(q);
    if (key || e->code || !(q = linker_query(l, ADD_NAME, e)))
        return key;
    query_bind_str(q, 1, text);
    query_bind_str(q, 2, other);
    query_bind_str(q, 3, buf_view(&text_key));
    query_bind_str(q, 4, fold_key(other, &other_key));
    key = linker_run(q, e) ? db_last_id(l->db) : 0;
    return key && (l->bulk || linker_run_with(l, TOUCH_NAME, key, e)) ? key : 0;
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
    struct query *q = linker_query(w->linker, ADD_LINK, w->e);
    if (!q)
        return;
    query_bind_int(q, 1, w->source);
    query_bind_int(q, 2, w->number++);
    query_bind_int(q, 3, (int64_t)link->line);
    query_bind_int(q, 4, link->kind);
    query_bind_int(q, 5, name && (link->image || link_is_file(link->kind, said)));
    if (name)
        query_bind_int(q, 6, name);
    bind_unless(q, 7, link->target, said);
    bind_unless(q, 8, link->label, link->target);
    if (w->domain.n && !w->domain.failed)
        query_bind_str(q, 9, buf_view(&w->domain));
    if (link->fragment.n)
        query_bind_str(q, 10, link->fragment);
    (void)linker_run(q, w->e);
}

static void write_canvas_link(void *arg, const struct canvas_link *l)
{
    if (canvas_counts(&l->link))
        write_link(arg, &l->link);
}

static void write_frontlink(void *arg, const struct frontlink *l)
{
    write_link(arg, &l->link);
}

/* ---- subnotes ----------------------------------------------------------- */

static bool write_subnote(struct linker *l, int64_t parent, int64_t position,
                          const struct json *entry, struct err *e)
{
    scoped_buf struct buf text = buf_of(PATH_MAX);
    if (!subnote_name(entry, &text))
        return true;
    int64_t name = name_key(l, buf_view(&text), STR(""), e);
    l->tree_open = true;
    struct query *q = name ? linker_query(l, ADD_SUBNOTE, e) : NULL;
    if (!q)
        return false;
    query_bind_int(q, 1, parent);
    query_bind_int(q, 2, position);
    query_bind_int(q, 3, name);
    query_bind_int(q, 4, l->bulk ? SUBNOTE_GOOD : SUBNOTE_NEW);
    return linker_run(q, e);
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
    struct query *q = name ? linker_query(l, RENAME_LINK, e) : NULL;
    if (!q)
        return false;
    query_bind_int(q, 1, source);
    query_bind_int(q, 2, number);
    query_bind_int(q, 3, name);
    bind_unless(q, 4, link->target, text);
    query_bind_int(q, 5, link->image || link_is_file(link->kind, text));
    return linker_run(q, e);
}

bool linker_rename_subnote(struct linker *l, int64_t parent, int64_t position,
                           struct str text, struct err *e)
{
    int64_t name = name_key(l, text, STR(""), e);
    l->tree_open = true;
    struct query *q = name ? linker_query(l, RENAME_SUBNOTE, e) : NULL;
    if (!q)
        return false;
    query_bind_int(q, 1, parent);
    query_bind_int(q, 2, position);
    query_bind_int(q, 3, name);
    return linker_run(q, e);
}

/* ---- what a note says, and how it is called ----------------------------- */

static bool write_tags(struct linker *l, int64_t key, struct str tags, struct err *e)
{
    if (tags.n <= 2)
        return true;
    struct query *q = linker_query(l, ADD_TAGS, e);
    if (!q)
        return false;
    query_bind_int(q, 1, key);
    query_bind_str(q, 2, tags);
    return linker_run(q, e);
}

bool linker_drop_tags(struct linker *l, int64_t note, struct err *e)
{
    return linker_run_with(l, DROP_TAGS, note, e);
}

struct alias_writing {
    struct linker *linker;
    int64_t note, position;
    struct err *e;
};

static void write_alias(void *arg, struct str alias)
{
    struct alias_writing *w = arg;
    scoped_buf struct buf key = buf_of(FOLD_KEY_MAX);
    struct query *q = w->e->code ? NULL : linker_query(w->linker, ADD_ALIAS, w->e);
    if (!q)
        return;
    query_bind_int(q, 1, w->note);
    query_bind_int(q, 2, w->position++);
    query_bind_str(q, 3, alias);
    query_bind_str(q, 4, fold_key(alias, &key));
    (void)linker_run(q, w->e);
}

/* Links by the names that it had or has may lead elsewhere. */
static bool drop_aliases(struct linker *l, int64_t note, struct err *e)
{
    return (l->bulk || linker_run_with(l, TOUCH_ALIASES, note, e)) &&
           linker_run_with(l, DROP_ALIASES, note, e);
}

static bool write_aliases(struct linker *l, int64_t note, const struct note *n,
                          struct err *e)
{
    struct alias_writing w = {.linker = l, .note = note, .e = e};
    note_aliases(n, write_alias, &w);
    return e->code == ERR_NONE &&
           (l->bulk || !w.position || linker_run_with(l, TOUCH_ALIASES, note, e));
}

bool linker_aliases(struct linker *l, int64_t note, const struct note *n, struct err *e)
{
    return drop_aliases(l, note, e) && write_aliases(l, note, n, e);
}

bool linker_write(struct linker *l, int64_t key, const struct note *n,
                  const struct link_list *links, struct str tags, struct err *e)
{
    struct writing w = {.linker = l, .from = n->path, .source = key, .e = e};
    buf_init(&w.text, PATH_MAX);
    buf_init(&w.other, PATH_MAX);
    buf_init(&w.domain, BUF_LINE);
    if (name_is_canvas(n->path)) {
        scoped(arena_free) struct arena *a = arena_new(ARENA_VAULT);
        (void)canvas_links(n->bytes, a, write_canvas_link, &w, e);
    }
    if (frontlinks_may(&n->front)) {
        scoped(arena_free) struct arena *names = arena_new(YML_JSON_MAX);
        (void)frontlinks_read(&n->front, names, write_frontlink, &w, e);
    }
    if (!links)
        markdown_links(n->front.body, write_link, &w);
    for (size_t k = 0; links && k < links->count; k++)
        write_link(&w, &links->all[k]);
    buf_done(&w.text);
    buf_done(&w.other);
    buf_done(&w.domain);
    return e->code == ERR_NONE && write_subnotes(l, key, n, e) &&
           write_tags(l, key, tags, e) && write_aliases(l, key, n, e);
}

bool linker_forget(struct linker *l, int64_t note, struct err *e)
{
    bool told = l->bulk || (linker_run_with(l, TOUCH_LINKED, note, e) &&
                            linker_run_with(l, TOUCH_SUBNOTES, note, e));
    if (!told || !linker_run_with(l, DROP_LINKS, note, e) ||
        !linker_run_with(l, DROP_SUBNOTES, note, e) || !drop_aliases(l, note, e))
        return false;
    l->tree_open = true;
    if (l->tree_waits)
        return true;
    /* With what goes, a cycle may be open again. */
    struct query *q = linker_query(l, REOPEN_CYCLES, e);
    return q && linker_run(q, e);
}

bool linker_drop(struct linker *l, int64_t note, struct err *e)
{
    return linker_forget(l, note, e) && linker_run_with(l, DROP_MEANING, note, e);
}

bool linker_clear(struct linker *l, struct err *e)
{
    l->fresh = true;
    return db_exec(l->db,
                   "DELETE FROM links; DELETE FROM subnotes; DELETE FROM names;"
                   "DELETE FROM unsettled; DELETE FROM broken; DELETE FROM tags;"
                   "DELETE FROM aliases; DELETE FROM canvases",
                   e);
}

/* The names in use that fold to one of these; of fewer the last one is repeated. */
static bool touch_names(struct linker *l, const struct str names[static NAMES_AT_ONCE],
                        struct err *e)
{
    static const enum linker_query both[] = {TOUCH_TEXT, TOUCH_OTHER};
    scoped_buf struct buf keys = buf_of(NAMES_AT_ONCE * FOLD_KEY_MAX);
    size_t ends[NAMES_AT_ONCE];
    for (size_t k = 0; k < NAMES_AT_ONCE; k++) {
        fold_put(names[k], &keys);
        ends[k] = keys.n;
    }
    for (size_t i = 0; i < LENGTH(both); i++) {
        struct query *q = linker_query(l, both[i], e);
        if (!q)
            return false;
        for (size_t k = 0, from = 0; k < NAMES_AT_ONCE; from = ends[k++])
            query_bind_str(q, (int)k + 1, (struct str){keys.at + from, ends[k] - from});
        if (!linker_run(q, e))
            return false;
    }
    return true;
}

/* A link may name the end of the path "a/b/c/Plan": "b/c/Plan", "c/Plan". */
static bool touch_tails(struct linker *l, struct str bare, struct err *e)
{
    struct str names[NAMES_AT_ONCE];
    size_t n = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < bare.n; i++) {
        struct str tail = {bare.at + i + 1, bare.n - i - 1};
        if (bare.at[i] != '/' || name_at_root(tail))
            continue;
        names[n++] = tail;
        ok = n < NAMES_AT_ONCE || touch_names(l, names, e);
        n %= NAMES_AT_ONCE;
    }
    for (size_t k = n; n && k < NAMES_AT_ONCE; k++)
        names[k] = names[n - 1];
    return ok && (!n || touch_names(l, names, e));
}

bool linker_touch(struct linker *l, struct str path, struct str uid, struct str title,
                  struct err *e)
{
    if (l->bulk)
        return true;
    struct str bare = {path.at, path.n - (str_ends(path, ".md") ? 3 : 0)};
    scoped_buf struct buf id = buf_of(PATH_MAX + 8);
    name_put_id(path, &id);
    const struct str names[NAMES_AT_ONCE] = {
        bare,  buf_view(&id),      name_stem(path), name_file(path),
        title, uid.n ? uid : title};
    return touch_names(l, names, e) && touch_tails(l, bare, e);
}
