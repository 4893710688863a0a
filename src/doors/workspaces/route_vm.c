/* The routes of Linux machines: the caller's own, starting and stopping one, a command. */
#include <stdio.h>

#include "performing/performing.h"
#include "workspaces/route.h"

/* Answers by the action; ?workspace= says whose policy is in force. */
static bool answer_action(struct route_call *c, const char *action,
                          const struct json *arguments, struct err *e)
{
    unsigned vault = 0;
    struct str id = route_text(c, "workspace");
    struct caller who = *c->who;
    if (id.n && !(vault = actions_vault_number(c->actions, c->who, id, e)))
        return false;
    if (vault)
        who.vault = &vault;
    const struct action *which = action_named(c->actions, str_of(action));
    if (!which)
        return err_set(e, ERR_NOT_FOUND, "this server has no %s", action);
    struct answer answer = {.json = c->out->body};
    buf_init(&answer.content, ROUTE_ANSWER);
    bool ok = actions_call(c->actions, which, arguments, &who, &answer, e);
    c->out->body = answer.json;
    buf_done(&answer.content);
    return ok;
}

bool route_machines(struct route_call *c, struct err *e)
{
    if (!answer_action(c, "vm_list", NULL, e))
        return false;
    const struct json *said = json_read(buf_view(&c->out->body), c->arena, e);
    buf_clear(&c->out->body);
    struct json_writer w = route_writer(c);
    json_put(&w, json_get(said, "machines"));
    return said != NULL;
}

bool route_start_machine(struct route_call *c, struct err *e)
{
    if (!answer_action(c, "vm_start", c->body, e))
        return false;
    char path[80];
    const struct json *said = json_read(buf_view(&c->out->body), c->arena, e);
    (void)snprintf(path, sizeof path, "/vm/%.*s",
                   STR_ARGS(str_cut(json_str(json_get(said, "machine")), 60)));
    return said && route_header(c, "Location", str_of(path), e);
}

bool route_exec(struct route_call *c, struct err *e)
{
    return answer_action(c, "vm_exec", c->body, e);
}

/* "default" is the one that a command runs in which names none. */
bool route_stop_machine(struct route_call *c, struct err *e)
{
    scoped_buf struct buf text = buf_of(BUF_PAGE);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    if (!str_is(c->values[0], "default"))
        json_pair_str(&w, "machine", str_cut(c->values[0], 100));
    json_close(&w);
    const struct json *arguments = json_read(buf_view(&text), c->arena, e);
    return arguments && answer_action(c, "vm_stop", arguments, e);
}
