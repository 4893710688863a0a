/* Questions in the era without requests to clients: answers that come back, and which are
 * trusted. */
#include <stdio.h>

#include "mcp/fake_test.h"

/* ---- tools that ask ----------------------------------------------------- */

#define FORM(field, type)                                                                  \
    "{\"message\":\"?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"" field \
    "\":{\"type\":\"" type "\"}},\"required\":[\"" field "\"]}}"
#define URL "{\"mode\":\"url\",\"message\":\"?\",\"url\":\"https://example.org/\"}"
#define SAMPLE "{\"messages\":[],\"maxTokens\":10}"
#define ASKS(key, method, params) {key, method, {params, sizeof params - 1}, false, NULL}

static struct client_question
    name[] = {ASKS("name", "elicitation/create", FORM("name", "string"))},
    colour[] = {ASKS("colour", "elicitation/create", FORM("colour", "string"))},
    url[] = {ASKS("there", "elicitation/create", URL)},
    three[] = {ASKS("name", "elicitation/create", FORM("name", "string")),
               ASKS("text", "sampling/createMessage", SAMPLE),
               ASKS("roots", "roots/list", "{}")},
    twice[] = {ASKS("same", "elicitation/create", FORM("a", "string")),
               ASKS("same", "elicitation/create", FORM("b", "string"))},
    nothing[] = {ASKS("odd", "ping", "{}")};

static const struct action tools[] = {
    {"one", "", "", FAKE_SCHEMA, NULL, true, false, true, false},
    {"rounds", "", "", FAKE_SCHEMA, NULL, true, false, true, false},
    {"three", "", "", FAKE_SCHEMA, NULL, true, false, true, false},
    {"url", "", "", FAKE_SCHEMA, NULL, true, false, true, false},
    {"twice", "", "", FAKE_SCHEMA, NULL, true, false, true, false},
    {"odd", "", "", FAKE_SCHEMA, NULL, true, false, true, false},
    {"gives up", "", "", FAKE_SCHEMA, NULL, true, false, true, false},
};

static bool tell(const struct json *const *answers, size_t n, struct answer *out)
{
    struct json_writer w = json_writer(&out->json);
    json_open_object(&w);
    json_key(&w, "told");
    json_open_array(&w);
    for (size_t i = 0; i < n; i++)
        json_put(&w, answers[i]);
    json_close(&w);
    json_close(&w);
    return true;
}

static bool perform(void *arg, const struct action *which, const struct json *arguments,
                    const struct caller *who, struct answer *out, struct err *e)
{
    (void)arg;
    (void)arguments;
    scoped(arena_free) struct arena *a = arena_new(1 << 20);
    const struct json *told[4];
    const struct client *c = who->client;
    switch (which - tools) {
    case 0:
        return client_ask(c, name, 1, a, told, e) && tell(told, 1, out);
    case 1:
        return client_ask(c, name, 1, a, told, e) &&
               client_ask(c, colour, 1, a, told + 1, e) && tell(told, 2, out);
    case 2:
        return client_ask(c, three, 3, a, told, e) && tell(told, 3, out);
    case 3:
        return client_ask(c, url, 1, a, told, e) && tell(told, 1, out);
    case 4:
        return client_ask(c, twice, 2, a, told, e);
    case 5:
        return client_ask(c, nothing, 1, a, told, e);
    default:
        return client_answers(c, "roots/list") ||
               err_set(e, ERR_CAPABILITY, "it needs roots");
    }
}

static const struct action *list(void *arg, size_t *n)
{
    (void)arg;
    *n = LENGTH(tools);
    return tools;
}

static const struct action *named(void *arg, struct str tool)
{
    (void)arg;
    for (size_t i = 0; i < LENGTH(tools); i++)
        if (str_is(tool, tools[i].name))
            return &tools[i];
    return NULL;
}

/* ---- calling them ------------------------------------------------------- */

static struct mcp *m;
static struct arena *arena;
static const struct json *got; /* the last answer */
static char *given;            /* its requestState, quoted */
static int status;
static struct grant grant;
static struct front front;

static struct mcp *open_another(void)
{
    struct err e = {0};
    struct backend b = {.list = list, .named = named, .call = perform};
    struct mcp *new = mcp_open_on(&b, &e);
    assert_non_null(new);
    return new;
}

static int opened(void **state)
{
    (void)state;
    m = open_another();
    arena = arena_new(1 << 26);
    front = (struct front){.who = "a test"};
    return 0;
}

static int closed(void **state)
{
    (void)state;
    arena_free(arena);
    mcp_close(m);
    return 0;
}

#define ALL "\"elicitation\":{},\"sampling\":{},\"roots\":{}"

/* `more`: further members of params, each with its comma. */
static void call_with(const char *tool, const char *arguments, const char *more,
                      const char *capabilities)
{
    scoped_buf struct buf text;
    scoped_buf struct buf out;
    buf_init(&text, 1 << 22);
    buf_init(&out, 1 << 22);
    buf_printf(&text,
               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
               "\"name\":\"%s\",\"arguments\":%s,",
               tool, arguments);
    buf_cstr(&text, more);
    buf_printf(&text,
               "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
               "\"io.modelcontextprotocol/clientCapabilities\":{%s}}}}",
               capabilities);
    struct session session = {0};
    struct envelope env = {.session = &session};
    struct reply reply = {.out = &out};
    struct err e = {0};
    struct call *c = take_message(m, buf_view(&text), &env, &reply);
    if (c)
        call_run(c, &front, &reply);
    status = reply.status;
    got = json_read(buf_view(&out), arena, &e);
    if (!got)
        fail_msg("%s: %s", e.msg, buf_cz(&out));
    struct str sealed = json_str(fake_at(got, "result.requestState"));
    given = sealed.n ? arena_printf(arena, &e, "\"%.*s\"", STR_ARGS(sealed)) : NULL;
}

static void call(const char *tool, const char *responses, const char *with_state)
{
    scoped_buf struct buf more;
    buf_init(&more, 1 << 22);
    if (responses) {
        buf_cstr(&more, "\"inputResponses\":");
        buf_cstr(&more, responses);
        buf_char(&more, ',');
    }
    if (with_state) {
        buf_cstr(&more, "\"requestState\":");
        buf_cstr(&more, with_state);
        buf_char(&more, ',');
    }
    call_with(tool, "{}", buf_cz(&more), ALL);
}

static struct str at(const char *path)
{
    return json_str(fake_at(got, path));
}

static void assert_wanted(const char *first, const char *second)
{
    assert_true(str_is(at("result.resultType"), "input_required"));
    const struct json *wanted = fake_at(got, "result.inputRequests");
    assert_int_equal(json_length(wanted), second ? 2 : 1);
    assert_non_null(json_get(wanted, first));
    if (second)
        assert_non_null(json_get(wanted, second));
    assert_non_null(given);
    assert_int_equal(status, 200);
}

static void assert_complete(void)
{
    assert_true(str_is(at("result.resultType"), "complete"));
    assert_false(json_bool(fake_at(got, "result.isError"), true));
}

static void assert_refused(const char *why)
{
    assert_int_equal(json_int(fake_at(got, "error.code"), 0), RPC_PARAMS);
    assert_int_equal(status, 400);
    if (!strstr(at("error.message").at, why))
        fail_msg("%s", at("error.message").at);
}

#define NAME "{\"name\":{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}}"
#define COLOUR "{\"colour\":{\"action\":\"accept\",\"content\":{\"colour\":\"red\"}}}"
#define SAID                                                                           \
    "{\"role\":\"assistant\",\"model\":\"m\",\"content\":{\"type\":\"text\",\"text\":" \
    "\"hi\"}}"
#define ROOTS "{\"roots\":[{\"uri\":\"file:///x\"}]}"

/* ---- rounds ------------------------------------------------------------- */

static void a_question_ends_the_call_and_its_answer_completes_it(void **state)
{
    (void)state;
    call("one", NULL, NULL);
    assert_wanted("name", NULL);
    assert_true(str_is(at("result.inputRequests.name.method"), "elicitation/create"));
    assert_true(str_is(at("result.inputRequests.name.params.message"), "?"));
    assert_null(fake_at(got, "result.content"));
    call("one", NAME, given);
    assert_complete();
    assert_true(str_is(at("result.structuredContent.told.0.content.name"), "Ada"));
    assert_null(given);
}

static void an_answer_that_permits_nothing_needs_no_state(void **state)
{
    (void)state;
    call("one", NAME, NULL);
    assert_complete();
}

static void an_answer_that_permits_needs_the_state_that_asked(void **state)
{
    (void)state;
    name[0].permits = true;
    call("one", NAME, NULL);
    assert_wanted("name", NULL);
    call("one", NAME, given);
    name[0].permits = false;
    assert_complete();
}

static void a_state_is_good_once(void **state)
{
    (void)state;
    call("one", NULL, NULL);
    char *first = given;
    call("one", NAME, first);
    assert_complete();
    for (int i = 0; i < 2; i++) {
        call("one", NAME, first);
        assert_refused("was used already");
    }
}

static void a_refusal_of_the_person_is_an_answer(void **state)
{
    (void)state;
    call("one", NULL, NULL);
    call("one", "{\"name\":{\"action\":\"decline\"}}", given);
    assert_complete();
    call("one", NULL, NULL);
    call("one", "{\"name\":{\"action\":\"cancel\"}}", given);
    assert_complete();
}

static void answers_of_earlier_rounds_come_back_in_the_state(void **state)
{
    (void)state;
    call("rounds", NULL, NULL);
    assert_wanted("name", NULL);
    char *first = given;
    call("rounds", NAME, first);
    assert_wanted("colour", NULL);
    assert_string_not_equal(given, first);
    call("rounds", COLOUR, given);
    assert_complete();
    assert_true(str_is(at("result.structuredContent.told.0.content.name"), "Ada"));
    assert_true(str_is(at("result.structuredContent.told.1.content.colour"), "red"));
}

static void several_are_asked_at_once_and_answered_one_by_one(void **state)
{
    (void)state;
    call("three", NULL, NULL);
    assert_int_equal(json_length(fake_at(got, "result.inputRequests")), 3);
    call("three", "{\"text\":" SAID "}", given);
    assert_wanted("name", "roots");
    call("three", "{\"roots\":" ROOTS "}", given);
    assert_wanted("name", NULL);
    call("three", NAME, given);
    assert_complete();
    assert_int_equal(json_length(fake_at(got, "result.structuredContent.told")), 3);
}

static void what_is_no_answer_is_asked_again(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "{}",
        "{\"other\":{\"action\":\"accept\"}}",
        "{\"name\":12345}",
        "{\"name\":null}",
        "{\"name\":{}}",
        "{\"name\":{\"action\":\"maybe\"}}",
        "{\"name\":{\"action\":\"accept\"}}",
        "{\"name\":{\"action\":\"accept\",\"content\":{}}}",
        "{\"name\":{\"action\":\"accept\",\"content\":{\"name\":7}}}",
        "{\"name\":" ROOTS "}",
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        call("one", rows[i], NULL);
        assert_wanted("name", NULL);
        char *first = given;
        call("one", rows[i], first);
        assert_wanted("name", NULL);
    }
}

static void what_nobody_asked_is_passed_over(void **state)
{
    (void)state;
    call("one", NULL, NULL);
    call("one", "{\"more\":7,\"name\":{\"action\":\"cancel\"},\"odd\":{}}", given);
    assert_complete();
    call("one", NULL, NULL);
    call("one", "{\"name\":{\"action\":\"accept\",\"content\":{\"name\":\"A\"},\"x\":1}}",
         given);
    assert_complete();
}

static void an_answer_to_another_question_is_none(void **state)
{
    (void)state;
    call("one", NULL, NULL);
    struct str was = name[0].params;
    name[0].params = STR(FORM("name", "integer"));
    call("one", NAME, given);
    assert_wanted("name", NULL);
    name[0].params = STR("{\"message\":\"Delete all?\",\"requestedSchema\":{\"type\":"
                         "\"object\",\"properties\":{}}}");
    call("one", NAME, given);
    assert_wanted("name", NULL);
    /* and one of an earlier round neither */
    name[0].params = was;
    call("rounds", NULL, NULL);
    call("rounds", NAME, given);
    assert_wanted("colour", NULL);
    name[0].params = STR("{\"message\":\"Delete all?\",\"requestedSchema\":{\"type\":"
                         "\"object\",\"properties\":{}}}");
    call("rounds", COLOUR, given);
    assert_true(json_get(fake_at(got, "result.inputRequests"), "name") != NULL);
    name[0].params = was;
}

/* ---- what is not believed ------------------------------------------------- */

static void malformed_members_are_refused(void **state)
{
    (void)state;
    call("one", "null", NULL);
    assert_refused("inputResponses must be an object, not null");
    call("one", "[]", NULL);
    assert_refused("inputResponses");
    call("one", NULL, "7");
    assert_refused("requestState must be a string, not number");
    call("one", NULL, "null");
    assert_refused("requestState");
}

static void a_state_that_was_changed_is_refused(void **state)
{
    (void)state;
    call("one", NULL, NULL);
    char *made = given;
    size_t n = strlen(made);
    for (size_t i = 1; i + 1 < n; i += 7) {
        scoped(free) char *other = mem_strdup(made);
        other[i] = other[i] == 'A' ? 'B' : 'A';
        call("one", NAME, other);
        assert_refused("was not made by this server");
    }
    static const char *const odd[] = {
        "\"\"",       "\"x\"", "\"-TAMPERED\"", "\"e30\"", "\"{\\\"who\\\":\\\"\\\"}\"",
        "\"\\u0000\""};
    for (size_t i = 0; i < LENGTH(odd); i++) {
        call("one", NAME, odd[i]);
        assert_refused("was not made by this server");
    }
    made[n - 1] = '\0';
    scoped_buf struct buf longer;
    buf_init(&longer, 1 << 16);
    buf_printf(&longer, "%s-TAMPERED\"", made);
    call("one", NAME, buf_cz(&longer));
    assert_refused("was not made by this server");
}

static void a_state_of_another_server_is_refused(void **state)
{
    (void)state;
    call("one", NULL, NULL);
    struct mcp *other = open_another(), *mine = m;
    m = other;
    call("one", NAME, given);
    m = mine;
    mcp_close(other);
    assert_refused("was not made by this server since it started");
}

static void a_state_of_another_caller_is_refused(void **state)
{
    (void)state;
    grant = (struct grant){.principal = "token a"};
    front.grant = &grant;
    call("one", NULL, NULL);
    char *of_a = given;
    grant.principal = "token b";
    call("one", NAME, of_a);
    assert_refused("was made for another caller");
    front.grant = NULL;
    call("one", NAME, of_a);
    assert_refused("was made for another caller");
    /* which does not spend it */
    grant.principal = "token a";
    front.grant = &grant;
    call("one", NAME, of_a);
    assert_complete();
}

static void a_state_of_another_request_is_refused(void **state)
{
    (void)state;
    call_with("one", "{\"a\":1}", "", ALL);
    scoped_buf struct buf more;
    buf_init(&more, 1 << 16);
    buf_printf(&more, "\"requestState\":%s,", given);
    call_with("one", "{\"a\":2}", buf_cz(&more), ALL);
    assert_refused("was made for another request");
    call_with("rounds", "{\"a\":1}", buf_cz(&more), ALL);
    assert_refused("was made for another request");
    call_with("one", "{\"a\":1}", buf_cz(&more), ALL);
    assert_wanted("name", NULL);
}

static void a_state_is_good_for_ten_minutes(void **state)
{
    (void)state;
    call("one", NULL, NULL);
    char *made = given;
    m->clock_ahead_ms = (int64_t)INPUT_STATE_S * 1000 - 10000;
    call("one", NAME, made);
    assert_complete();
    m->clock_ahead_ms = (int64_t)INPUT_STATE_S * 1000 + 1;
    call("one", NAME, made);
    assert_refused("is older than ten minutes");
}

static void answers_may_only_grow_so_large(void **state)
{
    (void)state;
    scoped_buf struct buf large;
    buf_init(&large, 1 << 22);
    buf_cstr(&large, "{\"name\":{\"action\":\"accept\",\"content\":{\"name\":\"");
    for (size_t i = 0; i < INPUT_STATE_MAX; i++)
        buf_char(&large, 'x');
    buf_cstr(&large, "\"}}}");
    call("one", NULL, NULL);
    call("one", buf_cz(&large), given);
    assert_complete(); /* it need not be kept */
    call("rounds", NULL, NULL);
    call("rounds", buf_cz(&large), given);
    assert_true(json_bool(fake_at(got, "result.isError"), false));
    assert_non_null(strstr(at("result.content.0.text").at, "exceed 256 KiB"));
}

/* ---- capabilities --------------------------------------------------------- */

static void assert_lacks(const char *path)
{
    assert_int_equal(json_int(fake_at(got, "error.code"), 0), MCP_MISSING_CAPABILITY);
    assert_int_equal(status, 400);
    const struct json *data = fake_at(got, "error.data.requiredCapabilities");
    assert_true(json_is(fake_at(data, path), JSON_OBJECT));
    assert_int_equal(json_length(data), 1);
}

static void nobody_is_asked_who_did_not_declare_to_answer(void **state)
{
    (void)state;
    call_with("one", "{}", "", "");
    assert_lacks("elicitation.form");
    call_with("one", "{}", "", "\"elicitation\":{\"url\":{}}");
    assert_lacks("elicitation.form");
    call_with("one", "{}", "", "\"elicitation\":{\"form\":{}}");
    assert_wanted("name", NULL);
    call_with("url", "{}", "", "\"elicitation\":{}");
    assert_lacks("elicitation.url");
    call_with("url", "{}", "", "\"elicitation\":{\"url\":{}}");
    assert_wanted("there", NULL);
    call_with("three", "{}", "", "\"elicitation\":{},\"roots\":{}");
    assert_lacks("sampling");
    call_with("gives up", "{}", "", "\"sampling\":{}");
    assert_lacks("roots");
    /* an answer does not make up for it */
    call_with("one", "{}", "\"inputResponses\":" NAME ",", "");
    assert_lacks("elicitation.form");
}

static void questions_that_make_no_sense_are_our_bug(void **state)
{
    (void)state;
    call("twice", NULL, NULL);
    assert_int_equal(json_int(fake_at(got, "error.code"), 0), -32603);
    assert_non_null(strstr(at("error.message").at, "have the key same"));
    call("odd", NULL, NULL);
    assert_non_null(strstr(at("result.content.0.text").at, "not asked ping"));
}

static void the_older_era_knows_none_of_this(void **state)
{
    (void)state;
    scoped_buf struct buf out;
    buf_init(&out, 1 << 16);
    struct session session = {0};
    struct envelope env = {.session = &session};
    struct reply reply = {.out = &out};
    struct err e = {0};
    struct call *c = take_message(
        m,
        STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
            "\"name\":\"one\",\"inputResponses\":7,\"requestState\":\"x\"}}"),
        &env, &reply);
    assert_non_null(c);
    call_run(c, &front, &reply);
    got = json_read(buf_view(&out), arena, &e);
    assert_true(json_bool(fake_at(got, "result.isError"), false));
    assert_null(fake_at(got, "result.resultType"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, opened, closed)
    const struct CMUnitTest tests[] = {
        TEST(a_question_ends_the_call_and_its_answer_completes_it),
        TEST(an_answer_that_permits_nothing_needs_no_state),
        TEST(an_answer_that_permits_needs_the_state_that_asked),
        TEST(a_state_is_good_once),
        TEST(a_refusal_of_the_person_is_an_answer),
        TEST(answers_of_earlier_rounds_come_back_in_the_state),
        TEST(several_are_asked_at_once_and_answered_one_by_one),
        TEST(what_is_no_answer_is_asked_again),
        TEST(what_nobody_asked_is_passed_over),
        TEST(an_answer_to_another_question_is_none),
        TEST(malformed_members_are_refused),
        TEST(a_state_that_was_changed_is_refused),
        TEST(a_state_of_another_server_is_refused),
        TEST(a_state_of_another_caller_is_refused),
        TEST(a_state_of_another_request_is_refused),
        TEST(a_state_is_good_for_ten_minutes),
        TEST(answers_may_only_grow_so_large),
        TEST(nobody_is_asked_who_did_not_declare_to_answer),
        TEST(questions_that_make_no_sense_are_our_bug),
        TEST(the_older_era_knows_none_of_this),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
