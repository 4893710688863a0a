/* The policy: what a file may say, what a vault may take away, what a call may do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "guard/policy_test.h"
#include "policy/policy.h"

static const char *const calls[] = {
    "notes.get",    "notes.list",         "notes.create",    "notes.update",
    "notes.delete", "links.getBacklinks", "utils.generateId"};

static bool is_further(struct str pattern)
{
    return str_is(pattern, "notes.save") || str_is(pattern, "tools") ||
           str_starts(pattern, "tools.");
}

/* What a capability of a test's own reads. */
struct kettle_policy {
    enum permission permission[2];
    uint32_t cups;
    bool hot;
    struct policy_names rooms;
};
#define KETTLE(...) KEY(struct kettle_policy, __VA_ARGS__)
static const struct key kettle_keys[] = {
    KETTLE("kettle.permission", WORD, ALSO, permission, "\"usual\"", "may it be used",
           .words = permission_words, .order = 15),
    KETTLE("kettle.cups", INT, LOWER, cups, "4", "cups a day", .low = 1, .high = 8),
    KETTLE("kettle.hot", BOOL, LOWER, hot, "true", "hot water too"),
    KETTLE("boilerRooms", PATHS, USER, rooms, "[]", "where it stands", .high = 2),
};
static const struct policy_group kettle = POLICY_GROUP(kettle_keys, struct kettle_policy);
static const struct policy_group *const groups[] = {&kettle};

static int begin(void **state)
{
    (void)state;
    return policies_begin(&(struct guard_options){.calls = calls,
                                                  .call_count = LENGTH(calls),
                                                  .further = is_further,
                                                  .groups = groups,
                                                  .group_count = LENGTH(groups)});
}

static int end(void **state)
{
    (void)state;
    return policies_end();
}
#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

static bool may(const char *name, enum level level, const char *allowed, const char *call,
                enum level least, bool writes)
{
    struct err e = {0};
    struct permit p;
    struct caller who = {.name = name, .level = level};
    const struct json *list = allowed ? json_read(str_of(allowed), arena, &e) : NULL;
    if (!permit_open(&p, ward, &who, list, &e))
        fail_msg("%s", e.msg);
    bool saves = !strcmp(call, "notes.create") || !strcmp(call, "notes.update");
    const struct permit_need need = {.name = call,
                                     .alias = saves ? "notes.save" : NULL,
                                     .least = least,
                                     .writes = writes,
                                     .scopeless = str_starts(str_of(call), "utils."),
                                     .always = str_starts(str_of(call), "api.")};
    bool ok = permit_call(&p, &need, &e);
    assert_int_equal(ok, e.code == ERR_NONE);
    assert_true(ok || e.code == ERR_DENIED);
    permit_close(&p);
    return ok;
}

static bool may_get(const char *name)
{
    return may(name, LEVEL_FULL, NULL, "notes.get", LEVEL_ZERO, false);
}

/* ---- the files ---------------------------------------------------------- */

static void without_files_the_seeds_limits_hold(void **state)
{
    (void)state;
    scoped_policy const struct policy *p = in_force();
    assert_int_equal(p->levels[LEVEL_FULL].timeout_ms, 30000);
    assert_int_equal(p->levels[LEVEL_FULL].memory_mb, 256);
    assert_int_equal(p->levels[LEVEL_LIMITED].timeout_ms, 10000);
    assert_int_equal(p->levels[LEVEL_LIMITED].memory_mb, 64);
    assert_int_equal(p->levels[LEVEL_ZERO].timeout_ms, 2000);
    assert_int_equal(p->levels[LEVEL_ZERO].memory_mb, 32);
    assert_false(p->read_only || p->keep_code || p->allowed[0].given || p->webhook);
}

static void every_key_of_the_users_file_arrives(void **state)
{
    (void)state;
    user_says(
        "{\"level\":\"limited\",\"callers\":{\"http\":\"zero\"},\"readOnly\":true,"
        "\"allowedAPIs\":[\"notes\"],\"deniedAPIs\":[\"notes.delete\"],"
        "\"levels\":{\"limited\":{\"timeout\":5,\"memoryLimit\":16}},"
        "\"limits\":{\"total\":700,\"hostCalls\":9},"
        "\"lint\":\"refuse\",\"cache\":false,"
        "\"keepCode\":true,\"sessions\":{\"max\":2,\"megabytes\":3,\"idleMinutes\":4},"
        "\"audit\":{\"required\":false,\"rotateMegabytes\":5},"
        "\"alerts\":{\"deletes\":{\"count\":6,\"seconds\":7,\"pause\":true}},"
        "\"webhook\":\"https://example.org/hook\"}");
    scoped_policy const struct policy *p = in_force();
    assert_int_equal(p->level, LEVEL_LIMITED);
    assert_int_equal(p->ways[WAY_HTTP], LEVEL_ZERO);
    assert_int_equal(p->ways[WAY_STDIO], LEVEL_FULL);
    assert_true(p->read_only && p->keep_code && !p->cache);
    assert_string_equal(p->allowed[0].at[0], "notes");
    assert_string_equal(p->denied.at[0], "notes.delete");
    assert_int_equal(p->levels[LEVEL_LIMITED].timeout_ms, 5);
    assert_int_equal(p->levels[LEVEL_LIMITED].memory_mb, 16);
    assert_int_equal(p->total_ms, 700);
    assert_int_equal(p->host_calls, 9);
    assert_int_equal(p->lint, POLICY_LINT_REFUSE);
    assert_int_equal(p->sessions.max, 2);
    assert_int_equal(p->sessions.megabytes, 3);
    assert_int_equal(p->sessions.idle_minutes, 4);
    assert_false(p->audit.required);
    assert_int_equal(p->audit.rotate_megabytes, 5);
    assert_int_equal(p->alerts[ALERT_DELETES].count, 6);
    assert_int_equal(p->alerts[ALERT_DELETES].seconds, 7);
    assert_true(p->alerts[ALERT_DELETES].pause);
    assert_string_equal(p->webhook, "https://example.org/hook");
}

static void a_changed_file_holds_for_the_next_call(void **state)
{
    (void)state;
    assert_true(may_get("stdio"));
    user_says("{\"deniedAPIs\":[\"notes.get\"]}");
    assert_false(may_get("stdio"));
    user_says("{}");
    assert_true(may_get("stdio"));
    vault_says("{\"allowedAPIs\":[]}");
    assert_false(may_get("stdio"));
    vault_says("{}");
    assert_true(may_get("stdio"));
}

static void a_policy_in_use_outlives_its_file(void **state)
{
    (void)state;
    user_says("{\"webhook\":\"https://one\"}");
    scoped_policy const struct policy *before = in_force();
    user_says("{\"webhook\":\"https://two\"}");
    scoped_policy const struct policy *after = in_force();
    assert_string_equal(before->webhook, "https://one");
    assert_string_equal(after->webhook, "https://two");
    assert_string_not_equal(before->digest, after->digest);
}

static void what_does_not_parse_refuses_with_file_and_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "policy.json:1:1"},
        {"{\n \"level\": }", "policy.json:2:11"},
        {"[]", "is array; an object"},
        {"{\"leve\":\"zero\"}", "there is no key 'leve'; did you mean 'level'?"},
        {"{\"level\":\"root\"}", "full, limited, zero are accepted"},
        {"{\n\"levels\":{\"full\":{\n  \"timeout\":0}}}", "policy.json:3:13"},
        {"{\"levels\":5}", "levels is number; an object is accepted"},
        {"{\"levels\":{\"full\":{\"timeouts\":1}}}", "levels.full.timeouts"},
        {"{\"allowedAPIs\":[\"notes.gett\"]}", "did you mean 'notes.get'?"},
        {"{\"allowedAPIs\":\"notes\"}", "a list is accepted"},
        {"{\"readOnly\":1}", "true or false"},
        {"{\"readOnly\":null}", "true or false"},
        {"{\"boilerRooms\":[\"relative\"]}", "an absolute path"},
        {"{\"webhook\":\"file:///etc/passwd\"}", "https://"},
        {"{\"level\":\"full\",\"level\":\"zero\"}", "policy.json"},
        {"{\"levels.full.timeout\":5}", "there is no key"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        user_says(cases[i].text);
        assert_refused(cases[i].says);
        if (*cases[i].text != '{')
            continue;
        user_says("{}");
        vault_says(cases[i].text);
        if (!strstr(cases[i].text, "gett")) /* see below */
            assert_refused(".cloche/policy.json");
        vault_says("{}");
    }
    policy_release(in_force());
}

static void a_policy_that_is_no_plain_file_refuses(void **state)
{
    (void)state;
    char path[200];
    user_says("{}");
    (void)snprintf(path, sizeof path, "%s/.cloche/policy.json", vault);
    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_refused(".cloche/policy.json");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused("not a regular file");
    assert_int_equal(unlink(path), 0);
    policy_release(in_force());
    scoped_buf struct buf long_text;
    buf_init(&long_text, 1 << 20);
    for (int i = 0; i < 300 << 10; i++)
        buf_char(&long_text, ' ');
    user_says(buf_cz(&long_text));
    assert_refused("policy.json");
}

/* ---- a vault takes away ------------------------------------------------- */

static void a_vault_lowers_what_the_user_gives(void **state)
{
    (void)state;
    user_says("{\"deniedAPIs\":[\"notes.delete\"],\"keepCode\":true}");
    vault_says(
        "{\"level\":\"limited\",\"readOnly\":true,\"levels\":{\"full\":{\"timeout\":10}},"
        "\"deniedAPIs\":[\"links\"],\"keepCode\":false,\"lint\":\"refuse\"}");
    scoped_policy const struct policy *p = in_force();
    assert_int_equal(p->level, LEVEL_LIMITED);
    assert_true(p->read_only);
    assert_false(p->keep_code);
    assert_int_equal(p->levels[LEVEL_FULL].timeout_ms, 10);
    assert_int_equal(p->denied.n, 2);
    assert_int_equal(p->lint, POLICY_LINT_REFUSE);
}

static void a_vault_grants_nothing(void **state)
{
    (void)state;
    user_says("{\"level\":\"zero\",\"readOnly\":true,\"allowedAPIs\":[\"notes.get\"],"
              "\"levels\":{\"full\":{\"timeout\":100}},\"cache\":false}");
    vault_says(
        "{\"level\":\"full\",\"readOnly\":false,\"allowedAPIs\":[\"*\"],\"deniedAPIs\":[],"
        "\"levels\":{\"full\":{\"timeout\":30000}},\"cache\":true,"
        "\"boilerRooms\":[\"/\"],\"keepCode\":true,\"webhook\":\"https://evil.net\","
        "\"audit\":{\"required\":false},\"alerts\":{\"denials\":{\"count\":0}}}");
    scoped_policy const struct policy *p = in_force();
    assert_int_equal(p->level, LEVEL_ZERO);
    assert_true(p->read_only && !p->cache && !p->keep_code);
    assert_int_equal(p->levels[LEVEL_FULL].timeout_ms, 100);
    assert_true(p->audit.required && !p->webhook);
    assert_int_equal(((const struct kettle_policy *)policy_values(p, &kettle))->rooms.n,
                     0);
    assert_int_equal(p->alerts[ALERT_DENIALS].count, 20);
    assert_true(may_get("stdio"));
    assert_false(may("stdio", LEVEL_FULL, NULL, "notes.list", LEVEL_ZERO, false));
}

static void an_unknown_call_in_a_vaults_lists_is_passed_over(void **state)
{
    (void)state;
    vault_says("{\"deniedAPIs\":[\"tomorrow.call\",\"notes.get\"]}");
    assert_false(may_get("stdio"));
    assert_true(may("stdio", LEVEL_FULL, NULL, "notes.list", LEVEL_ZERO, false));
}

/* ---- one call ----------------------------------------------------------- */

static void the_lowest_level_of_all_holds(void **state)
{
    (void)state;
    user_says("{\"callers\":{\"http\":\"limited\"}}");
    assert_true(may("stdio", LEVEL_FULL, NULL, "notes.delete", LEVEL_FULL, true));
    assert_false(
        may("http 127.0.0.1", LEVEL_FULL, NULL, "notes.delete", LEVEL_FULL, true));
    assert_true(
        may("http 127.0.0.1", LEVEL_FULL, NULL, "notes.create", LEVEL_LIMITED, true));
    assert_false(
        may("http 127.0.0.1", LEVEL_ZERO, NULL, "notes.create", LEVEL_LIMITED, true));
    assert_true(may("https", LEVEL_FULL, NULL, "notes.delete", LEVEL_FULL, true));
}

static void a_call_may_only_narrow(void **state)
{
    (void)state;
    user_says("{\"allowedAPIs\":[\"notes\"]}");
    assert_true(
        may("stdio", LEVEL_FULL, "[\"notes.get\"]", "notes.get", LEVEL_ZERO, false));
    assert_false(
        may("stdio", LEVEL_FULL, "[\"notes.get\"]", "notes.list", LEVEL_ZERO, false));
    assert_false(
        may("stdio", LEVEL_FULL, "[\"*\"]", "links.getBacklinks", LEVEL_FULL, false));
    assert_false(may("stdio", LEVEL_FULL, "[]", "notes.get", LEVEL_ZERO, false));
    assert_true(may("stdio", LEVEL_FULL, "[\"notes.save\"]", "notes.update",
                    LEVEL_LIMITED, true));
}

static void a_read_only_scope_refuses_every_write(void **state)
{
    (void)state;
    assert_true(may("stdio", LEVEL_FULL, NULL, "notes.update", LEVEL_LIMITED, true));
    /* At the level zero nothing writes, whatever its row says. */
    assert_false(may("stdio", LEVEL_ZERO, NULL, "notes.update", LEVEL_ZERO, true));
    vault_says("{\"readOnly\":true}");
    assert_false(may("stdio", LEVEL_FULL, NULL, "notes.update", LEVEL_LIMITED, true));
    assert_true(may_get("stdio"));
}

static void an_unknown_name_in_allowedAPIs_is_told_the_nearest(void **state)
{
    (void)state;
    struct err e = {0};
    struct permit p;
    struct caller who = {.name = "stdio"};
    const struct json *list = json_read(STR("[\"notes.serch\"]"), arena, &e);
    assert_false(permit_open(&p, ward, &who, list, &e));
    assert_int_equal(e.code, ERR_INVALID);
    e = (struct err){0};
    list = json_read(STR("[\"note.get\"]"), arena, &e);
    assert_false(permit_open(&p, ward, &who, list, &e));
    assert_non_null(strstr(e.msg, "did you mean 'notes.get'?"));
    scoped_buf struct buf many;
    buf_init(&many, 1 << 16);
    for (unsigned i = 0; i <= PERMIT_WISH_MAX; i++)
        buf_printf(&many, "%s\"notes\"", i ? "," : "[");
    buf_cstr(&many, "]");
    e = (struct err){0};
    list = json_read(buf_view(&many), arena, &e);
    assert_false(permit_open(&p, ward, &who, list, &e));
    assert_non_null(strstr(e.msg, "257 names"));
}

/* ---- keys of others --------------------------------------------------------- */

static void a_capabilitys_keys_are_read_into_its_own_struct(void **state)
{
    (void)state;
    user_says(
        "{\"kettle\":{\"permission\":\"ask\",\"cups\":3},\"boilerRooms\":[\"/a\"]}");
    vault_says("{\"kettle\":{\"permission\":\"never\",\"cups\":5,\"hot\":false},"
               "\"boilerRooms\":[\"/b\"]}");
    scoped_policy const struct policy *p = in_force();
    const struct kettle_policy *k = policy_values(p, &kettle);
    assert_int_equal(k->permission[0], PERMISSION_ASK);
    assert_int_equal(k->permission[1], PERMISSION_NEVER);
    assert_int_equal(k->cups, 3);
    assert_false(k->hot);
    assert_int_equal(k->rooms.n, 1);
    assert_string_equal(k->rooms.at[0], "/a");
    assert_int_equal(p->total_ms, 60000);
}

static void a_capabilitys_values_last_as_long_as_their_policy(void **state)
{
    (void)state;
    scoped_policy const struct policy *before = in_force();
    user_says("{\"kettle\":{\"cups\":1}}");
    scoped_policy const struct policy *after = in_force();
    const struct kettle_policy *was = policy_values(before, &kettle);
    const struct kettle_policy *is = policy_values(after, &kettle);
    assert_int_equal(was->cups, 4);
    assert_int_equal(is->cups, 1);
    assert_string_not_equal(before->digest, after->digest);
}

static void a_capabilitys_keys_are_checked_shown_set_and_published(void **state)
{
    (void)state;
    struct err e = {0};
    const char *two = "2", *nine = "9";
    scoped_buf struct buf out = buf_of((size_t)1 << 20);
    user_says("{\"kettle\":{\"cup\":1}}");
    assert_refused("there is no key 'kettle.cup'; did you mean 'kettle.cups'?");
    user_says("{}");
    assert_false(ward_set(ward, false, "kettle.cups", &nine, 1, "terminal", &e));
    assert_non_null(strstr(e.msg, "from 1 to 8"));
    e = (struct err){0};
    assert_true(ward_set(ward, false, "kettle.cups", &two, 1, "terminal", &e));
    assert_true(ward_show(ward, &out, &e));
    const struct json *shown = json_get(json_read(buf_view(&out), arena, &e), "policy");
    assert_int_equal(json_int(json_get(json_get(shown, "kettle"), "cups"), 0), 2);
    out.n = 0;
    assert_true(guard_schema(guard, &out, &e));
    /* In the place that its order says: behind the levels, before what comes after them. */
    const char *at = strstr(buf_cz(&out), "\"kettle\"");
    assert_non_null(at);
    assert_non_null(strstr(at, "\"lint\""));
    assert_null(strstr(at, "\"levels\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(without_files_the_seeds_limits_hold),
        test(every_key_of_the_users_file_arrives),
        test(a_changed_file_holds_for_the_next_call),
        test(a_policy_in_use_outlives_its_file),
        test(what_does_not_parse_refuses_with_file_and_place),
        test(a_policy_that_is_no_plain_file_refuses),
        test(a_vault_lowers_what_the_user_gives),
        test(a_vault_grants_nothing),
        test(an_unknown_call_in_a_vaults_lists_is_passed_over),
        test(the_lowest_level_of_all_holds),
        test(a_call_may_only_narrow),
        test(a_read_only_scope_refuses_every_write),
        test(an_unknown_name_in_allowedAPIs_is_told_the_nearest),
        test(a_capabilitys_keys_are_read_into_its_own_struct),
        test(a_capabilitys_values_last_as_long_as_their_policy),
        test(a_capabilitys_keys_are_checked_shown_set_and_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
