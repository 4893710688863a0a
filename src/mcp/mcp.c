#include "mcp/mcp.h"

#include "mcp/core.h"

#define TOOLS_MAX ((size_t)16 * 1024 * 1024) /* bytes of tools/list */

struct mcp *mcp_open_on(const struct backend *b, struct err *e)
{
    struct mcp *m = mem_new(sizeof *m);
    m->backend = *b;
    buf_init(&m->tools, TOOLS_MAX);
    buf_init(&m->names, TOOLS_MAX);
    sessions_init(&m->sessions);
    calls_init(&m->calls);
    if (tools_write(m, e))
        return m;
    mcp_close(m);
    return NULL;
}

static const struct action *list_actions(void *arg, size_t *count)
{
    return actions_list(arg, count);
}

static const struct action *name_action(void *arg, struct str name)
{
    return action_named(arg, name);
}

static bool call_action(void *arg, const struct action *which,
                        const struct json *arguments, const struct caller *who,
                        struct answer *out, struct err *e)
{
    return actions_call(arg, which, arguments, who, out, e);
}

static bool read_resource(void *arg, const struct caller *who, struct str uri,
                          struct buf *out, struct err *e)
{
    return actions_resource(arg, who, uri, out, e);
}

static void listen_to(void *arg, alert_fn *fn, void *fn_arg, bool on)
{
    if (on)
        actions_on_alert(arg, fn, fn_arg);
    else
        actions_off_alert(arg, fn, fn_arg);
}

struct mcp *mcp_open(struct actions *a, struct err *e)
{
    struct backend b = {.list = list_actions,
                        .named = name_action,
                        .call = call_action,
                        .resource = read_resource,
                        .listen = listen_to,
                        .arg = a};
    return mcp_open_on(&b, e);
}

void mcp_close(struct mcp *m)
{
    if (!m)
        return;
    must(m->calls.first == NULL);
    calls_done(&m->calls);
    sessions_done(&m->sessions);
    mirrors_done(&m->mirrors);
    buf_done(&m->names);
    buf_done(&m->tools);
    free(m);
}
