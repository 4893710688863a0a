/* MCP at one path of an HTTP server: a POST a message, one JSON object back, or a stream
 * of events that ends with it (post.c); a GET to listen to what belongs to no call.
 *
 * Messages that are short enough are read on the connection's thread, and all
 * but tool calls are answered there: a ping or a cancellation does not queue
 * behind the calls that it is about.
 * Source: 2025-11-25 basic/transports, 2026-07-28 basic/transports/streamable-http.
 */
#include <stdio.h>

#include "mcp/core.h"
#include "mcp/mcp.h"
#include "mcp/post.h"
#include "os/os.h"

/* Bytes of a body that a connection's thread reads itself: some 50 us. */
#define AT_ONCE_MAX ((size_t)16 * 1024)
#define ALLOWED "POST, GET, DELETE, OPTIONS"

/* ---- media types -------------------------------------------------------- */

/* The part before the next `end`, trimmed; steps behind it. */
static struct str next_part(struct str *rest, char end)
{
    const char *stop = memchr(rest->at, end, rest->n);
    size_t n = stop ? (size_t)(stop - rest->at) : rest->n;
    struct str part = str_trim((struct str){rest->at, n});
    n += stop != NULL;
    rest->at += n;
    rest->n -= n;
    return part;
}

static bool sends_json(const struct http_request *rq)
{
    struct str type = http_header(rq, "Content-Type");
    return type.at && str_same(next_part(&type, ';'), STR("application/json"));
}

static bool request_accepts(const struct http_request *rq, const char *type,
                            const char *family)
{
    struct str accept = http_header(rq, "Accept");
    while (accept.n) {
        struct str range = next_part(&accept, ',');
        struct str given = next_part(&range, ';');
        if (str_same(given, str_of(type)) || str_same(given, str_of(family)) ||
            str_same(given, STR("*/*")))
            return true;
    }
    return false;
}

static bool accepts_events(const struct http_request *rq)
{
    return request_accepts(rq, "text/event-stream", "text/*");
}

/* Clients must accept both forms of an answer; those that name only one of them, or
 * nothing, are served all the same. */
static bool accepts_answer(const struct http_request *rq)
{
    return http_header(rq, "Accept").n == 0 ||
           request_accepts(rq, "application/json", "application/*") || accepts_events(rq);
}

/* ---- messages ----------------------------------------------------------- */

static const char *owner_of(const struct http_request *rq)
{
    const struct grant *g = http_admitted(rq);
    return g ? g->principal : "";
}

/* A session is its opener's alone: to anybody else it is not there. */
static bool has_session(struct mcp *m, const struct http_request *rq, struct session *out)
{
    struct str id = http_header(rq, "Mcp-Session-Id");
    struct session found;
    if (!id.at || !sessions_find(&m->sessions, id, os_mono_ms(), &found) ||
        strcmp(found.owner, owner_of(rq)) != 0)
        return false;
    *out = found;
    return true;
}

static void reply_finish(const struct reply *r, struct http_response *rs)
{
    rs->status = r->status;
    if (rs->body.n || rs->body.failed)
        rs->type = "application/json";
}

static struct str header_values(const void *arg, const char *name, size_t *count)
{
    *count = http_header_count(arg, name);
    return http_header(arg, name);
}

static bool refuse_batch(struct call *c, const struct http_request *rq,
                         struct http_response *rs);

static struct call *take_post(struct mcp *m, struct http_request *rq,
                              struct http_response *rs)
{
    struct session session = {0};
    struct envelope env = {
        .http = true,
        .version = http_header(rq, "MCP-Protocol-Version"),
        .method = http_header(rq, "Mcp-Method"),
        .name = http_header(rq, "Mcp-Name"),
        .repeated = http_header_count(rq, "MCP-Protocol-Version") > 1 ||
                    http_header_count(rq, "Mcp-Method") > 1 ||
                    http_header_count(rq, "Mcp-Name") > 1,
        .header = header_values,
        .header_arg = rq,
        .session = &session,
        .events = accepts_events(rq),
        .owner = owner_of(rq),
        .grant = http_admitted(rq),
    };
    env.lost_session =
        http_header(rq, "Mcp-Session-Id").at && !has_session(m, rq, &session);
    /* In a session, who hangs up may come back for the answer, and cancels in words; who
     * has lost his token does not come back. */
    bool stays = session.there && !str_is(env.version, VERSION_MODERN);
    env.cancel = stays ? http_expelled(rq) : http_cancel(rq);
    struct reply r = {.out = &rs->body};
    struct call *c = take_message(m, http_body(rq), &env, &r);
    if (!c)
        reply_finish(&r, rs);
    if (r.opened) {
        char id[SESSION_TEXT + 1];
        session_text(&session, id);
        http_set_header(rs, "Mcp-Session-Id", id);
    }
    return c && refuse_batch(c, rq, rs) ? NULL : c;
}

/* Each message of a batch is a request; true: its caller has had its share. */
static bool refuse_batch(struct call *c, const struct http_request *rq,
                         struct http_response *rs)
{
    const struct grant *g = http_admitted(rq);
    size_t more = c->batch ? json_length(c->batch) - 1 : 0;
    if (!more || !g || !g->spend || g->spend(g, (unsigned)more))
        return false;
    struct reply r = {.out = &rs->body};
    call_refuse(c, ERR_BUSY,
                "too many requests of this caller within a second; nothing was done, try "
                "again in 1 s",
                &r);
    reply_finish(&r, rs);
    rs->status = 429;
    (void)http_set_header(rs, "Retry-After", "1");
    return true;
}

/* ---- the other methods -------------------------------------------------- */

static void refuse_method(struct http_response *rs)
{
    http_say(rs, 405,
             "POST one JSON-RPC message a request; GET needs the Mcp-Session-Id of a "
             "session that initialize opened");
    http_set_header(rs, "Allow", ALLOWED);
}

/* The older era's methods know its versions alone; false: answered. */
static bool is_of_older_era(const struct http_request *rq, struct http_response *rs)
{
    struct str version = http_header(rq, "MCP-Protocol-Version");
    if (!http_header(rq, "Mcp-Session-Id").at || str_is(version, VERSION_MODERN)) {
        refuse_method(rs);
        return false;
    }
    if (version.at && !legacy_version(version)) {
        http_say(rs, 400,
                 "MCP-Protocol-Version names a version that is not served; "
                 "what initialize agreed on is accepted");
        return false;
    }
    return true;
}

static void name_caller(struct http_request *rq, char out[static CALLER_NAME])
{
    caller_http_name(out, http_admitted(rq), http_peer(rq));
}

static void answer_get(struct mcp *m, struct http_request *rq, struct http_response *rs)
{
    struct session session;
    char who[CALLER_NAME];
    if (!is_of_older_era(rq, rs))
        return;
    if (!has_session(m, rq, &session)) {
        http_refuse(rq, rs, 404, "there is no such session");
    } else if (!accepts_events(rq)) {
        http_refuse(rq, rs, 406,
                    "what GET answers is text/event-stream; Accept must allow that");
    } else {
        name_caller(rq, who);
        channels_listen(&m->channels, &session, who, http_header(rq, "Last-Event-ID"), rq,
                        rs);
    }
}

static void end_session(struct mcp *m, struct http_request *rq, struct http_response *rs)
{
    struct session session;
    if (!is_of_older_era(rq, rs))
        return;
    if (!has_session(m, rq, &session)) {
        http_say(rs, 404, "there is no such session");
    } else {
        sessions_remove(&m->sessions, &session);
        channels_end_session(&m->channels, &session);
        changes_session_over(&m->changes, &session);
        calls_cancel(&m->calls, &session, NULL, true);
        rs->status = 204;
    }
}

static bool exchange_begin(void *arg, struct http_request *rq, struct http_response *rs,
                           void **work)
{
    struct mcp *m = arg;
    struct str method = http_method(rq);
    if (str_is(method, "DELETE")) {
        end_session(m, rq, rs);
    } else if (str_is(method, "GET")) {
        answer_get(m, rq, rs);
    } else if (str_is(method, "OPTIONS")) {
        rs->status = 204;
        http_set_header(rs, "Allow", ALLOWED);
    } else if (!str_is(method, "POST")) {
        refuse_method(rs);
    } else if (!sends_json(rq)) {
        http_say(rs, 415, "the body must be application/json, and Content-Type say so");
    } else if (!accepts_answer(rq)) {
        http_say(rs, 406, "answers are application/json; Accept must allow that");
    } else if (http_body(rq).n > AT_ONCE_MAX) {
        return false;
    } else {
        struct call *c = take_post(m, rq, rs);
        *work = c;
        return c == NULL;
    }
    return true;
}

/* ---- subscriptions ------------------------------------------------------ */

/* A connection on which somebody listens. The listener's: its end frees it. */
struct ear {
    struct changes *changes;
    struct listener *listener;
    struct http_stream *http;
};

static bool ear_say(void *arg, struct str message)
{
    const struct ear *ear = arg;
    scoped_buf struct buf event = buf_of(message.n + 64);
    events_data(&event, message);
    return !event.failed && http_stream_put(ear->http, buf_view(&event));
}

static bool ear_beat(void *arg)
{
    const struct ear *ear = arg;
    return http_stream_put(ear->http, STR(":\n\n"));
}

static void ear_end(void *arg)
{
    struct ear *ear = arg;
    http_stream_end(ear->http);
    free(ear);
}

/* Before the listener has begun this finds none, and what is put later fails. */
static void ear_gone(void *arg)
{
    struct ear *ear = arg;
    changes_gone(ear->changes, &ear->listener);
}

struct opening {
    struct mcp *m;
    struct http_request *rq;
    struct http_response *rs;
};

static void http_attach(void *arg, struct listener *l, struct str first)
{
    const struct opening *o = arg;
    struct ear *ear = mem_new(sizeof *ear);
    ear->changes = &o->m->changes;
    events_head(o->rs);
    events_data(&o->rs->body, first);
    ear->http = http_stream_open(o->rq, o->rs, ear_gone, ear);
    if (!ear->http) {
        listener_drop(l);
        free(ear);
        return;
    }
    struct sink sink = {.say = ear_say, .beat = ear_beat, .end = ear_end, .arg = ear};
    listener_start(l, &sink, &ear->listener);
}

static void begin_listening(struct call *c, struct http_request *rq,
                            struct http_response *rs, const char *who)
{
    struct opening o = {c->m, rq, rs};
    struct reply r = {.out = &rs->body};
    struct front front = {
        .who = who, .grant = http_admitted(rq), .attach = http_attach, .attach_arg = &o};
    call_run(c, &front, &r);
    if (!r.attached)
        reply_finish(&r, rs);
}

/* The scopes that its credential lacks for the call as a whole. The call itself refuses,
 * and records it; over HTTP it is told so that a client can ask for more. */
static unsigned lacking(const struct mcp *m, const struct call *c, const struct grant *g)
{
    bool asks = g && c->action && m->backend.scopes;
    return asks ? m->backend.scopes(m->backend.arg, c->action) & ~g->scopes : 0;
}

static void exchange_work(void *arg, struct http_request *rq, void *left,
                          struct http_response *rs)
{
    struct call *c = left ? left : take_post(arg, rq, rs);
    if (!c)
        return;
    const struct grant *grant = http_admitted(rq);
    unsigned scopes = lacking(arg, c, grant);
    char who[CALLER_NAME];
    name_caller(rq, who);
    if (c->listens) {
        begin_listening(c, rq, rs, who);
        return;
    }
    scoped_buf struct buf out = buf_of(rs->body.ceiling);
    struct reply r = {.out = &out};
    struct post post;
    post_begin(&post, c, rq, rs);
    struct front front = {.who = who, .grant = grant, .outlet = &post.outlet};
    call_run(c, &front, &r);
    if (scopes) {
        char challenge[CHALLENGE_MAX];
        grant_challenge(grant, scopes, challenge);
        http_set_header(rs, "WWW-Authenticate", challenge);
        r.status = 403;
    }
    post_end(&post, &r);
}

/* Calls of sessions do not end with their connections. */
static void stop(void *arg)
{
    struct mcp *m = arg;
    calls_cancel(&m->calls, NULL, NULL, false);
    changes_end(&m->changes);
}

static void exchange_drop(void *arg, void *left)
{
    (void)arg;
    call_drop(left);
}

/* The id of a request that is not taken; NULL: there is none to be told. */
static const struct json *id_of(const struct http_request *rq, struct arena *arena)
{
    struct err none = {0};
    struct str body = http_body(rq);
    const struct json *root =
        body.n && body.n <= AT_ONCE_MAX ? json_read(body, arena, &none) : NULL;
    const struct json *id = json_get(root, "id");
    return json_is(id, JSON_STRING) || json_is_int(id) ? id : NULL;
}

/* Also what does not come so far speaks JSON-RPC. */
static void request_refused(void *arg, const struct http_request *rq, const char *why,
                            struct http_response *rs)
{
    (void)arg;
    if (!str_is(http_method(rq), "POST") || (rs->status != 503 && rs->status != 413))
        return;
    scoped(arena_free) struct arena *arena = arena_new(ARENA_SMALL);
    int code = rs->status == 503 ? err_kind(ERR_BUSY)->jsonrpc : RPC_REQUEST;
    buf_clear(&rs->body);
    struct json_writer w = error_open(&rs->body, id_of(rq, arena), code);
    json_pair_cstr(&w, "message", why);
    json_close(&w);
    json_close(&w);
    rs->type = "application/json";
}

struct http_route mcp_route(struct mcp *m)
{
    return (struct http_route){.path = "/mcp",
                               .arg = m,
                               .begin = exchange_begin,
                               .work = exchange_work,
                               .drop = exchange_drop,
                               .stop = stop,
                               .refused = request_refused};
}
