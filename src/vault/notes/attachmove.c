#include "notes/attachmove.h"

#include <stdio.h>

#include "notes/attached.h"
#include "notes/entry.h"
#include "notes/index.h"
#include "notes/linkindex.h"
#include "notes/linktext.h"
#include "notes/name.h"
#include "notes/notes.api.h"
#include "notes/session.h"
#include "notes/sight.h"
#include "notes/target.h"
#include "notes/write.h"

struct moving {
    struct attachmove *m;
    struct db *db;
    struct linker *linker; /* of a session, or NULL */
    struct linktexts *texts;
    struct arena *arena;
    struct attached before, after;
    struct map names;   /* that mean the file, as linktexts_key() makes them */
    struct map sources; /* of links with such names */
    struct buf text, other, key;
};

/* ---- which names mean it --------------------------------------------------- */

/* The files as they will be. */
static bool list_after(struct moving *x, struct err *e)
{
    return attached_read(&x->before, x->m->v, e) &&
           attached_renamed(&x->before, str_of(x->m->from), str_of(x->m->to), &x->after,
                            e);
}

static bool path_is(const struct attached *a, size_t i, const char *path)
{
    return i != ATTACHED_NONE && str_is(a->all[i].path, path);
}

static bool would_turn(const struct moving *x, struct str name, struct err *e)
{
    struct str shown = sight_hides(x->m->v, SIGHT_NOTES) ? STR("") : str_cut(name, 80);
    return err_set(
        e, ERR_CONFLICT,
        "links to another file by its name (%.*s) would lead to this one, or the "
        "other way round; nothing was changed. Take another path",
        STR_ARGS(shown));
}

static bool add_sources(struct moving *x, int64_t name, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(x->db, "SELECT DISTINCT source FROM links WHERE name = ?", e);
    if (!q)
        return false;
    query_bind_int(q, 1, name);
    while (query_next(q, e))
        if (map_find_int(&x->sources, query_int(q, 0)) == MAP_NONE &&
            map_add_int(&x->sources, query_int(q, 0), e) == MAP_NONE)
            return false;
    return e->code == ERR_NONE;
}

static bool keep_name(struct moving *x, int64_t key, struct str text, struct str other,
                      struct err *e)
{
    buf_clear(&x->key);
    (void)linktexts_key(text, other, &x->key);
    const char *copy = arena_copy(x->arena, x->key.at, x->key.n, e);
    return copy && map_add(&x->names, (struct str){copy, x->key.n}, e) != MAP_NONE &&
           add_sources(x, key, e);
}

static bool list_file_names(struct moving *x, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(x->db,
                 "SELECT DISTINCT m.key, m.text, m.other FROM broken b"
                 " CROSS JOIN names m ON m.key = b.name CROSS JOIN links l ON"
                 " l.name = m.key WHERE m.note IS NULL AND l.file = 1",
                 e);
    if (!q)
        return false;
    while (query_next(q, e)) {
        struct str text = query_str(q, 1), other = query_str(q, 2);
        size_t was = attached_find(&x->before, text, other);
        size_t now = attached_find(&x->after, text, other);
        if (path_is(&x->before, was, x->m->from)) {
            if (!keep_name(x, query_int(q, 0), text, other, e))
                return false;
        } else if (was != ATTACHED_NONE && path_is(&x->after, now, x->m->to)) {
            return would_turn(x, text, e);
        }
    }
    return e->code == ERR_NONE;
}

/* ---- one link -------------------------------------------------------------- */

/* Has no other file this name? */
static bool name_is_free(const struct moving *x)
{
    struct str name = name_file(str_of(x->m->to));
    size_t i = attached_find(&x->after, name, STR(""));
    return path_is(&x->after, i, x->m->to) && attached_is_alone(&x->after, i);
}

static void put_target(struct moving *x, const struct linkslot *s, struct str from,
                       struct buf *out)
{
    struct str to = str_of(x->m->to);
    struct link l = linkslot_link(s);
    struct target_style style =
        target_style_of(&l, (struct str){s->target.at - 1, s->target.n + 1});
    style.ending = true; /* nothing to cut */
    bool relative = style.dotted || style.rooted || str_starts(s->target, "../");
    bool by_path = str_is(buf_view(&x->text), x->m->from);
    if (s->rooted)
        buf_str(out, to);
    else if (relative || (by_path && s->kind == LINK_MARKDOWN))
        target_put(&style, from, to, out);
    else if (!by_path && !str_is(buf_view(&x->other), x->m->from) && name_is_free(x))
        target_escape(name_file(to), &style, out);
    else
        target_escape(to, &style, out);
}

static bool rewrite_file_slot(struct moving *x, struct linktext *t, int64_t key,
                              struct linkslot *s, size_t *count, struct err *e)
{
    struct str from = str_of(t->note->to), target = s->target;
    if (s->subnote || s->kind == LINK_EXTERNAL)
        return true;
    linkslot_name(s, from, &x->text, &x->other);
    buf_clear(&x->key);
    (void)linktexts_key(buf_view(&x->text), buf_view(&x->other), &x->key);
    if (map_find(&x->names, buf_view(&x->key)) == MAP_NONE)
        return true;
    for (size_t i = 0; i < target.n && s->kind == LINK_MARKDOWN; i++)
        if (target.at[i] == '#' || target.at[i] == '?')
            target.n = i;
    scoped_buf struct buf fresh = buf_of(4 * PATH_MAX);
    put_target(x, s, from, &fresh);
    if (fresh.failed || str_eq(target, buf_view(&fresh)))
        return true;
    ++*count;
    if (!linkslot_replace(s, target, buf_view(&fresh), e))
        return false;
    if (!x->linker || s->number == LINKSLOT_NONE)
        return true;
    struct link l = linkslot_link(s);
    linkslot_name(s, from, &x->text, &x->other);
    return linker_rename_link(x->linker, key, s->number, &l, buf_view(&x->text),
                              buf_view(&x->other), e);
}

static bool rewrite_source(struct moving *x, int64_t key, const char *path, struct err *e)
{
    struct change *c = x->m->c;
    struct note note;
    bool found;
    if (!change_read(c, path, &note, &found, e))
        return err_wrap(e, "a note that links to it cannot be read");
    struct entry *n = found ? entry_at(c, path) : NULL;
    struct linktext *t = n ? linktext_open(x->texts, n, e) : NULL;
    if (!t)
        return e->code == ERR_NONE;
    bool has_news = n->order;
    size_t count = 0;
    for (size_t i = 0; i < t->count; i++)
        if (!rewrite_file_slot(x, t, key, &t->slots[i], &count, e))
            return false;
    if (count && !has_news) {
        char summary[400];
        (void)snprintf(summary, sizeof summary, "links to %.300s", x->m->to);
        change_say(c, path, "links", summary);
    }
    x->m->notes += count > 0;
    x->m->links += count;
    if (!linktext_write(t, e))
        return false;
    linktext_close(n->links);
    return true;
}

static bool rewrite_all(struct moving *x, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(x->db,
                 "SELECT path FROM notes WHERE key = ?1 UNION ALL"
                 " SELECT path FROM canvases WHERE key = -?1",
                 e);
    if (!q)
        return false;
    for (size_t i = 0; i < x->sources.count; i++) {
        char path[PATH_MAX];
        int64_t key = x->sources.ints[i];
        query_again(q);
        query_bind_int(q, 1, key);
        if (!query_next(q, e))
            continue;
        (void)snprintf(path, sizeof path, "%.*s", STR_ARGS(query_str(q, 0)));
        query_again(q);
        if (!vault_goes_on(x->m->v, e) || !rewrite_source(x, key, path, e))
            return false;
    }
    return e->code == ERR_NONE;
}

/* ---- all of it --------------------------------------------------------------- */

static bool moving_do(struct moving *x, struct err *e)
{
    x->arena = arena_new(ARENA_FILE);
    buf_init(&x->text, PATH_MAX);
    buf_init(&x->other, PATH_MAX);
    buf_init(&x->key, 2 * PATH_MAX + 1);
    bool ok = list_after(x, e) && list_file_names(x, e) && rewrite_all(x, e);
    map_done(&x->names);
    map_done(&x->sources);
    attached_done(&x->before);
    attached_done(&x->after);
    arena_free(x->arena);
    buf_done(&x->text);
    buf_done(&x->other);
    buf_done(&x->key);
    return ok;
}

static bool moving_alone(struct db *db, void *arg, struct err *e)
{
    struct moving x = {.m = arg, .db = db};
    x.m->notes = x.m->links = 0;
    scoped(linktexts_free) struct linktexts *texts = linktexts_new(x.m->c, false);
    x.texts = texts;
    return moving_do(&x, e);
}

bool attachmove_do(struct attachmove *m, struct err *e)
{
    struct change *c = m->c;
    if (!change_can_move(c, m->from, m->to, e))
        return false;
    if (!c->index)
        return index_use(m->v, moving_alone, m, e) && change_move(c, m->from, m->to, e);
    struct moving x = {.m = m, .db = c->index, .linker = c->linker, .texts = c->texts};
    return session_learn(c, e) && moving_do(&x, e) && change_move(c, m->from, m->to, e);
}

/* ---- the call ---------------------------------------------------------------- */

struct attachmoving {
    struct str path, to;
};

/* A new name that [[...]] cannot hold would break the links to it in other programs. A file that
 * has such a name already may keep it in another folder. */
static bool links_can_hold(struct str from, struct str to, struct err *e)
{
    struct str name = name_file(to);
    for (size_t i = 0; i < name.n && !str_eq(name, name_file(from)); i++)
        if (strchr("[]#^|", name.at[i]))
            return err_set(e, ERR_INVALID,
                           "the name \"%.*s\" has '%c': links cannot hold the signs "
                           "[ ] # ^ |",
                           STR_ARGS(str_cut(name, 100)), name.at[i]);
    return true;
}

static bool read_attachmove(const struct json *o, void *state, struct err *e)
{
    struct attachmoving *a = state;
    if (!options_check(o, "attachments.move", ATTACHMENTS_MOVE_KEYS, e) ||
        !options_str(o, "path", NULL, &a->path, e) ||
        !options_str(o, "to", NULL, &a->to, e))
        return false;
    bool fine = name_is_file(a->path) && !name_is_path(a->path) &&
                (!a->to.n || str_ends(a->to, "/") ||
                 (name_is_file(a->to) && !name_is_path(a->to)));
    if (fine)
        return links_can_hold(a->path, a->to, e);
    return err_set(e, ERR_INVALID,
                   "attachments.move takes {path, to}: paths of files that are no "
                   "notes, from the vault's root; to may be a folder, 'img/'");
}

static bool run_attachmove(struct change *c, struct vault *v, void *state,
                           struct json_writer *out, struct err *e)
{
    const struct attachmoving *a = state;
    char from[PATH_MAX], to[PATH_MAX];
    bool folder = !a->to.n || str_ends(a->to, "/");
    int n = snprintf(to, sizeof to, "%.*s%.*s", STR_ARGS(a->to),
                     STR_ARGS(folder ? name_file(a->path) : STR("")));
    (void)snprintf(from, sizeof from, "%.*s", STR_ARGS(a->path));
    if (n <= 0 || n >= PATH_MAX || !name_is_file(str_of(to)))
        return err_set(e, ERR_INVALID, "the new path is too long, or no path");
    struct attachmove m = {.v = v, .c = c, .from = from, .to = to};
    if (!change_name(c, from, e) || !attachmove_do(&m, e))
        return false;
    json_open_object(out);
    json_pair_bool(out, "success", true);
    json_pair_cstr(out, "old_path", from);
    json_pair_cstr(out, "path", to);
    json_pair_int(out, "links_updated", (int64_t)m.links);
    json_pair_int(out, "notes_with_updated_links", (int64_t)m.notes);
    json_close(out);
    return true;
}

static const struct operation attachmove_operation = {"attachments.move", "move",
                                                      sizeof(struct attachmoving),
                                                      read_attachmove, run_attachmove};

bool attachments_move(struct vault *v, const struct json *options,
                      struct json_writer *out, struct err *e)
{
    return write_perform(v, &attachmove_operation, options, out, e);
}
