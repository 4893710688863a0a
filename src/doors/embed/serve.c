/* Serving: MCP on descriptors, and over HTTP. */
#include "embed/internal.h"
#include "engine/engine.h"
#include "http/http.h"
#include "rest/rest.h"

#define DRAIN_MS 6000u
/* Many, because code may sleep, or wait for a search; beyond the processors they cost a
 * stack each, and no more. */
#define WORKERS 24u

enum cloche_code cloche_serve_mcp(struct cloche *c, int in, int out, int stop,
                                  struct cloche_error *e)
{
    struct err why = {0};
    struct mcp *m = embed_mcp(c, &why);
    struct mcp_stdio_options how = {.in = in,
                                    .out = out,
                                    .has_stop = stop >= 0,
                                    .stop = stop,
                                    .thread_stack = ENGINE_THREAD_STACK,
                                    .drain_ms = DRAIN_MS};
    if (in == 0 && out == 1)
        how.in = how.out = 0; /* which is how mcp names these */
    if (m)
        (void)mcp_serve_stdio(m, &how, &why);
    return told(e, &why);
}

struct cloche_server {
    struct http_server *http;
    struct http_route routes[1 + REST_ROUTES]; /* the server borrows them */
};

static bool open_server(struct cloche_server *s, struct cloche *c, const char *listen,
                        struct err *e)
{
    struct mcp *m = embed_mcp(c, e);
    if (!m)
        return false;
    s->routes[0] = mcp_route(m);
    size_t count = 1 + rest_routes(c->actions, s->routes + 1);
    struct http_options options = {.listen = listen,
                                   .routes = s->routes,
                                   .n_routes = count,
                                   .workers = WORKERS,
                                   .worker_stack = ENGINE_THREAD_STACK};
    s->http = http_open(&options, e);
    if (!s->http)
        return false;
    const char *port = strrchr(http_url(s->http), ':');
    actions_listens(c->actions, (uint16_t)strtoul(port + 1, NULL, 10));
    return true;
}

struct cloche_server *cloche_serve_http(struct cloche *c, const char *listen,
                                        struct cloche_error *e)
{
    struct err why = {0};
    struct cloche_server *s = mem_new(sizeof *s);
    if (open_server(s, c, listen, &why)) {
        (void)told(e, &why);
        return s;
    }
    (void)told(e, &why);
    free(s);
    return NULL;
}

const char *cloche_server_url(const struct cloche_server *s)
{
    return http_url(s->http);
}

void cloche_server_close(struct cloche_server *s)
{
    if (!s)
        return;
    http_close(s->http, DRAIN_MS);
    free(s);
}
