/* Changing the hierarchy: the list in a parent's frontmatter, one change at a time.
 *
 * Entries that count for nothing (no such note, twice, a circle) stay where they are:
 * they are a person's. */
#include <stdio.h>

#include "notes/index.h"
#include "notes/keymap.h"
#include "notes/linked.h"
#include "notes/linkindex.h"
#include "notes/linkname.h"
#include "notes/name.h"
#include "notes/sight.h"
#include "notes/write.h"

struct item {
    const struct json *value; /* as it stands in the list */
    int64_t note;             /* 0: none, or none alone */
    bool counts;
};

/* A parent's list, and what an operation wants of it. */
struct family {
    struct vault *v;
    struct arena *arena;
    struct str child_name;                            /* as it was given */
    char parent_path[PATH_MAX], child_path[PATH_MAX]; /* no child: "" */
    struct note parent;
    struct item *items;
    size_t count;
    int64_t parent_key, child_key;
    struct buf entry; /* what a list calls the child */
    struct buf way;   /* from the child down to the parent, or empty */
};

static void family_done(struct family *f)
{
    arena_free(f->arena);
    buf_done(&f->entry);
    buf_done(&f->way);
}
#define scoped_family __attribute__((cleanup(family_done)))

/* ---- what the index knows of it ----------------------------------------- */

/* Marks the entries that count. */
static bool find_items(struct family *f, struct linker *l, struct err *e)
{
    scoped_keymap struct keymap met = {0};
    scoped(query_end) struct query *closing =
        db_query(l->db,
                 "SELECT m.note FROM subnotes s JOIN names m ON m.key = s.name"
                 " WHERE s.parent = ? AND s.state = 2 AND m.note IS NOT NULL",
                 e);
    if (!closing || keymap_add(&met, f->parent_key, e) == KEYMAP_NONE)
        return false;
    query_bind_int(closing, 1, f->parent_key);
    while (query_next(closing, e))
        if (keymap_add(&met, query_int(closing, 0), e) == KEYMAP_NONE)
            return false;
    scoped_buf struct buf name;
    buf_init(&name, PATH_MAX);
    for (size_t i = 0; i < f->count && !e->code; i++) {
        struct item *it = &f->items[i];
        it->note = 0;
        it->counts = false;
        buf_clear(&name);
        if (!subnote_name(it->value, &name) ||
            linker_find(l, buf_view(&name), &it->note, e) != NAME_FOUND) {
            it->note = 0;
            continue;
        }
        size_t before = met.count;
        if (keymap_add(&met, it->note, e) == KEYMAP_NONE)
            return false;
        it->counts = met.count > before;
    }
    return e->code == ERR_NONE;
}

/* The child's uid, which stays through renames, if it is the child's alone; or its id. */
static bool find_entry(struct family *f, struct linker *l, struct err *e)
{
    buf_clear(&f->entry);
    scoped(query_end) struct query *q =
        db_query(l->db, "SELECT n.uid, " FIND_ID " FROM notes n WHERE n.key = ?", e);
    if (!q)
        return false;
    query_bind_int(q, 1, f->child_key);
    if (!query_next(q, e))
        return e->code == ERR_NONE;
    struct str uid = query_str(q, 0);
    int64_t note = 0;
    bool own = uid.n && linker_find(l, uid, &note, e) == NAME_FOUND;
    return buf_str(&f->entry, own && note == f->child_key ? uid : query_str(q, 1)) &&
           !e->code;
}

/* Looks for the child above the parent: whoever is there would be beneath itself. */
static bool find_way(struct family *f, struct db *db, struct err *e)
{
    scoped_keymap struct keymap met = {0};
    scoped(query_end) struct query *q =
        db_query(db,
                 "SELECT s.parent FROM names m JOIN subnotes s ON s.name = m.key"
                 " JOIN notes p ON p.key = s.parent WHERE m.note = ?1 AND s.state = 1"
                 " ORDER BY p.path",
                 e);
    scoped(free) uint32_t *below = NULL; /* the number of the note that led here */
    size_t room = 0;
    buf_clear(&f->way);
    if (!q || keymap_add(&met, f->parent_key, e) == KEYMAP_NONE)
        return false;
    for (size_t i = 0; i < met.count && met.keys[i] != f->child_key; i++) {
        query_again(q);
        query_bind_int(q, 1, met.keys[i]);
        while (query_next(q, e)) {
            size_t before = met.count, at = keymap_add(&met, query_int(q, 0), e);
            if (at == KEYMAP_NONE)
                return false;
            if (at >= room) {
                room = 2 * at + 64;
                uint32_t *grown = reallocarray(below, room, sizeof *grown);
                if (!grown)
                    return err_set(e, ERR_LIMIT, "no memory for %zu notes", room);
                below = grown;
            }
            if (met.count > before)
                below[at] = (uint32_t)i;
        }
        if (e->code)
            return false;
    }
    size_t at = keymap_find(&met, f->child_key);
    if (at == KEYMAP_NONE)
        return true;
    scoped_graph struct graph g = {.db = db};
    for (size_t n = 0;; at = below[at]) {
        struct json_writer w = json_writer(&f->way);
        buf_cstr(&f->way, n++ ? " > " : "");
        if (!graph_put_id(&g, met.keys[at], &w, e))
            return false;
        if (!at)
            return true;
    }
}

static bool family_work(struct db *db, void *arg, struct err *e)
{
    struct family *f = arg;
    struct linker l;
    scoped_transaction struct transaction t = {0};
    if (!db_begin_read(&t, db, e) || !find_key(db, f->parent_path, &f->parent_key, e))
        return false;
    linker_init(&l, db);
    bool ok = find_items(f, &l, e);
    if (ok && f->child_path[0])
        ok = find_key(db, f->child_path, &f->child_key, e) && find_entry(f, &l, e) &&
             find_way(f, db, e);
    linker_done(&l);
    return ok;
}

/* ---- reading it --------------------------------------------------------- */

static bool read_items(struct family *f, struct err *e)
{
    const struct json *list = json_get(f->parent.front.yml.all, SUBNOTES_KEY);
    bool several = json_is(list, JSON_ARRAY);
    if (json_is(list, JSON_OBJECT))
        return err_set(e, ERR_INVALID,
                       "the frontmatter of \"%.200s\" has no list under the key "
                       "\"" SUBNOTES_KEY "\", but a mapping; nothing was changed",
                       f->parent_path);
    size_t n = several ? json_length(list) : list && !json_is(list, JSON_NULL);
    f->items = arena_get(f->arena, (n + 1) * sizeof *f->items, e);
    if (!f->items)
        return false;
    struct json_iter it = json_iter(several ? list : NULL);
    if (!several && n)
        f->items[f->count++].value = list;
    while (json_next(&it))
        f->items[f->count++].value = it.value;
    return true;
}

/* `child` may be empty, and where `lenient` no note (any more). */
static bool family_read(struct family *f, struct change *c, struct vault *v,
                        struct str parent, struct str child, bool lenient, struct err *e)
{
    bool found;
    *f = (struct family){.v = v, .child_name = child, .arena = arena_new(64u << 20)};
    buf_init(&f->entry, PATH_MAX + 8);
    buf_init(&f->way, 1u << 20);
    if (!write_resolve(c, v, parent, f->parent_path, e) ||
        !change_read(c, f->parent_path, &f->parent, &found, e))
        return false;
    if (!found)
        return write_no_such_note(parent, e);
    struct err why = {0};
    if (child.n && !write_resolve(c, v, child, f->child_path, &why)) {
        if (!lenient || why.code != ERR_NOT_FOUND)
            return err_set(e, why.code, "%s", why.msg);
        f->child_path[0] = '\0';
    }
    return read_items(f, e) && index_use(v, family_work, f, e);
}

/* ---- writing it --------------------------------------------------------- */

/* Is it the child that this entry names? One that is no note is known by its name. */
static bool is_child(const struct family *f, const struct item *it)
{
    if (f->child_path[0])
        return it->note == f->child_key && it->note;
    scoped_buf struct buf name;
    buf_init(&name, PATH_MAX);
    return !it->note && subnote_name(it->value, &name) &&
           str_eq(buf_view(&name), f->child_name);
}

/* Hands the new list, one JSON text, to what changes metadata. */
static bool write_list(struct family *f, struct change *c, struct str list,
                       const char *summary, struct err *e)
{
    scoped_buf struct buf options, ignored;
    buf_init(&options, 64u << 20);
    buf_init(&ignored, 1u << 20);
    struct json_writer w = json_writer(&options), out = json_writer(&ignored);
    json_open_object(&w);
    json_pair_cstr(&w, "identifier", f->parent_path);
    json_pair_bool(&w, "force", true);
    json_key(&w, "metadata");
    json_open_object(&w);
    json_pair_raw(&w, SUBNOTES_KEY, list);
    json_close(&w);
    json_close(&w);
    const struct json *o = buf_check(&options, "the list", e)
                               ? json_read(buf_view(&options), f->arena, e)
                               : NULL;
    scoped(free) void *state = mem_new(update_operation.state_size);
    if (!o || !update_operation.read(o, state, e) ||
        !update_operation.run(c, f->v, state, &out, e))
        return false;
    change_say(c, f->parent_path, NULL, summary);
    return true;
}

struct rewrite {
    struct family *family;
    const char *operation, *summary;
    struct buf list; /* the new one */
    struct json_writer w;
    size_t count;
};

static void rewrite_init(struct rewrite *r, struct family *f, const char *operation,
                         const char *summary)
{
    *r = (struct rewrite){.family = f, .operation = operation, .summary = summary};
    buf_init(&r->list, 16u << 20);
    r->w = json_writer(&r->list);
    json_open_array(&r->w);
}

static void rewrite_add(struct rewrite *r, const struct json *value)
{
    json_put(&r->w, value);
    r->count++;
}

static bool is_same(struct rewrite *r, struct err *e)
{
    const struct json *now = json_get(r->family->parent.front.yml.all, SUBNOTES_KEY);
    const struct json *new = json_read(buf_view(&r->list), r->family->arena, e);
    return new && (json_equal(now, new) || (!now && !r->count));
}

/* Writes the list, if it is another, and answers. */
static bool rewrite_end(struct rewrite *r, struct change *c, struct json_writer *out,
                        struct err *e)
{
    struct family *f = r->family;
    json_close(&r->w);
    bool fits = buf_check(&r->list, "the list", e), same = fits && is_same(r, e);
    struct str list = r->count ? buf_view(&r->list) : STR("null");
    bool ok = fits && !e->code && (same || write_list(f, c, list, r->summary, e));
    buf_done(&r->list);
    if (!ok)
        return false;
    char hash[HASH_SIZE];
    change_hash(c, f->parent_path, hash);
    json_open_object(out);
    json_pair_bool(out, "success", true);
    write_pair_id(f->v, out, "parentId", str_of(f->parent_path));
    if (f->child_path[0])
        write_pair_id(f->v, out, "childId", str_of(f->child_path));
    else if (f->child_name.n)
        json_pair_str(out, "childId", f->child_name);
    json_pair_cstr(out, "operation", r->operation);
    write_pair_time(out, "timestamp", vault_now(f->v));
    json_pair_bool(out, "hierarchyUpdated", !same);
    json_pair_cstr(out, "content_hash", same ? f->parent.hash : hash);
    if (!sight_hides(f->v, SIGHT_NOTES))
        json_pair_cstr(out, "previous_hash", f->parent.hash);
    json_close(out);
    return true;
}

/* The calls take the lock only when the index is up to date: the first time that may
 * take long. */
static bool no_work(struct db *db, void *arg, struct err *e)
{
    (void)db, (void)arg, (void)e;
    return true;
}

static bool perform(struct vault *v, const struct operation *op, const struct json *o,
                    struct json_writer *out, struct err *e)
{
    return index_use(v, no_work, NULL, e) && write_perform(v, op, o, out, e);
}

/* ---- add ---------------------------------------------------------------- */

struct placing {
    struct str parent, child;
    int64_t position; /* -1: where it is, or at the end */
    const struct json *order;
};

static bool read_adding(const struct json *o, void *state, struct err *e)
{
    static const char *const keys[] = {"parent_id", "child_id", "position", "dry_run",
                                       NULL};
    struct placing *p = state;
    if (!options_check(o, "hierarchy.addSubnote", keys, e) ||
        !options_str(o, "parent_id", NULL, &p->parent, e) ||
        !options_str(o, "child_id", NULL, &p->child, e))
        return false;
    p->position = -1;
    const struct json *position = json_get(o, "position");
    if (position && !json_is(position, JSON_NULL) &&
        !options_int(o, "position", 0, 0, SUBNOTES_MAX, &p->position, e))
        return false;
    return (p->parent.n && p->child.n) ||
           err_set(e, ERR_INVALID,
                   "hierarchy.addSubnote needs parent_id and child_id, the ids of two "
                   "notes (\"type/name\")");
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
    const struct json *entry = write_json_text(buf_view(&f.entry), f.arena, e);
    if (!entry)
        return false;
    bool there = false;
    for (size_t i = 0; i < f.count; i++)
        there = there || (is_child(&f, &f.items[i]) && f.items[i].counts);
    bool moves = p->position >= 0 || !there, placed = false;
    int64_t before = 0; /* children before it */
    struct rewrite r;
    rewrite_init(&r, &f, "add", "subnote added");
    for (size_t i = 0; i < f.count; i++) {
        if (moves && is_child(&f, &f.items[i]))
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
    return perform(v, &add_operation, options, out, e);
}

/* ---- remove ------------------------------------------------------------- */

static bool read_removing(const struct json *o, void *state, struct err *e)
{
    static const char *const keys[] = {"parent_id", "child_id", "dry_run", NULL};
    struct placing *p = state;
    if (!options_check(o, "hierarchy.removeSubnote", keys, e) ||
        !options_str(o, "parent_id", NULL, &p->parent, e) ||
        !options_str(o, "child_id", NULL, &p->child, e))
        return false;
    return (p->parent.n && p->child.n) ||
           err_set(e, ERR_INVALID,
                   "hierarchy.removeSubnote needs parent_id and child_id, the ids of two "
                   "notes (\"type/name\")");
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
        if (!is_child(&f, &f.items[i]))
            rewrite_add(&r, f.items[i].value);
    if (r.count < f.count)
        return rewrite_end(&r, c, out, e);
    buf_done(&r.list);
    return err_set(e, ERR_NOT_FOUND,
                   "\"%.*s\" is no subnote of \"%.200s\"; nothing was changed",
                   STR_ARGS(str_cut(p->child, 100)), f.parent_path);
}

static const struct operation remove_operation = {"hierarchy.removeSubnote", "update",
                                                  sizeof(struct placing), read_removing,
                                                  run_removing};

bool hierarchy_remove_subnote(struct vault *v, const struct json *options,
                              struct json_writer *out, struct err *e)
{
    return perform(v, &remove_operation, options, out, e);
}

/* ---- reorder ------------------------------------------------------------ */

static bool read_reordering(const struct json *o, void *state, struct err *e)
{
    static const char *const keys[] = {"parent_id", "child_ids", "dry_run", NULL};
    struct placing *p = state;
    if (!options_check(o, "hierarchy.reorder", keys, e) ||
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

/* The entry that counts for the note; KEYMAP_NONE: it is no child. */
static size_t item_of(const struct family *f, int64_t note)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->items[i].counts && f->items[i].note == note)
            return i;
    return KEYMAP_NONE;
}

static void name_one(struct buf *list, struct str id)
{
    buf_printf(list, "%s\"%.*s\"", list->n ? ", " : "", STR_ARGS(id));
}

/* Entries of the list that were not given. */
static void name_missing(const struct order *o, struct buf *missing)
{
    scoped_buf struct buf name;
    buf_init(&name, PATH_MAX);
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

/* What the ids of the wanted order stand for. */
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
        if (!write_resolve(c, f->v, json_str(it.value), path, e) ||
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
        for (size_t k = 0; k < o->count && at != KEYMAP_NONE; k++)
            if (o->items[k] == at)
                at = KEYMAP_NONE;
        if (at == KEYMAP_NONE)
            name_one(&o->extra, json_str(it.value));
        else
            o->items[o->count++] = at;
    }
    scoped_buf struct buf missing;
    buf_init(&missing, 16u << 20);
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
    buf_init(&o.extra, 16u << 20);
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
    return perform(v, &reorder_operation, options, out, e);
}
