/* A caller is paused, and goes on: in all processes of the user. */
#include "desk/internal.h"

static bool caller_change(struct desk *d, const struct json *said, bool pause,
                          struct http_response *rs, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(ARENA_CALL);
    struct str id;
    const char *caller = json_cstr(json_get(said, "caller"));
    struct ward *ward = desk_ward(d, json_str(json_get(said, "vault")), a, &id, e);
    if (!ward)
        return false;
    if (!*caller || !strcmp(caller, CALLER_PAGE))
        return err_set(e, ERR_INVALID,
                       "{vault, caller: as the audit names it} is accepted");
    if (pause ? !ward_pause(ward, caller, "paused on the page", e)
              : !ward_resume(ward, caller, e))
        return false;
    say_json(rs, 200, "done", pause ? "paused" : "resumed");
    return true;
}

bool do_pause(struct desk *d, struct http_request *rq, const struct json *said,
              struct http_response *rs, struct err *e)
{
    (void)rq;
    return caller_change(d, said, true, rs, e);
}

bool do_resume(struct desk *d, struct http_request *rq, const struct json *said,
               struct http_response *rs, struct err *e)
{
    (void)rq;
    return caller_change(d, said, false, rs, e);
}
