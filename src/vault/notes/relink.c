#include "notes/relink.h"

#include <stdio.h>

#include "notes/entry.h"
#include "notes/forms.h"
#include "notes/linktext.h"
#include "notes/name.h"
#include "notes/session.h"
#include "notes/target.h"

#define ARENA_MAX ((size_t)256 << 20)
#define SLOTS_BETWEEN_LOOKS 1024u /* whether the call goes on */

struct work {
    struct relink *r;
    struct db *db;
    bool session; /* what is replaced is written at its end, and the index told at once */
    struct linker *linker;
    struct linktexts *texts;
    struct arena *arena;
    int64_t key;
    struct forms forms;
    struct map names; /* that mean the note, as linktexts_key() makes them */
    struct linktext *own;
    int64_t *was; /* what the note's own links meant; 0: no note, several, or not asked */
    struct buf text, other, name;
};

/* ---- the links of one text ----------------------------------------------- */

struct rewriting {
    struct work *w;
    struct linktext *t;
    struct str from, now; /* the note's path, before and after */
    size_t count;
    struct err *e;
};

static bool slot_replace(struct rewriting *r, struct linkslot *s, struct str part,
                         struct str fresh)
{
    if (str_eq(part, fresh))
        return true;
    r->count++;
    if (!linkslot_replace(s, part, fresh, r->e))
        return false;
    struct work *w = r->w;
    if (!w->session || r->t == w->own || s->number == LINKSLOT_NONE)
        return true;
    struct link l = linkslot_link(s);
    linkslot_name(s, r->from, &w->text, &w->other);
    return s->subnote ? linker_rename_subnote(w->linker, r->t->key, s->number,
                                              buf_view(&w->text), r->e)
                      : linker_rename_link(w->linker, r->t->key, s->number, &l,
                                           buf_view(&w->text), buf_view(&w->other), r->e);
}

static bool means_note(struct work *w)
{
    buf_clear(&w->name);
    return linktexts_key(buf_view(&w->text), buf_view(&w->other), &w->name) &&
           map_find(&w->names, buf_view(&w->name)) != MAP_NONE;
}

/* The target without "#heading" or "?query". */
static struct str without_tail(const struct linkslot *s)
{
    struct str t = s->target;
    for (size_t i = 0; i < t.n && s->kind == LINK_MARKDOWN; i++)
        if (t.at[i] == '#' || t.at[i] == '?')
            t.n = i;
    return t;
}

static bool is_dotted(struct str t)
{
    return str_starts(t, "./") || str_starts(t, "../") || str_starts(t, "/");
}

/* A sign always stands before a target that is not an address. */
static struct target_style style_of(const struct linkslot *s)
{
    struct link l = linkslot_link(s);
    return target_style_of(&l, (struct str){s->target.at - 1, s->target.n + 1});
}

static bool link_to_note(struct rewriting *r, struct linkslot *s)
{
    struct work *w = r->w;
    if (s->rooted)
        return slot_replace(r, s, s->target, w->forms.now[FORM_PATH]);
    struct str target = without_tail(s);
    struct target_style style = style_of(s);
    scoped_buf struct buf fresh = buf_of(4 * PATH_MAX);
    bool by_path = (s->kind == LINK_MARKDOWN || is_dotted(target)) &&
                   forms_is_path(&w->forms, buf_view(&w->text));
    if (by_path) {
        target_put(&style, r->now, w->forms.now[FORM_PATH], &fresh);
    } else if (s->kind == LINK_MARKDOWN) {
        struct str name = w->other.n ? buf_view(&w->other) : buf_view(&w->text);
        struct str form = forms_new(&w->forms, name);
        target_escape(form, &style, &fresh);
        if (style.ending && !str_ends(form, ".md"))
            buf_cstr(&fresh, ".md");
    } else {
        buf_str(&fresh, forms_new(&w->forms, target));
    }
    return fresh.failed || slot_replace(r, s, target, buf_view(&fresh));
}

/* Does it mean that note, seen from where the text will be? */
static bool is_same_still(struct rewriting *r, const struct linkslot *s, int64_t note)
{
    struct work *w = r->w;
    int64_t now = 0;
    linkslot_name(s, r->now, &w->text, &w->other);
    return linker_meaning(w->linker, buf_view(&w->text), buf_view(&w->other), &now,
                          r->e) &&
           now == note;
}

static bool is_file(const struct work *w, struct str path)
{
    char name[PATH_MAX];
    if (!path.n || path.n >= sizeof name || memchr(path.at, '\0', path.n))
        return false;
    memcpy(name, path.at, path.n);
    name[path.n] = '\0';
    struct os_stat st;
    struct err none = {0};
    /* Steps before may have moved notes that are still where they were. */
    return name_is_path(path) ? change_has(w->r->c, name)
                              : os_stat_beneath(w->r->v->dir, name, &st, &none);
}

static bool source_path(struct work *w, int64_t key, struct buf *out, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(w->db, "SELECT path FROM notes WHERE key = ?", e);
    if (!q)
        return false;
    query_bind_int(q, 1, key);
    return query_next(q, e) && buf_str(out, query_str(q, 0));
}

/* With or without its ending. */
static bool is_path_of(struct str words, struct str path)
{
    return str_eq(words, path) || str_eq(words, (struct str){path.at, path.n - 3});
}

/* Does it lead somewhere by the folder of the note that it stands in? */
static bool hangs_on_folder(const struct linkslot *s)
{
    struct str target = without_tail(s);
    bool as_path = s->kind == LINK_MARKDOWN || is_dotted(target);
    return !s->subnote && s->kind != LINK_EXTERNAL && as_path && !str_starts(target, "/");
}

static bool changes_folder(const struct work *w)
{
    return !str_eq(target_folder(w->r->old.path), target_folder(str_of(w->r->path)));
}

/* A link in the moved note itself must go on to lead where it did. */
static bool own_link(struct rewriting *r, struct linkslot *s, int64_t was)
{
    struct work *w = r->w;
    if (!changes_folder(w) || !hangs_on_folder(s))
        return true;
    struct str target = without_tail(s);
    scoped_buf struct buf to, words, rooted, fresh;
    buf_init(&to, PATH_MAX);
    buf_init(&words, PATH_MAX);
    buf_init(&rooted, PATH_MAX);
    buf_init(&fresh, 4 * PATH_MAX);
    struct target_style style = style_of(s);
    bool inside = markdown_resolve(target, r->from, &words);
    if (was) {
        if (!source_path(w, was, &to, r->e))
            return r->e->code == ERR_NONE;
        /* By a name, which means the same from everywhere. */
        if (!is_path_of(buf_view(&words), buf_view(&to)) && is_same_still(r, s, was))
            return true;
    } else {
        /* A file that is no note, or nothing: where the words lead. */
        bool from_root = markdown_resolve(target, STR(""), &rooted);
        if (!inside || !words.n ||
            (!is_file(w, buf_view(&words)) && from_root && is_file(w, buf_view(&rooted))))
            return true;
        buf_str(&to, buf_view(&words));
        style.ending = true; /* nothing to cut */
    }
    target_put(&style, r->now, buf_view(&to), &fresh);
    return r->e->code == ERR_NONE &&
           (fresh.failed || slot_replace(r, s, target, buf_view(&fresh)));
}

/* The entry of a list of subnotes, which stays where it leads to the note still. */
static bool subnote_entry(struct rewriting *r, struct linkslot *s)
{
    struct work *w = r->w;
    int64_t now = 0;
    struct str name = s->target;
    linkslot_name(s, r->from, &w->text, &w->other);
    if (!means_note(w))
        return true;
    if (!linker_meaning(w->linker, name, STR(""), &now, r->e) || now == w->key)
        return r->e->code == ERR_NONE;
    scoped_buf struct buf entry = buf_of(2 * PATH_MAX);
    struct str as_it_was = str_trim(json_str(r->t->subnotes[s->at]));
    bool wiki = str_starts(as_it_was, "[[");
    buf_printf(&entry, wiki ? "[[%.*s]]" : "%.*s", STR_ARGS(forms_new(&w->forms, name)));
    return slot_replace(r, s, STR(""), buf_view(&entry));
}

static bool rewrite_slot(struct rewriting *r, struct linkslot *s)
{
    struct work *w = r->w;
    if (s->subnote)
        return subnote_entry(r, s);
    if (s->kind == LINK_EXTERNAL)
        return true;
    linkslot_name(s, r->from, &w->text, &w->other);
    if (!means_note(w))
        return r->t != w->own || own_link(r, s, w->was[s - r->t->slots]);
    /* By uid: it still does. By a path or a title: those are not the note's now, though a
     * look that knows no case may find it all the same. */
    bool by_name = s->rooted || forms_has(&w->forms, buf_view(&w->text)) ||
                   forms_has(&w->forms, buf_view(&w->other));
    if (!by_name && is_same_still(r, s, w->key))
        return true;
    linkslot_name(s, r->from, &w->text, &w->other);
    return r->e->code == ERR_NONE && link_to_note(r, s);
}

/* Every link of it, or those that stand in its list of what is to be done. */
static bool rewrite_slots(struct rewriting *r, bool all)
{
    struct linkslot *s = all ? r->t->slots : r->t->todo;
    r->t->todo = NULL;
    for (size_t i = 0; all ? i < r->t->count : s != NULL; i++) {
        struct linkslot *next = all ? s + 1 : s->todo;
        if ((i % SLOTS_BETWEEN_LOOKS == 0 && !vault_goes_on(r->w->r->v, r->e)) ||
            !rewrite_slot(r, s))
            return false;
        s = next;
    }
    return true;
}

static bool rewrite_note(struct work *w, struct linktext *t, bool all, struct err *e)
{
    bool own = t == w->own;
    struct entry *n = t->note;
    bool has_news = n->order; /* which are more than its links */
    struct rewriting r = {.w = w, .t = t, .from = str_of(n->to), .e = e};
    r.now = own ? str_of(w->r->path) : r.from;
    if (!rewrite_slots(&r, all))
        return false;
    if (r.count && !own && !has_news) {
        char summary[400];
        (void)snprintf(summary, sizeof summary, "links to %.300s", w->r->path);
        change_say(w->r->c, n->to, "links", summary);
    }
    w->r->notes += r.count > 0;
    w->r->links += r.count;
    if (own)
        w->own = NULL; /* it may be closed now */
    return (w->session && !own) || linktext_write(t, e);
}

/* ---- which notes --------------------------------------------------------- */

static int64_t rewriting_key(struct work *w, struct str path, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(w->db, "SELECT key FROM notes WHERE path = ?", e);
    if (!q)
        return 0;
    query_bind_str(q, 1, path);
    return query_next(q, e) ? query_int(q, 0) : 0;
}

static bool list_names(struct work *w, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(w->db, "SELECT text, other FROM names WHERE note = ?", e);
    if (!q)
        return false;
    query_bind_int(q, 1, w->key);
    while (query_next(q, e)) {
        buf_clear(&w->name);
        if (!linktexts_key(query_str(q, 0), query_str(q, 1), &w->name))
            continue; /* longer than any of ours */
        const char *key = arena_copy(w->arena, w->name.at, w->name.n, e);
        if (!key || map_add(&w->names, (struct str){key, w->name.n}, e) == MAP_NONE)
            return false;
    }
    return e->code == ERR_NONE;
}

struct source {
    int64_t key;
    const char *path, *hash;
    struct linktext *text;
};

struct sources {
    struct source *all;
    size_t count, capacity;
};

static bool add_source(struct work *w, struct sources *s, struct query *q, struct err *e)
{
    if (s->count == s->capacity) {
        size_t more = s->capacity ? 2 * s->capacity : 64;
        struct source *grown = arena_get(w->arena, more * sizeof *grown, e);
        if (!grown)
            return false;
        if (s->count)
            memcpy(grown, s->all, s->count * sizeof *grown);
        s->all = grown;
        s->capacity = more;
    }
    struct str path = query_str(q, 1), hash = query_str(q, 2);
    struct source *it = &s->all[s->count++];
    *it = (struct source){.key = query_int(q, 0),
                          .path = arena_copy(w->arena, path.at, path.n, e),
                          .hash = arena_copy(w->arena, hash.at, hash.n, e)};
    return it->path && it->hash;
}

static bool list_sources(struct work *w, struct sources *s, struct err *e)
{
    scoped(query_end) struct query *q = db_query(
        w->db,
        "SELECT key, path, hash FROM notes WHERE key <> ?1 AND key IN"
        " (SELECT l.source FROM names n JOIN links l ON l.name = n.key WHERE n.note = ?1"
        "  UNION SELECT s.parent FROM names n JOIN subnotes s ON s.name = n.key"
        "  WHERE n.note = ?1)"
        " UNION ALL SELECT -c.key, c.path, c.hash FROM canvases c WHERE -c.key IN"
        " (SELECT l.source FROM names n JOIN links l ON l.name = n.key WHERE n.note = ?1)"
        " ORDER BY path",
        e);
    if (!q)
        return false;
    query_bind_int(q, 1, w->key);
    while (query_next(q, e))
        if (!add_source(w, s, q, e))
            return false;
    return e->code == ERR_NONE;
}

/* Without a text: the note is not there any more. */
static bool open_source(struct work *w, struct source *s, struct err *e)
{
    struct change *c = w->r->c;
    struct entry *n = entry_at(c, s->path);
    struct note note;
    bool found = true;
    struct err why = {0};
    if (!n || !n->links) {
        if (!change_read(c, s->path, &note, &found, &why))
            /* Too large by now, or not to be read: its links cannot be rewritten. */
            return err_set(e, why.code, "a note that links to it cannot be read: %s",
                           why.msg);
        n = found ? entry_at(c, s->path) : NULL;
    }
    bool known = n && n->links;
    s->text = n ? linktext_open(w->texts, n, e) : NULL;
    if (!s->text)
        return e->code == ERR_NONE;
    s->text->key = s->key;
    /* Another program may have written since the index saw it. */
    bool in_step = known || (!n->order && !strcmp(n->old_hash, s->hash));
    return !w->session || in_step || session_index_links(w->linker, s->text, e);
}

/* Their slots that mean the note, without a look at the others. */
static void gather_slots(struct work *w, const struct sources *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->all[i].text)
            s->all[i].text->wanted = true;
    for (size_t i = 0; i < w->names.count; i++) {
        struct linkslot *slot = linktexts_named(w->texts, w->names.texts[i]);
        for (; slot; slot = slot->next) {
            if (!slot->text->wanted)
                continue;
            slot->todo = slot->text->todo;
            slot->text->todo = slot;
        }
    }
    for (size_t i = 0; i < s->count; i++)
        if (s->all[i].text)
            s->all[i].text->wanted = false;
}

/* Rewrites sources one after the other: few links each in a vault that may be large. */
static bool rewrite_each(struct work *w, struct sources *s, struct err *e)
{
    for (size_t i = 0; i < s->count; i++) {
        struct source *it = &s->all[i];
        if (!open_source(w, it, e) || (it->text && !rewrite_note(w, it->text, true, e)))
            return false;
        struct entry *n = entry_at(w->r->c, it->path);
        linktext_close(n ? n->links : NULL);
    }
    return true;
}

static bool rewrite_sources(struct work *w, struct sources *s, struct err *e)
{
    if (!w->session)
        return rewrite_each(w, s, e);
    for (size_t i = 0; i < s->count; i++)
        if (!vault_goes_on(w->r->v, e) || !open_source(w, &s->all[i], e))
            return false;
    gather_slots(w, s);
    for (size_t i = 0; i < s->count; i++)
        if (s->all[i].text && !rewrite_note(w, s->all[i].text, false, e))
            return false;
    return true;
}

/* ---- the note itself ----------------------------------------------------- */

/* Resolves its own links while it is where it is, as far as that may change. Its text may
 * be new already (the title), but not its links. */
static bool relink_open_own(struct work *w, struct err *e)
{
    struct note note;
    bool found;
    struct change *c = w->r->c;
    const char *path = w->r->old.path.at;
    if (!change_read(c, path, &note, &found, e) || !found)
        return e->code == ERR_NONE;
    struct linktext *t = w->own = linktext_open(w->texts, entry_at(c, path), e);
    w->was = t ? arena_get(w->arena, (t->count + 1) * sizeof *w->was, e) : NULL;
    if (!w->was)
        return false;
    for (size_t i = 0; changes_folder(w) && i < t->count; i++) {
        if (i % SLOTS_BETWEEN_LOOKS == 0 && !vault_goes_on(w->r->v, e))
            return false;
        if (!hangs_on_folder(&t->slots[i]))
            continue;
        linkslot_name(&t->slots[i], w->r->old.path, &w->text, &w->other);
        if (!linker_meaning(w->linker, buf_view(&w->text), buf_view(&w->other),
                            &w->was[i], e))
            return false;
    }
    return true;
}

/* ---- names of others ----------------------------------------------------- */

static bool name_changes(void *arg, int64_t name, struct str text, int64_t before,
                         int64_t after, struct err *e)
{
    struct work *w = arg;
    (void)name;
    if (before == 0 || before == w->key)
        return true;
    scoped_buf struct buf path, id;
    buf_init(&path, PATH_MAX);
    buf_init(&id, PATH_MAX + 8);
    if (!source_path(w, before, &path, e))
        return e->code == ERR_NONE;
    vault_put_id(w->r->v, buf_view(&path), &id);
    return err_set(
        e, ERR_CONFLICT,
        "links that call the note \"%.*s\" by the name \"%.*s\" would %s; nothing "
        "was changed. Take another title, or let them use its id first",
        STR_ARGS(str_cut(buf_view(&id), 100)), STR_ARGS(str_cut(text, 80)),
        after ? "lead to this one" : "lead nowhere");
}

/* ---- all of it ----------------------------------------------------------- */

static bool relink_all(struct work *w, struct err *e)
{
    struct relink *r = w->r;
    struct sources s = {0};
    w->key = rewriting_key(w, r->old.path, e);
    if (!w->key)
        return e->code == ERR_NONE;
    return forms_list(&w->forms, r->old.path, r->old.title, str_of(r->path), r->title,
                      w->arena, e) &&
           list_names(w, e) && list_sources(w, &s, e) && relink_open_own(w, e) &&
           linker_rename(w->linker, w->key, str_of(r->path), r->title, name_changes, w,
                         e) &&
           forms_try(&w->forms, w->linker, w->key, e) &&
           (!w->own || rewrite_note(w, w->own, true, e)) && rewrite_sources(w, &s, e);
}

static bool relink_with(struct work *w, struct err *e)
{
    struct relink *r = w->r;
    r->notes = r->links = 0;
    w->arena = arena_new(ARENA_MAX);
    buf_init(&w->text, PATH_MAX);
    buf_init(&w->other, PATH_MAX);
    buf_init(&w->name, 2 * PATH_MAX + 1);
    bool ok = relink_all(w, e);
    map_done(&w->names);
    arena_free(w->arena);
    buf_done(&w->text);
    buf_done(&w->other);
    buf_done(&w->name);
    return ok;
}

/* Without a session nothing stays in the index: it will see the files. */
static bool relink_alone(struct db *db, void *arg, struct err *e)
{
    struct relink *r = arg;
    scoped_transaction struct transaction t = {0};
    struct linker linker;
    linker_init(&linker, db);
    scoped(linktexts_free) struct linktexts *texts = linktexts_new(r->c, false);
    struct work w = {.r = r, .db = db, .linker = &linker, .texts = texts};
    bool ok = db_begin(&t, db, e) && relink_with(&w, e);
    linker_done(&linker);
    return ok;
}

bool relink_move(struct relink *r, struct err *e)
{
    const char *from = r->old.path.at; /* the change's own, as long as it lasts */
    if (!r->c->index)
        return index_use(r->v, relink_alone, r, e) && change_move(r->c, from, r->path, e);
    struct work w = {.r = r,
                     .db = r->c->index,
                     .session = true,
                     .linker = r->c->linker,
                     .texts = r->c->texts};
    return relink_with(&w, e) && change_move(r->c, from, r->path, e) &&
           session_moved(r->c, r->path, w.key, e);
}
