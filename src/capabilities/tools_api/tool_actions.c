/* Command-line tools as actions: wasm_<name>, run_tool, find_tools. */
#include <stdio.h>

#include "api/api.h"
#include "results/results.h"
#include "tools_api/tooling.h"
#include "tools_api/tools.api.h"
#include "tools_api/tools_api.h"

static bool action_run_stages(const struct action_call *c,
                              const struct tool_order *orders, size_t count,
                              const struct json *shared, struct answer *out,
                              struct err *e)
{
    struct tool_call call = tool_call_of(c);
    struct json_writer w = json_writer(&out->json);
    bool success = false;
    if (!tooling_run(&call, orders, count, shared, &w, &success, e))
        return false;
    out->is_error = !success;
    out->text_alone = true;
    return true;
}

bool action_wasm(const struct action_call *c, struct answer *out, struct err *e)
{
    const char *name = c->row->shown.name + sizeof TOOL_PREFIX - 1;
    return action_run_stages(c, &(struct tool_order){str_of(name), c->arguments, false},
                             1, NULL, out, e);
}

/* ---- run_tool ------------------------------------------------------------------- */

bool tooling_orders(const struct json *pipeline, struct tool_order *out, size_t *count,
                    struct err *e)
{
    const struct tool_runner *runner = capability_tool_runner();
    struct json_iter it = json_iter(pipeline);
    size_t n = json_length(pipeline);
    if (!json_is(pipeline, JSON_ARRAY) || n == 0 || n > TOOL_STAGES_MAX)
        return err_set(e, ERR_INVALID,
                       "a pipeline is an array of 1 to %u objects such as {tool: 'sort', "
                       "args: ['-u']}",
                       TOOL_STAGES_MAX);
    for (*count = 0; json_next(&it); (*count)++) {
        struct str name = json_str(json_get(it.value, "tool"));
        bool in_machine = runner && json_get(it.value, runner->stage_key);
        if (in_machine == (name.n > 0))
            return err_set(e, ERR_INVALID,
                           "pipeline[%zu] has %s; {tool: 'sort', args: ['-u']}, or {%s: "
                           "COMMAND}, is accepted",
                           *count, in_machine ? "a tool and a command" : "no tool",
                           runner ? runner->stage_key : "tool");
        out[*count] = (struct tool_order){in_machine ? str_of(runner->stage_key) : name,
                                          it.value, in_machine};
    }
    return true;
}

static bool run_pipeline(const struct action_call *c, const struct json *pipeline,
                         struct answer *out, struct err *e)
{
    struct tool_order orders[TOOL_STAGES_MAX];
    size_t count;
    return tooling_orders(pipeline, orders, &count, e) &&
           action_run_stages(c, orders, count, c->arguments, out, e);
}

/* The arguments of run_tool without the name: those of the tool itself. */
static const struct json *without_name(const struct action_call *c, struct err *e)
{
    return json_less(c->arguments, (const char *const[]){"name", NULL}, c->arena, e);
}

/* It runs actions, too, for clients that only call what is in their list. */
static struct str action_run_tool_name(const struct json *arguments)
{
    return json_str(json_get(arguments, "name"));
}

static bool action_run_tool(const struct action_call *c, struct answer *out,
                            struct err *e)
{
    const struct json *pipeline = json_get(c->arguments, "pipeline");
    struct str name = json_str(json_get(c->arguments, "name"));
    if ((pipeline != NULL) == (name.n > 0))
        return err_set(e, ERR_INVALID,
                       "give the name of a tool, or a pipeline, not both; find_tools "
                       "finds the names");
    if (pipeline)
        return run_pipeline(c, pipeline, out, e);
    if (str_starts(name, TOOL_PREFIX))
        name = (struct str){name.at + sizeof TOOL_PREFIX - 1,
                            name.n - (sizeof TOOL_PREFIX - 1)};
    const struct json *options = without_name(c, e);
    return options && action_run_stages(c, &(struct tool_order){name, options, false}, 1,
                                        NULL, out, e);
}

/* ---- find_tools ------------------------------------------------------------------- */

/* Whether the words are the call's subject. */
static bool is_subject(const struct host_call *call, struct str words)
{
    const char *subject = host_call_group_of(call)->subject;
    return subject && memmem(words.at, words.n, subject, strlen(subject));
}

/* The words may be about a host call, and no tool at all. */
static void search_put_code(const struct action_call *c, struct str words,
                            struct json_writer *w)
{
    struct err none = {0};
    char name[64], text[300];
    const struct host_call *call =
        words.n && api_nearest(words, name) ? host_call_named(name) : NULL;
    if (!call || !is_subject(call, words))
        return;
    struct permit_need need = host_call_need(call);
    if (!permit_call(&c->place->permit, &need, &none))
        return;
    (void)snprintf(text, sizeof text, "evaluate_note_code: await %s(...) %s", name,
                   call->summary);
    json_pair_cstr(w, "code", text);
}

/* May a pipeline lead through a machine of this caller's? */
static bool has_machines(const struct action_call *c)
{
    struct err none = {0};
    const struct tool_runner *runner = capability_tool_runner();
    struct permit_use use =
        runner ? runner->use(c->place->permit.policy) : (struct permit_use){0};
    enum permission word;
    return runner && permit_run(&c->place->permit, &use, &word, &none) &&
           runner->ready(c->actions, &none);
}

static bool action_find_tools(const struct action_call *c, struct answer *out,
                              struct err *e)
{
    struct json_writer w = json_writer(&out->json);
    struct str words = json_str(json_get(c->arguments, "query"));
    struct str category = json_str(json_get(c->arguments, "category"));
    int64_t limit = json_int(json_get(c->arguments, "limit"), FIND_TOOLS_LIMIT_USUAL);
    json_open_object(&w);
    if (!tooling_found(c->actions, c->place, words, category, (size_t)limit, &w, e))
        return false;
    search_put_code(c, words, &w);
    json_pair_cstr(
        &w, "use",
        "run_tool {name, arguments: {its parameters}}; of a command-line tool also {args: "
        "[strings], stdin, files: {name: text | {base64}}, cwd}. In code: await "
        "tools.run(name, {...parameters, args, stdin, files}).");
    if (has_machines(c))
        json_pair_cstr(&w, "pipes",
                       "run_tool {pipeline: [{tool, args}, {vm: COMMAND}, ...], stdin}: "
                       "bytes go through your Linux machine, too");
    json_close(&w);
    return buf_check(&out->json, "the answer", e);
}

/* ---- the rows ------------------------------------------------------------ */

static const struct action_row rows[] = {
    {SHOWN(.name = "find_tools", .title = "Find tools",
           .description = "Find command-line tools (jq, ripgrep, pdftotext ...) and "
                          "rarer actions, and how to call each.",
           FIND_TOOLS_SCHEMAS, .read_only = true, .idempotent = true),
     .run = action_find_tools, .finds = true, .checked = FIND_TOOLS_CHECKED,
     .scope = SCOPE_EVALUATE},
    {SHOWN(.name = "run_tool", .title = "Run a tool",
           .description =
               "Run a command-line tool in a sandbox, over the files given and, where "
               "it is allowed, the notes. Also runs what find_tools found.",
           RUN_TOOL_SCHEMAS, .destructive = true),
     .run = action_run_tool, .stands_for = action_run_tool_name, .finds = true,
     .shorten = streams_shorten, .checked = RUN_TOOL_CHECKED, .scope = SCOPE_EVALUATE},
};
static const struct action_group running = {rows, LENGTH(rows), .order = 60};

static const struct capability_part part = {
    .is_installed = tools_installed,
    .tells = "tools.jq({args, stdin}) (find_tools); ",
    .instructs =
        "Command-line tools (jq, ripgrep, sqlite3, pdftotext and many more) are found by "
        "find_tools and run by run_tool, or in code by `await tools.jq({args, stdin, "
        "files})`. ",
    .name = "command-line tools",
    .how = "a person adds them with 'make tools' in Cloche's own folder"};

const struct capability tools_capability = {.calls = CALLS(&tools_calls),
                                            .actions = ACTIONS(&running),
                                            .routes = ROUTES(&tool_routes),
                                            .open = tooling_open,
                                            .close = tooling_close,
                                            .metrics = tooling_metrics,
                                            .family = &tools_family,
                                            .meant = tooling_meant,
                                            .part = &part,
                                            .records = RECORDS(&tools_record),
                                            .policies =
                                                POLICIES(&tools_policy, &files_policy)};
