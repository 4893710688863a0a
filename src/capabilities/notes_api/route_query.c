/* The routes that look for notes: queries, full text, links. */
#include "notes_api/note_routes.h"
#include "notes_api/query.h"

#define QUERY_SQL_MAX 10000u /* bytes that notes.searchSQL takes */
#define QUERY_PARAMS_MAX (1u << 20)
#define QUERY_TIMEOUT_MS 5000

/* ---- queries --------------------------------------------------------------- */

static bool search_put_question(const struct json *body, struct str after, int64_t limit,
                                struct buf *args, struct err *e)
{
    struct query_text q;
    buf_init(&q.sql, QUERY_SQL_MAX);
    buf_init(&q.params, QUERY_PARAMS_MAX);
    bool ok = query_write(json_get(body, "filter"), json_get(body, "sort"), after,
                          limit + 1, &q, e);
    if (ok) {
        struct json_writer w = json_writer(args);
        json_open_object(&w);
        json_pair_str(&w, "query", buf_view(&q.sql));
        json_pair_raw(&w, "params", buf_view(&q.params));
        json_pair_int(&w, "limit", limit);
        json_pair_int(&w, "timeout", QUERY_TIMEOUT_MS);
        json_close(&w);
    }
    buf_done(&q.sql);
    buf_done(&q.params);
    return ok && buf_check(args, "the query", e);
}

/* A page may also be empty because the cursor's note is gone. */
static bool check_cursor(struct route_call *c, struct str cursor, struct err *e)
{
    scoped_buf struct buf name = buf_of(BUF_TEXT);
    struct json_writer w = json_writer(&name);
    json_put_str(&w, cursor);
    const struct json *note = buf_check(&name, "the cursor", e)
                                  ? route_ask(c, "notes.get", buf_view(&name), e)
                                  : NULL;
    return !json_is(note, JSON_NULL) ||
           err_set(
               e, ERR_INVALID,
               "cursor must be the one that Link gave; there is no note \"%.*s\" (any "
               "more), so begin again",
               STR_ARGS(str_cut(cursor, 80)));
}

static bool search_read_cursor(const struct route_call *c, struct str *out, struct err *e)
{
    *out = route_text(c, "cursor");
    struct str other = json_str(json_get(c->body, "cursor"));
    if (out->n && other.n && !str_eq(*out, other))
        return err_set(e, ERR_INVALID, "body.cursor and the parameter differ: give one");
    if (!out->n)
        *out = other;
    return true;
}

/* The list of notes reports a class that no note has; its answer is not needed. */
static void look_for_class(struct route_call *c)
{
    struct err none = {0};
    struct str class = json_str(json_get(json_get(c->body, "filter"), "class"));
    scoped_buf struct buf args = buf_of(BUF_TEXT);
    struct json_writer w = json_writer(&args);
    json_open_object(&w);
    json_pair_str(&w, "typeName", class);
    json_pair_int(&w, "limit", 1);
    json_close(&w);
    if (class.n && !args.failed)
        (void)route_ask(c, "notes.list", buf_view(&args), &none);
}

static bool search_put_found(struct route_call *c, struct route_page *page,
                             const void *arg, struct err *e)
{
    const struct row_fields *fields = arg;
    scoped_buf struct buf args = buf_of(2 * QUERY_PARAMS_MAX);
    if (!search_put_question(c->body, page->cursor, page->limit, &args, e))
        return false;
    const struct json *found = route_ask(c, "notes.searchSQL", buf_view(&args), e);
    struct json_iter it = json_iter(json_get(found, "rows"));
    const struct json *last = NULL;
    while (json_next(&it)) {
        row_put(c, it.value, fields, page->w);
        last = it.value;
    }
    if (!found || (!last && page->cursor.n && !check_cursor(c, page->cursor, e)))
        return false;
    if (!last && !page->cursor.n)
        look_for_class(c);
    if (!json_bool(json_get(found, "truncated"), false))
        return true;
    if (!last)
        return err_set(e, ERR_LIMIT, "a row is larger than a query may answer");
    buf_str(page->next, json_str(json_get(last, "id")));
    return true;
}

bool route_query(struct route_call *c, struct err *e)
{
    struct row_fields fields;
    struct str cursor;
    const struct route_list list = {search_put_found, &fields, ROUTE_LIMIT_MAX};
    return row_read_field_names(json_get(c->body, "fields"), &fields, e) &&
           search_read_cursor(c, &cursor, e) &&
           route_list(c, &list, json_int(json_get(c->body, "limit"), 0), cursor, e);
}

/* ---- full text ------------------------------------------------------------------ */

#define SEARCH_AT_ONCE 1000

static bool put_hits_options(struct route_call *c, const struct route_page *page,
                             struct buf *args, struct err *e)
{
    struct str class = route_text(c, "class");
    struct json_writer w = json_writer(args);
    json_open_object(&w);
    json_pair_str(&w, "query", route_text(c, "q"));
    if (class.n)
        json_pair_str(&w, "type", class);
    if (page->cursor.n)
        json_pair_str(&w, "cursor", page->cursor);
    json_pair_int(&w, "limit", page->limit);
    json_close(&w);
    return buf_check(args, "the search", e);
}

static bool put_hits(struct route_call *c, struct route_page *page, const void *arg,
                     struct err *e)
{
    (void)arg;
    static const char *const pairs[][2] = {{"id", "id"},
                                           {"title", "title"},
                                           {"class", "type"},
                                           {"excerpt", "excerpt"},
                                           {"score", "score"}};
    scoped_buf struct buf args = buf_of(BUF_TEXT);
    if (!put_hits_options(c, page, &args, e))
        return false;
    const struct json *rows = route_ask(c, "notes.search", buf_view(&args), e);
    struct json_iter it = json_iter(rows);
    const struct json *last = NULL;
    while (json_next(&it)) {
        json_open_object(page->w);
        for (size_t i = 0; i < LENGTH(pairs); i++)
            json_pair(page->w, pairs[i][0], json_get(it.value, pairs[i][1]));
        json_close(page->w);
        last = it.value;
    }
    if (rows && (int64_t)json_length(rows) >= page->limit)
        buf_str(page->next, json_str(json_get(last, "id")));
    return rows != NULL;
}

bool route_search(struct route_call *c, struct err *e)
{
    int64_t limit;
    const struct route_list list = {put_hits, NULL, SEARCH_AT_ONCE};
    if (!str_trim(route_text(c, "q")).n)
        return err_set(e, ERR_INVALID, "the parameter q is missing: what to look for");
    return route_number(c, "limit", 0, 1, SEARCH_AT_ONCE, &limit, e) &&
           route_list(c, &list, limit, route_text(c, "cursor"), e);
}

/* ---- links ------------------------------------------------------------------------ */

static bool search_put_links(struct route_call *c, struct route_page *page,
                             const void *arg, struct err *e)
{
    (void)arg;
    scoped_buf struct buf args = buf_of(BUF_TEXT);
    struct json_writer w = json_writer(&args);
    json_open_object(&w);
    json_pair_int(&w, "limit", page->limit);
    json_pair_bool(&w, "hierarchy", true);
    if (page->cursor.n)
        json_pair_str(&w, "cursor", page->cursor);
    json_close(&w);
    return route_put_rows(c, page, "links.list", &args, "source", e);
}

bool route_links(struct route_call *c, struct err *e)
{
    int64_t limit;
    const struct route_list list = {search_put_links, NULL, ROUTE_LIMIT_MAX};
    return route_number(c, "limit", 0, 1, ROUTE_LIMIT_MAX, &limit, e) &&
           route_list(c, &list, limit, route_text(c, "cursor"), e);
}

static bool put_attachments(struct route_call *c, struct route_page *page,
                            const void *arg, struct err *e)
{
    (void)arg;
    scoped_buf struct buf args = buf_of(BUF_TEXT);
    struct json_writer w = json_writer(&args);
    struct str folder = route_text(c, "folder");
    json_open_object(&w);
    json_pair_int(&w, "limit", page->limit);
    json_pair_bool(&w, "orphans", str_is(route_text(c, "orphans"), "true"));
    if (folder.n)
        json_pair_str(&w, "folder", folder);
    if (page->cursor.n)
        json_pair_str(&w, "cursor", page->cursor);
    json_close(&w);
    return route_put_rows(c, page, "attachments.list", &args, "path", e);
}

bool route_attachments(struct route_call *c, struct err *e)
{
    int64_t limit;
    struct str orphans = route_text(c, "orphans");
    if (orphans.n && !str_is(orphans, "true") && !str_is(orphans, "false"))
        return err_set(e, ERR_INVALID, "orphans must be true or false");
    const struct route_list list = {put_attachments, NULL, ROUTE_LIMIT_MAX};
    return route_number(c, "limit", 0, 1, ROUTE_LIMIT_MAX, &limit, e) &&
           route_list(c, &list, limit, route_text(c, "cursor"), e);
}
