/* Errors as problem documents. RFC 9457. */
#include "routes/internal.h"

static const struct {
    int status;
    const char *title;
} titles[] = {
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {422, "Unprocessable Content"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {499, "Client Closed Request"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
};

const char *problem_title(int status)
{
    for (size_t i = 0; i < LENGTH(titles); i++)
        if (titles[i].status == status)
            return titles[i].title;
    return "Error";
}

/* "body.filter.class must be ...": the place that the message begins with. */
static struct str field_of(struct str message)
{
    size_t n = 0;
    while (n < message.n && message.at[n] != ' ' && message.at[n] != ':')
        n++;
    struct str place = {message.at, n};
    return str_is(place, "body") || str_starts(place, "body.") ||
                   str_starts(place, "body[")
               ? place
               : STR("");
}

void routes_problem(struct route_answer *out, int status, const struct err *why,
                    struct str target)
{
    const struct err_kind *kind = err_kind(why->code);
    struct str detail = str_of(why->msg), field = field_of(detail);
    const char *query = memchr(target.at, '?', target.n);
    if (query)
        target.n = (size_t)(query - target.at);
    err_log(why, "rest");
    buf_clear(&out->body);
    out->body.failed = false;
    out->status = status;
    out->type = "application/problem+json";
    struct json_writer w = json_writer(&out->body);
    json_open_object(&w);
    json_pair_cstr(&w, "type", "about:blank");
    json_pair_cstr(&w, "title", problem_title(status));
    json_pair_int(&w, "status", status);
    json_pair_str(&w, "detail", detail);
    json_pair_str(&w, "instance", str_cut(target, 500));
    json_pair_cstr(&w, "code", kind->code);
    json_pair_bool(&w, "retry", kind->retry);
    if (field.n) {
        json_key(&w, "errors");
        json_open_array(&w);
        json_open_object(&w);
        json_pair_str(&w, "field", field);
        json_pair_str(&w, "detail", detail);
        json_close(&w);
        json_close(&w);
    }
    json_close(&w);
}
