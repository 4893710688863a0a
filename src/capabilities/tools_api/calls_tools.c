/* The host calls tools.*: command-line tools for code. Their side in the guest:
 * tools.js. */
#include "performing/performing.h"
#include "tools_api/tooling.h"
#include "tools_api/tools.api.h"
#include "tools_api/tools_api.h"

EMBED(tools_js, "src/capabilities/tools_api/tools.js");

#define ARENA_MAX ((size_t)256 << 20) /* of one call */

/* ---- running ----------------------------------------------------------------- */

static bool call_run_stages(struct calling *x, const struct tool_order *orders,
                            size_t count, const struct json *shared,
                            struct json_writer *out, struct err *e)
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
        return err_set(
            e, ERR_INVALID,
            "tools.run needs the name of a tool, such as 'jq'; tools.list() lists them");
    return call_run_stages(x, &(struct tool_order){name, json_at(x->args, 1), false}, 1,
                           NULL, out, e);
}

static bool call_pipe(struct calling *x, struct json_writer *out, struct err *e)
{
    struct tool_order orders[TOOL_STAGES_MAX];
    size_t count;
    struct err none = {0};
    scoped(arena_free) struct arena *arena = arena_new(ARENA_SMALL);
    const struct json *shared = json_at(x->args, 1);
    if (!json_is(shared, JSON_OBJECT))
        shared = json_read(STR("{}"), arena, &none);
    return tooling_orders(json_at(x->args, 0), orders, &count, e) &&
           call_run_stages(x, orders, count, shared, out, e);
}

/* ---- list and describe --------------------------------------------------------- */

static void tool_put_row(const struct tool *t, struct json_writer *out)
{
    json_open_object(out);
    json_pair_cstr(out, "name", t->name);
    json_pair_cstr(out, "version", t->version);
    json_pair_cstr(out, "category", t->category);
    json_pair_cstr(out, "description", t->description);
    json_pair_cstr(out, "source", t->builtin ? "builtin" : "user");
    json_close(out);
}

static bool tools_put(struct actions *a, const struct place *place, struct str category,
                      struct json_writer *out, struct err *e)
{
    struct tool_list list;
    if (!tooling_list(a, place->vault, &list, e))
        return false;
    json_open_array(out);
    for (size_t i = 0; i < list.count; i++)
        if (tooling_offers(place->permit.policy, list.tools[i]) &&
            (!category.n || str_is(category, list.tools[i]->category)))
            tool_put_row(list.tools[i], out);
    json_close(out);
    tooling_list_release(a, &list);
    return true;
}

static bool tool_put(struct actions *a, const struct place *place, struct str name,
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
        name.n ? tool_put(a, &place, name, &w, e) : tools_put(a, &place, STR(""), &w, e);
    place_close(&place);
    return ok && buf_check(out, "the answer", e);
}

static bool tools_list_call(struct calling *x, struct json_writer *out, struct err *e)
{
    struct str category = json_str(json_get(json_at(x->args, 0), "category"));
    return tools_put(x->v->actions, x->v->here, category, out, e);
}

static bool call_describe(struct calling *x, struct json_writer *out, struct err *e)
{
    struct str name = json_str(json_at(x->args, 0));
    if (!name.n)
        return err_set(e, ERR_INVALID,
                       "tools.describe needs the name of a tool, such as 'jq'");
    return tool_put(x->v->actions, x->v->here, name, out, e);
}

/* ---- the rows -------------------------------------------------------------------- */

/* Shared types that signatures name. */
static const struct api_type types[] = {
    TOOLS_TYPES,
};

static const struct host_call rows[] = {
    {CALL(.name = "tools.run", .slow = true, .writes = true, .wrap = tools_js),
     .signature = TOOLS_RUN_SIGNATURE,
     .summary = "runs a command-line tool; tools.jq(options) is tools.run('jq', options)",
     .call = call_run, .level = LEVEL_FULL,
     .details =
         "Every enabled tool is a method by its own name: tools.jq, tools['clang-format'] or tools.clangFormat. options are its parameters by name, args (strings, as on a command line), stdin, files (in /work), cwd, timeout. The vault is at /vault if the tool's fileAccess allows it; its changes there are stored as one change set when it ends. Exit codes other than 0 are not errors: check success. Each tool is permitted as tools.NAME in allowedAPIs.",
     .errors =
         "NotFound: no such tool; the message suggests one. PermissionDenied: the policy or a person refused it. InvalidInput: its parameters. Conflict: a note that it changed was changed meanwhile.",
     .example =
         "const r = await tools.run('wc', {args: ['-w'], stdin: 'one two three'});\n"
         "return Number(r.stdout);",
     .words = "exec spawn shell command line program jq grep sed awk sqlite3 binary wasm "
              "process",
     .asks = true},
    {CALL(.name = "tools.pipe", .slow = true, .writes = true,
          .wrap = "(call, callSync, kit) => kit.shared.pipe(call)"),
     .signature = TOOLS_PIPE_SIGNATURE,
     .summary =
         "runs tools concurrently, each one's standard output being the next one's input",
     .call = call_pipe, .level = LEVEL_FULL,
     .details =
         "At most 16 tools. The result is the last one's; stages says how each ended, and failed names the first that did not end with 0. A stage {vm: 'python3 x.py', machine, cwd, env, timeout} is a command in your Linux machine, as of vm.exec but apart from its sessions: bytes go to it and from it as they are.",
     .errors = "Those of tools.run.",
     .example =
         "const r = await tools.pipe([{tool: 'sort'}, {tool: 'uniq', args: ['-c']}], "
         "{stdin: 'b\\na\\nb\\n'});\nreturn r.stdout;",
     .words = "pipeline shell chain | sort uniq", .asks = true},
    {CALL(.name = "tools.list"), .signature = TOOLS_LIST_SIGNATURE,
     .summary = "lists the command-line tools", .call = tools_list_call,
     .level = LEVEL_FULL, .reads = true,
     .example = "return (await tools.list({category: 'data'})).map((t) => t.name);",
     .words = "which available installed programs commands", .asks = true},
    {CALL(.name = "tools.describe"), .signature = TOOLS_DESCRIBE_SIGNATURE,
     .summary = "describes a command-line tool: parameters, limits, licence",
     .call = call_describe, .level = LEVEL_FULL, .reads = true,
     .errors = "NotFound: no such tool; the message suggests one.",
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
