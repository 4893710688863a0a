/* Resources: their lists, and reading one. Where they come from, and who may read them,
 * is the library's to know. */
#include "mcp/core.h"

/* ---- resources/list -------------------------------------------------------- */

/* The page goes to `json`, and where the next begins to `content`. */
static bool run_list(const struct call *c, const struct caller *who, struct answer *out,
                     struct err *e)
{
    const struct library *l = &c->m->backend.library;
    scoped_buf struct buf place = buf_of(PLACE_MAX);
    if (!page_after(c->params, c->errand->method, &place, e))
        return false;
    return l->list ? l->list(l->arg, who, LIST_RESOURCES, buf_view(&place), &out->json,
                             &out->content, e)
                   : buf_cstr(&out->json, "[]");
}

static void list_put(const struct call *c, struct json_writer *w, const struct answer *a)
{
    page_put(w, c->errand->method, "resources", buf_view(&a->json),
             buf_view(&a->content));
}

void resources_list(struct exchange *x)
{
    static const struct errand errand = {"resources/list", run_list, list_put, KEEP_NOT};
    call_leave_errand(x, &errand);
}

void resources_templates(struct exchange *x)
{
    page_answer(x, "resources/templates/list", "resourceTemplates", LIST_TEMPLATES);
}

/* ---- resources/read -------------------------------------------------------- */

static bool run_read(const struct call *c, const struct caller *who, struct answer *out,
                     struct err *e)
{
    const struct library *l = &c->m->backend.library;
    struct str uri = json_str(json_get(c->params, "uri"));
    return l->read ? l->read(l->arg, who, uri, &out->json, e)
                   : err_set(e, ERR_NOT_FOUND, "there are no resources");
}

static void put_read(const struct call *c, struct json_writer *w, const struct answer *a)
{
    (void)c;
    json_pair_raw(w, "contents", buf_view(&a->json));
}

void resources_read(struct exchange *x)
{
    static const struct errand errand = {"resources/read", run_read, put_read, KEEP_NOT};
    const struct json *uri = json_get(x->params, "uri");
    if (json_is(uri, JSON_STRING))
        call_leave_errand(x, &errand);
    else
        reply_error(x, RPC_PARAMS,
                    "Invalid params: resources/read needs uri, a string, not %s",
                    json_type_name(json_type(uri)));
}
