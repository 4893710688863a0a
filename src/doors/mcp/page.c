/* Lists in pages. A cursor is the name of the last row and a sum over it and the method
 * that made it: it holds in every process, for as long as there is a place of that name,
 * and what was not made for this list is refused. It grants nothing. */
#include "crypto/crypto.h"
#include "mcp/core.h"

#define SUM 12u /* characters of it that stand in a cursor */
#define CURSOR_MAX (2 * PLACE_MAX)

static void put_cursor(const char *method, struct str place, struct buf *out)
{
    char sum[CRYPTO_SUM_HEX];
    crypto_sum_hex(str_of(method), place, sum);
    scoped_buf struct buf plain = buf_of(PLACE_MAX + SUM);
    buf_put(&plain, sum, SUM);
    buf_str(&plain, place);
    (void)crypto_base64(plain.at, plain.n, out);
}

static bool page_read_cursor(const char *method, struct str cursor, struct buf *place)
{
    struct err ignored = {0};
    char sum[CRYPTO_SUM_HEX];
    if (cursor.n > CURSOR_MAX || !crypto_base64_read(cursor, place, &ignored) ||
        place->n <= SUM)
        return false;
    crypto_sum_hex(str_of(method), (struct str){place->at + SUM, place->n - SUM}, sum);
    if (memcmp(sum, place->at, SUM) != 0)
        return false;
    place->n -= SUM;
    memmove(place->at, place->at + SUM, place->n);
    return str_is_utf8(buf_view(place));
}

bool page_after(const struct json *params, const char *method, struct buf *place,
                struct err *e)
{
    const struct json *cursor = json_get(params, "cursor");
    if (!cursor || json_is(cursor, JSON_NULL))
        return true;
    return (json_is(cursor, JSON_STRING) &&
            page_read_cursor(method, json_str(cursor), place)) ||
           err_set(e, ERR_INVALID,
                   "Invalid params: unknown cursor; %s takes the nextCursor of its last "
                   "page, or none",
                   method);
}

bool page_begin(struct exchange *x, const char *method, struct buf *place)
{
    struct err e = {0};
    return page_after(x->params, method, place, &e) ||
           reply_error(x, RPC_PARAMS, "%s", e.msg);
}

void page_put(struct json_writer *w, const char *method, const char *key, struct str rows,
              struct str next)
{
    json_pair_raw(w, key, rows);
    if (!next.n)
        return;
    scoped_buf struct buf cursor = buf_of(CURSOR_MAX);
    put_cursor(method, next, &cursor);
    json_pair_str(w, "nextCursor", buf_view(&cursor));
}

/* ---- lists that are there at once ------------------------------------------ */

#define ROWS_MAX ((size_t)8 << 20)

void page_answer(struct exchange *x, const char *method, const char *key,
                 enum workspaces_list what)
{
    const struct library *l = &x->m->backend.library;
    scoped_buf struct buf place, rows, next;
    buf_init(&place, CURSOR_MAX);
    buf_init(&rows, ROWS_MAX);
    buf_init(&next, PLACE_MAX);
    if (!page_begin(x, method, &place))
        return;
    struct err e = {0};
    struct caller nobody = {.name = "list"};
    if (l->list && !l->list(l->arg, &nobody, what, buf_view(&place), &rows, &next, &e)) {
        reply_error(x, RPC_PARAMS, "Invalid params: %s", e.msg);
        return;
    }
    struct json_writer w = result_open(x->reply->out, x->id, x->era);
    page_put(&w, method, key, rows.n ? buf_view(&rows) : STR("[]"), buf_view(&next));
    put_cache_hints(&w, x->era, KEEP_FOR_ALL);
    result_close(&w, x->era);
}
