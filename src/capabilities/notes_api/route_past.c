/* The routes of what notes held before. */
#include "notes_api/note_routes.h"

static bool put_object(struct buf *args, struct str note, const char *key, int64_t number,
                       const char *key2, int64_t number2, const struct condition *d,
                       struct err *e)
{
    struct json_writer w = json_writer(args);
    json_open_object(&w);
    json_pair_str(&w, "identifier", note);
    json_pair_int(&w, key, number);
    if (number2)
        json_pair_int(&w, key2, number2);
    if (d)
        condition_put(d, &w);
    json_close(&w);
    return buf_check(args, "the options", e);
}

#define HISTORY_AT_ONCE 1000

static bool read_number(struct str s, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.at[i] < '0' || s.at[i] > '9' || i == 9)
            return false;
        *out = *out * 10 + (s.at[i] - '0');
    }
    return *out > 0;
}

static bool put_history(struct route_call *c, struct route_page *page, const void *arg,
                        struct err *e)
{
    (void)arg;
    int64_t after = 0;
    scoped_buf struct buf args = buf_of(BUF_TEXT);
    if (page->cursor.n && !read_number(page->cursor, &after))
        return err_set(e, ERR_INVALID,
                       "cursor must be the one that Link gave, a revision's number");
    return put_object(&args, c->values[1], "limit", page->limit, "cursor", after, NULL,
                      e) &&
           route_put_rows(c, page, "notes.history", &args, "revision", e);
}

bool route_history(struct route_call *c, struct err *e)
{
    int64_t limit;
    const struct route_list list = {put_history, NULL, HISTORY_AT_ONCE};
    return route_number(c, "limit", 0, 1, HISTORY_AT_ONCE, &limit, e) &&
           route_list(c, &list, limit, route_text(c, "cursor"), e);
}

/* The number in the path. */
static bool read_revision(const struct route_call *c, int64_t *out, struct err *e)
{
    return read_number(c->values[2], out) ||
           err_set(e, ERR_NOT_FOUND,
                   "\"%.*s\" is not a revision: they are numbers, which the history "
                   "lists",
                   STR_ARGS(str_cut(c->values[2], 40)));
}

bool route_revision(struct route_call *c, struct err *e)
{
    int64_t number;
    scoped_buf struct buf args = buf_of(BUF_TEXT);
    if (!read_revision(c, &number, e) ||
        !put_object(&args, c->values[1], "revision", number, NULL, 0, NULL, e))
        return false;
    const struct json *old = route_ask(c, "notes.getRevision", buf_view(&args), e);
    if (!old)
        return false;
    if (c->wants_markdown) {
        c->out->type = "text/markdown; charset=utf-8";
        buf_str(&c->out->body, json_str(json_get(old, "text")));
        return true;
    }
    static const char *const kept[] = {"revision",     "updated_at", "author",
                                       "content_hash", "summary",    "size",
                                       "action",       "path",       "backup_path"};
    struct json_writer w = route_writer(c);
    json_open_object(&w);
    for (size_t i = 0; i < LENGTH(kept); i++)
        if (json_get(old, kept[i]))
            json_pair(&w, kept[i], json_get(old, kept[i]));
    json_pair(&w, "markdown", json_get(old, "text"));
    json_close(&w);
    return true;
}

bool route_restore(struct route_call *c, struct err *e)
{
    int64_t number;
    struct condition d;
    scoped_buf struct buf args = buf_of(BUF_TEXT);
    if (!read_revision(c, &number, e) || !condition_read(c, c->values[1], &d, e) ||
        !put_object(&args, c->values[1], "revision", number, NULL, 0, &d, e))
        return false;
    const struct json *done = route_ask(c, "notes.restore", buf_view(&args), e);
    return done ? answer_note(c, json_str(json_get(done, "id")), e)
                : condition_failed(c, &d);
}
