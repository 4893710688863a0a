#include "mcp/mcp.h"

#include "mcp/core.h"
#include "os/os.h"

#define TOOLS_MAX ((size_t)16 * 1024 * 1024) /* bytes of tools/list */

/* Sessions over HTTP hear of the alerts that their own caller raised. */
static void tell_sessions(void *arg, const struct alert *alert)
{
    struct mcp *m = arg;
    scoped_buf struct buf line = buf_of(ALERT_MAX);
    put_log_of_alert(&line, alert);
    if (!line.failed)
        channels_tell_all(&m->channels, alert->caller, alert_level(alert),
                          buf_view(&line));
}

struct mcp *mcp_open_on(const struct backend *b, struct err *e)
{
    struct mcp *m = mem_new(sizeof *m);
    m->backend = *b;
    os_random(m->input_key, sizeof m->input_key);
    spent_init(&m->spent);
    buf_init(&m->names, TOOLS_MAX);
    sessions_init(&m->sessions);
    calls_init(&m->calls);
    asks_init(&m->asks);
    ticker_init(&m->ticker);
    channels_init(&m->channels, &m->sessions, &m->ticker);
    changes_init(&m->changes, m);
    tasks_init(&m->tasks, m);
    if (m->backend.listen)
        m->backend.listen(m->backend.arg, tell_sessions, m, true);
    if (tools_open(m, e))
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

static bool show_actions(void *arg, const struct caller *who, struct str after,
                         size_t most, action_shown_fn *fn, void *fn_arg, bool *more,
                         struct err *e)
{
    return actions_show(arg, who, after, most, fn, fn_arg, more, e);
}

static uint64_t shown_state(void *arg, const struct caller *who)
{
    return actions_shown_state(arg, who);
}

static void introduce(void *arg, const struct caller *who, size_t most, struct buf *out)
{
    actions_introduce(arg, who, most, out);
}

static void instruct(void *arg, struct buf *out)
{
    actions_instruct(arg, out);
}

static unsigned scopes_of(void *arg, const struct action *which)
{
    return action_scopes(arg, which);
}

static bool call_action(void *arg, const struct action *which,
                        const struct json *arguments, const struct caller *who,
                        struct answer *out, struct err *e)
{
    return actions_call(arg, which, arguments, who, out, e);
}

static void record_unknown(void *arg, const struct caller *who, struct str name,
                           struct buf *meant)
{
    actions_unknown(arg, who, name, meant);
}

static void mcp_hear_alerts(void *arg, alert_fn *fn, void *fn_arg, bool on)
{
    if (on)
        actions_on_alert(arg, fn, fn_arg);
    else
        actions_off_alert(arg, fn, fn_arg);
}

/* ---- the library ---------------------------------------------------------- */

static bool list_rows(void *arg, const struct caller *who, enum workspaces_list what,
                      struct str after, struct buf *rows, struct buf *next, struct err *e)
{
    return workspaces_list(arg, who, what, after, rows, next, e);
}

static bool read_resource(void *arg, const struct caller *who, struct str uri,
                          struct buf *contents, struct err *e)
{
    return workspaces_read(arg, who, uri, contents, e);
}

static bool get_prompt(void *arg, const struct caller *who, struct str name,
                       const struct json *arguments, struct str *description,
                       struct buf *messages, struct err *e)
{
    return workspaces_prompt(arg, who, name, arguments, description, messages, e);
}

static bool complete(void *arg, const struct caller *who,
                     const struct workspaces_completion *what, struct buf *completion,
                     struct err *e)
{
    return workspaces_complete(arg, who, what, completion, e);
}

static bool library_hear(void *arg, workspaces_change_fn *fn, void *fn_arg, struct err *e)
{
    return workspaces_hear(arg, fn, fn_arg, e);
}

static void unhear(void *arg, workspaces_change_fn *fn, void *fn_arg)
{
    workspaces_unhear(arg, fn, fn_arg);
}

static bool library_follow(void *arg, const struct caller *who, struct str uri,
                           struct buf *canonical, struct err *e)
{
    return workspaces_follow(arg, who, uri, canonical, e);
}

struct mcp *mcp_open(struct actions *a, struct workspaces *w, struct err *e)
{
    struct backend b = {
        .list = list_actions,
        .named = name_action,
        .show = show_actions,
        .shown_state = shown_state,
        .introduce = introduce,
        .call = call_action,
        .unknown = record_unknown,
        .instruct = instruct,
        .scopes = scopes_of,
        .listen = mcp_hear_alerts,
        .arg = a,
        .library = {.list = list_rows,
                    .read = read_resource,
                    .prompt = get_prompt,
                    .complete = complete,
                    .hear = library_hear,
                    .unhear = unhear,
                    .follow = library_follow,
                    .arg = w},
    };
    return mcp_open_on(&b, e);
}

void mcp_expel(struct mcp *m, bool (*stays)(void *arg, const void *left), void *arg)
{
    tasks_expel(&m->tasks, stays, arg);
}

void mcp_close(struct mcp *m)
{
    if (!m)
        return;
    must(m->calls.first == NULL);
    if (m->backend.listen)
        m->backend.listen(m->backend.arg, tell_sessions, m, false);
    tasks_done(&m->tasks);
    changes_done(&m->changes);
    channels_done(&m->channels);
    ticker_done(&m->ticker);
    asks_done(&m->asks);
    spent_done(&m->spent);
    calls_done(&m->calls);
    sessions_done(&m->sessions);
    mirrors_done(&m->mirrors);
    buf_done(&m->names);
    tools_close(m);
    free(m);
}
