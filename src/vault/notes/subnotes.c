/* Changing the hierarchy: the list in a parent's frontmatter, one change at a time.
 *
 * Entries that count for nothing (no such note, twice, a circle) stay where they are:
 * they are a person's. */
#include "notes/family.h"
#include "notes/index.h"
#include "notes/linkindex.h"
#include "notes/linkname.h"
#include "notes/notes.api.h"

/* The index is brought up to date before the lock is taken: it may take long, the first time. */
static bool subnotes_perform(struct vault *v, const struct operation *op,
                             const struct json *o, struct json_writer *out, struct err *e)
{
    return index_use(v, NULL, NULL, e) && write_perform(v, op, o, out, e);
}

/* ---- add ---------------------------------------------------------------- */

struct placing {
    struct str parent, child;
    int64_t position; /* -1: where it is, or at the end */
    const struct json *order;
};

static bool read_both(const struct json *o, const char *what, struct placing *p,
                      struct err *e)
{
    if (!options_str(o, "parent_id", NULL, &p->parent, e) ||
        !options_str(o, "child_id", NULL, &p->child, e))
        return false;
    return (p->parent.n && p->child.n) ||
           err_set(e, ERR_INVALID,
                   "%s needs parent_id and child_id, the ids of two notes "
                   "(\"type/name\")",
                   what);
}

static bool read_adding(const struct json *o, void *state, struct err *e)
{
    struct placing *p = state;
    p->position = -1;
    const struct json *position = json_get(o, "position");
    return options_check(o, "hierarchy.addSubnote", HIERARCHY_ADD_SUBNOTE_KEYS, e) &&
           (!position || json_is(position, JSON_NULL) ||
            options_int(o, "position", 0, 0, SUBNOTES_MAX, &p->position, e)) &&
           read_both(o, "hierarchy.addSubnote", p, e);
}

static bool check_adding(const struct family *f, struct err *e)
{
    if (f->child_key == f->parent_key)
        return err_set(e, ERR_INVALID,
                       "child_id and parent_id are the same note \"%.200s\"; no note can "
                       "be its own subnote. Nothing was changed",
                       f->parent_path);
    if (f->way.n)
        return err_set(e, ERR_CONFLICT,
                       "this would create a cycle: the parent is already a descendant "
                       "of the child (%.*s). Nothing was changed",
                       STR_ARGS(str_cut(buf_view(&f->way), 250)));
    return f->count < SUBNOTES_MAX ||
           err_set(e, ERR_LIMIT,
                   "\"%.200s\" has %zu entries in its list of subnotes; it may have at "
                   "most %u",
                   f->parent_path, f->count, SUBNOTES_MAX);
}

static bool run_adding(struct change *c, struct vault *v, void *state,
                       struct json_writer *out, struct err *e)
{
    const struct placing *p = state;
    scoped_family struct family f;
    if (!family_read(&f, c, v, p->parent, p->child, false, e) || !check_adding(&f, e))
        return false;
    const struct json *entry = frontmatter_text(buf_view(&f.entry), f.arena, e);
    if (!entry)
        return false;
    bool there = false;
    for (size_t i = 0; i < f.count; i++)
        there = there || (family_is_child(&f, &f.items[i]) && f.items[i].counts);
    bool moves = p->position >= 0 || !there, placed = false;
    int64_t before = 0; /* children before it */
    struct rewrite r;
    rewrite_init(&r, &f, "add", "subnote added");
    for (size_t i = 0; i < f.count; i++) {
        if (moves && family_is_child(&f, &f.items[i]))
            continue;
        if (moves && !placed && f.items[i].counts && before++ == p->position) {
            rewrite_add(&r, entry);
            placed = true;
        }
        rewrite_add(&r, f.items[i].value);
    }
    if (moves && !placed)
        rewrite_add(&r, entry);
    return rewrite_end(&r, c, out, e);
}

static const struct operation add_operation = {
    "hierarchy.addSubnote", "update", sizeof(struct placing), read_adding, run_adding};

bool hierarchy_add_subnote(struct vault *v, const struct json *options,
                           struct json_writer *out, struct err *e)
{
    return subnotes_perform(v, &add_operation, options, out, e);
}

/* ---- remove ------------------------------------------------------------- */

static bool read_removing(const struct json *o, void *state, struct err *e)
{
    return options_check(o, "hierarchy.removeSubnote", HIERARCHY_REMOVE_SUBNOTE_KEYS,
                         e) &&
           read_both(o, "hierarchy.removeSubnote", state, e);
}

static bool run_removing(struct change *c, struct vault *v, void *state,
                         struct json_writer *out, struct err *e)
{
    const struct placing *p = state;
    scoped_family struct family f;
    if (!family_read(&f, c, v, p->parent, p->child, true, e))
        return false;
    struct rewrite r;
    rewrite_init(&r, &f, "remove", "subnote removed");
    for (size_t i = 0; i < f.count; i++)
        if (!family_is_child(&f, &f.items[i]))
            rewrite_add(&r, f.items[i].value);
    if (r.count < f.count)
        return rewrite_end(&r, c, out, e);
    buf_done(&r.list);
    return err_set(e, ERR_NOT_FOUND,
                   "\"%.*s\" is not a subnote of \"%.200s\"; nothing was changed",
                   STR_ARGS(str_cut(p->child, 100)), f.parent_path);
}

static const struct operation remove_operation = {"hierarchy.removeSubnote", "update",
                                                  sizeof(struct placing), read_removing,
                                                  run_removing};

bool hierarchy_remove_subnote(struct vault *v, const struct json *options,
                              struct json_writer *out, struct err *e)
{
    return subnotes_perform(v, &remove_operation, options, out, e);
}

/* ---- reorder ------------------------------------------------------------ */

static bool read_reordering(const struct json *o, void *state, struct err *e)
{
    struct placing *p = state;
    if (!options_check(o, "hierarchy.reorder", HIERARCHY_REORDER_KEYS, e) ||
        !options_str(o, "parent_id", NULL, &p->parent, e))
        return false;
    p->order = json_get(o, "child_ids");
    bool ok = p->parent.n && json_is(p->order, JSON_ARRAY) &&
              json_length(p->order) <= SUBNOTES_MAX;
    struct json_iter it = json_iter(ok ? p->order : NULL);
    while (ok && json_next(&it))
        ok = json_str(it.value).n > 0;
    return ok || err_set(e, ERR_INVALID,
                         "hierarchy.reorder needs parent_id, a note's id, and child_ids, "
                         "an array of at most %u ids of its subnotes",
                         SUBNOTES_MAX);
}

struct order {
    const struct family *family;
    size_t *items; /* which of the family's comes first, second ... */
    size_t count;
    struct buf extra; /* ids that are none of its children, or come twice */
};

/* The entry that counts for the note; MAP_NONE: it is no child. */
static size_t item_of(const struct family *f, int64_t note)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->items[i].counts && f->items[i].note == note)
            return i;
    return MAP_NONE;
}

static void name_one(struct buf *list, struct str id)
{
    buf_printf(list, "%s\"%.*s\"", list->n ? ", " : "", STR_ARGS(id));
}

/* Entries of the list that were not given. */
static void name_missing(const struct order *o, struct buf *missing)
{
    scoped_buf struct buf name = buf_of(PATH_MAX);
    for (size_t i = 0; i < o->family->count; i++) {
        bool given = !o->family->items[i].counts;
        for (size_t k = 0; k < o->count && !given; k++)
            given = o->items[k] == i;
        buf_clear(&name);
        if (!given && subnote_name(o->family->items[i].value, &name))
            name_one(missing, buf_view(&name));
    }
}

struct lookup {
    const char **paths;
    int64_t *notes;
    size_t count;
};

static bool lookup_work(struct db *db, void *arg, struct err *e)
{
    struct lookup *l = arg;
    for (size_t i = 0; i < l->count; i++)
        if (!find_key(db, l->paths[i], &l->notes[i], e))
            return false;
    return true;
}

/* Finds the notes of the wanted order's ids. */
static bool find_notes(struct change *c, struct family *f, const struct json *ids,
                       struct lookup *l, struct err *e)
{
    size_t n = json_length(ids);
    char path[PATH_MAX];
    *l = (struct lookup){arena_get(f->arena, (n + 1) * sizeof *l->paths, e),
                         arena_get(f->arena, (n + 1) * sizeof *l->notes, e), 0};
    if (!l->paths || !l->notes)
        return false;
    struct json_iter it = json_iter(ids);
    while (json_next(&it)) {
        if (!vault_need(f->v, c, json_str(it.value), path, e) ||
            !(l->paths[l->count++] = arena_copy(f->arena, path, strlen(path), e)))
            return false;
    }
    return index_use(f->v, lookup_work, l, e);
}

static bool check_order(struct order *o, const struct json *ids, const struct lookup *l,
                        struct err *e)
{
    struct json_iter it = json_iter(ids);
    for (size_t i = 0; json_next(&it); i++) {
        size_t at = item_of(o->family, l->notes[i]);
        for (size_t k = 0; k < o->count && at != MAP_NONE; k++)
            if (o->items[k] == at)
                at = MAP_NONE;
        if (at == MAP_NONE)
            name_one(&o->extra, json_str(it.value));
        else
            o->items[o->count++] = at;
    }
    scoped_buf struct buf missing = buf_of(BUF_FILE);
    name_missing(o, &missing);
    if (!missing.n && !o->extra.n)
        return true;
    return err_set(e, ERR_INVALID,
                   "child_ids must be exactly the subnotes of \"%.100s\", each once; "
                   "missing: %.*s; not among them: %.*s. Nothing was changed",
                   o->family->parent_path,
                   STR_ARGS(missing.n ? str_cut(buf_view(&missing), 100) : STR("none")),
                   STR_ARGS(o->extra.n ? str_cut(buf_view(&o->extra), 80) : STR("none")));
}

static bool run_reordering(struct change *c, struct vault *v, void *state,
                           struct json_writer *out, struct err *e)
{
    const struct placing *p = state;
    scoped_family struct family f;
    struct lookup l;
    if (!family_read(&f, c, v, p->parent, STR(""), false, e) ||
        !find_notes(c, &f, p->order, &l, e))
        return false;
    struct order o = {&f, arena_get(f.arena, (l.count + 1) * sizeof *o.items, e), 0, {0}};
    buf_init(&o.extra, BUF_FILE);
    bool ok = o.items && check_order(&o, p->order, &l, e);
    buf_done(&o.extra);
    if (!ok)
        return false;
    struct rewrite r;
    rewrite_init(&r, &f, "reorder", "subnotes reordered");
    for (size_t i = 0, next = 0; i < f.count; i++)
        rewrite_add(&r, f.items[f.items[i].counts ? o.items[next++] : i].value);
    return rewrite_end(&r, c, out, e);
}

static const struct operation reorder_operation = {"hierarchy.reorder", "update",
                                                   sizeof(struct placing),
                                                   read_reordering, run_reordering};

bool hierarchy_reorder(struct vault *v, const struct json *options,
                       struct json_writer *out, struct err *e)
{
    return subnotes_perform(v, &reorder_operation, options, out, e);
}
