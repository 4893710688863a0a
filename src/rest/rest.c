/* Requests over HTTP. */
#include "rest/rest.h"

#define ANSWER_MAX ((size_t)64 << 20) /* bytes */

static struct str field(const struct http_request *rq, const char *name)
{
    struct str s = http_header(rq, name);
    return s.at ? s : STR("");
}

static void put_answer(const struct route_answer *out, struct http_response *rs)
{
    buf_done(&rs->body);
    rs->body = out->body;
    rs->status = out->status;
    rs->type = out->type;
    (void)http_set_header(rs, "Cache-Control", "private, no-cache");
    (void)http_set_header(rs, "X-Content-Type-Options", "nosniff");
    for (unsigned i = 0; i < out->field_count; i++)
        (void)http_set_header(rs, out->fields[i].name, out->fields[i].value);
}

/* It can be told nothing, but its worker can be spared while a person is waited for. */
static bool rest(void *arg, struct err *e)
{
    return http_park(arg, e);
}

static void resume(void *arg)
{
    http_unpark(arg);
}

static const struct client_ways ways = {.rest = rest, .resume = resume};

/* Nothing to do before a worker has it. */
static void work(void *arg, struct http_request *rq, void *none, struct http_response *rs)
{
    (void)none;
    char name[CALLER_NAME];
    const struct grant *grant = http_admitted(rq);
    caller_http_name(name, grant, http_peer(rq));
    struct client client = {.ways = &ways, .arg = rq};
    struct caller who = {.name = name,
                         .level = grant ? grant->level : LEVEL_FULL,
                         .grant = grant,
                         .client = &client,
                         .cancel = http_cancel(rq)};
    struct route_request request = {.method = http_method(rq),
                                    .target = http_target(rq),
                                    .type = field(rq, "Content-Type"),
                                    .accept = field(rq, "Accept"),
                                    .if_match = field(rq, "If-Match"),
                                    .if_none_match = field(rq, "If-None-Match"),
                                    .body = http_body(rq)};
    struct route_answer out = {0};
    buf_init(&out.body, ANSWER_MAX);
    (void)workspaces_request(arg, &request, &who, &out);
    put_answer(&out, rs);
}

/* What the server itself refuses for these paths: a problem like all others. */
static void refused(void *arg, const struct http_request *rq, const char *why,
                    struct http_response *rs)
{
    (void)arg;
    static const struct {
        int status;
        enum err_code code;
    } kinds[] = {{401, ERR_DENIED},
                 {403, ERR_DENIED},
                 {413, ERR_LIMIT},
                 {429, ERR_BUSY},
                 {503, ERR_BUSY}};
    enum err_code code = ERR_INVALID;
    for (size_t i = 0; i < LENGTH(kinds); i++)
        if (kinds[i].status == rs->status)
            code = kinds[i].code;
    struct err e = {0};
    (void)err_set(&e, code, "%s", why);
    struct route_answer out = {.body = rs->body};
    workspaces_problem(&out, rs->status, &e, http_target(rq));
    rs->body = out.body;
    rs->type = out.type;
}

void rest_routes(struct workspaces *w, struct http_route routes[static REST_ROUTES])
{
    routes[0] = (struct http_route){.path = "/workspaces/",
                                    .arg = w,
                                    .head = true,
                                    .slashes = true,
                                    .work = work,
                                    .refused = refused};
    routes[1] = routes[0];
    routes[1].path = "/openapi.json";
    routes[2] = routes[0];
    routes[2].path = "/tools/";
}
