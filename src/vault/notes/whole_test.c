/* Notes written and read as whole files. */
#include "notes/fixture_test.h"

#define MEETING                                                                        \
    "---\\nid: m-1\\ntype: meeting\\nowner: Ann\\n---\\n# Weekly Sync\\n\\n## Date\\n" \
    "2025-11-29\\n"

static void a_whole_file_names_its_type_and_title(void **state)
{
    (void)state;
    const struct json *made = call(notes_create, "{'markdown': '" MEETING "'}");
    assert_string_equal(text(made, "id"), "meeting/Weekly Sync");
    assert_string_equal(text(made, "title"), "Weekly Sync");
    assert_string_equal(file("meeting/Weekly Sync.md"),
                        "---\nid: m-1\ntype: meeting\nowner: Ann\n---\n# Weekly Sync\n\n"
                        "## Date\n2025-11-29\n");
    const struct json *note = call(notes_get, "{'identifier': 'm-1', 'markdown': true}");
    assert_string_equal(text(note, "markdown"), file("meeting/Weekly Sync.md"));
    assert_null(json_get(call(notes_get, "'m-1'"), "markdown"));
}

static void what_is_said_beside_a_whole_file_goes_before_it(void **state)
{
    (void)state;
    const struct json *made = call(
        notes_create, "{'type': 'plan', 'title': 'Other', 'markdown': '" MEETING "'}");
    assert_string_equal(text(made, "id"), "plan/Other");
    made = call(notes_create, "{'markdown': '# New Note\\n\\nContent here'}");
    assert_string_equal(text(made, "id"), "note/New Note");
    assert_string_equal(file("note/New Note.md"), "# New Note\n\nContent here");
    made = call(notes_create, "{'markdown': '---\\nclass: Task\\n---\\n# Buy'}");
    assert_string_equal(text(made, "id"), "Task/Buy");
}

static void a_whole_file_that_cannot_be_a_note_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "{'markdown': 'no heading'}",
        "{'markdown': '---\\na: [\\n---\\n# T'}",
        "{'markdown': '# T', 'content': 'x'}",
        "{'markdown': '# T', 'metadata': {'a': 1}}",
        "{'markdown': 3}",
        "{'markdown': '---\\ntype: ../up\\n---\\n# T'}",
    };
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        (void)refused(ERR_INVALID, notes_create, "%s", wrong[i]);
    }
    assert_int_equal(json_length(call(notes_list, "null")), 0);
}

static void a_whole_file_takes_the_place_of_one(void **state)
{
    (void)state;
    put("task/Buy.md", "---\nstatus: open\n---\nmilk");
    const struct json *note = call(notes_get, "'task/Buy'");
    const char *hash = text(note, "content_hash");
    (void)call(notes_update,
               "{'identifier': 'task/Buy', 'contentHash': '%s', "
               "'markdown': '# Bread\\n'}",
               hash);
    assert_string_equal(file("task/Buy.md"), "# Bread\n");
    (void)refused(
        ERR_CONFLICT, notes_update,
        "{'identifier': 'task/Buy', 'contentHash': 'sha256:00', 'markdown': 'x'}");
    assert_string_equal(file("task/Buy.md"), "# Bread\n");
}

static void a_deletion_of_another_version_is_refused(void **state)
{
    (void)state;
    put("task/Buy.md", "milk");
    (void)refused(ERR_CONFLICT, notes_delete,
                  "{'identifier': 'task/Buy', 'contentHash': 'sha256:00'}");
    assert_true(exists("task/Buy.md"));
    const char *hash = text(call(notes_get, "'task/Buy'"), "content_hash");
    const struct json *done =
        call(notes_delete, "{'identifier': 'task/Buy', 'contentHash': '%s'}", hash);
    assert_true(json_bool(json_get(done, "deleted"), false));
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_whole_file_names_its_type_and_title),
        T(what_is_said_beside_a_whole_file_goes_before_it),
        T(a_whole_file_that_cannot_be_a_note_is_refused),
        T(a_whole_file_takes_the_place_of_one),
        T(a_deletion_of_another_version_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
