/* notes.renameHeading: a heading gets another text, and the links that name it follow. */
#include <stdio.h>

#include "notes/anchors.h"
#include "notes/blocks.h"
#include "notes/canvas.h"
#include "notes/change.h"
#include "notes/find.h"
#include "notes/frontlinks.h"
#include "notes/index.h"
#include "notes/linkindex.h"
#include "notes/linkname.h"
#include "notes/name.h"
#include "notes/notes.api.h"
#include "notes/session.h"
#include "notes/write.h"

#define HEADING_TEXT_MAX 1000u /* bytes of a new heading */

struct reheading {
    struct str identifier, heading, fresh;
    int64_t occurrence; /* 0: not said */
    struct write_guard guard;
};

/* Bytes of a text that become others. */
struct swap_part {
    size_t at, length;
    struct str fresh;
};

struct rehead {
    const struct reheading *o;
    struct vault *v;
    struct change *c;
    struct db *db;
    struct linker linker;
    struct arena *arena;
    struct note note;               /* whose heading it is */
    struct str old;                 /* its text */
    int64_t key;                    /* of the note in the index; 0: none */
    struct str wiki, slug, escaped; /* the new one behind a '#' */
    size_t notes, links;
};

/* The parts of one text. */
struct gathering_parts {
    struct rehead *r;
    struct str path, bytes;
    struct swap_part *all;
    size_t count, capacity;
    struct err *e;
};

/* ---- the new fragment -------------------------------------------------------- */

/* As Obsidian writes it: signs that mean something in a link become spaces. */
static bool put_wiki_form(struct str s, struct buf *out)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = strchr("#|^\\:%[]", s.at[i]) && s.at[i] ? ' ' : s.at[i];
        bool again = c == ' ' && (!out->n || out->at[out->n - 1] == ' ');
        if (!again)
            buf_char(out, c);
    }
    while (out->n && out->at[out->n - 1] == ' ')
        out->n--;
    return !out->failed;
}

/* "my-heading", as Foam, GitHub and others make it of a heading. */
static void put_slug(struct str s, struct buf *out)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.at[i];
        if (c >= 0x80 || char_is_letter((char)c) || char_is_digit((char)c) || c == '_' ||
            c == '-')
            buf_char(out, char_lower((char)c));
        else if (c == ' ')
            buf_char(out, '-');
    }
}

static void put_escaped(struct str s, struct buf *out)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.at[i] <= ' ' || strchr("()<>\"'%", s.at[i]))
            buf_printf(out, "%%%02X", (unsigned char)s.at[i]);
        else
            buf_char(out, s.at[i]);
}

static struct str rehead_keep(struct rehead *r, const struct buf *b, struct err *e)
{
    const char *copy = arena_copy(r->arena, b->at ? b->at : "", b->n, e);
    return copy ? (struct str){copy, b->n} : STR("");
}

static bool make_fragments(struct rehead *r, struct err *e)
{
    scoped_buf struct buf wiki = buf_of(BUF_TEXT), slug = buf_of(BUF_TEXT),
                          escaped = buf_of(BUF_TEXT);
    (void)put_wiki_form(r->o->fresh, &wiki);
    put_slug(r->o->fresh, &slug);
    put_escaped(buf_view(&wiki), &escaped);
    r->wiki = rehead_keep(r, &wiki, e);
    r->slug = rehead_keep(r, &slug, e);
    r->escaped = rehead_keep(r, &escaped, e);
    return !e->code && (r->slug.n || err_set(e, ERR_INVALID,
                                             "new_heading must have a letter or digit"));
}

/* ---- links that name it ------------------------------------------------------- */

static void add_part(struct gathering_parts *g, size_t at, size_t length,
                     struct str fresh)
{
    if (g->e->code || !array_fit(g->all, g->capacity, g->count, g->e))
        return;
    g->all[g->count++] = (struct swap_part){at, length, fresh};
}

/* The part of "A#B" that is the heading. `at`: where the fragment stands. */
static void add_fragment(struct gathering_parts *g, const struct link *l, size_t at)
{
    struct rehead *r = g->r;
    struct str f = l->fragment;
    for (size_t i = 0; i < f.n;) {
        const char *end = memchr(f.at + i, '#', f.n - i);
        size_t n = end ? (size_t)(end - f.at) - i : f.n - i;
        struct str part = {f.at + i, n};
        bool slug = l->kind == LINK_MARKDOWN && !memchr(part.at, '%', n) &&
                    !memchr(part.at, ' ', n);
        if (part.n && part.at[0] != '^' && anchor_is(part, r->old)) {
            add_part(g, at + i, n,
                     slug                       ? r->slug
                     : l->kind == LINK_MARKDOWN ? r->escaped
                                                : r->wiki);
            r->links++;
        }
        i += n + 1;
    }
}

/* Does the link lead to the note? One without a target leads to its own. */
static bool leads_there(struct gathering_parts *g, const struct link *l)
{
    struct rehead *r = g->r;
    int64_t note = 0;
    if (!l->fragment.n || l->kind == LINK_EXTERNAL)
        return false;
    if (!l->target.n)
        return str_eq(g->path, r->note.path);
    scoped_buf struct buf text = buf_of(PATH_MAX), other = buf_of(PATH_MAX);
    link_name(l, g->path, &text, &other);
    return r->key &&
           linker_meaning(&r->linker, buf_view(&text), buf_view(&other), &note, g->e) &&
           note == r->key;
}

static void gather_text_link(void *arg, const struct link *l)
{
    struct gathering_parts *g = arg;
    if (leads_there(g, l))
        add_fragment(g, l, (size_t)(l->fragment.at - g->bytes.at));
}

static void gather_front_link(void *arg, const struct frontlink *l)
{
    struct gathering_parts *g = arg;
    const char *at = l->link.fragment.at, *first = g->bytes.at;
    /* With escapes it is a copy. */
    if (at >= first && at < first + g->bytes.n)
        gather_text_link(g, &l->link);
}

static void gather_canvas_link(void *arg, const struct canvas_link *l)
{
    struct gathering_parts *g = arg;
    if (l->fragment_at && leads_there(g, &l->link))
        add_fragment(g, &l->link, l->fragment_at);
}

static int parts_by_place(const void *a, const void *b)
{
    const struct swap_part *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static bool write_parts(struct gathering_parts *g, struct err *e)
{
    scoped_buf struct buf out = buf_of(NOTE_SIZE_MAX);
    char path[PATH_MAX];
    bool canvas = name_is_canvas(g->path);
    size_t from = 0;
    qsort(g->all, g->count, sizeof *g->all, parts_by_place);
    for (size_t i = 0; i < g->count; i++) {
        const struct swap_part *p = &g->all[i];
        buf_put(&out, g->bytes.at + from, p->at - from);
        if (canvas)
            canvas_put(&out, p->fresh);
        else
            buf_str(&out, p->fresh);
        from = p->at + p->length;
    }
    buf_put(&out, g->bytes.at + from, g->bytes.n - from);
    (void)snprintf(path, sizeof path, "%.*s", STR_ARGS(g->path));
    return buf_check(&out, "a note with rewritten links", e) &&
           change_replace(g->r->c, path, buf_view(&out), e);
}

/* `own`: the heading's part of the note itself, or NULL. */
static bool rehead_source(struct rehead *r, const char *path, const struct swap_part *own,
                          struct err *e)
{
    struct note n;
    bool found;
    if (!change_read(r->c, path, &n, &found, e) || !found)
        return e->code == ERR_NONE;
    struct gathering_parts g = {.r = r, .path = n.path, .bytes = n.bytes, .e = e};
    bool ok = true;
    if (name_is_canvas(n.path)) {
        ok = canvas_links(n.bytes, r->arena, gather_canvas_link, &g, e);
    } else {
        ok = frontlinks_read(&n.front, r->arena, gather_front_link, &g, e);
        markdown_targets(n.front.body, gather_text_link, &g);
        if (own)
            markdown_local_links(n.front.body, gather_text_link, &g);
    }
    r->notes += g.count > 0;
    if (own)
        add_part(&g, own->at, own->length, own->fresh);
    ok = ok && !e->code && (!g.count || write_parts(&g, e));
    if (ok && g.count && !own) {
        char summary[400];
        (void)snprintf(summary, sizeof summary, "links to %.300s", r->note.path.at);
        change_say(r->c, path, "links", summary);
    }
    free(g.all);
    return ok;
}

static bool rehead_sources(struct rehead *r, struct err *e)
{
    scoped(query_end) struct query *q = db_query(
        r->db,
        "SELECT coalesce(s.path, v.path) FROM (SELECT DISTINCT l.source AS source"
        " FROM names m JOIN links l ON l.name = m.key WHERE m.note = ?1"
        " AND l.fragment IS NOT NULL) x LEFT JOIN notes s ON s.key = x.source"
        " LEFT JOIN canvases v ON v.key = -x.source ORDER BY 1",
        e);
    if (!q)
        return false;
    query_bind_int(q, 1, r->key);
    while (query_next(q, e)) {
        char path[PATH_MAX];
        (void)snprintf(path, sizeof path, "%.*s", STR_ARGS(query_str(q, 0)));
        if (str_is(r->note.path, path))
            continue;
        if (!vault_goes_on(r->v, e) || !rehead_source(r, path, NULL, e))
            return false;
    }
    return e->code == ERR_NONE;
}

/* ---- the heading --------------------------------------------------------------- */

static bool find_heading(struct rehead *r, struct heading *out, struct err *e)
{
    size_t count, seen = 0;
    const struct heading *all = blocks_headings(r->note.front.body, r->arena, &count, e);
    if (!all)
        return false;
    for (size_t i = 0; i < count; i++)
        if (str_eq(all[i].text, r->o->heading)) {
            seen++;
            if (!r->o->occurrence || (int64_t)seen == r->o->occurrence)
                *out = all[i];
        }
    if (!r->o->occurrence && seen > 1)
        return err_set(e, ERR_CONFLICT,
                       "%zu headings are called \"%.*s\"; occurrence says which", seen,
                       STR_ARGS(str_cut(r->o->heading, 80)));
    return out->text.n || err_set(e, ERR_NOT_FOUND, "there is no heading \"%.*s\"",
                                  STR_ARGS(str_cut(r->o->heading, 80)));
}

/* Every heading must be read back as it was, but for this one. */
static bool check_reheaded(struct rehead *r, size_t line, struct err *e)
{
    struct note now;
    bool found;
    size_t before, after;
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%.*s", STR_ARGS(r->note.path));
    if (!change_read(r->c, path, &now, &found, e))
        return false;
    const struct heading *old = blocks_headings(r->note.front.body, r->arena, &before, e);
    const struct heading *all = blocks_headings(now.front.body, r->arena, &after, e);
    bool same = old && all && before == after;
    for (size_t i = 0; same && i < before; i++)
        same = old[i].level == all[i].level &&
               str_eq(all[i].text, old[i].line == line ? r->o->fresh : old[i].text);
    return same || e->code ||
           err_set(e, ERR_INVALID,
                   "new_heading \"%.*s\" would not be read back unchanged; nothing was "
                   "written",
                   STR_ARGS(str_cut(r->o->fresh, 80)));
}

static bool rehead_work(struct db *db, void *arg, struct err *e)
{
    struct rehead *r = arg;
    struct heading h = {0};
    struct err gone = {0};
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%.*s", STR_ARGS(r->note.path));
    r->db = db;
    r->notes = r->links = 0;
    if (!find_key(db, path, &r->key, &gone))
        r->key = 0;
    if (!make_fragments(r, e) || !find_heading(r, &h, e))
        return false;
    r->old = h.text;
    const struct swap_part own = {(size_t)(h.text.at - r->note.bytes.at), h.text.n,
                                  r->o->fresh};
    linker_init(&r->linker, db);
    bool ok = rehead_sources(r, e) && rehead_source(r, path, &own, e);
    linker_done(&r->linker);
    return ok && check_reheaded(r, h.line, e);
}

/* ---- the call -------------------------------------------------------------------- */

static bool read_reheading(const struct json *o, void *state, struct err *e)
{
    struct reheading *r = state;
    if (!options_check(o, "notes.renameHeading", NOTES_RENAME_HEADING_KEYS, e) ||
        !options_identifier(o, &r->identifier, e) ||
        !options_str(o, "heading", NULL, &r->heading, e) ||
        !options_str(o, "new_heading", NULL, &r->fresh, e) ||
        !options_int(o, "occurrence", 0, 0, 1000000, &r->occurrence, e) ||
        !write_read_guard(o, &r->guard, e))
        return false;
    r->heading = str_trim(r->heading);
    r->fresh = str_trim(r->fresh);
    for (size_t i = 0; i < r->fresh.n; i++)
        if ((unsigned char)r->fresh.at[i] < ' ')
            r->fresh.n = 0;
    return (r->fresh.n && r->fresh.n <= HEADING_TEXT_MAX) ||
           err_set(e, ERR_INVALID,
                   "new_heading must be one line of text of at most %u bytes",
                   HEADING_TEXT_MAX);
}

static bool run_reheading(struct change *c, struct vault *v, void *state,
                          struct json_writer *out, struct err *e)
{
    struct rehead r = {.o = state, .v = v, .c = c};
    char path[PATH_MAX], hash[HASH_SIZE];
    if (!vault_need_note(v, c, r.o->identifier, path, &r.note, e) ||
        !write_check_guard(&r.o->guard, &r.note, e))
        return false;
    r.arena = arena_new(2 * WRITE_PARSE_MAX);
    bool ok = session_use(v, c, rehead_work, &r, e);
    arena_free(r.arena);
    if (!ok)
        return false;
    change_hash(c, path, hash);
    json_open_object(out);
    write_pair_id(v, out, "id", str_of(path));
    json_pair_str(out, "heading", r.o->fresh);
    json_pair_int(out, "links_updated", (int64_t)r.links);
    json_pair_int(out, "notes_with_updated_links", (int64_t)r.notes);
    json_pair_cstr(out, "content_hash", hash);
    json_close(out);
    return true;
}

static const struct operation reheading_operation = {"notes.renameHeading", "update",
                                                     sizeof(struct reheading),
                                                     read_reheading, run_reheading};

bool notes_rename_heading(struct vault *v, const struct json *options,
                          struct json_writer *out, struct err *e)
{
    return write_perform(v, &reheading_operation, options, out, e);
}
