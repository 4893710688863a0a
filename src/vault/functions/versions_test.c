/* Versions: every one is stored, by any author and in any way. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "functions/fixture_test.h"

static const struct json *versions_of(struct fixture *x, const char *name)
{
    const struct json *v = told(x, functions_versions(x->f, str_of(name), out, &x->e));
    return json_get(v, "versions");
}

static const char *description_of(struct fixture *x, const char *name, uint32_t version)
{
    struct function fn;
    assert_fine(x, functions_version(x->f, str_of(name), version, x->arena, &fn, &x->e));
    return str_cz(fn.description, x->arena, &x->e);
}

static void every_version_is_kept_with_who_and_when(void **state)
{
    struct fixture *x = *state;
    put(x, "greet", "one");
    struct function fn = made(x, "greet", "two");
    fn.api_version = STR("9");
    const struct function_author agent = {
        .by = STR("claude"), .maker = FUNCTION_BY_AGENT, .note = STR("louder")};
    struct function_change c = {.fn = &fn, .of = STR("greet")};
    assert_fine(x, functions_change(x->f, &c, 1, &agent, NULL, &x->e));

    const struct json *all = versions_of(x, "greet"), *last = json_at(all, 0);
    assert_int_equal(json_length(all), 2);
    assert_int_equal(int_at(last, "version"), 2);
    assert_string_equal(str_at(x, last, "by"), "claude");
    assert_string_equal(str_at(x, last, "maker"), "agent");
    assert_string_equal(str_at(x, last, "note"), "louder");
    assert_string_equal(str_at(x, last, "action"), "updated");
    assert_string_equal(str_at(x, last, "apiVersion"), "9");
    assert_true(json_bool(json_get(last, "current"), false));
    assert_string_equal(str_at(x, json_at(all, 1), "action"), "created");
    int64_t ms;
    assert_true(date_read(json_str(json_get(last, "at")), &ms));
    assert_true(os_real_ms() - ms < 60000);
    assert_string_equal(description_of(x, "greet", 1), "says one");
    assert_string_equal(description_of(x, "greet", 0), "says two");
}

static void what_is_the_same_makes_no_version(void **state)
{
    struct fixture *x = *state;
    put(x, "greet", "one");
    const char *before = file_text(x, FILE_PATH);
    struct function fn = made(x, "greet", "one");
    struct function_change c = {.fn = &fn, .of = STR("greet")};
    assert_fine(x, functions_change(x->f, &c, 1, &tester, NULL, &x->e));
    assert_true(c.same);
    assert_int_equal(c.version, 1);
    assert_string_equal(file_text(x, FILE_PATH), before);
}

static void back_is_a_new_version_with_the_old_content(void **state)
{
    struct fixture *x = *state;
    put(x, "greet", "one");
    put(x, "greet", "two");
    put(x, "greet", "three");
    scoped_set const struct function_set *s = NULL;
    assert_fine(x, functions_rollback(x->f, STR("greet"), 1, 3, &tester, &s, &x->e));
    const struct function *fn = function_named(s, STR("greet"));
    assert_int_equal(fn->version, 4);
    assert_true(str_is(fn->description, "says one"));
    const struct json *last = json_at(versions_of(x, "greet"), 0);
    assert_string_equal(str_at(x, last, "action"), "rolled back");
    assert_string_equal(str_at(x, last, "note"), "back to version 1");
    assert_string_equal(description_of(x, "greet", 3), "says three");

    assert_false(functions_rollback(x->f, STR("greet"), 2, 3, &tester, NULL, &x->e));
    assert_refused(x, ERR_CONFLICT, "not 3");
    assert_false(functions_rollback(x->f, STR("greet"), 9, 0, &tester, NULL, &x->e));
    assert_refused(x, ERR_NOT_FOUND, "the last is 4");
    assert_false(functions_rollback(x->f, STR("great"), 1, 0, &tester, NULL, &x->e));
    assert_refused(x, ERR_NOT_FOUND, "did you mean 'greet'");
}

static void versions_follow_a_function_to_its_new_name(void **state)
{
    struct fixture *x = *state;
    put(x, "greet", "one");
    struct function fn = made(x, "hail", "two");
    struct function_change c = {.fn = &fn, .of = STR("greet")};
    assert_fine(x, functions_change(x->f, &c, 1, &tester, NULL, &x->e));
    const struct json *all = versions_of(x, "hail");
    assert_int_equal(json_length(all), 2);
    assert_string_equal(str_at(x, json_at(all, 0), "action"), "renamed");
    assert_string_equal(str_at(x, json_at(all, 1), "name"), "greet");
    assert_int_equal(version_of(x, "greet"), 0);
    put(x, "other", "x");
    fn = made(x, "other", "three");
    c = (struct function_change){.fn = &fn, .of = STR("hail")};
    assert_false(functions_change(x->f, &c, 1, &tester, NULL, &x->e));
    assert_refused(x, ERR_CONFLICT, "'other' is there already");
}

static void what_was_removed_can_be_brought_back(void **state)
{
    struct fixture *x = *state;
    put(x, "greet", "one");
    put(x, "greet", "two");
    take_away(x, "greet");
    assert_int_equal(version_of(x, "greet"), 0);
    const struct json *v = told(x, functions_versions(x->f, STR("greet"), out, &x->e));
    assert_false(json_bool(json_get(v, "exists"), true));
    struct str id = json_str(json_get(v, "id"));

    assert_fine(x, functions_rollback(x->f, STR("greet"), 0, 0, &tester, NULL, &x->e));
    assert_int_equal(version_of(x, "greet"), 3);
    assert_string_equal(description_of(x, "greet", 0), "says two");
    scoped_set const struct function_set *s = now(x);
    assert_true(str_eq(function_named(s, STR("greet"))->id, id));

    /* A new function of that name has its own history. */
    take_away(x, "greet");
    assert_int_equal(put(x, "greet", "anew"), 1);
    assert_int_equal(json_length(versions_of(x, "greet")), 1);
    struct function old;
    assert_fine(x, functions_version(x->f, id, 1, x->arena, &old, &x->e));
    assert_true(str_is(old.description, "says one"));
    assert_false(functions_rollback(x->f, id, 1, 0, &tester, NULL, &x->e));
    assert_refused(x, ERR_CONFLICT, "'greet' is there already");
}

static void two_versions_are_compared_by_code_and_field(void **state)
{
    struct fixture *x = *state;
    put(x, "greet", "one");
    put(x, "greet", "two");
    const struct json *v = told(x, functions_diff(x->f, STR("greet"), 0, 0, out, &x->e));
    assert_int_equal(int_at(v, "from"), 1);
    assert_int_equal(int_at(v, "to"), 2);
    assert_int_equal(json_length(json_get(v, "fields")), 2);
    assert_true(str_is(json_str(json_at(json_get(v, "fields"), 0)), "description"));
    assert_true(str_is(json_str(json_at(json_get(v, "fields"), 1)), "code"));
    const char *diff = str_at(x, v, "diff");
    assert_non_null(strstr(diff, "--- code, version 1\n+++ code, version 2\n@@ "));
    assert_non_null(strstr(diff, "-  \"description\": \"says one\",\n"));
    assert_non_null(strstr(diff, "+  \"description\": \"says two\",\n"));
    v = told(x, functions_diff(x->f, STR("greet"), 2, 2, out, &x->e));
    assert_string_equal(str_at(x, v, "diff"), "");
    put(x, "once", "x");
    scoped_buf struct buf b;
    buf_init(&b, 1000);
    struct json_writer w = json_writer(&b);
    assert_false(functions_diff(x->f, STR("once"), 0, 0, &w, &x->e));
    assert_refused(x, ERR_INVALID, "version 1 of 'once' is its first");
}

static void what_a_person_writes_is_a_version_by_external(void **state)
{
    struct fixture *x = *state;
    put(x, "greet", "one");
    put(x, "leave", "bye");
    by_hand(x, "{'version': 1, 'functions': [{'name': 'hand', 'returnType': 'void',"
               " 'code': ['function hand() {', '}'], 'mine': {'a': 1}}]}");
    scoped_set const struct function_set *s = now(x);
    assert_int_equal(function_count(s), 1);
    const struct function *fn = function_at(s, 0);
    assert_true(str_is(fn->code, "function hand() {\n}"));
    assert_int_equal(fn->version, 1);
    assert_string_equal(str_at(x, json_at(versions_of(x, "hand"), 0), "by"), "external");
    assert_fine(x, functions_rollback(x->f, STR("greet"), 0, 0, &tester, NULL, &x->e));
    const char *text = file_text(x, FILE_PATH);
    assert_non_null(strstr(text, "\"mine\": {\n        \"a\": 1\n      }"));
    assert_non_null(strstr(text, fn->id.at));

    /* The same again, edited: its next version, also in the file when that is written. */
    char *edited = arena_copy(x->arena, text, strlen(text), &x->e);
    char *at = strstr(edited, "hand() {\\n}");
    memcpy(at, "hand() { } ", 11);
    write_text(x, FILE_PATH, str_of(edited));
    assert_int_equal(version_of(x, "hand"), 2);
    put(x, "third", "x");
    scoped(functions_close) struct functions *other = open_again(x);
    scoped_set const struct function_set *o = functions_now(other, &x->e);
    assert_int_equal(function_named(o, STR("hand"))->version, 2);
    const struct json *v = json_read(str_of(file_text(x, FILE_PATH)), x->arena, &x->e);
    const struct json *hand = json_at(json_get(v, "functions"), 1);
    assert_int_equal(int_at(json_get(hand, "metadata"), "version"), 2);
}

static void a_file_of_before_is_the_next_version(void **state)
{
    struct fixture *x = *state;
    put(x, "greet", "one");
    const char *first = file_text(x, FILE_PATH);
    put(x, "greet", "two");
    put(x, "greet", "three");
    write_text(x, FILE_PATH, str_of(first)); /* as git checkout does */
    assert_int_equal(version_of(x, "greet"), 4);
    assert_int_equal(json_length(versions_of(x, "greet")), 4);
    assert_int_equal(put(x, "greet", "five"), 5);
}

static void a_lost_history_begins_anew(void **state)
{
    struct fixture *x = *state;
    put(x, "greet", "one");
    put(x, "greet", "two");
    assert_int_equal(unlink(path_of(x, ".cloche/functions.db")), 0);
    (void)unlink(path_of(x, ".cloche/functions.db-wal"));
    (void)unlink(path_of(x, ".cloche/functions.db-shm"));
    assert_int_equal(version_of(x, "greet"), 2);
    assert_int_equal(put(x, "greet", "three"), 3);
    scoped(functions_close) struct functions *other = open_again(x);
    scoped_set const struct function_set *s = functions_now(other, &x->e);
    assert_int_equal(function_named(s, STR("greet"))->version, 3);
}

static void a_damaged_history_is_put_aside(void **state)
{
    struct fixture *x = *state;
    put(x, "greet", "one");
    functions_close(x->f);
    x->f = NULL;
    (void)unlink(path_of(x, ".cloche/functions.db-wal"));
    (void)unlink(path_of(x, ".cloche/functions.db-shm"));
    char junk[8192];
    memset(junk, 'x', sizeof junk);
    write_text(x, ".cloche/functions.db", (struct str){junk, sizeof junk});
    x->f = open_again(x);
    log_set_level(LOG_ERROR);
    assert_int_equal(version_of(x, "greet"), 1);
    assert_int_equal(put(x, "greet", "two"), 2);
    log_set_level(LOG_WARN);
    assert_int_equal(json_length(versions_of(x, "greet")), 2);
}

static void where_nothing_can_be_written_functions_are_read(void **state)
{
    struct fixture *x = *state;
    put(x, "greet", "one");
    put(x, "greet", "two");
    functions_close(x->f);
    x->f = open_again(x);
    const char *db = path_of(x, ".cloche/functions.db");
    assert_int_equal(chmod(db, 0400), 0);
    assert_int_equal(geteuid() ? 0 : chown(db, 65534, 65534), 0);
    assert_int_equal(chmod(path_of(x, ".cloche"), 0555), 0);
    assert_int_equal(chmod(x->path, 0555), 0);
    uid_t was = geteuid(); /* root could write there all the same */
    assert_int_equal(was ? 0 : seteuid(65534), 0);
    uint32_t version = version_of(x, "greet");
    size_t known = json_length(versions_of(x, "greet"));
    struct function fn = made(x, "more", "x");
    struct function_change c = {.fn = &fn};
    bool changed = functions_change(x->f, &c, 1, &tester, NULL, &x->e);
    assert_int_equal(was ? 0 : seteuid(was), 0);
    assert_int_equal(chmod(x->path, 0700) | chmod(path_of(x, ".cloche"), 0700), 0);
    assert_int_equal(version, 2);
    assert_int_equal(known, 2);
    assert_false(changed);
    assert_refused(x, ERR_DENIED, "");
}

static void checked_again_is_no_new_version(void **state)
{
    struct fixture *x = *state;
    put(x, "greet", "one");
    put(x, "leave", "bye");
    const struct str names[] = {STR("greet"), STR("leave")};
    assert_fine(x, functions_checked(x->f, names, 2, STR("0.9"), &x->e));
    scoped_set const struct function_set *s = now(x);
    assert_true(str_is(function_at(s, 0)->api_version, "0.9"));
    assert_int_equal(function_at(s, 0)->version, 1);
    assert_string_equal(str_at(x, json_at(versions_of(x, "leave"), 0), "apiVersion"),
                        "0.9");
    const struct str wrong[] = {STR("greed")};
    assert_false(functions_checked(x->f, wrong, 1, STR("1"), &x->e));
    assert_refused(x, ERR_NOT_FOUND, "did you mean 'greet'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(every_version_is_kept_with_who_and_when),
        T(what_is_the_same_makes_no_version),
        T(back_is_a_new_version_with_the_old_content),
        T(versions_follow_a_function_to_its_new_name),
        T(what_was_removed_can_be_brought_back),
        T(two_versions_are_compared_by_code_and_field),
        T(what_a_person_writes_is_a_version_by_external),
        T(a_file_of_before_is_the_next_version),
        T(a_lost_history_begins_anew),
        T(a_damaged_history_is_put_aside),
        T(where_nothing_can_be_written_functions_are_read),
        T(checked_again_is_no_new_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
