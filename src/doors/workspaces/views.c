/* The content of a workspace's resources, made of host calls. */
#include "workspaces/views.h"
#include "performing/performing.h"
#include "routes/routes.h"

#define PAGE_MEMORY ((size_t)512 << 20) /* of one page of rows that were read */
#define ROWS_AT_ONCE 10000
#define HISTORY_AT_ONCE 1000

/* ---- one call ----------------------------------------------------------------- */

const struct json *view_call(struct work *work, const char *name,
                             void (*fill)(struct json_writer *w, const void *arg),
                             const void *arg, struct arena *a, struct err *e)
{
    scoped_buf struct buf args, answer;
    buf_init(&args, BUF_LIST);
    buf_init(&answer, (size_t)128 << 20);
    struct json_writer w = json_writer(&args);
    json_open_array(&w);
    if (fill)
        fill(&w, arg);
    json_close(&w);
    return buf_check(&args, "the arguments", e) &&
                   work_call(work, name, buf_view(&args), &answer, e)
               ? json_read(buf_view(&answer), a, e)
               : NULL;
}

void view_fill_name(struct json_writer *w, const void *arg)
{
    json_put_str(w, *(const struct str *)arg);
}

void view_fill_note(struct json_writer *w, const void *arg)
{
    json_open_object(w);
    json_pair_str(w, "identifier", *(const struct str *)arg);
    json_pair_bool(w, "markdown", true);
    json_close(w);
}

/* ---- rows in pages -------------------------------------------------------------- */

/* A call whose answer comes in pages, and what becomes of each row. */
struct pages {
    const char *call;
    void (*options)(struct json_writer *w, const struct pages *p); /* members */
    struct str note;
    int64_t at_once;
    const char *mark; /* the member of the last row that is the next cursor */
    bool mark_is_number;
    struct str cursor;
    void (*put)(const struct json *row, struct json_writer *out);
};

static void fill_options(struct json_writer *w, const void *arg)
{
    const struct pages *p = arg;
    json_open_object(w);
    json_pair_int(w, "limit", p->at_once);
    if (p->cursor.n && p->mark_is_number)
        json_pair_raw(w, "cursor", p->cursor);
    else if (p->cursor.n)
        json_pair_str(w, "cursor", p->cursor);
    if (p->options)
        p->options(w, p);
    json_close(w);
}

/* Remembers where the next page begins; `space` holds it. */
static void take_cursor(struct pages *p, const struct json *row, struct buf *space)
{
    const struct json *mark = json_get(row, p->mark);
    buf_clear(space);
    if (p->mark_is_number)
        buf_printf(space, "%lld", (long long)json_int(mark, 0));
    else
        buf_str(space, json_str(mark));
    p->cursor = buf_view(space);
}

static bool view_put_page(struct work *work, struct pages *p, struct json_writer *out,
                          struct buf *space, bool *more, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(PAGE_MEMORY);
    const struct json *rows = view_call(work, p->call, fill_options, p, a, e);
    if (!rows)
        return false;
    const struct json *last = NULL;
    struct json_iter it = json_iter(rows);
    while (json_next(&it)) {
        p->put(it.value, out);
        last = it.value;
    }
    *more = (int64_t)json_length(rows) >= p->at_once;
    if (last)
        take_cursor(p, last, space);
    return true;
}

static bool views_put_all(struct work *work, struct pages *p, struct buf *text,
                          struct err *e)
{
    scoped_buf struct buf space = buf_of(BUF_PAGE);
    struct json_writer out = json_writer(text);
    json_open_array(&out);
    bool more = true;
    while (more && !text->failed)
        if (!view_put_page(work, p, &out, &space, &more, e))
            return false;
    json_close(&out);
    return !text->failed ||
           err_set(e, ERR_OUTPUT,
                   "this resource is larger than %zu MB; code (evaluate_note_code) "
                   "can select parts of it, with %s",
                   text->ceiling >> 20, p->call);
}

/* ---- notes/list ----------------------------------------------------------------- */

static void list_options(struct json_writer *w, const struct pages *p)
{
    (void)p;
    json_pair_raw(w, "order", STR("\"path\""));
    json_pair_raw(w, "fields",
                  STR("[\"id\",\"title\",\"type\",\"updated\",\"path\",\"properties\"]"));
}

static void put_note_row(const struct json *row, struct json_writer *out)
{
    json_open_object(out);
    json_pair(out, "id", json_get(row, "id"));
    json_pair(out, "title", json_get(row, "title"));
    json_pair(out, "class", json_get(row, "type"));
    json_pair(out, "properties", json_get(row, "properties"));
    if (json_get(row, "properties_cut"))
        json_pair(out, "properties_cut", json_get(row, "properties_cut"));
    json_pair(out, "updated_at", json_get(row, "updated"));
    json_close(out);
}

static bool show_list(struct work *work, const struct view *v, struct buf *text,
                      struct err *e)
{
    (void)v;
    struct pages p = {.call = "notes.list",
                      .options = list_options,
                      .at_once = ROWS_AT_ONCE,
                      .mark = "path",
                      .put = put_note_row};
    return views_put_all(work, &p, text, e);
}

/* ---- links ------------------------------------------------------------------------ */

static void links_options(struct json_writer *w, const struct pages *p)
{
    (void)p;
    json_pair_bool(w, "hierarchy", true);
}

static void put_as_it_is(const struct json *row, struct json_writer *out)
{
    json_put(out, row);
}

static bool show_links(struct work *work, const struct view *v, struct buf *text,
                       struct err *e)
{
    (void)v;
    struct pages p = {.call = "links.list",
                      .options = links_options,
                      .at_once = ROWS_AT_ONCE,
                      .mark = "source",
                      .put = put_as_it_is};
    return views_put_all(work, &p, text, e);
}

/* ---- a note ------------------------------------------------------------------------- */

static void history_options(struct json_writer *w, const struct pages *p)
{
    json_pair_str(w, "identifier", p->note);
}

static void view_put_revision(const struct json *row, struct json_writer *out)
{
    static const char *const keys[] = {"revision",     "updated_at", "author",
                                       "content_hash", "summary",    "size"};
    json_open_object(out);
    for (size_t i = 0; i < LENGTH(keys); i++)
        json_pair(out, keys[i], json_get(row, keys[i]));
    json_close(out);
}

static bool show_history(struct work *work, const struct view *v, struct buf *text,
                         struct err *e)
{
    struct pages p = {.call = "notes.history",
                      .options = history_options,
                      .note = v->note,
                      .at_once = HISTORY_AT_ONCE,
                      .mark = "revision",
                      .mark_is_number = true,
                      .put = view_put_revision};
    return views_put_all(work, &p, text, e);
}

static bool show_note(struct work *work, const struct view *v, struct buf *text,
                      struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(PAGE_MEMORY);
    const struct json *note =
        view_call(work, "notes.get", view_fill_note, &v->note, a, e);
    if (!note)
        return false;
    if (json_is(note, JSON_NULL))
        return err_set(e, ERR_NOT_FOUND, "the workspace %s has no note '%.*s'",
                       work_vault(work), STR_ARGS(str_cut(v->note, 100)));
    buf_str(text, json_str(json_get(note, "markdown")));
    return buf_check(text, "the note", e);
}

/* ---- classes -------------------------------------------------------------------------- */

static bool show_classes(struct work *work, const struct view *v, struct buf *text,
                         struct err *e)
{
    (void)v;
    return routes_show(work, "listClasses", text, e);
}

/* ---- all of them ------------------------------------------------------------------------ */

bool view_show(struct workspaces *w, const struct caller *who, const struct view *v,
               struct buf *text, const char **mime_type, struct err *e)
{
    static bool (*const shows[VIEWS])(struct work *, const struct view *, struct buf *,
                                      struct err *) = {
        [VIEW_LIST] = show_list,       [VIEW_NOTE] = show_note,
        [VIEW_HISTORY] = show_history, [VIEW_CLASSES] = show_classes,
        [VIEW_LINKS] = show_links,
    };
    *mime_type = view_templates[v->kind].mime_type;
    struct work *work = work_begin(w->actions, who, v->workspace, "resources/read", e);
    if (!work)
        return false;
    bool ok = shows[v->kind](work, v, text, e);
    work_end(work, ok ? NULL : e);
    return ok;
}

/* A note that is not there yet may come: it is named as it was asked for. */
static struct str row_id(struct work *work, struct str note, struct arena *a)
{
    struct err ignored = {0};
    const struct json *found =
        view_call(work, "notes.get", view_fill_name, &note, a, &ignored);
    struct str id = json_str(json_get(found, "id"));
    return id.n ? id : note;
}

bool view_follow(struct workspaces *w, const struct caller *who, const struct view *v,
                 struct buf *canonical, struct err *e)
{
    struct work *work =
        work_begin(w->actions, who, v->workspace, "resources/subscribe", e);
    if (!work)
        return false;
    scoped(arena_free) struct arena *a = arena_new(PAGE_MEMORY);
    struct view known = *v;
    if (v->note.n)
        known.note = row_id(work, v->note, a);
    view_put_uri(&known, canonical);
    work_follow(work);
    work_end(work, NULL);
    return buf_check(canonical, "the uri", e);
}

/* ---- listing ------------------------------------------------------------------------------ */

static int rows_by_id(const void *a, const void *b)
{
    return str_cmp(json_str(json_get(*(const struct json *const *)a, "id")),
                   json_str(json_get(*(const struct json *const *)b, "id")));
}

bool workspace_rows(struct workspaces *w, const struct caller *who, struct arena *a,
                    struct workspace_rows *out, struct err *e)
{
    scoped_buf struct buf text = buf_of(BUF_FILE);
    *out = (struct workspace_rows){0};
    if (!actions_vaults(w->actions, who, &text, e))
        return false;
    const struct json *rows = json_read(buf_view(&text), a, e);
    out->all = rows ? arena_get(a, (json_length(rows) + 1) * sizeof *out->all, e) : NULL;
    if (!out->all)
        return false;
    struct json_iter it = json_iter(rows);
    while (json_next(&it))
        out->all[out->count++] = it.value;
    if (out->count)
        qsort(out->all, out->count, sizeof *out->all, rows_by_id);
    return true;
}

/* The workspace's own resources, listed before its notes. */
static const enum view_kind fixed[] = {VIEW_LIST, VIEW_CLASSES, VIEW_LINKS};

struct listing {
    struct json_writer *rows;
    struct buf *next;
    size_t room;
    struct str path; /* behind this one, of the first workspace */
};

static void put_fixed(const struct json *workspace, struct json_writer *out)
{
    struct str id = json_str(json_get(workspace, "id"));
    for (size_t i = 0; i < LENGTH(fixed); i++) {
        const struct resource_shown *shown = &view_templates[fixed[i]];
        scoped_buf struct buf uri, title;
        buf_init(&uri, BUF_PAGE);
        buf_init(&title, BUF_PAGE);
        view_put_uri(&(struct view){.kind = fixed[i], .workspace = id}, &uri);
        buf_printf(&title, "%s: ", shown->title);
        buf_str(&title, json_str(json_get(workspace, "name")));
        json_open_object(out);
        json_pair_str(out, "uri", buf_view(&uri));
        json_pair_str(out, "name",
                      (struct str){uri.at + sizeof VIEW_SCHEME - 1,
                                   uri.n - sizeof VIEW_SCHEME + 1});
        json_pair_str(out, "title", buf_view(&title));
        json_pair_cstr(out, "description", shown->description);
        json_pair_cstr(out, "mimeType", shown->mime_type);
        json_pair_raw(out, "annotations", str_of(shown->annotations));
        json_close(out);
    }
}

static void view_put_note(struct str workspace, const struct json *row,
                          struct json_writer *out)
{
    struct view v = {VIEW_NOTE, workspace, json_str(json_get(row, "id"))};
    scoped_buf struct buf uri = buf_of(BUF_TEXT);
    view_put_uri(&v, &uri);
    json_open_object(out);
    json_pair_str(out, "uri", buf_view(&uri));
    json_pair_str(out, "name", v.note);
    json_pair(out, "title", json_get(row, "title"));
    json_pair_cstr(out, "mimeType", view_templates[VIEW_NOTE].mime_type);
    json_pair(out, "size", json_get(row, "size"));
    json_key(out, "annotations");
    json_open_object(out);
    json_pair(out, "lastModified", json_get(row, "updated"));
    json_close(out);
    json_close(out);
}

static void fill_listing(struct json_writer *w, const void *arg)
{
    const struct listing *l = arg;
    json_open_object(w);
    json_pair_raw(w, "order", STR("\"path\""));
    json_pair_raw(w, "fields", STR("[\"id\",\"title\",\"updated\",\"size\",\"path\"]"));
    if (l->path.n)
        json_pair_str(w, "cursor", l->path);
    json_pair_int(w, "limit", (int64_t)l->room + 1);
    json_close(w);
}

/* Marks the place behind the row, which has more behind it. */
static void listing_mark(struct listing *l, struct str workspace, struct str path)
{
    buf_str(l->next, workspace);
    buf_char(l->next, '\n');
    buf_str(l->next, path);
    l->room = 0;
}

static bool listing_put_notes(struct work *work, struct listing *l, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(PAGE_MEMORY);
    const struct json *rows = view_call(work, "notes.list", fill_listing, l, a, e);
    struct str workspace = str_of(work_vault(work)), last = l->path;
    struct json_iter it = json_iter(rows);
    while (json_next(&it)) {
        if (!l->room) {
            listing_mark(l, workspace, last);
            return true;
        }
        view_put_note(workspace, it.value, l->rows);
        last = json_str(json_get(it.value, "path"));
        l->room--;
    }
    return rows != NULL;
}

static bool listing_put_one(struct workspaces *w, const struct caller *who,
                            const struct json *workspace, struct listing *l,
                            struct err *e)
{
    struct str id = json_str(json_get(workspace, "id"));
    struct work *work = work_begin(w->actions, who, id, "resources/list", e);
    if (!work)
        return false;
    work_follow(work);
    if (!l->path.n && l->room <= LENGTH(fixed)) {
        listing_mark(l, id, STR("")); /* those stand together */
        work_end(work, NULL);
        return true;
    }
    if (!l->path.n) {
        put_fixed(workspace, l->rows);
        l->room -= LENGTH(fixed);
    }
    bool ok = listing_put_notes(work, l, e);
    work_end(work, ok ? NULL : e);
    return ok;
}

bool view_list(struct workspaces *w, const struct caller *who, struct str after,
               size_t room, struct json_writer *rows, struct buf *next, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(PAGE_MEMORY);
    struct workspace_rows all;
    const char *end = memchr(after.at, '\n', after.n);
    if (after.n && !end)
        return err_set(e, ERR_INVALID, "unknown cursor");
    struct str from = {after.at, end ? (size_t)(end - after.at) : 0};
    struct listing l = {.rows = rows, .next = next, .room = room};
    if (!workspace_rows(w, who, a, &all, e))
        return false;
    size_t before = rows->out->n;
    struct err first = {0};
    for (size_t i = 0; i < all.count && !next->n; i++) {
        struct str id = json_str(json_get(all.all[i], "id"));
        int order = str_cmp(id, from);
        if (order < 0)
            continue;
        l.path = order ? (struct str){"", 0}
                       : (struct str){end + 1, (size_t)(after.at + after.n - end) - 1};
        /* A workspace that cannot be read does not hide the others. */
        struct err why = {0};
        if (!listing_put_one(w, who, all.all[i], &l, &why) && !first.code)
            first = why;
    }
    return !first.code || rows->out->n > before ||
           err_set(e, first.code, "%s", first.msg);
}
