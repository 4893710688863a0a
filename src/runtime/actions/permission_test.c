/* Permission to run tools: the policy's answer, the question to the user, and the reach
 * of his decision. The user here decides between two calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "actions/actions.h"
#include "approvals/approvals.h"
#include "capability/home_test.h"
#include "os/os.h"
#include "place/place.h"
#include "programs/programs.h"
#include "record/record.h"
#include "services/services.h"
#include "tools/tools.h"
#include "json/json.h"

static struct actions *actions;
static struct approvals *store;
static struct arena *arena;
static struct account account;
static struct err e;
static bool shows; /* the call shows files to the tools */
static struct caller who = {.name = "http 127.0.0.1"};

static const struct tool_parameter named_tool = {.name = "tool", .description = "d"};
static const struct tool jq = {.id = "1",
                               .name = "jq",
                               .version = "1.7",
                               .sha256 = "aa",
                               .builtin = true,
                               .enabled = true},
                         own = {.id = "2",
                                .name = "own",
                                .version = "2\x1b[2J",
                                .sha256 = "bb",
                                .parameters = &named_tool,
                                .parameter_count = 1,
                                .execution = {.access = TOOL_READWRITE},
                                .enabled = true};

static int begin(void **state)
{
    (void)state;
    e = (struct err){0};
    shows = true;
    who = (struct caller){.name = "http 127.0.0.1"};
    if (make_home() != 0)
        return -1;
    actions = actions_open(&(struct actions_options){0}, &e);
    arena = arena_new((size_t)64 << 20);
    store = actions ? services_approvals(actions->services, &e) : NULL;
    if (store)
        account_begin(&account, actions, "run_tool", NULL, &who);
    return store ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    actions_close(actions);
    arena_free(arena);
    return drop_home();
}

static void policy_says(const char *text)
{
    scoped_fd int config = os_config_dir(NULL, &e);
    if (!os_write_file(config, "policy.json", str_of(text), OS_REPLACE, 0600, NULL, &e))
        fail_msg("%s", e.msg);
}

/* `request`: the arguments of one call, or the shared options of a pipeline. */
static bool permitted(const struct tool *const *tools, size_t count, const char *request)
{
    struct tool_stage stages[TOOL_STAGES_MAX + 1] = {0};
    const struct json *said = json_read(str_of(request), arena, &e);
    for (size_t i = 0; i < count; i++)
        stages[i] =
            (struct tool_stage){.tool = tools[i], .arguments = count == 1 ? said : NULL};
    const struct tool_request wish = {
        .tools = tools, .count = count, .request = said, .stages = stages, .sees = shows};
    struct place place;
    e = (struct err){0};
    if (!said || !place_open(&place, actions, 0, &who, NULL, &e))
        fail_msg("%s", e.msg);
    account_place(&account, &place, place.permit.policy);
    const struct tool_call asker = {
        .actions = actions, .place = &place, .who = &who, .account = &account};
    bool ok = tools_permitted(&asker, &wish, &e);
    place_close(&place);
    return ok;
}

static bool may(const struct tool *t, const char *request)
{
    return permitted(&t, 1, request);
}

static const struct json *waiting(void)
{
    scoped_buf struct buf out;
    buf_init(&out, (size_t)32 << 20);
    struct err why = {0};
    if (!approvals_list(store, &out, &why))
        fail_msg("%s", why.msg);
    return json_read(buf_view(&out), arena, &why);
}

/* What is shown under that label, as far as it is one text or the first of several. */
static const char *shown(const char *label)
{
    const struct json *v = json_get(json_get(json_at(waiting(), 0), "shown"), label);
    return json_str(json_is(v, JSON_ARRAY) ? json_at(v, 0) : v).at;
}

/* The person decides about the only one that waits. */
static void decide(bool allow, enum approval_memory memory)
{
    struct err why = {0};
    assert_int_equal(json_length(waiting()), 1);
    if (!approvals_decide(store, json_str(json_get(json_at(waiting(), 0), "id")), allow,
                          memory, "terminal", NULL, &why))
        fail_msg("%s", why.msg);
}

static void assert_refused(enum err_code code, const char *says)
{
    if (e.code != code || !strstr(e.msg, says))
        fail_msg("\"%s\" does not say \"%s\"", e.msg, says);
}

#define ASKS "{\"tools\":{\"default\":\"ask\",\"askSeconds\":1}}"

static void what_the_policy_allows_asks_nobody(void **state)
{
    (void)state;
    policy_says("{\"tools\":{\"default\":\"always\"}}");
    assert_true(may(&jq, "{\"args\":[\".\"]}"));
    assert_true(may(&own, "{}"));
    assert_int_equal(json_length(waiting()), 0);
    assert_int_equal(account.first.asked, 0);
}

static void what_the_policy_refuses_asks_nobody(void **state)
{
    (void)state;
    policy_says(
        "{\"tools\":{\"default\":\"always\",\"permissions\":{\"jq\":\"never\"}}}");
    assert_false(may(&jq, "{}"));
    assert_refused(ERR_DENIED, "Permission denied");
    const struct tool *const row[] = {&own, &jq};
    assert_false(permitted(row, 2, "{}"));
    assert_int_equal(json_length(waiting()), 0);
}

static const struct tool sed = {.id = "3",
                                .name = "sed",
                                .version = "4.9",
                                .sha256 = "dd",
                                .execution = {.access = TOOL_READWRITE},
                                .builtin = true,
                                .enabled = true};

static void a_call_that_shows_no_files_is_asked_for_less(void **state)
{
    (void)state;
    policy_says("{\"tools\":{\"askSeconds\":1}}");
    assert_false(may(&sed, "{}"));
    shows = false;
    assert_true(may(&sed, "{}"));
    assert_false(may(&own, "{}")); /* a person's own tool is asked for in any case */
    policy_says(ASKS);
    assert_false(may(&sed, "{}"));
}

/* A decision about a call without files does not cover calls that see the vault. */
static void a_word_for_a_session_is_for_as_many_files_as_were_shown(void **state)
{
    (void)state;
    policy_says(ASKS);
    who.session = "one";
    shows = false;
    assert_false(may(&sed, "{}"));
    assert_non_null(strstr(shown("tool"), "files: nothing"));
    const struct json *choices = json_get(json_at(waiting(), 0), "choices");
    struct json_iter it = json_iter(choices);
    while (json_next(&it))
        assert_false(str_is(json_str(it.value), "always"));
    decide(true, APPROVAL_SESSION);
    assert_true(may(&sed, "{}"));
    shows = true;
    assert_false(may(&sed, "{\"args\":[\"other\"]}"));
    decide(true, APPROVAL_SESSION);
    assert_true(may(&sed, "{\"args\":[\"other\"]}"));
    assert_true(may(&sed, "{\"args\":[\"third\"]}"));
}

static void who_asks_in_vain_is_told_how_to_go_on(void **state)
{
    (void)state;
    policy_says(ASKS);
    assert_false(may(&jq, "{\"args\":[\".a\"]}"));
    assert_refused(ERR_DENIED,
                   "no decision on whether jq may be run was made within 1 s");
    assert_non_null(strstr(e.msg, "nothing ran"));
    assert_non_null(strstr(e.msg, "cloche approvals allow "));
}

static void a_word_is_for_the_very_same_call(void **state)
{
    (void)state;
    policy_says(ASKS);
    assert_false(may(&jq, "{\"args\":[\".a\"]}"));
    decide(true, APPROVAL_CALL);
    assert_false(may(&jq, "{\"args\":[\".b\"]}"));
    assert_true(may(&jq, "{\"args\":[\".a\"]}"));
    assert_int_equal(account.first.asked, 1);
    assert_int_equal(account.first.allowed, 1);
    assert_false(may(&jq, "{\"args\":[\".a\"]}")); /* used up */
}

/* Also where the difference is in a part too long to be shown. */
static void a_word_is_for_what_was_fed_in_too(void **state)
{
    (void)state;
    char one[6000], two[6000];
    policy_says(ASKS);
    (void)snprintf(one, sizeof one, "{\"stdin\":\"%05000d\"}", 1);
    (void)snprintf(two, sizeof two, "{\"stdin\":\"%05000d\"}", 2);
    assert_false(may(&jq, one));
    assert_non_null(
        strstr(shown("stdin"), "(5000 bytes, of which 2000 are shown; sha256 "));
    decide(true, APPROVAL_CALL);
    assert_false(may(&jq, two));
    assert_true(may(&jq, one));
}

static void a_no_is_told_as_a_persons(void **state)
{
    (void)state;
    policy_says(ASKS);
    assert_false(may(&jq, "{}"));
    decide(false, APPROVAL_CALL);
    assert_false(may(&jq, "{}"));
    assert_refused(ERR_DENIED,
                   "a person was asked whether jq may be run, and did not allow");
    assert_int_equal(account.first.allowed, 0);
}

static void a_word_for_a_session_is_that_tools_in_that_session(void **state)
{
    (void)state;
    policy_says(ASKS);
    who.session = "one";
    assert_false(may(&jq, "{}"));
    decide(true, APPROVAL_SESSION);
    assert_true(may(&jq, "{}"));
    assert_true(may(&jq, "{\"args\":[\"another call\"]}"));
    struct tool other = jq;
    other.sha256 = "cc"; /* installed in its place since */
    assert_false(may(&other, "{}"));
    who.session = "two";
    assert_false(may(&jq, "{\"args\":[\"another call\"]}"));
}

static void a_call_without_a_session_is_offered_none(void **state)
{
    (void)state;
    policy_says(ASKS);
    assert_false(may(&jq, "{}"));
    const struct json *choices = json_get(json_at(waiting(), 0), "choices");
    struct json_iter it = json_iter(choices);
    while (json_next(&it))
        assert_false(str_is(json_str(it.value), "session"));
    struct err why = {0};
    assert_false(approvals_decide(store, json_str(json_get(json_at(waiting(), 0), "id")),
                                  true, APPROVAL_SESSION, "terminal", NULL, &why));
}

static void what_is_shown_says_what_would_be_done(void **state)
{
    (void)state;
    policy_says(ASKS);
    assert_false(may(&own, "{\"tool\":\"jq 1.7, built in\",\"args\":[\"-x\"],"
                           "\"files\":{\"a\":\"text\"}}"));
    assert_non_null(
        strstr(shown("tool"), "installed, not signed; files: read and write"));
    assert_string_equal(shown("args"), "[\"-x\"]");
    assert_string_equal(shown("files"), "a: text");
    /* An argument with the name of one of our lines is marked. */
    assert_string_equal(shown("argument tool"), "\"jq 1.7, built in\"");
}

static void one_question_is_for_all_stages(void **state)
{
    (void)state;
    policy_says("{\"tools\":{\"default\":\"ask\",\"askSeconds\":1,"
                "\"permissions\":{\"jq\":\"always\"}}}");
    const struct tool *const row[] = {&jq, &own, &own};
    assert_false(
        permitted(row, 3, "{\"pipeline\":[{\"tool\":\"jq\"},{\"tool\":\"own\"}]}"));
    assert_non_null(strstr(shown("tool"), "(allowed already)"));
    const struct json *tools = json_get(json_at(waiting(), 0), "tools");
    struct json_iter it = json_iter(tools);
    while (json_next(&it))
        assert_true(str_is(json_str(it.value), "own"));
    decide(true, APPROVAL_CALL);
    assert_true(
        permitted(row, 3, "{\"pipeline\":[{\"tool\":\"jq\"},{\"tool\":\"own\"}]}"));
}

static void what_cannot_be_shown_whole_is_refused(void **state)
{
    (void)state;
    policy_says(ASKS);
    scoped_buf struct buf text;
    buf_init(&text, (size_t)1 << 20);
    buf_cstr(&text, "{\"args\":[\"");
    for (size_t i = 0; i < APPROVAL_SHOWN_MAX; i++)
        buf_char(&text, 'x');
    buf_cstr(&text, "\"]}");
    assert_false(may(&jq, buf_cz(&text)));
    assert_refused(ERR_DENIED, "too large to be shown");
    assert_int_equal(json_length(waiting()), 0);
}

/* A call that would be refused anyway asks nobody. */
static void wrong_arguments_ask_nobody(void **state)
{
    (void)state;
    policy_says(ASKS);
    assert_false(may(&jq, "{\"args\":\"no list\"}"));
    assert_int_equal(e.code, ERR_INVALID);
    const struct tool *row[TOOL_STAGES_MAX + 1];
    for (size_t i = 0; i < LENGTH(row); i++)
        row[i] = &jq;
    assert_false(permitted(row, LENGTH(row), "{}"));
    assert_refused(ERR_LIMIT, "at most 16 stages");
    assert_int_equal(json_length(waiting()), 0);
}

static void a_policy_that_cannot_be_read_allows_nothing(void **state)
{
    (void)state;
    struct place place;
    policy_says("{\"tools\":");
    assert_false(place_open(&place, actions, 0, &who, NULL, &e));
    assert_int_equal(e.code, ERR_DENIED);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_the_policy_allows_asks_nobody),
        T(what_the_policy_refuses_asks_nobody),
        T(a_call_that_shows_no_files_is_asked_for_less),
        T(a_word_for_a_session_is_for_as_many_files_as_were_shown),
        T(who_asks_in_vain_is_told_how_to_go_on),
        T(a_word_is_for_the_very_same_call),
        T(a_word_is_for_what_was_fed_in_too),
        T(a_no_is_told_as_a_persons),
        T(a_word_for_a_session_is_that_tools_in_that_session),
        T(a_call_without_a_session_is_offered_none),
        T(what_is_shown_says_what_would_be_done),
        T(one_question_is_for_all_stages),
        T(what_cannot_be_shown_whole_is_refused),
        T(wrong_arguments_ask_nobody),
        T(a_policy_that_cannot_be_read_allows_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
