/* How the page's requests are answered: headers, and small JSON. */
#include "desk/internal.h"

void page_put_headers(struct http_response *rs)
{
    static const char *const fields[][2] = {
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
         "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
         "require-trusted-types-for 'script'; trusted-types dompurify"},
        {"X-Frame-Options", "DENY"},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Permissions-Policy", "camera=(), geolocation=(), microphone=()"},
    };
    for (size_t i = 0; i < LENGTH(fields); i++)
        (void)http_set_header(rs, fields[i][0], fields[i][1]);
    if (!memmem(rs->head.at, rs->head.n, "Cache-Control", strlen("Cache-Control")))
        (void)http_set_header(rs, "Cache-Control", "no-store");
}

void say_json(struct http_response *rs, int status, const char *key, const char *text)
{
    buf_clear(&rs->body);
    struct json_writer w = json_writer(&rs->body);
    json_open_object(&w);
    json_pair_cstr(&w, key, text);
    json_close(&w);
    rs->status = status;
    rs->type = "application/json";
}

void say_error(struct http_response *rs, const struct err *e)
{
    say_json(rs, err_kind(e->code)->http, "error", e->msg);
}
