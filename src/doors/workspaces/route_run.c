/* The routes that run code, and that of what was done. */
#include <stdio.h>

#include "performing/performing.h"
#include "workspaces/route.h"

/* ---- code ------------------------------------------------------------------- */

/* The answer of an action that evaluates: one shape, whether it went well or not; the
 * status is that of its error. */
static bool call_action(struct route_call *c, const char *name, const struct json *args,
                        const struct caller *who, struct err *e)
{
    const struct action *which = action_named(c->actions, str_of(name));
    struct answer answer = {.json = c->out->body};
    buf_init(&answer.content, ROUTE_ANSWER);
    bool ok = which ? actions_call(c->actions, which, args, who, &answer, e)
                    : err_set(e, ERR_NOT_FOUND, "this server has no %s", name);
    c->out->body = answer.json;
    buf_done(&answer.content);
    if (!ok)
        return false;
    if (answer.outcome)
        c->out->status = err_kind(answer.outcome)->http;
    return true;
}

bool route_evaluate(struct route_call *c, struct err *e)
{
    unsigned vault = actions_vault_number(c->actions, c->who, c->values[0], e);
    struct caller who = *c->who;
    who.vault = &vault; /* a switch holds for this call alone */
    return vault && call_action(c, "evaluate_note_code", c->body, &who, e);
}

bool route_run(struct route_call *c, struct err *e)
{
    scoped_buf struct buf text = buf_of((size_t)32 << 20);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair_str(&w, "workspace_id", c->values[0]);
    json_put_pairs(&w, c->body, NULL);
    json_close(&w);
    const struct json *args = buf_check(&text, "the script", e)
                                  ? json_read(buf_view(&text), c->arena, e)
                                  : NULL;
    return args && call_action(c, "run_script", args, c->who, e);
}

/* ---- the audit ---------------------------------------------------------------- */

/* As much of "2026-11-21T12:00:00Z" as is said; the trail's times sort as text. */
static bool read_time(const struct route_call *c, const char *name, struct str *out,
                      struct err *e)
{
    *out = route_text(c, name);
    bool ok = out->n == 0 || (out->n >= 4 && out->n <= 30);
    for (size_t i = 0; i < out->n && ok; i++)
        ok = out->at[i] != '\0' && strchr("0123456789-:.TZ", out->at[i]) != NULL &&
             (i >= 4 || (out->at[i] >= '0' && out->at[i] <= '9'));
    return ok || err_set(e, ERR_INVALID,
                         "the parameter %s is \"%.*s\"; it is a time such as "
                         "2026-11-21T12:00:00Z, or its beginning",
                         name, STR_ARGS(str_cut(*out, 40)));
}

bool route_audit(struct route_call *c, struct err *e)
{
    int64_t limit;
    char next[72];
    struct audit_filter f = {.next = next,
                             .action = route_text(c, "action"),
                             .caller = route_text(c, "caller"),
                             .result = route_text(c, "result"),
                             .before = route_text(c, "cursor")};
    if (!read_time(c, "since", &f.since, e) || !read_time(c, "until", &f.until, e) ||
        !route_number(c, "limit", AUDIT_READ_USUAL, 1, AUDIT_READ_MAX, &limit, e))
        return false;
    f.limit = (size_t)limit;
    return work_audit(c->work, &f, &c->out->body, e) &&
           (!next[0] || route_next(c, str_of(next), e));
}
