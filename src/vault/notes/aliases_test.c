/* Other names of a note: where they stand, and what they find. */
#include "notes/fixture_test.h"

static const char *aliases_of(const char *content)
{
    put("A.md", content);
    return shown(json_get(call(notes_get, "'A.md'"), "aliases"));
}

static void they_stand_in_the_frontmatter_or_at_the_head(void **state)
{
    (void)state;
    assert_string_equal(aliases_of("---\naliases: [One, 'Two, too', one]\n---\n"),
                        "[\"One\",\"Two, too\"]");
    assert_string_equal(aliases_of("---\nalias: One, Two\n---\n"), "[\"One\",\"Two\"]");
    assert_string_equal(aliases_of("---\nAliases:\n  - Q\xc3\x9c\n---\n"),
                        "[\"Q\xc3\x9c\"]");
    assert_string_equal(aliases_of("title:: X\nalias:: [[a, b]], c , \n\n- x\n"),
                        "[\"a, b\",\"c\"]");
    assert_string_equal(aliases_of("---\naliases: [1984, x, true, null]\n---\n"),
                        "[\"1984\",\"x\"]");
    assert_string_equal(aliases_of("---\naliases: 42\n---\n"), "[\"42\"]");
    assert_string_equal(text(call(notes_get, "'42'"), "path"), "A.md");
    assert_string_equal(aliases_of("text\nalias:: c\n"), "null");
    assert_string_equal(aliases_of("alias::c\n"), "null");
}

static const char *broken(void)
{
    return shown(call(links_find_broken, "null"));
}

static void calls_and_links_find_a_note_by_them(void **state)
{
    (void)state;
    put("a/From.md", "[[The BEST]] [[best]]\n");
    assert_int_equal(json_length(call(links_find_broken, "null")), 2);
    put("project/Plan.md", "---\naliases: [the best, Best]\n---\n");
    assert_string_equal(broken(), "[]");
    assert_string_equal(text(call(notes_get, "'THE best'"), "id"), "project/Plan");
    assert_string_equal(
        shown(call(notes_list, "{'type': 'project', 'fields': ['aliases']}")),
        "[{\"aliases\":[\"the best\",\"Best\"]}]");
    put("project/Best.md", ""); /* a file's name comes first */
    assert_int_equal(json_length(call(links_get_backlinks, "'project/Plan'")), 1);
    put("project/Plan.md", "---\naliases: [Worst]\n---\n");
    assert_int_equal(json_length(call(links_find_broken, "null")), 1);
}

static void a_change_of_several_steps_knows_them(void **state)
{
    (void)state;
    put("a/Old.md", "---\naliases: [Alias]\n---\n");
    put("a/Links.md", "[[Alias]] [[Other]]\n");
    (void)call(
        notes_batch,
        "{'changes': [{'action': 'rename', 'identifier': 'alias', 'new_title': "
        "'New', 'force': true}, {'action': 'update', 'identifier': 'Alias', 'force': "
        "true, 'metadata': {'aliases': ['Other']}}, {'action': 'rename', "
        "'identifier': 'Other', 'new_title': 'Last', 'force': true}]}");
    assert_string_equal(file("a/Links.md"), "[[Alias]] [[Other]]\n");
    assert_string_equal(text(call(notes_get, "'other'"), "id"), "a/Last");
}

static void an_alias_that_is_the_query_comes_first(void **state)
{
    (void)state;
    put("A.md", "# Garden garden\n\ngarden garden garden\n");
    put("B.md", "---\naliases: [Garden]\n---\nother words\n");
    assert_string_equal(ids(call(notes_search, "'garden'")), "note/B,note/A");
    assert_string_equal(ids(call(notes_search, "{'query': 'GARDEN', 'exact': true}")),
                        "note/B");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(they_stand_in_the_frontmatter_or_at_the_head),
        T(calls_and_links_find_a_note_by_them),
        T(a_change_of_several_steps_knows_them),
        T(an_alias_that_is_the_query_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
