/* The methods of the protocol, one row each, and the short ones' answers. */
#include <stdio.h>

#include "mcp/core.h"

#include "os/os.h"

/* Clients cut this at 2,048 bytes. */
static const char instructions[] =
    "Cloche is a sandbox over a folder of linked Markdown notes. "
    "For anything that takes more than one step, call evaluate_note_code with the "
    "body of an async JavaScript function: it can search, read, create and update "
    "notes with `await notes.*`, follow links, hierarchy and relationships, loop and "
    "filter over many notes in one call, and answer with `return` (any JSON value). "
    "`api.search('words')` and `api.describe('name')` tell what there is. Do the "
    "selecting and counting in the code and return only what you need: that saves round "
    "trips and context. Each call runs in a fresh WebAssembly world without network, files "
    "or memory of earlier calls unless it asks for them, within limits of time and memory "
    "that an error names when one is hit. For a single step there are get_note, "
    "search_notes, create_note, update_note and rename_note. A note's identifier is "
    "`type/stem` as it is listed. An update is refused when the note has changed since it "
    "was read: read it again and repeat. A result with isError says what was wrong and "
    "what would be accepted.";
_Static_assert(sizeof instructions <= 2048, "clients cut longer instructions");

/* What is served to everybody does not change while the program runs, or it is told. */
#define CACHE_MS 300000

void put_cache_hints(struct json_writer *w, enum era era, enum keeping how)
{
    if (era != ERA_MODERN || how == KEEP_UNSAID)
        return;
    json_pair_int(w, "ttlMs", how == KEEP_FOR_ALL ? CACHE_MS : 0);
    json_pair_cstr(w, "cacheScope", how == KEEP_FOR_ALL ? "public" : "private");
}

static void put_capabilities(const struct exchange *x, struct json_writer *w)
{
    bool changes = x->m->backend.library.hear != NULL;
    json_key(w, "capabilities");
    json_open_object(w);
    json_pair_raw(w, "logging", STR("{}"));
    json_pair_raw(w, "completions", STR("{}"));
    json_pair_raw(w, "prompts", changes ? STR("{\"listChanged\":true}") : STR("{}"));
    json_pair_raw(w, "resources",
                  changes ? STR("{\"subscribe\":true,\"listChanged\":true}") : STR("{}"));
    json_pair_raw(w, "tools", changes ? STR("{\"listChanged\":true}") : STR("{}"));
    if (x->era == ERA_MODERN)
        json_pair_raw(w, "extensions", STR("{\"" EXTENSION_TASKS "\":{}}"));
    json_close(w);
}

/* ---- opening ------------------------------------------------------------ */

static void answer_initialize(struct exchange *x)
{
    const struct json *asked = json_get(x->params, "protocolVersion");
    if (!json_is(asked, JSON_STRING)) {
        reply_error(x, RPC_PARAMS,
                    "Invalid params: initialize needs protocolVersion, a string such "
                    "as \"" VERSION_LEGACY "\"");
        return;
    }
    const char *version = legacy_version(json_str(asked));
    if (!version)
        version = VERSION_LEGACY;
    unsigned can = can_read(json_get(x->params, "capabilities"));
    if (x->env->http) {
        *x->env->session = (struct session){.version = version, .can = can};
        (void)snprintf(x->env->session->owner, sizeof x->env->session->owner, "%s",
                       x->env->owner ? x->env->owner : "");
        sessions_add(&x->m->sessions, (int64_t)(os_mono_ns() / 1000000), x->env->session);
        x->reply->opened = true;
    } else {
        x->env->session->version = version;
        x->env->session->can = can;
        atomic_store(&x->m->greeted, true);
    }

    changes_session(&x->m->changes, x->env->session, x->env->grant, x->env->sink);

    struct json_writer w = result_open(x->reply->out, x->id, x->era);
    json_pair_cstr(&w, "protocolVersion", version);
    put_capabilities(x, &w);
    json_key(&w, "serverInfo");
    json_open_object(&w);
    json_pair_cstr(&w, "name", "cloche");
    json_pair_cstr(&w, "title", "Cloche");
    json_pair_cstr(&w, "version", CLOCHE_VERSION);
    json_close(&w);
    json_pair_cstr(&w, "instructions", instructions);
    result_close(&w, x->era);
}

static void answer_discover(struct exchange *x)
{
    struct json_writer w = result_open(x->reply->out, x->id, x->era);
    json_pair_raw(&w, "supportedVersions", STR("[\"" VERSION_MODERN "\"]"));
    put_capabilities(x, &w);
    json_pair_cstr(&w, "instructions", instructions);
    put_cache_hints(&w, x->era, KEEP_FOR_ALL);
    result_close(&w, x->era);
}

unsigned log_level_named(const struct json *name)
{
    unsigned i = 0;
    while (i < CLIENT_LEVELS && !str_is(json_str(name), client_level_names[i]))
        i++;
    return i < CLIENT_LEVELS ? i : LOG_UNASKED;
}

static void answer_log_level(struct exchange *x)
{
    const struct json *name = json_get(x->params, "level");
    unsigned level = log_level_named(name);
    if (level == LOG_UNASKED) {
        reply_error(x, RPC_PARAMS, "Invalid params: level is '%.*s'; " LOG_LEVELS,
                    STR_ARGS(str_cut(json_str(name), 40)));
        return;
    }
    sessions_set_log_least(&x->m->sessions, x->env->session, level);
    struct json_writer w = result_open(x->reply->out, x->id, x->era);
    result_close(&w, x->era);
}

static void answer_ping(struct exchange *x)
{
    struct json_writer w = result_open(x->reply->out, x->id, x->era);
    result_close(&w, x->era);
}

/* ---- tools/list --------------------------------------------------------- */

/* Read and written again: compact, and on one line. `mirrors`: for an input's. */
static bool put_schema(struct json_writer *w, const char *key, const char *text,
                       const struct action *of, struct mirrors *mirrors, struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new((size_t)4 * 1024 * 1024);
    struct err why = {0};
    const struct json *schema = json_read(str_of(text), arena, &why);
    if (!json_is(schema, JSON_OBJECT))
        return err_set(e, ERR_BUG, "%s of the action %s is no JSON object: %s", key,
                       of->name, why.msg);
    json_pair(w, key, schema);
    return !mirrors || mirrors_read(mirrors, of, schema, e);
}

static bool put_tool(struct json_writer *w, const struct action *a,
                     struct mirrors *mirrors, struct err *e)
{
    json_open_object(w);
    json_pair_cstr(w, "name", a->name);
    json_pair_cstr(w, "title", a->title);
    json_pair_cstr(w, "description", a->description);
    if (!put_schema(w, "inputSchema", a->input_schema, a, mirrors, e))
        return false;
    if (a->output_schema && !put_schema(w, "outputSchema", a->output_schema, a, NULL, e))
        return false;
    json_key(w, "annotations");
    json_open_object(w);
    /* What is left out reads as the pessimistic default. */
    if (a->read_only)
        json_pair_bool(w, "readOnlyHint", true);
    else if (!a->destructive)
        json_pair_bool(w, "destructiveHint", false);
    if (!a->read_only && a->idempotent)
        json_pair_bool(w, "idempotentHint", true);
    if (!a->open_world)
        json_pair_bool(w, "openWorldHint", false);
    json_close(w);
    json_close(w);
    return true;
}

bool tools_write(struct mcp *m, struct err *e)
{
    size_t n;
    const struct action *list = m->backend.list(m->backend.arg, &n);
    struct json_writer w = json_writer(&m->tools);
    json_open_array(&w);
    for (size_t i = 0; i < n; i++) {
        if (!put_tool(&w, &list[i], &m->mirrors, e))
            return false;
        buf_printf(&m->names, "%s%s", i ? ", " : "", list[i].name);
    }
    json_close(&w);
    return buf_check(&m->tools, "the list of tools", e) &&
           buf_check(&m->names, "the list of tools' names", e);
}

static void answer_tools_list(struct exchange *x)
{
    /* All tools are on the one page, so no cursor was ever handed out. */
    const struct json *cursor = json_get(x->params, "cursor");
    if (cursor && !json_is(cursor, JSON_NULL)) {
        reply_error(x, RPC_PARAMS,
                    "Invalid params: unknown cursor; tools/list has one page, without "
                    "a cursor");
        return;
    }
    struct json_writer w = result_open(x->reply->out, x->id, x->era);
    json_pair_raw(&w, "tools", buf_view(&x->m->tools));
    put_cache_hints(&w, x->era, KEEP_FOR_ALL);
    result_close(&w, x->era);
}

/* ---- the table ---------------------------------------------------------- */

static const struct method {
    const char *name;
    enum era eras;
    void (*answer)(struct exchange *x);
} methods[] = {
    {"tools/call", ERA_BOTH, call_prepare},
    {"tools/list", ERA_BOTH, answer_tools_list},
    {"resources/read", ERA_BOTH, resources_read},
    {"resources/list", ERA_BOTH, resources_list},
    {"resources/templates/list", ERA_BOTH, resources_templates},
    {"prompts/list", ERA_BOTH, prompts_list},
    {"prompts/get", ERA_BOTH, prompts_get},
    {"completion/complete", ERA_BOTH, completion_complete},
    {"server/discover", ERA_MODERN, answer_discover},
    {"subscriptions/listen", ERA_MODERN, listen_prepare},
    {"tasks/get", ERA_MODERN, tasks_get},
    {"tasks/update", ERA_MODERN, tasks_update},
    {"tasks/cancel", ERA_MODERN, tasks_cancel},
    {"resources/subscribe", ERA_LEGACY, resources_subscribe},
    {"resources/unsubscribe", ERA_LEGACY, resources_unsubscribe},
    {"initialize", ERA_LEGACY, answer_initialize},
    {"ping", ERA_LEGACY, answer_ping},
    {"logging/setLevel", ERA_LEGACY, answer_log_level},
};

void method_answer(struct exchange *x)
{
    for (size_t i = 0; i < LENGTH(methods); i++) {
        if ((methods[i].eras & x->era) && str_is(x->method, methods[i].name)) {
            methods[i].answer(x);
            return;
        }
    }
    reply_error(x, RPC_METHOD, "Method not found: %.*s",
                STR_ARGS(str_cut(x->method, 100)));
}

/* Those that are not known, or not well formed, are passed over in silence. */
void notification_take(struct exchange *x)
{
    if (!str_is(x->method, "notifications/cancelled"))
        return;
    const struct json *id = json_get(x->params, "requestId");
    if (id && x->env->session->there) {
        calls_cancel(&x->m->calls, x->env->session, id, true);
        changes_cancel(&x->m->changes, x->env->session, id);
    }
}
