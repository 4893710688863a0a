/* A parent's list of subnotes is read, with what the index knows of it, and written anew. */
#include "notes/family.h"

#include <stdio.h>

#include "notes/index.h"
#include "notes/linkindex.h"
#include "notes/linkname.h"
#include "notes/sight.h"

void family_done(struct family *f)
{
    arena_free(f->arena);
    buf_done(&f->entry);
    buf_done(&f->way);
}
/* ---- what the index knows of it ----------------------------------------- */

/* Marks the entries that count. */
static bool find_items(struct family *f, struct linker *l, struct err *e)
{
    scoped_map struct map met = {0};
    scoped(query_end) struct query *closing =
        db_query(l->db,
                 "SELECT m.note FROM subnotes s JOIN names m ON m.key = s.name"
                 " WHERE s.parent = ? AND s.state = 2 AND m.note IS NOT NULL",
                 e);
    if (!closing || map_add_int(&met, f->parent_key, e) == MAP_NONE)
        return false;
    query_bind_int(closing, 1, f->parent_key);
    while (query_next(closing, e))
        if (map_add_int(&met, query_int(closing, 0), e) == MAP_NONE)
            return false;
    scoped_buf struct buf name = buf_of(PATH_MAX);
    for (size_t i = 0; i < f->count && !e->code; i++) {
        struct item *it = &f->items[i];
        it->note = 0;
        it->counts = false;
        buf_clear(&name);
        if (!subnote_name(it->value, &name) ||
            linker_find(l, buf_view(&name), &it->note, e) == NAME_MISSING || !it->note) {
            it->note = 0;
            continue;
        }
        size_t before = met.count;
        if (map_add_int(&met, it->note, e) == MAP_NONE)
            return false;
        it->counts = met.count > before;
    }
    return e->code == ERR_NONE;
}

/* The child's uid, which stays through renames, if it is the child's alone; or its id. */
static bool family_find_entry(struct family *f, struct linker *l, struct err *e)
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
    scoped_map struct map met = {0};
    scoped(query_end) struct query *q =
        db_query(db,
                 "SELECT s.parent FROM names m JOIN subnotes s ON s.name = m.key"
                 " JOIN notes p ON p.key = s.parent WHERE m.note = ?1 AND s.state = 1"
                 " ORDER BY p.path",
                 e);
    scoped(free) uint32_t *below = NULL; /* the number of the note that led here */
    size_t room = 0;
    buf_clear(&f->way);
    if (!q || map_add_int(&met, f->parent_key, e) == MAP_NONE)
        return false;
    for (size_t i = 0; i < met.count && met.ints[i] != f->child_key; i++) {
        query_again(q);
        query_bind_int(q, 1, met.ints[i]);
        while (query_next(q, e)) {
            size_t before = met.count, at = map_add_int(&met, query_int(q, 0), e);
            if (at == MAP_NONE)
                return false;
            if (!array_fit(below, room, at, e))
                return false;
            if (met.count > before)
                below[at] = (uint32_t)i;
        }
        if (e->code)
            return false;
    }
    size_t at = map_find_int(&met, f->child_key);
    if (at == MAP_NONE)
        return true;
    scoped_graph struct graph g = {.db = db};
    for (size_t n = 0;; at = below[at]) {
        struct json_writer w = json_writer(&f->way);
        buf_cstr(&f->way, n++ ? " > " : "");
        if (!graph_put_id(&g, met.ints[at], &w, e))
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
        ok = find_key(db, f->child_path, &f->child_key, e) &&
             family_find_entry(f, &l, e) && find_way(f, db, e);
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

bool family_read(struct family *f, struct change *c, struct vault *v, struct str parent,
                 struct str child, bool lenient, struct err *e)
{
    *f = (struct family){.v = v, .child_name = child, .arena = arena_new(ARENA_FILE)};
    buf_init(&f->entry, PATH_MAX + 8);
    buf_init(&f->way, BUF_LIST);
    if (!vault_need_note(v, c, parent, f->parent_path, &f->parent, e))
        return false;
    struct err why = {0};
    if (child.n && !vault_need(v, c, child, f->child_path, &why)) {
        if (!lenient || why.code != ERR_NOT_FOUND)
            return err_pass(e, &why);
        f->child_path[0] = '\0';
    }
    return read_items(f, e) && index_use(v, family_work, f, e);
}

/* ---- writing it --------------------------------------------------------- */

bool family_is_child(const struct family *f, const struct item *it)
{
    if (f->child_path[0])
        return it->note == f->child_key && it->note;
    scoped_buf struct buf name = buf_of(PATH_MAX);
    return !it->note && subnote_name(it->value, &name) &&
           str_eq(buf_view(&name), f->child_name);
}

/* Hands the new list, one JSON text, to what changes metadata. */
static bool write_list(struct family *f, struct change *c, struct str list,
                       const char *summary, struct err *e)
{
    scoped_buf struct buf options, ignored;
    buf_init(&options, BUF_ANSWER);
    buf_init(&ignored, BUF_LIST);
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

void rewrite_init(struct rewrite *r, struct family *f, const char *operation,
                  const char *summary)
{
    *r = (struct rewrite){.family = f, .operation = operation, .summary = summary};
    buf_init(&r->list, BUF_FILE);
    r->w = json_writer(&r->list);
    json_open_array(&r->w);
}

void rewrite_add(struct rewrite *r, const struct json *value)
{
    json_put(&r->w, value);
    r->count++;
}

static bool rewrite_is_same(struct rewrite *r, struct err *e)
{
    const struct json *now = json_get(r->family->parent.front.yml.all, SUBNOTES_KEY);
    const struct json *new = json_read(buf_view(&r->list), r->family->arena, e);
    return new && (json_equal(now, new) || (!now && !r->count));
}

bool rewrite_end(struct rewrite *r, struct change *c, struct json_writer *out,
                 struct err *e)
{
    struct family *f = r->family;
    json_close(&r->w);
    bool fits = buf_check(&r->list, "the list", e), same = fits && rewrite_is_same(r, e);
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
    json_pair_time(out, "timestamp", vault_now(f->v));
    json_pair_bool(out, "hierarchyUpdated", !same);
    json_pair_cstr(out, "content_hash", same ? f->parent.hash : hash);
    if (!sight_hides(f->v, SIGHT_NOTES))
        json_pair_cstr(out, "previous_hash", f->parent.hash);
    json_close(out);
    return true;
}
