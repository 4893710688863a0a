#include "notes/relink.h"

#include <stdio.h>
#include <strings.h>

#include "notes/linkindex.h"
#include "notes/linkname.h"
#include "notes/markdown.h"
#include "notes/name.h"
#include "notes/session.h"
#include "notes/target.h"

#define NAMES_MAX 10000u /* that mean one note */
#define ARENA_MAX ((size_t)256 << 20)

/* The ways in which links name a note, the most exact first. */
enum form { FORM_PATH, FORM_BARE_PATH, FORM_ID, FORM_FILE, FORM_STEM, FORM_TITLE, FORMS };

struct called {
    struct str text, other;
};

/* A link of the note itself, before it was moved. */
struct own {
    int64_t note; /* what it meant; 0: no note, or several */
};

struct work {
    struct relink *r;
    struct db *db;
    struct linker linker;
    struct arena *arena;
    int64_t key;
    struct str old[FORMS], now[FORMS];
    bool good[FORMS]; /* the new form means the note and no other */
    struct called *names;
    size_t name_count;
    struct own *own;
    size_t own_count, own_capacity;
    struct buf text, other;
};

/* ---- forms --------------------------------------------------------------- */

static struct str copy(struct work *w, struct str s)
{
    struct err full = {0};
    char *at = arena_copy(w->arena, s.at, s.n, &full);
    return at ? (struct str){at, s.n} : STR("");
}

static void list_forms(struct work *w, struct str path, struct str title,
                       struct str out[static FORMS])
{
    scoped_buf struct buf id;
    buf_init(&id, PATH_MAX + 8);
    name_put_id(path, &id);
    out[FORM_PATH] = copy(w, path);
    out[FORM_BARE_PATH] = copy(w, (struct str){path.at, path.n - 3});
    out[FORM_ID] = copy(w, buf_view(&id));
    out[FORM_FILE] = copy(w, name_file(path));
    out[FORM_STEM] = copy(w, name_stem(path));
    out[FORM_TITLE] = copy(w, title);
}

/* Can it stand in [[...]]? */
static bool fits_wiki(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (strchr("[]|#^\n\r", s.at[i]))
            return false;
    return s.n && str_trim(s).n == s.n;
}

/* Asked after the index has been told of the new name. */
static bool try_forms(struct work *w, struct err *e)
{
    for (size_t i = 0; i < FORMS; i++) {
        int64_t note = 0;
        struct str name = w->now[i];
        if (i == FORM_PATH && memchr(name.at, '/', name.n))
            name = w->now[FORM_BARE_PATH]; /* as the index has it */
        if (!linker_meaning(&w->linker, name, STR(""), &note, e))
            return false;
        w->good[i] = note == w->key && fits_wiki(name);
    }
    return true;
}

/* The new form of a name, in the way in which it named the note so far. A link by the
 * uid or so, which still leads there, is asked about before. */
static struct str new_form(const struct work *w, struct str name)
{
    size_t form = FORMS;
    /* At the root a path has no folder: "Plan" is then the file's name. */
    size_t first = name_at_root(w->old[FORM_PATH]) ? FORM_ID : FORM_PATH;
    for (size_t i = first; i < FORMS && form == FORMS; i++)
        if (str_eq(name, w->old[i]))
            form = i;
    for (size_t i = first; i < FORMS && form == FORMS; i++)
        if (name.n == w->old[i].n && !strncasecmp(name.at, w->old[i].at, name.n))
            form = i;
    if (form == FORM_BARE_PATH && name_at_root(w->now[FORM_PATH]))
        form = FORM_ID; /* "note/Plan" */
    if (form == FORM_FILE && !w->good[form])
        form = FORM_PATH;
    if (form != FORMS && w->good[form])
        return w->now[form];
    return w->good[FORM_ID] ? w->now[FORM_ID] : w->now[FORM_PATH];
}

/* ---- the links of one text ----------------------------------------------- */

struct rewriting {
    struct work *w;
    struct str bytes;     /* that the links are borrowed from */
    struct str from, now; /* the note's path, before and after */
    bool is_own;
    size_t index; /* of the link, for w->own */
    size_t done;  /* bytes that are copied */
    struct buf out;
    size_t count;
    struct err *e;
};

static void replace(struct rewriting *r, struct str target, struct str fresh)
{
    if (str_eq(target, fresh) || r->out.failed)
        return;
    size_t at = (size_t)(target.at - r->bytes.at);
    buf_put(&r->out, r->bytes.at + r->done, at - r->done);
    buf_str(&r->out, fresh);
    r->done = at + target.n;
    r->count++;
}

static bool meant_the_note(const struct work *w)
{
    for (size_t i = 0; i < w->name_count; i++)
        if (str_eq(w->names[i].text, buf_view(&w->text)) &&
            str_eq(w->names[i].other, buf_view(&w->other)))
            return true;
    return false;
}

/* Where the target ends and "#heading" or "?query" begins. */
static struct str without_tail(const struct link *l)
{
    struct str t = l->target;
    for (size_t i = 0; i < t.n && l->kind == LINK_MARKDOWN; i++)
        if (t.at[i] == '#' || t.at[i] == '?')
            t.n = i;
    return t;
}

static bool is_dotted(struct str t)
{
    return str_starts(t, "./") || str_starts(t, "../") || str_starts(t, "/");
}

/* Is the text of the link's name a path of the note, and not a title or so? */
static bool names_path(const struct work *w)
{
    struct str text = buf_view(&w->text), path = w->old[FORM_PATH];
    struct str bare = w->old[FORM_BARE_PATH];
    return (text.n == path.n && !strncasecmp(text.at, path.at, path.n)) ||
           (text.n == bare.n && !strncasecmp(text.at, bare.at, bare.n));
}

static void link_to_note(struct rewriting *r, const struct link *l)
{
    struct work *w = r->w;
    struct str target = without_tail(l);
    struct target_style style = target_style_of(l, r->bytes);
    scoped_buf struct buf fresh;
    buf_init(&fresh, 4 * PATH_MAX);
    bool by_path = (l->kind == LINK_MARKDOWN || is_dotted(target)) && names_path(w);
    if (by_path) {
        target_put(&style, r->now, w->now[FORM_PATH], &fresh);
    } else if (l->kind == LINK_MARKDOWN) {
        struct str name = w->other.n ? buf_view(&w->other) : buf_view(&w->text);
        struct str form = new_form(w, name);
        target_escape(form, &style, &fresh);
        if (style.ending && !str_ends(form, ".md"))
            buf_cstr(&fresh, ".md");
    } else {
        buf_str(&fresh, new_form(w, target));
    }
    if (!fresh.failed)
        replace(r, target, buf_view(&fresh));
}

static bool is_same_still(struct rewriting *r, const struct link *l, int64_t note)
{
    struct work *w = r->w;
    int64_t now = 0;
    link_name(l, r->now, &w->text, &w->other);
    return linker_meaning(&w->linker, buf_view(&w->text), buf_view(&w->other), &now,
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
    return os_stat_beneath(w->r->v->dir, name, &st, &none);
}

static bool path_of(struct work *w, int64_t key, struct buf *out, struct err *e)
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

/* Of the note itself: what leads elsewhere must go on to lead there. */
static void own_link(struct rewriting *r, const struct link *l, const struct own *was)
{
    struct work *w = r->w;
    struct str target = without_tail(l);
    bool as_path = l->kind == LINK_MARKDOWN || is_dotted(target);
    if (!as_path || str_starts(target, "/") || r->e->code ||
        str_eq(target_folder(r->from), target_folder(r->now)))
        return;
    scoped_buf struct buf to, rooted, fresh;
    buf_init(&to, PATH_MAX);
    buf_init(&rooted, PATH_MAX);
    buf_init(&fresh, 4 * PATH_MAX);
    struct target_style style = target_style_of(l, r->bytes);
    bool inside = markdown_resolve(target, r->from, &to);
    if (was->note) {
        struct str words = copy(w, buf_view(&to));
        buf_clear(&to);
        if (!path_of(w, was->note, &to, r->e))
            return;
        /* By a name, which means the same from everywhere. */
        if (!is_path_of(words, buf_view(&to)) && is_same_still(r, l, was->note))
            return;
    } else {
        /* A file that is no note, or nothing: where the words lead. */
        bool from_root = markdown_resolve(target, STR(""), &rooted);
        if (!inside || !to.n ||
            (!is_file(w, buf_view(&to)) && from_root && is_file(w, buf_view(&rooted))))
            return;
        style.ending = true; /* nothing to cut */
    }
    target_put(&style, r->now, buf_view(&to), &fresh);
    if (!fresh.failed)
        replace(r, target, buf_view(&fresh));
}

static void rewrite_link(void *arg, const struct link *l)
{
    struct rewriting *r = arg;
    struct work *w = r->w;
    size_t index = r->index++;
    if (l->kind == LINK_EXTERNAL || r->e->code)
        return;
    link_name(l, r->from, &w->text, &w->other);
    if (meant_the_note(w)) {
        /* By uid: it still does. By a path or a title: those are not the note's now,
         * though a look that knows no case may find it all the same. */
        bool by_name = false;
        for (size_t i = 0; i < FORMS && !by_name; i++)
            by_name = str_eq(buf_view(&w->text), w->old[i]) ||
                      str_eq(buf_view(&w->other), w->old[i]);
        if (!by_name && is_same_still(r, l, w->key))
            return;
        link_name(l, r->from, &w->text, &w->other);
        link_to_note(r, l);
    } else if (r->is_own && index < w->own_count) {
        own_link(r, l, &w->own[index]);
    }
}

/* ---- one note ------------------------------------------------------------ */

static int64_t key_of(struct work *w, struct str path, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(w->db, "SELECT key FROM notes WHERE path = ?", e);
    if (!q)
        return 0;
    query_bind_str(q, 1, path);
    return query_next(q, e) ? query_int(q, 0) : 0;
}

/* The list of subnotes with the note's new name in the place of its old one; NULL:
 * it stays. */
static const struct json *new_subnotes(struct work *w, const struct note *n,
                                       struct err *e)
{
    const struct json *list = json_get(n->front.yml.all, SUBNOTES_KEY);
    scoped_buf struct buf text;
    buf_init(&text, YML_JSON_MAX * 2);
    struct json_writer out = json_writer(&text);
    bool changed = false;
    json_open_array(&out);
    struct json_iter it = json_iter(json_is(list, JSON_ARRAY) ? list : NULL);
    while (json_next(&it)) {
        buf_clear(&w->text);
        buf_clear(&w->other);
        bool names = subnote_name(it.value, &w->text);
        struct str name = copy(w, buf_view(&w->text));
        if (str_ends(name, ".md") && memchr(name.at, '/', name.n))
            w->text.n -= 3;
        int64_t now = 0;
        bool mine = names && meant_the_note(w);
        if (mine && !linker_meaning(&w->linker, buf_view(&w->text), STR(""), &now, e))
            return NULL;
        if (!mine || now == w->key) {
            json_put(&out, it.value);
            continue;
        }
        changed = true;
        scoped_buf struct buf entry;
        buf_init(&entry, 2 * PATH_MAX);
        bool wiki = str_starts(str_trim(json_str(it.value)), "[[");
        buf_printf(&entry, wiki ? "[[%.*s]]" : "%.*s", STR_ARGS(new_form(w, name)));
        json_put_str(&out, buf_view(&entry));
    }
    json_close(&out);
    return changed ? json_read(buf_view(&text), w->arena, e) : NULL;
}

static bool put_head(struct work *w, const struct note *n, struct buf *out, size_t *count,
                     struct err *e)
{
    const struct json *list = new_subnotes(w, n, e);
    if (e->code)
        return false;
    if (!list)
        return buf_str(out, n->front.head);
    ++*count;
    struct frontmatter_change change = {STR(SUBNOTES_KEY), list};
    return frontmatter_edit(&n->front, &change, 1, w->arena, out, e);
}

static bool rewrite_note(struct work *w, const char *path, struct err *e)
{
    struct note n;
    bool found;
    bool own = !strcmp(path, w->r->old.path.at);
    struct err why = {0};
    if (!change_read(w->r->c, path, &n, &found, &why))
        /* Too large by now, or not to be read: its links cannot be rewritten. */
        return err_set(e, why.code, "a note that links to it cannot be read: %s",
                       why.msg);
    if (!found)
        return true;
    scoped_buf struct buf head;
    buf_init(&head, NOTE_SIZE_MAX);
    struct rewriting r = {.w = w,
                          .bytes = n.front.body,
                          .from = n.path,
                          .now = own ? str_of(w->r->path) : n.path,
                          .is_own = own,
                          .e = e};
    buf_init(&r.out, NOTE_SIZE_MAX);
    bool ok = put_head(w, &n, &head, &r.count, e) && buf_str(&r.out, buf_view(&head));
    if (ok)
        markdown_targets(n.front.body, rewrite_link, &r);
    ok = ok && !e->code;
    bool has_news = change_touches(w->r->c, path); /* which are more than its links */
    if (ok)
        buf_put(&r.out, r.bytes.at + r.done, r.bytes.n - r.done);
    ok = ok && buf_check(&r.out, "a note with rewritten links", e) &&
         (!r.count || change_replace(w->r->c, path, buf_view(&r.out), e));
    if (ok && r.count) {
        char summary[400];
        (void)snprintf(summary, sizeof summary, "links to %.300s", w->r->path);
        if (!own && !has_news)
            change_say(w->r->c, path, "links", summary);
        w->r->notes++;
        w->r->links += r.count;
    }
    buf_done(&r.out);
    return ok && !e->code;
}

/* ---- which notes --------------------------------------------------------- */

static bool list_names(struct work *w, struct err *e)
{
    w->names = arena_get(w->arena, NAMES_MAX * sizeof *w->names, e);
    scoped(query_end) struct query *q =
        w->names
            ? db_query(w->db, "SELECT text, other FROM names WHERE note = ? LIMIT ?", e)
            : NULL;
    if (!q)
        return false;
    query_bind_int(q, 1, w->key);
    query_bind_int(q, 2, NAMES_MAX);
    while (query_next(q, e))
        w->names[w->name_count++] =
            (struct called){copy(w, query_str(q, 0)), copy(w, query_str(q, 1))};
    return e->code == ERR_NONE;
}

struct sources {
    const char **paths;
    size_t count, capacity;
};

static bool list_sources(struct work *w, struct sources *s, struct err *e)
{
    scoped(query_end) struct query *q = db_query(
        w->db,
        "SELECT path FROM notes WHERE key <> ?1 AND key IN"
        " (SELECT l.source FROM names n JOIN links l ON l.name = n.key WHERE n.note = ?1"
        "  UNION SELECT s.parent FROM names n JOIN subnotes s ON s.name = n.key"
        "  WHERE n.note = ?1) ORDER BY path",
        e);
    if (!q)
        return false;
    query_bind_int(q, 1, w->key);
    while (query_next(q, e)) {
        if (s->count == s->capacity) {
            size_t more = s->capacity ? 2 * s->capacity : 64;
            const char **grown = arena_get(w->arena, more * sizeof *grown, e);
            if (!grown)
                return false;
            if (s->count)
                memcpy(grown, s->paths, s->count * sizeof *grown);
            s->paths = grown;
            s->capacity = more;
        }
        struct str path = query_str(q, 0);
        s->paths[s->count] = arena_copy(w->arena, path.at, path.n, e);
        if (!s->paths[s->count++])
            return false;
    }
    return e->code == ERR_NONE;
}

struct listing {
    struct work *w;
    struct err *e;
};

static void list_own_link(void *arg, const struct link *l)
{
    struct listing *x = arg;
    struct work *w = x->w;
    if (x->e->code)
        return;
    if (w->own_count == w->own_capacity) {
        size_t more = w->own_capacity ? 2 * w->own_capacity : 64;
        struct own *grown = arena_get(w->arena, more * sizeof *grown, x->e);
        if (!grown)
            return;
        if (w->own_count)
            memcpy(grown, w->own, w->own_count * sizeof *grown);
        w->own = grown;
        w->own_capacity = more;
    }
    struct own *own = &w->own[w->own_count++];
    *own = (struct own){0};
    if (l->kind == LINK_EXTERNAL)
        return;
    link_name(l, w->r->old.path, &w->text, &w->other);
    (void)linker_meaning(&w->linker, buf_view(&w->text), buf_view(&w->other), &own->note,
                         x->e);
}

/* What the note's own links mean while it is where it is. Its text may have changed
 * already (the title), but not its links. */
static bool list_own(struct work *w, struct err *e)
{
    struct note n;
    bool found;
    if (!change_read(w->r->c, w->r->old.path.at, &n, &found, e) || !found)
        return !e->code;
    struct listing x = {w, e};
    markdown_targets(n.front.body, list_own_link, &x);
    return e->code == ERR_NONE;
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
    if (!path_of(w, before, &path, e))
        return e->code == ERR_NONE;
    vault_put_id(w->r->v, buf_view(&path), &id);
    return err_set(
        e, ERR_CONFLICT,
        "links that call the note \"%.*s\" by the name \"%.*s\" would %s; nothing "
        "was changed. Take another title, or let them use its id first",
        STR_ARGS(str_cut(buf_view(&id), 100)), STR_ARGS(str_cut(text, 80)),
        after ? "lead to this one" : "mean two notes");
}

/* ---- all of it ----------------------------------------------------------- */

static bool relink_all(struct work *w, struct err *e)
{
    struct sources s = {0};
    list_forms(w, w->r->old.path, w->r->old.title, w->old);
    list_forms(w, str_of(w->r->path), w->r->title, w->now);
    w->key = key_of(w, w->r->old.path, e);
    if (!w->key)
        return e->code == ERR_NONE;
    if (!list_names(w, e) || !list_sources(w, &s, e) || !list_own(w, e) ||
        !linker_pretend(&w->linker, w->key, str_of(w->r->path), w->r->title, name_changes,
                        w, e) ||
        !try_forms(w, e) || !rewrite_note(w, w->r->old.path.at, e))
        return false;
    for (size_t i = 0; i < s.count; i++)
        if (!rewrite_note(w, s.paths[i], e))
            return false;
    return true;
}

static bool relink_within(struct relink *r, struct db *db, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(ARENA_MAX);
    struct work w = {.r = r, .db = db, .arena = a};
    r->notes = r->links = 0;
    buf_init(&w.text, PATH_MAX);
    buf_init(&w.other, PATH_MAX);
    linker_init(&w.linker, db);
    bool ok = relink_all(&w, e);
    linker_done(&w.linker);
    buf_done(&w.text);
    buf_done(&w.other);
    return ok;
}

static bool relink_work(struct db *db, void *arg, struct err *e)
{
    struct relink *r = arg;
    if (change_index(r->c))
        return relink_within(r, db, e);
    scoped_transaction struct transaction t = {0};
    /* Rolled back in the end: the index will see the files. */
    return db_begin(&t, db, e) && relink_within(r, db, e);
}

bool relink_run(struct relink *r, struct err *e)
{
    return session_use(r->v, r->c, relink_work, r, e);
}
