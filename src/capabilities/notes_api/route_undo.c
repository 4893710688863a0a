/* The routes of what calls have changed, and of the way back. */
#include "notes_api/note_routes.h"

#define LOG_AT_ONCE 100
#define TRASH_AT_ONCE 1000

/* ---- the log --------------------------------------------------------------- */

static void put_undo_filter(const struct route_call *c, struct json_writer *w)
{
    static const char *const texts[] = {"call", "since", "agent"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct str given = route_text(c, texts[i]);
        if (given.n)
            json_pair_str(w, texts[i], given);
    }
    if (str_is(route_text(c, "diff"), "true"))
        json_pair_bool(w, "diff", true);
}

static bool put_log(struct route_call *c, struct route_page *page, const void *arg,
                    struct err *e)
{
    (void)arg;
    scoped_buf struct buf args = buf_of(BUF_TEXT);
    struct json_writer w = json_writer(&args);
    json_open_object(&w);
    put_undo_filter(c, &w);
    json_pair_int(&w, "limit", page->limit);
    if (page->cursor.n)
        json_pair_raw(&w, "cursor", page->cursor);
    json_close(&w);
    return route_put_rows(c, page, "notes.log", &args, "cursor", e);
}

static bool is_number(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] < '0' || s.at[i] > '9')
            return false;
    return s.n < 19;
}

bool route_log(struct route_call *c, struct err *e)
{
    int64_t limit;
    struct str cursor = route_text(c, "cursor");
    const struct route_list list = {put_log, NULL, LOG_AT_ONCE};
    if (!is_number(cursor))
        return err_set(e, ERR_INVALID, "cursor must be the one that Link gave, a number");
    return route_number(c, "limit", 0, 1, LOG_AT_ONCE, &limit, e) &&
           route_list(c, &list, limit, cursor, e);
}

/* ---- undo ------------------------------------------------------------------ */

bool route_undo(struct route_call *c, struct err *e)
{
    scoped_buf struct buf args = buf_of(BUF_TEXT);
    struct json_writer w = json_writer(&args);
    json_put(&w, c->body);
    const struct json *done = buf_check(&args, "the options", e)
                                  ? route_ask(c, "notes.undo", buf_view(&args), e)
                                  : NULL;
    if (!done)
        return false;
    w = route_writer(c);
    json_put(&w, done);
    return true;
}

/* ---- the trash ------------------------------------------------------------- */

static bool put_trash(struct route_call *c, struct route_page *page, const void *arg,
                      struct err *e)
{
    (void)arg;
    scoped_buf struct buf args = buf_of(BUF_TEXT);
    struct json_writer w = json_writer(&args);
    json_open_object(&w);
    json_pair_int(&w, "limit", page->limit);
    if (page->cursor.n)
        json_pair_str(&w, "cursor", page->cursor);
    json_close(&w);
    return route_put_rows(c, page, "notes.listTrash", &args, "backup_path", e);
}

bool route_trash(struct route_call *c, struct err *e)
{
    int64_t limit;
    const struct route_list list = {put_trash, NULL, TRASH_AT_ONCE};
    return route_number(c, "limit", 0, 1, TRASH_AT_ONCE, &limit, e) &&
           route_list(c, &list, limit, route_text(c, "cursor"), e);
}
