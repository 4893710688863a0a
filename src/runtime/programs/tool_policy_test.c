/* The policy of command-line tools: which run, and which a person is asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "catalogue/catalogue.h"
#include "guard/policy_test.h"
#include "policy/policy.h"
#include "programs/internal.h"

static const char *const calls[] = {"notes.get", "tools.list", "vm.exec"};

/* In the place of all capabilities: one that runs commands of machines. */
static struct permit_use machine_use;

static struct permit_use use_of_machines(const struct policy *p)
{
    (void)p;
    return machine_use;
}

static const struct tool_runner runner = {.use = use_of_machines};
static const struct capability machines = {.tool_runner = &runner};
const struct capability *const capability_list[] = {&machines};
const size_t capability_count = LENGTH(capability_list);
static const struct policy_group *const groups[] = {&tools_policy};

static bool is_further(struct str pattern)
{
    return str_starts(pattern, "tools.");
}

static int begin(void **state)
{
    (void)state;
    return policies_begin(&(struct guard_options){.calls = calls,
                                                  .call_count = LENGTH(calls),
                                                  .further = is_further,
                                                  .groups = groups,
                                                  .group_count = 1});
}

static int end(void **state)
{
    (void)state;
    return policies_end();
}
#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

/* "always", "ask", or why not. */
static const char *tool_word(const struct caller *who, const struct tool *tool,
                             const char *allowed)
{
    static struct err e;
    struct permit p;
    enum permission word;
    e = (struct err){0};
    const struct json *list = allowed ? json_read(str_of(allowed), arena, &e) : NULL;
    if (!permit_open(&p, ward, who, list, &e))
        return e.msg;
    bool ok = permit_tool(&p, tool, true, &word, &e);
    permit_close(&p);
    if (ok)
        return permission_name(word);
    assert_int_equal(e.code, ERR_DENIED);
    assert_int_equal(strncmp(e.msg, "Permission denied", 17), 0);
    return e.msg;
}

static const struct caller agent = {.name = "stdio", .level = LEVEL_FULL};
static const struct tool jq = {.name = "jq", .builtin = true};
static const struct tool grep = {
    .name = "grep", .builtin = true, .execution = {.access = TOOL_READ}};
static const struct tool mine = {.name = "my-tool"};

static void a_built_in_tool_without_files_runs_and_all_others_are_asked_for(void **state)
{
    (void)state;
    assert_string_equal(tool_word(&agent, &jq, NULL), "always");
    assert_string_equal(tool_word(&agent, &grep, NULL), "ask");
    assert_string_equal(tool_word(&agent, &mine, NULL), "ask");
}

static void the_users_word_on_a_tool_goes_before_his_default(void **state)
{
    (void)state;
    user_says("{\"tools\":{\"permissions\":{\"grep\":\"always\",\"jq\":\"never\"},"
              "\"default\":\"ask\"}}");
    assert_string_equal(tool_word(&agent, &grep, NULL), "always");
    assert_string_equal(tool_word(&agent, &mine, NULL), "ask");
    assert_non_null(strstr(tool_word(&agent, &jq, NULL), "'cloche tool permit'"));
    user_says("{\"tools\":{\"default\":\"always\"}}");
    assert_string_equal(tool_word(&agent, &mine, NULL), "always");
}

static void a_vaults_word_on_a_tool_only_takes_away(void **state)
{
    (void)state;
    user_says("{\"tools\":{\"permissions\":{\"grep\":\"ask\"}}}");
    vault_says("{\"tools\":{\"permissions\":{\"grep\":\"always\",\"jq\":\"ask\","
               "\"my-tool\":\"never\"},\"elicitAlways\":true,\"askSeconds\":3000,"
               "\"exposure\":\"all\",\"listed\":[\"jq\"]}}");
    assert_string_equal(tool_word(&agent, &grep, NULL), "ask");
    assert_string_equal(tool_word(&agent, &jq, NULL), "ask");
    assert_non_null(strstr(tool_word(&agent, &mine, NULL), "vault's policy"));
    scoped_policy const struct policy *p = in_force();
    const struct tools_policy *in = policy_values(p, &tools_policy);
    assert_false(p->asking.elicit_always);
    assert_int_equal(p->asking.seconds, 120);
    assert_int_equal(in->exposure, EXPOSE_SEARCH);
    assert_string_equal(in->listed.at[0], "jq");
    vault_says("{\"tools\":{\"default\":\"never\"}}");
    assert_non_null(strstr(tool_word(&agent, &jq, NULL), "Permission denied"));
    vault_says("{\"tools\":{\"default\":\"usual\",\"askSeconds\":5}}");
    assert_string_equal(tool_word(&agent, &jq, NULL), "always");
}

static void a_tool_has_to_pass_every_list(void **state)
{
    (void)state;
    assert_string_equal(tool_word(&agent, &jq, "[\"tools\"]"), "always");
    assert_string_equal(tool_word(&agent, &jq, "[\"tools.jq\"]"), "always");
    assert_non_null(strstr(tool_word(&agent, &grep, "[\"tools.jq\"]"), "allowedAPIs"));
    assert_non_null(strstr(tool_word(&agent, &jq, "[\"notes\"]"), "allowedAPIs"));
    user_says("{\"deniedAPIs\":[\"tools.jq\"],\"tools\":{\"disabled\":[\"grep\"],"
              "\"requireSignature\":true}}");
    assert_non_null(strstr(tool_word(&agent, &jq, NULL), "deniedAPIs"));
    assert_non_null(strstr(tool_word(&agent, &grep, NULL), "tools.disabled"));
    assert_non_null(strstr(tool_word(&agent, &mine, NULL), "requireSignature"));
    struct tool is_signed = mine;
    is_signed.signer = "somebody";
    assert_string_equal(tool_word(&agent, &is_signed, NULL), "ask");
    struct caller limited = {.name = "stdio", .level = LEVEL_LIMITED};
    assert_non_null(strstr(tool_word(&limited, &is_signed, NULL), "level 'limited'"));
}

static void a_command_of_the_machine_needs_both_permissions(void **state)
{
    (void)state;
    static const char *const words[] = {"bash", NULL};
    static const struct tool command = {.name = "my-tool", .command = words};
    static const struct {
        enum permission machine;
        const char *tool, *both; /* NULL: it is refused */
    } rows[] = {
        {PERMISSION_ALWAYS, "always", "always"}, {PERMISSION_ALWAYS, "ask", "ask"},
        {PERMISSION_ALWAYS, "never", NULL},      {PERMISSION_ASK, "always", "ask"},
        {PERMISSION_ASK, "ask", "ask"},          {PERMISSION_NEVER, "always", NULL},
        {PERMISSION_NEVER, "ask", NULL}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char policy[100];
        machine_use =
            (struct permit_use){.need = {.name = "vm.exec", .least = LEVEL_FULL},
                                .name = "the Linux machine",
                                .words = {rows[i].machine, PERMISSION_USUAL},
                                .usual = PERMISSION_NEVER,
                                .change = "cloche policy set vm.permission ask"};
        (void)snprintf(policy, sizeof policy,
                       "{\"tools\":{\"permissions\":{\"my-tool\":\"%s\"}}}",
                       rows[i].tool);
        user_says(policy);
        const char *word = tool_word(&agent, &command, NULL);
        if (rows[i].both)
            assert_string_equal(word, rows[i].both);
        else
            assert_non_null(strstr(word, "Permission denied"));
        scoped_policy const struct policy *p = in_force();
        struct tool_standing is = tool_standing(p, &command);
        assert_string_equal(permission_name(is.permission),
                            rows[i].both ? rows[i].both : "never");
        assert_int_equal(tool_asks_for_machine(p, &command),
                         rows[i].machine != PERMISSION_ALWAYS);
        assert_false(tool_asks_for_machine(p, &mine));
    }
    machine_use.words[0] = PERMISSION_ALWAYS;
    user_says("{\"tools\":{\"default\":\"always\"}}");
    assert_string_equal(tool_word(&agent, &command, "[\"tools.my-tool\",\"vm.exec\"]"),
                        "always");
    assert_non_null(
        strstr(tool_word(&agent, &command, "[\"tools.my-tool\"]"), "allowedAPIs"));
    assert_string_equal(tool_word(&agent, &mine, "[\"tools.my-tool\"]"), "always");
}

static void a_person_at_the_terminal_is_not_asked_but_may_be_refused(void **state)
{
    (void)state;
    struct caller person = {.name = "terminal", .level = LEVEL_FULL};
    assert_string_equal(tool_word(&person, &grep, NULL), "always");
    user_says("{\"tools\":{\"permissions\":{\"grep\":\"never\"}}}");
    assert_non_null(strstr(tool_word(&person, &grep, NULL), "'never'"));
}

static void one_tools_permission_is_set_and_taken_back(void **state)
{
    (void)state;
    struct err e = {0};
    const char *always = "always", *sometimes = "sometimes";
    if (!ward_set(ward, false, "tools.permissions.grep", &always, 1, "terminal", &e))
        fail_msg("%s", e.msg);
    assert_string_equal(tool_word(&agent, &grep, NULL), "always");
    assert_false(
        ward_set(ward, false, "tools.permissions.grep", &sometimes, 1, "terminal", &e));
    assert_non_null(strstr(e.msg, "always, ask, never are accepted"));
    e = (struct err){0};
    assert_false(
        ward_set(ward, false, "tools.permissions.A b", &always, 1, "terminal", &e));
    e = (struct err){0};
    assert_true(ward_set(ward, false, "tools.permissions.grep", NULL, 0, "terminal", &e));
    assert_string_equal(tool_word(&agent, &grep, NULL), "ask");
}

static void a_permission_that_cannot_be_meant_refuses_every_call(void **state)
{
    (void)state;
    user_says("{\"tools\":{\"permissions\":{\"grep\":\"allways\"}}}");
    assert_refused("a permission of grep that is 'allways'");
    user_says("{\"tools\":{\"permissions\":{\"Grep it\":\"ask\"}}}");
    assert_refused("has 'Grep it'");
    user_says("{\"tools\":{\"listed\":[\"../jq\"]}}");
    assert_refused("has '../jq'");
    user_says("{\"tools\":{\"askSeconds\":0}}");
    assert_refused("1 to 3600");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_built_in_tool_without_files_runs_and_all_others_are_asked_for),
        test(the_users_word_on_a_tool_goes_before_his_default),
        test(a_vaults_word_on_a_tool_only_takes_away),
        test(a_tool_has_to_pass_every_list),
        test(a_command_of_the_machine_needs_both_permissions),
        test(a_person_at_the_terminal_is_not_asked_but_may_be_refused),
        test(one_tools_permission_is_set_and_taken_back),
        test(a_permission_that_cannot_be_meant_refuses_every_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
