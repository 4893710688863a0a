/* MCP at one path of an HTTP server: a POST a message, one JSON object back.
 *
 * Messages that are short enough are read on the connection's thread, and all
 * but tool calls are answered there: a ping or a cancellation does not queue
 * behind the calls that it is about.
 * Source: 2025-11-25 basic/transports, 2026-07-28 basic/transports/streamable-http.
 */
#include <stdio.h>
#include <strings.h>

#include "mcp/core.h"
#include "mcp/mcp.h"
#include "os/os.h"

/* Bytes of a body that a connection's thread reads itself: some 50 us. */
#define AT_ONCE_MAX ((size_t)16 * 1024)
#define ALLOWED "POST, DELETE, OPTIONS"

/* ---- media types -------------------------------------------------------- */

static bool same(struct str a, const char *b)
{
    return a.n == strlen(b) && strncasecmp(a.at, b, a.n) == 0;
}

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
    return type.at && same(next_part(&type, ';'), "application/json");
}

/* Clients must accept both forms of an answer; those that name only the other
 * one, or nothing, are served all the same. */
static bool accepts_answer(const struct http_request *rq)
{
    struct str accept = http_header(rq, "Accept");
    if (accept.n == 0)
        return true;
    while (accept.n) {
        struct str range = next_part(&accept, ',');
        struct str type = next_part(&range, ';');
        if (same(type, "application/json") || same(type, "application/*") ||
            same(type, "*/*") || same(type, "text/event-stream"))
            return true;
    }
    return false;
}

/* ---- messages ----------------------------------------------------------- */

static bool has_session(struct mcp *m, const struct http_request *rq, struct session *out)
{
    struct str id = http_header(rq, "Mcp-Session-Id");
    return id.at &&
           sessions_find(&m->sessions, id, (int64_t)(os_mono_ns() / 1000000), out);
}

static void finish(const struct reply *r, struct http_response *rs)
{
    rs->status = r->status;
    if (rs->body.n || rs->body.failed)
        rs->type = "application/json";
}

static struct str look_up(const void *arg, const char *name, size_t *count)
{
    *count = http_header_count(arg, name);
    return http_header(arg, name);
}

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
        .header = look_up,
        .header_arg = rq,
        .session = &session,
        .cancel = http_cancel(rq),
    };
    env.lost_session =
        http_header(rq, "Mcp-Session-Id").at && !has_session(m, rq, &session);
    struct reply r = {.out = &rs->body};
    struct call *c = take_message(m, http_body(rq), &env, &r);
    if (!c)
        finish(&r, rs);
    if (r.opened) {
        char id[SESSION_TEXT + 1];
        session_text(&session, id);
        http_set_header(rs, "Mcp-Session-Id", id);
    }
    return c;
}

/* ---- the other methods -------------------------------------------------- */

static void refuse_method(struct http_response *rs)
{
    http_say(rs, 405, "POST one JSON-RPC message a request; there is no stream to GET");
    http_set_header(rs, "Allow", ALLOWED);
}

static void end_session(struct mcp *m, struct http_request *rq, struct http_response *rs)
{
    struct session session;
    if (!http_header(rq, "Mcp-Session-Id").at) {
        refuse_method(rs);
    } else if (!has_session(m, rq, &session)) {
        http_say(rs, 404, "there is no such session");
    } else {
        sessions_remove(&m->sessions, &session);
        calls_cancel(&m->calls, &session, NULL, true);
        rs->status = 204;
    }
}

static bool begin(void *arg, struct http_request *rq, struct http_response *rs,
                  void **work)
{
    struct mcp *m = arg;
    struct str method = http_method(rq);
    if (str_is(method, "DELETE")) {
        end_session(m, rq, rs);
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

static void work(void *arg, struct http_request *rq, void *left, struct http_response *rs)
{
    struct call *c = left ? left : take_post(arg, rq, rs);
    if (!c)
        return;
    char who[CALLER_NAME];
    caller_http_name(who, http_admitted(rq), http_peer(rq));
    struct reply r = {.out = &rs->body};
    struct front front = {.who = who, .grant = http_admitted(rq)};
    call_run(c, &front, &r);
    finish(&r, rs);
}

static void drop(void *arg, void *left)
{
    (void)arg;
    call_drop(left);
}

struct http_route mcp_route(struct mcp *m)
{
    return (struct http_route){
        .path = "/mcp", .arg = m, .begin = begin, .work = work, .drop = drop};
}
