/* The policy of files and of the network: what a file may say of them, and what a vault's
 * takes away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guard/policy_test.h"
#include "place/place.h"
#include "policy/policy.h"

static const struct policy_group *const groups[] = {&files_policy, &network_policy};

static int begin(void **state)
{
    (void)state;
    return policies_begin(
        &(struct guard_options){.groups = groups, .group_count = LENGTH(groups)});
}

static int end(void **state)
{
    (void)state;
    return policies_end();
}
#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

static const struct files_policy *files_of(const struct policy *p)
{
    return policy_values(p, &files_policy);
}

static const struct network_policy *network_of(const struct policy *p)
{
    return policy_values(p, &network_policy);
}

static void without_files_nothing_is_mounted_and_no_host_reached(void **state)
{
    (void)state;
    scoped_policy const struct policy *p = in_force();
    assert_true(files_of(p)->file_system);
    assert_int_equal(json_length(policy_mounts(p)) + network_of(p)->hosts.n, 0);
    assert_int_equal(network_of(p)->allow_private.n + json_length(network_of(p)->secrets),
                     0);
}

static void every_key_of_files_and_network_arrives(void **state)
{
    (void)state;
    user_says(
        "{\"fileSystem\":false,"
        "\"mounts\":[{\"guest\":\"/d\",\"host\":\"/srv\",\"mode\":\"rw\"}],"
        "\"network\":{\"hosts\":[\"*.example.org\"],\"allowPrivate\":[\"10.0.0.1:80\"],"
        "\"secrets\":{\"K\":{\"env\":\"E\",\"hosts\":[\"a.example.org\"],\"header\":\"X\"}}}}");
    scoped_policy const struct policy *p = in_force();
    const struct network_policy *network = network_of(p);
    const struct policy_mount m = policy_mount(json_at(policy_mounts(p), 0));
    const struct json *secret = json_get(network->secrets, "K");
    assert_false(files_of(p)->file_system);
    assert_int_equal(json_length(policy_mounts(p)), 1);
    assert_string_equal(m.guest, "/d");
    assert_string_equal(m.host, "/srv");
    assert_true(m.writable);
    assert_string_equal(network->hosts.at[0], "*.example.org");
    assert_string_equal(network->allow_private.at[0], "10.0.0.1:80");
    assert_int_equal(json_length(network->secrets), 1);
    assert_string_equal(json_cstr(json_get(secret, "env")), "E");
    assert_string_equal(json_cstr(json_get(secret, "header")), "X");
}

static void what_cannot_be_meant_refuses_every_call(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{\"network\":{\"hosts\":[\"a b\"]}}", "entry 1"},
        {"{\"network\":{\"hosts\":[\"ok.org\",\"http://x/y\"]}}", "entry 2"},
        {"{\"network\":{\"hosts\":[\"a*.org\"]}}", "entry 1"},
        {"{\"network\":{\"hosts\":[\"tcp://a.org\"]}}", "need a port"},
        {"{\"network\":{\"hosts\":[\"icmp://a.org:7\"]}}", "no port"},
        {"{\"network\":{\"hosts\":[\"ftp://a.org\"]}}", "entry 1"},
        {"{\"network\":{\"allowPrivate\":[\"192.168.1.5\"]}}", "with its port"},
        {"{\"network\":{\"allowPrivate\":[\"a.org:80\"]}}", "with its port"},
        {"{\"network\":{\"allowPrivate\":[\"icmp://169.254.169.254\"]}}", "metadata"},
        {"{\"network\":{\"secrets\":{\"A\":{\"value\":\"x\"}}}}", "needs hosts"},
        {"{\"network\":{\"secrets\":{\"A\":{\"hosts\":[\"x\"]}}}}", "exactly one of"},
        {"{\"mounts\":[{\"guest\":\"/a\"}]}", "host"},
        {"{\"mounts\":[{\"guest\":\"/a/../..\",\"host\":\"/b\"}]}", "guest"},
        {"{\"mounts\":[{\"guest\":\"/a\",\"host\":\"/b\",\"mode\":\"x\"}]}",
         "neither 'ro'"},
        {"{\"network\":{\"secrets\":{\"\":{\"env\":\"x\",\"hosts\":[\"a\"]}}}}",
         "is empty"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        user_says(cases[i].text);
        assert_refused(cases[i].says);
        user_says("{}");
        vault_says(cases[i].text);
        assert_refused(".cloche/policy.json");
        vault_says("{}");
    }
    policy_release(in_force());
}

static void a_vault_keeps_some_hosts_and_mounts(void **state)
{
    (void)state;
    user_says("{\"network\":{\"hosts\":[\"*.example.org\",\"a.net\",\"b.net\"]},"
              "\"mounts\":[{\"guest\":\"/a\",\"host\":\"/x\",\"mode\":\"rw\"},"
              "{\"guest\":\"/b\",\"host\":\"/y\",\"mode\":\"rw\"}]}");
    vault_says("{\"network\":{\"hosts\":[\"api.example.org\",\"b.net\"]},"
               "\"mounts\":[{\"guest\":\"/a\",\"host\":\"/etc\",\"mode\":\"ro\"}]}");
    scoped_policy const struct policy *p = in_force();
    assert_int_equal(network_of(p)->hosts.n, 2);
    assert_string_equal(network_of(p)->hosts.at[0], "api.example.org");
    assert_string_equal(network_of(p)->hosts.at[1], "b.net");
    assert_int_equal(json_length(policy_mounts(p)), 1);
    assert_string_equal(policy_mount(json_at(policy_mounts(p), 0)).host, "/x");
    assert_false(policy_mount(json_at(policy_mounts(p), 0)).writable);
}

/* What both allow, however they write it. */
static void a_vault_keeps_protocols_apart(void **state)
{
    (void)state;
    user_says("{\"network\":{\"hosts\":[\"tcp://*.example.org:22\",\"https://a.net:443\","
              "\"udp://*:123\",\"icmp://*\",\"*\"],"
              "\"allowPrivate\":[\"udp://10.0.0.1:53\",\"icmp://10.0.0.1\"]}}");
    vault_says("{\"network\":{\"hosts\":[\"tcp://git.example.org:22\",\"a.net\","
               "\"udp://time.net:123\",\"icmp://b.net\",\"udp://git.example.org:22\","
               "\"icmp://8.8.8.8\",\"8.8.8.8\",\"[2606:4700::1]\"],"
               "\"allowPrivate\":[\"udp://10.0.0.1:53\",\"10.0.0.1:53\"]}}");
    scoped_policy const struct policy *p = in_force();
    const struct network_policy *network = network_of(p);
    static const char *const kept[] = {"tcp://git.example.org:22", "a.net", "a.net",
                                       "udp://time.net:123", "icmp://b.net"};
    assert_int_equal(network->hosts.n, LENGTH(kept));
    for (size_t i = 0; i < LENGTH(kept); i++)
        assert_string_equal(network->hosts.at[i], kept[i]);
    assert_int_equal(network->allow_private.n, 1);
    assert_string_equal(network->allow_private.at[0], "udp://10.0.0.1:53");
}

static void a_vault_hides_names_and_forbids_links_of_a_mount(void **state)
{
    (void)state;
    user_says(
        "{\"mounts\":[{\"guest\":\"/a\",\"host\":\"/x\",\"dots\":true,\"links\":true},"
        "{\"guest\":\"/b\",\"host\":\"/y\"}]}");
    vault_says("{\"mounts\":[{\"guest\":\"/a\",\"host\":\"/x\",\"links\":false},"
               "{\"guest\":\"/b\",\"host\":\"/y\",\"dots\":true,\"links\":true}]}");
    scoped_policy const struct policy *p = in_force();
    const struct policy_mount a = policy_mount(json_at(policy_mounts(p), 0)),
                              b = policy_mount(json_at(policy_mounts(p), 1));
    assert_true(a.dots && !a.links && !b.dots && !b.links);
}

static void a_vault_grants_no_host_and_no_folder(void **state)
{
    (void)state;
    user_says("{\"fileSystem\":false,\"network\":{\"hosts\":[\"a.example.org\"]}}");
    vault_says("{\"fileSystem\":true,"
               "\"network\":{\"hosts\":[\"*.example.org\",\"evil.net\",\"*\"],"
               "\"allowPrivate\":[\"127.0.0.1:80\"],"
               "\"secrets\":{\"K\":{\"env\":\"HOME\",\"hosts\":[\"evil.net\"]}}},"
               "\"mounts\":[{\"guest\":\"/e\",\"host\":\"/etc\",\"mode\":\"rw\"}]}");
    scoped_policy const struct policy *p = in_force();
    const struct network_policy *network = network_of(p);
    assert_false(files_of(p)->file_system);
    assert_int_equal(json_length(policy_mounts(p)), 0);
    assert_int_equal(json_length(network->secrets) + network->allow_private.n, 0);
    for (size_t i = 0; i < network->hosts.n; i++)
        assert_string_equal(network->hosts.at[i], "a.example.org");
}

static void a_secrets_own_value_is_not_shown(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_buf struct buf out = buf_of((size_t)1 << 20);
    user_says(
        "{\"network\":{\"secrets\":{\"K\":{\"value\":\"hunter2\",\"hosts\":[\"a\"]}}}}");
    assert_true(ward_show(ward, &out, &e));
    assert_non_null(strstr(buf_cz(&out), "(not shown)"));
    assert_null(strstr(buf_cz(&out), "hunter2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(without_files_nothing_is_mounted_and_no_host_reached),
        test(every_key_of_files_and_network_arrives),
        test(what_cannot_be_meant_refuses_every_call),
        test(a_vault_keeps_some_hosts_and_mounts),
        test(a_vault_keeps_protocols_apart),
        test(a_vault_hides_names_and_forbids_links_of_a_mount),
        test(a_vault_grants_no_host_and_no_folder),
        test(a_secrets_own_value_is_not_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
