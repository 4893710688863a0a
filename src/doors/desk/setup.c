/* How a client is connected to this program, what code may call, and whether all is in
 * order here. */
#include "actions/actions.h"
#include "api/api.h"
#include "desk/internal.h"
#include "os/os.h"

#define DECLARATIONS_MAX ((size_t)4 << 20)
#define KEPT_NS UINT64_C(5000000000) /* of a report, which runs code to make sure */

bool tell_setup(struct desk *d, struct http_request *rq, struct http_response *rs,
                struct err *e)
{
    (void)rq;
    scoped(free) char *folder = os_program_dir(e);
    if (!folder)
        return false;
    scoped_buf struct buf program = buf_of(BUF_TEXT);
    buf_printf(&program, "%s/cloche", folder);
    struct json_writer w = json_writer(&rs->body);
    json_open_object(&w);
    json_pair_str(&w, "program", buf_view(&program));
    json_pair_cstr(&w, "url", d->url);
    json_close(&w);
    return buf_check(&rs->body, "the answer", e);
}

bool tell_declarations(struct desk *d, struct http_request *rq, struct http_response *rs,
                       struct err *e)
{
    (void)d, (void)rq;
    scoped_buf struct buf text = buf_of(DECLARATIONS_MAX);
    if (!api_write_document(API_DOCUMENT_TYPES, STR(""), &text, e))
        return false;
    struct json_writer w = json_writer(&rs->body);
    json_open_object(&w);
    json_pair_str(&w, "types", buf_view(&text));
    json_close(&w);
    return buf_check(&rs->body, "the declarations", e);
}

bool tell_health(struct desk *d, struct http_request *rq, struct http_response *rs,
                 struct err *e)
{
    (void)rq;
    scoped(arena_free) struct arena *a = arena_new(ARENA_FILE);
    pthread_mutex_lock(&d->health_lock);
    uint64_t now_ns = os_mono_ns();
    if (!d->health.n || now_ns - d->health_ns > KEPT_NS) {
        buf_clear(&d->health);
        actions_doctor(d->o.actions, &d->health);
        d->health_ns = now_ns;
    }
    const struct json *report = json_read(buf_view(&d->health), a, e);
    pthread_mutex_unlock(&d->health_lock);
    struct json_writer w = json_writer(&rs->body);
    json_open_object(&w);
    json_pair(&w, "ok", json_get(report, "ok"));
    json_pair(&w, "checks", json_get(report, "checks"));
    json_pair_cstr(&w, "version", CLOCHE_VERSION);
    json_close(&w);
    return report && buf_check(&rs->body, "the report", e);
}
