/* The routes that run code. */
#include "code/code_routes.api.h"
#include "code/internal.h"
#include "json/json.h"

/* The answer of an action that evaluates: one shape, whether it went well or not; the
 * status is that of its error. */
static bool call_action(struct route_call *c, const char *name, const struct json *args,
                        struct str workspace, struct err *e)
{
    enum err_code outcome;
    if (!route_action(c, name, args, workspace, &outcome, e))
        return false;
    if (outcome)
        c->out->status = err_kind(outcome)->http;
    return true;
}

static bool route_evaluate(struct route_call *c, struct err *e)
{
    return call_action(c, "evaluate_note_code", c->body, c->values[0], e);
}

static bool route_check(struct route_call *c, struct err *e)
{
    return call_action(c, "check_code", c->body, c->values[0], e);
}

static bool route_run(struct route_call *c, struct err *e)
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
    return args && call_action(c, "run_script", args, STR(""), e);
}

static const struct route_schema schemas[] = {COMPONENTS};

static const struct route rows[] = {
    {ROUTE("POST", ROUTE_WORKSPACE "/evaluate"), .operation = "evaluate",
     .summary = "Evaluates code over the notes, as evaluate_note_code does",
     TELLS("Takes the arguments of evaluate_note_code and answers as it does: also "
           "where the code failed, with the status of its error."),
     .run = route_evaluate, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORK, .body = "Evaluation",
     .answer = "Evaluated"},
    {ROUTE("POST", ROUTE_WORKSPACE "/check"), .operation = "checkCode",
     .summary = "Checks code without running it, as check_code does",
     TELLS("The linter's findings, and those of the type checker as `types`, by line and "
           "column."),
     .run = route_check, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORK, .body = "Code",
     .answer = "Checked"},
    {ROUTE("POST", ROUTE_WORKSPACE "/run"), .operation = "runScript",
     .summary = "Runs a script that calls these routes, as run_script does",
     TELLS("The script's one way out is host.call(method, path, body), which makes "
           "requests to these routes under the caller's rights; computing is limited "
           "by fuel."),
     .run = route_run, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORK, .body = "Script",
     .answer = "Evaluated"},
};
const struct route_group code_routes = {.tag = "Code",
                                        .about = "Programs over the notes, in a sandbox.",
                                        ROWS(rows),
                                        .order = 50,
                                        SCHEMAS(schemas)};
