/* Linux machines as actions: vm_start, vm_exec, vm_stop, vm_list. */
#include "actions/machines.h"

bool action_vm_exec(const struct action_call *c, struct answer *out, struct err *e)
{
    struct tool_call call = tool_call_of(c);
    struct json_writer w = json_writer(&out->json);
    bool ended = false;
    if (!machines_exec(&call, c->arguments, &w, &ended, e))
        return false;
    out->is_error = !ended; /* an exit code is an answer like any other */
    return true;
}

void action_vm_exec_refused(const struct action_call *c, enum err_code outcome)
{
    struct tool_call call = tool_call_of(c);
    machines_refused(&call, c->arguments, outcome);
}

bool action_vm_start(const struct action_call *c, struct answer *out, struct err *e)
{
    struct tool_call call = tool_call_of(c);
    struct json_writer w = json_writer(&out->json);
    return machines_start(&call, c->arguments, &w, e);
}

bool action_vm_stop(const struct action_call *c, struct answer *out, struct err *e)
{
    struct tool_call call = tool_call_of(c);
    struct json_writer w = json_writer(&out->json);
    return machines_stop(&call, c->arguments, &w, e);
}

bool action_vm_list(const struct action_call *c, struct answer *out, struct err *e)
{
    struct tool_call call = tool_call_of(c);
    struct json_writer w = json_writer(&out->json);
    json_open_object(&w);
    json_key(&w, "machines");
    if (!machines_list(&call, &w, e))
        return false;
    json_close(&w);
    return buf_check(&out->json, "the answer", e);
}
