#include <stdio.h>
#include <strings.h>

#include "http/server.h"
#include "json/json.h"

/* No answer of ours is larger; one that is fails in its buf and becomes 500. */
#define BODY_CEILING ((size_t)256 * 1024 * 1024)
#define SENTENCE_MAX 1024u

void response_init(struct http_response *rs)
{
    rs->status = MHD_HTTP_OK;
    rs->type = NULL;
    buf_init(&rs->body, BODY_CEILING);
    buf_init(&rs->head, HTTP_HEAD_MAX);
}

void response_done(struct http_response *rs)
{
    buf_done(&rs->body);
    buf_done(&rs->head);
}

/* Name and value stand behind each other, each with its NUL. */
bool http_set_header(struct http_response *rs, const char *name, const char *value)
{
    size_t n = strlen(name) + 1, m = strlen(value) + 1;
    for (const char *c = value; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return false;
    if (rs->head.n + n + m > HTTP_HEAD_MAX)
        return false;
    return buf_put(&rs->head, name, n) && buf_put(&rs->head, value, m);
}

static void problem_set(struct http_response *rs, int status, const char *fmt, va_list ap)
{
    char text[SENTENCE_MAX];
    (void)vsnprintf(text, sizeof text, fmt, ap);
    rs->status = status;
    rs->type = "text/plain; charset=utf-8";
    buf_done(&rs->body);
    buf_init(&rs->body, BODY_CEILING);
    buf_cstr(&rs->body, text);
    buf_char(&rs->body, '\n');
}

void http_say(struct http_response *rs, int status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    problem_set(rs, status, fmt, ap);
    va_end(ap);
}

static bool names_json(struct str field)
{
    for (size_t i = 0; i + 4 <= field.n; i++)
        if (strncasecmp(field.at + i, "json", 4) == 0)
            return true;
    return false;
}

static void put_problem(struct http_response *rs, const char *why)
{
    rs->type = "application/problem+json";
    buf_clear(&rs->body);
    struct json_writer w = json_writer(&rs->body);
    json_open_object(&w);
    json_pair_cstr(&w, "type", "about:blank");
    json_pair_cstr(&w, "title", MHD_get_reason_phrase_for((unsigned)rs->status));
    json_pair_int(&w, "status", rs->status);
    json_pair_cstr(&w, "detail", why);
    json_close(&w);
}

void http_refuse(const struct http_request *rq, struct http_response *rs, int status,
                 const char *fmt, ...)
{
    char text[SENTENCE_MAX];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    http_say(rs, status, "%s", text);
    if (names_json(http_header(rq, "Accept")) ||
        names_json(http_header(rq, "Content-Type")))
        put_problem(rs, text);
    if (rq->route && rq->route->refused)
        rq->route->refused(rq->route->arg, rq, text, rs);
}

static void add_fields(const struct http_request *rq, struct MHD_Response *answer,
                       const struct http_response *rs)
{
    if (head_is_last(rq) || atomic_load(&rq->server->stopping))
        MHD_add_response_header(answer, MHD_HTTP_HEADER_CONNECTION, "close");
    if (rs->type)
        MHD_add_response_header(answer, MHD_HTTP_HEADER_CONTENT_TYPE, rs->type);
    const char *end = rs->head.at + rs->head.n;
    for (const char *name = rs->head.at; name && name < end;) {
        const char *value = name + strlen(name) + 1;
        MHD_add_response_header(answer, name, value);
        name = value + strlen(value) + 1;
    }
}

void response_carry(struct http_request *rq, struct http_response *rs)
{
    rq->answer = stream_response(rq->stream);
    add_fields(rq, rq->answer, rs);
    rq->status = (unsigned)rs->status;
    rq->stage = STAGE_ANSWERED;
    if (rq->at_worker)
        request_detach(rq);
}

/* false: a stream has taken the connection along. */
static bool response_hand_over(struct http_request *rq, struct http_response *rs)
{
    bool carried = stream_is_carried(rq->stream);
    if (!carried)
        rq->stage = STAGE_LEFT;
    /* The stream may end now, and what was admitted with it; pool_expel() still looks. */
    pthread_mutex_lock(&rq->server->lock);
    rq->admitted = NULL;
    pthread_mutex_unlock(&rq->server->lock);
    stream_handled(take(rq->stream));
    response_done(rs);
    return carried;
}

/* An answer that leaves while the client still sends a body that nobody wants: closed at
 * once, the connection would take it back before it is read. A stream that ends lets the
 * client finish its sentence. */
static void answer_midway(struct http_request *rq, struct http_response *rs)
{
    bool midway =
        rq->stage == STAGE_BODY ||
        (rq->stage == STAGE_NEW && (rs->status == MHD_HTTP_CONTENT_TOO_LARGE ||
                                    http_header(rq, MHD_HTTP_HEADER_EXPECT).at));
    if (midway && !rq->stream && !rq->server->tls)
        http_stream_end(http_stream_open(rq, rs, NULL, NULL));
}

bool response_put(struct http_request *rq, struct http_response *rs)
{
    answer_midway(rq, rs);
    if (rq->stream)
        return response_hand_over(rq, rs);
    if (rs->body.failed) {
        buf_clear(&rs->head);
        http_say(rs, MHD_HTTP_INTERNAL_SERVER_ERROR, "the answer is too large");
    }
    if (rs->status == MHD_HTTP_NO_CONTENT || rs->status == MHD_HTTP_NOT_MODIFIED)
        buf_clear(&rs->body);
    size_t n = rs->body.n;
    char *bytes = take(rs->body.at);
    struct MHD_Response *answer =
        MHD_create_response_from_buffer(n, bytes, MHD_RESPMEM_MUST_FREE);
    must(answer != NULL); /* only ever out of memory */
    add_fields(rq, answer, rs);

    rq->answer = answer;
    rq->status = (unsigned)rs->status;
    rq->stage = STAGE_ANSWERED;
    response_done(rs);
    return true;
}
