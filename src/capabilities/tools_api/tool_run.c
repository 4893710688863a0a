/* One run of command-line tools, from options to answer. */
#include <stdio.h>

#include "client/client.h"
#include "effect/effect.h"
#include "os/os.h"
#include "programs/tool_vault.h"
#include "tools_api/tooling.h"
#include "tools_api/tools.api.h"
#include "tools_api/tools_api.h"
#include "vfs/vfs.h"

#define OPTIONS_MAX ((size_t)48 << 20) /* bytes of one stage's, as JSON */
#define MOUNTS_MAX 33u                 /* the vault, and the policy's */

/* The state of one run. */
struct tool_run {
    const struct tool_call *call;
    struct catalogue *catalogue;
    struct tool_stage stages[TOOL_STAGES_MAX];
    size_t count;
    struct tool_world world;
    bool sees; /* files: the policy's mounts, and the vault */
    struct vfs_mount mounts[MOUNTS_MAX];
    size_t mount_count;
    struct tool_vault vault;
};

/* ---- arguments of stages ------------------------------------------------------- */

static bool has_parameter(const struct tool *t, const char *name)
{
    for (size_t i = 0; i < t->parameter_count; i++)
        if (!strcmp(t->parameters[i].name, name))
            return true;
    return false;
}

/* An option of ours, unless the tool has a parameter of that name. */
static const struct json *option(const struct tool *t, const struct json *options,
                                 const char *key)
{
    const struct json *v = has_parameter(t, key) ? NULL : json_get(options, key);
    return json_is(v, JSON_NULL) ? NULL : v;
}

/* The parameters by name, `args` and the options of tool_call_read(), in one object.
 * `input`: of a pipeline, for its first stage; NULL: none. */
static bool read_arguments(struct tool_run *r, struct tool_stage *stage,
                           const struct json *options, const struct json *input,
                           struct err *e)
{
    const struct tool *t = stage->tool;
    const struct json *nested = option(t, options, "arguments");
    bool staged = option(t, options, "tool") != NULL;
    stage->arguments = options;
    if (nested && !json_is(nested, JSON_OBJECT))
        return err_set(e, ERR_INVALID, "arguments is %s; an object is accepted",
                       json_type_name(json_type(nested)));
    if (!nested && !staged && !input)
        return true;
    scoped_buf struct buf text;
    buf_init(&text, OPTIONS_MAX);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    const char *const ours[] = {nested ? "arguments" : "tool", staged ? "tool" : NULL,
                                NULL};
    json_put_pairs(&w, options, nested || staged ? ours : NULL);
    json_put_pairs(&w, nested, NULL);
    if (input)
        json_pair(&w, "stdin", input);
    json_close(&w);
    stage->arguments = buf_check(&text, "the arguments", e)
                           ? json_read(buf_view(&text), r->call->arena, e)
                           : NULL;
    return stage->arguments || err_wrap(e, "%s", t->name);
}

/* A command in the caller's machine. Its input is given as a tool's is. */
static bool read_machine_stage(struct tool_run *r, const struct tool_order *order,
                               const struct json *input, struct err *e)
{
    struct tool_stage *s = &r->stages[r->count];
    if (!capability_tool_runner()->stage(r->call, order->options, s, e))
        return false;
    r->count++;
    if (!input)
        return true;
    scoped_buf struct buf text;
    buf_init(&text, OPTIONS_MAX);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair(&w, "stdin", input);
    json_close(&w);
    s->arguments = buf_check(&text, "stdin", e)
                       ? json_read(buf_view(&text), r->call->arena, e)
                       : NULL;
    return s->arguments != NULL;
}

static bool read_stage(struct tool_run *r, const struct tool_order *order,
                       const struct json *input, struct err *e)
{
    if (order->in_machine)
        return read_machine_stage(r, order, input, e);
    struct tool_stage *s = &r->stages[r->count];
    const struct json *options =
        json_is(order->options, JSON_NULL) ? NULL : order->options;
    if (options && !json_is(options, JSON_OBJECT))
        return err_set(
            e, ERR_INVALID, "the options of %.*s are %s; an object is accepted",
            STR_ARGS(str_cut(order->name, 60)), json_type_name(json_type(options)));
    s->tool = tooling_find(r->call->actions, r->call->place->vault, order->name, e);
    if (!s->tool)
        return false;
    r->count++;
    return read_arguments(r, s, options, input, e) &&
           tool_call_read(s->tool, s->arguments, r->call->arena, &r->world, s, e);
}

/* Options of a pipeline stand beside its stages; within one they would have no effect. */
static bool check_stage(const struct tool_stage *s, const struct tool_order *order,
                        struct err *e)
{
    static const char *const beside[] = {"stdin", "files", "cwd"};
    for (size_t i = 0; !order->in_machine && i < LENGTH(beside); i++)
        if (option(s->tool, order->options, beside[i]))
            return err_set(e, ERR_INVALID,
                           "%s: %s belongs to the pipeline: give it beside its stages",
                           s->tool->name, beside[i]);
    return true;
}

/* Unknown members would be shown to a user, and have no effect. */
static bool check_shared(const struct json *shared, struct err *e)
{
    struct json_iter it = json_iter(shared);
    while (json_next(&it))
        if (!str_is(it.key, "pipeline") && !str_is_one_of(it.key, TOOLS_PIPE_KEYS))
            return err_set(
                       e, ERR_INVALID,
                       "a pipeline does not accept '%.*s'; stdin, files, cwd and timeout are accepted, arguments belong to its stages; nothing ran",
                       STR_ARGS(str_cut(it.key, 60))) ||
                   err_because(e, CAUSE_SHAPE);
    return true;
}

static bool prepare(struct tool_run *r, const struct tool_order *orders, size_t count,
                    const struct json *shared, struct err *e)
{
    if (!count || count > TOOL_STAGES_MAX)
        return err_set(e, ERR_INVALID, "a pipeline of %zu tools; 1 to %u are accepted",
                       count, TOOL_STAGES_MAX);
    if (!check_shared(shared, e))
        return false;
    const struct json *input = json_get(shared, "stdin");
    for (size_t i = 0; i < count; i++)
        if (!read_stage(r, &orders[i], i ? NULL : input, e) ||
            (shared && !check_stage(&r->stages[i], &orders[i], e)))
            return false;
    struct tool none = {.name = "the pipeline"};
    struct tool_stage all = {0};
    if (!shared)
        return true;
    if (!tool_call_read(&none, shared, r->call->arena, &r->world, &all, e))
        return false;
    for (size_t i = 0; all.timeout_ms && i < count; i++)
        r->stages[i].timeout_ms = all.timeout_ms;
    return true;
}

/* ---- the file tree ----------------------------------------------------------------- */

/* The access of all stages together: the mounts are shared, narrowed for each. */
static enum tool_access widest(const struct tool_run *r)
{
    bool reads = false, writes = false;
    for (size_t i = 0; i < r->count; i++) {
        enum tool_access a = r->stages[i].tool->execution.access;
        reads |= a == TOOL_READ || a == TOOL_READWRITE;
        writes |= a == TOOL_WRITE || a == TOOL_READWRITE;
    }
    return reads && writes ? TOOL_READWRITE
           : writes        ? TOOL_WRITE
           : reads         ? TOOL_READ
                           : TOOL_NO_FILES;
}

static bool add_policy_mounts(struct tool_run *r, struct err *e)
{
    struct json_iter it = json_iter(policy_mounts(r->call->place->permit.policy));
    while (json_next(&it)) {
        struct policy_mount m = policy_mount(it.value);
        if (r->mount_count == MOUNTS_MAX)
            return err_set(e, ERR_LIMIT, "the policy has more than %u mounts",
                           MOUNTS_MAX - 1);
        if (!mount_open(r->call->actions, r->call->place, &m, &r->mounts[r->mount_count],
                        e))
            return false;
        r->mounts[r->mount_count].overlay |= r->call->code && r->call->code->dry;
        r->mount_count++;
    }
    return true;
}

/* A call is shown, and needs permission for, no more than it uses: a tool that is given
 * its input sees that alone, unless its arguments name paths. */
static void run_choose_access(struct tool_run *r)
{
    const struct json *mounts = policy_mounts(r->call->place->permit.policy);
    struct json_iter it = json_iter(mounts);
    const char *paths[MOUNTS_MAX] = {TOOL_VAULT};
    size_t n = 1;
    while (n < MOUNTS_MAX && json_next(&it))
        paths[n++] = policy_mount(it.value).guest;
    bool fed = false, named = false;
    const char *folder = r->world.folder;
    /* Errors in the arguments are reported later. */
    bool known = json_length(mounts) < MOUNTS_MAX &&
                 tools_look(r->stages, r->count, paths, n, &fed, &named);
    for (size_t i = 0; folder && i < n; i++)
        named |= strstr(folder, paths[i]) != NULL;
    bool given = folder || fed || r->world.file_count;
    r->sees = widest(r) != TOOL_NO_FILES && (!known || named || !given);
}

static bool lay_out(struct tool_run *r, struct err *e)
{
    enum tool_access access = widest(r);
    /* With tools that see no files the folder /vault is ignored, not an error. */
    if (access == TOOL_NO_FILES && r->call->place->vault && r->world.folder &&
        !strcmp(r->world.folder, TOOL_VAULT))
        r->world.folder = NULL;
    if (r->sees &&
        (!add_policy_mounts(r, e) ||
         !tool_vault_open(&r->vault, r->call, access, r->mounts, &r->mount_count, e)))
        return false;
    for (size_t i = 0; i < r->count; i++)
        r->vault.owner_only |= r->stages[i].tool->execution.private_files;
    r->world.mounts = r->mounts;
    r->world.mount_count = r->mount_count;
    if (!r->world.folder && !r->world.file_count && r->vault.shown)
        r->world.folder = TOOL_VAULT;
    return true;
}

static void tree_ended(void *arg, struct vfs *tree)
{
    struct tool_run *r = arg;
    tool_vault_take(&r->vault, tree);
}

/* ---- running ---------------------------------------------------------------------- */

static enum err_code outcome_of(const struct tool_result *r, size_t stage)
{
    return stage < r->stage_count ? r->stages[stage].stopped : ERR_NONE;
}

struct tool_row {
    char name[65], version[40], digest[13]; /* hash of its arguments */
    uint32_t exit_code;
    enum err_code outcome;
    double ms;
};

static void run_put_row(const void *row, struct json_writer *w)
{
    const struct tool_row *t = row;
    json_pair_cstr(w, "tool", t->name);
    json_pair_cstr(w, "version", t->version);
    json_pair_cstr(w, "arguments", t->digest);
    json_pair_cstr(w, "result", account_word(t->outcome));
    if (t->outcome == ERR_NONE)
        json_pair_int(w, "exit", t->exit_code);
    json_pair_number(w, "ms", t->ms);
}

const struct account_list tools_record = {.name = "tools",
                                          .more = "more_tools",
                                          .size = sizeof(struct tool_row),
                                          .put = run_put_row};

/* `o`: NULL if it was refused. */
static void account_stage(struct account_part *p, const struct tool_stage *stage,
                          const struct tool_outcome *o, enum err_code outcome)
{
    char hex[CRYPTO_SHA256_HEX];
    struct tool_row t = {.outcome = outcome};
    scoped_buf struct buf text;
    buf_init(&text, BUF_ANSWER);
    struct json_writer w = json_writer(&text);
    json_put(&w, stage->arguments);
    crypto_sha256_hex(buf_view(&text), hex);
    (void)snprintf(t.name, sizeof t.name, "%s", stage->tool->name);
    (void)snprintf(t.version, sizeof t.version, "%s", stage->tool->version);
    (void)snprintf(t.digest, sizeof t.digest, "%.12s", hex);
    t.exit_code = o ? o->exit_code : 0;
    t.ms = o ? o->wall_ms : 0;
    account_row(p, &tools_record, &t);
}

static void account_all(struct tool_run *r, const struct tool_result *result,
                        enum err_code failed)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct tool_outcome *o =
            i < result->stage_count ? &result->stages[i] : NULL;
        enum err_code outcome = failed ? failed : outcome_of(result, i);
        if (r->stages[i].order) /* its runner has recorded it */
            continue;
        account_stage(r->call->place->part, &r->stages[i], o, outcome);
        tooling_count(r->call->actions, r->stages[i].tool, outcome,
                      o ? (uint64_t)(o->wall_ms * 1e6) : 0);
    }
}

/* Whether a tool failed to open a file, and the call showed it none. */
static bool missed_files(const struct tool_run *r, const struct tool_result *result)
{
    static const char *const signs[] = {"o such file", "can't find", "unable to open"};
    bool failed = false, missed = false;
    if (r->sees || widest(r) == TOOL_NO_FILES)
        return false;
    for (size_t i = 0; i < result->stage_count; i++) {
        const struct buf *said = &result->stages[i].errors;
        failed |= result->stages[i].exit_code != 0;
        for (size_t k = 0; said->n && k < LENGTH(signs); k++)
            missed |= memmem(said->at, said->n, signs[k], strlen(signs[k])) != NULL;
    }
    return failed && missed;
}

/* Our notices beside the tools' output. */
static void run_put_changes(const struct tool_run *r, const struct tool_result *result,
                            struct json_writer *w)
{
    if (r->vault.kept.n) {
        json_pair_bool(w, "changed", true);
        json_pair_raw(w, "vault", buf_view(&r->vault.kept));
    }
    if (missed_files(r, result))
        json_pair_cstr(w, "hint",
                       "a call that has its own stdin, files or cwd sees nothing of the "
                       "vault; with cwd: \"" TOOL_VAULT "\" it does");
}

static void run_report_failure(const struct tool_run *r, const struct tool_result *result)
{
    size_t last = result->stage_count - 1;
    size_t failed = result->failed < last ? result->failed : last;
    struct str said = {0};
    for (size_t i = 0; i <= last && !said.n; i++)
        said = str_trim(buf_view(&result->stages[i].errors));
    outcome_fail(r->call->outcome, (int)result->stages[failed].exit_code, said);
}

static bool write_answer(const struct tool_run *r, const struct tool_result *result,
                         struct json_writer *out, bool *success, struct err *e)
{
    scoped_buf struct buf whole;
    buf_init(&whole, out->out->ceiling);
    struct json_writer w = json_writer(&whole);
    json_open_object(&w);
    run_put_changes(r, result, &w);
    *success = tool_result_write(result, r->stages, &w);
    json_close(&w);
    if (!*success)
        run_report_failure(r, result);
    if (!buf_check(&whole, "the answer", e))
        return false;
    json_put_raw(out, buf_view(&whole));
    return buf_check(out->out, "the answer", e);
}

/* The whole call, for the user's decision. */
static const struct json *whole_request(const struct tool_run *r,
                                        const struct tool_order *orders,
                                        const struct json *shared, struct err *e)
{
    if (!shared)
        return r->stages[0].arguments ? r->stages[0].arguments
                                      : json_read(STR("{}"), r->call->arena, e);
    scoped_buf struct buf text;
    buf_init(&text, OPTIONS_MAX);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_key(&w, "pipeline");
    json_open_array(&w);
    for (size_t i = 0; i < r->count; i++)
        json_put(&w, orders[i].options);
    json_close(&w);
    json_put_pairs(&w, shared, (const char *const[]){"pipeline", NULL});
    json_close(&w);
    return buf_check(&text, "the request", e)
               ? json_read(buf_view(&text), r->call->arena, e)
               : NULL;
}

static bool run_is_permitted(const struct tool_run *r, const struct json *request,
                             struct err *e)
{
    const struct tool *tools[TOOL_STAGES_MAX];
    struct permit_use uses[TOOL_STAGES_MAX] = {0};
    for (size_t i = 0; i < r->count; i++) {
        tools[i] = r->stages[i].tool;
        if (r->stages[i].order)
            uses[i] = capability_tool_runner()->use(r->call->place->permit.policy);
    }
    struct tool_request wanted = {.tools = tools,
                                  .count = r->count,
                                  .request = request,
                                  .stages = r->stages,
                                  .uses = uses,
                                  .sees = r->mount_count > 0,
                                  .vault = r->vault.shown};
    return tools_permitted(r->call, &wanted, e);
}

/* Is the machine there that a stage is a command of? Said before anybody is asked. */
static bool check_machine(const struct tool_run *r, struct err *e)
{
    const struct tool_runner *runner = capability_tool_runner();
    for (size_t i = 0; i < r->count; i++) {
        const struct tool *t = r->stages[i].tool;
        if (!t->command)
            continue;
        if (!runner)
            return err_set(e, ERR_NOT_FOUND,
                           "%s is a command of the Linux machine, which is not here",
                           t->name);
        if (!runner->ready(r->call->actions, e))
            return err_wrap(e, "%s is a command of the Linux machine", t->name);
    }
    return true;
}

static bool report_compiling(void *arg, const char *tool, unsigned seconds, bool simply)
{
    const struct tool_run *r = arg;
    char text[160];
    (void)snprintf(text, sizeof text, "compiling %.64s%s: %u s", tool,
                   simply ? " without optimisation" : "", seconds);
    client_progress(r->call->who->client, seconds, 0, str_of(text));
    return !r->call->cancel || !cancel_fired(r->call->cancel);
}

static bool run_stages(struct tool_run *r, struct json_writer *out, bool *success,
                       struct err *e)
{
    const struct tool_watch watch = {report_compiling, r};
    r->world.watch = &watch;
    struct tool_result result = {0};
    const struct evaluation *code = r->call->code;
    tool_vault_begin(&r->vault);
    if (code && code->until_ns) /* the time left: a user may have been asked */
        r->world.until_ns = code->until_ns + evaluation_human_wait_ns(r->call->code);
    bool ok = tools_run(r->catalogue, &r->world, r->stages, r->count, &result, e) &&
              tool_vault_keep(&r->vault, e);
    if (ok && !write_answer(r, &result, out, success, e))
        ok =
            err_wrap(e, "it ran%s",
                     r->vault.kept.n ? ", and its changes of the vault were stored" : "");
    account_all(r, &result, ok ? ERR_NONE : e->code);
    tool_result_end(&result);
    return ok;
}

static void clean_up(struct tool_run *r)
{
    tool_vault_close(&r->vault);
    for (size_t i = 0; i < r->mount_count; i++)
        os_close(r->mounts[i].dir);
    for (size_t i = 0; i < r->count; i++)
        if (!r->stages[i].order)
            tool_release(r->catalogue, r->stages[i].tool);
}

bool tooling_run(const struct tool_call *c, const struct tool_order *orders, size_t count,
                 const struct json *shared, struct json_writer *out, bool *success,
                 struct err *e)
{
    struct tool_run r = {.call = c};
    r.catalogue = actions_catalogue(c->actions, e);
    if (!r.catalogue)
        return false;
    const struct tool_runner *runner = capability_tool_runner();
    r.world = (struct tool_world){.cancel = c->cancel,
                                  .ended = tree_ended,
                                  .ended_arg = &r,
                                  .command = runner ? runner->run : NULL,
                                  .command_arg = (void *)(uintptr_t)c};
    bool ok = prepare(&r, orders, count, shared, e);
    if (ok)
        run_choose_access(&r);
    ok = ok && lay_out(&r, e) && check_machine(&r, e);
    const struct json *request = ok ? whole_request(&r, orders, shared, e) : NULL;
    /* The wait for a user does not count. */
    uint64_t asked_ns = os_mono_ns();
    bool may = request && run_is_permitted(&r, request, e);
    if (may && r.world.until_ns)
        r.world.until_ns += os_mono_ns() - asked_ns;
    if (request && !may && c->consent && c->consent->waits) {
        ok = false;
    } else if (request && !may) {
        account_all(&r, &(struct tool_result){0}, e->code);
        ok = false;
    } else {
        ok = request && run_stages(&r, out, success, e);
    }
    clean_up(&r);
    return ok;
}
