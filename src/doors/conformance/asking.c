/* Tools that ask the client, the model or the person before they answer. */
#include <stdio.h>

#include "conformance/internal.h"
#include "json/json.h"

#define WORK_MAX ((size_t)1 << 20)
#define QUESTIONS_MAX 4u
#define SHOWN_MAX 400u

/* ---- questions ------------------------------------------------------------ */

#define FORM(message, properties, required)                                         \
    "{\"mode\":\"form\",\"message\":\"" message "\",\"requestedSchema\":{\"type\":" \
    "\"object\",\"properties\":" properties ",\"required\":" required "}}"
#define SAMPLE(prompt, tokens)                                                            \
    "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"" prompt \
    "\"}}],\"maxTokens\":" #tokens "}"

#define ASK_NAME(message) FORM(message, "{\"name\":{\"type\":\"string\"}}", "[\"name\"]")

static const char form_defaults[] =
    FORM("Please check what is filled in",
         "{\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
         "\"age\":{\"type\":\"integer\",\"default\":30},"
         "\"score\":{\"type\":\"number\",\"default\":95.5},"
         "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],"
         "\"default\":\"active\"},"
         "\"verified\":{\"type\":\"boolean\",\"default\":true}}",
         "[]");

#define TITLED(one, two)                                   \
    "[{\"const\":\"value1\",\"title\":\"First " one "\"}," \
    "{\"const\":\"value2\",\"title\":\"Second " two "\"}]"
static const char form_choices[] = FORM(
    "Please choose",
    "{\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\","
    "\"option3\"]},"
    "\"titledSingle\":{\"type\":\"string\",\"oneOf\":" TITLED(
        "Option",
        "Option") "},"
                  "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"
                  "\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"
                  "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":"
                  "[\"option1\",\"option2\",\"option3\"]}},"
                  "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":" TITLED(
                      "Choice", "Choice") "}}}",
    "[]");

#define QUESTION(key, method, params) \
    {key, method, {params, sizeof params - 1}, false, NULL}
static const struct client_question
    name_question[] = {QUESTION("user_name", "elicitation/create",
                                ASK_NAME("What is your name?"))},
    capital_question[] = {QUESTION("capital_question", "sampling/createMessage",
                                   SAMPLE("What is the capital of France?", 100))},
    roots_question[] = {QUESTION("client_roots", "roots/list", "{}")},
    context_question[] = {QUESTION("user_context", "elicitation/create",
                                   FORM("What context should the prompt use?",
                                        "{\"context\":{\"type\":\"string\"}}",
                                        "[\"context\"]"))},
    confirm_question[] = {QUESTION(
        "confirm", "elicitation/create",
        FORM("Please confirm", "{\"ok\":{\"type\":\"boolean\"}}", "[\"ok\"]"))},
    delete_question[] = {QUESTION(
        "confirm", "elicitation/create",
        FORM("Delete it?", "{\"confirm\":{\"type\":\"boolean\"}}", "[\"confirm\"]"))},
    several_questions[] = {QUESTION("user_name", "elicitation/create",
                                    ASK_NAME("What is your name?")),
                           QUESTION("greeting", "sampling/createMessage",
                                    SAMPLE("Generate a greeting", 50)),
                           QUESTION("client_roots", "roots/list", "{}")},
    two_questions[] = {QUESTION(
                           "first", "elicitation/create",
                           FORM("First?", "{\"value\":{\"type\":\"string\"}}", "[]")),
                       QUESTION(
                           "second", "elicitation/create",
                           FORM("Second?", "{\"value\":{\"type\":\"string\"}}", "[]"))},
    first_round[] = {QUESTION("step1", "elicitation/create",
                              ASK_NAME("Step 1: What is your name?"))},
    second_round[] = {QUESTION("step2", "elicitation/create",
                               FORM("Step 2: What is your favorite color?",
                                    "{\"color\":{\"type\":\"string\"}}", "[\"color\"]"))},
    defaults_question[] = {QUESTION("defaults", "elicitation/create", form_defaults)},
    choices_question[] = {QUESTION("choices", "elicitation/create", form_choices)},
    sampling_question[] = {
        QUESTION("sample", "sampling/createMessage", SAMPLE("Say anything", 10))};

/* ---- what is told of the answers ------------------------------------------- */

static const struct json *content(const struct json *answer, const char *field)
{
    return json_get(json_get(answer, "content"), field);
}

static struct str shown(const struct json *v)
{
    return str_cut(json_str(v), SHOWN_MAX);
}

static void tell_name(const struct json *const *answers, struct answer *out)
{
    if (str_is(json_str(json_get(answers[0], "action")), "accept"))
        fixture_say(out, "Hello, %.*s!", STR_ARGS(shown(content(answers[0], "name"))));
    else
        fixture_say(out, "Hello, whoever you are!");
}

static void tell_sample(const struct json *const *answers, struct answer *out)
{
    fixture_say(out, "LLM response: %.*s", STR_ARGS(shown(content(answers[0], "text"))));
}

static void tell_roots(const struct json *const *answers, struct answer *out)
{
    const struct json *roots = json_get(answers[0], "roots");
    fixture_say(out, "%zu roots, the first is %.*s", json_length(roots),
                STR_ARGS(shown(json_get(json_at(roots, 0), "uri"))));
}

static void asking_tell_state(const struct json *const *answers, struct answer *out)
{
    bool ok = json_bool(content(answers[0], "ok"), false);
    fixture_say(out, "state-ok, %s", ok ? "confirmed" : "not confirmed");
}

static void tell_several(const struct json *const *answers, struct answer *out)
{
    fixture_say(out, "%.*s says: %.*s; %zu roots",
                STR_ARGS(shown(content(answers[0], "name"))),
                STR_ARGS(shown(content(answers[1], "text"))),
                json_length(json_get(answers[2], "roots")));
}

static void tell_two(const struct json *const *answers, struct answer *out)
{
    fixture_say(out, "%.*s and %.*s", STR_ARGS(shown(json_get(answers[0], "action"))),
                STR_ARGS(shown(json_get(answers[1], "action"))));
}

static void tell_rounds(const struct json *const *answers, struct answer *out)
{
    fixture_say(out, "%.*s likes %.*s", STR_ARGS(shown(content(answers[0], "name"))),
                STR_ARGS(shown(content(answers[1], "color"))));
}

/* "action=accept, content={...}" */
static void tell_action(const char *what, const struct json *answer, struct answer *out)
{
    scoped_buf struct buf text = buf_of(WORK_MAX);
    struct json_writer w = json_writer(&text);
    json_put(&w, json_get(answer, "content"));
    fixture_say(out, "%s: action=%.*s, content=%.*s", what,
                STR_ARGS(shown(json_get(answer, "action"))),
                STR_ARGS(str_cut(buf_view(&text), SHOWN_MAX)));
}

static void tell_elicited(const struct json *const *answers, struct answer *out)
{
    tell_action("Elicitation completed", answers[0], out);
}

const struct asking asking_name = {name_question, 1, tell_name},
                    asking_capital = {capital_question, 1, tell_sample},
                    asking_roots = {roots_question, 1, tell_roots},
                    asking_context = {context_question, 1, NULL},
                    asking_confirm = {confirm_question, 1, asking_tell_state},
                    asking_several = {several_questions, 3, tell_several},
                    asking_delete = {delete_question, 1, tell_elicited},
                    asking_two = {two_questions, 2, tell_two},
                    asking_rounds[2] = {{first_round, 1, NULL},
                                        {second_round, 1, tell_rounds}},
                    asking_defaults = {defaults_question, 1, tell_elicited},
                    asking_choices = {choices_question, 1, tell_elicited},
                    asking_sampling = {sampling_question, 1, tell_sample};

/* ---- asking ---------------------------------------------------------------- */

bool ask_all(void *arg, const struct json *arguments, const struct caller *who,
             struct answer *out, struct err *e)
{
    (void)arguments;
    const struct asking *asking = arg;
    const struct json *answers[QUESTIONS_MAX];
    scoped(arena_free) struct arena *a = arena_new(WORK_MAX);
    if (!client_ask(who->client, asking->questions, asking->count, a, answers, e))
        return false;
    asking->tell(answers, out);
    return true;
}

bool ask_later(void *arg, const struct json *arguments, const struct caller *who,
               struct answer *out, struct err *e)
{
    struct err ignored = {0};
    (void)client_later(who->client, &ignored);
    return ask_all(arg, arguments, who, out, e);
}

bool ask_before(void *arg, const struct json *arguments, const struct caller *who,
                struct answer *out, struct err *e)
{
    return ask_all(arg, arguments, who, out, e) && client_later(who->client, e);
}

bool ask_what_it_can(void *arg, const struct json *arguments, const struct caller *who,
                     struct answer *out, struct err *e)
{
    (void)arguments;
    const struct asking *asking = arg;
    struct client_question asked[QUESTIONS_MAX];
    const struct json *answers[QUESTIONS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < asking->count; i++)
        if (client_answers(who->client, asking->questions[i].method))
            asked[n++] = asking->questions[i];
    scoped(arena_free) struct arena *a = arena_new(WORK_MAX);
    return (n == 0 || client_ask(who->client, asked, n, a, answers, e)) &&
           fixture_say(out, "%zu of %zu questions could be asked.", n, asking->count);
}

bool ask_twice(void *arg, const struct json *arguments, const struct caller *who,
               struct answer *out, struct err *e)
{
    (void)arguments;
    const struct asking *rounds = arg;
    const struct json *answers[2];
    scoped(arena_free) struct arena *a = arena_new(WORK_MAX);
    for (size_t i = 0; i < LENGTH(answers); i++)
        if (!client_ask(who->client, rounds[i].questions, 1, a, &answers[i], e))
            return false;
    rounds[1].tell(answers, out);
    return true;
}

static bool ask_one(const char *method, const struct buf *params,
                    const struct caller *who, struct arena *a, const struct json **answer,
                    struct err *e)
{
    struct client_question question = {"asked", method, buf_view(params), false, NULL};
    return buf_check(params, "the question", e) &&
           client_ask(who->client, &question, 1, a, answer, e);
}

bool ask_the_model(void *arg, const struct json *arguments, const struct caller *who,
                   struct answer *out, struct err *e)
{
    (void)arg;
    scoped(arena_free) struct arena *a = arena_new(WORK_MAX);
    scoped_buf struct buf params = buf_of(WORK_MAX);
    struct json_writer w = json_writer(&params);
    json_open_object(&w);
    json_key(&w, "messages");
    json_open_array(&w);
    json_open_object(&w);
    json_pair_cstr(&w, "role", "user");
    json_key(&w, "content");
    json_open_object(&w);
    json_pair_cstr(&w, "type", "text");
    json_pair(&w, "text", json_get(arguments, "prompt"));
    json_close(&w);
    json_close(&w);
    json_close(&w);
    json_pair_int(&w, "maxTokens", 100);
    json_close(&w);
    const struct json *answer;
    if (!ask_one("sampling/createMessage", &params, who, a, &answer, e))
        return false;
    tell_sample(&answer, out);
    return true;
}

bool ask_the_person(void *arg, const struct json *arguments, const struct caller *who,
                    struct answer *out, struct err *e)
{
    (void)arg;
    scoped(arena_free) struct arena *a = arena_new(WORK_MAX);
    scoped_buf struct buf params = buf_of(WORK_MAX);
    struct json_writer w = json_writer(&params);
    json_open_object(&w);
    json_pair(&w, "message", json_get(arguments, "message"));
    json_pair_raw(
        &w, "requestedSchema",
        STR("{\"type\":\"object\",\"properties\":{\"username\":{\"type\":\"string\","
            "\"description\":\"User's response\"},\"email\":{\"type\":\"string\","
            "\"description\":\"User's email address\"}},\"required\":[\"username\","
            "\"email\"]}"));
    json_close(&w);
    const struct json *answer;
    if (!ask_one("elicitation/create", &params, who, a, &answer, e))
        return false;
    tell_action("User response", answer, out);
    return true;
}
