/* run_script: a program whose only access is host.call(method, path, body), answered by
 * the REST routes in this process.
 *
 * The routes belong to a room above this one, which passes in a function. Their work on
 * notes comes back as struct work (performing/work.c), and belongs to the script's own call: the
 * same rights, the same audit record, the versions it has read and changed. Computing is
 * counted in fuel, so a script always gets equally far. Source: seed 003. */
#include <stdio.h>

#include "caller/caller.h"
#include "evaluating/evaluating.h"
#include "evaluating/internal.h"
#include "evaluating/limits.h"
#include "evaluating/report.h"
#include "record/record.h"
#include "script/script.h"

#define FUEL_USUAL 10000000000         /* about a second and a half of CPU time */
#define REQUEST_MAX ((size_t)16 << 20) /* bytes of one call's arguments */
#define REPLY_MAX ((size_t)64 << 20)
#define NEXT_MAX 4096u

/* ---- host.call ----------------------------------------------------------- */

static const char wrap[] =
    "(call, callSync, kit) => (method, path, body) => {"
    " if (typeof method !== 'string' || typeof path !== 'string')"
    "  throw new TypeError('host.call(method, path, body) takes two strings, such as "
    "\"GET\" and `/workspaces/${workspace_id}/notes`, and an object or nothing');"
    " const {status, body: answer, next} = body === undefined ? callSync(method, path)"
    "  : callSync(method, path, body);"
    /* `next` is not enumerable: an array stays an array when it is printed. */
    " if (next) Object.defineProperty(answer, 'next', {value: next});"
    " if (status >= 200 && status < 300) return answer;"
    " const said = answer?.detail ?? answer?.title ?? '';"
    " const error = kit.error('HostCallError',"
    "  `${method} ${path} answered ${status}${said && ': ' + said}`);"
    " error.status = status;"
    " error.problem = answer;"
    " throw error; }";

static const struct script_row rows[] = {
    {.name = "host.call", .sync = true, .wrap = wrap}};

const struct script_row *run_script_rows(size_t *count)
{
    *count = LENGTH(rows);
    return rows;
}

/* Strings are sent as text, everything else as JSON. */
static bool put_body(const struct json *body, struct buf *out)
{
    if (json_is(body, JSON_STRING))
        return buf_str(out, json_str(body));
    struct json_writer w = json_writer(out);
    if (body)
        json_put(&w, body);
    return !out->failed;
}

/* The body for an error of the routes themselves (RFC 9457). */
static void reply_put_problem(const struct err *why, struct action_reply *out)
{
    const struct err_kind *kind = err_kind(why->code);
    buf_clear(&out->body);
    struct json_writer w = json_writer(&out->body);
    json_open_object(&w);
    json_pair_cstr(&w, "title", kind->name);
    json_pair_int(&w, "status", kind->http);
    json_pair_cstr(&w, "detail", why->msg);
    json_pair_cstr(&w, "code", kind->code);
    json_close(&w);
    out->status = kind->http;
    out->is_json = true;
}

static bool put_reply(const struct action_reply *reply, struct buf *out, struct err *e)
{
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_pair_int(&w, "status", reply->status);
    if (reply->is_json && reply->body.n)
        json_pair_raw(&w, "body", buf_view(&reply->body));
    else if (reply->body.n)
        json_pair_str(&w, "body", buf_view(&reply->body));
    else
        json_pair_raw(&w, "body", STR("null"));
    if (reply->next.n)
        json_pair_str(&w, "next", buf_view(&reply->next));
    json_close(&w);
    return buf_check(out, "the answer", e);
}

/* Sends the request as the script's caller, within this call. */
static void request(struct evaluation *v, const struct json *args,
                    struct action_reply *reply)
{
    struct err why = {0};
    struct actions *a = v->actions;
    struct caller inner = *v->who;
    inner.within = v;
    inner.client = NULL;
    inner.vault = NULL; /* the script cannot change the caller's vault */
    scoped_buf struct buf body;
    buf_init(&body, REQUEST_MAX);
    struct action_request rq = {.method = json_str(json_at(args, 0)),
                                .path = json_str(json_at(args, 1)),
                                .who = &inner};
    if (!put_body(json_at(args, 2), &body))
        err_set(&why, ERR_LIMIT, "the body of a request has at most %zu bytes",
                REQUEST_MAX);
    rq.body = buf_view(&body);
    if (!why.code && !a->on_request)
        err_set(&why, ERR_NOT_FOUND, "this server has no routes");
    if (!why.code)
        (void)a->on_request(a->request_arg, &rq, reply, &why);
    if (why.code)
        reply_put_problem(&why, reply);
}

static bool request_perform(void *arg, struct script_task *t, uint32_t row,
                            struct str args, struct buf *out, struct err *e)
{
    (void)t;
    (void)row; /* there is one row */
    scoped(arena_free) struct arena *arena = arena_new(CALL_ARGS_MAX);
    const struct json *values = json_read(args, arena, e);
    if (!values)
        return err_wrap(e, "host.call");
    struct action_reply reply = {0};
    buf_init(&reply.body, REPLY_MAX);
    buf_init(&reply.next, NEXT_MAX);
    request(arg, values, &reply);
    bool ok = put_reply(&reply, out, e);
    buf_done(&reply.body);
    buf_done(&reply.next);
    return ok;
}

/* ---- the action ---------------------------------------------------------- */

static bool read_script(const struct action_call *c, struct script_request *q,
                        struct err *e)
{
    const struct policy *policy = c->place->permit.policy;
    *q = (struct script_request){.compute_ms = permit_timeout_ms(&c->place->permit),
                                 .total_ms = policy->total_ms,
                                 .calls_max = policy->host_calls,
                                 .logs_max = LOGS_MAX,
                                 .cancel = c->who->cancel,
                                 .principal = caller_principal(c->who),
                                 .perform = request_perform,
                                 .over = evaluation_stop_calls,
                                 .due = evaluation_set_deadline,
                                 .wrote = evaluation_log,
                                 .stood = evaluation_human_wait_ns};
    if (!limit_code(c, &q->code, e) || !limit_memory(c, &q->memory_bytes, e) ||
        !limit_read(c->arguments, "fuel", 1, FUEL_USUAL, (int64_t)policy->fuel, "units",
                    &q->fuel, e))
        return false;
    q->result_max = limit_result(q->memory_bytes);
    return true;
}

/* One kind for all errors of the script itself; `name` tells them apart. */
static void name_kind(struct script_outcome *o)
{
    if (o->type == ERR_SYNTAX)
        o->type = ERR_GUEST;
}

static bool script_evaluate(const struct action_call *c, struct script *runner,
                            struct script_request *q, struct answer *out, struct err *e)
{
    struct evaluation v;
    evaluation_init(&v, c);
    v.by_requests = true;
    v.cancel = &v.stopping;
    q->perform_arg = &v;
    struct script_outcome o;
    script_outcome_init(&o);
    bool ran = check_passes(c, q, NULL, e) && script_run(runner, q, &o, e);
    if (ran) {
        struct json_writer w = json_writer(&out->json);
        check_warns(c, q, &o, NULL, STR(""), &v);
        name_kind(&o);
        o.changed = v.advice.written;
        notice_losses(&v, &o);
        evaluation_put_aside(c, &v, &o);
        account_script(c->account, &o);
        report_write(&v, &o, &w);
        out->is_error = !o.success;
    }
    script_outcome_done(&o);
    evaluation_done(&v);
    return ran && buf_check(&out->json, "the answer", e);
}

const struct json *action_run_script_variables(const struct action_call *c)
{
    struct err none = {0};
    return json_read(STR("{\"host\":0,\"workspace_id\":0}"), c->arena, &none);
}

bool action_run_script(const struct action_call *c, struct answer *out, struct err *e)
{
    struct script *runner = services_runner(c->actions->services, e);
    struct script_request q;
    if (!runner || !read_script(c, &q, e))
        return false;
    char vault[VAULT_ID_MAX + 1];
    vault_set_id(c->actions->vaults, c->place->vault, vault);
    scoped_buf struct buf context;
    buf_init(&context, BUF_LINE);
    struct json_writer w = json_writer(&context);
    json_open_object(&w);
    json_pair_cstr(&w, "workspace_id", vault);
    json_close(&w);
    q.context = buf_view(&context);
    return script_evaluate(c, runner, &q, out, e);
}
