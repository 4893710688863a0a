/* Opening, and calls. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "embed/internal.h"
#include "engine/engine.h"
#include "os/os.h"
#include "routes/routes.h"
#include "json/json.h"

/* ---- opening ------------------------------------------------------------------ */

/* Beside the file that this code is in, the library or a program. NULL: nowhere there,
 * and whoever needs a guest looks beside the program. */
static char *find_guests(void)
{
    static const char *const places[] = {"cloche/guest", "../guest", "guest",
                                         "../lib/cloche/guest"};
    Dl_info here;
    char path[PATH_MAX];
    if (!dladdr((void *)(uintptr_t)cloche_open, &here) || !realpath(here.dli_fname, path))
        return NULL;
    *strrchr(path, '/') = '\0';
    for (size_t i = 0; i < LENGTH(places); i++) {
        char *folder = NULL, *probe = NULL;
        must(asprintf(&folder, "%s/%s", path, places[i]) > 0);
        must(asprintf(&probe, "%s/script.bare.wasm", folder) > 0);
        bool there = access(probe, R_OK) == 0;
        free(probe);
        if (there)
            return folder;
        free(folder);
    }
    return NULL;
}

static bool embed_open_parts(struct cloche *c, struct err *e)
{
    struct cloche_options *o = c->options;
    struct actions_options options = {0};
    struct workspaces_options readable = {0};
    scoped(free) char *guests = o && o->guests ? mem_strdup(o->guests) : find_guests();
    options.guest_dir = guests;
    if (o) {
        options.vaults = o->vaults;
        options.vault_roots = o->roots;
        options.mounts = o->mounts;
        options.brief = o->brief;
        options.extra = o->own_tools ? o->own_tools : o->tools;
        options.extra_count = o->own_tools ? o->own_tool_count : o->tool_count;
        readable = o->own_readable;
        if (o->resource_count) {
            readable.resources = o->resources;
            readable.resource_count = o->resource_count;
        }
        if (o->prompt_count) {
            readable.prompts = o->prompts;
            readable.prompt_count = o->prompt_count;
        }
    }
    if (!(c->actions = actions_open(&options, e)) ||
        !(c->workspaces = workspaces_open(c->actions, &readable, e)))
        return false;
    if (o && o->on_record)
        actions_on_record(c->actions, o->on_record, o->record_arg);
    return true;
}

struct cloche *cloche_open(const struct cloche_options *o, struct cloche_error *e)
{
    struct err why = {0};
    struct cloche *c = mem_new(sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    c->options = options_share(o);
    if (o && o->wrong.code)
        err_set(&why, o->wrong.code, "%s", o->wrong.msg);
    else
        (void)embed_open_parts(c, &why);
    if (told(e, &why) != CLOCHE_OK) {
        cloche_close(c);
        return NULL;
    }
    return c;
}

void cloche_close(struct cloche *c)
{
    if (!c)
        return;
    if (c->is_warming)
        pthread_join(c->warming, NULL);
    mcp_close(c->mcp);
    workspaces_close(c->workspaces);
    actions_close(c->actions);
    cloche_options_free(c->options);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

struct actions *embed_actions(struct cloche *c)
{
    return c->actions;
}

struct workspaces *embed_workspaces(struct cloche *c)
{
    return c->workspaces;
}

struct mcp *embed_mcp(struct cloche *c, struct err *e)
{
    pthread_mutex_lock(&c->lock);
    if (!c->mcp)
        c->mcp = mcp_open(c->actions, c->workspaces, e);
    struct mcp *m = c->mcp;
    pthread_mutex_unlock(&c->lock);
    return m;
}

/* ---- threads ------------------------------------------------------------------- */

static void *warm(void *arg)
{
    actions_warm(arg);
    /* Where a guest had to be compiled, that took five times what there is at rest. */
    (void)malloc_trim(0);
    return NULL;
}

void cloche_warm(struct cloche *c)
{
    actions_serves(c->actions);
    pthread_mutex_lock(&c->lock);
    if (!c->is_warming)
        c->is_warming = os_thread_start(&c->warming, "warming", ENGINE_THREAD_STACK, warm,
                                        c->actions);
    pthread_mutex_unlock(&c->lock);
}

/* A call that an embedder's thread may have no stack for. */
struct asked;
struct job {
    struct asked *asked;
    struct cloche *c;
    const struct caller *who;
    struct str name, arguments;
    struct answer *out;
    bool ok, *failed;
    struct err *e;
};

static bool run_on_guest_stack(void *(*run)(void *), struct job *job)
{
    pthread_t thread;
    if (!os_thread_start(&thread, "cloche-call", ENGINE_THREAD_STACK, run, job))
        return err_set(job->e, ERR_IO, "cannot start a thread: %m");
    pthread_join(thread, NULL);
    return job->ok;
}

/* ---- callers ------------------------------------------------------------------- */

struct cloche_caller *cloche_caller_new(const char *name, enum cloche_level level)
{
    static const enum level levels[] = {
        [CLOCHE_FULL] = LEVEL_FULL,
        [CLOCHE_LIMITED] = LEVEL_LIMITED,
        [CLOCHE_ZERO] = LEVEL_ZERO,
    };
    struct cloche_caller *who = mem_new(sizeof *who);
    who->name = mem_strdup(name);
    who->caller = (struct caller){
        .name = who->name,
        .level = (unsigned)level < LENGTH(levels) ? levels[level] : LEVEL_ZERO,
        .vault = &who->vault};
    return who;
}

void cloche_caller_free(struct cloche_caller *who)
{
    if (!who)
        return;
    free(who->name);
    free(who);
}

static struct caller caller_of(const struct cloche_caller *who,
                               struct cloche_cancel *cancel)
{
    struct caller caller =
        who ? who->caller : (struct caller){.name = "embedder", .level = LEVEL_FULL};
    caller.cancel = cancel ? &cancel->cancel : NULL;
    return caller;
}

struct cloche_cancel *cloche_cancel_new(void)
{
    struct cloche_cancel *cancel = mem_new(sizeof *cancel);
    cancel_init(&cancel->cancel);
    return cancel;
}

void cloche_cancel_fire(struct cloche_cancel *cancel)
{
    cancel_fire(&cancel->cancel);
}

void cloche_cancel_free(struct cloche_cancel *cancel)
{
    free(cancel);
}

/* ---- calls --------------------------------------------------------------------- */

static void *embed_call_action(void *arg)
{
    struct job *j = arg;
    const struct action *action = action_named(j->c->actions, j->name);
    scoped(arena_free) struct arena *a = arena_new(ARENA_VAULT);
    const struct json *arguments = action ? json_read(j->arguments, a, j->e) : NULL;
    if (!action)
        err_set(j->e, ERR_NOT_FOUND, "there is no tool %.*s; cloche_tools() lists them",
                STR_ARGS(str_cut(j->name, 80)));
    else if (arguments && !json_is(arguments, JSON_OBJECT))
        err_set(j->e, ERR_INVALID, "the arguments of a tool are a JSON object, not %s",
                json_type_name(json_type(arguments)));
    else if (!arguments)
        err_wrap(j->e, "arguments");
    j->ok = !j->e->code &&
            actions_call(j->c->actions, action, arguments, j->who, j->out, j->e);
    return NULL;
}

enum cloche_code cloche_call_tool(struct cloche *c, struct cloche_caller *who,
                                  const char *name, const char *arguments,
                                  struct cloche_cancel *cancel, struct cloche_text *out,
                                  int *failed, struct cloche_error *e)
{
    struct err why = {0};
    struct caller caller = caller_of(who, cancel);
    struct answer answer = {0};
    buf_init(&answer.json, out->buf.ceiling);
    buf_init(&answer.content, out->buf.ceiling);
    struct job job = {.c = c,
                      .who = &caller,
                      .name = str_of(name),
                      .arguments = str_of(arguments ? arguments : "{}"),
                      .out = &answer,
                      .e = &why};
    buf_clear(&out->buf);
    if (run_on_guest_stack(embed_call_action, &job)) {
        buf_done(&out->buf);
        out->buf = answer.json;
        (void)buf_cz(&out->buf);
    } else {
        buf_done(&answer.json);
    }
    buf_done(&answer.content);
    if (failed)
        *failed = answer.is_error;
    return told(e, &why);
}

enum cloche_code cloche_evaluate(struct cloche *c, struct cloche_caller *who,
                                 const char *code, struct cloche_cancel *cancel,
                                 struct cloche_text *out, int *failed,
                                 struct cloche_error *e)
{
    struct err why = {0};
    scoped_buf struct buf arguments = buf_of(BUF_ANSWER);
    struct json_writer w = json_writer(&arguments);
    json_open_object(&w);
    json_pair_cstr(&w, "code", code);
    json_close(&w);
    (void)buf_cz(&arguments);
    if (!buf_check(&arguments, "code", &why))
        return told(e, &why);
    return cloche_call_tool(c, who, "evaluate_note_code", arguments.at, cancel, out,
                            failed, e);
}

/* An answer that is there ends in a NUL. */
static enum cloche_code hand_out(struct cloche_text *out, struct err *why,
                                 struct cloche_error *e)
{
    (void)buf_cz(&out->buf);
    if (!why->code)
        (void)buf_check(&out->buf, "the answer", why);
    if (why->code)
        buf_clear(&out->buf);
    return told(e, why);
}

static void embed_put_schema(struct json_writer *w, const char *key, const char *text)
{
    struct err none = {0};
    scoped(arena_free) struct arena *a = arena_new(ARENA_CALL);
    const struct json *schema = text ? json_read(str_of(text), a, &none) : NULL;
    if (schema)
        json_pair(w, key, schema);
}

enum cloche_code cloche_tools(struct cloche *c, struct cloche_text *out,
                              struct cloche_error *e)
{
    struct err why = {0};
    size_t count;
    const struct action *list = actions_list(c->actions, &count);
    buf_clear(&out->buf);
    struct json_writer w = json_writer(&out->buf);
    json_open_array(&w);
    for (size_t i = 0; i < count; i++) {
        json_open_object(&w);
        json_pair_cstr(&w, "name", list[i].name);
        json_pair_cstr(&w, "title", list[i].title);
        json_pair_cstr(&w, "description", list[i].description);
        embed_put_schema(&w, "inputSchema", list[i].input_schema);
        embed_put_schema(&w, "outputSchema", list[i].output_schema);
        json_close(&w);
    }
    json_close(&w);
    return hand_out(out, &why, e);
}

enum cloche_code cloche_read(struct cloche *c, struct cloche_caller *who, const char *uri,
                             struct cloche_text *out, struct cloche_error *e)
{
    struct err why = {0};
    struct caller caller = caller_of(who, NULL);
    buf_clear(&out->buf);
    (void)workspaces_read(c->workspaces, &caller, str_of(uri), &out->buf, &why);
    return hand_out(out, &why, e);
}

struct asked {
    struct cloche *c;
    const struct caller *who;
    struct route_request rq;
    struct route_answer out;
};

static void *call_route(void *arg)
{
    struct job *j = arg;
    struct asked *a = j->asked;
    (void)routes_request(a->c->actions, &a->rq, a->who, &a->out);
    j->ok = true;
    return NULL;
}

enum cloche_code cloche_request(struct cloche *c, struct cloche_caller *who,
                                const char *method, const char *target, const char *body,
                                const char *if_match, struct cloche_cancel *cancel,
                                int *status, struct cloche_text *out,
                                struct cloche_error *e)
{
    struct err why = {0};
    struct caller caller = caller_of(who, cancel);
    struct asked asked = {.c = c,
                          .who = &caller,
                          .rq = {.method = str_of(method),
                                 .target = str_of(target),
                                 .if_match = str_of(if_match),
                                 .body = str_of(body)},
                          .out = {.body = out->buf}};
    buf_clear(&asked.out.body);
    struct job job = {.asked = &asked, .e = &why};
    (void)run_on_guest_stack(call_route, &job);
    out->buf = asked.out.body;
    *status = asked.out.status;
    return hand_out(out, &why, e);
}

/* ---- upkeep -------------------------------------------------------------------- */

enum cloche_code cloche_keep_vault(struct cloche *c, struct cloche_caller *who,
                                   struct cloche_error *e)
{
    struct err why = {0};
    struct caller caller = caller_of(who, NULL);
    (void)actions_keep_vault(c->actions, &caller, &why);
    return told(e, &why);
}

enum cloche_code cloche_reindex(struct cloche *c, int anew, struct cloche_text *out,
                                struct cloche_error *e)
{
    struct err why = {0};
    buf_clear(&out->buf);
    (void)actions_reindex(c->actions, anew != 0, &out->buf, &why);
    return hand_out(out, &why, e);
}

static void *call_doctor(void *arg)
{
    struct job *j = arg;
    actions_doctor(j->c->actions, &j->out->json);
    j->ok = true;
    return NULL;
}

enum cloche_code cloche_doctor(struct cloche *c, struct cloche_text *out,
                               struct cloche_error *e)
{
    struct err why = {0};
    struct answer answer = {.json = out->buf};
    buf_clear(&answer.json);
    struct job job = {.c = c, .out = &answer, .e = &why};
    (void)run_on_guest_stack(call_doctor, &job);
    out->buf = answer.json;
    return hand_out(out, &why, e);
}
