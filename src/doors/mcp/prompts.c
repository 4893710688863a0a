/* Prompts: their list, and getting one. */
#include "mcp/core.h"

void prompts_list(struct exchange *x)
{
    page_answer(x, "prompts/list", "prompts", LIST_PROMPTS);
}

/* The messages go to `json`, the description to `content`. */
static bool run_get(const struct call *c, const struct caller *who, struct answer *out,
                    struct err *e)
{
    const struct library *l = &c->m->backend.library;
    struct str name = json_str(json_get(c->params, "name"));
    const struct json *arguments = json_get(c->params, "arguments");
    if (json_is(arguments, JSON_NULL))
        arguments = NULL;
    struct str description = {0};
    if (!l->prompt)
        return err_set(e, ERR_NOT_FOUND, "there are no prompts");
    if (!l->prompt(l->arg, who, name, arguments, &description, &out->json, e))
        return false;
    buf_str(&out->content, description);
    return true;
}

static void put_get(const struct call *c, struct json_writer *w, const struct answer *a)
{
    (void)c;
    if (a->content.n)
        json_pair_str(w, "description", buf_view(&a->content));
    json_pair_raw(w, "messages", buf_view(&a->json));
}

void prompts_get(struct exchange *x)
{
    static const struct errand errand = {"prompts/get", run_get, put_get, KEEP_UNSAID};
    const struct json *name = json_get(x->params, "name");
    if (json_is(name, JSON_STRING))
        call_leave_errand(x, &errand);
    else
        reply_error(x, RPC_PARAMS,
                    "Invalid params: prompts/get needs name, a string, not %s",
                    json_type_name(json_type(name)));
}
