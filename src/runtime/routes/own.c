/* The routes that are no capability's: which workspaces there are, what was done in one, and
 * the document that describes all routes. */
#include "actions/actions.h"
#include "performing/performing.h"
#include "routes/internal.h"
#include "routes/routes.api.h"

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

/* The workspaces that the caller may know of; a script knows its own. */
static const struct json *known(struct route_call *c, struct err *e)
{
    scoped_buf struct buf text = buf_of(ROUTE_ANSWER);
    return actions_vaults(c->actions, c->who, &text, e)
               ? json_read(buf_view(&text), c->arena, e)
               : NULL;
}

static bool route_workspaces(struct route_call *c, struct err *e)
{
    const struct json *list = known(c, e);
    struct work *script = c->who->within
                              ? work_begin(c->actions, c->who, STR(""), c->route->what, e)
                              : NULL;
    struct json_iter it = json_iter(list);
    struct json_writer w = route_writer(c);
    json_open_array(&w);
    while (json_next(&it))
        if (!script || str_is(json_str(json_get(it.value, "id")), work_vault(script)))
            put_workspace(it.value, &w);
    json_close(&w);
    if (script)
        work_end(script, NULL);
    return list && e->code == ERR_NONE;
}

static bool route_workspace(struct route_call *c, struct err *e)
{
    const struct json *list = known(c, e);
    struct json_iter it = json_iter(list);
    struct json_writer w = route_writer(c);
    while (json_next(&it))
        if (str_is(json_str(json_get(it.value, "id")), work_vault(c->work))) {
            put_workspace(it.value, &w);
            return true;
        }
    return list ? err_set(e, ERR_NOT_FOUND, "there is no workspace \"%.*s\"",
                          STR_ARGS(str_cut(c->values[0], 60)))
                : false;
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

static bool route_audit(struct route_call *c, struct err *e)
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

/* ---- the rows ----------------------------------------------------------------- */

static const struct route_schema schemas[] = {COMPONENTS};

static const struct route workspace_rows[] = {
    {ROUTE("GET", "/workspaces"), .operation = "listWorkspaces",
     .summary = "The workspaces that the caller may reach",
     TELLS("A token that names vaults sees those alone."), .run = route_workspaces,
     .flags = ROUTE_NO_WORKSPACE, .answer = "Workspace[]"},
    {ROUTE("GET", ROUTE_WORKSPACE), .operation = "getWorkspace",
     .summary = "One workspace", TELLS("Its name and description."),
     .run = route_workspace, .answer = "Workspace"},
};
static const struct route_group workspaces = {.tag = "Workspaces",
                                              .about =
                                                  "Vaults: folders of Markdown notes.",
                                              ROWS(workspace_rows),
                                              .order = 10,
                                              SCHEMAS(schemas)};

static const struct route server_rows[] = {
    {ROUTE("GET", ROUTE_WORKSPACE "/audit"), .operation = "listRecords",
     .summary = "What was done in the workspace, the newest first",
     TELLS("The audit of the workspace, for the person of this machine and for "
           "tokens with the scope audit. Without limit the last 100; Link has those "
           "before them."),
     .run = route_audit, .scope = SCOPE_AUDIT, .answer = "Record[]",
     .parameters = AUDIT_PARAMETERS},
};
static const struct route_group server = {.tag = "Server",
                                          .about = "What was done, and this document.",
                                          ROWS(server_rows),
                                          .order = 90};

static const struct route document_rows[] = {
    {ROUTE("GET", "/openapi.json"), .operation = "describe", .summary = "This document",
     TELLS("Made from the table that the server works by; needs no rights beyond "
           "coming in."),
     .run = route_openapi, .flags = ROUTE_NO_WORKSPACE, .answer = "Description"},
};
static const struct route_group document = {
    .tag = "Server", ROWS(document_rows), .order = 100, .root = "/openapi.json"};

const struct route_group *const own_routes[] = {&workspaces, &server, &document, NULL};
