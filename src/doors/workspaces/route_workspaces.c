/* The routes of workspaces themselves. */
#include "performing/performing.h"
#include "workspaces/route.h"

static void put_workspace(const struct json *v, struct json_writer *w)
{
    json_open_object(w);
    json_pair(w, "id", json_get(v, "id"));
    json_pair(w, "name", json_get(v, "name"));
    if (json_str(json_get(v, "description")).n)
        json_pair(w, "description", json_get(v, "description"));
    if (json_str(json_get(v, "created")).n)
        json_pair(w, "created_at", json_get(v, "created"));
    json_close(w);
}

/* The workspaces that the caller may know of; a script knows its own. */
static const struct json *known(struct route_call *c, struct err *e)
{
    scoped_buf struct buf text = buf_of(ROUTE_ANSWER);
    return actions_vaults(c->actions, c->who, &text, e)
               ? json_read(buf_view(&text), c->arena, e)
               : NULL;
}

bool route_workspaces(struct route_call *c, struct err *e)
{
    const struct json *list = known(c, e);
    struct work *script = c->who->within
                              ? work_begin(c->actions, c->who, STR(""), c->route->what, e)
                              : NULL;
    struct json_iter it = json_iter(list);
    struct json_writer w = route_writer(c);
    json_open_array(&w);
    while (json_next(&it))
        if (!script || str_is(json_str(json_get(it.value, "id")), work_vault(script)))
            put_workspace(it.value, &w);
    json_close(&w);
    if (script)
        work_end(script, NULL);
    return list && e->code == ERR_NONE;
}

bool route_workspace(struct route_call *c, struct err *e)
{
    const struct json *list = known(c, e);
    struct json_iter it = json_iter(list);
    struct json_writer w = route_writer(c);
    while (json_next(&it))
        if (str_is(json_str(json_get(it.value, "id")), work_vault(c->work))) {
            put_workspace(it.value, &w);
            return true;
        }
    return list ? err_set(e, ERR_NOT_FOUND, "there is no workspace \"%.*s\"",
                          STR_ARGS(str_cut(c->values[0], 60)))
                : false;
}
