/* Lists, whole or in pages.
 *
 * A client that asks for a list gets all of it, or an error: one that knows nothing of pages
 * must not take the first of them for the whole. A request with a limit gets pages. */
#include "performing/performing.h"
#include "routes/internal.h"

#define ATTEMPTS 3 /* at one list, while notes change */
#define VERSION_MAX 200u

struct whole {
    const struct route_list *list;
    struct str cursor; /* the one that the request has */
    struct buf next, version;
    size_t pages;
};

static bool too_large(const struct route_call *c, struct err *e)
{
    return err_set(e, ERR_LIMIT,
                   "the whole list is larger than %zu MB: give a limit, and continue "
                   "where %s",
                   c->out->body.ceiling >> 20,
                   c->who->within
                       ? "the answer's `next` says: host.call('GET', page.next)"
                       : "the header Link (rel=\"next\") says");
}

/* Puts a page in an arena of its own, so that a long list needs no more memory than its text. */
static bool pages_put(struct route_call *c, const struct route_list *list, int64_t limit,
                      struct str cursor, struct json_writer *w, struct buf *next,
                      struct err *e)
{
    struct arena *outer = c->arena;
    scoped(arena_free) struct arena *inner = arena_new(ROUTE_ARENA);
    struct route_page page = {.limit = limit, .cursor = cursor, .w = w, .next = next};
    buf_clear(next);
    c->arena = inner;
    bool ok = list->put(c, &page, list->arg, e);
    c->arena = outer;
    return ok && buf_check(next, "the place of the next page", e);
}

static bool put_one_page(struct route_call *c, const struct route_list *list,
                         int64_t limit, struct str cursor, struct err *e)
{
    scoped_buf struct buf next = buf_of(ROUTE_FIELD_SIZE);
    struct json_writer w = route_writer(c);
    json_open_array(&w);
    bool ok = pages_put(c, list, limit, cursor, &w, &next, e);
    json_close(&w);
    return ok && (!next.n || route_next(c, buf_view(&next), e));
}

/* Pages of one state of the notes are a list; of several, some notes would be in two of
 * them, and others in none. */
static bool same_version(struct route_call *c, const struct whole *l, bool *same,
                         struct err *e)
{
    scoped_buf struct buf now = buf_of(VERSION_MAX);
    *same = l->pages < 2 || !c->work;
    if (*same)
        return true;
    if (!work_version(c->work, &now, e))
        return false;
    *same = str_eq(buf_view(&now), buf_view(&l->version));
    return true;
}

static bool put_pages(struct route_call *c, struct whole *l, struct err *e)
{
    struct json_writer w = route_writer(c);
    scoped_buf struct buf at = buf_of(ROUTE_FIELD_SIZE);
    buf_str(&at, l->cursor);
    l->pages = 0;
    buf_clear(&l->version);
    if (c->work && !work_version(c->work, &l->version, e))
        return false;
    json_open_array(&w);
    do {
        l->pages++;
        if (!pages_put(c, l->list, l->list->at_once, buf_view(&at), &w, &l->next, e))
            return false;
        if (c->out->body.failed)
            return too_large(c, e);
        buf_clear(&at);
        buf_str(&at, buf_view(&l->next));
    } while (l->next.n);
    json_close(&w);
    return true;
}

static bool pages_put_whole(struct route_call *c, struct whole *l, struct err *e)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        bool same;
        struct err why = {0};
        buf_clear(&c->out->body);
        bool ok = put_pages(c, l, &why);
        if (!same_version(c, l, &same, e))
            return false;
        if (same)
            return ok || err_set(e, why.code, "%s", why.msg);
    }
    return err_set(
        e, ERR_BUSY,
        "notes changed each time the list was read; ask again, or name a limit "
        "and read it page by page");
}

bool route_put_rows(struct route_call *c, struct route_page *page, const char *name,
                    const struct buf *args, const char *key, struct err *e)
{
    const struct json *rows =
        buf_check(args, "the options", e) ? route_ask(c, name, buf_view(args), e) : NULL;
    const struct json *last = NULL;
    struct json_iter it = json_iter(rows);
    while (json_next(&it)) {
        json_put(page->w, it.value);
        last = json_get(it.value, key);
    }
    struct json_writer w = json_writer(page->next);
    if ((int64_t)json_length(rows) >= page->limit && json_is(last, JSON_STRING))
        buf_str(page->next, json_str(last));
    else if ((int64_t)json_length(rows) >= page->limit && last)
        json_put(&w, last);
    return rows != NULL;
}

bool route_list(struct route_call *c, const struct route_list *list, int64_t limit,
                struct str cursor, struct err *e)
{
    if (limit)
        return put_one_page(c, list, limit, cursor, e);
    struct whole l = {.list = list, .cursor = cursor};
    buf_init(&l.next, ROUTE_FIELD_SIZE);
    buf_init(&l.version, VERSION_MAX);
    bool ok = pages_put_whole(c, &l, e);
    buf_done(&l.next);
    buf_done(&l.version);
    return ok;
}
