/* The policy of Linux machines: who may use one, and how large it may be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guard/policy_test.h"
#include "machines/internal.h"

static const char *const calls[] = {"notes.get", "vm.exec"};
static const struct policy_group *const groups[] = {&machines_policy};
static const struct caller agent = {.name = "stdio", .level = LEVEL_FULL};

static int begin(void **state)
{
    (void)state;
    return policies_begin(&(struct guard_options){
        .calls = calls, .call_count = LENGTH(calls), .groups = groups, .group_count = 1});
}

static int end(void **state)
{
    (void)state;
    return policies_end();
}
#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

typedef struct permit_use permission_fn(const struct policy *p, const char *call);

/* "always", "ask", or what it is refused with. */
static const char *word_of(permission_fn *permission, const struct caller *who,
                           const char *allowed)
{
    static struct err e;
    e = (struct err){0};
    struct permit p;
    enum permission word;
    const struct json *list = allowed ? json_read(str_of(allowed), arena, &e) : NULL;
    if (!permit_open(&p, ward, who, list, &e))
        fail_msg("%s", e.msg);
    const struct permit_use use = permission(p.policy, "vm.exec");
    bool ok = permit_run(&p, &use, &word, &e);
    permit_close(&p);
    return ok ? permission_name(word) : e.msg;
}

static const char *machine_word(const struct caller *who, const char *allowed)
{
    return word_of(machine_permission, who, allowed);
}

static void a_machine_may_be_used_until_somebody_says_otherwise(void **state)
{
    (void)state;
    struct caller limited = {.name = "stdio", .level = LEVEL_LIMITED};
    struct caller person = {.name = "terminal", .level = LEVEL_FULL};
    assert_string_equal(machine_word(&agent, NULL), "always");
    assert_non_null(strstr(machine_word(&limited, NULL), "level 'limited'"));
    assert_non_null(strstr(machine_word(&agent, "[\"notes\"]"), "allowedAPIs"));
    user_says("{\"vm\":{\"permission\":\"ask\"}}");
    assert_string_equal(machine_word(&agent, NULL), "ask");
    assert_string_equal(machine_word(&person, NULL), "always");
    user_says("{\"vm\":{\"permission\":\"never\"}}");
    assert_non_null(strstr(machine_word(&agent, NULL), "cloche policy set"));
    assert_non_null(strstr(machine_word(&person, NULL), "'never'"));
    user_says("{\"deniedAPIs\":[\"notes\"],\"readOnly\":true}");
    assert_string_equal(machine_word(&agent, NULL), "always");
}

static void a_vaults_word_on_the_machine_only_takes_away(void **state)
{
    (void)state;
    user_says("{\"vm\":{\"permission\":\"ask\",\"ramMB\":256,\"machines\":3}}");
    vault_says("{\"vm\":{\"permission\":\"always\",\"ramMB\":1024,\"machines\":1,"
               "\"cpuSeconds\":9,\"idleMinutes\":3}}");
    assert_string_equal(machine_word(&agent, NULL), "ask");
    scoped_policy const struct policy *p = in_force();
    const struct vm_policy *vm = policy_values(p, &machines_policy);
    assert_int_equal(vm->ram_mb, 256);
    assert_int_equal(vm->machines, 1);
    assert_int_equal(vm->cpu_seconds, 9);
    assert_int_equal(vm->timeout_ms, 600000);
    assert_int_equal(vm->idle_minutes, 3);
    vault_says("{\"vm\":{\"permission\":\"never\"}}");
    assert_non_null(strstr(machine_word(&agent, NULL), "vault's policy"));
    user_says("{\"vm\":{\"ramMB\":32}}");
    assert_refused("64 to 1024");
}

static void a_machine_has_a_network_only_if_both_policies_allow_it(void **state)
{
    (void)state;
    const struct caller person = {.name = "terminal", .level = LEVEL_FULL};
    permission_fn *network = machine_network_permission;
    assert_non_null(strstr(word_of(network, &agent, NULL), "policy set vm.network"));
    user_says("{\"vm\":{\"network\":\"ask\",\"connections\":5}}");
    assert_string_equal(word_of(network, &agent, NULL), "ask");
    assert_string_equal(word_of(network, &person, NULL), "always");
    vault_says("{\"vm\":{\"network\":\"always\",\"connections\":9,\"networkMB\":3}}");
    assert_string_equal(word_of(network, &agent, NULL), "ask");
    user_says("{\"vm\":{\"network\":\"always\",\"connections\":5}}");
    assert_string_equal(word_of(network, &agent, NULL), "always");
    scoped_policy const struct policy *p = in_force();
    const struct vm_policy *vm = policy_values(p, &machines_policy);
    assert_int_equal(vm->connections, 5);
    assert_int_equal(vm->network_mb, 3);
    vault_says("{\"vm\":{\"network\":\"never\"}}");
    assert_non_null(strstr(word_of(network, &agent, NULL), "vault's policy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_machine_may_be_used_until_somebody_says_otherwise),
        test(a_vaults_word_on_the_machine_only_takes_away),
        test(a_machine_has_a_network_only_if_both_policies_allow_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
