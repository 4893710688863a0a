/* Several changes of a policy at once: what they would come to, whether agents may do more by
 * them, and that a secret's text is never shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "guard/policy_test.h"
#include "policy/policy.h"

static const char *const calls[] = {"notes.get", "notes.create", "notes.delete"};

struct kettle_policy {
    enum permission permission[2];
    uint32_t cups;
    const struct json *teas, *keys;
};
static bool check_any(struct str name, const struct json *entry, struct err *e)
{
    (void)name;
    return json_is(entry, JSON_OBJECT) || json_is(entry, JSON_STRING) ||
           err_set(e, ERR_INVALID, "is no key");
}
static void put_names(const struct json *v, struct json_writer *w)
{
    struct json_iter it = json_iter(v);
    json_open_object(w);
    while (json_next(&it)) {
        json_key_str(w, it.key);
        json_put_cstr(w, "hidden");
    }
    json_close(w);
}
static const struct key_shape secret = {.what = "keys",
                                        .wanted = "an object",
                                        .schema = "{}",
                                        .check = check_any,
                                        .put = put_names};
#define KETTLE(...) KEY(struct kettle_policy, __VA_ARGS__)
static const struct key kettle_keys[] = {
    KETTLE("kettle.permission", WORD, ALSO, permission, "\"usual\"", "may it be used",
           .words = permission_words, .order = 15),
    KETTLE("kettle.cups", INT, LOWER, cups, "4", "cups a day", .low = 1, .high = 8),
    KETTLE("kettle.keys", OBJECTS, USER, keys, "{}", "its keys", .high = 4,
           .shape = &secret),
};
static const struct policy_group kettle = POLICY_GROUP(kettle_keys, struct kettle_policy);
static const struct policy_group *const groups[] = {&kettle};

static int begin(void **state)
{
    (void)state;
    return policies_begin(&(struct guard_options){.calls = calls,
                                                  .call_count = LENGTH(calls),
                                                  .groups = groups,
                                                  .group_count = LENGTH(groups)});
}

static int end(void **state)
{
    (void)state;
    return policies_end();
}
#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

static struct buf out;

/* The answer to these edits; `by`: they are made. */
static const struct json *edited(bool in_vault, const char *edits, const char *by,
                                 bool agreed, bool *made)
{
    struct err e = {0};
    buf_done(&out);
    buf_init(&out, (size_t)1 << 20);
    struct ward_edits x = {.in_vault = in_vault,
                           .agreed = agreed,
                           .edits = json_read(str_of(edits), arena, &e),
                           .by = by};
    if (!ward_edit(ward, &x, made, &out, &e))
        fail_msg("%s", e.msg);
    return json_read(buf_view(&out), arena, &e);
}

static bool wider(bool in_vault, const char *edits)
{
    bool made;
    const struct json *said = edited(in_vault, edits, NULL, false, &made);
    assert_false(made);
    if (!json_bool(json_get(said, "ok"), false))
        fail_msg("%s", buf_cz(&out));
    return json_bool(json_get(said, "wider"), true);
}

static void what_would_be_is_told_and_nothing_is_written(void **state)
{
    (void)state;
    bool made;
    user_says("{\"level\":\"limited\"}");
    const struct json *said =
        edited(false, "[{\"key\":\"kettle.cups\",\"value\":2},{\"key\":\"level\"}]", NULL,
               true, &made);
    assert_false(made);
    assert_true(json_bool(json_get(said, "ok"), false));
    assert_string_equal(json_cstr(json_get(said, "text")),
                        "{\n  \"kettle\": {\n    \"cups\": 2\n  }\n}\n");
    assert_int_equal(json_length(json_get(said, "changes")), 2);
    scoped_policy const struct policy *p = in_force();
    assert_int_equal(p->level, LEVEL_LIMITED);
}

static void what_gives_agents_more_is_known(void **state)
{
    (void)state;
    user_says(
        "{\"level\":\"limited\",\"deniedAPIs\":[\"notes.delete\"],\"allowedAPIs\":[\"notes.get\"],"
        "\"kettle\":{\"permission\":\"ask\",\"cups\":3,\"keys\":{\"a\":\"x\"}}}");
    static const struct {
        const char *edits;
        bool wider;
    } rows[] = {
        {"[{\"key\":\"level\",\"value\":\"zero\"}]", false},
        {"[{\"key\":\"level\",\"value\":\"full\"}]", true},
        {"[{\"key\":\"level\"}]", true},
        {"[{\"key\":\"kettle.cups\",\"value\":2}]", false},
        {"[{\"key\":\"kettle.cups\",\"value\":4}]", true},
        {"[{\"key\":\"deniedAPIs\",\"value\":[\"notes.delete\",\"notes.create\"]}]",
         false},
        {"[{\"key\":\"deniedAPIs\",\"value\":[\"notes.create\"]}]", true},
        {"[{\"key\":\"allowedAPIs\",\"value\":[]}]", false},
        {"[{\"key\":\"allowedAPIs\",\"value\":[\"notes.get\",\"notes.create\"]}]", true},
        {"[{\"key\":\"allowedAPIs\"}]", true},
        {"[{\"key\":\"kettle.permission\",\"value\":\"never\"}]", false},
        {"[{\"key\":\"kettle.permission\",\"value\":\"always\"}]", true},
        {"[{\"key\":\"kettle.permission\"}]", true},
        {"[{\"key\":\"kettle.keys.a\"}]", false},
        {"[{\"key\":\"kettle.keys.a\",\"value\":\"y\"}]", true},
        {"[{\"key\":\"kettle.keys.b\",\"value\":\"y\"}]", true},
        {"[{\"key\":\"level\",\"value\":\"zero\"},{\"key\":\"kettle.cups\",\"value\":8}]",
         true},
        {"[{\"key\":\"readOnly\",\"value\":true}]", false},
    };
    for (size_t i = 0; i < LENGTH(rows); i++)
        if (wider(false, rows[i].edits) != rows[i].wider)
            fail_msg("%s", rows[i].edits);
}

static void what_a_vault_takes_away_no_more_is_more(void **state)
{
    (void)state;
    vault_says("{\"level\":\"limited\",\"kettle\":{\"permission\":\"ask\"}}");
    assert_true(wider(true, "[{\"key\":\"level\"}]"));
    assert_true(wider(true, "[{\"key\":\"kettle.permission\"}]"));
    assert_false(wider(true, "[{\"key\":\"kettle.permission\",\"value\":\"never\"}]"));
    assert_false(wider(true, "[{\"key\":\"level\",\"value\":\"zero\"}]"));
}

static void what_is_wider_is_written_once_it_is_agreed_to(void **state)
{
    (void)state;
    bool made;
    user_says("{\"kettle\":{\"cups\":2}}");
    const char *more = "[{\"key\":\"kettle.cups\",\"value\":8}]";
    (void)edited(false, more, "page", false, &made);
    assert_false(made);
    (void)edited(false, more, "page", true, &made);
    assert_true(made);
    (void)edited(false, "[{\"key\":\"kettle.cups\",\"value\":1}]", "page", false, &made);
    assert_true(made);
    scoped_policy const struct policy *p = in_force();
    const struct kettle_policy *k = policy_values(p, &kettle);
    assert_int_equal(k->cups, 1);
}

static void all_are_made_or_none(void **state)
{
    (void)state;
    bool made;
    user_says("{}");
    const struct json *said = edited(
        false,
        "[{\"key\":\"readOnly\",\"value\":true},{\"key\":\"kettle.cups\",\"value\":99},"
        "{\"key\":\"kettel\",\"value\":1}]",
        "page", true, &made);
    assert_false(made);
    assert_false(json_bool(json_get(said, "ok"), true));
    assert_int_equal(json_length(json_get(said, "problems")), 2);
    scoped_policy const struct policy *p = in_force();
    assert_false(p->read_only);
}

static void a_secrets_own_text_is_never_shown(void **state)
{
    (void)state;
    bool made;
    user_says("{\"kettle\":{\"keys\":{\"old\":\"hunter2\"}}}");
    (void)edited(false,
                 "[{\"key\":\"kettle.keys.new\",\"value\":{\"value\":\"hunter3\"}}]",
                 "page", true, &made);
    assert_true(made);
    assert_null(strstr(buf_cz(&out), "hunter"));
    assert_non_null(strstr(buf_cz(&out), "old"));
    /* Both stand in the file. */
    struct err e = {0};
    scoped_buf struct buf file = buf_of((size_t)1 << 16);
    scoped_fd int dir = os_dir_open(config, &e);
    assert_true(os_read_file(dir, "policy.json", &file, NULL, &e));
    assert_non_null(strstr(buf_cz(&file), "hunter2"));
    assert_non_null(strstr(buf_cz(&file), "hunter3"));
}

static void a_vaults_file_is_given_nothing_of_the_users_alone(void **state)
{
    (void)state;
    bool made;
    const struct json *said = edited(
        true, "[{\"key\":\"kettle.keys.a\",\"value\":\"x\"}]", "page", true, &made);
    assert_false(made);
    assert_false(json_bool(json_get(said, "ok"), true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(what_would_be_is_told_and_nothing_is_written),
        test(what_gives_agents_more_is_known),
        test(what_a_vault_takes_away_no_more_is_more),
        test(what_is_wider_is_written_once_it_is_agreed_to),
        test(all_are_made_or_none),
        test(a_secrets_own_text_is_never_shown),
        test(a_vaults_file_is_given_nothing_of_the_users_alone),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_done(&out);
    return failed;
}
