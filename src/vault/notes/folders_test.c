/* Notes in folders: made there, moved there, listed. */
#include "notes/fixture_test.h"

static const char *path_of(const char *options)
{
    return text(call(notes_create, "%s", options), "path");
}

static void a_note_is_made_in_any_folder(void **state)
{
    (void)state;
    assert_string_equal(path_of("{'title': 'A', 'folder': 'project/garden'}"),
                        "project/garden/A.md");
    assert_string_equal(path_of("{'title': 'B', 'folder': ''}"), "B.md");
    assert_string_equal(path_of("{'title': 'C', 'folder': 'x/', 'type': 'x'}"), "x/C.md");
    assert_string_equal(
        path_of("{'markdown': '---\\ntype: book\\n---\\n# D\\n', 'folder': 'a/b'}"),
        "a/b/D.md");
    assert_string_equal(text(call(notes_get, "'B'"), "type"), "note");
    static const char *const bad[] = {"../x", "/x", "a//b", ".hidden", "a/.b", "a/b//"};
    for (size_t i = 0; i < LENGTH(bad); i++)
        refused(ERR_INVALID, notes_create, "{'title': 'E', 'folder': '%s'}", bad[i]);
    refused(ERR_INVALID, notes_create, "{'title': 'E', 'folder': 'a/b', 'type': 'c'}");
    refused(ERR_CONFLICT, notes_create, "{'title': 'A', 'folder': 'Project/garden'}");
}

static void a_note_is_moved_to_any_folder_and_links_follow(void **state)
{
    (void)state;
    put("project/garden/Plan.md", "---\ntype: book\n---\n[n](../Near.md)\n");
    put("project/Near.md", "[[project/garden/Plan]] [p](garden/Plan.md)\n");
    const struct json *m = call(notes_move, "{'identifier': 'Plan', 'folder': "
                                            "'archive/2026', 'force': true}");
    assert_string_equal(text(m, "path"), "archive/2026/Plan.md");
    assert_string_equal(text(m, "new_type"), "archive");
    assert_string_equal(file("archive/2026/Plan.md"),
                        "---\ntype: book\n---\n[n](../../project/Near.md)\n");
    assert_string_equal(file("project/Near.md"),
                        "[[archive/2026/Plan]] [p](../archive/2026/Plan.md)\n");
    m = call(notes_move, "{'identifier': 'Plan', 'folder': '', 'force': true}");
    assert_string_equal(text(m, "path"), "Plan.md");
    refused(ERR_INVALID, notes_move, "{'identifier': 'Plan', 'force': true}");
    refused(ERR_INVALID, notes_move,
            "{'identifier': 'Plan', 'folder': 'a', 'new_type': 'b', 'force': true}");
}

static const char *listed(const char *options)
{
    return ids(call(notes_list, "%s", options));
}

static void a_folder_is_listed(void **state)
{
    (void)state;
    put("a/One.md", "");
    put("a/b/Two.md", "");
    put("a/b/c/Three.md", "");
    put("ab/Four.md", "");
    put("Five.md", "");
    assert_string_equal(listed("{'folder': 'a', 'order': 'path'}"), "a/One");
    assert_string_equal(listed("{'folder': 'a', 'recursive': true, 'order': 'path'}"),
                        "a/One,a/b/Two,a/b/c/Three");
    assert_string_equal(listed("{'folder': 'a/b/'}"), "a/b/Two");
    assert_string_equal(listed("{'folder': ''}"), "note/Five");
    assert_string_equal(listed("{'folder': 'a', 'recursive': true, 'order': 'path', "
                               "'limit': 1, 'cursor': 'a/One.md'}"),
                        "a/b/Two");
    assert_string_equal(listed("{'folder': 'nowhere'}"), "");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(a_note_is_made_in_any_folder),
        T(a_note_is_moved_to_any_folder_and_links_follow),
        T(a_folder_is_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
