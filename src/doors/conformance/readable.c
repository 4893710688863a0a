/* The tables of resources and prompts. */
#include "conformance/internal.h"
#include "json/json.h"

#define WORK_MAX ((size_t)1 << 20)

/* ---- resources -------------------------------------------------------------- */

struct content {
    const char *mime_type, *field, *value;
};

/* arg: a struct content. */
static bool fixture_read_static(void *arg, struct str uri, const struct json *values,
                                const struct caller *who, struct buf *contents,
                                struct err *e)
{
    (void)values;
    (void)who;
    (void)e;
    const struct content *content = arg;
    struct json_writer w = json_writer(contents);
    json_open_array(&w);
    json_open_object(&w);
    json_pair_str(&w, "uri", uri);
    json_pair_cstr(&w, "mimeType", content->mime_type);
    json_pair_cstr(&w, content->field, content->value);
    json_close(&w);
    json_close(&w);
    return true;
}

static bool read_template(void *arg, struct str uri, const struct json *values,
                          const struct caller *who, struct buf *contents, struct err *e)
{
    (void)arg;
    (void)who;
    struct str id = json_str(json_get(values, "id"));
    scoped_buf struct buf text, data;
    buf_init(&text, WORK_MAX);
    buf_init(&data, WORK_MAX);
    buf_printf(&data, "Data for ID: %.*s", STR_ARGS(id));
    struct json_writer inner = json_writer(&text);
    json_open_object(&inner);
    json_pair_str(&inner, "id", id);
    json_pair_bool(&inner, "templateTest", true);
    json_pair_str(&inner, "data", buf_view(&data));
    json_close(&inner);
    struct json_writer w = json_writer(contents);
    json_open_array(&w);
    json_open_object(&w);
    json_pair_str(&w, "uri", uri);
    json_pair_cstr(&w, "mimeType", "application/json");
    json_pair_str(&w, "text", buf_view(&text));
    json_close(&w);
    json_close(&w);
    return buf_check(&data, "the resource", e) && buf_check(&text, "the resource", e);
}

static bool complete_as(void *arg, struct str name, const struct json *known,
                        const struct caller *who, struct buf *values, struct err *e)
{
    (void)arg;
    (void)name;
    (void)known;
    (void)who;
    (void)e;
    return buf_cstr(values, "[\"paris\",\"park\",\"party\",\"test\",\"123\"]");
}

#define RESOURCE(id, mime, field, value)                                               \
    {                                                                                  \
        .shown = {.uri = id, .title = id, .mime_type = mime},                          \
        .read = fixture_read_static, .arg = (void *)(uintptr_t)&(const struct content) \
        {                                                                              \
            mime, field, value                                                         \
        }                                                                              \
    }

static const struct resource_extra resources[] = {
    RESOURCE("test://static-text", "text/plain", "text",
             "This is the content of the static text resource."),
    RESOURCE("test://static-binary", "image/png", "blob", RED_PIXEL),
    RESOURCE(WATCHED, "text/plain", "text", "It may change at any time."),
    RESOURCE("test://embedded-resource", "text/plain", "text",
             "This is an embedded resource content."),
    RESOURCE("test://mixed-content-resource", "application/json", "text",
             "{\"test\":\"data\",\"value\":123}"),
    RESOURCE("test://example-resource", "text/plain", "text", "An example."),
    {.shown = {.uri = "test://template/{id}/data",
               .title = "test://template/{id}/data",
               .mime_type = "application/json"},
     .read = read_template,
     .complete = complete_as},
};

/* ---- prompts ---------------------------------------------------------------- */

static void fixture_put_text(struct json_writer *w, struct str text)
{
    json_open_object(w);
    json_pair_cstr(w, "role", "user");
    json_key(w, "content");
    json_open_object(w);
    json_pair_cstr(w, "type", "text");
    json_pair_str(w, "text", text);
    json_close(w);
    json_close(w);
}

/* arg: the messages. */
static bool get_static(void *arg, const struct json *arguments, const struct caller *who,
                       struct buf *messages, struct err *e)
{
    (void)arguments;
    (void)who;
    (void)e;
    return buf_cstr(messages, arg);
}

static bool get_with_arguments(void *arg, const struct json *arguments,
                               const struct caller *who, struct buf *messages,
                               struct err *e)
{
    (void)arg;
    (void)who;
    scoped_buf struct buf text = buf_of(WORK_MAX);
    buf_printf(&text, "Prompt with arguments: arg1='%.*s', arg2='%.*s'",
               STR_ARGS(json_str(json_get(arguments, "arg1"))),
               STR_ARGS(json_str(json_get(arguments, "arg2"))));
    struct json_writer w = json_writer(messages);
    json_open_array(&w);
    fixture_put_text(&w, buf_view(&text));
    json_close(&w);
    return buf_check(&text, "the prompt", e);
}

static bool get_with_resource(void *arg, const struct json *arguments,
                              const struct caller *who, struct buf *messages,
                              struct err *e)
{
    (void)arg;
    (void)who;
    (void)e;
    struct json_writer w = json_writer(messages);
    json_open_array(&w);
    json_open_object(&w);
    json_pair_cstr(&w, "role", "user");
    json_key(&w, "content");
    json_open_object(&w);
    json_pair_cstr(&w, "type", "resource");
    json_key(&w, "resource");
    json_open_object(&w);
    json_pair(&w, "uri", json_get(arguments, "resourceUri"));
    json_pair_cstr(&w, "mimeType", "text/plain");
    json_pair_cstr(&w, "text", "Embedded resource content for testing.");
    json_close(&w);
    json_close(&w);
    json_close(&w);
    fixture_put_text(&w, STR("Please process the embedded resource above."));
    json_close(&w);
    return true;
}

static bool get_by_asking(void *arg, const struct json *arguments,
                          const struct caller *who, struct buf *messages, struct err *e)
{
    (void)arguments;
    const struct asking *asking = arg;
    const struct json *answer;
    scoped(arena_free) struct arena *a = arena_new(WORK_MAX);
    if (!client_ask(who->client, asking->questions, 1, a, &answer, e))
        return false;
    struct json_writer w = json_writer(messages);
    json_open_array(&w);
    fixture_put_text(&w, json_str(json_get(json_get(answer, "content"), "context")));
    json_close(&w);
    return true;
}

static const struct prompt_argument two_arguments[] = {
    {.name = "arg1", .description = "First test argument", .required = true},
    {.name = "arg2", .description = "Second test argument", .required = true}};
static const struct prompt_argument resource_argument[] = {
    {.name = "resourceUri", .description = "The resource to embed", .required = true}};

#define MESSAGE(content) "{\"role\":\"user\",\"content\":{" content "}}"
#define SAYS(text) MESSAGE("\"type\":\"text\",\"text\":\"" text "\"")

static const struct prompt_extra prompts[] = {
    {.shown = {.name = "test_simple_prompt", .description = "Has no arguments."},
     .get = get_static,
     .arg = (void *)(uintptr_t)"[" SAYS("This is a simple prompt for testing.") "]"},
    {.shown = {.name = "test_prompt_with_arguments",
               .description = "Repeats its arguments.",
               .arguments = two_arguments,
               .argument_count = LENGTH(two_arguments)},
     .get = get_with_arguments,
     .complete = complete_as},
    {.shown = {.name = "test_prompt_with_embedded_resource",
               .description = "Embeds a resource.",
               .arguments = resource_argument,
               .argument_count = LENGTH(resource_argument)},
     .get = get_with_resource},
    {.shown = {.name = "test_prompt_with_image", .description = "Holds an image."},
     .get = get_static,
     .arg = (void *)(uintptr_t)"[" MESSAGE(
         "\"type\":\"image\",\"data\":\"" RED_PIXEL
         "\",\"mimeType\":\"image/png\"") "," SAYS("Please analyze the image above.") "]"},
    {.shown = {.name = "test_input_required_result_prompt",
               .description = "Asks the person first."},
     .get = get_by_asking,
     .arg = (void *)(uintptr_t)&asking_context},
};

struct workspaces_options conformance_readable(void)
{
    return (struct workspaces_options){resources, LENGTH(resources), prompts,
                                       LENGTH(prompts)};
}
