/* The methods of the protocol, one row each, and the short ones' answers. */
#include <stdio.h>

#include "mcp/core.h"

#include "os/os.h"

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
    "search_notes, create_note and update_note. ";
static const char instructions_end[] =
    "Store useful functions with register_custom_function: code then calls them as `customFunctions.name()`. A note's identifier is `type/stem`, as in lists. An update is refused when the note has changed since it was read: read it again and repeat. A result with isError says what is wrong and what would be accepted.";
/* Clients cut what is longer. */
#define INSTRUCTIONS_MAX 2047u
_Static_assert(sizeof instructions + sizeof instructions_end <= INSTRUCTIONS_MAX - 700,
               "functions need room");

static void put_common(const struct backend *b, struct buf *out)
{
    buf_cstr(out, instructions);
    if (b->instruct)
        b->instruct(b->arg, out);
    buf_cstr(out, instructions_end);
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

/* Writes the instructions for everybody, then this caller's custom functions. */
static void put_instructions(const struct exchange *x, struct json_writer *w)
{
    const struct backend *b = &x->m->backend;
    char name[CALLER_NAME] = "stdio";
    unsigned vault = sessions_vault(&x->m->sessions, x->env->session);
    scoped_buf struct buf text, functions;
    buf_init(&text, INSTRUCTIONS_MAX + 1);
    buf_init(&functions, INSTRUCTIONS_MAX + 1);
    if (x->env->http)
        caller_http_name(name, x->env->grant, "");
    struct caller who = {.name = name, .grant = x->env->grant, .vault = &vault};
    put_common(b, &text);
    if (b->introduce)
        b->introduce(b->arg, &who, INSTRUCTIONS_MAX - text.n - 2, &functions);
    if (functions.n)
        buf_printf(&text, "\n\n%.*s", (int)functions.n, functions.at);
    json_pair_str(w, "instructions", buf_view(&text));
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
    struct client_claim client;
    client_read(&client, json_get(x->params, "clientInfo"));
    if (x->env->http) {
        *x->env->session =
            (struct session){.version = version, .can = can, .client = client};
        (void)snprintf(x->env->session->owner, sizeof x->env->session->owner, "%s",
                       x->env->owner ? x->env->owner : "");
        sessions_add(&x->m->sessions, os_mono_ms(), x->env->session);
        x->reply->opened = true;
    } else {
        x->env->session->version = version;
        x->env->session->can = can;
        x->env->session->client = client;
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
    put_instructions(x, &w);
    result_close(&w, x->era);
}

static void answer_discover(struct exchange *x)
{
    struct json_writer w = result_open(x->reply->out, x->id, x->era);
    json_pair_raw(&w, "supportedVersions", STR("[\"" VERSION_MODERN "\"]"));
    put_capabilities(x, &w);
    put_instructions(x, &w);
    put_cache_hints(&w, x->era, x->m->backend.introduce ? KEEP_FOR_ONE : KEEP_FOR_ALL);
    result_close(&w, x->era);
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

/* ---- the table ---------------------------------------------------------- */

static const struct method {
    const char *name;
    enum era eras;
    void (*answer)(struct exchange *x);
} methods[] = {
    {"tools/call", ERA_BOTH, call_prepare},
    {"tools/list", ERA_BOTH, tools_list},
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

/* Notifications that are unknown or not well formed are ignored silently. */
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
