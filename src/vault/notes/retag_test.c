/* A tag is renamed: wherever it stands, those beneath it, and no other byte. */
#include "notes/fixture_test.h"

static const struct json *retag(const char *tag, const char *fresh)
{
    return call(notes_rename_tag, "{'tag': '%s', 'new_tag': '%s'}", tag, fresh);
}

static void a_tag_is_replaced_wherever_it_stands(void **state)
{
    (void)state;
    put("a/N.md", "---\r\n"
                  "tags: [todo, \"#Todo/now\", 'x',  other]  # todo\r\n"
                  "Tag: todo other todo/later\r\n"
                  "todo: todo\r\n"
                  "---\r\n"
                  "#todo and `#todo` and https://x.y/#todo, #todos #TODO/a/b\r\n\r\n"
                  "    #todo\r\n");
    put("a/L.md", "tags:: todo, #todo, [[todo/x]]\n\ntext todo\n");
    put("a/M.md", "---\ntags:\n  - todo # todo\n  - todont\n---\n");
    put("a/O.md", "#todont\n");
    const struct json *r = retag("#todo/", "task/open");
    assert_int_equal(json_int(json_get(r, "notes"), 0), 3);
    assert_string_equal(file("a/N.md"),
                        "---\r\n"
                        "tags: [task/open, \"#task/open/now\", 'x',  other]  # todo\r\n"
                        "Tag: task/open other task/open/later\r\n"
                        "todo: todo\r\n"
                        "---\r\n"
                        "#task/open and `#todo` and https://x.y/#todo, #todos "
                        "#task/open/a/b\r\n\r\n"
                        "    #todo\r\n");
    assert_string_equal(file("a/L.md"),
                        "tags:: task/open, #task/open, [[task/open/x]]\n\ntext todo\n");
    assert_string_equal(file("a/M.md"),
                        "---\ntags:\n  - task/open # todo\n  - todont\n---\n");
    assert_non_null(strstr(
        refused(ERR_NOT_FOUND, notes_rename_tag, "{'tag': 'todo', 'new_tag': 'x'}"),
        "no note has the tag \"todo\""));
}

static void other_alphabets_have_case_too(void **state)
{
    (void)state;
    put("a/N.md", "---\ntags: \xc3\x84rger\n---\n\n#\xc3\xa4rger/x\n");
    retag("\xc3\x84RGER", "ruhe");
    assert_string_equal(file("a/N.md"), "---\ntags: ruhe\n---\n\n#ruhe/x\n");
}

static void a_tag_may_become_one_beneath_itself(void **state)
{
    (void)state;
    put("a/N.md", "---\ntags: [a, a/b]\n---\n\n#a\n");
    retag("a", "a/c");
    assert_string_equal(file("a/N.md"), "---\ntags: [a/c, a/c/b]\n---\n\n#a/c\n");
    retag("a/c", "a");
    assert_string_equal(file("a/N.md"), "---\ntags: [a, a/b]\n---\n\n#a\n");
}

static void a_word_of_yaml_is_quoted(void **state)
{
    (void)state;
    put("a/N.md", "---\ntags:\n- x\n- 'x'\n---\n\n#x\n");
    retag("x", "true");
    assert_string_equal(file("a/N.md"),
                        "---\ntags:\n- \"true\"\n- 'true'\n---\n\n#true\n");
    assert_string_equal(shown(json_get(call(notes_get, "'a/N'"), "tags")), "[\"true\"]");
}

static void nothing_is_written_where_one_note_cannot_be(void **state)
{
    (void)state;
    put("a/1.md", "#x\n");
    put("a/2.md", "---\n{tags: [x], a: b}\n---\n");
    const char *why =
        refused(ERR_INVALID, notes_rename_tag, "{'tag': 'x', 'new_tag': 'y'}");
    assert_non_null(strstr(why, "a/2.md"));
    assert_string_equal(file("a/1.md"), "#x\n");
    assert_non_null(
        strstr(refused(ERR_INVALID, notes_rename_tag, "{'tag': 'x', 'new_tag': 'a b'}"),
               "is no tag"));
    assert_non_null(
        strstr(refused(ERR_INVALID, notes_rename_tag, "{'tag': 'x', 'new_tag': '123'}"),
               "is no tag"));
}

static void a_dry_run_shows_the_diff_and_an_undo_takes_it_back(void **state)
{
    (void)state;
    put("a/1.md", "#x\n");
    const struct json *r =
        call(notes_rename_tag, "{'tag': 'x', 'new_tag': 'y', 'dry_run': true}");
    assert_non_null(strstr(text(json_at(json_get(r, "changes"), 0), "diff"), "+#y"));
    assert_string_equal(file("a/1.md"), "#x\n");
    retag("x", "y");
    call(notes_undo, "{'since': '1h'}");
    assert_string_equal(file("a/1.md"), "#x\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_tag_is_replaced_wherever_it_stands, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(other_alphabets_have_case_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_tag_may_become_one_beneath_itself, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_word_of_yaml_is_quoted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_written_where_one_note_cannot_be,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_dry_run_shows_the_diff_and_an_undo_takes_it_back, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
