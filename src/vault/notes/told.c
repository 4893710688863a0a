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

static void entry_put_diff(const struct entry *n, struct json_writer *w)
{
    scoped_buf struct buf diff = buf_of(CHANGE_DIFF_MAX + 4096);
    bool whole = n->opaque ||
                 diff_put(n->old, n->removed ? STR("") : n->now, CHANGE_DIFF_MAX, &diff);
    json_pair_str(w, "diff", buf_view(&diff));
    if (!whole)
        json_pair_bool(w, "diff_truncated", true);
}

static void entry_put_members(const struct change *c, const struct entry *n,
                              struct json_writer *w)
{
    struct str path = str_of(*n->from ? n->from : n->to);
    scoped_buf struct buf id = buf_of(PATH_MAX + 8);
    vault_put_id(c->v, path, &id);
    json_pair_str(w, "id", buf_view(&id));
    json_pair_str(w, "path", path);
    json_pair_cstr(w, "action", entry_kind(n));
    if (*n->from && !n->removed && strcmp(n->from, n->to) != 0)
        json_pair_cstr(w, "new_path", n->to);
    if (sight_hides(c->v, SIGHT_NOTES))
        json_pair_cstr(w, "diff", "");
    else
        entry_put_diff(n, w);
}

static void entry_put(const struct change *c, const struct entry *n,
                      struct json_writer *w)
{
    json_open_object(w);
    entry_put_members(c, n, w);
    json_close(w);
}

/* ---- for a person ----------------------------------------------------------- */

#define REVIEW_MAX 100u /* notes that are told of; the rest is counted */

/* Identifies the note, whatever it will be called. */
static void put_identity(const struct entry *n, struct json_writer *w)
{
    scoped(arena_free) struct arena *a = arena_new(WRITE_PARSE_MAX);
    struct str path = str_of(*n->from ? n->from : n->to);
    struct note note;
    struct err none = {0};
    if (*n->from)
        json_pair_cstr(w, "content_hash", n->old_hash);
    if (n->opaque ||
        !note_parse(path, *n->from ? n->old : n->now, &n->st, a, &note, &none))
        return;
    json_pair_str(w, "title", note.title);
    if (note.uid.n)
        json_pair_str(w, "uid", note.uid);
}

static void put_file(const struct change *c, const struct change_file *f,
                     struct json_writer *w)
{
    scoped_buf struct buf diff = buf_of(CHANGE_DIFF_MAX + 4096);
    json_open_object(w);
    json_pair_cstr(w, "path", f->path);
    json_pair_cstr(w, "action", !f->now.at ? "delete" : f->there ? "update" : "create");
    if (!sight_hides(c->v, SIGHT_TYPES)) {
        bool whole = diff_put(f->old, f->now, CHANGE_DIFF_MAX, &diff);
        json_pair_str(w, "diff", buf_view(&diff));
        if (!whole)
            json_pair_bool(w, "diff_truncated", true);
    }
    json_close(w);
}

/* Puts the named entries, or those that follow; returns how many are left out. */
static size_t put_some(const struct change *c, bool about, size_t *told,
                       struct json_writer *w)
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
        json_open_object(w);
        if (!hidden)
            put_identity(n, w);
        entry_put_members(c, n, w);
        json_close(w);
    }
    return others;
}

void change_put_review(const struct change *c, const struct change_file *file,
                       struct json_writer *w)
{
    size_t told = 0;
    json_open_array(w);
    if (file && (file->there || file->now.at))
        put_file(c, file, w);
    size_t others = put_some(c, true, &told, w);
    others += put_some(c, false, &told, w);
    if (others) {
        json_open_object(w);
        json_pair_int(w, "others", (int64_t)others);
        json_close(w);
    }
    json_close(w);
}

/* ---- for whoever runs the call ---------------------------------------------- */

static enum effect_deed deed_of(const struct entry *n)
{
    if (n->removed)
        return EFFECT_REMOVED;
    if (!name_is_path(str_of(n->from))) /* or it was in the trash */
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
    struct effect e = {.what = "note", .deed = deed_of(n), .dry = c->options.dry_run};
    e.path = str_of(n->removed ? n->from : n->to);
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
        if (deed_of(n) == EFFECT_READ)
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
