/* The table of tools. */
#include "conformance/internal.h"

#define TEXT(t) "[{\"type\":\"text\",\"text\":\"" t "\"}]"
#define IMAGE "{\"type\":\"image\",\"data\":\"" RED_PIXEL "\",\"mimeType\":\"image/png\"}"
#define AUDIO "{\"type\":\"audio\",\"data\":\"" SILENCE "\",\"mimeType\":\"audio/wav\"}"
#define EMBEDDED(uri, type, text)                                                   \
    "{\"type\":\"resource\",\"resource\":{\"uri\":\"" uri "\",\"mimeType\":\"" type \
    "\","                                                                           \
    "\"text\":\"" text "\"}}"

#define NOTHING "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}"
#define ONE(name, type)                                                   \
    "{\"type\":\"object\",\"properties\":{\"" name "\":{\"type\":\"" type \
    "\"}},\"required\":[\"" name "\"]}"

/* Keywords of the dialect that a server may pass on but must not lose. */
#define DIALECT                                                                           \
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","  \
    "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\","             \
    "\"properties\":{\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}}," \
    "\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":"               \
    "\"#/$defs/address\"},\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\","    \
    "\"email\"]},\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"       \
    "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"    \
    "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},\"required\":"      \
    "[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":"    \
    "[\"email\"]},\"additionalProperties\":false}"
/* A parameter that intermediaries may see in a header. */
#define IN_A_HEADER                                                         \
    "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\"," \
    "\"x-mcp-header\":\"Region\"}},\"required\":[\"region\"]}"
#define MILLISECONDS                                                               \
    "{\"type\":\"object\",\"properties\":{\"milliseconds\":{\"type\":\"integer\"," \
    "\"minimum\":0,\"maximum\":60000}}}"

#define SECONDS                                                              \
    "{\"type\":\"object\",\"properties\":{\"seconds\":{\"type\":\"number\"," \
    "\"minimum\":0,\"maximum\":120},\"label\":{\"type\":\"string\"}}}"

#define TOOL(id, about, input, function, with)            \
    {.shown = {.name = id,                                \
               .title = id,                               \
               .description = "A test's fixture: " about, \
               .input_schema = input,                     \
               .read_only = true,                         \
               .idempotent = true},                       \
     .run = function,                                     \
     .arg = (void *)(uintptr_t)(const void *)with}
#define CONTENT(id, about, content) TOOL(id, about, NOTHING, say_content, content)
#define ASKING(id, about, which) TOOL(id, about, NOTHING, ask_all, &which)

static const struct action_extra tools[] = {
    CONTENT("test_simple_text", "answers with a text.",
            TEXT("This is a simple text response for testing.")),
    CONTENT("test_image_content", "answers with an image.", "[" IMAGE "]"),
    CONTENT("test_audio_content", "answers with audio.", "[" AUDIO "]"),
    CONTENT("test_embedded_resource", "answers with a resource.",
            "[" EMBEDDED("test://embedded-resource", "text/plain",
                         "This is an embedded resource content.") "]"),
    CONTENT("test_multiple_content_types", "answers with text, image and resource.",
            "[{\"type\":\"text\",\"text\":\"Multiple content types test:\"}," IMAGE
            "," EMBEDDED("test://mixed-content-resource", "application/json",
                         "{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}") "]"),
    TOOL("test_error_handling", "always fails.", NOTHING, say_failure,
         "This tool intentionally returns an error for testing"),
    TOOL("test_tool_with_logging", "logs three messages.", NOTHING, say_logs, NULL),
    TOOL("test_logging_tool", "logs at every level.", NOTHING, say_every_level, NULL),
    TOOL("test_tool_with_progress", "tells its progress.", NOTHING, say_progress, NULL),
    TOOL("test_reconnection", "answers after a while.", MILLISECONDS, say_late, NULL),
    TOOL("json_schema_2020_12_tool", "has a schema of many keywords.", DIALECT,
         say_content, TEXT("Done.")),
    TOOL("test_header_parameter", "has a parameter that is repeated in a header.",
         IN_A_HEADER, say_content, TEXT("Done.")),
    TOOL("greet", "greets.", ONE("name", "string"), say_greeting, NULL),

    TOOL("slow_compute", "takes as many seconds as it is told.", SECONDS, say_computed,
         NULL),
    TOOL("failing_job", "fails after a second.", NOTHING, say_failure_late,
         "This job intentionally fails for testing"),
    TOOL("protocol_error_job", "breaks.", NOTHING, say_broken, NULL),
    TOOL("confirm_delete", "asks to confirm.", ONE("filename", "string"), ask_later,
         &asking_delete),
    TOOL("multi_input", "asks two things at once.", NOTHING, ask_later, &asking_two),
    TOOL("test_tool_with_task", "asks for a name.", NOTHING, ask_before, &asking_name),

    TOOL("test_sampling", "asks the model.", ONE("prompt", "string"), ask_the_model,
         NULL),
    TOOL("test_elicitation", "asks the person.", ONE("message", "string"), ask_the_person,
         NULL),
    ASKING("test_elicitation_sep1034_defaults", "asks with defaults.", asking_defaults),
    ASKING("test_elicitation_sep1330_enums", "asks to choose.", asking_choices),
    ASKING("test_missing_capability", "needs a model.", asking_sampling),
    ASKING("test_streaming_elicitation", "asks the person.", asking_name),
    ASKING("test_input_required_result_elicitation", "asks for a name.", asking_name),
    ASKING("test_input_required_result_sampling", "asks the model.", asking_capital),
    ASKING("test_input_required_result_list_roots", "asks for roots.", asking_roots),
    ASKING("test_input_required_result_request_state", "asks to confirm.",
           asking_confirm),
    ASKING("test_input_required_result_tampered_state", "asks to confirm.",
           asking_confirm),
    ASKING("test_input_required_result_multiple_inputs", "asks three things at once.",
           asking_several),
    TOOL("test_input_required_result_multi_round", "asks, and asks again.", NOTHING,
         ask_twice, asking_rounds),
    TOOL("test_input_required_result_capabilities", "asks what it can.", NOTHING,
         ask_what_it_can, &asking_several),
};

/* Their arg is put in when it is known. */
static const struct action_extra changing[] = {
    TOOL("test_trigger_tool_change", "says that the tools changed.", NOTHING,
         say_tools_changed, NULL),
    TOOL("test_trigger_prompt_change", "says that the prompts changed.", NOTHING,
         say_prompts_changed, NULL),
    TOOL("test_trigger_resource_change", "says that " WATCHED " changed.", NOTHING,
         say_resource_changed, NULL),
};
_Static_assert(LENGTH(tools) + LENGTH(changing) <= CONFORMANCE_TOOLS_MAX, "too many");

size_t conformance_tools(struct action_extra out[static CONFORMANCE_TOOLS_MAX],
                         struct workspaces **open)
{
    memcpy(out, tools, sizeof tools);
    memcpy(out + LENGTH(tools), changing, sizeof changing);
    for (size_t i = 0; i < LENGTH(changing); i++)
        out[LENGTH(tools) + i].arg = open;
    return LENGTH(tools) + LENGTH(changing);
}
