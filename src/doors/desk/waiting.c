/* The requests that wait for the person's word: unlike at the terminal, texts come exactly as
 * they are. The page shows control characters itself, and sets apart what is a stranger's. */
#include "approvals/approvals.h"
#include "desk/internal.h"

static void approval_put(const struct json *x, struct json_writer *w)
{
    static const char *const kept[] = {
        "id",      "kind",  "caller", "client",  "question", "asked",    "left_ms",
        "waiting", "vault", "tools",  "choices", "shown",    "arguments"};
    json_open_object(w);
    for (size_t i = 0; i < LENGTH(kept); i++)
        if (json_get(x, kept[i]))
            json_pair(w, kept[i], json_get(x, kept[i]));
    json_close(w);
}

bool tell_approvals(struct desk *d, struct http_request *rq, struct http_response *rs,
                    struct err *e)
{
    (void)rq;
    scoped(arena_free) struct arena *a = arena_new(4 * ARENA_FILE);
    scoped_buf struct buf text = buf_of(BUF_ANSWER);
    if (!approvals_list(d->o.approvals, &text, e))
        return false;
    struct json_iter it = json_iter(json_read(buf_view(&text), a, e));
    struct json_writer w = json_writer(&rs->body);
    json_open_object(&w);
    json_key(&w, "approvals");
    json_open_array(&w);
    while (json_next(&it))
        approval_put(it.value, &w);
    json_close(&w);
    json_close(&w);
    return !e->code && buf_check(&rs->body, "what waits", e);
}
