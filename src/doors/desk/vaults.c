/* The vaults that the page shows, and who the person on it is. */
#include "actions/actions.h"
#include "desk/internal.h"

struct caller desk_person(struct http_request *rq)
{
    return (struct caller){.name = CALLER_PAGE,
                           .level = LEVEL_FULL,
                           .is_program = true,
                           .cancel = rq ? http_cancel(rq) : NULL};
}

const struct json *desk_vaults(struct desk *d, struct arena *a, struct err *e)
{
    scoped_buf struct buf text = buf_of(BUF_LIST);
    const struct caller who = desk_person(NULL);
    return actions_vaults(d->o.actions, &who, &text, e) &&
                   buf_check(&text, "the vaults", e)
               ? json_read(buf_view(&text), a, e)
               : NULL;
}

struct ward *desk_ward(struct desk *d, struct str id, struct arena *a, struct str *name,
                       struct err *e)
{
    *name = STR("");
    if (str_is(id, "own"))
        return guard_ward(d->o.guard, NULL, e);
    const struct json *all = desk_vaults(d, a, e);
    struct json_iter it = json_iter(all);
    while (json_next(&it)) {
        struct str one = json_str(json_get(it.value, "id"));
        if (id.n && !str_eq(one, id))
            continue;
        *name = one;
        return guard_ward(d->o.guard, json_cstr(json_get(it.value, "path")), e);
    }
    if (all)
        err_set(e, ERR_NOT_FOUND,
                id.n ? "there is no vault '%.*s'" : "there is no vault yet",
                STR_ARGS(str_cut(id, 100)));
    return NULL;
}

struct ward *desk_ward_of(struct desk *d, struct str id, struct arena *a,
                          struct str *name, struct err *e)
{
    return desk_ward(d, id.n ? id : STR("own"), a, name, e);
}
