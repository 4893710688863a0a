/* Host calls without code, and added actions, over a vault of their own. */
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
#include "json/json.h"

static char vault[80];
static struct actions *actions;
static struct caller caller = {.name = "test", .level = LEVEL_FULL};

static bool run_twice(void *arg, const struct json *arguments, const struct caller *who,
                      struct answer *out, struct err *e)
{
    (void)e;
    (void)who;
    struct json_writer w = json_writer(&out->json);
    json_open_object(&w);
    json_pair_int(&w, "n", *(int *)arg * json_int(json_get(arguments, "n"), 0));
    json_close(&w);
    return true;
}

static int two = 2;
static const struct action_extra extra[] = {
    {.shown = {.name = "twice",
               .title = "Twice",
               .description = "Doubles n.",
               .input_schema = "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":"
                               "\"integer\"}},\"required\":[\"n\"]}"},
     .run = run_twice,
     .arg = &two}};

static int begin(void **state)
{
    (void)state;
    struct err e = {0};
    if (make_home() != 0)
        return -1;
    (void)snprintf(vault, sizeof vault, "%s/vault", home);
    if (mkdir(vault, 0700) != 0)
        return -1;
    const char *vaults[] = {vault, NULL};
    actions = actions_open(&(struct actions_options){.vaults = vaults,
                                                     .extra = extra,
                                                     .extra_count = LENGTH(extra)},
                           &e);
    return actions ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    actions_close(actions);
    return drop_home();
}

static void a_row_of_calls_works_in_its_vault_under_its_callers_level(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_buf struct buf out;
    buf_init(&out, 1 << 20);
    struct work *w = work_begin(actions, &caller, STR("vault"), "POST /notes", &e);
    if (!w)
        fail_msg("%s", e.msg);
    assert_string_equal(work_vault(w), "vault");
    assert_true(work_call(
        w, "notes.create",
        STR("[{\"type\":\"plan\",\"title\":\"One\",\"content\":\"text\"}]"), &out, &e));
    buf_clear(&out);
    assert_true(work_call(w, "notes.get", STR("[\"plan/One\"]"), &out, &e));
    if (!strstr(buf_cz(&out), "text"))
        fail_msg("%s", buf_cz(&out));
    work_end(w, NULL);

    struct caller zero = {.name = "test", .level = LEVEL_ZERO};
    w = work_begin(actions, &zero, STR(""), "DELETE /notes/{id}", &e);
    assert_non_null(w);
    assert_false(
        work_call(w, "notes.delete", STR("[{\"identifier\":\"plan/One\"}]"), &out, &e));
    assert_int_equal(e.code, ERR_DENIED);
    work_end(w, &e);
}

static void a_vault_that_is_not_there_is_not_found(void **state)
{
    (void)state;
    struct err e = {0};
    assert_null(work_begin(actions, &caller, STR("another"), "GET /notes", &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void somebody_elses_action_is_checked_and_run_like_ours(void **state)
{
    (void)state;
    struct err e = {0};
    struct answer out = {0};
    buf_init(&out.json, 1 << 20);
    scoped(arena_free) struct arena *a = arena_new(1 << 20);
    const struct action *twice = action_named(actions, STR("twice"));
    assert_non_null(twice);
    assert_true(actions_call(actions, twice, json_read(STR("{\"n\":21}"), a, &e), &caller,
                             &out, &e));
    assert_string_equal(buf_cz(&out.json), "{\"n\":42}");
    assert_false(
        actions_call(actions, twice, json_read(STR("{}"), a, &e), &caller, &out, &e));
    assert_int_equal(e.code, ERR_INVALID);
    buf_done(&out.json);
}

static void an_action_of_a_taken_name_is_refused(void **state)
{
    (void)state;
    struct err e = {0};
    struct action_extra same = extra[0];
    same.shown.name = "get_note";
    assert_null(
        actions_open(&(struct actions_options){.extra = &same, .extra_count = 1}, &e));
    assert_int_equal(e.code, ERR_CONFLICT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_of_calls_works_in_its_vault_under_its_callers_level),
        cmocka_unit_test(a_vault_that_is_not_there_is_not_found),
        cmocka_unit_test(somebody_elses_action_is_checked_and_run_like_ours),
        cmocka_unit_test(an_action_of_a_taken_name_is_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
