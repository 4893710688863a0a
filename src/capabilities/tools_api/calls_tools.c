/* The host calls tools.*: command-line tools for code. What code sees of them is
 * tools.js. */
#include "performing/performing.h"
#include "tools_api/tooling.h"
#include "tools_api/tools.api.h"
#include "tools_api/tools_api.h"

EMBED(tools_js, "src/capabilities/tools_api/tools.js");

#define ARENA_MAX ((size_t)256 << 20) /* of one call */

/* ---- running ----------------------------------------------------------------- */

static bool run(struct calling *x, const struct tool_order *orders, size_t count,
                const struct json *shared, struct json_writer *out, struct err *e)
{
    struct evaluation *v = x->v;
    scoped(arena_free) struct arena *arena = arena_new(ARENA_MAX);
    struct tool_call call = {.actions = v->actions,
                             .who = v->who,
                             .place = v->here,
                             .account = v->account,
                             .arena = arena,
                             .cancel = calling_cancel(x),
                             .consent = calling_consent(x),
                             .outcome = &x->outcome,
                             .code = v};
    bool success;
    return tooling_run(&call, orders, count, shared, out, &success, e);
}

static bool call_run(struct calling *x, struct json_writer *out, struct err *e)
{
    struct str name = json_str(json_at(x->args, 0));
    if (!name.n)
        return err_set(e, ERR_INVALID,
                       "tools.run needs the name of a tool, such as 'jq'; tools.list() "
                       "tells them");
    return run(x, &(struct tool_order){name, json_at(x->args, 1)}, 1, NULL, out, e);
}

static bool call_pipe(struct calling *x, struct json_writer *out, struct err *e)
{
    struct tool_order orders[TOOL_STAGES_MAX];
    size_t count;
    struct err none = {0};
    scoped(arena_free) struct arena *arena = arena_new(4096);
    const struct json *shared = json_at(x->args, 1);
    if (!json_is(shared, JSON_OBJECT))
        shared = json_read(STR("{}"), arena, &none);
    return tooling_orders(json_at(x->args, 0), orders, &count, e) &&
           run(x, orders, count, shared, out, e);
}

/* ---- telling ------------------------------------------------------------------- */

static void put_row(const struct tool *t, struct json_writer *out)
{
    json_open_object(out);
    json_pair_cstr(out, "name", t->name);
    json_pair_cstr(out, "version", t->version);
    json_pair_cstr(out, "category", t->category);
    json_pair_cstr(out, "description", t->description);
    json_pair_cstr(out, "source", t->builtin ? "builtin" : "user");
    json_close(out);
}

static bool put_list(struct actions *a, const struct place *place, struct str category,
                     struct json_writer *out, struct err *e)
{
    struct tool_list list;
    if (!tooling_list(a, place->vault, &list, e))
        return false;
    json_open_array(out);
    for (size_t i = 0; i < list.count; i++)
        if (tooling_offers(place->permit.policy, list.tools[i]) &&
            (!category.n || str_is(category, list.tools[i]->category)))
            put_row(list.tools[i], out);
    json_close(out);
    tooling_list_release(a, &list);
    return true;
}

static bool put_one(struct actions *a, const struct place *place, struct str name,
                    struct json_writer *out, struct err *e)
{
    const struct tool *t = tooling_find(a, place->vault, name, e);
    if (!t)
        return false;
    json_open_object(out);
    tooling_describe(t, true, out);
    json_close(out);
    tool_release(actions_catalogue(a, e), t);
    return true;
}

bool actions_tools(struct actions *a, const struct caller *who, struct str name,
                   struct buf *out, struct err *e)
{
    struct place place;
    unsigned last = place_last(a, who);
    struct json_writer w = json_writer(out);
    if (!place_open(&place, a, last ? last : vault_set_begin(a->vaults, who->grant), who,
                    NULL, e))
        return false;
    bool ok =
        name.n ? put_one(a, &place, name, &w, e) : put_list(a, &place, STR(""), &w, e);
    place_close(&place);
    return ok && buf_check(out, "the answer", e);
}

static bool call_list(struct calling *x, struct json_writer *out, struct err *e)
{
    struct str category = json_str(json_get(json_at(x->args, 0), "category"));
    return put_list(x->v->actions, x->v->here, category, out, e);
}

static bool call_describe(struct calling *x, struct json_writer *out, struct err *e)
{
    struct str name = json_str(json_at(x->args, 0));
    if (!name.n)
        return err_set(e, ERR_INVALID,
                       "tools.describe needs the name of a tool, such as 'jq'");
    return put_one(x->v->actions, x->v->here, name, out, e);
}

/* ---- the rows -------------------------------------------------------------------- */

/* Types that signatures name. */
static const struct api_type types[] = {
    {"ToolFiles",
     "{[name: string]: string | Uint8Array | ArrayBuffer | {base64: string}}",
     "files for a command-line tool, by their names in /work"},
    {"ToolOptions", TOOL_OPTIONS_TYPE,
     "what a command-line tool is run with: its own parameters by name besides these; "
     "timeout is in ms"},
    {"ToolResult",
     "{success: boolean, stdout: string | Uint8Array, stderr: string, exitCode: number, "
     "result?: any, outcome?: string, returns?: 'object', hint?: string, error?: string, errorDetails?: {type: string, code: string, "
     "message: string, tool: string, retry: boolean}, files: {name: string, size: number, "
     "text?: string, bytes?: Uint8Array}[], stats: {wall_ms: number, compute_ms: number, "
     "peak_memory_bytes: number}, changed?: true, vault?: {created?: string[], "
     "changed?: string[], deleted?: string[], more?: number}, stages?: any[], "
     "truncated?: {[what: string]: number}}",
     "how a command-line tool ended; stdout is bytes where it is no UTF-8, result is what "
     "its manifest makes of it (not among the keys), outcome what an exit code other than 0 "
     "tells that is no failure, files are those in /work that it made or changed"},
    {"ToolRow",
     "{name: string, version: string, category: string, description: string, "
     "source: 'builtin' | 'user'}",
     "a command-line tool in a list"},
    {"ToolDescription",
     "{name: string, description: string, category: string, version: string, "
     "source: 'builtin' | 'user', fileAccess: 'none' | 'read' | 'write' | 'readwrite', "
     "license?: string, homepage?: string, signer?: string, timeout: number, "
     "memoryLimit: number, returns: 'string' | 'object', parameters: Metadata, "
     "examples?: any[]}",
     "a command-line tool; parameters is a JSON Schema"},
};

static const struct host_call rows[] = {
    {CALL(.name = "tools.run", .slow = true, .writes = true, .wrap = tools_js),
     "(name: string, options?: ToolOptions): Promise<ToolResult>",
     "runs a command-line tool; tools.jq(options) is tools.run('jq', options)", call_run,
     LEVEL_FULL,
     .details =
         "Every enabled tool is a method by its own name: tools.jq, tools['clang-format'] or "
         "tools.clangFormat. options are its parameters by name, args (strings, as on a "
         "command line), stdin, files (in /work), cwd, timeout. The vault is at /vault where "
         "the tool's fileAccess allows; what it changes there is kept as one change set when "
         "it ends. Exit codes other than 0 are no error: look at success. Each tool is "
         "permitted as tools.NAME in allowedAPIs.",
     .errors =
         "NotFound: no such tool; the nearest is named. PermissionDenied: the policy, "
         "or a person, says no. InvalidInput: its parameters. Conflict: a note that "
         "it changed was changed meanwhile.",
     .example =
         "const r = await tools.run('wc', {args: ['-w'], stdin: 'one two three'});\n"
         "return Number(r.stdout);",
     .words = "exec spawn shell command line program jq grep sed awk sqlite3 binary wasm "
              "process",
     .asks = true},
    {CALL(.name = "tools.pipe", .slow = true, .writes = true,
          .wrap = "(call, callSync, kit) => kit.shared.pipe(call)"),
     "(stages: (ToolOptions & {tool: string})[], shared?: " TOOLS_PIPE_TYPE
     "): Promise<ToolResult>",
     "runs tools side by side, each one's standard output the next one's input",
     call_pipe, LEVEL_FULL,
     .details =
         "At most 16. The result is the last one's; stages tells how each ended, and "
         "failed names the first that did not end with 0.",
     .errors = "As of tools.run.",
     .example =
         "const r = await tools.pipe([{tool: 'sort'}, {tool: 'uniq', args: ['-c']}], "
         "{stdin: 'b\\na\\nb\\n'});\nreturn r.stdout;",
     .words = "pipeline shell chain | sort uniq", .asks = true},
    {CALL(.name = "tools.list"), "(options?: " TOOLS_LIST_TYPE "): Promise<ToolRow[]>",
     "lists the command-line tools that there are", call_list, LEVEL_FULL, .reads = true,
     .example = "return (await tools.list({category: 'data'})).map((t) => t.name);",
     .words = "which available installed programs commands", .asks = true},
    {CALL(.name = "tools.describe"), "(name: string): Promise<ToolDescription>",
     "tells all about a command-line tool: parameters, limits, licence", call_describe,
     LEVEL_FULL, .reads = true, .errors = "NotFound: no such tool; the nearest is named.",
     .example = "return (await tools.describe('wc')).parameters;",
     .words = "help man usage options schema manifest", .asks = true},
};
const struct host_call_group tools_calls = {TABLE(rows),
                                            TYPES(types),
                                            .order = 130,
                                            .in_history = true,
                                            .family = tool_name_fits,
                                            .describes = tooling_is_name,
                                            .describe = tooling_describe_call,
                                            .declare = tooling_write_types};
