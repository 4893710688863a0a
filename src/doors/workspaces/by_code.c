/* Requests that code makes: host.call(method, path, body) of run_script. */
#include "workspaces/route.h"

/* The path between the brackets of Link, which names no other relation. */
static void put_next(const struct route_answer *out, struct buf *next)
{
    for (unsigned i = 0; i < out->field_count; i++) {
        if (strcmp(out->fields[i].name, "Link") != 0)
            continue;
        const char *path = out->fields[i].value + 1;
        buf_put(next, path, strcspn(path, ">"));
    }
}

static bool code_answer(void *arg, const struct action_request *asked,
                        struct action_reply *reply, struct err *e)
{
    struct workspaces *w = arg;
    struct route_request rq = {
        .method = asked->method, .target = asked->path, .body = asked->body};
    struct route_answer out = {.body = reply->body};
    (void)workspaces_request(w, &rq, asked->who, &out);
    reply->body = out.body;
    reply->status = out.status;
    reply->is_json = true;
    put_next(&out, &reply->next);
    return buf_check(&reply->next, "the path of the next page", e);
}

void requests_by_code(struct workspaces *w)
{
    actions_on_request(w->actions, code_answer, w);
}
