/* The routes of workspaces themselves. */
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

/* Where there is no vault at all, the list is empty. */
bool route_workspaces(struct route_call *c, struct err *e)
{
    c->work = work_begin(c->actions, c->who, STR(""), c->route->what, e);
    if (!c->work && e->code != ERR_NO_VAULT)
        return false;
    *e = (struct err){0};
    const struct json *list = c->work ? route_ask(c, "vaults.list", STR(""), e) : NULL;
    struct json_writer w = route_writer(c);
    struct json_iter it = json_iter(list);
    json_open_array(&w);
    while (json_next(&it))
        put_workspace(it.value, &w);
    json_close(&w);
    if (c->work)
        work_end(c->work, e->code ? e : NULL);
    return e->code == ERR_NONE;
}

bool route_workspace(struct route_call *c, struct err *e)
{
    const struct json *list = route_ask(c, "vaults.list", STR(""), e);
    struct json_iter it = json_iter(list);
    struct json_writer w = route_writer(c);
    while (json_next(&it))
        if (str_eq(json_str(json_get(it.value, "id")), c->values[0])) {
            put_workspace(it.value, &w);
            return true;
        }
    return list ? err_set(e, ERR_NOT_FOUND, "there is no workspace \"%.*s\"",
                          STR_ARGS(str_cut(c->values[0], 60)))
                : false;
}
