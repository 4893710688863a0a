#include <stdio.h>

#include "http/server.h"

/* No answer of ours is larger; one that is fails in its buf and becomes 500. */
#define BODY_CEILING ((size_t)256 * 1024 * 1024)

void response_init(struct http_response *rs)
{
    /* Not zeroed as a whole: the fields are a kilobyte that is rarely used. */
    rs->status = MHD_HTTP_OK;
    rs->type = NULL;
    rs->n_fields = 0;
    buf_init(&rs->body, BODY_CEILING);
}

void http_set_header(struct http_response *rs, const char *name, const char *value)
{
    must(rs->n_fields < HTTP_FIELDS_MAX);
    must(strlen(value) < HTTP_FIELD_SIZE && !strpbrk(value, "\r\n"));
    rs->fields[rs->n_fields].name = name;
    (void)snprintf(rs->fields[rs->n_fields].value, HTTP_FIELD_SIZE, "%s", value);
    rs->n_fields++;
}

void http_say(struct http_response *rs, int status, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);

    rs->status = status;
    rs->type = "text/plain; charset=utf-8";
    buf_clear(&rs->body);
    buf_cstr(&rs->body, text);
    buf_char(&rs->body, '\n');
}

void response_put(struct http_request *rq, struct http_response *rs)
{
    if (rs->body.failed) {
        rs->n_fields = 0;
        http_say(rs, MHD_HTTP_INTERNAL_SERVER_ERROR, "the answer is too large");
    }
    size_t n = rs->body.n;
    char *bytes = take(rs->body.at);
    struct MHD_Response *answer =
        MHD_create_response_from_buffer(n, bytes, MHD_RESPMEM_MUST_FREE);
    must(answer != NULL); /* only ever out of memory */
    if (rs->type)
        MHD_add_response_header(answer, MHD_HTTP_HEADER_CONTENT_TYPE, rs->type);
    for (unsigned i = 0; i < rs->n_fields; i++)
        MHD_add_response_header(answer, rs->fields[i].name, rs->fields[i].value);
    if (atomic_load(&rq->server->stopping))
        MHD_add_response_header(answer, MHD_HTTP_HEADER_CONNECTION, "close");

    rq->answer = answer;
    rq->status = (unsigned)rs->status;
    rq->stage = STAGE_ANSWERED;
    buf_done(&rs->body);
}
