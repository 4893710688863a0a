/* The routes of what notes held before. */
#include <stdio.h>

#include "workspaces/route.h"

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

bool route_history(struct route_call *c, struct err *e)
{
    int64_t limit, cursor;
    scoped_buf struct buf args;
    buf_init(&args, (size_t)64 << 10);
    if (!route_number(c, "limit", 100, 1, 1000, &limit, e) ||
        !route_number(c, "cursor", 0, 1, INT32_MAX, &cursor, e) ||
        !put_object(&args, c->values[1], "limit", limit, "cursor", cursor, NULL, e))
        return false;
    const struct json *rows = route_ask(c, "notes.history", buf_view(&args), e);
    size_t count = json_length(rows);
    struct json_writer w = route_writer(c);
    json_put(&w, rows);
    if (!rows || (int64_t)count < limit)
        return rows != NULL;
    char last[24];
    (void)snprintf(
        last, sizeof last, "%lld",
        (long long)json_int(json_get(json_at(rows, count - 1), "revision"), 0));
    return route_next(c, str_of(last), e);
}

/* The number in the path. */
static bool read_revision(const struct route_call *c, int64_t *out, struct err *e)
{
    struct str s = c->values[2];
    *out = 0;
    for (size_t i = 0; i < s.n && s.n < 10; i++) {
        if (s.at[i] < '0' || s.at[i] > '9') {
            *out = 0;
            break;
        }
        *out = *out * 10 + (s.at[i] - '0');
    }
    return *out > 0 || err_set(e, ERR_NOT_FOUND,
                               "\"%.*s\" is no revision: they are numbers, which the "
                               "history lists",
                               STR_ARGS(str_cut(s, 40)));
}

bool route_revision(struct route_call *c, struct err *e)
{
    int64_t number;
    scoped_buf struct buf args;
    buf_init(&args, (size_t)64 << 10);
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
    scoped_buf struct buf args;
    buf_init(&args, (size_t)64 << 10);
    if (!read_revision(c, &number, e) || !condition_read(c, c->values[1], &d, e) ||
        !put_object(&args, c->values[1], "revision", number, NULL, 0, &d, e))
        return false;
    const struct json *done = route_ask(c, "notes.restore", buf_view(&args), e);
    return done ? answer_note(c, json_str(json_get(done, "id")), e)
                : condition_failed(c, &d, c->values[1], e);
}
