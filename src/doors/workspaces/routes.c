/* The table of routes, and the way of a request through it. */
#include <stdio.h>

#include "caller/caller.h"
#include "crypto/crypto.h"
#include "performing/performing.h"
#include "workspaces/route.h"
#include "workspaces/schemas.api.h"

#define WORKSPACES "/workspaces"
#define WORKSPACE WORKSPACES "/{workspace_id}"
#define NOTE WORKSPACE "/notes/{note_id}"
#define TOOLS "/tools"
#define MACHINES "/vm"
#define FUNCTIONS WORKSPACE "/functions"
#define FUNCTION FUNCTIONS "/{function}"
#define WARNING_MAX 1000u /* bytes of what a header tells */
#define ROUTE(m, p) .method = m, .pattern = p, .what = m " " p

/* A row whose pattern has more words stands before those with fewer: a note that is
 * called "history" is reached by its id with %2F. */
const struct route routes[] = {
    {ROUTE("GET", WORKSPACES), .operation = "listWorkspaces",
     .summary = "The workspaces that the caller may reach", .run = route_workspaces,
     .flags = ROUTE_NO_WORKSPACE, .answer = "Workspace[]"},
    {ROUTE("GET", WORKSPACE), .operation = "getWorkspace", .summary = "One workspace",
     .run = route_workspace, .answer = "Workspace"},
    {ROUTE("GET", WORKSPACE "/notes"), .operation = "listNotes",
     .summary = "The notes, the one updated last first", .run = route_list_notes,
     .answer = "NoteRow[]", .parameters = LIST_PARAMETERS},
    {ROUTE("POST", WORKSPACE "/notes"), .operation = "createNote",
     .summary = "Makes a note, of Markdown or of its parts", .run = route_create_note,
     .flags = ROUTE_MARKDOWN_IN, .status = 201, .body = "NewNote", .answer = "Note"},
    {ROUTE("POST", WORKSPACE "/query"), .operation = "queryNotes",
     .summary = "The notes that a filter describes", .run = route_query,
     .scope = SCOPE_READ, .body = "Query", .answer = "NoteRow[]",
     .parameters = QUERY_PARAMETERS},
    {ROUTE("GET", WORKSPACE "/search"), .operation = "searchNotes",
     .summary = "Full-text search, best first", .run = route_search,
     .answer = "SearchHit[]", .parameters = SEARCH_PARAMETERS},
    {ROUTE("GET", WORKSPACE "/links"), .operation = "listLinks",
     .summary = "All links from note to note", .run = route_links, .answer = "Link[]",
     .parameters = LINK_PARAMETERS},
    {ROUTE("GET", WORKSPACE "/classes"), .operation = "listClasses",
     .summary = "The classes of notes, and their fields", .run = route_classes,
     .answer = "Class[]"},
    {ROUTE("GET", WORKSPACE "/classes/{class}"), .operation = "getClass",
     .summary = "One class", .run = route_class, .answer = "Class"},
    {ROUTE("POST", WORKSPACE "/evaluate"), .operation = "evaluate",
     .summary = "Evaluates code over the notes, as evaluate_note_code does",
     .run = route_evaluate, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORK, .body = "Evaluation",
     .answer = "Evaluated"},
    {ROUTE("POST", WORKSPACE "/run"), .operation = "runScript",
     .summary = "Runs a script that calls these routes, as run_script does",
     .run = route_run, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORK, .body = "Script",
     .answer = "Evaluated"},
    {ROUTE("GET", WORKSPACE "/audit"), .operation = "listRecords",
     .summary = "What was done in the workspace, the newest first", .run = route_audit,
     .scope = SCOPE_AUDIT, .answer = "Record[]", .parameters = AUDIT_PARAMETERS},
    {ROUTE("GET", FUNCTIONS), .operation = "listFunctions",
     .summary = "The custom functions", .run = route_list_functions,
     .flags = ROUTE_NO_WORK, .answer = "FunctionRow[]",
     .parameters = FUNCTION_LIST_PARAMETERS},
    {ROUTE("POST", FUNCTIONS), .operation = "registerFunction",
     .summary = "Registers a custom function, once it is checked and tested",
     .run = route_register_function, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORK,
     .status = 201, .body = "NewFunction", .answer = "KeptFunction"},
    {ROUTE("DELETE", FUNCTIONS), .operation = "deleteFunctions",
     .summary = "Deletes several custom functions, or none of them",
     .run = route_delete_functions, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORK,
     .answer = "DeletedFunctions", .parameters = FUNCTIONS_DELETE_PARAMETERS},
    {ROUTE("POST", FUNCTIONS "/validate"), .operation = "validateFunction",
     .summary = "Checks a definition without keeping it", .run = route_validate_function,
     .flags = ROUTE_OUTSIDE | ROUTE_NO_WORK, .body = "FunctionDraft",
     .answer = "FunctionValidity"},
    {ROUTE("GET", FUNCTIONS "/export"), .operation = "exportFunctions",
     .summary = "A file of functions, for another workspace",
     .run = route_export_functions, .flags = ROUTE_NO_WORK, .answer = "FunctionFile",
     .parameters = FUNCTION_EXPORT_PARAMETERS},
    {ROUTE("POST", FUNCTIONS "/import"), .operation = "importFunctions",
     .summary = "Takes over the functions of a file; none of them is run",
     .run = route_import_functions, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORK,
     .body = "AnyFunctionFile", .answer = "FunctionImport",
     .parameters = FUNCTION_IMPORT_PARAMETERS},
    {ROUTE("GET", FUNCTIONS "/backups"), .operation = "listFunctionBackups",
     .summary = "Backups of all custom functions, the newest first",
     .run = route_list_backups, .flags = ROUTE_NO_WORK, .answer = "FunctionBackup[]"},
    {ROUTE("POST", FUNCTIONS "/backups"), .operation = "backupFunctions",
     .summary = "Makes one", .run = route_backup_functions,
     .flags = ROUTE_OUTSIDE | ROUTE_NO_WORK, .answer = "FunctionBackups"},
    {ROUTE("POST", FUNCTIONS "/restore"), .operation = "restoreFunctions",
     .summary = "Puts all custom functions back to a backup",
     .run = route_restore_functions, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORK,
     .body = "FunctionRestore", .answer = "FunctionsRestored"},
    {ROUTE("GET", FUNCTIONS "/stats"), .operation = "getFunctionStats",
     .summary = "How the custom functions are used", .run = route_function_stats,
     .flags = ROUTE_NO_WORK, .answer = "FunctionStats"},
    {ROUTE("GET", FUNCTIONS "/templates"), .operation = "listFunctionTemplates",
     .summary = "Ready-made functions for common patterns", .run = route_list_templates,
     .flags = ROUTE_NO_WORK, .answer = "FunctionTemplate[]"},
    {ROUTE("GET", FUNCTIONS "/templates/{template}"), .operation = "getFunctionTemplate",
     .summary = "One, as a definition", .run = route_get_template, .flags = ROUTE_NO_WORK,
     .answer = "FunctionTold", .parameters = FUNCTION_TEMPLATE_PARAMETERS},
    {ROUTE("GET", FUNCTION "/versions"), .operation = "listFunctionVersions",
     .summary = "What the function was before, the newest first",
     .run = route_function_versions, .flags = ROUTE_NO_WORK, .answer = "FunctionVersions",
     .parameters = FUNCTION_VERSIONS_PARAMETERS},
    {ROUTE("GET", FUNCTION "/stats"), .operation = "getStatsOfFunction",
     .summary = "How one custom function is used", .run = route_function_stats,
     .flags = ROUTE_NO_WORK, .answer = "FunctionStats"},
    {ROUTE("POST", FUNCTION "/test"), .operation = "testFunction",
     .summary = "Runs it once, or its examples; what it writes is thrown away",
     .run = route_test_function, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORK,
     .body = "FunctionTest", .answer = "FunctionTested"},
    {ROUTE("POST", FUNCTION "/duplicate"), .operation = "duplicateFunction",
     .summary = "Registers a copy under another name", .run = route_duplicate_function,
     .flags = ROUTE_OUTSIDE | ROUTE_NO_WORK, .status = 201, .body = "FunctionCopy",
     .answer = "KeptFunction"},
    {ROUTE("POST", FUNCTION "/rollback"), .operation = "rollbackFunction",
     .summary = "Makes an older version the current one, as a new version",
     .run = route_rollback_function,
     .flags = ROUTE_OUTSIDE | ROUTE_NO_WORK | ROUTE_IF_MATCH, .body = "FunctionRollback",
     .answer = "KeptFunction"},
    {ROUTE("GET", FUNCTION), .operation = "getFunction", .summary = "One custom function",
     .run = route_get_function, .flags = ROUTE_NO_WORK, .answer = "FunctionTold",
     .parameters = FUNCTION_GET_PARAMETERS},
    {ROUTE("PATCH", FUNCTION), .operation = "updateFunction",
     .summary = "Changes what is given: a new version", .run = route_update_function,
     .flags = ROUTE_OUTSIDE | ROUTE_NO_WORK | ROUTE_IF_MATCH, .body = "FunctionPatch",
     .answer = "KeptFunction"},
    {ROUTE("DELETE", FUNCTION), .operation = "deleteFunction",
     .summary = "Deletes it; its versions are kept", .run = route_delete_function,
     .flags = ROUTE_OUTSIDE | ROUTE_NO_WORK | ROUTE_IF_MATCH,
     .answer = "DeletedFunctions", .parameters = FUNCTION_DELETE_PARAMETERS},
    {ROUTE("GET", TOOLS), .operation = "listTools", .summary = "The command-line tools",
     .run = route_tools, .flags = ROUTE_NO_WORKSPACE, .answer = "Tool[]",
     .parameters = TOOL_PARAMETERS},
    {ROUTE("GET", TOOLS "/{tool}"), .operation = "getTool",
     .summary = "One tool, and what it takes", .run = route_tool,
     .flags = ROUTE_NO_WORKSPACE, .answer = "ToolDescription",
     .parameters = TOOL_PARAMETERS},
    {ROUTE("POST", TOOLS "/{tool}"), .operation = "runTool",
     .summary = "Runs a tool; the body is what wasm_{tool} takes as its arguments",
     .run = route_run_tool, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE,
     .body = "ToolArguments", .answer = "ToolResult", .parameters = TOOL_PARAMETERS},
    {ROUTE("GET", MACHINES), .operation = "listMachines",
     .summary = "The caller's Linux machines", .run = route_machines,
     .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE, .answer = "Machine[]",
     .parameters = MACHINE_PARAMETERS},
    {ROUTE("POST", MACHINES), .operation = "startMachine",
     .summary =
         "Starts a Linux machine; the first is the one that commands use by themselves",
     .run = route_start_machine, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE,
     .status = 201, .body = "MachineOptions", .answer = "Machine",
     .parameters = MACHINE_PARAMETERS},
    {ROUTE("POST", MACHINES "/exec"), .operation = "execInMachine",
     .summary =
         "Runs a command in a Linux machine, which is made where there is none; with "
         "Accept: text/event-stream its output comes as it is printed",
     .run = route_exec, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE | ROUTE_EVENTS,
     .body = "MachineCommand", .answer = "MachineResult",
     .parameters = MACHINE_PARAMETERS},
    {ROUTE("DELETE", MACHINES "/{machine}"), .operation = "stopMachine",
     .summary =
         "Stops a Linux machine, with all that is in it; \"default\" is the one that "
         "commands use by themselves",
     .run = route_stop_machine, .flags = ROUTE_OUTSIDE | ROUTE_NO_WORKSPACE,
     .answer = "StoppedMachine", .parameters = MACHINE_PARAMETERS},
    {ROUTE("GET", "/openapi.json"), .operation = "describe", .summary = "This document",
     .run = route_openapi, .flags = ROUTE_NO_WORKSPACE, .answer = "Description"},
    {ROUTE("GET", NOTE "/history"), .operation = "listRevisions",
     .summary = "What the note held before, the newest first", .run = route_history,
     .answer = "Revision[]", .parameters = HISTORY_PARAMETERS},
    {ROUTE("GET", NOTE "/history/{revision}"), .operation = "getRevision",
     .summary = "The note as it was", .run = route_revision, .flags = ROUTE_MARKDOWN_OUT,
     .answer = "OldNote"},
    {ROUTE("POST", NOTE "/history/{revision}/restore"), .operation = "restoreRevision",
     .summary = "Takes the note back to what it was, as a new revision",
     .run = route_restore, .flags = ROUTE_IF_MATCH, .answer = "Note"},
    {ROUTE("GET", NOTE), .operation = "getNote",
     .summary = "One note, as JSON or as Markdown", .run = route_get_note,
     .flags = ROUTE_MARKDOWN_OUT, .answer = "Note"},
    {ROUTE("PUT", NOTE), .operation = "replaceNote", .summary = "Replaces the whole file",
     .run = route_put_note,
     .flags = ROUTE_MARKDOWN_IN | ROUTE_IF_MATCH | ROUTE_NEEDS_MATCH, .body = "WholeNote",
     .answer = "Note"},
    {ROUTE("PATCH", NOTE), .operation = "updateNote",
     .summary = "Changes what is given, and leaves the rest", .run = route_patch_note,
     .flags = ROUTE_IF_MATCH | ROUTE_NEEDS_MATCH, .body = "NotePatch", .answer = "Note"},
    {ROUTE("DELETE", NOTE), .operation = "deleteNote",
     .summary = "Moves the note to the trash", .run = route_delete_note,
     .flags = ROUTE_IF_MATCH, .answer = "DeletedNote", .parameters = DELETE_PARAMETERS},
};
const size_t route_count = LENGTH(routes);

/* ---- which one ----------------------------------------------------------------- */

/* HEAD is GET; that its body stays behind is the carrier's to see to. */
static struct str method_of(const struct route_request *rq)
{
    return str_is(rq->method, "HEAD") ? STR("GET") : rq->method;
}

static void list_methods(const char *pattern, struct buf *out)
{
    for (size_t i = 0; i < route_count; i++)
        if (!strcmp(routes[i].pattern, pattern))
            buf_printf(out, "%s%s", routes[i].method,
                       str_is(str_of(routes[i].method), "GET") ? ", HEAD, " : ", ");
    buf_cstr(out, "OPTIONS");
}

static bool wrong_method(struct route_call *c, const char *pattern, struct err *e)
{
    scoped_buf struct buf allow = buf_of(BUF_NAME);
    list_methods(pattern, &allow);
    if (!route_header(c, "Allow", buf_view(&allow), e))
        return false;
    if (str_is(c->rq->method, "OPTIONS")) {
        c->out->status = 204;
        return true;
    }
    c->refusal = 405;
    return err_set(e, ERR_INVALID, "%s does not take %.*s; it takes %s", pattern,
                   STR_ARGS(str_cut(c->rq->method, 20)), buf_cz(&allow));
}

/* Sets c->route, or answers without one: OPTIONS. */
static bool routes_find(struct route_call *c, struct err *e)
{
    const char *known = NULL;
    for (size_t i = 0; i < route_count; i++) {
        if (known && strcmp(known, routes[i].pattern) != 0)
            continue;
        if (!known && !locator_fits(&c->locator, routes[i].pattern, c->values,
                                    ROUTE_VALUES, c->arena, e)) {
            if (e->code)
                return false;
            continue;
        }
        known = routes[i].pattern;
        if (str_is(method_of(c->rq), routes[i].method)) {
            c->route = &routes[i];
            return true;
        }
    }
    return known ? wrong_method(c, known, e)
                 : err_set(e, ERR_NOT_FOUND,
                           "there is nothing at this path; /openapi.json describes all "
                           "paths, and \"/workspaces\" lists the workspaces");
}

/* ---- is it what the route takes? -------------------------------------------------- */

static bool route_check_parameters(const struct route_call *c, struct err *e)
{
    const struct route_parameter *known = c->route->parameters;
    for (size_t i = 0; i < c->locator.parameter_count; i++) {
        const struct route_parameter *p = known;
        while (p && p->name && !str_is(c->locator.parameters[i].name, p->name))
            p++;
        if (p && p->name)
            continue;
        scoped_buf struct buf names = buf_of(BUF_LINE);
        for (p = known; p && p->name; p++)
            buf_printf(&names, "%s%s", p == known ? "" : ", ", p->name);
        return err_set(e, ERR_INVALID, "the parameter \"%.*s\" is not known here; %s%s",
                       STR_ARGS(str_cut(c->locator.parameters[i].name, 60)),
                       names.n ? "known are " : "there is none", buf_cz(&names));
    }
    return true;
}

static bool choose_type(struct route_call *c, struct err *e)
{
    unsigned json = media_wanted(c->rq->accept, "application/json"), markdown = 0,
             events = 0;
    if (c->route->flags & ROUTE_MARKDOWN_OUT)
        markdown = media_wanted(c->rq->accept, "text/markdown");
    if (c->route->flags & ROUTE_EVENTS)
        events = media_wanted(c->rq->accept, "text/event-stream");
    c->wants_markdown = markdown > json;
    c->out->events = events > json;
    if (json || markdown || events)
        return true;
    c->refusal = 406;
    return err_set(
        e, ERR_INVALID, "no representation matches Accept; available: %s",
        c->route->flags & ROUTE_MARKDOWN_OUT ? "application/json and text/markdown"
        : c->route->flags & ROUTE_EVENTS     ? "application/json and text/event-stream"
                                             : "application/json");
}

static bool is_json(struct str type)
{
    return !type.n || media_is(type, "application/json") ||
           media_is(type, "application/merge-patch+json");
}

static bool read_body(struct route_call *c, struct err *e)
{
    const struct route *r = c->route;
    if (!r->body)
        return true;
    bool markdown =
        (r->flags & ROUTE_MARKDOWN_IN) && media_is(c->rq->type, "text/markdown");
    if (!markdown && !is_json(c->rq->type)) {
        c->refusal = 415;
        return err_set(e, ERR_INVALID,
                       "unsupported media type \"%.*s\"; supported: application/json%s",
                       STR_ARGS(str_cut(c->rq->type, 60)),
                       r->flags & ROUTE_MARKDOWN_IN ? " and text/markdown" : "");
    }
    if (markdown) {
        c->markdown = c->rq->body.at ? c->rq->body : STR("");
        return str_is_utf8(c->markdown) ||
               err_set(e, ERR_INVALID, "the body is no UTF-8");
    }
    const struct json *schema = json_read(str_of(schema_named(r->body)), c->arena, e);
    c->body = schema ? json_read(c->rq->body, c->arena, e) : NULL;
    if (!c->body)
        return err_wrap(e, "body");
    return json_schema_check(schema, c->body, "body", e);
}

/* ---- answering --------------------------------------------------------------------- */

/* The entity tag of lists and the like is a hash of the answer. */
static bool answer_etag(struct route_call *c, struct err *e)
{
    for (unsigned i = 0; i < c->out->field_count; i++)
        if (!strcmp(c->out->fields[i].name, "ETag"))
            return true;
    char hash[CRYPTO_HASH_HEX];
    crypto_hash_hex(buf_view(&c->out->body), hash);
    return route_etag(c, (struct str){hash, 32}, e);
}

static void answer_unchanged(struct route_call *c)
{
    const char *tag = "";
    for (unsigned i = 0; i < c->out->field_count; i++)
        if (!strcmp(c->out->fields[i].name, "ETag"))
            tag = c->out->fields[i].value;
    struct str bare = {tag + 1, strlen(tag) - 2};
    if (!c->rq->if_none_match.n || !condition_names(c->rq->if_none_match, bare, true))
        return;
    buf_clear(&c->out->body);
    c->out->status = 304;
    c->out->type = NULL;
}

/* Warning: 299 - "no note has the type 'projct'; there are: ...", as far as a header holds
 * it: in ASCII, cut, without quotes. */
static void answer_warning(struct route_call *c)
{
    struct err none = {0};
    scoped_buf struct buf told;
    scoped_buf struct buf text;
    buf_init(&told, BUF_TEXT);
    buf_init(&text, ROUTE_FIELD_SIZE);
    if (c->work)
        work_told(c->work, &told);
    if (!told.n)
        return;
    struct str cut = str_cut(buf_view(&told), WARNING_MAX);
    buf_cstr(&text, "299 - \"");
    for (size_t i = 0; i < cut.n; i++) {
        bool plain = cut.at[i] >= ' ' && cut.at[i] <= '~';
        buf_char(&text, !plain                                  ? '?'
                        : cut.at[i] == '"' || cut.at[i] == '\\' ? '\''
                                                                : cut.at[i]);
    }
    buf_char(&text, '"');
    (void)route_header(c, "Warning", buf_view(&text), &none);
}

static bool route_perform(struct route_call *c, struct err *e)
{
    c->out->status = c->route->status ? c->route->status : 200;
    c->out->type = "application/json";
    bool ok = c->route->run(c, e) && buf_check(&c->out->body, "the answer", e);
    if (ok)
        answer_warning(c);
    if (!ok || !str_is(method_of(c->rq), "GET") || c->out->status != 200)
        return ok;
    if ((c->route->flags & ROUTE_MARKDOWN_OUT) &&
        !route_header(c, "Vary", STR("Accept"), e))
        return false;
    if (!answer_etag(c, e))
        return false;
    answer_unchanged(c);
    return true;
}

/* Within the workspace that the path names. */
static bool route_work(struct route_call *c, struct err *e)
{
    if (c->route->flags & (ROUTE_NO_WORKSPACE | ROUTE_NO_WORK))
        return route_perform(c, e);
    c->work = work_begin(c->actions, c->who, c->values[0], c->route->what, e);
    if (!c->work)
        return false;
    bool ok = route_perform(c, e);
    work_end(c->work, ok ? NULL : e);
    return ok;
}

static bool route_answer_call(struct route_call *c, struct err *e)
{
    if (!locator_read(c->rq->target, &c->locator, c->arena, e) || !routes_find(c, e))
        return false;
    if (!c->route)
        return true;
    if (c->who->within && (c->route->flags & ROUTE_OUTSIDE))
        return err_set(e, ERR_DENIED, "%s is not for code in the sandbox",
                       c->route->what);
    return route_check_parameters(c, e) && choose_type(c, e) && read_body(c, e) &&
           route_work(c, e);
}

/* The scopes that a credential needs for it. */
static unsigned route_scope(const struct route *r)
{
    return r->scope                    ? r->scope
           : r->flags & ROUTE_OUTSIDE  ? SCOPE_EVALUATE
           : !strcmp(r->method, "GET") ? SCOPE_READ
                                       : SCOPE_WRITE;
}

/* Where the credential is not enough, it is told what would be. */
static void route_challenge(struct route_call *c)
{
    const struct grant *g = c->who->grant;
    if (!g || !c->route || (g->scopes & route_scope(c->route)))
        return;
    struct err none = {0};
    char text[CHALLENGE_MAX];
    grant_challenge(g, route_scope(c->route), text);
    (void)route_header(c, "WWW-Authenticate", str_of(text), &none);
}

/* A refusal keeps only the header Allow. */
static void route_refuse(struct route_call *c, const struct err *why)
{
    struct route_answer *out = c->out;
    unsigned kept = 0;
    for (unsigned i = 0; i < out->field_count; i++)
        if (!strcmp(out->fields[i].name, "Allow"))
            out->fields[kept++] = out->fields[i];
    out->field_count = kept;
    if (why->code == ERR_DENIED)
        route_challenge(c);
    workspaces_problem(out, c->refusal ? c->refusal : err_kind(why->code)->http, why,
                       c->rq->target);
}

bool workspaces_request(struct workspaces *w, const struct route_request *rq,
                        const struct caller *who, struct route_answer *out)
{
    struct err e = {0};
    scoped(arena_free) struct arena *arena = arena_new(ROUTE_ARENA);
    struct route_call c = {
        .actions = w->actions, .rq = rq, .who = who, .arena = arena, .out = out};
    out->status = 200;
    out->field_count = 0;
    out->events = false;
    if (route_answer_call(&c, &e)) {
        if (out->status == 403) /* code was refused, in the shape of its answers */
            route_challenge(&c);
        return out->status < 400;
    }
    route_refuse(&c, &e);
    return false;
}
