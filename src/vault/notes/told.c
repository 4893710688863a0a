/* The report of a dry run, less what its caller may not read. */
#include "notes/entry.h"
#include "notes/name.h"
#include "notes/sight.h"
#include "notes/write.h"

bool change_name(struct change *c, const char *path, struct err *e)
{
    struct place *p = entry_place(c, path, NULL, e);
    if (p)
        p->named = true;
    return p != NULL;
}

/* New ones are the caller's own. */
static bool entry_is_named(const struct change *c, const struct entry *n)
{
    return !*n->from || c->places[n->from_at].named || c->places[n->to_at].named;
}

void change_looks(struct change *c)
{
    c->looked = true;
}

bool change_looked(const struct change *c)
{
    return c->looked;
}

static const char *entry_kind(const struct entry *n)
{
    if (n->removed)
        return "delete";
    if (!*n->from)
        return "create";
    if (!strcmp(n->from, n->to))
        return "update";
    struct str from = str_of(n->from), to = str_of(n->to);
    size_t folder = from.n - name_file(from).n;
    bool renamed = folder == to.n - name_file(to).n && !memcmp(from.at, to.at, folder);
    return renamed ? "rename" : "move";
}

/* A change with the texts that it borrows. */
struct described {
    struct reviewed_change change;
    struct buf id, diff;
};
static void described_done(struct described *d)
{
    buf_done(&d->id);
    buf_done(&d->diff);
}
#define scoped_described __attribute__((cleanup(described_done)))

static void describe_diff(struct described *d, struct str old, struct str now)
{
    d->change.diff_cut = !diff_put(old, now, CHANGE_DIFF_MAX, &d->diff);
    d->change.diff = buf_view(&d->diff);
}

static void entry_describe(const struct change *c, const struct entry *n,
                           struct described *d)
{
    struct reviewed_change *one = &d->change;
    *d = (struct described){.id = buf_of(PATH_MAX + 8),
                            .diff = buf_of(CHANGE_DIFF_MAX + 4096)};
    one->action = entry_kind(n);
    one->path = str_of(*n->from ? n->from : n->to);
    vault_put_id(c->v, one->path, &d->id);
    one->id = buf_view(&d->id);
    if (*n->from && !n->removed && strcmp(n->from, n->to) != 0)
        one->new_path = str_of(n->to);
    if (sight_hides(c->v, SIGHT_NOTES))
        return;
    if (!n->opaque)
        describe_diff(d, n->old, n->removed ? STR("") : n->now);
}

static void entry_put(const struct change *c, const struct entry *n,
                      struct json_writer *w)
{
    scoped_described struct described d;
    entry_describe(c, n, &d);
    json_open_object(w);
    json_pair_str(w, "id", d.change.id);
    json_pair_str(w, "path", d.change.path);
    json_pair_cstr(w, "action", d.change.action);
    if (d.change.new_path.n)
        json_pair_str(w, "new_path", d.change.new_path);
    json_pair_str(w, "diff", d.change.diff);
    if (d.change.diff_cut)
        json_pair_bool(w, "diff_truncated", true);
    json_close(w);
}

/* ---- for a person ----------------------------------------------------------- */

#define REVIEW_MAX 100u /* notes that are told of; the rest is counted */

/* Identifies the note, whatever it will be called. */
static void entry_identify(const struct vault *v, const struct entry *n, struct arena *a,
                           struct reviewed_change *one)
{
    struct note note;
    struct err none = {0};
    if (*n->from)
        one->content_hash = str_of(n->old_hash);
    if (n->opaque ||
        !note_parse(v, one->path, *n->from ? n->old : n->now, &n->st, a, &note, &none))
        return;
    one->title = note.title;
    one->uid = note.uid;
}

static void tell_entry(const struct change *c, const struct entry *n,
                       const struct vault_review *r)
{
    scoped_described struct described d;
    scoped(arena_free) struct arena *a = arena_new(WRITE_PARSE_MAX);
    entry_describe(c, n, &d);
    if (!sight_hides(c->v, SIGHT_NOTES))
        entry_identify(c->v, n, a, &d.change);
    r->tell(r->arg, &d.change);
}

static void tell_file(const struct change *c, const struct change_file *f,
                      const struct vault_review *r)
{
    scoped_described struct described d = {.diff = buf_of(CHANGE_DIFF_MAX + 4096)};
    d.change.path = str_of(f->path);
    d.change.action = !f->now.at ? "delete" : f->there ? "update" : "create";
    if (!sight_hides(c->v, SIGHT_TYPES))
        describe_diff(&d, f->old, f->now);
    r->tell(r->arg, &d.change);
}

/* Tells the named entries, or those that follow; returns how many are left out. */
static size_t tell_some(const struct change *c, bool about, size_t *told,
                        const struct vault_review *r)
{
    bool hidden = sight_hides(c->v, SIGHT_NOTES);
    size_t others = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct entry *n = c->entries[i];
        if (about != (entry_is_named(c, n) || n->removed || strcmp(n->from, n->to) != 0))
            continue;
        if (*told == REVIEW_MAX || (hidden && !entry_is_named(c, n))) {
            others++;
            continue;
        }
        ++*told;
        tell_entry(c, n, r);
    }
    return others;
}

void change_tell_review(const struct change *c, const struct change_file *file,
                        const struct vault_review *r)
{
    size_t told = 0;
    r->tell(r->arg, NULL);
    if (file && (file->there || file->now.at))
        tell_file(c, file, r);
    size_t others = tell_some(c, true, &told, r);
    others += tell_some(c, false, &told, r);
    if (others)
        r->tell(r->arg, &(struct reviewed_change){.others = others});
}

/* ---- for whoever runs the call ---------------------------------------------- */

static enum effect_deed entry_deed(const struct entry *n)
{
    if (n->removed)
        return EFFECT_REMOVED;
    if (!name_is_file(str_of(n->from))) /* or it was in the trash */
        return EFFECT_MADE;
    if (strcmp(n->from, n->to) != 0)
        return EFFECT_MOVED;
    return strcmp(n->old_hash, n->new_hash) != 0 ? EFFECT_CHANGED : EFFECT_READ;
}

static void entry_tell(struct change *c, struct entry *n, int64_t revision)
{
    scoped_buf struct buf id, list;
    buf_init(&id, PATH_MAX + 8);
    buf_init(&list, BUF_LIST);
    struct err full = {0};
    struct effect e = {.what = "note", .deed = entry_deed(n), .dry = c->options.dry_run};
    e.path = str_of(n->removed ? n->from : n->to);
    if (name_is_file(e.path) && !name_is_path(e.path))
        e.what = "file";
    vault_put_id(c->v, e.path, &id);
    e.id = buf_view(&id);
    e.known = n->answered;
    e.before = str_of(sight_hides(c->v, SIGHT_NOTES) ? "" : n->old_hash);
    e.after = str_of(n->removed ? "" : n->new_hash);
    e.revision = revision;
    bool kept = c->v->view.outcome->arena && !e.dry;
    const struct note *made =
        kept && e.deed == EFFECT_MADE && c->count == 1 ? entry_parse(c, n, &full) : NULL;
    if (made && note_put_subnotes(made, &list))
        e.list = buf_view(&list);
    outcome_add(c->v->view.outcome, &e);
}

void change_tell(struct change *c, int64_t revision)
{
    if (!c->v->view.outcome)
        return;
    for (size_t i = 0; i < c->count; i++)
        entry_tell(c, c->entries[i], revision);
    for (struct entry *n = c->answered; n; n = n->next_answered)
        if (entry_deed(n) == EFFECT_READ)
            entry_tell(c, n, revision);
}

/* ---- for who makes it ------------------------------------------------------- */

void change_put(struct change *c, struct json_writer *w)
{
    (void)change_sort(c);
    size_t others = 0;
    json_key(w, "changes");
    json_open_array(w);
    for (size_t i = 0; i < c->count; i++) {
        if (sight_hides(c->v, SIGHT_NOTES) && !entry_is_named(c, c->entries[i]))
            others++;
        else
            entry_put(c, c->entries[i], w);
    }
    json_close(w);
    if (!sight_hides(c->v, SIGHT_NOTES))
        return;
    sight_put_hidden(SIGHT_NOTES, w);
    json_pair_int(w, "others", (int64_t)others);
}
