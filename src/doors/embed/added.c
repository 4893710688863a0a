/* An embedder's additions: options, and its tools, resources and prompts as the rooms below
 * call them. */
#include <stdio.h>

#include "client/client.h"
#include "embed/internal.h"
#include "json/json.h"

#define ANSWER_MEMORY ((size_t)256 << 20) /* to check an answer with */

struct cloche_options *cloche_options_new(void)
{
    struct cloche_options *o = mem_new(sizeof *o);
    atomic_init(&o->holders, 1);
    return o;
}

struct cloche_options *options_share(const struct cloche_options *o)
{
    struct cloche_options *shared = (struct cloche_options *)(uintptr_t)o;
    if (shared)
        atomic_fetch_add(&shared->holders, 1);
    return shared;
}

static void free_text(const char *text)
{
    free((char *)(uintptr_t)text);
}

static void free_tool(const struct action *shown)
{
    const char *const texts[] = {shown->name, shown->title, shown->description,
                                 shown->input_schema, shown->output_schema};
    for (size_t i = 0; i < LENGTH(texts); i++)
        free_text(texts[i]);
}

static void free_resource(const struct resource_shown *shown)
{
    free_text(shown->uri);
    free_text(shown->name);
    free_text(shown->description);
    free_text(shown->mime_type);
}

static void free_prompt(const struct prompt_shown *shown)
{
    free_text(shown->name);
    free_text(shown->description);
    for (size_t i = 0; i < shown->argument_count; i++)
        free_text(shown->arguments[i].name);
    free((struct prompt_argument *)(uintptr_t)shown->arguments);
}

void cloche_options_free(struct cloche_options *o)
{
    if (!o || atomic_fetch_sub(&o->holders, 1) > 1)
        return;
    for (size_t i = 0; i < o->vault_count; i++)
        free_text(o->vaults[i]);
    for (size_t i = 0; i < o->root_count; i++)
        free_text(o->roots[i]);
    for (size_t i = 0; i < o->tool_count; i++)
        free_tool(&o->tools[i].shown);
    for (size_t i = 0; i < o->resource_count; i++)
        free_resource(&o->resources[i].shown);
    for (size_t i = 0; i < o->prompt_count; i++)
        free_prompt(&o->prompts[i].shown);
    free(o->guests);
    free(o);
}

static void add_folder(struct cloche_options *o, const char **list, size_t *count,
                       const char *folder)
{
    if (*count == FOLDERS_MAX)
        err_set(&o->wrong, ERR_LIMIT, "at most %u folders can be named", FOLDERS_MAX);
    else
        list[(*count)++] = mem_strdup(folder);
}

void cloche_options_vault(struct cloche_options *o, const char *folder)
{
    add_folder(o, o->vaults, &o->vault_count, folder);
}

void cloche_options_vault_root(struct cloche_options *o, const char *folder)
{
    add_folder(o, o->roots, &o->root_count, folder);
}

void cloche_options_guests(struct cloche_options *o, const char *folder)
{
    free(o->guests);
    o->guests = mem_strdup(folder);
}

void cloche_options_on_record(struct cloche_options *o, cloche_record_fn *fn, void *arg)
{
    o->on_record = fn;
    o->record_arg = arg;
}

void embed_options_mounts(struct cloche_options *o, const char *const *mounts)
{
    o->mounts = mounts;
}

void embed_options_brief(struct cloche_options *o)
{
    o->brief = true;
}

void embed_options_extras(struct cloche_options *o, const struct action_extra *tools,
                          size_t tool_count, const struct workspaces_options *readable)
{
    o->own_tools = tools;
    o->own_tool_count = tool_count;
    o->own_readable = *readable;
}

/* ---- a call of theirs -------------------------------------------------------- */

struct cloche_call {
    const struct caller *who;
    enum added_kind kind;
    struct buf arguments;
    struct buf *out;
    bool done;
    struct err why;
};

const char *cloche_call_arguments(const struct cloche_call *c)
{
    return c->arguments.at; /* ended when it was made */
}

const char *cloche_call_caller(const struct cloche_call *c)
{
    return c->who->name;
}

int cloche_call_cancelled(const struct cloche_call *c)
{
    return cancel_fired(c->who->cancel);
}

void cloche_call_progress(struct cloche_call *c, double done, double total,
                          const char *message)
{
    client_progress(c->who->client, done, total, str_of(message));
}

enum cloche_code cloche_call_answer(struct cloche_call *c, const char *json)
{
    struct err e = {0};
    scoped(arena_free) struct arena *a = arena_new(ANSWER_MEMORY);
    const struct json *v = c->done ? NULL : json_read(str_of(json), a, &e);
    bool fits = json_is(v, c->kind == ADDED_TOOL ? JSON_OBJECT : JSON_ARRAY);
    if (!fits)
        return CLOCHE_INVALID;
    struct json_writer w = json_writer(c->out);
    json_put(&w, v);
    c->done = true;
    return CLOCHE_OK;
}

void cloche_call_fail(struct cloche_call *c, enum cloche_code code, const char *message)
{
    if (!c->done)
        err_set(&c->why, code_from(code), "%s", message ? message : "");
    c->done = true;
}

/* Calls it; `out` has its answer. */
static bool added_call(const struct added *x, struct cloche_call *c, struct err *e)
{
    if (buf_cz(&c->arguments) && buf_check(&c->arguments, "the arguments", e)) {
        x->fn(x->arg, c);
        if (!c->done)
            err_set(&c->why, ERR_BUG, "the tool returned without an answer");
        if (c->why.code)
            err_set(e, c->why.code, "%s", c->why.msg);
    }
    buf_done(&c->arguments);
    return !e->code && buf_check(c->out, "the answer", e);
}

static struct cloche_call added_begin(const struct added *x, const struct caller *who,
                                      struct buf *out)
{
    struct cloche_call c = {.who = who, .kind = x->kind, .out = out};
    buf_init(&c.arguments, BUF_ANSWER);
    return c;
}

static bool run_tool(void *arg, const struct json *arguments, const struct caller *who,
                     struct answer *out, struct err *e)
{
    struct cloche_call c = added_begin(arg, who, &out->json);
    struct json_writer w = json_writer(&c.arguments);
    json_put(&w, arguments);
    return added_call(arg, &c, e);
}

static bool read_resource(void *arg, struct str uri, const struct json *values,
                          const struct caller *who, struct buf *contents, struct err *e)
{
    struct cloche_call c = added_begin(arg, who, contents);
    struct json_writer w = json_writer(&c.arguments);
    json_open_object(&w);
    json_put_pairs(&w, values, (const char *const[]){"uri", NULL});
    json_pair_str(&w, "uri", uri);
    json_close(&w);
    return added_call(arg, &c, e);
}

static bool get_prompt(void *arg, const struct json *arguments, const struct caller *who,
                       struct buf *messages, struct err *e)
{
    struct cloche_call c = added_begin(arg, who, messages);
    struct json_writer w = json_writer(&c.arguments);
    if (arguments)
        json_put(&w, arguments);
    else
        buf_cstr(&c.arguments, "{}");
    return added_call(arg, &c, e);
}

/* ---- adding -------------------------------------------------------------------- */

/* NULL: there are too many of this kind. */
static struct added *added_new(struct cloche_options *o, enum added_kind kind,
                               size_t count, cloche_fn *fn, void *arg)
{
    if (count == ADDED_MAX) {
        err_set(&o->wrong, ERR_LIMIT,
                "at most %u tools, resources or prompts can be added", ADDED_MAX);
        return NULL;
    }
    struct added *x = &o->added[o->added_count++];
    *x = (struct added){.fn = fn, .arg = arg, .kind = kind};
    return x;
}

static char *text_copy(const char *text)
{
    return text ? mem_strdup(text) : NULL;
}

void cloche_options_tool(struct cloche_options *o, const char *name, const char *title,
                         const char *description, const char *input_schema,
                         const char *output_schema, unsigned flags, cloche_fn *fn,
                         void *arg)
{
    struct added *x = added_new(o, ADDED_TOOL, o->tool_count, fn, arg);
    if (!x)
        return;
    o->tools[o->tool_count++] =
        (struct action_extra){.shown = {.name = text_copy(name),
                                        .title = text_copy(title ? title : name),
                                        .description = text_copy(description),
                                        .input_schema = text_copy(input_schema),
                                        .output_schema = text_copy(output_schema),
                                        .read_only = flags & CLOCHE_TOOL_READS,
                                        .destructive = flags & CLOCHE_TOOL_DESTROYS,
                                        .idempotent = flags & CLOCHE_TOOL_IDEMPOTENT,
                                        .open_world = flags & CLOCHE_TOOL_OPEN_WORLD},
                              .run = run_tool,
                              .arg = x};
}

void cloche_options_resource(struct cloche_options *o, const char *uri, const char *name,
                             const char *description, const char *mime_type,
                             cloche_fn *fn, void *arg)
{
    struct added *x = added_new(o, ADDED_RESOURCE, o->resource_count, fn, arg);
    if (!x)
        return;
    o->resources[o->resource_count++] =
        (struct resource_extra){.shown = {.uri = text_copy(uri),
                                          .name = text_copy(name),
                                          .description = text_copy(description),
                                          .mime_type = text_copy(mime_type)},
                                .read = read_resource,
                                .arg = x};
}

/* "id class?": a name each, those with a question mark may be left out. */
static struct prompt_argument *read_names(const char *names, size_t *count)
{
    struct prompt_argument *list = mem_new(64 * sizeof *list);
    *count = 0;
    while (names && *names && *count < 64) {
        size_t n = strcspn(names, " ");
        bool optional = n && names[n - 1] == '?';
        struct prompt_argument *one = &list[*count];
        if (n && asprintf((char **)(uintptr_t)&one->name, "%.*s", (int)(n - optional),
                          names) > 0) {
            one->required = !optional;
            ++*count;
        }
        names += n + (names[n] == ' ');
    }
    return list;
}

void cloche_options_prompt(struct cloche_options *o, const char *name,
                           const char *description, const char *arguments, cloche_fn *fn,
                           void *arg)
{
    struct added *x = added_new(o, ADDED_PROMPT, o->prompt_count, fn, arg);
    if (!x)
        return;
    size_t count;
    const struct prompt_argument *list = read_names(arguments, &count);
    o->prompts[o->prompt_count++] =
        (struct prompt_extra){.shown = {.name = text_copy(name),
                                        .description = text_copy(description),
                                        .arguments = list,
                                        .argument_count = count},
                              .get = get_prompt,
                              .arg = x};
}
