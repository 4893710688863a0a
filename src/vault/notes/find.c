/* Many notes: list, the state of the vault, reindex. */
#include <stdio.h>

#include "notes/find.h"
#include "notes/history.h"
#include "notes/name.h"
#include "notes/notes.api.h"

/* Rows are gathered aside, so that a failure half way leaves nothing. */
bool find_use(struct vault *v, index_work *work, void *arg, struct buf *rows,
              struct json_writer *out, struct err *e)
{
    if (!index_use(v, work, arg, e) || !buf_check(rows, "the answer", e))
        return false;
    json_put_raw(out, buf_view(rows));
    return buf_check(out->out, "the answer", e);
}

bool find_key(struct db *db, const char *path, int64_t *key, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(db, "SELECT key FROM notes WHERE path = ?", e);
    if (!q)
        return false;
    query_bind_cstr(q, 1, path);
    if (!query_next(q, e))
        return err_set(e, ERR_NOT_FOUND, "the note \"%.200s\" was removed just now",
                       path);
    *key = query_int(q, 0);
    return true;
}

/* ---- list --------------------------------------------------------------- */

enum field {
    FIELD_ID,
    FIELD_TITLE,
    FIELD_TYPE,
    FIELD_CREATED,
    FIELD_UPDATED,
    FIELD_SIZE,
    FIELD_TAGS,
    FIELD_PATH,
    FIELD_DEFAULTS, /* those before */
    FIELD_UID = FIELD_DEFAULTS,
    FIELD_FILENAME,
    FIELD_HASH,
    FIELD_METADATA,
    FIELD_ALIASES,
    FIELD_PROPERTIES,
    FIELD_COUNT,
};

static const char *const field_names[FIELD_COUNT] = {
    [FIELD_ID] = "id",
    [FIELD_TITLE] = "title",
    [FIELD_TYPE] = "type",
    [FIELD_CREATED] = "created",
    [FIELD_UPDATED] = "updated",
    [FIELD_SIZE] = "size",
    [FIELD_TAGS] = "tags",
    [FIELD_PATH] = "path",
    [FIELD_UID] = "uid",
    [FIELD_FILENAME] = "filename",
    [FIELD_HASH] = "content_hash",
    [FIELD_METADATA] = "metadata",
    [FIELD_ALIASES] = "aliases",
    [FIELD_PROPERTIES] = "properties",
};

struct listing {
    struct vault *v;
    struct str type, cursor, folder;
    bool in_folder, recursive; /* in `folder`; and in those inside of it */
    bool by_path;              /* else the one updated last first */
    int64_t limit;
    bool wanted[FIELD_COUNT];
    struct buf rows;
};

static bool list_read_fields(const struct json *fields, struct listing *l, struct err *e)
{
    for (size_t i = 0; i < FIELD_DEFAULTS; i++)
        l->wanted[i] = true;
    if (!fields || json_is(fields, JSON_NULL))
        return true;
    memset(l->wanted, 0, sizeof l->wanted);
    struct json_iter it = json_iter(fields);
    while (json_is(fields, JSON_ARRAY) && json_next(&it)) {
        size_t i = 0;
        while (i < FIELD_COUNT && !str_is(json_str(it.value), field_names[i]))
            i++;
        if (i == FIELD_COUNT)
            return err_set(e, ERR_INVALID,
                           "fields knows no \"%.*s\"; it takes id, title, "
                           "type, created, updated, size, tags, path, uid, filename, "
                           "content_hash, metadata, aliases, properties",
                           STR_ARGS(str_cut(json_str(it.value), 60)));
        l->wanted[i] = true;
    }
    return json_length(fields) > 0 && json_is(fields, JSON_ARRAY)
               ? true
               : err_set(e, ERR_INVALID,
                         "fields must be an array of field names, such as "
                         "[\"id\", \"title\"]");
}

static bool read_order(const struct json *o, struct listing *l, struct err *e)
{
    struct str order;
    if (!options_str(o, "order", NULL, &order, e))
        return false;
    l->by_path = str_is(order, "path");
    return l->by_path || !order.n || str_is(order, "updated") ||
           err_set(e, ERR_INVALID, "order is \"%.*s\"; it takes updated or path",
                   STR_ARGS(str_cut(order, 40)));
}

static bool read_listing(const struct json *o, struct listing *l, struct err *e)
{
    bool none = !o || json_is(o, JSON_NULL);
    l->type = json_str(o);
    if (json_is(o, JSON_STRING) || none) {
        l->limit = NOTES_LIST_LIMIT_USUAL;
        return list_read_fields(NULL, l, e);
    }
    return options_check(o, "notes.list", NOTES_LIST_KEYS, e) &&
           options_str(o, "typeName", "type", &l->type, e) &&
           options_folder(o, &l->folder, &l->in_folder, e) &&
           options_bool(o, "recursive", &l->recursive, e) &&
           options_str(o, "cursor", NULL, &l->cursor, e) && read_order(o, l, e) &&
           options_int(o, "limit", NOTES_LIST_LIMIT, &l->limit, e) &&
           list_read_fields(json_get(o, "fields"), l, e);
}

static void list_put_row(struct listing *l, struct query *q, struct json_writer *w)
{
    struct str path = query_str(q, 7);
    json_open_object(w);
    for (int i = 0; i < FIELD_COUNT; i++) {
        if (!l->wanted[i])
            continue;
        const char *name = field_names[i];
        switch ((enum field)i) {
        case FIELD_CREATED:
        case FIELD_UPDATED:
            json_pair_time(w, name, query_int(q, i));
            break;
        case FIELD_SIZE:
            json_pair_int(w, name, query_int(q, i));
            break;
        case FIELD_TAGS:
        case FIELD_METADATA:
        case FIELD_ALIASES:
            json_pair_raw(w, name, query_str(q, i));
            break;
        case FIELD_PROPERTIES:
            json_pair_raw(w, name, query_str(q, i));
            if (!str_is(query_str(q, i + 1), "[]"))
                json_pair_raw(w, "properties_cut", query_str(q, i + 1));
            break;
        case FIELD_UID:
            json_key(w, name);
            if (query_is_null(q, i))
                json_put_null(w);
            else
                json_put_str(w, query_str(q, i));
            break;
        case FIELD_FILENAME:
            json_pair_str(w, name, name_file(path));
            break;
        default:
            json_pair_str(w, name, query_str(q, i));
        }
    }
    json_close(w);
}

#define LIST_COLUMNS                                                                \
    "SELECT " FIND_ID " AS public, n.title, n.type, n.created, n.updated,"          \
    " n.size, n.tags, n.path, n.uid, n.stem, n.hash, n.metadata, CASE WHEN ?6 THEN" \
    " (SELECT json_group_array(a.text) FROM aliases a WHERE a.note = n.key) END,"   \
    " n.properties, n.cut FROM notes n"                                             \
    " WHERE (?7 IS NULL OR (substr(n.path, 1, length(?7)) = ?7 AND"                 \
    " (?8 OR instr(substr(n.path, length(?7) + 1), '/') = 0))) "
#define LIST_BY_PATH " ORDER BY n.path LIMIT ?2"
#define LIST_END " ORDER BY n.updated DESC, n.id, n.path LIMIT ?2"
/* The rows behind the one whose date, id and path are ?3, ?4 and ?5. */
#define LIST_AFTER "(n.updated < ?3 OR (n.updated = ?3 AND (n.id, n.path) > (?4, ?5)))"

/* The last row of the page before. */
struct mark {
    int64_t updated;
    char path[PATH_MAX];
    struct buf id;
};

static bool find_mark(struct db *db, struct listing *l, struct mark *m, struct err *e)
{
    scoped(query_end) struct query *q = db_query(
        db,
        "SELECT n.updated, n.id, n.path FROM notes n WHERE (n.id = ?1 AND NOT " FIND_SHADOWED
        ") OR n.path = ?1 ORDER BY n.path <> ?1 LIMIT 1",
        e);
    if (!q)
        return false;
    query_bind_str(q, 1, l->cursor);
    if (!query_next(q, e))
        return err_set(e, ERR_INVALID,
                       "cursor must be the id of the last note of the previous page; "
                       "there is no note \"%.*s\" (any more)",
                       STR_ARGS(str_cut(l->cursor, 80)));
    struct str path = query_str(q, 2);
    m->updated = query_int(q, 0);
    (void)snprintf(m->path, sizeof m->path, "%.*s", STR_ARGS(path));
    return buf_str(&m->id, query_str(q, 1)) || buf_check(&m->id, "an id", e);
}

static bool list_put_rows(struct db *db, struct listing *l, const struct mark *m,
                          struct err *e)
{
    static const char *const queries[2][2] = {
        {LIST_COLUMNS LIST_END, LIST_COLUMNS "AND " LIST_AFTER LIST_END},
        {LIST_COLUMNS "AND n.type = ?1" LIST_END,
         LIST_COLUMNS "AND n.type = ?1 AND " LIST_AFTER LIST_END},
    };
    static const char *const by_path[2] = {
        LIST_COLUMNS "AND n.path > ?5" LIST_BY_PATH,
        LIST_COLUMNS "AND n.type = ?1 AND n.path > ?5" LIST_BY_PATH};
    bool typed = l->type.n > 0, paged = l->cursor.n > 0;
    scoped(query_end) struct query *q =
        db_query(db, l->by_path ? by_path[typed] : queries[typed][paged], e);
    if (!q)
        return false;
    if (typed)
        query_bind_str(q, 1, l->type);
    query_bind_int(q, 2, l->limit);
    scoped_buf struct buf folder = buf_of(PATH_MAX);
    if (l->folder.n)
        buf_printf(&folder, "%.*s/", STR_ARGS(l->folder));
    if (l->in_folder)
        query_bind_str(q, 7, buf_view(&folder));
    query_bind_int(q, 8, l->recursive);
    query_bind_int(q, 6, l->wanted[FIELD_ALIASES]);
    if (l->by_path) {
        query_bind_str(q, 5, l->cursor);
    } else if (paged) {
        query_bind_int(q, 3, m->updated);
        query_bind_str(q, 4, buf_view(&m->id));
        query_bind_cstr(q, 5, m->path);
    }
    struct json_writer w = json_writer(&l->rows);
    json_open_array(&w);
    size_t count = 0;
    for (; query_next(q, e); count++)
        list_put_row(l, q, &w);
    json_close(&w);
    outcome_rows(l->v->view.outcome, count);
    return e->code == ERR_NONE;
}

static bool list_work(struct db *db, void *arg, struct err *e)
{
    struct listing *l = arg;
    buf_clear(&l->rows);
    struct mark m = {0};
    buf_init(&m.id, PATH_MAX + 8);
    /* The mark and the rows must be of one state. */
    scoped_transaction struct transaction t = {0};
    bool ok = db_begin_read(&t, db, e) &&
              (l->by_path || !l->cursor.n || find_mark(db, l, &m, e)) &&
              list_put_rows(db, l, &m, e);
    buf_done(&m.id);
    return ok;
}

bool notes_list(struct vault *v, const struct json *options, struct json_writer *out,
                struct err *e)
{
    struct listing l = {.v = v};
    if (!read_listing(options, &l, e))
        return false;
    buf_init(&l.rows, FIND_ANSWER_MAX);
    bool ok = find_use(v, list_work, &l, &l.rows, out, e);
    buf_done(&l.rows);
    return ok;
}

struct each {
    struct str after;
    size_t limit;
    effect_fn *tell;
    void *arg;
};

static bool each_work(struct db *db, void *arg, struct err *e)
{
    const struct each *all = arg;
    scoped(query_end) struct query *q = db_query(
        db,
        "SELECT " FIND_ID ", n.path, n.hash FROM notes n WHERE n.path > ?1" LIST_BY_PATH,
        e);
    if (!q)
        return false;
    query_bind_str(q, 1, all->after);
    query_bind_int(q, 2, (int64_t)all->limit);
    while (query_next(q, e))
        all->tell(all->arg,
                  &(struct effect){"note", .id = query_str(q, 0), .path = query_str(q, 1),
                                   .after = query_str(q, 2)});
    return e->code == ERR_NONE;
}

bool notes_each(struct vault *v, struct str after, size_t limit, effect_fn *each,
                void *arg, struct err *e)
{
    return index_use(v, each_work, &(struct each){after, limit, each, arg}, e);
}

/* ---- reindex -------------------------------------------------------------- */

bool notes_reindex(struct vault *v, bool from_scratch, struct json_writer *out,
                   struct err *e)
{
    struct index_counts counts = {0};
    uint64_t start = os_mono_ns();
    if (!index_rebuild(v, from_scratch, &counts, e))
        return false;
    json_open_object(out);
    json_pair_int(out, "notes", (int64_t)counts.notes);
    json_pair_int(out, "read", (int64_t)counts.read);
    json_pair_int(out, "removed", (int64_t)counts.removed);
    json_pair_cstr(out, "index", index_place(v->index));
    json_pair_int(out, "milliseconds", (int64_t)((os_mono_ns() - start) / 1000000));
    json_close(out);
    return buf_check(out->out, "the answer", e);
}
