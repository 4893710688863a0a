/* completion/complete: what an argument of a prompt, or a variable of a resource
 * template, may be. */
#include "mcp/core.h"

static bool run_complete(const struct call *c, const struct caller *who,
                         struct answer *out, struct err *e)
{
    const struct library *l = &c->m->backend.library;
    const struct json *ref = json_get(c->params, "ref");
    const struct json *argument = json_get(c->params, "argument");
    bool of_prompt = str_is(json_str(json_get(ref, "type")), "ref/prompt");
    const struct workspaces_completion what = {
        .of_prompt = of_prompt,
        .name = json_str(json_get(ref, of_prompt ? "name" : "uri")),
        .argument = json_str(json_get(argument, "name")),
        .begun = json_str(json_get(argument, "value")),
        .known = json_get(json_get(c->params, "context"), "arguments"),
    };
    return l->complete ? l->complete(l->arg, who, &what, &out->json, e)
                       : err_set(e, ERR_NOT_FOUND, "there is nothing to complete");
}

static void put_complete(const struct call *c, struct json_writer *w,
                         const struct answer *a)
{
    (void)c;
    json_pair_raw(w, "completion", buf_view(&a->json));
}

static bool completion_check(struct exchange *x)
{
    const struct json *ref = json_get(x->params, "ref");
    struct str type = json_str(json_get(ref, "type"));
    bool prompt = str_is(type, "ref/prompt");
    if (!prompt && !str_is(type, "ref/resource"))
        return reply_error(x, RPC_PARAMS,
                           "Invalid params: ref.type is '%.*s'; ref/prompt and "
                           "ref/resource are accepted",
                           STR_ARGS(str_cut(type, 40)));
    const char *key = prompt ? "name" : "uri";
    if (!json_is(json_get(ref, key), JSON_STRING))
        return reply_error(x, RPC_PARAMS, "Invalid params: ref needs %s, a string", key);
    const struct json *argument = json_get(x->params, "argument");
    if (!json_is(json_get(argument, "name"), JSON_STRING) ||
        !json_is(json_get(argument, "value"), JSON_STRING))
        return reply_error(x, RPC_PARAMS,
                           "Invalid params: argument needs name and value, strings");
    return true;
}

void completion_complete(struct exchange *x)
{
    static const struct errand errand = {"completion/complete", run_complete,
                                         put_complete, KEEP_UNSAID};
    if (completion_check(x))
        call_leave_errand(x, &errand);
}
