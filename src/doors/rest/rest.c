/* Requests over HTTP. */
#include "rest/rest.h"
#include "caller/caller.h"

#define ANSWER_MAX ((size_t)64 << 20) /* bytes */

static struct str field(const struct http_request *rq, const char *name)
{
    struct str s = http_header(rq, name);
    return s.at ? s : STR("");
}

static void put_head(const struct route_answer *out, struct http_response *rs)
{
    rs->status = out->status;
    rs->type = out->type;
    (void)http_set_header(rs, "Cache-Control", "private, no-cache");
    (void)http_set_header(rs, "X-Content-Type-Options", "nosniff");
    for (unsigned i = 0; i < out->field_count; i++)
        (void)http_set_header(rs, out->fields[i].name, out->fields[i].value);
}

static void put_answer(const struct route_answer *out, struct http_response *rs)
{
    buf_done(&rs->body);
    rs->body = out->body;
    put_head(out, rs);
}

/* ---- events ---------------------------------------------------------------- */

/* A request, and the stream that its answer became, if it did. */
struct exchange {
    struct http_request *rq;
    struct http_response *rs;
    struct route_answer out;
    struct http_stream *stream;
    bool refused; /* a stream; the response says so */
};

/* A client that hung up is noticed by the request's cancel. */
static void gone(void *arg)
{
    (void)arg;
}

static bool open_stream(struct exchange *x)
{
    if (x->stream || x->refused)
        return x->stream != NULL;
    if (x->out.events) {
        x->rs->status = 200;
        x->rs->type = "text/event-stream";
        (void)http_set_header(x->rs, "Cache-Control", "no-store");
        (void)http_set_header(x->rs, "X-Accel-Buffering", "no");
    } else {
        put_head(&x->out, x->rs);
    }
    x->stream = http_stream_open(x->rq, x->rs, gone, NULL);
    x->refused = !x->stream;
    return !x->refused;
}

static void put_event(struct exchange *x, const char *event, struct str data)
{
    scoped_buf struct buf text = buf_of(ANSWER_MAX + 100);
    buf_printf(&text, "event: %s\ndata: ", event);
    buf_str(&text, data);
    buf_cstr(&text, "\n\n");
    /* A client that reads too slowly counts as one that hung up. */
    if (!text.failed && open_stream(x) && !http_stream_put(x->stream, buf_view(&text)))
        cancel_fire(http_cancel(x->rq));
}

/* Bytes of an answer that is too large for one body. */
static bool put_bytes(void *arg, struct str bytes)
{
    struct exchange *x = arg;
    return open_stream(x) && http_stream_put(x->stream, bytes) &&
           http_stream_drain(x->stream);
}

static bool hears(void *arg, enum client_level level)
{
    const struct exchange *x = arg;
    return x->out.events && level >= CLIENT_INFO;
}

static void log_event(void *arg, enum client_level level, const char *logger,
                      struct str data)
{
    (void)level;
    put_event(arg, logger, data);
}

/* ---- a request --------------------------------------------------------------- */

/* It can be told nothing more, but its worker can be spared while a person is waited for. */
static bool exchange_rest(void *arg, struct err *e)
{
    const struct exchange *x = arg;
    return http_park(x->rq, e);
}

static void resume(void *arg)
{
    const struct exchange *x = arg;
    http_unpark(x->rq);
}

static const struct client_ways ways = {
    .hears = hears, .log = log_event, .rest = exchange_rest, .resume = resume};

/* A refusal before anything was said is an answer like all others. */
static void exchange_answer(struct exchange *x, bool ok)
{
    if (x->out.events && (x->stream || ok))
        put_event(x, ok ? "result" : "error", buf_view(&x->out.body));
    if (x->stream && !x->out.events && !ok)
        http_stream_break(x->stream);
    if (x->stream || x->refused) {
        http_stream_end(x->stream);
        buf_done(&x->out.body);
    } else {
        put_answer(&x->out, x->rs);
    }
}

/* Nothing to do before a worker has it. */
static void rest_work(void *arg, struct http_request *rq, void *none,
                      struct http_response *rs)
{
    (void)none;
    char name[CALLER_NAME];
    const struct grant *grant = http_admitted(rq);
    caller_http_name(name, grant, http_peer(rq));
    struct client_claim claim;
    client_claim_agent(&claim, field(rq, "User-Agent"));
    struct caller who = {.name = name,
                         .level = grant ? grant->level : LEVEL_FULL,
                         .grant = grant,
                         .claim = &claim,
                         .is_program = true,
                         .cancel = http_cancel(rq)};
    rest_answer(arg, rq, &who, "", rs);
}

void rest_answer(struct actions *a, struct http_request *rq, const struct caller *who,
                 const char *below, struct http_response *rs)
{
    struct exchange x = {.rq = rq, .rs = rs};
    struct client client = {.ways = &ways, .arg = &x};
    struct caller heard = *who;
    struct str target = http_target(rq);
    heard.client = &client;
    if (str_starts(target, below))
        target = (struct str){target.at + strlen(below), target.n - strlen(below)};
    struct route_request request = {.method = http_method(rq),
                                    .target = target,
                                    .type = field(rq, "Content-Type"),
                                    .accept = field(rq, "Accept"),
                                    .if_match = field(rq, "If-Match"),
                                    .if_none_match = field(rq, "If-None-Match"),
                                    .range = field(rq, "Range"),
                                    .if_range = field(rq, "If-Range"),
                                    .body = http_body(rq)};
    buf_init(&x.out.body, ANSWER_MAX);
    x.out.put = put_bytes;
    x.out.carrier = &x;
    exchange_answer(&x, routes_request(a, &request, &heard, &x.out));
}

/* The server's own refusals for these paths are problem documents as well. */
static void rest_refused(void *arg, const struct http_request *rq, const char *why,
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
    routes_problem(&out, rs->status, &e, http_target(rq));
    rs->body = out.body;
    rs->type = out.type;
}

size_t rest_routes(struct actions *a, struct http_route routes[static REST_ROUTES])
{
    const char *roots[ROUTE_ROOTS];
    size_t count = route_roots(roots);
    for (size_t i = 0; i < count; i++)
        routes[i] = (struct http_route){.path = roots[i],
                                        .arg = a,
                                        .head = true,
                                        .slashes = true,
                                        .work = rest_work,
                                        .refused = rest_refused};
    return count;
}

bool rest_begins(struct str part)
{
    const char *roots[ROUTE_ROOTS];
    size_t count = route_roots(roots);
    for (size_t i = 0; i < count; i++) {
        struct str root = str_of(roots[i] + 1);
        root.n -= root.n && root.at[root.n - 1] == '/';
        if (str_eq(part, root))
            return true;
    }
    return false;
}
