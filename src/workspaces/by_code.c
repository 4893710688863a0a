/* Requests that code makes: host.call(method, path, body) of run_script. */
#include "workspaces/route.h"

static bool answer(void *arg, const struct action_request *asked,
                   struct action_reply *reply, struct err *e)
{
    (void)e;
    struct workspaces *w = arg;
    struct route_request rq = {
        .method = asked->method, .target = asked->path, .body = asked->body};
    struct route_answer out = {.body = reply->body};
    (void)workspaces_request(w, &rq, asked->who, &out);
    reply->body = out.body;
    reply->status = out.status;
    reply->is_json = true;
    return true;
}

void requests_by_code(struct workspaces *w)
{
    actions_on_request(w->actions, answer, w);
}
