#include "caller/caller.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const char *const some[] = {"work", "home"};
static const struct grant reader = {.principal = "token ci",
                                    .level = LEVEL_LIMITED,
                                    .scopes = SCOPE_READ,
                                    .vaults = {some, 2, true}};

static void a_grant_reaches_the_vaults_it_names_and_no_other(void **state)
{
    (void)state;
    assert_true(grant_reaches(&reader, "work"));
    assert_true(grant_reaches(&reader, "home"));
    assert_false(grant_reaches(&reader, "wor"));
    assert_false(grant_reaches(&reader, "Work"));
    assert_false(grant_reaches(&reader, ""));
    struct grant none = {.vaults = {.given = true}}, all = {.principal = "token all"};
    assert_false(grant_reaches(&none, "work"));
    assert_true(grant_reaches(&all, "work"));
    assert_true(grant_reaches(NULL, "work"));
}

static void a_scope_that_was_not_granted_is_refused_by_name(void **state)
{
    (void)state;
    struct err e = {0};
    struct caller who = {.name = "http token ci", .grant = &reader};
    assert_true(caller_may(&who, SCOPE_READ, "notes.get", &e));
    assert_false(caller_may(&who, SCOPE_WRITE, "notes.create", &e));
    assert_int_equal(e.code, ERR_DENIED);
    assert_non_null(strstr(e.msg, "notes.create needs the scope 'write'"));
    e = (struct err){0};
    who.grant = NULL;
    assert_true(caller_may(&who, SCOPE_AUDIT, "the audit trail", &e));
}

static void a_challenge_asks_for_what_there_is_and_what_is_lacking(void **state)
{
    (void)state;
    char text[CHALLENGE_MAX];
    struct grant g = reader;
    grant_challenge(&g, SCOPE_EVALUATE, text);
    assert_string_equal(text,
                        "Bearer error=\"insufficient_scope\", scope=\"read evaluate\"");
    g.metadata_url = "https://notes.example/.well-known/oauth-protected-resource";
    grant_challenge(&g, SCOPE_WRITE, text);
    assert_non_null(strstr(text, "scope=\"read write\", resource_metadata=\"https://"));
}

static void a_name_tells_the_way_and_the_credential(void **state)
{
    (void)state;
    char name[CALLER_NAME];
    struct grant g = reader;
    caller_http_name(name, &g, "192.0.2.1");
    assert_string_equal(name, "http token ci");
    struct caller who = {.name = name};
    assert_int_equal(caller_way(&who), WAY_HTTP);
    caller_http_name(name, NULL, "127.0.0.1");
    assert_string_equal(name, "http 127.0.0.1");
    who.name = "httpd";
    assert_int_equal(caller_way(&who), WAY_OTHER);
}

static void scopes_have_names_both_ways(void **state)
{
    (void)state;
    for (unsigned scope = 1; scope <= SCOPE_AUDIT; scope <<= 1)
        assert_int_equal(scope_named(str_of(scope_name(scope))), scope);
    assert_int_equal(scope_named(STR("admin")), 0);
    assert_int_equal(scope_named(STR("rea")), 0);
}

static void a_client_is_what_it_says_cut_and_in_one_line(void **state)
{
    (void)state;
    struct client_claim c;
    client_claim_read(&c, STR(" Claude\x1b[2J\nok\u202e "), STR("1.0\a"));
    assert_string_equal(c.name, "Claude[2Jok");
    assert_string_equal(c.version, "1.0");
    char text[600];
    memset(text, 'x', sizeof text);
    client_claim_read(&c, (struct str){text, sizeof text},
                      (struct str){text, sizeof text});
    assert_int_equal(strlen(c.name), CLIENT_NAME_MAX);
    assert_int_equal(strlen(c.version), CLIENT_VERSION_MAX);
    client_claim_read(&c, STR("\xff"), STR(""));
    assert_string_equal(c.name, "");
    client_claim_agent(&c, STR("curl/8.5.0 (x86_64)"));
    assert_string_equal(c.name, "curl");
    assert_string_equal(c.version, "8.5.0");
    client_claim_agent(&c, (struct str){0});
    assert_string_equal(c.name, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_is_what_it_says_cut_and_in_one_line),
        cmocka_unit_test(a_grant_reaches_the_vaults_it_names_and_no_other),
        cmocka_unit_test(a_scope_that_was_not_granted_is_refused_by_name),
        cmocka_unit_test(a_challenge_asks_for_what_there_is_and_what_is_lacking),
        cmocka_unit_test(a_name_tells_the_way_and_the_credential),
        cmocka_unit_test(scopes_have_names_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
