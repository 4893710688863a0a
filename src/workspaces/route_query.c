/* The routes that look for notes: queries, full text, links, classes. */
#include "workspaces/query.h"
#include "workspaces/route.h"
#include "workspaces/views.h"

#define QUERY_SQL_MAX 10000u /* bytes that notes.searchSQL takes */
#define QUERY_PARAMS_MAX (1u << 20)
#define QUERY_TIMEOUT_MS 5000

/* ---- queries --------------------------------------------------------------- */

static bool put_question(const struct json *body, struct str after, int64_t limit,
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

/* That a page is empty may also mean that the note that it begins behind is gone. */
static bool check_cursor(struct route_call *c, struct str cursor, struct err *e)
{
    scoped_buf struct buf name;
    buf_init(&name, (size_t)64 << 10);
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

static bool read_cursor(const struct route_call *c, struct str *out, struct err *e)
{
    *out = route_text(c, "cursor");
    struct str other = json_str(json_get(c->body, "cursor"));
    if (out->n && other.n && !str_eq(*out, other))
        return err_set(e, ERR_INVALID, "body.cursor and the parameter differ: give one");
    if (!out->n)
        *out = other;
    return true;
}

bool route_query(struct route_call *c, struct err *e)
{
    struct row_fields fields;
    struct str cursor;
    int64_t limit = json_int(json_get(c->body, "limit"), ROUTE_LIMIT);
    scoped_buf struct buf args;
    buf_init(&args, 2 * QUERY_PARAMS_MAX);
    if (!row_read_field_names(json_get(c->body, "fields"), &fields, e) ||
        !read_cursor(c, &cursor, e) || !put_question(c->body, cursor, limit, &args, e))
        return false;
    const struct json *found = route_ask(c, "notes.searchSQL", buf_view(&args), e);
    struct json_iter it = json_iter(json_get(found, "rows"));
    struct json_writer w = route_writer(c);
    const struct json *last = NULL;
    json_open_array(&w);
    while (json_next(&it)) {
        row_put(c, it.value, &fields, &w);
        last = it.value;
    }
    json_close(&w);
    if (!found || (!last && cursor.n && !check_cursor(c, cursor, e)))
        return false;
    return !json_bool(json_get(found, "truncated"), false) ||
           route_next(c, json_str(json_get(last, "id")), e);
}

/* ---- full text ------------------------------------------------------------------ */

bool route_search(struct route_call *c, struct err *e)
{
    int64_t limit;
    struct str q = route_text(c, "q"), class = route_text(c, "class"),
               cursor = route_text(c, "cursor");
    if (!str_trim(q).n)
        return err_set(e, ERR_INVALID, "the parameter q is missing: what to look for");
    scoped_buf struct buf args;
    buf_init(&args, (size_t)64 << 10);
    if (!route_number(c, "limit", 50, 1, 1000, &limit, e))
        return false;
    struct json_writer w = json_writer(&args);
    json_open_object(&w);
    json_pair_str(&w, "query", q);
    if (class.n)
        json_pair_str(&w, "type", class);
    if (cursor.n)
        json_pair_str(&w, "cursor", cursor);
    json_pair_int(&w, "limit", limit);
    json_close(&w);
    const struct json *rows = buf_check(&args, "the search", e)
                                  ? route_ask(c, "notes.search", buf_view(&args), e)
                                  : NULL;
    static const char *const pairs[][2] = {{"id", "id"},
                                           {"title", "title"},
                                           {"class", "type"},
                                           {"excerpt", "excerpt"},
                                           {"score", "score"}};
    struct json_iter it = json_iter(rows);
    const struct json *last = NULL;
    w = route_writer(c);
    json_open_array(&w);
    while (json_next(&it)) {
        json_open_object(&w);
        for (size_t i = 0; i < LENGTH(pairs); i++)
            json_pair(&w, pairs[i][0], json_get(it.value, pairs[i][1]));
        json_close(&w);
        last = it.value;
    }
    json_close(&w);
    if (!rows || (int64_t)json_length(rows) < limit)
        return rows != NULL;
    return route_next(c, json_str(json_get(last, "id")), e);
}

/* ---- links ------------------------------------------------------------------------ */

bool route_links(struct route_call *c, struct err *e)
{
    int64_t limit;
    struct str cursor = route_text(c, "cursor");
    scoped_buf struct buf args;
    buf_init(&args, (size_t)64 << 10);
    if (!route_number(c, "limit", ROUTE_LIMIT_MAX, 1, ROUTE_LIMIT_MAX, &limit, e))
        return false;
    struct json_writer w = json_writer(&args);
    json_open_object(&w);
    json_pair_int(&w, "limit", limit);
    if (cursor.n)
        json_pair_str(&w, "cursor", cursor);
    json_close(&w);
    const struct json *rows = buf_check(&args, "the options", e)
                                  ? route_ask(c, "links.list", buf_view(&args), e)
                                  : NULL;
    w = route_writer(c);
    json_put(&w, rows);
    if (!rows || (int64_t)json_length(rows) < limit)
        return rows != NULL;
    const struct json *last = json_at(rows, json_length(rows) - 1);
    return route_next(c, json_str(json_get(last, "source")), e);
}

/* ---- classes ------------------------------------------------------------------------- */

bool route_classes(struct route_call *c, struct err *e)
{
    return view_classes(c->work, &c->out->body, e);
}

bool route_class(struct route_call *c, struct err *e)
{
    scoped_buf struct buf all;
    buf_init(&all, ROUTE_ANSWER);
    const struct json *rows =
        view_classes(c->work, &all, e) ? json_read(buf_view(&all), c->arena, e) : NULL;
    struct json_iter it = json_iter(rows);
    struct json_writer w = route_writer(c);
    while (json_next(&it))
        if (str_eq(json_str(json_get(it.value, "name")), c->values[1])) {
            json_put(&w, it.value);
            return true;
        }
    return rows ? err_set(e, ERR_NOT_FOUND,
                          "there is no class \"%.*s\"; /classes lists them",
                          STR_ARGS(str_cut(c->values[1], 60)))
                : false;
}
