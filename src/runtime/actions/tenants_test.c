/* Two tenants of one server, each with a vault of his own: neither learns anything of the
 * other's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <sys/stat.h>

#include "actions/actions.h"
#include "capability/home_test.h"
#include "performing/performing.h"

static struct actions *actions;

static const char *const only_a[] = {"alpha"}, *const only_b[] = {"beta"},
                         *const clashing[] = {"same", "same-2"};
static const struct grant grant_a = {.principal = "token a",
                                     .scopes = SCOPE_ALL,
                                     .vaults = {only_a, 1, true}},
                          grant_b = {.principal = "token b",
                                     .scopes = SCOPE_ALL,
                                     .vaults = {only_b, 1, true}};
static unsigned vault_a, vault_b;
static struct caller a = {.name = "http token a", .grant = &grant_a, .vault = &vault_a},
                     b = {.name = "http token b", .grant = &grant_b, .vault = &vault_b};

static int begin(void **state)
{
    (void)state;
    struct err e = {0};
    if (make_home() != 0)
        return -1;
    static const char *const names[] = {"alpha", "beta", "x", "x/same", "y", "y/same"};
    static char paths[LENGTH(names)][100];
    const char *vaults[5] = {0};
    size_t n = 0;
    for (size_t i = 0; i < LENGTH(names); i++) {
        (void)snprintf(paths[i], sizeof paths[i], "%s/%s", home, names[i]);
        if (mkdir(paths[i], 0700) != 0)
            return -1;
        if (names[i][1])
            vaults[n++] = paths[i];
    }
    actions = actions_open(&(struct actions_options){.vaults = vaults}, &e);
    return actions ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    actions_close(actions);
    return drop_home();
}

/* Makes the call and returns its answer, or its error's message. */
static const char *ask(const struct caller *who, const char *vault, const char *name,
                       const char *args, enum err_code *code)
{
    static char text[8192];
    struct err e = {0};
    scoped_buf struct buf out;
    buf_init(&out, sizeof text - 1);
    struct work *w = work_begin(actions, who, str_of(vault), "test", &e);
    if (w && work_call(w, name, str_of(args), &out, &e))
        (void)snprintf(text, sizeof text, "%s", buf_cz(&out));
    else
        (void)snprintf(text, sizeof text, "%s", e.msg);
    if (w)
        work_end(w, e.code ? &e : NULL);
    *code = e.code;
    return text;
}

static void each_tenant_begins_in_his_own_vault(void **state)
{
    (void)state;
    enum err_code code;
    assert_non_null(
        strstr(ask(&a, "", "vaults.getCurrent", "[]", &code), "\"id\":\"alpha\""));
    assert_non_null(
        strstr(ask(&b, "", "vaults.getCurrent", "[]", &code), "\"id\":\"beta\""));
}

static void a_list_shows_only_what_is_granted_and_no_path(void **state)
{
    (void)state;
    enum err_code code;
    const char *list = ask(&b, "", "vaults.list", "[]", &code);
    assert_int_equal(code, ERR_NONE);
    assert_non_null(strstr(list, "\"id\":\"beta\""));
    assert_null(strstr(list, "alpha"));
    assert_null(strstr(list, "same"));
    assert_null(strstr(list, home));
}

/* Compares refusals, without the ids in them. */
static void same_words(const char *one, const char *two, const char *id, const char *no)
{
    char first[8192];
    (void)snprintf(first, sizeof first, "%s", one);
    char *at = strstr(first, id);
    assert_non_null(at);
    assert_int_equal(strlen(id), strlen(no));
    memcpy(at, no, strlen(no));
    assert_string_equal(first, two);
}

static void anothers_vault_is_refused_in_the_words_for_one_that_is_not_there(void **state)
{
    (void)state;
    enum err_code code;
    char theirs[8192];
    (void)snprintf(theirs, sizeof theirs, "%s",
                   ask(&b, "alpha", "notes.list", "[]", &code));
    assert_int_equal(code, ERR_NOT_FOUND);
    same_words(theirs, ask(&b, "gamma", "notes.list", "[]", &code), "alpha", "gamma");
    assert_int_equal(code, ERR_NOT_FOUND);
    (void)snprintf(theirs, sizeof theirs, "%s",
                   ask(&b, "", "vaults.switch", "[\"alpha\"]", &code));
    assert_int_equal(code, ERR_NOT_FOUND);
    same_words(theirs, ask(&b, "", "vaults.switch", "[\"gamma\"]", &code), "alpha",
               "gamma");
}

static void a_number_of_anothers_vault_leads_nowhere(void **state)
{
    (void)state;
    enum err_code code;
    /* As if a session had kept the vault from a time when the token granted more. */
    vault_b = 1;
    assert_non_null(
        strstr(ask(&b, "", "vaults.getCurrent", "[]", &code), "\"id\":\"beta\""));
    vault_b = 0;
}

static void the_list_of_vaults_is_not_a_tenants_to_change(void **state)
{
    (void)state;
    enum err_code code;
    (void)ask(&b, "", "vaults.create",
              "[{\"id\":\"alpha\",\"name\":\"n\",\"path\":\"p\"}]", &code);
    assert_int_equal(code, ERR_DENIED);
    (void)ask(&b, "", "vaults.remove", "[\"beta\"]", &code);
    assert_int_equal(code, ERR_DENIED);
    (void)ask(&b, "", "vaults.update", "[{\"id\":\"beta\",\"name\":\"n\"}]", &code);
    assert_int_equal(code, ERR_DENIED);
}

static void who_may_not_change_the_list_is_told_so_however_he_asks(void **state)
{
    (void)state;
    static const char *const calls[] = {"vaults.create", "vaults.update",
                                        "vaults.remove"},
                             *const wrong[] = {"[]",
                                               "[5]",
                                               "[{}]",
                                               "[{\"nope\":1}]",
                                               "[{\"id\":7,\"name\":[]}]",
                                               "[{\"id\":\"beta\"},2,3]"};
    enum err_code code;
    for (size_t i = 0; i < LENGTH(calls); i++)
        for (size_t j = 0; j < LENGTH(wrong); j++) {
            const char *said = ask(&b, "", calls[i], wrong[j], &code);
            if (code != ERR_DENIED || !strstr(said, "a token for some vaults only"))
                fail_msg("%s%s: %s", calls[i], wrong[j], said);
        }
}

/* Which of two folders of one name gets the plain id depends on their order. */
static void ids_that_clash_are_nobodys(void **state)
{
    (void)state;
    enum err_code code;
    struct grant g = grant_a;
    g.vaults = (struct policy_names){clashing, 2, true};
    struct caller who = {.name = "http token c", .grant = &g};
    (void)ask(&who, "same", "notes.list", "[]", &code);
    assert_int_equal(code, ERR_NOT_FOUND);
    (void)ask(&who, "same-2", "notes.list", "[]", &code);
    assert_int_equal(code, ERR_NOT_FOUND);
    (void)ask(&who, "", "notes.list", "[]", &code);
    assert_int_equal(code, ERR_NO_VAULT);
}

static void scopes_hold_over_calls(void **state)
{
    (void)state;
    static const struct {
        unsigned scopes;
        const char *call, *args;
        enum err_code code;
    } cases[] = {
        {SCOPE_READ, "notes.list", "[]", ERR_NONE},
        {SCOPE_READ, "notes.create", "[{\"type\":\"t\",\"title\":\"x\"}]", ERR_DENIED},
        {SCOPE_READ, "notes.delete", "[\"t/x\"]", ERR_DENIED},
        {SCOPE_WRITE, "notes.list", "[]", ERR_DENIED},
        {SCOPE_WRITE, "notes.create", "[{\"type\":\"t\",\"title\":\"x\"}]", ERR_NONE},
        {SCOPE_EVALUATE | SCOPE_AUDIT, "notes.get", "[\"t/x\"]", ERR_DENIED},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        enum err_code code;
        struct grant g = grant_a;
        g.scopes = cases[i].scopes;
        struct caller who = {.name = "http token a", .grant = &g};
        const char *said = ask(&who, "", cases[i].call, cases[i].args, &code);
        if (code != cases[i].code)
            fail_msg("%s with %u: %s", cases[i].call, cases[i].scopes, said);
    }
}

static void an_action_needs_its_scopes_and_says_which(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned scopes;
    } cases[] = {
        {"evaluate_note_code", SCOPE_EVALUATE},
        {"check_code", SCOPE_EVALUATE},
        {"close_session", SCOPE_EVALUATE},
        {"read_result", SCOPE_EVALUATE},
        {"find_tools", SCOPE_EVALUATE},
        {"run_tool", SCOPE_EVALUATE},
        {"get_note", SCOPE_READ},
        {"search_notes", SCOPE_READ},
        {"create_note", SCOPE_WRITE},
        {"update_note", SCOPE_WRITE},
        {"rename_note", SCOPE_WRITE},
        {"search_api", 0},
        {"describe_api", 0},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const struct action *x = action_named(actions, str_of(cases[i].name));
        assert_non_null(x);
        assert_int_equal(action_scopes(actions, x), cases[i].scopes);
    }
    /* A call that this test misses would be open to every token. */
    size_t count;
    const struct action *all = actions_list(actions, &count);
    for (size_t i = 0; i < count; i++)
        if (!action_scopes(actions, &all[i]) && !strstr(all[i].name, "_api"))
            fail_msg("%s needs no scope", all[i].name);
}

static void a_level_of_a_grant_is_a_ceiling_whatever_the_transport_says(void **state)
{
    (void)state;
    enum err_code code;
    struct grant g = grant_a;
    g.level = LEVEL_ZERO;
    struct caller who = {.name = "http token a", .level = LEVEL_FULL, .grant = &g};
    (void)ask(&who, "", "notes.create", "[{\"type\":\"t\",\"title\":\"y\"}]", &code);
    assert_int_equal(code, ERR_DENIED);
    (void)ask(&who, "", "notes.search", "[{\"query\":\"y\"}]", &code);
    assert_int_equal(code, ERR_DENIED);
}

/* Of any failure: an unreadable policy, a machine that is not installed. */
static void no_failure_tells_a_path(void **state)
{
    (void)state;
    enum err_code code;
    char path[200];
    (void)snprintf(path, sizeof path, "%s/cloche", home);
    assert_true(mkdir(path, 0700) == 0 || true);
    (void)snprintf(path, sizeof path, "%s/cloche/policy.json", home);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs("{ \"no\": ", f) >= 0);
    assert_int_equal(fclose(f), 0);
    const char *told = ask(&b, "", "notes.list", "[]", &code);
    assert_int_equal(code, ERR_DENIED);
    assert_null(strstr(told, home));
    assert_null(strstr(told, "/tmp"));
    assert_non_null(strstr(told, "the policy (a path of the server):"));
    const struct caller person = {.name = "stdio"};
    assert_non_null(strstr(ask(&person, "", "notes.list", "[]", &code), home));
    assert_int_equal(remove(path), 0);
    const char *machine = ask(&b, "", "vm.start", "[]", &code);
    if (code != ERR_NONE)
        assert_null(strstr(machine, "/build"));
    /* Paths in the caller's own arguments are not hidden. */
    told = ask(&b, "", "notes.update", "[{\"identifier\":\"/tmp/x\",\"content\":\"\"}]",
               &code);
    assert_non_null(strstr(told, "/tmp/x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_tenant_begins_in_his_own_vault),
        cmocka_unit_test(a_list_shows_only_what_is_granted_and_no_path),
        cmocka_unit_test(
            anothers_vault_is_refused_in_the_words_for_one_that_is_not_there),
        cmocka_unit_test(a_number_of_anothers_vault_leads_nowhere),
        cmocka_unit_test(the_list_of_vaults_is_not_a_tenants_to_change),
        cmocka_unit_test(who_may_not_change_the_list_is_told_so_however_he_asks),
        cmocka_unit_test(ids_that_clash_are_nobodys),
        cmocka_unit_test(scopes_hold_over_calls),
        cmocka_unit_test(an_action_needs_its_scopes_and_says_which),
        cmocka_unit_test(no_failure_tells_a_path),
        cmocka_unit_test(a_level_of_a_grant_is_a_ceiling_whatever_the_transport_says),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
